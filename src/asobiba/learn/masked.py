"""Value-based and recurrent learners that know which actions are legal.

Stable-Baselines3's DQN, and sb3-contrib's QR-DQN and RecurrentPPO, have no place for masks. Here a mask stands at the
end of the observation (`MaskedVecEnv`), so that replay buffers and rollouts keep it, and the policies below read it
there: what is illegal has the least value, in targets too, and no probability. Exploration draws among legal actions.
The algorithms are the libraries' own.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from sb3_contrib import QRDQN
from sb3_contrib.common.recurrent.policies import RecurrentActorCriticPolicy
from sb3_contrib.qrdqn.policies import QRDQNPolicy, QuantileNetwork
from stable_baselines3 import DQN
from stable_baselines3.dqn.policies import DQNPolicy, QNetwork

from asobiba.core.errors import GameParameterError
from asobiba.core.game import Ruleset
from asobiba.learn.shaping import ShapedVecEnv

LEAST = -1e8
"""Value, or logit, of an illegal action."""


class MaskedVecEnv(ShapedVecEnv):
    """A `ShapedVecEnv` whose observations end with the mask: `(n, size + num_actions)`; of ended games it is all zero."""

    def __init__(self, ruleset: Ruleset, num_envs: int, **settings: Any):
        if not ruleset.discrete:
            raise GameParameterError(f"{ruleset.game.name} has continuous actions and therefore no masks")
        super().__init__(ruleset, num_envs, **settings)
        plain = ruleset.observation_space
        shape = (plain.shape[0] + ruleset.num_actions,)
        low, high = min(0, plain.low.flat[0]), max(1, plain.high.flat[0])
        self.observation_space = spaces.Box(low, high, shape, plain.dtype.type)

    def _masked(self, observations: np.ndarray) -> np.ndarray:
        return np.concatenate([observations, self.action_masks().astype(observations.dtype)], 1)

    def reset(self) -> np.ndarray:
        return self._masked(super().reset())

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        observations, rewards, dones, infos = super().step_wait()
        for i in np.flatnonzero(dones):
            last = infos[i]["terminal_observation"]
            infos[i]["terminal_observation"] = np.concatenate([last, np.zeros(self.ruleset.num_actions, last.dtype)])
        return self._masked(observations), rewards, dones, infos


def mask_of(observations: Any, actions: int) -> Any:
    """The masks at the end of observations `(n, size)`."""
    return observations[..., -actions:]


class MaskedQNetwork(QNetwork):
    """DQN's network, with the least value for what is illegal."""

    def forward(self, obs: Any) -> torch.Tensor:
        return super().forward(obs).masked_fill(mask_of(obs, int(self.action_space.n)) == 0, LEAST)


class MaskedDQNPolicy(DQNPolicy):
    """DQN's policy over observations that end with the mask."""

    reads_masks = True

    def make_q_net(self) -> QNetwork:
        settings = self._update_features_extractor(self.net_args, features_extractor=None)
        return MaskedQNetwork(**settings).to(self.device)


class MaskedQuantileNetwork(QuantileNetwork):
    """QR-DQN's network, with the least quantiles for what is illegal."""

    def forward(self, obs: Any) -> torch.Tensor:
        return super().forward(obs).masked_fill(mask_of(obs, int(self.action_space.n))[:, None] == 0, LEAST)


class MaskedQRDQNPolicy(QRDQNPolicy):
    """QR-DQN's policy over observations that end with the mask."""

    reads_masks = True

    def make_quantile_net(self) -> QuantileNetwork:
        settings = self._update_features_extractor(self.net_args, features_extractor=None)
        return MaskedQuantileNetwork(**settings).to(self.device)


def _legal_at_random(observations: np.ndarray, actions: int) -> np.ndarray:
    masks = mask_of(observations, actions) != 0
    # SB3's own exploration draws from NumPy's global generator too, which checkpoints keep.
    return (masks * (1.0 - np.random.random_sample(masks.shape))).argmax(1)  # noqa: NPY002


class _ExploresLegally:
    """Replaces uniform draws among all actions by uniform draws among the legal ones."""

    def predict(
        self, observation: Any, state: Any = None, episode_start: Any = None, deterministic: bool = False
    ) -> tuple[Any, Any]:
        """As in SB3: one coin decides whether all games explore."""
        learner: Any = self
        if not deterministic and np.random.random_sample() < learner.exploration_rate:  # noqa: NPY002
            found = _legal_at_random(np.atleast_2d(observation), int(learner.action_space.n))
            return (found if np.ndim(observation) > 1 else found[0]), state
        return learner.policy.predict(observation, state, episode_start, deterministic)

    def _sample_action(self, learning_starts: int, action_noise: Any = None, n_envs: int = 1) -> tuple[Any, Any]:
        learner: Any = self
        if learner.num_timesteps < learning_starts:
            actions = _legal_at_random(learner._last_obs, int(learner.action_space.n))
        else:
            actions, _ = self.predict(learner._last_obs)
        return actions, actions


class MaskedDQN(_ExploresLegally, DQN):
    """SB3's DQN, exploring among legal actions."""


class MaskedQRDQN(_ExploresLegally, QRDQN):
    """sb3-contrib's QR-DQN, exploring among legal actions."""


class MaskedLstmPolicy(RecurrentActorCriticPolicy):
    """RecurrentPPO's policy over observations that end with the mask."""

    reads_masks = True
    _legal: torch.Tensor | None = None

    def extract_features(self, obs: Any, features_extractor: Any = None) -> Any:
        """Passes of the learner begin here; the mask is kept for the distribution that follows."""
        self._legal = mask_of(obs, int(self.action_space.n)) != 0  # type: ignore[attr-defined]
        return super().extract_features(obs, features_extractor)

    def get_distribution(self, obs: Any, lstm_states: Any, episode_starts: Any) -> Any:  # type: ignore[override]
        """The distribution over legal actions, and what is remembered; this pass does not begin with the other."""
        self._legal = mask_of(obs, int(self.action_space.n)) != 0  # type: ignore[attr-defined]
        return super().get_distribution(obs, lstm_states, episode_starts)

    def _get_action_dist_from_latent(self, latent_pi: torch.Tensor) -> Any:
        assert self._legal is not None
        logits = self.action_net(latent_pi).masked_fill(~self._legal, LEAST)
        return self.action_dist.proba_distribution(action_logits=logits)
