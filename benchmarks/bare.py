"""A yardstick for the machine: connect four as a bare Numba loop on one thread, with nothing of a library around it.

Random legal play, masks and observations written, as the environments do it. What a machine reaches here tells how far
figures from two machines can be compared.
"""

from __future__ import annotations

import numba
import numpy as np
from timing import Burst

_COLUMNS, _ROWS = 7, 6
_ONE = np.uint64(1)
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


@numba.njit(error_model="numpy", nogil=True)
def _four(board):
    # A column is 7 bits: six cells and an empty one above, so that no line runs over the edge.
    for shift in (1, 6, 7, 8):
        pairs = board & (board >> np.uint64(shift))
        if pairs & (pairs >> np.uint64(2 * shift)):
            return True
    return False


@numba.njit(error_model="numpy", nogil=True)
def _play(rounds, boards, heights, seeds, masks, observations):
    for _ in range(rounds):
        for i in range(boards.shape[0]):
            seeds[i] += _MULTIPLIER
            bits = (seeds[i] ^ (seeds[i] >> np.uint64(31))) * _MULTIPLIER
            legal = 0
            for column in range(_COLUMNS):
                legal += masks[i, column]
            rank = np.int64(((bits >> np.uint64(32)) * np.uint64(legal)) >> np.uint64(32))
            chosen = 0
            for column in range(_COLUMNS):
                rank -= masks[i, column]
                if rank < 0:
                    chosen = column
                    break
            mover = boards[i, 0] | (_ONE << np.uint64(7 * chosen + heights[i, chosen]))
            heights[i, chosen] += 1
            full = 0
            for column in range(_COLUMNS):
                full += heights[i, column]
            if _four(mover) or full == _COLUMNS * _ROWS:
                mover = np.uint64(0)
                boards[i, 1] = np.uint64(0)
                for column in range(_COLUMNS):
                    heights[i, column] = 0
            boards[i, 0], boards[i, 1] = boards[i, 1], mover
            for column in range(_COLUMNS):
                masks[i, column] = heights[i, column] < _ROWS
                for row in range(_ROWS):
                    cell = np.uint64(7 * column + row)
                    at = _ROWS * column + row
                    observations[i, at] = (boards[i, 0] >> cell) & _ONE
                    observations[i, _COLUMNS * _ROWS + at] = (boards[i, 1] >> cell) & _ONE


def connect_four(count: int) -> Burst:
    """`count` games of connect four in one loop on one thread."""
    boards = np.zeros((count, 2), np.uint64)
    heights = np.zeros((count, _COLUMNS), np.int8)
    masks = np.ones((count, _COLUMNS), np.int8)
    observations = np.zeros((count, 2 * _COLUMNS * _ROWS), np.int8)
    seeds = np.arange(count, dtype=np.uint64)
    rounds = 64
    _play(1, boards, heights, seeds, masks, observations)

    def burst() -> int:
        _play(rounds, boards, heights, seeds, masks, observations)
        return rounds * count

    return burst
