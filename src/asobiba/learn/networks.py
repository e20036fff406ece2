"""Networks for boards: a convolutional torso with one output per cell, as a policy of sb3-contrib's MaskablePPO.

A game's flat observation is split into its named channels. Channels whose last two dimensions are the board's become
planes, the others constant planes. Where the number of actions is a multiple of the number of cells (as in
`kind * cells + cell`), every cell's logits come from its own features by the same weights, so that knowledge learned in
one corner applies in the others; otherwise a linear layer reads the whole board.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from typing import Any

import torch
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from torch import nn

from asobiba.core.game import Ruleset
from asobiba.learn.memory import Memory, memory_class


def board_shape(channels: Mapping[str, tuple[int, ...]]) -> tuple[int, int]:
    """The most frequent last two dimensions among the channels.

    Raises:
        ValueError: if no channel has two dimensions.
    """
    shapes = [tuple(shape[-2:]) for shape in channels.values() if len(shape) >= 2]
    if not shapes:
        raise ValueError(f"no channel has a board's two dimensions, so BoardPolicy does not fit: {dict(channels)}")
    best = max(set(shapes), key=lambda shape: (shapes.count(shape), math.prod(shape)))
    return (int(best[0]), int(best[1]))


class BoardNetwork(nn.Module):
    """Torso and heads. Takes observations `(n, size)`, gives logits `(n, actions)` and value features `(n, width)`.

    Args:
        channels: name -> shape of the observation's channels.
        actions: number of actions.
        width, depth, kernel: features per cell, number of convolutions, and their odd side length.
    """

    def __init__(
        self, channels: Mapping[str, tuple[int, ...]], actions: int, width: int = 32, depth: int = 4, kernel: int = 3
    ):
        super().__init__()
        self.channels = {name: tuple(shape) for name, shape in channels.items()}
        self.board = board_shape(channels)
        cells = math.prod(self.board)
        # Coordinates give the network the distance to the edges, which shared weights cannot see.
        ys = torch.linspace(-1, 1, self.board[0]).view(1, 1, -1, 1).expand(1, 1, *self.board)
        xs = torch.linspace(-1, 1, self.board[1]).view(1, 1, 1, -1).expand(1, 1, *self.board)
        self.register_buffer("coordinates", torch.cat([ys.abs(), xs.abs(), ys, xs], 1).contiguous())
        layers: list[nn.Module] = []
        size = self.planes(torch.zeros(1, sum(map(math.prod, self.channels.values())))).shape[1]
        for _ in range(depth):
            layers += [nn.Conv2d(size, width, kernel, padding=kernel // 2), nn.ReLU()]
            size = width
        self.torso = nn.Sequential(*layers)
        self.per_cell = actions % cells == 0
        self.logits: nn.Conv2d | nn.Linear = (
            nn.Conv2d(width, actions // cells, 1) if self.per_cell else nn.Linear(width * cells, actions)
        )
        nn.init.orthogonal_(self.logits.weight, 0.01)
        self.latent_dim_pi = actions
        self.latent_dim_vf = width
        self.value = nn.Sequential(nn.Linear(2 * width, width), nn.ReLU())

    def planes(self, observation: torch.Tensor) -> torch.Tensor:
        """Splits flat observations into planes `(n, planes, height, width)`."""
        parts, start = [], 0
        for shape in self.channels.values():
            stop = start + math.prod(shape)
            part = observation[:, start:stop]
            if len(shape) >= 2 and tuple(shape[-2:]) == self.board:
                parts.append(part.reshape(len(part), -1, *self.board))
            else:
                parts.append(part[:, :, None, None].expand(-1, -1, *self.board))
            start = stop
        coordinates = self.coordinates
        assert isinstance(coordinates, torch.Tensor)
        parts.append(coordinates.expand(len(observation), -1, -1, -1))
        return torch.cat(parts, 1)

    def forward(self, observation: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        features = self.torso(self.planes(observation))
        return self._actor(features), self._critic(features)

    def forward_actor(self, observation: torch.Tensor) -> torch.Tensor:
        """Logits `(n, actions)`."""
        return self._actor(self.torso(self.planes(observation)))

    def forward_critic(self, observation: torch.Tensor) -> torch.Tensor:
        """Features of the value head `(n, width)`."""
        return self._critic(self.torso(self.planes(observation)))

    def _actor(self, features: torch.Tensor) -> torch.Tensor:
        return self.logits(features).flatten(1) if self.per_cell else self.logits(features.flatten(1))

    def _critic(self, features: torch.Tensor) -> torch.Tensor:
        return self.value(torch.cat([features.mean((2, 3)), features.amax((2, 3))], 1))


class DenseNetwork(nn.Module):
    """One torso of dense layers with ReLUs for policy and value; compiled code plays it (`asobiba.learn.kernels`).

    Takes observations `(n, size)`, gives logits `(n, actions)` and value features `(n, width)`.

    Args:
        channels: name -> shape of the observation's channels.
        actions: number of actions.
        width, depth: units of a layer, and number of layers.
    """

    def __init__(self, channels: Mapping[str, tuple[int, ...]], actions: int, width: int = 256, depth: int = 2):
        super().__init__()
        layers: list[nn.Module] = []
        size = sum(math.prod(shape) for shape in channels.values())
        for _ in range(depth):
            layers += [nn.Linear(size, width), nn.ReLU()]
            size = width
        self.torso = nn.Sequential(*layers)
        self.logits = nn.Linear(width, actions)
        nn.init.orthogonal_(self.logits.weight, 0.01)
        self.latent_dim_pi, self.latent_dim_vf = actions, width

    def forward(self, observation: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        features = self.torso(observation)
        return self.logits(features), features

    def forward_actor(self, observation: torch.Tensor) -> torch.Tensor:
        """Logits `(n, actions)`."""
        return self.logits(self.torso(observation))

    def forward_critic(self, observation: torch.Tensor) -> torch.Tensor:
        """Features of the value head `(n, width)`."""
        return self.torso(observation)


class BoardPolicy(MaskableActorCriticPolicy):
    """MaskablePPO's policy with a `BoardNetwork`, or any other network that reads the channels.

    Args (in `policy_kwargs`):
        channels: name -> shape of the observation's channels (`Ruleset.layout.observation`); the last one may be `memory`.
        memory: the class MODULE:CLASS of the memory that completes the observations with that channel (`asobiba.learn.memory`).
        others: the arguments of `network_class` except `actions`.
    """

    network_class: type[nn.Module] = BoardNetwork

    def __init__(self, *args: Any, channels: Mapping[str, tuple[int, ...]], memory: str = "", **kwargs: Any):
        own = [name for name in inspect.signature(self.network_class).parameters if name not in ("channels", "actions")]
        self._network = {"channels": dict(channels), **{name: kwargs.pop(name) for name in own if name in kwargs}}
        self._memory = memory
        kwargs["ortho_init"] = False
        kwargs["net_arch"] = []
        super().__init__(*args, **kwargs)

    @property
    def channels(self) -> dict[str, tuple[int, ...]]:
        """Names and shapes of the observation channels that the policy reads."""
        return self._network["channels"]

    def memory(self, ruleset: Ruleset, count: int) -> Memory | None:
        """A memory of `count` games that completes the observations; `None` if the policy reads none."""
        return memory_class(self._memory)(ruleset, count) if self._memory else None

    def _get_constructor_parameters(self) -> dict[str, Any]:
        kept = {"memory": self._memory} if self._memory else {}
        return {**super()._get_constructor_parameters(), **self._network, **kept}

    def _build_mlp_extractor(self) -> None:
        self.mlp_extractor = self.network_class(actions=int(self.action_space.n), **self._network)  # type: ignore[attr-defined, assignment]

    def _build(self, lr_schedule: Any) -> None:
        super()._build(lr_schedule)
        self.action_net = nn.Identity()  # the network's own head gives the logits
        self.optimizer = self.optimizer_class(self.parameters(), lr=lr_schedule(1), **self.optimizer_kwargs)  # type: ignore[call-arg]


class DensePolicy(BoardPolicy):
    """MaskablePPO's policy with a `DenseNetwork`."""

    network_class = DenseNetwork
