"""Sets of cells as bits.

A board of `size` x `size` cells is one, two or four words (8, 10, 14 to a side): whole rows to a word, cell
`y * size + x` at bit `cell % span` of word `cell // span`, `span` being the cells of a word. The outer ring of a map
cannot be entered, so no set that is shifted sideways runs over the end of a row, and no sign bit is ever set.

Sets are passed as four words; those that a board does not have are 0. `words` is a constant of the record type, so
that the compiler removes what a board does not need.
"""

from __future__ import annotations

import numpy as np

from asobiba.core import kernel

WORDS = {8: 1, 10: 2, 14: 4}
"""Words of a set for each board size."""
SPAN = {8: 64, 10: 50, 14: 56}
"""Cells of a word for each board size."""

_DE_BRUIJN = 0x03F79D71B4CB0A89
_PLACE = np.zeros(64, np.int64)
for _bit in range(63):
    _PLACE[((((1 << _bit) * _DE_BRUIJN) & (2**64 - 1)) >> 58) & 63] = _bit


@kernel
def lowest(bits):
    """The number of the lowest bit that is set (below 63; de Bruijn's multiplication)."""
    return _PLACE[(((bits & -bits) * _DE_BRUIJN) >> 58) & 63]


@kernel
def count(bits):
    """Number of set bits."""
    bits -= (bits >> 1) & 0x5555555555555555
    bits = (bits & 0x3333333333333333) + ((bits >> 2) & 0x3333333333333333)
    bits = (bits + (bits >> 4)) & 0x0F0F0F0F0F0F0F0F
    bits += bits >> 8
    bits += bits >> 16
    return (bits + (bits >> 32)) & 127


@kernel
def nth(bits, rank):
    """The number of the set bit of this rank, from 0."""
    for _ in range(rank):
        bits &= bits - 1
    return lowest(bits)


@kernel
def down(a, b, c, d, words, size, span):
    """The set moved to the next row."""
    if words == 1:
        return a << size, 0, 0, 0
    full = (1 << span) - 1
    rest = span - size
    if words == 2:
        return (a << size) & full, ((b << size) & full) | (a >> rest), 0, 0
    return (
        (a << size) & full,
        ((b << size) & full) | (a >> rest),
        ((c << size) & full) | (b >> rest),
        ((d << size) & full) | (c >> rest),
    )


@kernel
def up(a, b, c, d, words, size, span):
    """The set moved to the row before."""
    if words == 1:
        return a >> size, 0, 0, 0
    full = (1 << span) - 1
    rest = span - size
    if words == 2:
        return (a >> size) | ((b << rest) & full), b >> size, 0, 0
    return (
        (a >> size) | ((b << rest) & full),
        (b >> size) | ((c << rest) & full),
        (c >> size) | ((d << rest) & full),
        d >> size,
    )


@kernel
def shifted(a, b, c, d, direction, words, size, span):
    """The set moved by one cell: `direction` as in `units.DIRECTIONS`."""
    if direction == 0:
        return up(a, b, c, d, words, size, span)
    if direction == 2:
        return down(a, b, c, d, words, size, span)
    if direction == 1:
        return a << 1, b << 1, c << 1, d << 1
    return a >> 1, b >> 1, c >> 1, d >> 1


@kernel
def neighbours(a, b, c, d, words, size, span):
    """The cells beside those of the set."""
    if words == 1:
        return (a << 1) | (a >> 1) | (a << size) | (a >> size), 0, 0, 0
    d0, d1, d2, d3 = down(a, b, c, d, words, size, span)
    u0, u1, u2, u3 = up(a, b, c, d, words, size, span)
    return (
        d0 | u0 | (a << 1) | (a >> 1),
        d1 | u1 | (b << 1) | (b >> 1),
        d2 | u2 | (c << 1) | (c >> 1),
        d3 | u3 | (d << 1) | (d >> 1),
    )


@kernel
def has(a, b, c, d, cell, span):
    """Whether a cell is in the set."""
    word = cell // span
    bit = cell - word * span
    if word == 0:
        return (a >> bit) & 1
    if word == 1:
        return (b >> bit) & 1
    if word == 2:
        return (c >> bit) & 1
    return (d >> bit) & 1
