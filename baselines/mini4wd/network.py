"""The policy network of the mini 4WD for Stable-Baselines3: small enough for the car's chip, and it begins by driving.

A policy that begins around duty 0 with a wide spread stands still or shakes; this one begins at a moderate duty in the
drive mode, so that its first runs already pass the course. The observation's channels are scaled to about 1. Layers are
linear with ReLU between, which `export` turns into integers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
import torch
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import nn

from asobiba.baselines.mini4wd.memory import RunMemory
from asobiba.core import Ruleset

SCALES: Mapping[str, tuple[float, float]] = {
    "voltage": (2.5, 4.0),
    "time": (5.0, 0.2),
    "frame_age": (0.0, 30.0),
    "wheel_speed": (2.5, 0.5),
    "target": (8.0, 0.2),
}
"""Channel -> offset to subtract, and factor to multiply by. The inertial sensor: g / 2 and rad/s / 4."""


def scales(channels: Mapping[str, tuple[int, ...]]) -> tuple[np.ndarray, np.ndarray]:
    """Offsets and factors `(size,)` for a flat observation of these channels."""
    offsets, factors = [], []
    for name, shape in channels.items():
        if name == "imu":
            offset, factor = np.zeros(shape), np.tile([0.5] * 3 + [0.25] * 3, (shape[0], 1))
            offset[:, 2] = 1.0
        else:
            low, times = SCALES.get(name, (0.0, 1.0))
            offset, factor = np.full(shape, low), np.full(shape, times)
        offsets.append(offset.ravel())
        factors.append(factor.ravel())
    return np.concatenate(offsets), np.concatenate(factors)


class Scaled(BaseFeaturesExtractor):
    """The observation with its channels scaled to about 1 and limited to 4."""

    def __init__(self, space: gymnasium.spaces.Box, channels: Mapping[str, tuple[int, ...]]):
        super().__init__(space, int(space.shape[0]))
        self.offsets: torch.Tensor
        self.factors: torch.Tensor
        offsets, factors = scales(channels)
        self.register_buffer("offsets", torch.as_tensor(offsets, dtype=torch.float32))
        self.register_buffer("factors", torch.as_tensor(factors, dtype=torch.float32))

    def forward(self, observation: torch.Tensor) -> torch.Tensor:
        """Observations `(n, size)` in, the same shape out."""
        return torch.clamp((observation - self.offsets) * self.factors, -4.0, 4.0)


class CarPolicy(ActorCriticPolicy):
    """PPO's policy.

    Args (in `policy_kwargs`):
        channels: name -> shape of the observation's channels (`Ruleset.layout.observation`).
        width: of the actor's two hidden layers.
        duty, spread: mean and standard deviation of the duty that a fresh policy asks for.
    """

    def __init__(
        self,
        *args: Any,
        channels: Mapping[str, tuple[int, ...]],
        width: int = 32,
        duty: float = 0.6,
        spread: float = 0.25,
        **kwargs: Any,
    ):
        kwargs |= {
            "net_arch": {"pi": [width, width], "vf": [64, 64]},
            "activation_fn": nn.ReLU,
            "features_extractor_class": Scaled,
            "features_extractor_kwargs": {"channels": dict(channels)},
            "log_std_init": math.log(spread),
        }
        super().__init__(*args, **kwargs)
        # The settings from which a saved policy is made again (`asobiba.learn.policy_file`).
        self._network = {"channels": dict(channels), "width": width, "duty": duty, "spread": spread}
        self.channels = dict(channels)
        head = self.action_net
        assert isinstance(head, nn.Linear)
        with torch.no_grad():
            head.weight.mul_(0.1)
            head.bias.fill_(0.5)
            head.bias[0] = duty

    def memory(self, ruleset: Ruleset, count: int) -> RunMemory:
        """Memory that completes the observations of `count` runs, where the channels have `memory`."""
        return RunMemory(ruleset, count)
