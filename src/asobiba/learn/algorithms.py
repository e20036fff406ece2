"""The learners that `--algo` names: Stable-Baselines3's and sb3-contrib's own classes, and what they need.

Their arguments stand under `learner` in a configuration.
"""

from __future__ import annotations

import importlib
import inspect
from dataclasses import dataclass
from typing import Any

_RESERVED = (
    "self", "policy", "env", "seed", "policy_kwargs", "device", "verbose", "tensorboard_log", "_init_setup_model",
)  # fmt: skip
"""Arguments that follow from other settings."""


@dataclass(frozen=True)
class Algorithm:
    """One learner.

    Args:
        discrete, continuous: the class (`MODULE:CLASS`) for games of such actions; "" where it does not fit.
        masks: whether the mask belongs at the end of the observation (discrete actions).
        networks: whether it takes policies other than `mlp` (`board` and classes derived from it).
        policy: the class that `mlp` means, of discrete actions; "" is the library's own.
        recurrent: whether it remembers.
        off_policy: whether it learns from a replay buffer.
        note: in a few words.
    """

    discrete: str
    continuous: str
    note: str
    masks: bool = False
    networks: bool = False
    policy: str = ""
    recurrent: bool = False
    off_policy: bool = False

    def class_for(self, discrete: bool) -> Any:
        """The class for games of discrete or continuous actions; `None` where there is none."""
        return found_class(self.discrete if discrete else self.continuous)

    def arguments(self, discrete: bool) -> list[str]:
        """The names that `learner` may have."""
        return [name for name in inspect.signature(self.class_for(discrete)).parameters if name not in _RESERVED]


def found_class(path: str) -> Any:
    """The class that `MODULE:CLASS` names; `None` for an empty text."""
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(module), name) if path else None


_PPO, _MASKED = "stable_baselines3:PPO", "asobiba.learn.masked:"
ALGORITHMS = {
    "maskable_ppo": Algorithm("sb3_contrib:MaskablePPO", _PPO, "PPO that knows legal actions", networks=True),
    "ppo": Algorithm(_PPO, _PPO, "PPO that has to learn which actions are legal", networks=True),
    "recurrent_ppo": Algorithm(
        "sb3_contrib:RecurrentPPO", "sb3_contrib:RecurrentPPO", "PPO with an LSTM, for what is hidden", masks=True,
        policy=f"{_MASKED}MaskedLstmPolicy", recurrent=True,
    ),
    "dqn": Algorithm(
        f"{_MASKED}MaskedDQN", "", "Q-learning with a replay buffer", masks=True, policy=f"{_MASKED}MaskedDQNPolicy",
        off_policy=True,
    ),
    "qrdqn": Algorithm(
        f"{_MASKED}MaskedQRDQN", "", "the same over quantiles of the return", masks=True,
        policy=f"{_MASKED}MaskedQRDQNPolicy", off_policy=True,
    ),
    "sac": Algorithm("", "stable_baselines3:SAC", "soft actor and critic, of continuous actions", off_policy=True),
    "tqc": Algorithm("", "sb3_contrib:TQC", "the same with truncated quantile critics", off_policy=True),
    "crossq": Algorithm("", "sb3_contrib:CrossQ", "the same without target networks", off_policy=True),
}  # fmt: skip
