"""Writes the playground: the page, the package of `asobiba wasm` with drawings, and `games.json` about the games."""

from __future__ import annotations

import hashlib
import json
from base64 import b64decode
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from asobiba.arena.person import sections, tables
from asobiba.core import AsobibaError, Game, Ruleset, game, game_names
from asobiba.targets.wasm.commands import named_variants
from asobiba.targets.wasm.package import Variant, kernel_agents, write_game, write_package

PAGE = ("index.html", "page.css", "app.js", "board.js", "table.js", "scene.js", "worker.js")
SHARED = ("player.css", "player.js", "writer.js")
"""Files of `asobiba.api`, which the reports of leagues use too."""
_LARGE = 2000
"""Characters from which an agent's content has a file of its own, fetched when the agent is chosen."""


def drawn_games() -> list[str]:
    """The games whose drawing is a scene."""
    return [name for name in game_names() if is_drawn(game(name))]


def is_drawn(one: Game) -> bool:
    """Whether the game's drawing is a scene."""
    return one.draw is not None and (hasattr(one.ruleset().draw, "scene") or hasattr(one.ruleset().draw, "scenes"))


def write_site(
    folder: Path,
    names: Sequence[str] | None = None,
    report: Callable[[str], None] = lambda text: None,
    *,
    agents: Sequence[str] | None = None,
    variants: bool = True,
) -> dict[str, int]:
    """Writes the site into `folder`; returns for each game the bytes that are fetched before its first move.

    Args:
        names: the games; `None`: all that are drawn.
        report: called with a message on what is compiled.
        agents: the agents; `None`: all that do not need Python.
        variants: whether the games' named variants are written too.

    Raises:
        AsobibaError: for a game without a scene.
    """
    wanted = list(names) if names is not None else drawn_games()
    for name in wanted:
        require_drawn(game(name))
    about, sizes = [], {}
    for name in wanted:
        one = game(name)
        rulesets = {"default": one.ruleset(), **(named_variants(one) if variants else {})}
        sizes[name] = _write_one(folder, rulesets, agents, report)
        about.append(_about(one))
    own = _write_page(folder, about)
    return {name: size + own for name, size in sizes.items()}


def write_local(
    folder: Path,
    ruleset: Ruleset,
    label: str,
    agents: Mapping[str, tuple[str, str]],
    link: str,
    report: Callable[[str], None] = lambda text: None,
) -> None:
    """Writes a site with one ruleset, whose opponents think in Python (see `asobiba.targets.playground.local`).

    Args:
        label: the name of the ruleset in the page's menu.
        agents: the opponents' texts, with a description and a source each.
        link: the game with which the page begins, as it stands behind the `#` of a link.

    Raises:
        AsobibaError: for a game without a scene.
    """
    require_drawn(ruleset.game)
    _write_one(folder, {label: ruleset}, [], report)
    python = {text: {"description": told, "source": source} for text, (told, source) in agents.items()}
    _write_page(folder, [{**_about(ruleset.game), "python": python, "link": link}])


def require_drawn(one: Game) -> None:
    """Raises `AsobibaError` for a game whose drawing is not a scene."""
    if not is_drawn(one):
        raise AsobibaError(f"{one.name} cannot be drawn in a page; games that can: {', '.join(drawn_games())}")


def _write_page(folder: Path, about: Sequence[dict[str, Any]]) -> int:
    """Writes the page and what it says about its games; the bytes that are fetched of it."""
    write_package(folder / "asobiba")
    for package, names in (("asobiba.targets.playground", PAGE), ("asobiba.api", SHARED)):
        for name in names:
            text = (files(package) / "page" / name).read_text(encoding="utf-8")
            (folder / name).write_text(text, encoding="utf-8")
    (folder / "games.json").write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
    return sum((folder / name).stat().st_size for name in (*PAGE, *SHARED, "games.json", "asobiba/index.js"))


def _write_one(
    folder: Path, rulesets: Mapping[str, Ruleset], agents: Sequence[str] | None, report: Callable[[str], None]
) -> int:
    """Writes a game with these rulesets by name; the bytes that are fetched of it before the first move."""
    chosen: list[Variant] = []
    missing: dict[str, str] = {}
    for label, ruleset in rulesets.items():
        here, without = kernel_agents(ruleset, agents)
        chosen.append(Variant(label, ruleset, here))
        missing |= without
    where = folder / "asobiba" / "games" / chosen[0].ruleset.game.name
    manifest = write_game(where, chosen, missing, report, pictures=True)
    _split(where, manifest)
    first = manifest["rulesets"][0]
    return sum((where / each).stat().st_size for each in ("game.json", first["module"], *first["files"].values()))


def _split(folder: Path, manifest: dict[str, Any]) -> None:
    """Moves what only one parameter set or agent needs (tables, weights) from `game.json` to files, of which equal ones
    are one."""
    kept = set()

    def moved(content: bytes, kind: str) -> str:
        name = f"{hashlib.sha256(content).hexdigest()[:16]}.{kind}"
        (folder / name).write_bytes(content)
        kept.add(name)
        return name

    for ruleset in manifest["rulesets"]:
        ruleset["files"] = {}
        if len(ruleset["params"]) > _LARGE:
            ruleset["files"]["params"] = moved(b64decode(ruleset.pop("params")), "bin")
        picture = json.dumps(ruleset["picture"], separators=(",", ":")).encode()
        if len(picture) > _LARGE:
            ruleset["files"]["picture"] = moved(picture, "json")
            del ruleset["picture"]
        for agent in ruleset["agents"].values():
            for part in agent.get("arrays", [agent]):
                key = "content" if "content" in part else "memory"
                if len(part[key]) > _LARGE:
                    part["file"] = moved(b64decode(part.pop(key)), "bin")
    for old in [*folder.glob("*.bin"), *folder.glob("*.json")]:
        if old.name not in kept and old.name != "game.json":
            old.unlink()
    (folder / "game.json").write_text(json.dumps(manifest, separators=(",", ":")) + "\n", encoding="utf-8")


def _about(one: Game) -> dict[str, Any]:
    """The page's text about a game, from its documentation."""
    from markdown_it import MarkdownIt

    told = sections(one)
    written = MarkdownIt("commonmark", {"html": False})
    return {
        "name": one.name,
        "title": one.title,
        "summary": told.pop(""),
        "rules": [
            *([name, written.render(text)] for name, text in told.items()),
            *([name, written.render(f"```\n{text}```")] for name, text in tables(one).items()),
        ],
    }
