"""Positions of a search of Gogo: the board as in the state, and the patterns that stones could make, updated by every
move.

A node holds what a state holds of the board (so that the rules' own kernels mend it), and `kinds`: for each player,
direction and empty point what his stone would make of the line there (see `patterns.py`), with how often each class
occurs (`tally`), what the four directions of a point are worth together (`worth`), and, as bits, the points where he
makes a four or more, and a five (`sharp`). A stone that comes or goes
changes the classes of the five squares to each side on its four lines.
"""

from __future__ import annotations

import numpy as np

from asobiba.baselines.gogo.patterns import FOUR, MADE_FIVE, OPEN_THREE, window_class
from asobiba.core import kernel, mix64
from asobiba.envs.gogo.board import (
    FIVES,
    PLANES,
    TAKES,
    THREES,
    WORDS,
    capture_around,
    drop_exemptions,
    forbidden_count,
    lift_bans,
    mend_fives,
    turn_stone,
)
from asobiba.envs.gogo.lines import MOST_LINES, MOST_POINTS, line_through
from asobiba.envs.gogo.rules import judge, opening_allows

_WORTH = np.array([0, 2, 8, 10, 40, 60, 300, 900], np.int64)
"""Weight of each class of stone in the order of moves."""
_SHARE = 8 * _WORTH + (np.arange(8) >= OPEN_THREE)
"""What a class adds to `worth`: its weight, and in the last three bits whether it is an open three or more."""
SHARP_WORDS = (MOST_POINTS + 31) // 32
"""Words of 32 bits in a set of points. `sharp` has four sets: fours and more, then fives, of each player."""


def position_fields(ruleset):
    """The board as states hold it, and the patterns."""
    return [
        ("empty", np.int16),
        ("last_point", np.int16),
        ("banned", np.int16, (2,)),
        ("fives", np.int16, (2,)),
        ("captured", np.uint8, (2,)),
        ("last_taken", np.uint8),
        ("lifted", np.uint8),
        ("outcome", np.uint8),
        ("terminated", np.uint8),
        ("to_move", np.int8),
        ("steps", np.int32),
        ("rewards", np.float32, (2,)),
        ("hashes", np.int64, (8,)),
        ("tally", np.int16, (16,)),
        ("takes", np.int16, (2,)),
        ("lines", np.int32, (WORDS * MOST_LINES,)),
        ("planes", np.uint8, (PLANES * MOST_POINTS,)),
        ("kinds", np.uint8, (8 * MOST_POINTS,)),
        ("sharp", np.uint32, (4 * SHARP_WORDS,)),
        ("worth", np.int16, (2 * MOST_POINTS,)),
    ]


@kernel
def turned(p, point, symmetry):
    """Image of a point under one of the eight symmetries of the board."""
    n = np.int64(p.width)
    row = point // n
    col = point - row * n
    if symmetry & 1:
        row = n - 1 - row
    if symmetry & 2:
        col = n - 1 - col
    if symmetry & 4:
        return col * n + row
    return row * n + col


@kernel
def toggle_hashes(node, p, point, player):
    """Puts a stone into, or takes it out of, the hashes of the eight symmetrical boards."""
    for symmetry in range(8):
        key = mix64(np.uint64(2 * turned(p, point, symmetry) + player + 12345))
        node.hashes[symmetry] ^= np.int64(key)


@kernel
def set_key(node):
    """The key of the position: stones, captures, and the player to move."""
    rest = np.int64(
        mix64(
            np.uint64(node.captured[0]) * np.uint64(512)
            + np.uint64(node.captured[1]) * np.uint64(2)
            + np.uint64(node.to_move)
        )
    )
    node.key = node.hashes[0] ^ rest
    node.side = node.to_move


@kernel
def greatest_kind(node, p, point, player):
    """The greatest class that the player's stone makes here."""
    at = 4 * player * np.int64(p.area) + point
    area = np.int64(p.area)
    return max(
        max(np.int64(node.kinds[at]), np.int64(node.kinds[at + area])),
        max(np.int64(node.kinds[at + 2 * area]), np.int64(node.kinds[at + 3 * area])),
    )


@kernel
def set_kind(node, p, point, player, direction, kind):
    """Writes a class and counts it."""
    at = (4 * player + direction) * np.int64(p.area) + point
    before = np.int64(node.kinds[at])
    if before != kind:
        node.tally[8 * player + before] -= 1
        node.tally[8 * player + kind] += 1
        node.kinds[at] = kind
        node.worth[player * np.int64(p.area) + point] += _SHARE[kind] - _SHARE[before]
        if before >= FOUR or kind >= FOUR:
            mend_sharp(node, p, point, player)


@kernel
def mend_sharp(node, p, point, player):
    """Writes whether the player's stone at a point makes a four or more, and whether a five."""
    greatest = greatest_kind(node, p, point, player)
    bit = np.uint32(1) << np.uint32(point & 31)
    fours = 2 * player * SHARP_WORDS + (point >> 5)
    fives = fours + SHARP_WORDS
    node.sharp[fours] = node.sharp[fours] | bit if greatest >= FOUR else node.sharp[fours] & ~bit
    node.sharp[fives] = node.sharp[fives] | bit if greatest == MADE_FIVE else node.sharp[fives] & ~bit


@kernel
def mend_kinds(node, p, point):
    """The classes on the four lines through a point whose stone has come or gone."""
    area = np.int64(p.area)
    exact = np.int64(p.exact)
    for direction in range(4):
        line, bit, start, stride = line_through(p, point, direction)
        first = np.int64(node.lines[WORDS * line])
        second = np.int64(node.lines[WORDS * line + 1])
        full = np.int64(p.full[line])
        for k in range(max(bit - 5, 0), bit + 6):
            if (full >> k) & 1 == 0:
                continue
            there = start + stride * k
            if (node.planes[there] | node.planes[area + there]) != 0:
                if k == bit:
                    set_kind(node, p, there, 0, direction, 0)
                    set_kind(node, p, there, 1, direction, 0)
            else:
                set_kind(node, p, there, 0, direction, window_class(first, second, full, k, exact))
                set_kind(node, p, there, 1, direction, window_class(second, first, full, k, exact))


@kernel
def load(s, p, node):
    """The position of a state, with its patterns worked out."""
    area = np.int64(p.area)
    node.empty = s.empty
    node.last_point = s.last_point
    node.last_taken = s.last_taken
    node.lifted = s.lifted
    node.outcome = s.outcome
    node.terminated = 0
    node.to_move = s.to_move
    node.steps = s.steps
    for k in range(2):
        node.banned[k] = s.banned[k]
        node.fives[k] = s.fives[k]
        node.captured[k] = s.captured[k]
    for k in range(s.lines.shape[0]):
        node.lines[k] = s.lines[k]
    for k in range(s.planes.shape[0]):
        node.planes[k] = s.planes[k]
    for k in range(8 * area):
        node.kinds[k] = 0
    for k in range(2 * area):
        node.worth[k] = 0
    for k in range(4 * SHARP_WORDS):
        node.sharp[k] = 0
    for k in range(8):
        node.hashes[k] = 0
        node.tally[k] = 0
        node.tally[8 + k] = 0
    node.tally[0] = 4 * area
    node.tally[8] = 4 * area
    for point in range(area):
        if node.planes[point] | node.planes[area + point]:
            toggle_hashes(node, p, point, np.int64(node.planes[area + point]))
            mend_kinds(node, p, point)
    set_key(node)


@kernel
def copy_position(node, child, p):
    """The child's position is the node's."""
    child.empty = node.empty
    child.last_point = node.last_point
    child.last_taken = node.last_taken
    child.lifted = node.lifted
    child.outcome = 0
    child.terminated = 0
    child.to_move = node.to_move
    child.steps = node.steps
    for k in range(2):
        child.banned[k] = node.banned[k]
        child.fives[k] = node.fives[k]
        child.captured[k] = node.captured[k]
    for k in range(8):
        child.hashes[k] = node.hashes[k]
    for k in range(16):
        child.tally[k] = node.tally[k]
    size = np.uint64(p.width)
    area = np.uint64(p.area)
    lines, lines_to = node.lines, child.lines
    for k in range(np.uint64(WORDS) * (np.uint64(6) * size - np.uint64(2))):
        lines_to[k] = lines[k]
    planes, planes_to = node.planes, child.planes
    for k in range(np.uint64(PLANES) * area):
        planes_to[k] = planes[k]
    kinds, kinds_to = node.kinds, child.kinds
    for k in range(np.uint64(8) * area):
        kinds_to[k] = kinds[k]
    worth, worth_to = node.worth, child.worth
    for k in range(np.uint64(2) * area):
        worth_to[k] = worth[k]
    for k in range(4 * SHARP_WORDS):
        child.sharp[k] = node.sharp[k]


@kernel
def play(node, child, p, move):
    """Plays one stone, with its captures, and the end of the game."""
    copy_position(node, child, p)
    point = np.int64(move)
    mover = np.int64(node.to_move)
    area = np.int64(p.area)
    if child.lifted != 0:
        drop_exemptions(child, p)
    takes = child.planes[(TAKES + mover) * area + point]
    five_changed = turn_stone(child, p, point, mover)
    toggle_hashes(child, p, point, mover)
    taken = 0
    if takes != 0:
        taken, changed = capture_around(child, p, point, mover)
        five_changed |= changed
        child.captured[mover] += taken
        n = np.int64(p.width)
        row = point // n
        col = point % n
        for r in range(max(row - 2, 0), min(row + 3, n)):
            for c in range(max(col - 2, 0), min(col + 3, n)):
                there = r * n + c
                if node.planes[(1 - mover) * area + there] != 0 and child.planes[(1 - mover) * area + there] == 0:
                    toggle_hashes(child, p, there, 1 - mover)
                    mend_kinds(child, p, there)
    mend_kinds(child, p, point)
    child.last_taken = taken
    child.empty += taken - 1
    child.last_point = point
    child.to_move = 1 - mover
    child.steps = node.steps + 1
    if five_changed != 0:
        mend_fives(child, p)
    if p.lifts != 0 and (child.banned[0] | child.banned[1]) != 0:
        lift_bans(child, p)
    set_key(child)
    if five_changed != 0 or taken != 0 or child.fives[0] != 0 or child.fives[1] != 0 or child.empty == 0:
        judge(child, p)
        if child.terminated != 0:
            if child.rewards[mover] == 0:
                return 2
            return 1 if child.rewards[mover] > 0 else -1
    return 0


@kernel
def may_play(node, p, point):
    """Whether the point is legal for the player to move."""
    area = np.int64(p.area)
    if (node.planes[point] | node.planes[area + point]) != 0:
        return False
    if forbidden_count(node.planes[(THREES + np.int64(node.to_move)) * area + point]):
        return False
    return opening_allows(p, node.steps, point)


@kernel
def point_worth(node, p, point, player):
    """Worth of a stone of the player here, captures included."""
    at = player * np.int64(p.area) + point
    share = np.int64(node.worth[at])
    total = share >> 3
    if share & 7 >= 2:
        total += 150
    takes = np.int64(node.planes[TAKES * np.int64(p.area) + at])
    if takes != 0:
        total += takes * (70 + 15 * np.int64(node.captured[player]))
        if p.goal > 0 and node.captured[player] + 2 * takes >= p.goal:
            total += 3000
    return total


@kernel
def makes_five_here(node, point, player):
    """Whether a stone of the player makes a five here."""
    word = node.sharp[(2 * player + 1) * SHARP_WORDS + (point >> 5)]
    return (np.int64(word) >> (point & 31)) & 1 != 0


@kernel
def breaks_five(node, p, point, mover):
    """Whether the mover captures a stone of a standing five here."""
    area = np.int64(p.area)
    for direction in range(4):
        line, bit, start, stride = line_through(p, point, direction)
        own = np.int64(node.lines[WORDS * line + mover])
        other = np.int64(node.lines[WORDS * line + 1 - mover])
        if ((other >> (bit + 1)) & (other >> (bit + 2)) & (own >> (bit + 3))) & 1:
            if (
                node.planes[FIVES * area + start + stride * (bit + 1)]
                | node.planes[FIVES * area + start + stride * (bit + 2)]
            ):
                return True
        if bit >= 3 and ((other >> (bit - 1)) & (other >> (bit - 2)) & (own >> (bit - 3))) & 1:
            if (
                node.planes[FIVES * area + start + stride * (bit - 1)]
                | node.planes[FIVES * area + start + stride * (bit - 2)]
            ):
                return True
    return False
