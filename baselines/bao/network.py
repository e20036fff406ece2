"""A network that judges moves by the boards they lead to: the policy of `asobiba train bao`.

The effect of a sowing depends on the exact number of seeds in a hole, not on its magnitude: four seeds reach the
fourth hole, five the fifth. So every count is a word of its own (one-hot, counts above the highest together), which
the layers after it combine.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import nn

from asobiba.learn.networks import BoardPolicy

_HIGHEST = 15  # counts from here on are one word
_ASIDE = 3  # both stores, and how often the position has occurred, come after the board
_STORE = 16.0  # captured seeds are divided by this: half of the seeds of the usual start


class AfterstatesNetwork(nn.Module):
    """Judges every move by the board it leads to, all by the same weights; takes observations that
    `asobiba.baselines.bao.afterstates.Afterstates` has completed, `(n, size)`.

    Gives logits `(n, actions)` and value features `(n, 2 * width)`: the greatest and the mean ones of the moves.

    Args:
        channels: name -> shape of the observation's channels; `board` holds the counts, `memory` the boards after the moves.
        actions: number of actions, the mover's holes.
        width: features of both hidden layers.
        words: numbers that stand for a count.
    """

    def __init__(self, channels: Mapping[str, tuple[int, ...]], actions: int, width: int = 192, words: int = 8):
        super().__init__()
        self.holes, self.actions = math.prod(channels["board"]), actions
        self.told = math.prod(channels["memory"])
        self.register_buffer("counts", torch.arange(_HIGHEST + 1.0))
        self.words = nn.Linear(_HIGHEST + 1, words, bias=False)
        self.torso = nn.Sequential(
            nn.Linear(self.holes * words + _ASIDE, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU()
        )
        self.logits = nn.Linear(width, 1)
        nn.init.orthogonal_(self.logits.weight, 0.01)
        self.latent_dim_pi, self.latent_dim_vf = actions, 2 * width

    def forward(self, observation: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        features, possible = self._features(observation)
        return self.logits(features).flatten(1), self._pooled(features, possible)

    def forward_actor(self, observation: torch.Tensor) -> torch.Tensor:
        """Logits `(n, actions)`."""
        return self.logits(self._features(observation)[0]).flatten(1)

    def forward_critic(self, observation: torch.Tensor) -> torch.Tensor:
        """Features of the value head `(n, 2 * width)`."""
        return self._pooled(*self._features(observation))

    def _features(self, observation: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Features `(n, actions, width)` of the moves, and whether each is possible, `(n, actions, 1)`."""
        told = observation[:, -self.told :].reshape(-1, self.actions, self.holes + 2)
        counts, captured, possible = told[..., : self.holes], told[..., -2:-1], told[..., -1:]
        kinds = self.counts
        assert isinstance(kinds, torch.Tensor)
        one_hot = (counts.clamp(max=_HIGHEST).unsqueeze(-1) == kinds).float()
        words = self.words(one_hot).flatten(2)
        own, other, occurrences = (
            observation[:, None, self.holes + k : self.holes + k + 1].expand(-1, self.actions, -1)
            for k in range(_ASIDE)
        )
        aside = torch.cat([(own + captured) / _STORE, other / _STORE, occurrences], 2)
        return self.torso(torch.cat([words, aside], 2)), possible

    @staticmethod
    def _pooled(features: torch.Tensor, possible: torch.Tensor) -> torch.Tensor:
        kept = features * possible
        return torch.cat([kept.amax(1), kept.sum(1) / possible.sum(1).clamp(min=1.0)], 1)


class AfterstatesPolicy(BoardPolicy):
    """MaskablePPO's policy with an `AfterstatesNetwork`."""

    network_class = AfterstatesNetwork
