"""The network of `asobiba train tactics_steps`: every cell's logit comes from its own features by the same weights,
whatever is being chosen (unit, destination or target); wait, end and resign read the whole board."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import nn

from asobiba.learn.networks import BoardNetwork, BoardPolicy


class CellNetwork(BoardNetwork):
    """As `BoardNetwork`; the first logits are those of the cells, the others follow.

    Args:
        channels, actions, width, depth, kernel: as in `BoardNetwork`.
    """

    def __init__(
        self, channels: Mapping[str, tuple[int, ...]], actions: int, width: int = 32, depth: int = 4, kernel: int = 3
    ):
        super().__init__(channels, actions, width, depth, kernel)
        self.logits = nn.Conv2d(width, 1, 1)
        self.others = nn.Linear(2 * width, actions - math.prod(self.board))
        for layer in (self.logits, self.others):
            nn.init.orthogonal_(layer.weight, 0.01)

    def _actor(self, features: torch.Tensor) -> torch.Tensor:
        pooled = torch.cat([features.mean((2, 3)), features.amax((2, 3))], 1)
        return torch.cat([self.logits(features).flatten(1), self.others(pooled)], 1)


class CellPolicy(BoardPolicy):
    """MaskablePPO's policy with a `CellNetwork`."""

    network_class = CellNetwork
