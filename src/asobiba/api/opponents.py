"""Converts values of `opponent=` and `seat=` into agents and seat numbers."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from asobiba.core.agents import Agent, make_agent
from asobiba.core.errors import GameParameterError
from asobiba.core.game import Ruleset
from asobiba.core.random import ANY_SEAT

Player = str | Agent | Callable[[np.void, np.ndarray], Any]
"""The text of a registered agent (`name` or `name:parameter=value`), an agent, or a function `(view, legal) -> action`."""

Opponent = Player | Mapping[str | int, Player] | tuple[Player, ...]
"""The agents of the seats that the learner does not take: one for all of them, or one for each seat, by name or in
order."""


class FunctionAgent(Agent):
    """An agent made of a function `(view, legal) -> action`."""

    def __init__(self, function: Callable[[np.void, np.ndarray], Any]):
        self.function = function
        self.name = getattr(function, "__name__", "function")

    def reset(self, ruleset: Ruleset, seat: int, seed: int) -> None:
        pass

    def act(self, view: np.void, legal: np.ndarray) -> Any:
        return self.function(view, legal)


def as_agent(ruleset: Ruleset, player: Player) -> Agent:
    """Returns the agent given by the text of a registered one, an `Agent` (copied), or a function.

    Raises:
        UnknownAgent, GameParameterError: for text that names no agent.
        TypeError: for anything else.
    """
    if isinstance(player, str):
        return make_agent(ruleset.game, player)
    if isinstance(player, Agent):
        return copy.deepcopy(player)
    if callable(player):
        return FunctionAgent(player)
    raise TypeError(
        f"opponent must be the text of a registered agent, an asobiba.core.Agent or a function (view, legal) -> action, "
        f"not {player!r}"
    )


def plays_batches(agent: Agent) -> bool:
    """Whether the agent plays many games at once through `act_batch`."""
    return type(agent).act_batch is not Agent.act_batch and not agent.remembers


def seat_number(ruleset: Ruleset, seat: str | int) -> int:
    """The number of a seat, given by number, by its name, or as "first" or "second"; -1 for "random".

    Raises:
        GameParameterError: for a seat that the game does not have.
    """
    if isinstance(seat, str) and seat == "random":
        return ANY_SEAT
    if isinstance(seat, (int, np.integer)) and not isinstance(seat, bool) and 0 <= seat < ruleset.num_players:
        return int(seat)
    names = {name: k for k, name in enumerate(("first", "second")[: ruleset.num_players])}
    names |= {name: k for k, name in enumerate(ruleset.players)}
    if isinstance(seat, str) and seat in names:
        return names[seat]
    raise GameParameterError(
        f"{ruleset.game.name} has no seat {seat!r}: choose {', '.join(map(repr, names))}, 'random', "
        f"or a number below {ruleset.num_players}"
    )


def at_each_seat(ruleset: Ruleset, opponent: Opponent, learner: int) -> list[Player | None]:
    """Returns the agent of each seat where the learner does not sit; `None` at a seat that only `learner` takes.

    An agent given for all seats also plays the learner's seat when a state that is put into the game moves the learner.

    Raises:
        GameParameterError: if a seat has no agent, or the game has no such seat.
    """
    players = ruleset.num_players
    if isinstance(opponent, Mapping):
        found: list[Player | None] = [None] * players
        for seat, player in opponent.items():
            number = seat_number(ruleset, seat)
            if number < 0:
                raise GameParameterError(f"an opponent sits at a seat of {ruleset.players}, not at {seat!r}")
            found[number] = player
    elif isinstance(opponent, tuple):
        if len(opponent) != players:
            raise GameParameterError(
                f"{len(opponent)} opponents were given for the {players} seats of {ruleset.game.name}: give one for all, "
                "one for each seat in order (None at the learner's), or a mapping from seats to opponents"
            )
        found = list(opponent)
    else:
        return [opponent] * players
    if learner >= 0:
        found[learner] = None
    empty = [ruleset.players[k] for k, player in enumerate(found) if player is None and k != learner]
    if empty:
        raise GameParameterError(
            f"nobody plays {', '.join(empty)} of {ruleset.game.name}: name an opponent for each seat that the learner "
            "may leave to others"
        )
    return found


def in_each_game(ruleset: Ruleset, count: int, opponent: Opponent | Sequence[Opponent]) -> list[Opponent]:
    """The opponent of each of `count` games; a list is one for each.

    Raises:
        GameParameterError: if a list has another length.
    """
    if isinstance(opponent, Sequence) and not isinstance(opponent, (str, tuple)):
        if len(opponent) != count:
            raise GameParameterError(
                f"{len(opponent)} opponents were given for {count} games; give one, or one for each game"
            )
        return list(opponent)
    return [opponent] * count
