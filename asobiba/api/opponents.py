"""What may be given as `opponent=` and `seat=`, made into agents and seat numbers."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from asobiba.core.agents import Agent, make_agent
from asobiba.core.errors import GameParameterError
from asobiba.core.game import Ruleset
from asobiba.core.kernels import compiled
from asobiba.core.random import begin_control


@compiled()
def draw_episode(control, i, players):
    """`begin_control` for `control[i]`, from Python."""
    return begin_control(control[i], players)


Opponent = str | Agent | Callable[[np.void, np.ndarray], Any]


class FunctionAgent(Agent):
    """An agent made of a function `(view, legal) -> action`."""

    def __init__(self, function: Callable[[np.void, np.ndarray], Any]):
        self.function = function
        self.name = getattr(function, "__name__", "function")

    def reset(self, ruleset: Ruleset, seat: int, seed: int) -> None:
        pass

    def act(self, view: np.void, legal: np.ndarray) -> Any:
        return self.function(view, legal)


def as_agent(ruleset: Ruleset, opponent: Opponent) -> Agent:
    """The agent that is meant: a registered one by its text, an `Agent` (copied), or a function.

    Raises:
        UnknownAgent, GameParameterError: for text that names none.
        TypeError: for anything else.
    """
    if isinstance(opponent, str):
        return make_agent(ruleset.game, opponent)
    if isinstance(opponent, Agent):
        return copy.deepcopy(opponent)
    if callable(opponent):
        return FunctionAgent(opponent)
    raise TypeError(
        f"opponent must be the text of a registered agent, an asobiba.core.Agent or a function (view, legal) -> action, "
        f"not {opponent!r}"
    )


def plays_batches(agent: Agent) -> bool:
    """Whether the agent plays many games at once through `act_batch`."""
    return type(agent).act_batch is not Agent.act_batch


def seat_number(ruleset: Ruleset, seat: str | int) -> int:
    """The number of a seat, given by number, by its name, or as "first" or "second"; -1 for "random".

    Raises:
        GameParameterError: for a seat that the game does not have.
    """
    if seat == "random":
        return -1
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
