"""Compiled questions to a table: values of positions and of all their moves, positions as `envs.animal_shogi.board`."""

from __future__ import annotations

import numpy as np

from asobiba.baselines.animal_shogi.solver.index import POP, number_of, position_of
from asobiba.baselines.animal_shogi.solver.moves import catchers
from asobiba.baselines.animal_shogi.solver.retrograde import OUTSIDE, WAITING
from asobiba.core import compiled, kernel
from asobiba.envs.animal_shogi.board import (
    CHICK,
    DROPS,
    ELEPHANT,
    GIRAFFE,
    HANDS,
    HEN,
    LION,
    OPPONENT,
    OPPONENT_HANDS,
    SQUARES,
    STEP,
    flip,
    moved,
    piece_at,
)

DRAW_BYTE = WAITING
BITS_PER_RANK = 512
"""Positions are counted ahead once per so many bits of the set of stored numbers."""
NO_VALUE = -1
_M1, _M2, _M4 = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333), np.uint64(0x0F0F0F0F0F0F0F0F)
_MH = np.uint64(0x0101010101010101)
_1, _2, _4, _56, _63, _6 = (np.uint64(k) for k in (1, 2, 4, 56, 63, 6))


@kernel
def ones_in(word):
    """Number of set bits of a 64-bit word."""
    word -= (word >> _1) & _M1
    word = (word & _M2) + ((word >> _2) & _M2)
    return np.int64((((word + (word >> _4)) & _M4) * _MH) >> _56)


@kernel
def stored_byte(number, section, words, ranks, values):
    """The byte of a number, or `NO_VALUE` if the table holds none. `section` is `(first word, first rank, first value)`."""
    word = np.uint64(words[section[0] + (number >> 6)])
    bit = np.uint64(number & 63)
    if (word >> bit) & _1 == np.uint64(0):
        return NO_VALUE
    block = number >> 9
    index = np.int64(ranks[section[1] + block])
    for k in range(block << 3, number >> 6):
        index += ones_in(np.uint64(words[section[0] + k]))
    index += ones_in(word & ((_1 << bit) - _1))
    return np.int64(values[section[2] + index])


@kernel
def unpacked(position):
    """A position of `envs.animal_shogi.board` in the solver's form, after its material; a lion that is gone is -1."""
    mine = theirs = -1
    e = g = c = h = own = 0
    for square in range(SQUARES):
        piece = piece_at(position, square)
        bit = 1 << square
        kind = piece & (OPPONENT - 1)
        if kind == 0:
            continue
        if kind == LION:
            if piece < OPPONENT:
                mine = square
            else:
                theirs = square
            continue
        if kind == CHICK:
            c |= bit
        elif kind == ELEPHANT:
            e |= bit
        elif kind == GIRAFFE:
            g |= bit
        else:
            h |= bit
        if piece < OPPONENT:
            own |= bit
    hands = position >> HANDS
    hc, he, hg = hands & 3, (hands >> 2) & 3, (hands >> 4) & 3
    ne = he + ((hands >> 8) & 3) + POP[e]
    ng = hg + ((hands >> 10) & 3) + POP[g]
    nc = hc + ((hands >> 6) & 3) + POP[c | h]
    material = np.int64((ne * 3 + ng) * 3 + nc) if max(ne, ng, nc) <= 2 else np.int64(-1)
    return material, mine, theirs, e, g, c, h, own, he, hg, hc


@kernel
def packed_position(material, number):
    """The position of a number as `envs.animal_shogi.board` holds it: the inverse of `unpacked`."""
    mine, theirs, e, g, c, h, own, he, hg, hc = position_of(material, number)
    position = (LION << (4 * mine)) | ((LION + OPPONENT) << (4 * theirs))
    for square in range(SQUARES):
        bit = 1 << square
        kind = ELEPHANT if e & bit else GIRAFFE if g & bit else CHICK if c & bit else HEN if h & bit else 0
        if kind:
            position |= (kind if own & bit else kind + OPPONENT) << (4 * square)
    ne, ng, nc = material // 9, material // 3 % 3, material % 3
    theirs_in_hand = nc - POP[c | h] - hc, ne - POP[e] - he, ng - POP[g] - hg
    for k in range(3):
        position |= (hc, he, hg)[k] << (HANDS + 2 * k)
        position |= np.int64(theirs_in_hand[k]) << (OPPONENT_HANDS + 2 * k)
    return position


@compiled()
def held_positions(numbers, material, section, words, ranks, values, positions, outcomes):
    """Fills `positions` and `outcomes` (int64 and int8) for those `numbers` that the table holds; returns how many."""
    found = 0
    for k in range(numbers.shape[0]):
        value = stored_byte(numbers[k], section, words, ranks, values)
        if value != NO_VALUE:
            positions[found] = packed_position(material, numbers[k])
            outcomes[found] = 0 if value == DRAW_BYTE else (1 if value & 1 else -1)
            found += 1
    return found


@kernel
def position_value(position, sections, words, ranks, values):
    """Outcome for the mover (1, 0, -1) and plies to the end (-1 in a draw); outcome 2 if the table does not know."""
    material, mine, theirs, e, g, c, h, own, he, hg, hc = unpacked(position)
    if mine < 0:
        return -1, 0
    if mine >= 9:  # his try was not answered
        return 1, 0
    if theirs < 0 or material < 0:
        return 2, 0
    if catchers(theirs, mine, e, g, c, h, own) != 0:
        return 1, 1
    if theirs < 3:
        return -1, 0
    if sections[material, 0] < 0:
        return 2, 0
    number = number_of(material, (mine, theirs, e, g, c, h, own, he, hg, hc))
    value = stored_byte(number, sections[material], words, ranks, values)
    if value == NO_VALUE:
        return 2, 0
    if value == DRAW_BYTE:
        return 0, -1
    return (1 if value & 1 else -1), value


@compiled()
def position_values(positions, sections, words, ranks, values, outcomes, plies):
    """Fills `outcomes` and `plies` (`(n,)` int8 and int16) for `positions` (`(n,)` int64)."""
    for k in range(positions.shape[0]):
        outcomes[k], plies[k] = position_value(positions[k], sections, words, ranks, values)


@compiled()
def move_values(positions, legal, sections, words, ranks, values, outcomes, plies):
    """Fills `outcomes` and `plies` (`(n, actions)`) for the legal actions: what each leads to for the mover.

    Illegal actions get the outcome -2. A move that leaves a lion standing on the mover's own home rank loses at once.
    """
    for k in range(positions.shape[0]):
        position = positions[k]
        for action in range(legal.shape[1]):
            outcomes[k, action] = -2
            plies[k, action] = 0
            if legal[k, action] == 0:
                continue
            to = (action - DROPS) % 12 if action >= DROPS else STEP[action // 12, action % 12]
            if piece_at(position, to) == OPPONENT + LION:
                outcomes[k, action], plies[k, action] = 1, 1
                continue
            stays = False
            for square in range(3):
                if piece_at(position, square) == OPPONENT + LION:
                    stays = True
            if stays:
                outcomes[k, action], plies[k, action] = -1, 1
                continue
            outcome, distance = position_value(flip(moved(position, action)), sections, words, ranks, values)
            if outcome == 2:
                outcomes[k, action] = 2
            else:
                outcomes[k, action] = -outcome
                plies[k, action] = distance + 1 if outcome != 0 else -1


@compiled()
def mark_stored(values, words, first, last):
    """Sets the bits of the numbers `first` (a multiple of 64) to `last - 1` whose byte is a value."""
    for number in range(first, last):
        if values[number] != OUTSIDE:
            words[number >> 6] |= _1 << np.uint64(number & 63)


@compiled()
def pack_values(values, ranks, packed):
    """Writes the bytes of positions one after the other, draws as `DRAW_BYTE`, and how many precede each block."""
    n = 0
    for number in range(values.shape[0]):
        if number & (BITS_PER_RANK - 1) == 0:
            ranks[number // BITS_PER_RANK] = n
        if values[number] != OUTSIDE:
            packed[n] = min(values[number], DRAW_BYTE)
            n += 1
    return n
