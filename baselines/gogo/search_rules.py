"""Gogo's search module: moves in order, the evaluation, threats at the leaves."""

from __future__ import annotations

import numpy as np

from asobiba.baselines.gogo.patterns import CLOSED_TWO, FOUR, MADE_FIVE, OPEN_FOUR, OPEN_THREE
from asobiba.baselines.gogo.positions import (
    breaks_five,
    load,
    makes_five_here,
    may_play,
    play,
    point_worth,
    position_fields,
    turned,
)
from asobiba.baselines.gogo.threats import find_win
from asobiba.core import kernel
from asobiba.envs.gogo.board import TAKES
from asobiba.envs.gogo.lines import MOST_POINTS
from asobiba.envs.gogo.rules import LOSES

__all__ = ["evaluate", "generate", "generate_tactical", "load", "no_moves", "play", "position_fields", "solve"]

TERMS = {
    "closed_two": (2, "a point where a stone makes a closed two, counted for each line"),
    "open_two": (9, "an open two"),
    "closed_three": (12, "a closed three"),
    "open_three": (60, "an open three"),
    "four": (90, "a four"),
    "open_four": (350, "an open four"),
    "five": (1500, "a five"),
    "captured": (250, "a captured pair; the n-th counts n times"),
    "can_capture": (120, "a point where a capture is possible; more after captures"),
    "turn": (60, "to be on the move"),
}
"""Each term: its default weight and what it counts: for the player to move, less the same for his opponent."""
WEIGHTS = {name: weight for name, (weight, _) in TERMS.items()}
MOST_MOVES = 40
WIDTHS = np.array([4, 4, 6, 8, 12], np.int64)
"""The most moves of a position by the depth that is left, from 0 to 4 and more."""


def max_moves(ruleset):
    """The most moves of one position, before those of least promise are left out."""
    return MOST_POINTS


def repetition(ruleset):
    """Nothing repeats: every move puts a stone."""
    return 0, 0


def game_keys(ruleset, state):
    """The present position alone."""
    return np.zeros(1, np.int64)


@kernel
def generate(node, p):
    """The moves of most promise: fewer, the nearer the leaves are, but all answers to a five that threatens."""
    other = 1 - np.int64(node.to_move)
    if node.fives[other] > 0 or node.tally[8 * other + MADE_FIVE] > 0:
        return gather(node, p, MOST_MOVES)
    return gather(node, p, WIDTHS[min(max(np.int64(node.depth), np.int64(0)), np.int64(4))])


@kernel
def gather(node, p, most):
    """Up to `most` points near stones that promise most; only answers where the opponent has a five, or makes one next."""
    area = np.int64(p.area)
    me = np.int64(node.to_move)
    other = 1 - me
    must_break = node.fives[other] > 0
    must_stop = not must_break and node.tally[8 * other + MADE_FIVE] > 0
    symmetries = 0
    if node.steps < 8:
        for symmetry in range(1, 8):
            if node.hashes[symmetry] == node.hashes[0]:
                symmetries |= 1 << symmetry
    count = 0
    for point in range(area):
        there = area + point
        if (
            node.worth[point]
            | node.worth[there]
            | node.planes[TAKES * area + point]
            | node.planes[TAKES * area + there]
        ) == 0 or not may_play(node, p, point):
            continue
        takes = np.int64(node.planes[(TAKES + me) * area + point])
        reaches = takes > 0 and p.goal > 0 and node.captured[me] + 2 * takes >= p.goal
        if must_break:
            if not reaches and not (takes > 0 and breaks_five(node, p, point, me)):
                continue
        wins = makes_five_here(node, point, me)
        stops = makes_five_here(node, point, other)
        if must_stop and not reaches and takes == 0 and not wins and not stops:
            continue
        if symmetries != 0:
            twin = False
            for symmetry in range(1, 8):
                twin |= ((symmetries >> symmetry) & 1) != 0 and turned(p, point, symmetry) < point
            if twin:
                continue
        worth = 2 * point_worth(node, p, point, me) + point_worth(node, p, point, other)
        if reaches:
            worth += 20000
        if wins:
            worth += 10000
        if stops:
            worth += 4000
        node.moves[count] = point
        node.order[count] = worth
        count += 1
    kept = min(count, most)
    for k in range(kept):
        best_at = k
        for j in range(k + 1, count):
            if node.order[j] > node.order[best_at]:
                best_at = j
        move = node.moves[best_at]
        worth = np.int64(node.order[best_at])
        node.moves[best_at] = node.moves[k]
        node.order[best_at] = node.order[k]
        node.moves[k] = move
        node.order[k] = min(worth // 8, 999) if worth >= 160 else 0
    return kept if kept > 0 else any_move(node, p)


@kernel
def any_move(node, p):
    """Writes the centre where it is free, else a legal point; returns the number of moves, 1 or 0."""
    n = np.int64(p.width)
    centre = (n // 2) * n + n // 2
    for k in range(np.int64(p.area) + 1):
        point = centre if k == 0 else np.int64(p.area) - k
        if may_play(node, p, point):
            node.moves[0] = point
            node.order[0] = 0
            return 1
    return 0


@kernel
def generate_tactical(node, p):
    """Answers to a five or a four, and captures that matter; nothing in quiet positions."""
    me = np.int64(node.to_move)
    other = 1 - me
    if node.fives[other] > 0 or node.tally[8 * other + MADE_FIVE] > 0 or node.tally[8 * me + MADE_FIVE] > 0:
        return min(generate(node, p), 6)
    return 0


@kernel
def no_moves(node, p):
    """The result of a full board, by the parameters; it need not be a loss."""
    return -1 if p.no_move == LOSES else 2


@kernel
def evaluate(node, p, w):
    """The weighted counts of patterns that stones could make, captures, and the turn, for the player to move."""
    me = np.int64(node.to_move)
    total = np.int64(w.turn)
    for side in range(2):
        player = me if side == 0 else 1 - me
        at = 8 * player
        value = w.closed_two * np.int64(node.tally[at + CLOSED_TWO]) + w.open_two * np.int64(node.tally[at + 2])
        value += w.closed_three * np.int64(node.tally[at + 3]) + w.open_three * np.int64(node.tally[at + OPEN_THREE])
        value += w.four * np.int64(node.tally[at + FOUR]) + w.open_four * np.int64(node.tally[at + OPEN_FOUR])
        value += w.five * min(np.int64(node.tally[at + MADE_FIVE]), 3)
        if side == 0:
            value += value >> 2  # who moves makes one of them next
        pairs = np.int64(node.captured[player]) // 2
        value += w.captured * pairs * (pairs + 1) // 2
        if p.captures != 0:
            area = np.int64(p.area)
            points = 0
            for point in range((TAKES + player) * area, (TAKES + player + 1) * area):
                points += 1 if node.planes[point] != 0 else 0
            value += w.can_capture * min(points, 4) * (pairs + 2) // 2
        total += value if side == 0 else -value
    return total


@kernel
def solve(frames, ply, p, budget):
    """Plies to a win by fours, fives and captures alone, or 0."""
    return find_win(frames, ply, p, budget)
