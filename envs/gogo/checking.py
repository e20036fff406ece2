"""Checks whether an external record is a state of Gogo, by computing all its features again."""

from __future__ import annotations

import numpy as np

from asobiba.core import kernel
from asobiba.core.record import ILLEGAL_ACTION
from asobiba.envs.gogo.board import (
    EXEMPT,
    FIVES,
    TAKES,
    THREES,
    WORDS,
    is_lifted,
)
from asobiba.envs.gogo.lines import THREES_BROKEN, THREES_OFF, captures, fives, line_through, open_threes

FIVE_AT_ONCE = 2
MOST_TAKEN = 16
"""Stones that one move can capture: two in each of eight directions."""


@kernel
def counts_agree(s, p):
    """Whether the stones on the board and the captured ones add up to the stones played."""
    area = np.int64(p.area)
    first = 0
    second = 0
    for point in range(area):
        if s.planes[point] > 1 or s.planes[area + point] > 1 - s.planes[point]:
            return False
        first += s.planes[point]
        second += s.planes[area + point]
    for i in range((FIVES + 1) * area, s.planes.shape[0]):
        if s.planes[i] != 0:
            return False
    played = np.int64(s.steps)
    if s.end_reason == ILLEGAL_ACTION:
        played -= 1  # the offender's action was counted, but put no stone
    if played < 0 or s.to_move != played % 2 or s.empty != area - first - second:
        return False
    for player in range(2):
        taken = np.int64(s.captured[player])
        if taken % 2 != 0 or (p.captures == 0 and taken != 0):
            return False
        if p.goal > 0 and taken >= p.goal + MOST_TAKEN:
            return False
        if s.terminated == 0 and p.goal > 0 and taken >= p.goal:
            return False
    if first + s.captured[1] != (played + 1) // 2 or second + s.captured[0] != played // 2:
        return False
    if s.last_point < -1 or s.last_point >= area or s.last_taken > MOST_TAKEN or s.last_taken % 2 != 0:
        return False
    return s.last_point < 0 or (played > 0 and s.planes[(1 - s.to_move) * area + s.last_point] == 1)


@kernel
def lines_agree(s, p):
    """The lines hold the stones of the planes and what follows from them."""
    area = np.int64(p.area)
    n = np.int64(p.width)
    standing_first = 0
    standing_second = 0
    for i in range(WORDS * (6 * n - 2), s.lines.shape[0]):
        if s.lines[i] != 0:
            return False
    for line in range(6 * n - 2):
        at = WORDS * line
        own = np.int64(s.lines[at])
        other = np.int64(s.lines[at + 1])
        full = np.int64(p.full[line])
        if own & other != 0 or (own | other) & ~full != 0:
            return False
        standing_first += 1 if fives(own, p.exact != 0) != 0 else 0
        standing_second += 1 if fives(other, p.exact != 0) != 0 else 0
    if s.fives[0] != standing_first or s.fives[1] != standing_second:
        return False
    for point in range(area):
        for direction in range(4):
            line, bit, _, _ = line_through(p, point, direction)
            for player in range(2):
                if (s.lines[WORDS * line + player] >> bit) & 1 != s.planes[player * area + point]:
                    return False
    return True


@kernel
def planes_agree(s, p):
    """The planes count what the lines hold (called when `lines_agree`)."""
    area = np.int64(p.area)
    doubles = 0
    banned_first = 0
    banned_second = 0
    for point in range(area):
        standing = 0
        for player in range(2):
            threes = 0
            takes = 0
            for direction in range(4):
                line, bit, _, _ = line_through(p, point, direction)
                own = np.int64(s.lines[WORDS * line + player])
                other = np.int64(s.lines[WORDS * line + 1 - player])
                empty = np.int64(p.full[line]) & ~(own | other)
                if p.threes != THREES_OFF:
                    threes += (open_threes(own, empty, p.threes == THREES_BROKEN) >> bit) & 1
                if p.captures != 0:
                    takes += (captures(own, other, empty) >> bit) & 1
                standing |= (fives(own, p.exact != 0) >> bit) & 1
            if s.planes[(TAKES + player) * area + point] != takes:
                return False
            lifted = False
            if threes >= 2:
                doubles += 1
                lifted = is_lifted(s, p, player, point)
                if not lifted:
                    if player == 0:
                        banned_first += 1
                    else:
                        banned_second += 1
            if s.planes[(THREES + player) * area + point] != threes + (EXEMPT if lifted else 0):
                return False
        if s.planes[FIVES * area + point] != standing:
            return False
    if s.lifted != (1 if p.lifts != 0 and doubles > 0 else 0):
        return False
    return s.banned[0] == banned_first and s.banned[1] == banned_second


@kernel
def valid(s, p):
    """Whether a record, whatever its bytes, is a state that these rules could have."""
    if s.outcome > 4 or (s.outcome != 0 and s.terminated == 0):
        return False
    if not counts_agree(s, p) or not lines_agree(s, p) or not planes_agree(s, p):
        return False
    if s.terminated != 0:
        return True
    # A full board ends the game; so does a five that stands when its owner is to move, or at once where none is broken.
    if s.empty == 0 or s.fives[s.to_move] > 0:
        return False
    return s.fives[1 - s.to_move] == 0 or (p.five != FIVE_AT_ONCE and p.captures != 0)
