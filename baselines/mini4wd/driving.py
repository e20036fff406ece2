"""Controllers, or a person at the keyboard, driving a real car."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from asobiba.baselines.mini4wd.learning import Tape
from asobiba.core import make_agent
from asobiba.envs.mini4wd import GAME
from asobiba.envs.mini4wd.hardware.env import HardwareEnv
from asobiba.envs.mini4wd.layout import control_ms_of, view_of_observation

_NO_MASK = np.zeros(0, np.int8)


def controller_for(env: HardwareEnv, text: str, seed: int = 0) -> Callable[[np.void], Any]:
    """A controller, by name, prepared to drive: practice, lessons and compiling are done.

    Returns:
        A function from what the car senses (a view of `env.ruleset`) to the action.
    """
    agent = make_agent(GAME, text)
    agent.reset(env.ruleset, 0, seed)
    agent.act(env.ruleset.zeros()[0], _NO_MASK)  # compiles now, not with the motor running
    agent.reset(env.ruleset, 0, seed)
    return lambda view: agent.act(view, _NO_MASK)


def drive_car(env: HardwareEnv, driver: Callable[[np.void], Any], name: str) -> tuple[Tape, dict[str, Any]]:
    """One run, from `reset` to its end.

    Args:
        driver: from what the car senses to the action.
        name: of the driver, for the tape.

    Returns:
        The commands and the measured voltage, step by step, to be played by `playback:path=...`, and
        the last step's `info`.
    """
    observation, info = env.reset()
    rows: list[list[float]] = []
    over = False
    while not over:
        view = view_of_observation(env.ruleset, observation)
        action = np.zeros(2, np.float32)
        given = np.asarray(driver(view), np.float32).ravel()
        action[: len(given)] = given
        rows.append([float(action[0]), float(action[1]), float(view["voltage"][0])])
        observation, _, terminated, truncated, info = env.step(given)
        over = terminated or truncated
    return Tape(control_ms_of(env.ruleset), name, rows), info
