"""State fields, observation and parameter record of mixed doubles, from its parameters."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from gymnasium import spaces

from asobiba.core import GameParameterError, Layout
from asobiba.envs.curling.doubles import rules
from asobiba.envs.curling.layout import common_layout
from asobiba.envs.curling.rules import EVERY_STONE

REWARDS = ("win", "score")
HOUSE = (0.0, 0.465)
"""m from the tee: the positioned stone in the house, behind the tee."""
GUARDS = (-3.055, -3.345, -3.97, -4.26, -4.885, -5.175)
"""m from the tee: y of the positioned guard, by pattern."""
POWER_HOUSE = (1.219, -0.145)
POWER_GUARD_X = (1.093, 1.087, 1.073, 1.067, 1.053, 1.047)
"""m: the stone in the house and the guard's x of a power play to the right."""


def positioned_stones(pattern: int) -> np.ndarray:
    """Places of the guard and of the stone in the house, m from the tee: `(2, 2, 2)`, without and with a power play."""
    guard = GUARDS[pattern]
    return np.array([[(0.0, guard), HOUSE], [(POWER_GUARD_X[pattern], guard), POWER_HOUSE]])


def game(
    ends: int = 8,
    noise: Any = None,
    pattern: int = 0,
    extra_ends: int | None = None,
    hammer: str = "second",
    first_end: int = 0,
    lead: int = 0,
    stop_after: int = 0,
    actions: str = "velocity",
    reward: str = "win",
    concession: bool = False,
    thinking_time: float | None = None,
) -> Layout:
    """The layout of mixed doubles; the package's documentation explains its parameters.

    Raises:
        GameParameterError: naming the parameter, the value and the legal range.
    """
    if isinstance(pattern, bool) or not isinstance(pattern, (int, np.integer)) or not 0 <= pattern < len(GUARDS):
        raise GameParameterError(
            f"curling_doubles: pattern is {pattern!r}, but must be a whole number from 0 to {len(GUARDS) - 1}"
        )
    if reward not in REWARDS:
        raise GameParameterError(f"curling_doubles: reward is {reward!r}, but must be one of {', '.join(REWARDS)}")
    base = common_layout(
        simulator="fcv1", ends=ends, noise=noise, guards="removal", extra_ends=extra_ends, hammer=hammer,
        first_end=first_end, lead=lead, stop_after=stop_after, actions=actions, reward=reward, concession=concession,
        thinking_time=thinking_time,
    )  # fmt: skip
    parameters = {
        **base.parameters,
        "guard_rule": np.int32(EVERY_STONE),
        "guarded_shots": np.int32(rules.GUARDED_SHOTS),
        "positioned": positioned_stones(pattern),
    }
    played = base.max_steps // 16
    return replace(
        base,
        state=[*base.state, ("power_end", np.int16, (2,)), ("decider", np.uint8)],
        actions=spaces.Box(-1.0, 1.0, (5 if concession else 4,), np.float32),
        observation={
            "stones": (2, rules.STONES_EACH, 4), "shot": (11,), "end": (1,), "ends_left": (1,), "score": (1,),
            "hammer": (1,), "decider": (1,), "power_plays": (2,),
        },
        parameters=parameters,
        max_steps=11 * played,
    )  # fmt: skip
