"""A network that reads counts of seeds: the policy of `asobiba train bao`.

The effect of a sowing depends on the exact number of seeds in a hole, not on its magnitude: four seeds reach the
fourth hole, five the fifth. So every count is a word of its own (one-hot, counts above the highest together), which
the layers after it combine.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import nn
from torch.nn import functional

from asobiba.learn.networks import BoardPolicy

_HIGHEST = 15  # counts from here on are one word
_STORE = 16.0  # captured seeds are divided by this: half of the seeds of the usual start


class CountsNetwork(nn.Module):
    """Takes observations `(n, size)`, gives logits `(n, actions)` and value features `(n, width)`.

    Args:
        channels: name -> shape of the observation's channels; `board` holds the counts.
        actions: number of actions, the mover's holes.
        width: features of both hidden layers.
    """

    def __init__(self, channels: Mapping[str, tuple[int, ...]], actions: int, width: int = 256):
        super().__init__()
        sizes = {name: math.prod(shape) for name, shape in channels.items()}
        self.holes = sizes.pop("board")
        self.torso = nn.Sequential(
            nn.Linear(self.holes * (_HIGHEST + 1) + sum(sizes.values()), width),
            nn.ReLU(),
            nn.Linear(width, width),
            nn.ReLU(),
        )
        self.logits = nn.Linear(width, actions)
        nn.init.orthogonal_(self.logits.weight, 0.01)
        self.latent_dim_pi, self.latent_dim_vf = actions, width

    def forward(self, observation: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        features = self.forward_critic(observation)
        return self.logits(features), features

    def forward_actor(self, observation: torch.Tensor) -> torch.Tensor:
        """Logits `(n, actions)`."""
        return self.logits(self.forward_critic(observation))

    def forward_critic(self, observation: torch.Tensor) -> torch.Tensor:
        """Features of the value head `(n, width)`."""
        counts = observation[:, : self.holes].long().clamp(max=_HIGHEST)
        words = functional.one_hot(counts, _HIGHEST + 1).flatten(1).float()
        return self.torso(torch.cat([words, observation[:, self.holes :] / _STORE], 1))


class CountsPolicy(BoardPolicy):
    """MaskablePPO's policy with a `CountsNetwork`."""

    network_class = CountsNetwork
