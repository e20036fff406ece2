"""A network that reads lines: the policy of `asobiba train gogo`.

The value of a stone depends on the five squares to each side of it on its four lines. So the first convolution runs
along lines: the same weights read the eleven squares around every point along the row, the column and both diagonals.
Its features in the four directions are summed and joined with those of the point itself and of the whole board; blocks
then add what the neighbouring points and the whole board have found. A point's logit comes from its own features; the
value reads the mean and the greatest of all points.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import nn

from asobiba.learn.networks import BoardPolicy, board_shape

REACH = 5
"""Squares to each side of a point."""
_ON_LINES = ("stones", "fives")
"""Channels that are read along lines; a plane of the board's squares, which tells its edges, is the fourth."""


def line_squares(height: int, width: int) -> torch.Tensor:
    """Flat indices `(4, height * width, 2 * REACH + 1)` of the squares around each point in the four directions.

    Squares beyond the edge have the index `height * width`.
    """
    rows, columns = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
    steps = torch.arange(-REACH, REACH + 1)
    squares = []
    for down, right in ((0, 1), (1, 0), (1, 1), (-1, 1)):
        row = rows.reshape(-1, 1) + down * steps
        column = columns.reshape(-1, 1) + right * steps
        inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
        squares.append(torch.where(inside, row * width + column, height * width))
    return torch.stack(squares)


class LinesNetwork(nn.Module):
    """Takes observations `(n, size)`, gives logits `(n, actions)` and value features `(n, width)`.

    Args:
        channels: name -> shape of the observation's channels.
        actions: number of actions, one a point.
        lines: features of a line. width: features of a point. blocks: convolutions of 3 x 3 points that follow.
    """

    def __init__(
        self, channels: Mapping[str, tuple[int, ...]], actions: int, lines: int = 48, width: int = 64, blocks: int = 0
    ):
        super().__init__()
        self.channels = {name: tuple(shape) for name, shape in channels.items()}
        self.board = board_shape(channels)
        points = self.board[0] * self.board[1]
        squares = line_squares(*self.board)
        self.register_buffer("squares", squares.reshape(-1), persistent=False)
        ys = torch.linspace(-1, 1, self.board[0]).abs().view(-1, 1).expand(self.board)
        xs = torch.linspace(-1, 1, self.board[1]).abs().view(1, -1).expand(self.board)
        self.register_buffer("edges", torch.stack([ys, xs]).reshape(1, 2, points).contiguous(), persistent=False)
        read = sum(self.channels[name][0] for name in _ON_LINES) + 1
        planes = sum(shape[0] for shape in self.channels.values() if len(shape) == 3) + 2
        numbers = sum(
            shape[0] * shape[1] if len(shape) == 2 else shape[0] for shape in channels.values() if len(shape) < 3
        )
        self.along = nn.Sequential(
            nn.Linear(read * (2 * REACH + 1), lines), nn.ReLU(), nn.Linear(lines, lines), nn.ReLU()
        )
        self.lines = nn.Linear(lines, width)
        self.point = nn.Linear(planes, width)
        self.board_wide = nn.Linear(numbers, width, bias=False)
        self.near = nn.ModuleList(nn.Conv2d(width, width, 3, padding=1) for _ in range(blocks))
        self.whole = nn.ModuleList(nn.Linear(2 * width, width) for _ in range(blocks))
        self.pooled = nn.Linear(2 * width, width)
        self.joint = nn.Sequential(nn.Linear(width, width), nn.ReLU())
        self.logits = nn.Linear(width, 1)
        nn.init.orthogonal_(self.logits.weight, 0.01)
        self.value = nn.Sequential(nn.Linear(3 * width, width), nn.ReLU())
        self.latent_dim_pi, self.latent_dim_vf = actions, width

    def split(self, observation: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Planes read along lines `(n, k, points)`, all planes `(n, k, points)`, numbers `(n, k)`."""
        along, planes, numbers, start = [], [], [], 0
        points = self.board[0] * self.board[1]
        for name, shape in self.channels.items():
            size = int(torch.Size(shape).numel())
            part = observation[:, start : start + size]
            start += size
            if len(shape) == 3:
                part = part.reshape(len(part), shape[0], points)
                planes.append(part)
                if name in _ON_LINES:
                    along.append(part)
            else:
                numbers.append(part)
        assert isinstance(self.edges, torch.Tensor)
        planes.append(self.edges.expand(len(observation), -1, -1))
        along.append(torch.ones_like(along[-1][:, :1]))
        return torch.cat(along, 1), torch.cat(planes, 1), torch.cat(numbers, 1)

    def features(self, observation: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Features of each point `(n, points, width)`, and of the board `(n, 2 * width)`."""
        along, planes, numbers = self.split(observation)
        n, k, points = along.shape
        assert isinstance(self.squares, torch.Tensor)
        squares = nn.functional.pad(along, (0, 1)).transpose(1, 2)  # the last row is beyond the edge
        windows = squares.index_select(1, self.squares).reshape(n, 4, points, k * (2 * REACH + 1))
        found = self.lines(self.along(windows).sum(1)) + self.point(planes.transpose(1, 2))
        found = torch.relu(found + self.board_wide(numbers)[:, None])
        for near, whole in zip(self.near, self.whole, strict=True):
            planes = near(found.transpose(1, 2).reshape(n, -1, *self.board))
            found = found + torch.relu(planes.flatten(2).transpose(1, 2) + whole(self._board(found))[:, None])
        return found, self._board(found)

    @staticmethod
    def _board(found: torch.Tensor) -> torch.Tensor:
        return torch.cat([found.mean(1), found.amax(1)], 1)

    def forward(self, observation: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        found, board = self.features(observation)
        return self._actor(found, board), self._critic(found, board)

    def forward_actor(self, observation: torch.Tensor) -> torch.Tensor:
        """Logits `(n, actions)`."""
        return self._actor(*self.features(observation))

    def forward_critic(self, observation: torch.Tensor) -> torch.Tensor:
        """Features of the value head `(n, width)`."""
        return self._critic(*self.features(observation))

    def _actor(self, found: torch.Tensor, board: torch.Tensor) -> torch.Tensor:
        return self.logits(self.joint(found + self.pooled(board)[:, None]))[:, :, 0]

    def _critic(self, found: torch.Tensor, board: torch.Tensor) -> torch.Tensor:
        return self.value(torch.cat([board, self.pooled(board)], 1))


class LinesPolicy(BoardPolicy):
    """MaskablePPO's policy with a `LinesNetwork`."""

    network_class = LinesNetwork
