"""Potential-based reward shaping, for training only: a decision is also rewarded by the change of a potential.

Learning from a reward at the end of a long game is slow. A potential estimates the remaining return from the whole
state; training adds the change of the potential to each reward. Without discount the sum over a game is then the game's
own return minus the potential of its start, so the same policies are optimal; with discount, `learner.gamma` says how
far beyond the estimate the learner looks. Evaluations, leagues and the returns in `practice.csv` are not shaped.

Sources: A. Y. Ng, D. Harada and S. Russell, "Policy invariance under reward transformations", ICML 1999; C.-A. Cheng,
A. Kolobov and A. Swaminathan, "Heuristic-guided reinforcement learning", NeurIPS 2021 (a shorter horizon on such rewards).
"""

from __future__ import annotations

import importlib
from typing import Any, Protocol

import numpy as np

from asobiba.api.sb3 import SB3VecEnv
from asobiba.core.game import Ruleset
from asobiba.learn.turning import Turning


class Potential(Protocol):
    """A potential function of states; made from a ruleset."""

    def __call__(self, states: np.ndarray) -> np.ndarray:
        """The expected remaining return, `(n,)` float64, of state records `(n,)`. May read hidden information."""


def potential_class(text: str) -> Any:
    """The class that a configuration names as MODULE:CLASS; it is called with a ruleset."""
    module, _, name = text.partition(":")
    return getattr(importlib.import_module(module), name)


class ShapedVecEnv(SB3VecEnv):
    """A `SB3VecEnv` whose rewards include the change of a potential. The potential is 0 at the end of a game; a
    truncated game keeps its potential. `infos` report the game's own returns.

    Args:
        ruleset, num_envs, settings: as in `SB3VecEnv`.
        potential: a class of `Potential`, or `None` for the game's own rewards.
        turning: the images through which the learner sees the games; `None`: as they are.
    """

    def __init__(
        self, ruleset: Ruleset, num_envs: int, potential: Any = None, turning: Turning | None = None, **settings: Any
    ):
        super().__init__(ruleset, num_envs, **settings)
        self.turning = turning
        self.potential: Potential | None = None if potential is None else potential(ruleset)
        self._promised = np.zeros(num_envs)

    def reset(self) -> np.ndarray:
        observations = super().reset()
        if self.potential is not None:
            self._promised = self.potential(self.games.states)
        if self.turning is None:
            return observations
        self.turning.draw(np.ones(self.num_envs, bool))
        return self.turning.seen(observations)

    def step_async(self, actions: np.ndarray) -> None:
        super().step_async(actions if self.turning is None else self.turning.meant(actions))

    def action_masks(self) -> np.ndarray:
        masks = super().action_masks()
        return masks if self.turning is None else self.turning.masks(masks)

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        observations, rewards, dones, infos = super().step_wait()
        if self.potential is not None:
            # In games that are over, the states already belong to the next episodes.
            promised = self.potential(self.games.states)
            kept = np.where(self.games.terminated, 0.0, np.where(dones, self._promised, promised))
            rewards = (rewards + (kept - self._promised)).astype(np.float32)
            self._promised = promised
        if self.turning is None:
            return observations, rewards, dones, infos
        for i in np.flatnonzero(dones).tolist():
            infos[i]["terminal_observation"] = self.turning.seen_one(i, infos[i]["terminal_observation"])
        self.turning.draw(dones)
        return self.turning.seen(observations), rewards, dones, infos
