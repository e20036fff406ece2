"""The network of `asobiba train tactics_steps`: every cell's logit comes from its own features by the same weights,
whatever is being chosen (unit, destination or target); wait, end and resign read the whole board."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import nn

from asobiba.learn.networks import BoardNetwork, BoardPolicy


class CellNetwork(BoardNetwork):
    """As `BoardNetwork`; the first logits are those of the cells, the others follow. What is no plane (turns left,
    threshold, ...) is added to the first features of every cell alike.

    Args:
        channels, actions, width, depth, kernel: as in `BoardNetwork`.
        whole: every further convolution also reads the mean and the greatest features of the board, and
            adds its results to its input: units move farther than a few convolutions of 3 x 3 cells see.
    """

    def __init__(
        self, channels: Mapping[str, tuple[int, ...]], actions: int, width: int = 32, depth: int = 4, kernel: int = 3,
        whole: bool = False,
    ):  # fmt: skip
        super().__init__(channels, actions, width, depth, kernel)
        self.wide = nn.ModuleList(nn.Linear(2 * width, width) for _ in range(depth - 1 if whole else 0))
        self.counts = nn.Linear(sum(math.prod(shape) for shape in self.channels.values() if len(shape) < 2), width)
        self.logits = nn.Conv2d(width, 1, 1)
        self.others = nn.Linear(2 * width, actions - math.prod(self.board))
        for layer in (self.logits, self.others):
            nn.init.orthogonal_(layer.weight, 0.01)

    def planes(self, observation: torch.Tensor) -> torch.Tensor:
        """The channels that are planes, and the coordinates: `(n, planes, height, width)`."""
        planes, _ = self._split(observation)
        return planes

    def _split(self, observation: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        planes, counts, start = [], [], 0
        for shape in self.channels.values():
            part = observation[:, start : start + math.prod(shape)]
            if len(shape) < 2:
                counts.append(part)
            else:
                planes.append(part.reshape(len(part), -1, *self.board))
            start += math.prod(shape)
        coordinates = self.coordinates
        assert isinstance(coordinates, torch.Tensor)
        return torch.cat([*planes, coordinates.expand(len(observation), -1, -1, -1)], 1), torch.cat(counts, 1)

    def _features(self, observation: torch.Tensor) -> torch.Tensor:
        planes, counts = self._split(observation)
        first, *others = self.torso
        features = first(planes) + self.counts(counts)[:, :, None, None]
        if not self.wide:
            for layer in others:
                features = layer(features)
            return features
        features = torch.relu(features)
        for near, wide in zip(others[1::2], self.wide, strict=True):
            features = features + torch.relu(near(features) + wide(_pooled(features))[:, :, None, None])
        return features

    def forward(self, observation: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        features = self._features(observation)
        return self._actor(features), self._critic(features)

    def forward_actor(self, observation: torch.Tensor) -> torch.Tensor:
        return self._actor(self._features(observation))

    def forward_critic(self, observation: torch.Tensor) -> torch.Tensor:
        return self._critic(self._features(observation))

    def _actor(self, features: torch.Tensor) -> torch.Tensor:
        return torch.cat([self.logits(features).flatten(1), self.others(_pooled(features))], 1)


def _pooled(features: torch.Tensor) -> torch.Tensor:
    """Mean and greatest of features `(n, width, height, width)` over the board, `(n, 2 * width)`."""
    return torch.cat([features.mean((2, 3)), features.amax((2, 3))], 1)


class CellPolicy(BoardPolicy):
    """MaskablePPO's policy with a `CellNetwork`."""

    network_class = CellNetwork
