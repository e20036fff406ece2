"""The rules of the game in words: the same player chooses a unit, then its destination, then its target.

Actions are cells: of a unit that has not moved, of its destination, of its target; after the cells come *wait* (no
attack), *end the turn* and, if the rules allow it, *resign*.
"""

from __future__ import annotations

import numpy as np

from asobiba.core import kernel, random_below
from asobiba.envs.tactics import bits, rules
from asobiba.envs.tactics.battle import (
    attack_action,
    distance,
    end_action,
    move_action,
    occupied,
    play,
    reach,
    shot_number,
    unit_at,
)
from asobiba.envs.tactics.rules import choice, each, observe_board, set_up, settle, size_of
from asobiba.envs.tactics.units import INDIRECT

UNIT, GOAL, TARGET = 0, 1, 2
"""Phases of a unit action, by the player's choice in each."""


@kernel
def reset(s, p):
    set_up(s, p, random_below(s, p.maps) if p.maps > 1 else 0)


@kernel
def can_hit(s, p, side, unit, goal, target):
    """Whether a unit that goes to `goal` may attack a unit of the other side from there."""
    if s.hp[1 - side, target] == 0:
        return False
    there = np.int64(s.cell[1 - side, target])
    if INDIRECT[s.kind[side, unit]] != 0:
        return goal == s.cell[side, unit] and shot_number(p, goal, there) >= 0
    return distance(p, goal, there) == 1


@kernel
def any_target(s, p, side, unit, goal):
    """Whether there is anything to attack from `goal`."""
    found = 0
    for target in range(s.moved.shape[0]):
        found += can_hit(s, p, side, unit, goal, target)
    return found > 0


@kernel
def finish(s, p, action):
    """Plays an action of the flat game and begins the next decision."""
    s.phase, s.unit, s.goal = 0, 0, 0
    result, side = play(s, p, np.int64(s.to_move), action)
    s.to_move = side
    settle(s, result)


@kernel
def step(s, p, action):
    cells = p.stars.shape[1]
    side = np.int64(s.to_move)
    unit = np.int64(s.unit)
    if action > cells:
        finish(s, p, end_action(s, p) + action - cells - 1)
    elif s.phase == 0:
        s.unit = unit_at(s, side, action)
        s.phase = 1
    elif s.phase == 1:
        s.goal = action
        if any_target(s, p, side, unit, action):
            s.phase = 2
        else:
            finish(s, p, move_action(p, unit, action))
    elif action == cells:
        finish(s, p, move_action(p, unit, np.int64(s.goal)))
    else:
        target = unit_at(s, 1 - side, action)
        finish(s, p, attack_action(s, p, side, unit, np.int64(s.goal), target))


@kernel
def legal(s, p, mask):
    mask[:] = 0
    words, cells, span = p.enter_1.shape[2], p.stars.shape[1], np.int64(p.span)
    side = np.int64(s.to_move)
    unit = np.int64(s.unit)
    if s.phase == 0:
        for k in range(s.moved.shape[0]):
            if s.moved[k] == 0 and s.hp[side, k] > 0:
                mask[s.cell[side, k]] = 1
        mask[cells + 1] = 1
        if p.resign != 0:
            mask[cells + 2] = 1
    elif s.phase == 1:
        a, b, c, d = reach(s, p, side, unit, occupied(s, p, side), occupied(s, p, 1 - side))
        each(a, 0, 1, mask)
        if words > 1:
            each(b, span, 1, mask)
            if words > 2:
                each(c, 2 * span, 1, mask)
                each(d, 3 * span, 1, mask)
    else:
        mask[cells] = 1
        for k in range(s.moved.shape[0]):
            if can_hit(s, p, side, unit, np.int64(s.goal), k):
                mask[s.cell[1 - side, k]] = 1


@kernel
def is_legal(s, p, action):
    """Whether the player to move may play an action, without a mask."""
    cells = p.stars.shape[1]
    side = np.int64(s.to_move)
    if action < 0 or action > cells + 1:
        return action == cells + 2 and p.resign != 0 and s.phase == 0
    if action == cells + 1:
        return s.phase == 0
    if action == cells:
        return s.phase == 2
    if s.phase == 0:
        unit = unit_at(s, side, action)
        return unit >= 0 and s.moved[unit] == 0
    if s.phase == 1:
        a, b, c, d = reach(s, p, side, np.int64(s.unit), occupied(s, p, side), occupied(s, p, 1 - side))
        return bits.has(a, b, c, d, action, p.span) != 0
    target = unit_at(s, 1 - side, action)
    return target >= 0 and can_hit(s, p, side, np.int64(s.unit), np.int64(s.goal), target)


@kernel
def random_action(s, p, record):
    """A uniform legal action, drawn from the generator of `record` without a mask."""
    cells = p.stars.shape[1]
    side = np.int64(s.to_move)
    if s.phase == 1:
        stops = reach(s, p, side, np.int64(s.unit), occupied(s, p, side), occupied(s, p, 1 - side))
        return choice(stops, random_below(record, size_of(stops)), np.int64(p.span))
    seen = np.int64(1)
    chosen = np.int64(cells)
    if s.phase == 0:
        chosen = cells + 1
        if p.resign != 0:
            seen = np.int64(2)
            chosen += random_below(record, 2)
    for k in range(s.moved.shape[0]):
        cell = np.int64(-1)
        if s.phase == 0:
            if s.moved[k] == 0 and s.hp[side, k] > 0:
                cell = np.int64(s.cell[side, k])
        elif can_hit(s, p, side, np.int64(s.unit), np.int64(s.goal), k):
            cell = np.int64(s.cell[1 - side, k])
        if cell >= 0:
            seen += 1
            if random_below(record, seen) == 0:
                chosen = cell
    return chosen


@kernel
def observe(s, p, player, out):
    first = observe_board(s, p, player, out)
    cells = p.stars.shape[1]
    for k in range(3):
        out[first + k] = s.phase == k
    for k in range(2 * cells):
        out[first + 3 + k] = 0
    if s.phase > 0:
        out[first + 3 + np.int64(s.cell[s.to_move, s.unit])] = 1
        if s.phase > 1:
            out[first + 3 + cells + np.int64(s.goal)] = 1


@kernel
def valid(s, p):
    """Whether the fields of a record are a position of these maps, and what was chosen is possible."""
    if not rules.valid(s, p):
        return False
    over = s.terminated != 0 or s.truncated != 0
    cells = p.stars.shape[1]
    if s.phase > 2 or s.unit >= s.moved.shape[0] or s.goal >= cells:
        return False
    if s.phase == 0 or over:
        return True
    side = np.int64(s.to_move)
    if s.hp[side, s.unit] == 0 or s.moved[s.unit] != 0:
        return False
    if s.phase == 1:
        return True
    a, b, c, d = reach(s, p, side, np.int64(s.unit), occupied(s, p, side), occupied(s, p, 1 - side))
    if bits.has(a, b, c, d, np.int64(s.goal), p.span) == 0:
        return False
    return any_target(s, p, side, np.int64(s.unit), np.int64(s.goal))
