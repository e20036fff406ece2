"""Positions of the whole game that can be reached from its start, counted as the published analysis counts them.

There only the catching of a lion ends a game, and a position is over where the player to move can catch the lion, or
the opponent's lion stands on its goal rank and he cannot. Positions are folded by mirroring and by the side to move.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from asobiba.baselines.animal_shogi.solver.atomic import atomic_or
from asobiba.baselines.animal_shogi.solver.index import all_numbers, number_of, open_numbers, position_of
from asobiba.baselines.animal_shogi.solver.moves import (
    GOES_ON,
    LION_LOST,
    MOST_MOVES,
    TRIED,
    catchers,
    goes_on,
    successors,
)
from asobiba.core import compiled, kernel

START = (1, 10, 0b100000000001, 0b001000000100, 0b000010010000, 0, 0b000000010101, 0, 0, 0)
"""The starting position: both sides have elephant, lion, giraffe from their left, a chick before the lion."""
_BYTES = 1 << 11


def start_number(material: int) -> int:
    """The number of the starting position of the whole game."""
    return int(_number(material, START))


@compiled()
def _number(material, position):
    return number_of(material, position)


@kernel
def _flood(material, reached, expanded, first, last):
    out = np.empty((1, MOST_MOVES), np.int64)
    found = 0
    for byte in range(first, last):
        bits = reached[byte] & ~expanded[byte]
        if bits == 0:
            continue
        for bit in range(8):
            if (bits >> bit) & 1 == 0:
                continue
            position = position_of(material, 8 * byte + bit)
            mine, theirs, e, g, c, h, own = position[:7]
            if not goes_on(mine, theirs, e, g, c, h, own):
                continue
            found += 1
            count = successors(out, 0, material, position, True)
            for k in range(count):
                number = out[0, k] >> 2
                mask = np.uint8(1 << (number & 7))
                if reached[number >> 3] & mask == 0:
                    atomic_or(reached, number >> 3, mask)
        expanded[byte] |= bits
    return found


@compiled(parallel=True)
def flood(material, reached, expanded, first, last):
    """Plays every move in every position that was reached and not expanded yet, within these bytes of the bit sets.

    Returns how many positions it expanded. Repeat over all bytes until that is 0.
    """
    found = 0
    for block in prange((last - first + _BYTES - 1) // _BYTES):
        begin = first + block * _BYTES
        found += _flood(material, reached, expanded, begin, min(begin + _BYTES, last))
    return found


@kernel
def kind_of(mine, theirs, e, g, c, h, own):
    """`GOES_ON`, `LION_LOST` (the mover can catch the lion) or `TRIED` (the opponent's try has succeeded)."""
    if catchers(theirs, mine, e, g, c, h, own) != 0:
        return LION_LOST
    return GOES_ON if theirs >= 3 else TRIED


@compiled(parallel=True)
def kinds(material, reached, first, last, counts):
    """Adds to `counts[block]` (a row per 2048 bytes from `first`) how many reached positions are of each kind."""
    for block in prange((last - first + _BYTES - 1) // _BYTES):
        begin = first + block * _BYTES
        for byte in range(begin, min(begin + _BYTES, last)):
            bits = reached[byte]
            for bit in range(8):
                if (bits >> bit) & 1 != 0:
                    mine, theirs, e, g, c, h, own, _, _, _ = position_of(material, 8 * byte + bit)
                    counts[block, kind_of(mine, theirs, e, g, c, h, own)] += 1


def blank_sets(material: int) -> tuple[np.ndarray, np.ndarray]:
    """The bit sets of reached and of expanded positions, with the start reached."""
    reached = np.zeros(all_numbers(material) // 8 + 1, np.uint8)
    expanded = np.zeros(open_numbers(material) // 8 + 1, np.uint8)
    start = start_number(material)
    reached[start >> 3] |= np.uint8(1 << (start & 7))
    return reached, expanded


def count_kinds(material: int, reached: np.ndarray) -> tuple[int, int, int]:
    """Counts of the reached positions that go on, can catch the lion, and have lost to a try."""
    counts = np.zeros((len(reached) // _BYTES + 1, 3), np.int64)
    kinds(material, reached, 0, len(reached), counts)
    goes, catch, tried = counts.sum(0)
    return int(goes), int(catch), int(tried)
