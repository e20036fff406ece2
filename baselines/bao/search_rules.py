"""Bao's search module (see `asobiba.baselines.search`): positions, moves, the evaluation."""

from __future__ import annotations

import numpy as np

from asobiba.core import compiled, kernel, mix64
from asobiba.envs.bao.rules import (
    ILLEGAL,
    LOSES,
    REPETITION_FIRST_LOSES,
    REPETITION_OFF,
    REPETITION_SECOND_LOSES,
    seeds_in,
    slot_of,
    sow_on,
)

WEIGHTS = {"captured": 100, "row": 15, "holes": 10}
"""Centiseeds per seed captured, per seed in one's row, per hole of one's row that holds seeds; less the opponent's."""

_BYTE = np.uint64(0xFF)
_ZERO = np.uint64(0)


def position_fields(ruleset):
    return [("board", np.uint64, (4,)), ("stores", np.int16, (2,))]


def max_moves(ruleset):
    return ruleset.num_actions


def repetition(ruleset):
    kind = int(ruleset.params["repetition"][0])
    result = {REPETITION_FIRST_LOSES: -1, REPETITION_SECOND_LOSES: 1}.get(kind, 0)
    return (0 if kind == REPETITION_OFF else int(ruleset.params["occurrences"][0])), result


@kernel
def key_of(b0, b1, b2, b3, lead, side):
    """A 64-bit key of a position: board, captured seeds (by the first player's lead), player to move."""
    key = mix64(b0 ^ np.uint64(lead + 512) * np.uint64(0x9E3779B97F4A7C15))
    key = mix64(key ^ b1)
    if b2 | b3 != _ZERO:
        key = mix64(mix64(key ^ b2) ^ b3)
    return np.int64(mix64(key + np.uint64(side)) >> np.uint64(1))


@kernel
def _write_keys(s, keys, count):
    lead = np.int64(s.stores[0]) - np.int64(s.stores[1])
    last = count - 1
    wide = s.board.shape[0] > 2
    for k in range(last):
        b2 = s.history[k, 2] if wide else _ZERO
        b3 = s.history[k, 3] if wide else _ZERO
        keys[k] = key_of(s.history[k, 0], s.history[k, 1], b2, b3, lead, (np.int64(s.to_move) + last - k) & 1)
    b2 = s.board[2] if wide else _ZERO
    b3 = s.board[3] if wide else _ZERO
    keys[last] = key_of(s.board[0], s.board[1], b2, b3, lead, np.int64(s.to_move))


@compiled()
def _history_keys(states, keys):
    _write_keys(states[0], keys, keys.shape[0])


@kernel
def past_keys(s, p, keys):
    """`game_keys` as a kernel: how many there are."""
    count = max(1, np.int64(s.quiet))
    _write_keys(s, keys, count)
    return count


def game_keys(ruleset, state):
    """Keys of the positions since the last capture; earlier ones cannot come again."""
    keys = np.zeros(max(1, int(state["quiet"])), np.int64)
    states = ruleset.zeros()
    states[0] = state
    _history_keys(states, keys)
    return keys


@kernel
def load(s, p, node):
    for w in range(4):
        node.board[w] = s.board[w] if w < s.board.shape[0] else _ZERO
    node.stores[0], node.stores[1] = s.stores[0], s.stores[1]
    node.side = s.to_move
    lead = np.int64(s.stores[0]) - np.int64(s.stores[1])
    node.key = key_of(node.board[0], node.board[1], node.board[2], node.board[3], lead, np.int64(s.to_move))


@kernel
def generate(node, p):
    holes = p.sow.shape[0] // 2
    b0, b1, b2, b3 = node.board[0], node.board[1], node.board[2], node.board[3]
    first = np.int64(node.side) * holes
    count = 0
    for k in range(holes):
        if seeds_in(p, b0, b1, b2, b3, first + k) != 0:
            a0, a1, a2, a3, last = sow_on(p, b0, b1, b2, b3, first + k)
            if last >= 0:
                node.moves[count] = k
                node.order[count] = seeds_in(p, a0, a1, a2, a3, 2 * holes - 1 - last)
                count += 1
            elif p.endless != ILLEGAL:
                node.moves[count] = k
                node.order[count] = 0
                count += 1
    return count


@kernel
def row_seeds(p, b0, b1, b2, b3, player):
    """Seeds in the row of `player`, and how many of his holes hold any."""
    holes = p.sow.shape[0] // 2
    seeds, filled = np.int64(0), np.int64(0)
    for k in range(holes):
        here = seeds_in(p, b0, b1, b2, b3, player * holes + k)
        seeds += here
        filled += here != 0
    return seeds, filled


@kernel
def result_by_count(node, p, mover):
    """Winner when the rows are shared out, by seeds: 1 for `mover`, -1 for the other, 2 for a draw."""
    b0, b1, b2, b3 = node.board[0], node.board[1], node.board[2], node.board[3]
    mine = np.int64(node.stores[mover]) + row_seeds(p, b0, b1, b2, b3, mover)[0]
    theirs = np.int64(node.stores[1 - mover]) + row_seeds(p, b0, b1, b2, b3, 1 - mover)[0]
    return 2 if mine == theirs else (1 if mine > theirs else -1)


@kernel
def can_move(node, p, player):
    """Whether `player`, whose row is not empty, has a legal move."""
    if p.endless != ILLEGAL:
        return True
    holes = p.sow.shape[0] // 2
    b0, b1, b2, b3 = node.board[0], node.board[1], node.board[2], node.board[3]
    for k in range(player * holes, (player + 1) * holes):
        if seeds_in(p, b0, b1, b2, b3, k) != 0 and sow_on(p, b0, b1, b2, b3, k)[4] >= 0:
            return True
    return False


@kernel
def play(node, child, p, move):
    ring = p.sow.shape[0]
    mover = np.int64(node.side)
    b0, b1, b2, b3, last = sow_on(
        p, node.board[0], node.board[1], node.board[2], node.board[3], np.int64(move) + mover * (ring // 2)
    )
    child.side = 1 - mover
    if last < 0:
        return -1 if p.endless == LOSES else 2
    opposite = ring - 1 - last
    captured = seeds_in(p, b0, b1, b2, b3, opposite)
    child.board[0], child.board[1], child.board[2], child.board[3] = b0, b1, b2, b3
    child.stores[0], child.stores[1] = node.stores[0], node.stores[1]
    if captured != 0:
        slot = slot_of(p, opposite)
        child.board[slot >> 3] &= ~(_BYTE << np.uint64((slot & 7) << 3))
        child.stores[mover] += captured
    if p.sow.shape[2] > 2:
        row_empty = child.board[0] | child.board[1] == _ZERO or child.board[2] | child.board[3] == _ZERO
    else:
        row_empty = child.board[0] == _ZERO or child.board[1] == _ZERO
    if row_empty or not can_move(child, p, 1 - mover):
        return result_by_count(child, p, mover)
    lead = np.int64(child.stores[0]) - np.int64(child.stores[1])
    child.key = key_of(child.board[0], child.board[1], child.board[2], child.board[3], lead, 1 - mover)
    return 0


@kernel
def evaluate(node, p, w):
    me = np.int64(node.side)
    b0, b1, b2, b3 = node.board[0], node.board[1], node.board[2], node.board[3]
    mine, my_holes = row_seeds(p, b0, b1, b2, b3, me)
    theirs, their_holes = row_seeds(p, b0, b1, b2, b3, 1 - me)
    return (
        w.captured * (np.int64(node.stores[me]) - np.int64(node.stores[1 - me]))
        + w.row * (mine - theirs)
        + w.holes * (my_holes - their_holes)
    )
