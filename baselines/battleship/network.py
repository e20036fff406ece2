"""A network that sees a knowledge state of battleship as placements: the policy of `asobiba train battleship`.

Beside the raw planes, every cell is given how many placements of each ship size still fit over it, apart by how many
open hits they contain. The counts are fixed functions of the observation; what to make of them is learned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from asobiba.learn.networks import BoardNetwork, BoardPolicy, board_shape

_HIT_CLASSES = 4  # placements with no, one, two, and three or more open hits


def placements(size: int, height: int, width: int) -> torch.Tensor:
    """All placements of a ship, `(placements, cells)`: 1 where it lies."""
    rows = []
    for down in (False, True) if size > 1 else (False,):
        for y in range(height - (size - 1) * down):
            for x in range(width - (size - 1) * (not down)):
                row = torch.zeros(height, width)
                row[y : y + (size if down else 1), x : x + (1 if down else size)] = 1
                rows.append(row.flatten())
    return torch.stack(rows)


class PlacementNetwork(BoardNetwork):
    """A `BoardNetwork` whose planes are placement counts.

    Args:
        fleet: sizes of the ships, in the order of the game's `fleet`.
        others: as in `BoardNetwork`; the channels must be those of battleship.
    """

    def __init__(
        self, channels: Mapping[str, tuple[int, ...]], *args: Any, fleet: Sequence[int] = (5, 4, 3, 3, 2), **kwargs: Any
    ):
        self.fleet = tuple(fleet)
        self.sizes = sorted(set(self.fleet))
        self._places = {size: placements(size, *board_shape(channels)) for size in self.sizes}
        super().__init__(channels, *args, **kwargs)

    @torch.no_grad()
    def planes(self, observation: torch.Tensor) -> torch.Tensor:
        """Planes `(n, planes, height, width)`: misses, open hits, sunk cells, counts, coordinates."""
        cells, games = self.board[0] * self.board[1], len(observation)
        misses, hits, sinkings = observation[:, : 3 * cells].reshape(-1, 3, cells).unbind(1)
        afloat = observation[:, 3 * cells : 3 * cells + len(self.fleet)]
        sunk = torch.zeros(games, cells)
        for ship, size in enumerate(self.fleet):
            # A sunk ship lies on hits and over its sinking shot; where several placements do, each counts its share.
            where = torch.nonzero((sinkings == ship + 1).any(1))[:, 0]
            places, shot = self._places[size], (sinkings[where] == ship + 1).float()
            found = ((hits[where] @ places.T > size - 0.5) & (shot @ places.T > 0.5)).float()
            sunk[where] += (found @ places) / found.sum(1, keepdim=True).clamp(min=1)
        sunk = sunk.clamp(max=1)
        open_hits = hits * (sunk < 0.5)
        blocked = misses + (sunk > 0.99).float()
        parts = [misses, open_hits, sunk]
        for size in self.sizes:
            left = sum(afloat[:, k] for k, other in enumerate(self.fleet) if other == size)
            places = self._places[size]
            fits = blocked @ places.T < 0.5
            inside = open_hits @ places.T
            for least in range(_HIT_CLASSES):
                kind = (
                    fits & (inside > least - 0.5) & (inside < (least + 0.5 if least < _HIT_CLASSES - 1 else size - 0.5))
                )
                parts.append(torch.log1p(kind.float() @ places * torch.as_tensor(left)[:, None]))
        planes = torch.stack(parts, 1).reshape(games, -1, *self.board)
        coordinates = self.coordinates
        assert isinstance(coordinates, torch.Tensor)
        return torch.cat([planes, coordinates.expand(games, -1, -1, -1)], 1)


class PlacementPolicy(BoardPolicy):
    """MaskablePPO's policy with a `PlacementNetwork`."""

    network_class = PlacementNetwork
