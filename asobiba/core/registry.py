"""Finds games by the entry-point group `asobiba.games` and agents by `asobiba.baselines.<game>`."""

from __future__ import annotations

import difflib
from functools import cache
from importlib.metadata import EntryPoint, entry_points

from asobiba.core.errors import UnknownGame
from asobiba.core.game import Game

GROUP = "asobiba.games"


@cache
def _entries() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in sorted(entry_points(group=GROUP), key=lambda e: (e.name, e.value))}


def game_names() -> tuple[str, ...]:
    """Names of all registered games, sorted."""
    return tuple(_entries())


@cache
def game(name: str) -> Game:
    """The declaration of the game of this name (or PettingZoo id, or Gymnasium id).

    Raises:
        UnknownGame: with the nearest names.
    """
    entries = _entries()
    if name not in entries:
        close = difflib.get_close_matches(name, entries, n=3)
        hint = f"Did you mean {' or '.join(map(repr, close))}?" if close else f"Games: {', '.join(entries)}."
        raise UnknownGame(f"No game is called {name!r}. {hint}")
    found = entries[name].load()
    if not isinstance(found, Game):
        raise UnknownGame(
            f"The entry point {entries[name].value!r} of game {name!r} is no asobiba.core.Game: {found!r}"
        )
    return found


def games() -> tuple[Game, ...]:
    """All registered games, by name."""
    return tuple(game(name) for name in game_names())
