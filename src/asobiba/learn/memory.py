"""Policies with a memory: observations are extended by a summary of the earlier ones.

A memory is no part of the game: the code that plays the policy, in training or in a league, keeps one and passes it
every observation in turn. A policy with a memory has a method `memory(ruleset, count)`, which returns `None` if it
needs none.
"""

from __future__ import annotations

import importlib
from typing import Any, Protocol

import numpy as np
from gymnasium import spaces

from asobiba.core.game import Ruleset
from asobiba.learn.shaping import ShapedVecEnv


class Memory(Protocol):
    """The memories of games that are played side by side; it detects the first observation of a new game itself.

    Attributes:
        size: number of entries that it adds to an observation.
    """

    size: int

    def look(self, observations: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """Observations `(n, size)` of the games `rows` `(n,)`, by default of all, extended by the memory of each."""


def memory_class(text: str) -> Any:
    """The class that a configuration names as MODULE:CLASS; it is called with a ruleset and a number of games."""
    module, _, name = text.partition(":")
    return getattr(importlib.import_module(module), name)


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
