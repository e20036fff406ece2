"""The referee asks agents that are not compiled, and converts their answers into the form that the loops take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from asobiba.core.agents import Agent
from asobiba.core.errors import IllegalAction
from asobiba.core.game import Ruleset
from asobiba.core.states import as_action, numbers_of


class Referee:
    """Asks the agents of a `Seating` that do not run in the compiled loops; they are asked nowhere else.

    This is the referee of environments: an agent's exception, and an answer that does not have the form of an action,
    is raised to the caller. An action of the right form is judged by the loops themselves, as a learner's is. The
    league's referee (`asobiba.arena.referee`) records all of it instead.
    """

    def begin(self, agent: Agent, ruleset: Ruleset, seats: Sequence[int], seeds: Sequence[int]) -> None:
        """New games begin for this agent, as `Agent.begin`."""
        agent.begin(ruleset, seats, seeds)

    def ask(self, agent: Agent, ruleset: Ruleset, seat: int, view: np.void, legal: np.ndarray) -> Any:
        """One player's action in one game.

        Raises:
            IllegalAction: if the answer does not have the form of an action.
        """
        return one_action(ruleset, agent.act(view, legal))

    def ask_together(self, agent: Agent, views: np.ndarray, legal: np.ndarray) -> Any:
        """The actions of an agent that plays many games at once: one for each view."""
        return agent.act_batch(views, legal)


def one_action(ruleset: Ruleset, answer: Any) -> Any:
    """An agent's answer as one player's action. Raises `IllegalAction` if it does not have the form of one."""
    if not ruleset.simultaneous:
        return as_action(ruleset, answer)
    array = numbers_of(ruleset, answer)
    if array is None or array.shape != ruleset.actions_shape[1:]:
        raise IllegalAction(
            f"{ruleset.game.name} takes one player's action of shape {ruleset.actions_shape[1:]} and dtype "
            f"{ruleset.action_dtype}, not {answer!r}"
        )
    return array
