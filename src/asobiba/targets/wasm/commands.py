"""`asobiba wasm`. It imports its dependencies when it runs."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from asobiba.arena.commands import Parameters, ruleset_of

if TYPE_CHECKING:
    from asobiba.core import Game, Ruleset


def wasm(
    games: Annotated[
        list[str] | None,
        typer.Argument(metavar="GAME...", help="Games, as listed by `asobiba games`.", show_default=False),
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder of the package.")] = Path("asobiba-wasm"),
    everything: Annotated[bool, typer.Option("--all", help="Write all games.")] = False,
    agents: Annotated[
        str | None,
        typer.Option(
            metavar="'NAME[:KEY=VALUE,...] ...'",
            help="Agents to include, separated by spaces.  [default: all that compile]",
        ),
    ] = None,
    variants: Annotated[
        str,
        typer.Option(
            metavar="'NAME ...'",
            help="Named variants of the game to include beside its defaults: all, none, or their names.",
        ),
    ] = "all",
    param: Parameters = None,
) -> None:
    """Writes games and their compiled agents as WebAssembly, with JavaScript around them: an npm package.

    Every game becomes a folder `games/GAME` in the output: modules, and `game.json`, which says what is in them. JavaScript
    makes the parameter sets that were written: the game's defaults, its named variants, and with --param another.
    """
    from rich.console import Console

    from asobiba.core import AsobibaError, game_names
    from asobiba.targets.wasm.package import write_game, write_package

    wanted = list(game_names()) if everything else games or []
    if not wanted:
        raise AsobibaError(f"name a game, or --all; games: {', '.join(game_names())}")
    if param and len(wanted) > 1:
        raise AsobibaError("--param belongs to one game; write games with other parameters one by one")
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    write_package(output)
    for name in wanted:
        chosen, missing = _variants(name, param, variants, agents)
        folder = output / "games" / chosen[0].ruleset.game.name
        manifest = write_game(folder, chosen, missing, lambda text: console.print(f"[dim]compiling {text}[/dim]"))
        _tell(folder, manifest)


def _variants(name: str, param: list[str] | None, which: str, agents: str | None) -> tuple[list[Any], dict[str, str]]:
    """The variants of a game to be written, with their agents, and the agents that are left out."""
    from asobiba.core import GameParameterError
    from asobiba.targets.wasm.package import Variant, kernel_agents

    first = ruleset_of(name, None)
    known = named_variants(first.game)
    names = list(known) if which == "all" else [] if which == "none" else which.split()
    for one in names:
        if one not in known:
            raise GameParameterError(f"{name} has no variant {one!r}; its variants: {', '.join(known) or 'none'}")
    rulesets: dict[str, Ruleset] = {"default": first, **{one: known[one] for one in names}}
    if param:
        rulesets[",".join(param)] = ruleset_of(name, param)
    found: list[Variant] = []
    missing: dict[str, str] = {}
    for label, ruleset in rulesets.items():
        here, without = kernel_agents(ruleset, agents.split() if agents is not None else None)
        found.append(Variant(label, ruleset, here))
        missing |= {text: why for text, why in without.items() if text not in missing}
    present = {text for variant in found for text in variant.agents}
    return found, {text: why for text, why in missing.items() if text not in present}


def named_variants(game: Game) -> dict[str, Ruleset]:
    """The rulesets of a game's named variants."""
    return {name: game.ruleset(**parameters) for name, parameters in game.variants.items()}


def _tell(folder: Path, manifest: dict[str, Any]) -> None:
    """Prints the files written, and the agents left out with the reason."""
    print(f"{manifest['game']}: {folder}")
    for name, about in manifest["modules"].items():
        packed = len(gzip.compress((folder / name).read_bytes(), mtime=0))
        sharing = [one["name"] for one in manifest["rulesets"] if one["module"] == name]
        print(f"  {name}  {about['size'] / 1000:.1f} kB, {packed / 1000:.1f} kB gzipped: {', '.join(sharing)}")
    size = len(gzip.compress(json.dumps(manifest).encode(), mtime=0))
    print(f"  game.json  {size / 1000:.1f} kB gzipped")
    print(f"  agents: {', '.join(manifest['agents'])}")
    for text, why in manifest["missing"].items():
        print(f"  not {text}: {why}")
