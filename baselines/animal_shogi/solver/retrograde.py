"""The compiled passes that solve a material: preparation, one level of retrograde analysis, and the check of the result.

Every number of a placement in which a game can go on has one byte:

    0 to MOST_PLIES   decided: the game ends after so many plies under best play; even is lost for the mover, odd is won
    WAITING + n       not decided yet: n moves whose result is not known to be lost (what remains at the end is a draw)
    NEVER_LOST        as WAITING, with more moves than there are (mate problems only)
    OUTSIDE           no position of its own: the mover can catch the lion (he wins in 1), or the mirror image is meant

A try counts when the lion stands safely on its goal rank: the move that brings it there wins in 1.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from asobiba.baselines.animal_shogi.solver.atomic import atomic_subtract
from asobiba.baselines.animal_shogi.solver.index import SIZE, mirror_order, position_of
from asobiba.baselines.animal_shogi.solver.moves import (
    GOES_ON,
    LION_LOST,
    MOST_MOVES,
    MOST_PREDECESSORS,
    attackers,
    goes_on,
    predecessors,
    successors,
)
from asobiba.core import compiled, kernel

MOST_PLIES = 175
WAITING = 176
NEVER_LOST = 250
OUTSIDE = 255
BLOCK = 1 << 14
"""Number of table entries that one thread takes at a time."""
_ONES, _TOPS = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)


@kernel
def distinct_words(out, row, count):
    """Removes repeated words from `out[row, :count]`, in order; returns how many are left."""
    kept = 0
    for k in range(count):
        new = True
        for j in range(kept):
            if out[row, j] == out[row, k]:
                new = False
        if new:
            out[row, kept] = out[row, k]
            kept += 1
    return kept


@kernel
def _distinct_moves(out, material, position):
    """The moves in `out[0]`, and how many there are.

    Mirrored moves of a symmetric position count once, as in `predecessors`; only numbers tell them apart.
    """
    symmetric = mirror_order(material, position) == 0
    count = successors(out, 0, material, position, symmetric)
    return distinct_words(out, 0, count) if symmetric else count


@kernel
def _prepare(material, values, first, last):
    out = np.empty((1, MOST_MOVES), np.int64)
    found = 0
    for number in range(first, last):
        position = position_of(material, number)
        mine, theirs, e, g, c, h, own = position[:7]
        values[number] = OUTSIDE
        if not goes_on(mine, theirs, e, g, c, h, own):
            continue
        if mirror_order(material, position) > 0:
            continue
        found += 1
        count = _distinct_moves(out, material, position)
        open_moves, tries = 0, 0
        for k in range(count):
            result = out[0, k] & 3
            if result == GOES_ON:
                open_moves += 1
            elif result != LION_LOST:
                tries += 1
        if tries > 0:
            values[number] = 1
        elif count == 0:
            values[number] = 0
        elif open_moves == 0:
            values[number] = 2
        else:
            values[number] = WAITING + open_moves
    return found


@compiled(parallel=True)
def prepare(material, values, first, last):
    """Writes the first byte of the numbers `first` to `last - 1`; returns how many of them are positions."""
    found = 0
    for block in prange((last - first + BLOCK - 1) // BLOCK):
        begin = first + block * BLOCK
        found += _prepare(material, values, begin, min(begin + BLOCK, last))
    return found


@kernel
def _prepare_mates(material, solved, values, first, last):
    out = np.empty((1, MOST_MOVES), np.int64)
    found = 0
    for number in range(first, last):
        value = np.int64(solved[number])
        values[number] = OUTSIDE
        if value == OUTSIDE:
            continue
        found += 1
        values[number] = NEVER_LOST
        if value >= WAITING or value & 1 == 1:
            continue
        position = position_of(material, number)
        mine, theirs, e, g, c, h, own = position[:7]
        if attackers(mine, theirs, e, g, c, h, own) == 0:
            continue
        if value <= 2:
            values[number] = 2
            continue
        open_moves = 0
        for k in range(_distinct_moves(out, material, position)):
            open_moves += (out[0, k] & 3) == GOES_ON
        values[number] = WAITING + open_moves
    return found


@compiled(parallel=True)
def prepare_mates(material, solved, values, first, last):
    """As `prepare`, for mate problems; `solved` are the bytes of the finished analysis.

    Every move of the attacker gives check, so that only a lost position in check can become lost. It is mate where every
    reply loses at once: the lion is caught, or the attacker's own lion comes home safely.
    """
    found = 0
    for block in prange((last - first + BLOCK - 1) // BLOCK):
        begin = first + block * BLOCK
        found += _prepare_mates(material, solved, values, begin, min(begin + BLOCK, last))
    return found


@kernel
def _spread(material, values, level, number, out):
    position = position_of(material, number)
    count = predecessors(out, 0, material, position)
    for k in range(count):
        before = out[0, k]
        value = values[before]
        if value < WAITING or value == OUTSIDE:
            continue
        if level & 1 == 0 or atomic_subtract(values, before, 1) == WAITING + 1:
            values[before] = level + 1


@kernel
def _spread_block(material, values, words, level, first, last):
    out = np.empty((1, MOST_PREDECESSORS), np.int64)
    pattern = np.uint64(level) * _ONES
    found = 0
    for w in range(first // 8, (last + 7) // 8):
        if w < words.shape[0]:
            # A byte of the word equals the level if and only if this has a zero byte.
            difference = words[w] ^ pattern
            if ((difference - _ONES) & ~difference & _TOPS) == 0:
                continue
        for number in range(8 * w, min(8 * w + 8, last)):
            if values[number] == level:
                found += 1
                _spread(material, values, level, number, out)
    return found


@compiled(parallel=True)
def spread(material, values, words, level, first, last):
    """One level of retrograde analysis: positions decided in `level` plies tell their predecessors.

    Looks at the numbers `first` (a multiple of 8) to `last - 1`; returns how many had that level. `words` are the
    whole 64-bit words of `values`.
    """
    found = 0
    for block in prange((last - first + BLOCK - 1) // BLOCK):
        begin = first + block * BLOCK
        found += _spread_block(material, values, words, level, begin, min(begin + BLOCK, last))
    return found


@kernel
def value_after(values, word):
    """Value of a move's result (a word of `successors`) for the player who is then to move: plies, or `WAITING`: a draw."""
    result = word & 3
    if result == LION_LOST:
        return 1
    if result != GOES_ON:
        return 0
    value = np.int64(values[word >> 2])
    return value if value < WAITING else WAITING


@kernel
def best_of(values, out, row, count):
    """The value of a position from its moves: the fastest win, else a draw, else the longest resistance."""
    win, draw, loss = MOST_PLIES + 1, False, -1
    for k in range(count):
        after = value_after(values, out[row, k])
        if after == WAITING:
            draw = True
        elif after & 1 == 0:
            win = min(win, after + 1)
        else:
            loss = max(loss, after + 1)
    if win <= MOST_PLIES:
        return win
    if draw:
        return WAITING
    return max(loss, 0)


@kernel
def _contradictions(material, values, first, last, stride):
    out = np.empty((1, MOST_MOVES), np.int64)
    wrong = 0
    for number in range(first, last, stride):
        value = np.int64(values[number])
        if value == OUTSIDE:
            continue
        position = position_of(material, number)
        count = successors(out, 0, material, position, True)
        if best_of(values, out, 0, count) != min(value, WAITING):
            wrong += 1
    return wrong


@compiled(parallel=True)
def contradictions(material, values, first, last, stride):
    """Count of the entries `first`, `first + stride`, ... below `last` whose value does not follow from their moves."""
    wrong = 0
    size = BLOCK * stride
    for block in prange((last - first + size - 1) // size):
        begin = first + block * size
        wrong += _contradictions(material, values, begin, min(begin + size, last), stride)
    return wrong


def whole_words(values: np.ndarray) -> np.ndarray:
    """The whole 64-bit words of the bytes."""
    return values[: len(values) // 8 * 8].view(np.uint64)


def blank(material: int) -> np.ndarray:
    """The bytes of a material before `prepare`: `(open_numbers(material),)` uint8."""
    return np.empty(21 * int(SIZE[material]), np.uint8)
