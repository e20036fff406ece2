"""The trained policy in the continuous game as a compiled function, for targets without Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from asobiba.baselines.curling.learned import Translated
from asobiba.baselines.curling.player import to_action
from asobiba.core import Agent, Ruleset
from asobiba.core.agents import Thinking
from asobiba.learn.agent import PolicyAgent
from asobiba.learn.formulas import choosing, working_arrays


def _playing(choose: Any) -> Callable[..., None]:
    def play(
        views, params, masks, inner, every, shots,
        operations, tables, constants, numbers, row, apart, columns, seen, actions,
    ):  # fmt: skip
        number = choose(
            views[0], inner[0], every,
            operations=operations, tables=tables, constants=constants, numbers=numbers, row=row, apart=apart,
            columns=columns, seen=seen,
        )  # fmt: skip
        for k in range(actions.shape[1]):
            actions[0, k] = shots[number, k]

    return play


def translated(agent: Translated, ruleset: Ruleset) -> Thinking | None:
    """A `Translated`: all its shots are prepared as actions."""
    if not isinstance(agent.agent, PolicyAgent):
        return None
    agent.reset(ruleset, 0, 0)
    found = agent.agent.as_formulas(agent.inner)
    if found is None:
        return None
    formulas, columns = found
    arrays = {
        "inner": agent.inner.params,
        "every": np.ones(len(agent.shots), np.int8),
        "shots": np.array([to_action(ruleset, *shot) for shot in agent.shots], ruleset.action_dtype),
        **working_arrays(agent.inner, formulas, columns),
    }
    choose = choosing(agent.inner.game.rules.observe, formulas.policy, formulas.actions)
    return Thinking(_playing(choose), arrays)


COMPILED: dict[type[Agent], Callable[[Any, Ruleset], Thinking | None]] = {Translated: translated}
