"""Threat-space search that knows captures: wins by fives, fours and fifth captures alone.

The attacker plays only what must be answered: a five, which the opponent must break by a capture, or a four. The
opponent has every answer that can meet it at once: to occupy the point of the five, to capture anywhere, to make a
five of his own, or to reach the goal of captures. After a five stands only captures that break it count. What is found is a win unless the opponent
has a quiet move that prepares a capture across the coming five; `proof.py` tries every reply.

Source: Allis, van den Herik and Huntjens, "Go-Moku solved by new search techniques", 1993 (threat-space search).
"""

from __future__ import annotations

import numpy as np

from asobiba.baselines.gogo.patterns import FOUR, MADE_FIVE
from asobiba.baselines.gogo.positions import SHARP_WORDS, breaks_five, may_play, play
from asobiba.core import kernel
from asobiba.envs.gogo.board import TAKES
from asobiba.envs.gogo.lines import lowest_bit

DEEPEST = np.array([6, 12, 30], np.int64)
"""Plies that a line of threats may have, one limit after the other: short wins first."""
MOST_TAKES = 8
"""Directions in which one stone can capture."""


@kernel
def reaches_goal(node, p, point, player):
    """Whether a capture here reaches the goal."""
    takes = np.int64(node.planes[(TAKES + player) * np.int64(p.area) + point])
    return takes > 0 and p.goal > 0 and node.captured[player] + 2 * takes >= p.goal


@kernel
def write_attacks(node, p):
    """The attacker's threats into `node.moves`, fifth captures and fives first; returns how many."""
    me = np.int64(node.to_move)
    other = 1 - me
    if node.fives[other] > 0:
        return 0
    pressed = node.tally[8 * other + MADE_FIVE] > 0
    mine, theirs = 2 * me * SHARP_WORDS, 2 * other * SHARP_WORDS
    count = 0
    if p.goal > 0 and node.captured[me] + 2 * MOST_TAKES >= p.goal:
        for point in range(np.int64(p.area)):
            if reaches_goal(node, p, point, me) and may_play(node, p, point):
                node.moves[count] = point
                count += 1
    decisive = count
    for wanted in range(2):
        for word in range(SHARP_WORDS):
            fives = np.int64(node.sharp[mine + SHARP_WORDS + word])
            bits = fives
            if wanted == 1:
                bits = np.int64(node.sharp[mine + word]) & ~fives
                if pressed:
                    bits &= np.int64(node.sharp[theirs + SHARP_WORDS + word])
            while bits != 0:
                point = 32 * word + lowest_bit(bits)
                bits &= bits - 1
                known = False
                for k in range(decisive):
                    known |= node.moves[k] == point
                if not known and may_play(node, p, point):
                    node.moves[count] = point
                    count += 1
    return count


@kernel
def write_defences(node, p):
    """The answers to a five or a four into `node.moves`; returns how many."""
    area = np.int64(p.area)
    me = np.int64(node.to_move)
    other = 1 - me
    standing = node.fives[other] > 0
    mine, theirs = 2 * me * SHARP_WORDS + SHARP_WORDS, 2 * other * SHARP_WORDS + SHARP_WORDS
    count = 0
    if not standing:
        for word in range(SHARP_WORDS):
            bits = np.int64(node.sharp[mine + word] | node.sharp[theirs + word])
            while bits != 0:
                point = 32 * word + lowest_bit(bits)
                bits &= bits - 1
                if may_play(node, p, point):
                    node.moves[count] = point
                    count += 1
    if p.captures == 0:
        return count
    others = count
    for point in range(area):
        if node.planes[(TAKES + me) * area + point] == 0:
            continue
        if standing and not (reaches_goal(node, p, point, me) or breaks_five(node, p, point, me)):
            continue
        known = False
        for k in range(others):
            known |= node.moves[k] == point
        if not known and may_play(node, p, point):
            node.moves[count] = point
            count += 1
    return count


@kernel
def find_win(frames, ply, p, budget):
    """Plies in which the player to move of `frames[ply]` wins by threats, or 0 where none is found within `budget` positions.

    Uses the frames from `ply` on and writes the first move into `frames[ply].best_move`. At the root of a search each
    limit of `DEEPEST` has the budget for itself; elsewhere only the last one is tried.
    """
    for k in range(0 if ply == 0 else DEEPEST.shape[0] - 1, DEEPEST.shape[0]):
        plies = find_within(frames, ply, p, budget, DEEPEST[k])
        if plies != 0:
            return plies
    return 0


@kernel
def find_within(frames, ply, p, budget, deepest_line):
    """`find_win` with lines of at most `deepest_line` plies."""
    root = frames[ply]
    attacker = np.int64(root.to_move)
    at = 8 * attacker
    chances = root.tally[at + FOUR] + root.tally[at + FOUR + 1] + root.tally[at + MADE_FIVE]
    if chances == 0 and (p.goal == 0 or root.captured[attacker] + 4 < p.goal):
        return 0
    most = min(deepest_line, frames.shape[0] - 2 - ply)
    root.count = write_attacks(root, p)
    root.index = 0
    depth = 0
    deepest = 1
    visited = 0
    while True:
        node = frames[ply + depth]
        attacking = depth & 1 == 0
        if node.index >= node.count:
            if attacking:
                if depth == 0:
                    return 0
                depth -= 2  # a defence holds: the attack before it fails
            else:
                depth -= 1  # no defence holds
                if depth == 0:
                    root.best_move = root.moves[root.index - 1]
                    return deepest | 1
                depth -= 1
            continue
        move = np.int64(node.moves[node.index])
        node.index += 1
        visited += 1
        if visited > budget:
            return 0
        child = frames[ply + depth + 1]
        result = play(node, child, p, move)
        deepest = max(deepest, depth + 1)
        if attacking:
            if result == 1:
                if depth == 0:
                    root.best_move = move
                    return deepest | 1
                depth -= 1
            elif result == 0 and (child.fives[attacker] > 0 or child.tally[at + MADE_FIVE] > 0):
                child.count = write_defences(child, p)
                child.index = 0
                deepest = max(deepest, depth + 3 if child.fives[attacker] == 0 else depth + 2)
                depth += 1
        elif result == 0:
            if depth + 2 >= most:
                depth -= 1
            else:
                child.count = write_attacks(child, p)
                child.index = 0
                depth += 1
        elif result != -1:
            depth -= 1  # the defender wins or draws: the attack before fails
