"""Threat-space search with threes: wins by moves that threaten a five or an open four, fours, and captures.

The attacker plays only what makes a five or an open four possible next. Against a four the opponent has the answers of
`threats.py`; against a three every point where the attacker could make a four or five, fours and fives of his own, and
all captures. Before the attacker looks for a three, wins by fours alone are tried.

Source: Allis, van den Herik and Huntjens, "Go-Moku solved by new search techniques", 1993 (threat-space search).
"""

from __future__ import annotations

import numpy as np

from asobiba.baselines.gogo.patterns import FOUR, MADE_FIVE, OPEN_FOUR, OPEN_THREE
from asobiba.baselines.gogo.positions import SHARP_WORDS, may_play, play, point_worth
from asobiba.baselines.gogo.threats import find_within, write_defences
from asobiba.core import kernel
from asobiba.envs.gogo.board import TAKES
from asobiba.envs.gogo.lines import lowest_bit

FOURS = 20
"""Positions of a search of fours before a three is tried."""
MOST_THREES = 10


@kernel
def write_threes(node, p):
    """The attacker's threes and more into `node.moves`, those of most worth first; returns how many."""
    area = np.int64(p.area)
    me = np.int64(node.to_move)
    other = 1 - me
    if node.fives[other] > 0:
        return 0
    pressed = node.tally[8 * other + MADE_FIVE] > 0
    theirs = (2 * other + 1) * SHARP_WORDS
    count = 0
    for point in range(area):
        if pressed:
            if (np.int64(node.sharp[theirs + (point >> 5)]) >> (point & 31)) & 1 == 0:
                continue
        elif node.worth[me * area + point] & 7 == 0:
            continue
        if not may_play(node, p, point):
            continue
        worth = point_worth(node, p, point, me)
        at = min(count, MOST_THREES - 1)
        if count >= MOST_THREES and node.order[at] >= worth:
            continue
        while at > 0 and node.order[at - 1] < worth:
            node.moves[at] = node.moves[at - 1]
            node.order[at] = node.order[at - 1]
            at -= 1
        node.moves[at] = point
        node.order[at] = worth
        count = min(count + 1, MOST_THREES)
    return count


@kernel
def write_answers(node, p):
    """The answers to a three into `node.moves`; returns how many."""
    area = np.int64(p.area)
    me = np.int64(node.to_move)
    other = 1 - me
    mine, theirs = 2 * me * SHARP_WORDS, 2 * other * SHARP_WORDS
    count = 0
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
        known = False
        for k in range(others):
            known |= node.moves[k] == point
        if not known and may_play(node, p, point):
            node.moves[count] = point
            count += 1
    return count


@kernel
def find_threes(frames, ply, p, budget, most):
    """Plies in which the player to move of `frames[ply]` wins by threes and fours, or 0, as `threats.find_win`; a line of
    threes has at most `most` plies before the fours."""
    root = frames[ply]
    attacker = np.int64(root.to_move)
    at = 8 * attacker
    if root.tally[at + OPEN_THREE] + root.tally[at + FOUR] + root.tally[at + OPEN_FOUR] == 0:
        return 0
    root.count = write_threes(root, p)
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
                depth -= 2
            else:
                depth -= 1
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
            elif result == 0:
                if child.fives[attacker] > 0 or child.tally[at + MADE_FIVE] > 0:
                    child.count = write_defences(child, p)
                elif child.tally[at + OPEN_FOUR] > 0 and child.tally[8 - at + MADE_FIVE] == 0:
                    child.count = write_answers(child, p)
                else:
                    continue
                child.index = 0
                depth += 1
        elif result == 0:
            plies = find_within(frames, ply + depth + 1, p, FOURS, 30)
            if plies != 0:
                deepest = max(deepest, depth + 1 + plies)  # this answer fails
            elif depth + 2 >= most:
                depth -= 1
            else:
                child.count = write_threes(child, p)
                child.index = 0
                depth += 1
        elif result != -1:
            depth -= 1
