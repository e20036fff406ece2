"""Lists of games and agents, and the state of the installation, printed for a person."""

from __future__ import annotations

import importlib.util
import inspect
import os
import platform
import sys
from functools import partial
from importlib.metadata import PackageNotFoundError, requires, version

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from asobiba.core import Game, Ruleset, agent_declarations, game, game_names
from asobiba.core.answers import printable
from asobiba.core.folders import cache_folder
from asobiba.core.game import OPENING


def console() -> Console:
    """A console for tables: as wide as the terminal, or as COLUMNS says; without either, wide enough for a whole table."""
    found = Console()
    if not found.is_terminal and not os.environ.get("COLUMNS", "").isdecimal():
        found.width = 220
    return found


def plain(text: str) -> Text:
    """External text (an agent's name, say) made safe for a table: no markup, nothing unprintable."""
    return Text(printable(text))


_WIDE = 140
"""Terminal width from which every fact of an agent has its own column."""


def _load(name: str) -> Game | str:
    """The game, or the reason why it cannot be loaded."""
    try:
        found = game(name)
        found.ruleset()
        return found
    except Exception as error:
        return f"cannot be loaded: {type(error).__name__}: {error}\nasobiba check {name} tells more"


def print_games() -> None:
    """One line per game; a game that cannot be loaded is listed with the reason."""
    table = Table()
    for heading in ("game", "title", "players", "kind"):
        table.add_column(heading, no_wrap=heading == "game")
    for name in game_names():
        found = _load(name)
        if isinstance(found, str):
            table.add_row(name, f"[red]{found}")
            continue
        kind = [f"{found.information} information", found.utility.replace("_", " ")]
        kind += ["chance"] * found.chance + {"simultaneous": ["simultaneous"], "some": ["some at once"]}.get(
            found.turns, []
        )
        table.add_row(name, found.title, str(found.ruleset().num_players), ", ".join(kind))
    console().print(table)


def print_game(ruleset: Ruleset) -> None:
    """A game's parameters, spaces, channels and the fields of its state, from the live objects.

    The section State of the game's docstring explains the fields and gives their units.
    """
    found, output = ruleset.game, console()
    say = partial(output.print, markup=False, highlight=False)
    say(f"{found.title}: {found.id}, {found.gymnasium_id}")
    say(f"The rules, and what channels and fields mean: python -m pydoc {found.package}")
    say(f"Seats: {', '.join(ruleset.players)}")
    say(f"Actions of one player: {ruleset.action_space}")
    table = Table("parameter", "here", "by default")
    usual = {**({OPENING: 0} if ruleset.takes_openings else {}), **found.parameters}
    for name, value in {**usual, **ruleset.parameters}.items():
        table.add_row(name, escape(repr(value)), escape(repr(usual[name])))
    output.print(table)
    say(f"Observation: {ruleset.observation_space}")
    table = Table("channel", "shape")
    for name, shape in ruleset.layout.observation.items():
        table.add_row(name, str(tuple(shape)))
    output.print(table)
    say(f"State: {ruleset.dtype.itemsize} bytes")
    table = Table("field", "type", "shape", "byte")
    fields = ruleset.dtype.fields
    assert fields is not None
    for name, (kind, offset, *_) in fields.items():
        if not name.startswith("_pad"):
            table.add_row(name, kind.base.name, str(kind.shape) if kind.shape else "", str(offset))
    output.print(table)


def print_agents(name: str) -> None:
    """A table of a game's agents; in a narrow terminal the parameters and the source stand under what an agent does."""
    found, output = game(name), console()
    narrow = output.width < _WIDE
    heads = () if narrow else ("parameters",), () if narrow else ("source", "deterministic", "in the league")
    table = Table("agent", *heads[0], "what it does", *heads[1], title=found.title, show_lines=narrow)
    for declaration in agent_declarations(found).values():
        parameters = inspect.signature(declaration.make).parameters.values()
        settings = ",".join(f"{p.name}={p.default}" for p in parameters if p.default is not p.empty)
        if narrow:
            kind = ["deterministic"] * declaration.deterministic + ["not in the league"] * (not declaration.league)
            lines = [declaration.description, settings, declaration.source, ", ".join(kind)]
            table.add_row(declaration.name, "\n".join(filter(None, lines)))
            continue
        table.add_row(
            declaration.name, settings, declaration.description, declaration.source,
            "yes" if declaration.deterministic else "no", "yes" if declaration.league else "no",
        )  # fmt: skip
    for column in table.columns:
        column.overflow = "fold"  # parameters are one long word, and none of them may be cut off
    output.print(table)


_EXTRAS = ("sb3", "openspiel", "ray", "render", "hil", "postgres")


def print_doctor() -> bool:
    """Prints the state of the installation; returns whether every game loads and the cache can be written."""
    console, well = Console(soft_wrap=True), True
    console.print(f"asobiba {version('asobiba')}, Python {platform.python_version()} at {sys.executable}")
    console.print(f"{platform.platform()}, {os.cpu_count()} cores")
    for package in ("numpy", "numba", "gymnasium", "pettingzoo", "sqlalchemy", "scipy", "typer", "rich"):
        console.print(f"  {package} {version(package)}")
    try:
        folder = cache_folder()
        size = sum(f.stat().st_size for f in folder.rglob("*") if f.is_file())
        console.print(f"compiled code: {folder} ({size / 1e6:.1f} MB); move it with ASOBIBA_CACHE_DIR")
    except OSError as error:
        console.print(f"[red]compiled code: {error}")
        well = False
    for extra in _EXTRAS:
        missing = _missing(extra)
        if missing is None:
            continue
        state = f"lacks {', '.join(missing)}: pip install 'asobiba\\[{extra}]'" if missing else "installed"
        console.print(f"extra {extra}: {state}")
    for name in game_names():
        found = _load(name)
        well &= not isinstance(found, str)
        console.print(f"game {name}: " + (f"[red]{found}" if isinstance(found, str) else found.id))
    return well


def _missing(extra: str) -> list[str] | None:
    """The packages of an extra that are not installed; `None` if there is no such extra."""
    marker = f'extra == "{extra}"'
    wanted = [r.partition(";")[0] for r in requires("asobiba") or () if marker in r.replace("'", '"')]
    if not wanted:
        return None
    missing = []
    for requirement in wanted:
        package = requirement.strip()
        for sign in "<>=!~ [":
            package = package.partition(sign)[0]
        try:
            version(package)
        except PackageNotFoundError:
            if importlib.util.find_spec(package.replace("-", "_")) is None:
                missing.append(package)
    return missing
