"""The rules of Gogo as kernels: legal points, captures, the end of the game, observations."""

from __future__ import annotations

import numpy as np

from asobiba.core import kernel, random_below
from asobiba.envs.gogo.board import (
    EXEMPT,
    FIVES,
    TAKES,
    THREES,
    capture_around,
    drop_exemptions,
    forbidden_count,
    is_perfect,
    lift_bans,
    mend_fives,
    turn_stone,
)
from asobiba.envs.gogo.checking import FIVE_AT_ONCE, valid

__all__ = ["is_legal", "legal", "observe", "random_action", "reset", "step", "valid"]

RUNNING, FIVE, CAPTURES, NO_MOVE, BOTH = 0, 1, 2, 3, 4
"""Outcomes: a five, captures, no legal move (or a full board), fifth capture against a standing five that draws."""
FIVE_STANDS, FIVE_PERFECT = 0, 1
"""Conditions on a five, with `FIVE_AT_ONCE`."""
FREE, CENTRE, FAR = 0, 1, 2
CAPTOR, OWNER, DRAW = 0, 1, 2
DRAWS, LOSES = 0, 1


@kernel
def finish(s, winner, outcome):
    """Ends the game; `winner` is 0 or 1, or -1 for a draw."""
    s.rewards[0] = 0.0 if winner < 0 else (1.0 if winner == 0 else -1.0)
    s.rewards[1] = -s.rewards[0]
    s.terminated = 1
    s.outcome = outcome


@kernel
def judge(s, p):
    """Ends the game if the last move, by the player who is not to move, has decided it."""
    mover = 1 - np.int64(s.to_move)
    other = np.int64(s.to_move)
    stands = s.fives[other] > 0
    if p.goal > 0 and s.captured[mover] >= p.goal:
        if not stands or p.against_five == CAPTOR:
            finish(s, mover, CAPTURES)
        elif p.against_five == OWNER:
            finish(s, other, FIVE)
        else:
            finish(s, -1, BOTH)
        return
    if stands:
        finish(s, other, FIVE)
        return
    made = s.fives[mover] > 0
    if made and (p.five == FIVE_AT_ONCE or p.captures == 0):
        finish(s, mover, FIVE)
        return
    # An open three needs empty points on both sides, so the empty point nearest to a corner is never forbidden: only who
    # faces a full board has no legal move.
    if s.empty == 0:
        if made:
            finish(s, mover, FIVE)  # the opponent cannot break it
        else:
            finish(s, mover if p.no_move == LOSES else -1, NO_MOVE)
        return
    if made and p.five == FIVE_PERFECT:
        if s.lifted != 0:
            drop_exemptions(s, p)
            perfect = is_perfect(s, p, mover)
            lift_bans(s, p)
        else:
            perfect = is_perfect(s, p, mover)
        if perfect:
            finish(s, mover, FIVE)


@kernel
def reset(s, p):
    """The empty board."""
    s.last_point = -1
    s.empty = p.area


@kernel
def legal(s, p, mask):
    """Empty points that are not forbidden to the mover."""
    planes = s.planes
    area = np.uint64(p.area)  # unsigned indices cannot be negative, so that these loops become vector instructions
    threes = area * np.uint64(THREES + s.to_move)
    for i in range(area):
        stone = planes[i] | planes[area + i]
        count = planes[threes + i]
        mask[i] = (stone == 0) & ((count < 2) | (count >= EXEMPT))
    if p.opening != FREE and s.steps < 3:
        restrict_opening(s, p, mask)


@kernel
def restrict_opening(s, p, mask):
    """The first stone in the centre; with `FAR` the first player's second at least three points from it."""
    for i in range(np.int64(p.area)):
        if not opening_allows(p, s.steps, i):
            mask[i] = 0


@kernel
def opening_allows(p, steps, point):
    """Whether the opening rule lets a stone on this point with `steps` stones played."""
    if p.opening == FREE:
        return True
    n = np.int64(p.width)
    row = point // n - n // 2
    col = point % n - n // 2
    distance = max(abs(row), abs(col))
    if steps == 0:
        return distance == 0
    return not (steps == 2 and p.opening == FAR and distance < 3)


@kernel
def is_legal(s, p, action):
    """Whether the player to move may put a stone on point `action`."""
    area = np.int64(p.area)
    if s.terminated != 0 or action < 0 or action >= area or (s.planes[action] | s.planes[area + action]) != 0:
        return False
    if forbidden_count(s.planes[(THREES + np.int64(s.to_move)) * area + action]):
        return False
    return opening_allows(p, s.steps, action)


@kernel
def random_action(s, p, record):
    """A uniformly drawn legal point, from `record`'s generator."""
    while True:
        point = random_below(record, np.int64(p.area))
        if is_legal(s, p, point):
            return point


@kernel
def step(s, p, action):
    """Plays one stone: captures, then the end of the game if it decides it."""
    point = np.int64(action)
    mover = np.int64(s.to_move)
    if s.lifted != 0:
        drop_exemptions(s, p)
    takes = s.planes[(TAKES + mover) * np.int64(p.area) + point]
    five_changed = turn_stone(s, p, point, mover)
    taken = 0
    if takes != 0:
        taken, changed = capture_around(s, p, point, mover)
        five_changed |= changed
        s.captured[mover] += taken
    s.last_taken = taken
    s.empty += taken - 1
    s.last_point = point
    s.to_move = 1 - mover
    if five_changed != 0:
        mend_fives(s, p)
    if p.lifts != 0 and (s.banned[0] | s.banned[1]) != 0:
        lift_bans(s, p)
    if five_changed != 0 or taken != 0 or s.fives[0] != 0 or s.fives[1] != 0 or s.empty == 0:
        judge(s, p)


@kernel
def observe(s, p, player, out):
    """Seven planes from the viewer's side, both players' captured pairs, the flags `first` and `to_move`: see the
    package.
    """
    planes = s.planes
    area = np.uint64(p.area)
    own = area * np.uint64(player)
    other = area - own
    for i in range(area):
        out[i] = planes[own + i]
    at = area
    for i in range(area):
        out[at + i] = planes[other + i]
    at += area
    takes = area * np.uint64(TAKES)
    for i in range(area):
        out[at + i] = planes[takes + own + i] != 0
    at += area
    for i in range(area):
        out[at + i] = planes[takes + other + i] != 0
    at += area
    threes = area * np.uint64(THREES) + own
    for i in range(area):
        count = planes[threes + i]
        out[at + i] = (count >= 2) & (count < EXEMPT)
    at += area
    for i in range(area):
        out[at + i] = 0
    if s.last_point >= 0:
        out[at + np.uint64(s.last_point)] = 1
    at += area
    fives = area * np.uint64(FIVES)
    for i in range(area):
        out[at + i] = planes[fives + i]
    at += area
    pairs = np.uint64(out.shape[0] - 2 - np.int64(at)) >> np.uint64(1)
    for k in range(pairs):
        out[at + k] = s.captured[player] > 2 * np.int64(k)
        out[at + pairs + k] = s.captured[1 - player] > 2 * np.int64(k)
    at += pairs + pairs
    out[at] = player == 0
    out[at + np.uint64(1)] = s.to_move == player
