"""A network with shared weights for all targets of the discrete game: the policy of `asobiba train curling_discrete`.

The result of a shot at a target depends on the stones near it and on the path to it, wherever on the sheet it lies. So
each of the 104 targets is described by the stones at, before and behind it, and the same layers compute its eight
logits (four weights, two spins) from that description and from one of the whole position. The descriptions are fixed
functions. Of end and score the network sees the lead, up to two points, and whether the end is the last.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import nn

from asobiba.envs.curling.layout import SPINS, TARGET_X, TARGET_Y, WEIGHTS
from asobiba.learn.networks import BoardPolicy

_LENGTH, _WIDTH = 8.0, 2.375
"""m, the scale of the observation's coordinates."""
_NEAR, _NEAR_Y, _WIDE, _WIDE_Y, _PATH = 0.16, 0.40, 0.40, 0.80, 0.20
"""m, how far a stone counts as at a target (sideways, along), around it, and in the way to it."""
_CLEAR = 0.25
"""m along the sheet from which a stone is before or behind a target rather than at it."""
_NO_STONE = 4.0
"""m, the distance from the tee of a side's nearest stone where it has none."""
_HOUSE = 1.9
_LEADS = (-2.0, -1.0, 0.0, 1.0, 2.0)
"""Points that the mover leads by, as far as it matters."""
_PER_TARGET = len(WEIGHTS) * len(SPINS)
_LOCAL, _GLOBAL = 26, 26 + 2 * len(_LEADS)


class TargetNetwork(nn.Module):
    """Takes observations `(n, size)`, gives logits `(n, actions)` and value features `(n, width)`.

    Args:
        channels: name -> shape of the observation's channels; `stones`, `shot`, `end`, `ends_left` and `score` come first.
        actions: number of actions; those beyond the targets' (to concede) have a constant logit.
        width: features of the hidden layers.
    """

    def __init__(self, channels: Mapping[str, tuple[int, ...]], actions: int, width: int = 64):
        super().__init__()
        self.sizes = {name: math.prod(shape) for name, shape in channels.items()}
        targets = len(TARGET_X) * len(TARGET_Y)
        self.register_buffer("x", torch.tensor(TARGET_X))
        self.register_buffer("y", torch.tensor(TARGET_Y))
        self.local = nn.Linear(_LOCAL, width)
        self.whole = nn.Linear(_GLOBAL, width)
        self.hidden = nn.Linear(width, width)
        self.logits = nn.Linear(width, _PER_TARGET)
        nn.init.orthogonal_(self.logits.weight, 0.01)
        self.bias = nn.Parameter(torch.zeros(targets, _PER_TARGET))
        self.others = nn.Parameter(torch.full((actions - targets * _PER_TARGET,), -10.0))
        self.latent_dim_pi, self.latent_dim_vf = actions, width
        seen = self.sizes["stones"] + _GLOBAL
        self.value = nn.Sequential(nn.Linear(seen, 2 * width), nn.Tanh(), nn.Linear(2 * width, width), nn.Tanh())

    def forward(self, observation: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return self.forward_actor(observation), self.forward_critic(observation)

    def forward_actor(self, observation: torch.Tensor) -> torch.Tensor:
        """Logits `(n, actions)`."""
        with torch.no_grad():
            whole, place, distance, here = self.describe(observation)
            local = self.describe_targets(place, distance, here)
        features = torch.relu(self.local(local) + self.whole(whole)[:, None])
        logits = self.logits(torch.relu(self.hidden(features))) + self.bias
        return torch.cat([logits.flatten(1), self.others.expand(len(observation), -1)], 1)

    def forward_critic(self, observation: torch.Tensor) -> torch.Tensor:
        """Features of the value head `(n, width)`."""
        with torch.no_grad():
            whole = self.describe(observation)[0]
        return self.value(torch.cat([observation[:, : self.sizes["stones"]], whole], 1))

    def describe(self, observation: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
        """The whole position `(n, _GLOBAL)`; places `(n, 2, 8, 2)` m, distances from the tee, stones in play `(n, 2,
        8)`.
        """
        stones = observation[:, : self.sizes["stones"]].view(-1, 2, 8, 4)
        place = stones[..., :2] * torch.tensor([_WIDTH, _LENGTH])
        here = stones[..., 3]
        distance = torch.where(here > 0, stones[..., 2] * _LENGTH, torch.full_like(here, _NO_STONE))
        nearest = distance.amin(2).clamp(max=_NO_STONE)
        inside = (distance < _HOUSE).float()
        own, other = nearest[:, :1], nearest[:, 1:]
        points = (inside[:, 0] * (distance[:, 0] < other)).sum(1) - (inside[:, 1] * (distance[:, 1] < own)).sum(1)
        guards = (here * (distance >= _HOUSE) * (place[..., 1] < 0)).sum(2)
        start = self.sizes["stones"]
        shot = observation[:, start : start + 16]  # tells who has the hammer, too
        lead = (8.0 * observation[:, start + 18 : start + 19]).clamp(_LEADS[0], _LEADS[-1])
        exact = (1.0 - (lead - torch.tensor(_LEADS)).abs()).clamp(min=0.0)  # one-hot
        last = (observation[:, start + 17 : start + 18] < 0.15).float()
        whole = [shot, nearest / _NO_STONE, (nearest < _HOUSE).float(), inside.sum(2) / 4, guards / 4]
        whole += [points[:, None] / 4, (own < other).float(), exact * last, exact * (1.0 - last)]
        return torch.cat(whole, 1), place, distance, here

    def describe_targets(self, place: torch.Tensor, distance: torch.Tensor, here: torch.Tensor) -> torch.Tensor:
        """Features of the stones at, around, before and behind every target: `(n, 104, _LOCAL)`."""
        x, y = self.x, self.y
        assert isinstance(x, torch.Tensor)
        assert isinstance(y, torch.Tensor)
        dx = x.view(1, -1, 1, 1) - place[:, None, ..., 0]  # (n, 13, 2, 8)
        dy = y.view(1, -1, 1, 1) - place[:, None, ..., 1]  # (n, 8, 2, 8)

        def bell(apart: torch.Tensor, width: float) -> torch.Tensor:
            return torch.exp(-0.5 * (apart / width) ** 2)

        def meet(columns: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
            return torch.einsum("nxsk,nysk->nxys", columns, rows)

        here = here[:, None]
        near = bell(dx, _NEAR) * here, bell(dy, _NEAR_Y)
        before, behind = (dy > _CLEAR).float(), (dy < -_CLEAR).float()
        path = bell(dx, _PATH) * here
        first = (distance == distance.amin(2, keepdim=True)).float()[:, None]  # each side's nearest stone
        best = (distance == distance.amin((1, 2), keepdim=True)).float()[:, None]
        # A draw comes from the side: so far aside is it where it has yet `dy` to go (a logarithmic spiral).
        aside = dy.clamp(min=0.1) * torch.log(38.0 / dy.clamp(min=0.1)) / 30.0
        curved = []
        for spin in SPINS:
            way = bell(dx[:, :, None] + spin * aside[:, None], _PATH) * before[:, None]
            curved.append((way * here[:, None]).sum(4))
        found = [
            meet(*near),
            meet(bell(dx, _WIDE) * here, bell(dy, _WIDE_Y)),
            meet(near[0] * first, near[1]),
            meet(near[0] * best, near[1]),
            meet(near[0] * dx / _NEAR, near[1]),  # on which side of the target it lies
            meet(path, before),
            meet(path, behind),
            *curved,
        ]
        gx, gy = x.view(1, -1, 1).expand(1, -1, len(y)), y.view(1, 1, -1).expand(1, len(x), -1)
        reach = torch.hypot(gx, gy)
        nearest = distance.amin(2)
        shape = (len(place), len(x), len(y))
        geometry = [
            gx.expand(shape) / 2, gx.abs().expand(shape) / 2, gy.expand(shape) / 4, reach.expand(shape) / 2,
            (reach < _HOUSE).float().expand(shape), torch.exp(-2.0 * reach).expand(shape),
            *((reach < nearest[:, side].view(-1, 1, 1)).float().expand(shape) for side in range(2)),
        ]  # fmt: skip
        return torch.cat([*found, torch.stack(geometry, -1)], -1).flatten(1, 2)


class TargetPolicy(BoardPolicy):
    """MaskablePPO's policy with a `TargetNetwork`."""

    network_class = TargetNetwork
