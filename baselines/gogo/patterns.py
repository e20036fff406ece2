"""Patterns that a stone would make on its line: classes of eleven squares around an empty point, looked up in a table.

A window is the five squares to each side of a point on one line; each is empty, the player's, or blocked (an opposing
stone or beyond the edge). Its class is the pattern that the player's stone in the middle makes: see `CLASSES`.
"""

from __future__ import annotations

import numpy as np

from asobiba.core import kernel
from asobiba.envs.gogo.board import WORDS
from asobiba.envs.gogo.lines import line_through

NOTHING, CLOSED_TWO, OPEN_TWO, CLOSED_THREE, OPEN_THREE, FOUR, OPEN_FOUR, MADE_FIVE = range(8)
CLASSES = ("nothing", "closed two", "open two", "closed three", "open three", "four", "open four", "five")
"""A five; a four that two points make a five of, or one; a three that one move makes an open four of, or a four; a two
that one move makes an open three of, or a closed one."""
_REACH = 5
_CENTRE = _REACH
_SQUARES = [k for k in range(2 * _REACH + 1) if k != _CENTRE]
_WEIGHT = {square: 3**k for k, square in enumerate(_SQUARES)}
CODES = 3 ** len(_SQUARES)


def _window_table() -> np.ndarray:
    """The class of each window: `[0]` where longer lines are fives too, `[1]` where they are not."""
    codes = np.arange(CODES)
    digits = {square: codes // _WEIGHT[square] % 3 for square in _SQUARES}
    run = np.ones(CODES, np.int64)
    for side in (range(_CENTRE - 1, -1, -1), range(_CENTRE + 1, 2 * _REACH + 1)):
        going = np.ones(CODES, bool)
        for square in side:
            going &= digits[square] == 1
            run += going
    tables = []
    for exact in (False, True):
        five = (run == 5) if exact else (run >= 5)
        fives, fours, fulls, threes, closed = (np.zeros(CODES, np.int64) for _ in range(5))

        def add(counts: np.ndarray, of: np.ndarray) -> None:
            for square in _SQUARES:
                free = digits[square] == 0
                counts[free] += of[codes[free] + _WEIGHT[square]]

        add(fives, five)
        add(fulls, (fives >= 2) & ~five)
        add(fours, (fives >= 1) & ~five)
        open_three = (fulls >= 1) & (fives == 0) & ~five
        closed_three = (fours >= 1) & (fives == 0) & ~open_three & ~five
        add(threes, open_three)
        add(closed, closed_three | open_three)
        table = np.where(closed > 0, CLOSED_TWO, NOTHING)
        table = np.where(threes > 0, OPEN_TWO, table)
        table = np.where(closed_three, CLOSED_THREE, table)
        table = np.where(open_three, OPEN_THREE, table)
        table = np.where(fives == 1, FOUR, table)
        table = np.where(fives >= 2, OPEN_FOUR, table)
        tables.append(np.where(five, MADE_FIVE, table).astype(np.uint8))
    return np.array(tables)


CLASS_OF = _window_table()
"""`CLASS_OF[exact, code]`; a code has a digit of base 3 a square (empty, own, blocked)."""
DIGITS = np.array(
    [sum(w for q, w in _WEIGHT.items() if bits >> q & 1) for bits in range(1 << (2 * _REACH + 1))], np.int32
)
"""The code of eleven bits: the sum of the weights of those that are set, the middle one aside."""


@kernel
def window_class(own, other, full, bit, exact):
    """The class of a stone of `own` on an empty square of a line (bits of both colours and of the line's squares)."""
    mine = ((own << 5) >> bit) & 0x7FF
    blocked = ((((other | ~full) << 5) | 31) >> bit) & 0x7FF
    return np.int64(CLASS_OF[exact, DIGITS[mine] + 2 * DIGITS[blocked]])


@kernel
def point_class(s, p, point, player, direction):
    """The class of a stone of `player` on an empty point, along one of the four directions."""
    line, bit, _, _ = line_through(p, point, direction)
    own = np.int64(s.lines[WORDS * line + player])
    other = np.int64(s.lines[WORDS * line + 1 - player])
    return window_class(own, other, np.int64(p.full[line]), bit, np.int64(p.exact))
