"""A dense network for observations that count things, such as the seeds in a hole."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import nn

from asobiba.learn.networks import DenseNetwork, DensePolicy

_SCALE = 0.25
"""Of the steps, so that what they give is about as large as what later layers are made for."""


class CountsNetwork(DenseNetwork):
    """A `DenseNetwork` whose first layer begins as steps of each input: `max(x, 0), max(x - 1, 0), ...`

    A dense layer over raw counts is nearly linear in them, but the last seed of a sowing decides by the exact number. With
    the steps, three units tell one number from all others.

    Args:
        channels, actions, width, depth: as for `DenseNetwork`; its layers follow.
        steps: units of the first layer for each input.
    """

    def __init__(
        self,
        channels: Mapping[str, tuple[int, ...]],
        actions: int,
        width: int = 256,
        depth: int = 2,
        steps: int = 16,
    ):
        super().__init__(channels, actions, width, depth)
        inputs = sum(math.prod(shape) for shape in channels.values())
        first = nn.Linear(inputs, inputs * steps)
        with torch.no_grad():
            first.weight[:] = _SCALE * torch.eye(inputs).repeat_interleave(steps, 0)
            first.bias[:] = -_SCALE * torch.arange(steps).repeat(inputs)
        rest = list(self.torso)
        if depth > 0:
            rest[0] = nn.Linear(inputs * steps, width)
        self.torso = nn.Sequential(first, nn.ReLU(), *rest)


class CountsPolicy(DensePolicy):
    """MaskablePPO's policy with a `CountsNetwork`."""

    network_class = CountsNetwork
