"""A vector environment whose observations are extended by a memory (`asobiba.learn.memory`)."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces

from asobiba.core.game import Ruleset
from asobiba.learn.memory import Memory
from asobiba.learn.shaping import ShapedVecEnv


class RememberingVecEnv(ShapedVecEnv):
    """A `ShapedVecEnv` whose observations are extended by a memory.

    Args:
        kind: called with the ruleset and the number of games, a `Memory`.
        ruleset, num_envs, settings: as in `ShapedVecEnv`.
    """

    def __init__(self, kind: Any, ruleset: Ruleset, num_envs: int, **settings: Any):
        super().__init__(ruleset, num_envs, **settings)
        self.memory: Memory = kind(ruleset, num_envs)
        plain = self.observation_space
        assert isinstance(plain, spaces.Box)
        shape = (plain.shape[0] + self.memory.size,)
        self.observation_space = spaces.Box(plain.low.flat[0], plain.high.flat[0], shape, np.float32)

    def reset(self) -> np.ndarray:
        return self.memory.look(super().reset())

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        observations, rewards, dones, infos = super().step_wait()
        if not dones.any():
            return self.memory.look(observations), rewards, dones, infos
        over = np.flatnonzero(dones)
        last = observations.copy()
        for i in over:
            last[i] = infos[i]["terminal_observation"]
        known = self.memory.look(last)
        for i in over:
            infos[i]["terminal_observation"] = known[i].copy()
        known[over] = self.memory.look(observations[over], over)
        return known, rewards, dones, infos
