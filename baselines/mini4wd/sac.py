"""SAC that begins by driving, as `network.CarPolicy` does for PPO."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from stable_baselines3 import SAC
from stable_baselines3.common.noise import ActionNoise


class DrivingSAC(SAC):
    """SAC whose first actions, before it learns, are its fresh actor's: uniform ones stand and shake."""

    def _sample_action(
        self, learning_starts: int, action_noise: ActionNoise | None = None, n_envs: int = 1
    ) -> tuple[np.ndarray, np.ndarray]:
        return super()._sample_action(0, action_noise, n_envs)


def drive_at_first(actor: Any, duty: float, spread: float) -> None:
    """Makes a fresh actor ask for `duty`, give or take `spread`, in the drive mode (both before its tanh)."""
    with torch.no_grad():
        actor.mu.weight.mul_(0.1)
        actor.mu.bias.copy_(torch.tensor([math.atanh(duty), math.atanh(0.5)]))
        actor.log_std.weight.mul_(0.1)
        actor.log_std.bias.fill_(math.log(spread))
