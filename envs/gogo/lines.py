"""Lines of a board as bits: the squares where a stone makes an open three, captures, or stands in a five.

A line (row, column, diagonal) is two integers with a bit a square, one for each colour, from its left (or lower) end.
Squares beyond the ends are neither stones nor empty, so their bits are 0 everywhere and edges need no special case.
Each kernel answers for all squares of a line at once.
"""

from __future__ import annotations

import numpy as np

from asobiba.core import kernel

LARGEST = 19
MOST_POINTS = LARGEST * LARGEST
MOST_LINES = 6 * LARGEST - 2
THREES_OFF, THREES_SOLID, THREES_BROKEN = 0, 1, 2

_DE_BRUIJN = 0x077CB531
_LOWEST = np.zeros(32, np.int64)
for _bit in range(32):
    _LOWEST[(((1 << _bit) * _DE_BRUIJN) & 0xFFFFFFFF) >> 27] = _bit


@kernel
def lowest_bit(bits):
    """The number of the lowest of 32 bits that is set (de Bruijn's multiplication)."""
    return _LOWEST[(((bits & -bits) * _DE_BRUIJN) & 0xFFFFFFFF) >> 27]


@kernel
def line_through(p, point, direction):
    """The line through a point in one of four directions: its number, the point's bit, the square of bit 0, the step.

    Directions are along the row, the column, the diagonal (up and right), the other diagonal (down and right).
    """
    n = np.int64(p.width)
    row = np.int64(p.row[point])
    col = point - row * n
    if direction == 0:
        return row, col, row * n, np.int64(1)
    if direction == 1:
        return n + col, row, col, n
    if direction == 2:
        return 3 * n - 1 + row - col, col, (row - col) * n, n + 1
    return 4 * n - 1 + row + col, col, (row + col) * n, 1 - n


@kernel
def open_threes(own, empty, broken):
    """Empty squares where a stone makes an open three: three stones side by side with both ends empty; with `broken`
    also three of four squares with the gap and both ends empty."""
    right = own >> 1
    right2 = own >> 2
    left = own << 1
    left2 = own << 2
    found = right & right2 & (empty << 1) & (empty >> 3)
    found |= left & right & (empty << 2) & (empty >> 2)
    found |= left & left2 & (empty >> 1) & (empty << 3)
    if broken:
        right3 = own >> 3
        left3 = own << 3
        found |= right & right3 & (empty << 1) & (empty >> 2) & (empty >> 4)  # new at 1 of _XX_X_
        found |= left & right2 & (empty << 2) & (empty >> 1) & (empty >> 3)  # new at 2
        found |= left2 & left3 & (empty >> 1) & (empty << 1) & (empty << 4)  # new at 4
        found |= left & left3 & (empty >> 1) & (empty << 2) & (empty << 4)  # the same, mirrored
        found |= right & left2 & (empty >> 2) & (empty << 1) & (empty << 3)
        found |= right2 & right3 & (empty << 1) & (empty >> 1) & (empty >> 4)
    return found & empty


@kernel
def captures(own, other, empty):
    """Empty squares where a stone encloses exactly two opposing stones against one of its own on this line."""
    return empty & (((other >> 1) & (other >> 2) & (own >> 3)) | ((other << 1) & (other << 2) & (own << 3)))


@kernel
def fives(own, exact):
    """Squares of stones that stand in a five: five or more in a row, with `exact` not more."""
    starts = own & (own >> 1) & (own >> 2) & (own >> 3) & (own >> 4)
    if starts == 0:
        return np.int64(0)
    if exact:
        starts &= ~(own << 1) & ~(own >> 5)
    return np.int64(starts | (starts << 1) | (starts << 2) | (starts << 3) | (starts << 4))


@kernel
def five_points(own, empty, exact):
    """Empty squares where a stone makes a five."""
    a, b, c, d = own >> 1, own >> 2, own >> 3, own >> 4
    e, f, g, h = own << 1, own << 2, own << 3, own << 4
    if exact:
        i, j = ~(own >> 5), ~(own << 5)
        found = a & b & c & d & i & ~e
        found |= e & a & b & c & ~d & ~f
        found |= f & e & a & b & ~c & ~g
        found |= g & f & e & a & ~b & ~h
        found |= h & g & f & e & ~a & j
    else:
        found = (a & b & (c & d | e & c | e & f)) | (e & f & g & (a | h))
    return found & empty
