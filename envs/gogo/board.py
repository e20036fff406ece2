"""The board of Gogo in the state: stones and derived features, updated with every stone that comes or goes.

The state keeps all features that the rules need, so that a move updates only the lines that it touches:

* `planes`, a byte a point and plane (`area` points each): stones of the first and of the second player; for each, in how
  many directions a stone there would make an open three (`EXEMPT` is added where the ban is lifted), and in how many it
  would capture; stones that stand in a five.
* `lines`, two integers a line (see `lines.py`): the stones of both players as bits. A stone that comes or goes changes
  four lines; the difference of each line's features gives the points of the planes to update.
"""

from __future__ import annotations

import numpy as np

from asobiba.core import kernel
from asobiba.envs.gogo.lines import (
    THREES_BROKEN,
    THREES_OFF,
    captures,
    five_points,
    fives,
    line_through,
    lowest_bit,
    open_threes,
)

LIFT_CAPTURE, LIFT_FIVE, LIFT_BLOCK = 1, 2, 4
THREES, TAKES, FIVES = 2, 4, 6
PLANES = 7
EXEMPT = 16
WORDS = 2
"""Integers a line."""


@kernel
def forbidden_count(count):
    """Whether this entry of a threes plane is a double-three whose ban is not lifted."""
    return 2 <= count < EXEMPT


@kernel
def mend_threes(s, p, player, start, stride, changed, now):
    """Counts a line's changed open threes into the plane, and the points that become forbidden or free."""
    offset = (THREES + player) * np.int64(p.area)
    while changed != 0:
        bit = lowest_bit(changed)
        changed &= changed - 1
        at = offset + start + stride * bit
        if (now >> bit) & 1:
            s.planes[at] += 1
            if s.planes[at] == 2:
                s.banned[player] += 1
        else:
            if s.planes[at] == 2:
                s.banned[player] -= 1
            s.planes[at] -= 1


@kernel
def mend_takes(s, p, player, start, stride, changed, now):
    """Counts a line's changed captures into the plane."""
    offset = (TAKES + player) * np.int64(p.area)
    while changed != 0:
        bit = lowest_bit(changed)
        changed &= changed - 1
        at = offset + start + stride * bit
        if (now >> bit) & 1:
            s.planes[at] += 1
        else:
            s.planes[at] -= 1


@kernel
def mend_fives(s, p):
    """Writes the plane of fives anew."""
    area = np.int64(p.area)
    offset = FIVES * area
    for i in range(area):
        s.planes[offset + i] = 0
    for point in range(area):
        for player in range(2):
            if s.planes[player * area + point]:
                for direction in range(4):
                    line, bit, _, _ = line_through(p, point, direction)
                    if (fives(np.int64(s.lines[WORDS * line + player]), p.exact != 0) >> bit) & 1:
                        s.planes[offset + point] = 1


@kernel
def mend_line(s, p, start, stride, was, were, own, other, full):
    """Mends the planes where a line's stones (`was`, `were` before; `own`, `other` now) mean something else.

    Returns 1 if a five has come or gone.
    """
    before = full & ~(was | were)
    empty = full & ~(own | other)
    if p.threes != THREES_OFF:
        broken = p.threes == THREES_BROKEN
        now = open_threes(own, empty, broken)
        changed = now ^ open_threes(was, before, broken)
        if changed != 0:
            mend_threes(s, p, 0, start, stride, changed, now)
        now = open_threes(other, empty, broken)
        changed = now ^ open_threes(were, before, broken)
        if changed != 0:
            mend_threes(s, p, 1, start, stride, changed, now)
    if p.captures != 0:
        now = captures(own, other, empty)
        changed = now ^ captures(was, were, before)
        if changed != 0:
            mend_takes(s, p, 0, start, stride, changed, now)
        now = captures(other, own, empty)
        changed = now ^ captures(were, was, before)
        if changed != 0:
            mend_takes(s, p, 1, start, stride, changed, now)
    exact = p.exact != 0
    first = fives(own, exact)
    second = fives(other, exact)
    first_was = fives(was, exact)
    second_was = fives(were, exact)
    s.fives[0] += (1 if first != 0 else 0) - (1 if first_was != 0 else 0)
    s.fives[1] += (1 if second != 0 else 0) - (1 if second_was != 0 else 0)
    return 0 if first == first_was and second == second_was else 1


@kernel
def turn_stone(s, p, point, player):
    """Puts a stone of `player` on an empty point, or takes his stone off; returns 1 if a five has changed."""
    s.planes[player * np.int64(p.area) + point] ^= 1
    changed = 0
    for direction in range(4):
        line, bit, start, stride = line_through(p, point, direction)
        was = np.int64(s.lines[WORDS * line])
        were = np.int64(s.lines[WORDS * line + 1])
        stone = np.int64(1) << bit
        own = was
        other = were
        if player == 0:
            own ^= stone
            s.lines[WORDS * line] = own
        else:
            other ^= stone
            s.lines[WORDS * line + 1] = other
        if (was | were | stone) != stone:  # a stone alone on its line means nothing
            changed |= mend_line(s, p, start, stride, was, were, own, other, np.int64(p.full[line]))
    return changed


@kernel
def capture_around(s, p, point, mover):
    """Takes the pairs that the mover's new stone encloses off the board; returns stones taken, and whether a five changed."""
    taken = 0
    changed = 0
    for direction in range(4):
        line, bit, start, stride = line_through(p, point, direction)
        own = np.int64(s.lines[WORDS * line + mover])
        other = np.int64(s.lines[WORDS * line + 1 - mover])
        if ((other >> (bit + 1)) & (other >> (bit + 2)) & (own >> (bit + 3))) & 1:
            changed |= turn_stone(s, p, start + stride * (bit + 1), 1 - mover)
            changed |= turn_stone(s, p, start + stride * (bit + 2), 1 - mover)
            taken += 2
        if bit >= 3 and ((other >> (bit - 1)) & (other >> (bit - 2)) & (own >> (bit - 3))) & 1:
            changed |= turn_stone(s, p, start + stride * (bit - 1), 1 - mover)
            changed |= turn_stone(s, p, start + stride * (bit - 2), 1 - mover)
            taken += 2
    return taken, changed


@kernel
def makes_five(s, p, point, player):
    """Whether a stone of `player` on this empty point would stand in a five, captures aside."""
    for direction in range(4):
        line, bit, _, _ = line_through(p, point, direction)
        own = np.int64(s.lines[WORDS * line + player])
        if (five_points(own, np.int64(p.full[line]), p.exact != 0) >> bit) & 1:
            return True
    return False


@kernel
def is_lifted(s, p, player, point):
    """Whether the parameters make a double-three legal on this point."""
    if (p.lifts & LIFT_CAPTURE) != 0 and s.planes[(TAKES + player) * np.int64(p.area) + point] != 0:
        return True
    if (p.lifts & LIFT_FIVE) != 0 and makes_five(s, p, point, player):
        return True
    return (p.lifts & LIFT_BLOCK) != 0 and makes_five(s, p, point, 1 - player)


@kernel
def lift_bans(s, p):
    """Marks the forbidden points that a capture, a five or the block of one makes legal, where the parameters say so."""
    area = np.int64(p.area)
    for player in range(2):
        offset = (THREES + player) * area
        s.banned[player] = 0
        for point in range(area):
            count = s.planes[offset + point] & (EXEMPT - 1)
            if count >= 2:
                if is_lifted(s, p, player, point):
                    count += EXEMPT
                else:
                    s.banned[player] += 1
            s.planes[offset + point] = count
    s.lifted = 1


@kernel
def drop_exemptions(s, p):
    """Takes the marks of `lift_bans` off again, before lines change."""
    area = np.int64(p.area)
    for player in range(2):
        s.banned[player] = 0
        for i in range((THREES + player) * area, (THREES + player + 1) * area):
            s.planes[i] &= EXEMPT - 1
            if s.planes[i] >= 2:
                s.banned[player] += 1
    s.lifted = 0


@kernel
def five_survives(s, p, owner, point):
    """Whether a five of `owner` stands after the opponent captures on `point`, and stones taken; leaves the state as it was."""
    other = 1 - owner
    stones = 0
    turn_stone(s, p, point, other)
    taken = np.int64(0)
    for direction in range(4):
        line, bit, start, stride = line_through(p, point, direction)
        mine = np.int64(s.lines[WORDS * line + other])
        his = np.int64(s.lines[WORDS * line + owner])
        if ((his >> (bit + 1)) & (his >> (bit + 2)) & (mine >> (bit + 3))) & 1:
            taken |= np.int64(1) << (2 * direction)
        if bit >= 3 and ((his >> (bit - 1)) & (his >> (bit - 2)) & (mine >> (bit - 3))) & 1:
            taken |= np.int64(2) << (2 * direction)
    for time in range(2):
        for direction in range(4):
            line, bit, start, stride = line_through(p, point, direction)
            for side in range(2):
                if (taken >> (2 * direction + side)) & 1:
                    way = 1 - 2 * side
                    stones += 1
                    turn_stone(s, p, start + stride * (bit + way), owner)
                    turn_stone(s, p, start + stride * (bit + 2 * way), owner)
        if time == 0:
            survives = s.fives[owner] > 0
    turn_stone(s, p, point, other)
    return survives, stones


@kernel
def is_perfect(s, p, owner):
    """Whether the opponent has no legal capture that breaks every five of `owner`, nor one that wins for himself."""
    area = np.int64(p.area)
    other = 1 - owner
    for point in range(area):
        if s.planes[(TAKES + other) * area + point] != 0:
            if s.planes[(THREES + other) * area + point] < 2 or is_lifted(s, p, other, point):
                survives, stones = five_survives(s, p, owner, point)
                if not survives or (p.goal > 0 and s.captured[other] + stones >= p.goal):
                    return False
    return True


@kernel
def rebuild(s, p):
    """Computes all features of the state from the stones in its planes (the rest of the record must be blank)."""
    area = np.int64(p.area)
    s.empty = 0
    for point in range(area):
        for player in range(2):
            if s.planes[player * area + point]:
                s.planes[player * area + point] = 0
                turn_stone(s, p, point, player)
        if (s.planes[point] | s.planes[area + point]) == 0:
            s.empty += 1
    mend_fives(s, p)
    if p.lifts != 0 and (s.banned[0] | s.banned[1]) != 0:
        lift_bans(s, p)
