"""The rules of the flat game: one action moves, and attacks with, one unit. `battle` holds the common parts of both
games."""

from __future__ import annotations

import numpy as np

from asobiba.core import kernel, random_below
from asobiba.envs.tactics import bits
from asobiba.envs.tactics.battle import (
    BLUE_WINS,
    RED_WINS,
    decode,
    end_action,
    occupied,
    per_unit,
    play,
    reach,
    shot_number,
    unit_at,
)
from asobiba.envs.tactics.units import INDIRECT, KINDS, MOVES, TERRAINS

TURNS = 50
"""The largest number of turns left that the observation distinguishes."""
LEAD_LEVELS = np.array([*range(20), *range(20, 200, 10)], np.int16)
"""The thresholds that the observation distinguishes: entry `k` tells whether the map's is higher than level `k`."""
LEADS = len(LEAD_LEVELS)
GROUNDS = len(TERRAINS) - 1
PLANES = GROUNDS + 2 * KINDS + 10 + 1
"""Planes of the observation: terrains (except no-entry), own and other unit types, hit points, units that may still
move."""


@kernel
def set_up(s, p, board):
    """Places the units of a map."""
    s.board = board
    s.turns = 0
    for k in range(s.moved.shape[0]):
        s.moved[k] = p.setup_moved[board, 0, k]
        for side in range(2):
            s.hp[side, k] = p.setup_hp[board, side, k]
            s.cell[side, k] = p.setup_cell[board, side, k]
            s.kind[side, k] = p.setup_kind[board, side, k]


@kernel
def reset(s, p):
    set_up(s, p, random_below(s, p.maps) if p.maps > 1 else 0)


@kernel
def settle(s, result):
    """Ends the game with a result of `battle`, if it is one."""
    if result != 0:
        s.terminated = 1
        if result == RED_WINS:
            s.rewards[0], s.rewards[1] = 1, -1
        elif result == BLUE_WINS:
            s.rewards[0], s.rewards[1] = -1, 1


@kernel
def step(s, p, action):
    result, side = play(s, p, np.int64(s.to_move), action)
    s.to_move = side
    settle(s, result)


@kernel
def each(word, first, stride, mask):
    """Sets `mask[first + stride * k]` for every bit `k` of the word."""
    while word != 0:
        mask[first + stride * bits.lowest(word)] = 1
        word &= word - 1


@kernel
def legal(s, p, mask):
    mask[:] = 0
    words, cells = p.enter_1.shape[2], p.stars.shape[1]
    size, span = np.int64(p.width), np.int64(p.span)
    side = np.int64(s.to_move)
    own, enemy = occupied(s, p, side), occupied(s, p, 1 - side)
    per = per_unit(p)
    for unit in range(s.moved.shape[0]):
        if s.moved[unit] != 0 or s.hp[side, unit] == 0:
            continue
        base = unit * per
        a, b, c, d = reach(s, p, side, unit, own, enemy)
        each(a, base, 5, mask)
        if words > 1:
            each(b, base + 5 * span, 5, mask)
            if words > 2:
                each(c, base + 10 * span, 5, mask)
                each(d, base + 15 * span, 5, mask)
        if INDIRECT[s.kind[side, unit]]:
            for target in range(s.moved.shape[0]):
                if s.hp[1 - side, target] > 0:
                    shot = shot_number(p, s.cell[side, unit], s.cell[1 - side, target])
                    if shot >= 0:
                        mask[base + 5 * cells + shot] = 1
        else:
            for direction in range(4):
                e0, e1, e2, e3 = bits.shifted(
                    enemy[0], enemy[1], enemy[2], enemy[3], direction ^ 2, words, size, span
                )  # cells from which an enemy lies in this direction
                first = base + 1 + direction
                each(a & e0, first, 5, mask)
                if words > 1:
                    each(b & e1, first + 5 * span, 5, mask)
                    if words > 2:
                        each(c & e2, first + 10 * span, 5, mask)
                        each(d & e3, first + 15 * span, 5, mask)
    end = end_action(s, p)
    mask[end] = 1
    if p.resign != 0:
        mask[end + 1] = 1


@kernel
def is_legal(s, p, action):
    """Whether the player to move may play an action, without a mask."""
    end = end_action(s, p)
    if action < 0 or action >= end:
        return action == end or (action == end + 1 and p.resign != 0)
    side = np.int64(s.to_move)
    cells = p.stars.shape[1]
    unit = action // per_unit(p)
    if s.moved[unit] != 0 or s.hp[side, unit] == 0:
        return False
    indirect = INDIRECT[s.kind[side, unit]] != 0
    if action - unit * per_unit(p) >= 5 * cells:
        if not indirect:
            return False
        shot = action - unit * per_unit(p) - 5 * cells
        for target in range(s.moved.shape[0]):
            if s.hp[1 - side, target] > 0 and shot_number(p, s.cell[side, unit], s.cell[1 - side, target]) == shot:
                return True
        return False
    unit, cell, target_cell = decode(s, p, side, action)
    own, enemy = occupied(s, p, side), occupied(s, p, 1 - side)
    a, b, c, d = reach(s, p, side, unit, own, enemy)
    if bits.has(a, b, c, d, cell, p.span) == 0:
        return False
    if target_cell < 0:
        return True
    return not indirect and unit_at(s, 1 - side, target_cell) >= 0


@kernel
def choice(words_of, rank, span):
    """The cell of a rank in a set of four words."""
    for word in range(4):
        here = words_of[word]
        n = bits.count(here)
        if rank < n:
            return word * span + bits.nth(here, rank)
        rank -= n
    return np.int64(-1)


@kernel
def size_of(words_of):
    """Number of cells in a set of four words."""
    return bits.count(words_of[0]) + bits.count(words_of[1]) + bits.count(words_of[2]) + bits.count(words_of[3])


@kernel
def from_where(stops, enemy, direction, words, size, span):
    """The cells among `stops` from which an enemy lies in a direction."""
    e0, e1, e2, e3 = bits.shifted(enemy[0], enemy[1], enemy[2], enemy[3], direction ^ 2, words, size, span)
    return stops[0] & e0, stops[1] & e1, stops[2] & e2, stops[3] & e3


@kernel
def random_action(s, p, record):
    """A uniform legal action, drawn from the generator of `record` without a mask."""
    words = p.enter_1.shape[2]
    size, span = np.int64(p.width), np.int64(p.span)
    side = np.int64(s.to_move)
    own, enemy = occupied(s, p, side), occupied(s, p, 1 - side)
    seen = np.int64(1) + (1 if p.resign != 0 else 0)
    chosen = end_action(s, p) + random_below(record, seen)
    # One draw decides for each set of actions whether the choice falls into it, in proportion to its size.
    for unit in range(s.moved.shape[0]):
        if s.moved[unit] != 0 or s.hp[side, unit] == 0:
            continue
        base = unit * per_unit(p)
        stops = reach(s, p, side, unit, own, enemy)
        n = size_of(stops)
        seen += n
        rank = random_below(record, seen)
        if rank < n:
            chosen = base + 5 * choice(stops, rank, span)
        if INDIRECT[s.kind[side, unit]]:
            for target in range(s.moved.shape[0]):
                if s.hp[1 - side, target] > 0:
                    shot = shot_number(p, s.cell[side, unit], s.cell[1 - side, target])
                    if shot >= 0:
                        seen += 1
                        if random_below(record, seen) == 0:
                            chosen = base + 5 * p.stars.shape[1] + shot
        else:
            for direction in range(4):
                places = from_where(stops, enemy, direction, words, size, span)
                n = size_of(places)
                if n > 0:
                    seen += n
                    rank = random_below(record, seen)
                    if rank < n:
                        chosen = base + 5 * choice(places, rank, span) + 1 + direction
    return chosen


@kernel
def observe_board(s, p, player, out):
    """Writes the planes and counts that both games observe; returns where the next entry stands."""
    cells = p.stars.shape[1]
    own, hp, ready = GROUNDS * cells, (GROUNDS + 2 * KINDS) * cells, (GROUNDS + 2 * KINDS + 10) * cells
    for k in range(own):
        out[k] = p.grounds[s.board, k]
    for k in range(own, PLANES * cells + TURNS + LEADS):
        out[k] = 0
    for side in range(2):
        first = own + (0 if side == player else KINDS * cells)
        for k in range(s.hp.shape[1]):
            if s.hp[side, k] > 0:
                cell = np.int64(s.cell[side, k])
                out[first + np.int64(s.kind[side, k]) * cells + cell] = 1
                for point in range(s.hp[side, k]):
                    out[hp + point * cells + cell] = 1
                if side == s.to_move and s.moved[k] == 0:
                    out[ready + cell] = 1
    rest = PLANES * cells
    left = np.int64(p.limit[s.board]) - np.int64(s.turns)
    for k in range(TURNS):
        out[rest + k] = k < left
    for k in range(LEADS):
        out[rest + TURNS + k] = LEAD_LEVELS[k] < p.threshold[s.board]
    out[rest + TURNS + LEADS] = player == 0
    out[rest + TURNS + LEADS + 1] = s.to_move == player
    return rest + TURNS + LEADS + 2


@kernel
def observe(s, p, player, out):
    observe_board(s, p, player, out)


@kernel
def valid(s, p):
    """Whether the fields of a record are a position of these maps."""
    if s.board >= p.maps or s.turns < 0 or s.turns > p.limit[s.board]:
        return False
    over = s.terminated != 0 or s.truncated != 0
    if not over and (s.turns >= p.limit[s.board] or s.to_move != (s.turns & 1)):
        return False
    cells = p.stars.shape[1]
    units = s.moved.shape[0]
    for side in range(2):
        alive = False
        for k in range(units):
            if s.hp[side, k] > 10 or s.kind[side, k] >= KINDS or s.cell[side, k] >= cells:
                return False
            if s.hp[side, k] > 0:
                alive = True
                cell = np.int64(s.cell[side, k])
                moves = MOVES[s.kind[side, k]]
                word = cell // p.span
                enter = p.enter_1[s.board, moves, word] | p.enter_2[s.board, moves, word]
                # A unit may have begun on a cell that it cannot enter.
                began = p.setup_hp[s.board, side, k] > 0 and p.setup_cell[s.board, side, k] == cell
                if (enter >> (cell - word * p.span)) & 1 == 0 and not began:
                    return False
                for other in range(2):
                    for j in range(units):
                        if s.hp[other, j] > 0 and s.cell[other, j] == cell and (other != side or j != k):
                            return False
        if not alive and not over:
            return False
    odd = 0
    for k in range(units):
        odd += s.moved[k] > 1
    return odd == 0
