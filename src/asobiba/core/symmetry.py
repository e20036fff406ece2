"""Symmetries of games: a reflected or turned board is the same game with permuted indices."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np


class Symmetry(NamedTuple):
    """One symmetry of a game's rules, as maps of indices. A game that is played with turned actions from the turned start
    shows turned observations and masks and pays the same rewards.

    Attributes:
        observation: `(size,)` int64; entry `i` of the turned observation is entry `observation[i]` of the given one.
        actions: `(actions,)` int64; entry `i` of the turned mask is entry `actions[i]` of the given one.
        start: turns the record of a starting position in place; `None`: the start is its own image.
        signs: `(size,)` int8, 1 or -1, by which the turned observation is then multiplied (a coordinate in a mirror);
            `None`: by nothing.

    Where chance acts during play, the turned game is as likely as the given one, and the same where chance draws nothing.
    """

    observation: np.ndarray
    actions: np.ndarray
    start: Callable[[np.void], None] | None = None
    signs: np.ndarray | None = None

    def seen(self, observation: np.ndarray) -> np.ndarray:
        """The turned observation `(size,)` for a given one."""
        found = observation[self.observation]
        return found if self.signs is None else found * self.signs

    def turned(self, action: int) -> int:
        """The action that stands for a given one on the turned board."""
        return int(np.flatnonzero(self.actions == action)[0])


def board_symmetries(
    channels: Mapping[str, tuple[int, ...]], planes: Sequence[str], size: tuple[int, int]
) -> list[tuple[np.ndarray, np.ndarray]]:
    """The reflections and turns of a board except the identity: pairs of indices `(observation, cells)`.

    Seven for a square board, three for another one. Cell `r * width + c` is row `r`, column `c`.

    Args:
        channels: the observation's channels, name -> shape.
        planes: names of those whose last two axes are the board; the others stay as they are.
        size: height and width.
    """
    height, width = size
    cells = np.arange(height * width).reshape(size)
    boards = [cells[::-1], cells[:, ::-1], cells[::-1, ::-1]]
    if height == width:
        boards += [cells.T, cells.T[::-1], cells.T[:, ::-1], cells.T[::-1, ::-1]]
    return [(observation_map(channels, planes, board.ravel()), board.ravel()) for board in boards]


def observation_map(channels: Mapping[str, tuple[int, ...]], planes: Sequence[str], cells: np.ndarray) -> np.ndarray:
    """Indices of a flat observation whose boards are read by `cells`, which gives a source cell for each cell."""
    parts, start = [], 0
    for name, shape in channels.items():
        length = int(np.prod(shape))
        part = np.arange(start, start + length)
        parts.append(part.reshape(-1, len(cells))[:, cells].ravel() if name in planes else part)
        start += length
    return np.concatenate(parts)
