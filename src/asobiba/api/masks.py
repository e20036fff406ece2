"""Observations that contain the action mask, for learners that look for it there.

When an episode is over, no action is legal. The step that only begins the next episode (`autoreset_mode` "NextStep")
ignores its action, but most learners sample one. Therefore the masks of ended episodes are all ones here.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector.utils import batch_space

from asobiba.core.errors import GameParameterError


def masked_space(env: Any) -> spaces.Dict:
    """`{"observation", "action_mask"}` of one game. Raises `GameParameterError` for continuous actions."""
    actions = getattr(env, "single_action_space", env.action_space)
    if not isinstance(actions, spaces.Discrete):
        raise GameParameterError(f"actions are {actions}: there are no masks to put into the observation")
    observation = getattr(env, "single_observation_space", env.observation_space)
    return spaces.Dict({"observation": observation, "action_mask": spaces.Box(0, 1, (int(actions.n),), np.int8)})


def _with_mask(observation: np.ndarray, mask: np.ndarray) -> dict[str, np.ndarray]:
    ended = ~mask.any(-1, keepdims=True)
    return {"observation": observation, "action_mask": np.where(ended, np.int8(1), mask.astype(np.int8))}


class MaskedObservation(gymnasium.Wrapper):
    """One environment whose observations are `{"observation": (size,), "action_mask": (num_actions,) int8}`.

    Raises:
        GameParameterError: for continuous actions.
    """

    def __init__(self, env: gymnasium.Env):
        super().__init__(env)
        self.observation_space = masked_space(env)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        observation, info = self.env.reset(seed=seed, options=options)
        return _with_mask(observation, info["action_mask"]), info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        return _with_mask(observation, info["action_mask"]), reward, terminated, truncated, info


class VectorMaskedObservation(gymnasium.vector.VectorWrapper):
    """The same for a vector environment: `{"observation": (n, size), "action_mask": (n, num_actions) int8}`.
    `infos["final_obs"]` has this form too.

    Raises:
        GameParameterError: for continuous actions.
    """

    def __init__(self, env: gymnasium.vector.VectorEnv):
        super().__init__(env)
        self.single_observation_space = masked_space(env)
        self.observation_space = batch_space(self.single_observation_space, env.num_envs)

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        observations, infos = self.env.reset(seed=seed, options=options)
        return _with_mask(observations, infos["action_mask"]), infos

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        observations, rewards, terminated, truncated, infos = self.env.step(actions)
        if "final_obs" in infos:
            final = np.full(len(infos["final_obs"]), None, object)
            none = np.zeros(infos["action_mask"].shape[1], np.int8)
            for i in np.flatnonzero(infos["_final_obs"]):
                final[i] = _with_mask(infos["final_obs"][i], none)
            infos = {**infos, "final_obs": final}
        return _with_mask(observations, infos["action_mask"]), rewards, terminated, truncated, infos
