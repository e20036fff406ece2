"""Finds games by the entry-point group `asobiba.games`, and those that `register_game` adds.

The name of an entry point is the game's name; from version 1 on the version follows it (`gogo-v1`), so that ids are
known without importing the game.
"""

from __future__ import annotations

import copyreg
import difflib
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint

from asobiba.core.errors import AsobibaError, GameMistake, UnknownGame
from asobiba.core.game import Game, camel_case
from asobiba.core.installed import entry_points
from asobiba.core.places import told

GROUP = "asobiba.games"
_added: dict[str, Game] = {}
listeners: list[Callable[[], None]] = []
"""Called after a game was added to this process, so that other registries enter it too."""


@dataclass(frozen=True)
class GameIds:
    """The names of a game in the registries of PettingZoo and Gymnasium."""

    pettingzoo: str
    gymnasium: str


@cache
def _entries() -> dict[str, tuple[EntryPoint, int]]:
    found = {}
    for entry in sorted(entry_points(group=GROUP), key=lambda e: (e.name, e.value)):
        match = re.fullmatch(r"(.+?)(?:-v(\d+))?", entry.name)
        assert match is not None
        found[match[1]] = (entry, int(match[2] or 0))
    return found


def game_names() -> tuple[str, ...]:
    """Names of all registered games, sorted."""
    return tuple(sorted({*_entries(), *_added}))


def games_of(package: str) -> list[str]:
    """The names of the registered games that a package, or a module in it, declares."""
    places = {name: entry.value.partition(":")[0] for name, (entry, _) in _entries().items()}
    return [name for name, place in sorted(places.items()) if place == package or place.startswith(f"{package}.")]


def game_ids() -> dict[str, GameIds]:
    """The registry ids of all games by name, without importing the games."""
    versions = {name: version for name, (_, version) in _entries().items()}
    versions |= {name: game.version for name, game in _added.items()}
    return {
        name: GameIds(f"asobiba/{name}-v{version}", f"asobiba/{camel_case(name)}-v{version}")
        for name, version in sorted(versions.items())
    }


def register_game(declaration: Game) -> Game:
    """Adds a game that is not installed as a package, such as one in a notebook, to this process's registry.

    Installed packages declare an entry point of the group `asobiba.games` instead.
    """
    _added[declaration.name] = declaration
    game.cache_clear()
    for tell in listeners:
        tell()
    return declaration


@cache
def game(name: str) -> Game:
    """The declaration of the game of this name (or PettingZoo id, or Gymnasium id).

    >>> game("battleship") is game("asobiba/Battleship-v0")
    True

    Raises:
        UnknownGame: with the nearest names.
        GameMistake: where its package cannot be imported.
    """
    if name in _added:
        return _added[name]
    entries = _entries()
    if name not in entries:
        for known, ids in game_ids().items():
            if name in (ids.pettingzoo, ids.gymnasium):
                return game(known)
        names = game_names()
        close = difflib.get_close_matches(name, names, n=3)
        hint = f"Did you mean {' or '.join(map(repr, close))}?" if close else f"Games: {', '.join(names)}."
        raise UnknownGame(f"No game is called {name!r}. {hint}")
    entry, version = entries[name]
    try:
        found = entry.load()
    except AsobibaError:
        raise
    except (Exception, SystemExit) as error:  # a package that ends the process would end everybody's
        raise GameMistake(told(error, None, f"loading the game {name!r} (entry point {entry.value!r})")) from error
    if not isinstance(found, Game):
        raise UnknownGame(f"The entry point {entry.value!r} of game {name!r} is not an asobiba.core.Game: {found!r}")
    if (found.name, found.version) != (name, version):
        wanted = found.name if found.version == 0 else f"{found.name}-v{found.version}"
        raise UnknownGame(
            f"The entry point {entry.name!r} of {GROUP} declares {found.id}; it must be called {wanted!r}"
        )
    return found


def games() -> tuple[Game, ...]:
    """All registered games, by name. One that cannot be loaded is left out, with a warning."""
    found = []
    for name in game_names():
        try:
            declared = game(name)
            declared.ruleset()
            found.append(declared)
        except Exception as error:
            warnings.warn(f"the game {name!r} is left out: {error}", stacklevel=2)
    return tuple(found)


def _pickled(declaration: Game) -> tuple[Callable[[str], Game], tuple[str]]:
    return game, (declaration.name,)


copyreg.pickle(Game, _pickled)
