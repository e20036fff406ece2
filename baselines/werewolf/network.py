"""A network over players and pairs of players: the policy of `asobiba train werewolf`.

Every player of the observation has features of his own (whether he is alive, what he claims, what is known of him),
every pair what one said of the other and how often he voted for him. All players share the weights, so that what is
learned about one seat holds for all. The tables of talk are left out: the channels of claims, reports, identifications
and declared votes are what they say, put in order.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import nn
from torch.nn import functional

from asobiba.envs.werewolf.layout import BLOCKS, SIMPLE_BLOCKS
from asobiba.learn.networks import BoardPolicy

_OWN = ("seat", "players", "alive", "known_roles", "known_species", "claims", "over", "remaining")
_PAIRS = ("reports", "identifications", "declared")
_COMMON = ("phase", "time", "role")
_DEATHS = ("executed", "victims")
_TENTHS = ("time", "remaining")


class VillageNetwork(nn.Module):
    """Takes observations `(n, size)`, gives logits `(n, actions)` and value features `(n, width)`.

    Args:
        channels: name -> shape of the observation's channels, those of werewolf.
        actions: number of actions, of the game without operators.
        width: features per player.
        rounds: how often the players hear of each other.

    Raises:
        ValueError: if the actions are not those of simple sentences.
    """

    def __init__(self, channels: Mapping[str, tuple[int, ...]], actions: int, width: int = 64, rounds: int = 2):
        super().__init__()
        self.channels = {name: tuple(shape) for name, shape in channels.items()}
        self.seats = self.channels["seat"][0]
        if actions != BLOCKS + SIMPLE_BLOCKS * self.seats:
            raise ValueError(f"{actions} actions for {self.seats} seats: expected those of a game without operators")
        sample = torch.zeros(1, sum(math.prod(shape) for shape in self.channels.values()))
        own, pairs, common = (part.shape[-1] for part in self.split(sample))
        self.enter = nn.Linear(own + common, width)
        self.pairs = nn.Linear(2 * pairs, rounds * width)
        self.speakers = nn.ModuleList([nn.Linear(width, width) for _ in range(rounds)])
        self.hearers = nn.ModuleList([nn.Linear(width, width) for _ in range(rounds)])
        self.updates = nn.ModuleList([nn.Linear(3 * width, width) for _ in range(rounds)])
        self.whole = nn.Linear(2 * width + common, width)
        self.targets = nn.Sequential(nn.Linear(2 * width, width), nn.ReLU(), nn.Linear(width, SIMPLE_BLOCKS))
        self.plain = nn.Linear(width, BLOCKS)
        self.value = nn.Sequential(nn.Linear(width, width), nn.ReLU())
        for layer in (self.targets[2], self.plain):
            assert isinstance(layer, nn.Linear)
            nn.init.orthogonal_(layer.weight, 0.01)
        self.latent_dim_pi, self.latent_dim_vf = actions, width

    def split(self, observation: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Features of players `(n, seats, ...)`, of pairs `(n, seats, seats, ...)` and of the moment `(n, ...)`."""
        parts, start = {}, 0
        for name, shape in self.channels.items():
            stop = start + math.prod(shape)
            part = observation[:, start:stop].float().reshape(-1, *shape)
            parts[name] = part / 10 if name in _TENTHS else part
            start = stop
        seats = self.seats
        own = [parts[name].reshape(len(observation), seats, -1) for name in _OWN]
        own += [self._players(parts[name]).sum(1)[:, :, None] for name in _DEATHS]
        # Of all ballots, `(n, days, ballots, voters, targets)`: how often one voted for another.
        votes = self._players(parts["votes"]).sum((1, 2))
        pairs = [parts[name].reshape(len(observation), seats, seats, -1) for name in _PAIRS]
        return torch.cat(own, 2), torch.cat([*pairs, votes[..., None]], 3), torch.cat([parts[n] for n in _COMMON], 1)

    def _players(self, numbers: torch.Tensor) -> torch.Tensor:
        # Players counted from 1, 0 for nobody, as one-hot vectors.
        return functional.one_hot(numbers.long(), self.seats + 1)[..., 1:].float()

    def embed(self, observation: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Features of players `(n, seats, width)` and of the whole as the observer sees it `(n, width)`."""
        own, pairs, common = self.split(observation)
        seats = self.seats
        h = self.enter(torch.cat([own, common[:, None].expand(-1, seats, -1)], 2)).relu()
        said = self.pairs(torch.cat([pairs, pairs.transpose(1, 2)], 3)).chunk(len(self.updates), 3)
        me = own[:, :, :1]
        there = own[:, :, 1:2]
        number = there.sum(1).clamp(min=1)
        for edge, speaker, hearer, update in zip(said, self.speakers, self.hearers, self.updates, strict=True):
            heard = (edge + speaker(h)[:, :, None] + hearer(h)[:, None]).relu()
            everybody = (heard * there[:, :, None]).sum(1) / number[:, :, None]
            mine = (heard * me[:, :, None]).sum(1)
            h = h + update(torch.cat([h, everybody, mine], 2)).relu()
        village = (h * there).sum(1) / number
        return h, self.whole(torch.cat([(h * me).sum(1), village, common], 1)).relu()

    def forward(self, observation: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        h, whole = self.embed(observation)
        return self._actor(h, whole), self.value(whole)

    def forward_actor(self, observation: torch.Tensor) -> torch.Tensor:
        """Logits `(n, actions)`."""
        h, whole = self.embed(observation)
        return self._actor(h, whole)

    def forward_critic(self, observation: torch.Tensor) -> torch.Tensor:
        """Features of the value head `(n, width)`."""
        return self.value(self.embed(observation)[1])

    def _actor(self, h: torch.Tensor, whole: torch.Tensor) -> torch.Tensor:
        aimed = self.targets(torch.cat([h, whole[:, None].expand_as(h)], 2))
        return torch.cat([self.plain(whole), aimed.transpose(1, 2).flatten(1)], 1)


class VillagePolicy(BoardPolicy):
    """MaskablePPO's policy with a `VillageNetwork`."""

    network_class = VillageNetwork
