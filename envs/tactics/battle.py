"""Movement, exchanges of fire and the course of turns, on any record that has the fields of a position.

A position: `hp`, `cell`, `kind` (2, units), `moved` (units,) of the side to move, `turn`, and `board`, the map's number
among those of the parameter record. `side` is the side to move: 0 red, 1 blue.
"""

from __future__ import annotations

import numpy as np

from asobiba.core import kernel
from asobiba.envs.tactics import bits
from asobiba.envs.tactics.units import (
    DIRECTIONS,
    INDIRECT,
    MOVEMENT,
    MOVES,
    OFFSET_NUMBER,
    OFFSETS,
    POWER,
)

GOES_ON, RED_WINS, BLUE_WINS, DRAW = 0, 1, 2, 3
SHOTS = len(OFFSETS)
_DX = np.array([dx for dx, _ in DIRECTIONS], np.int64)
_DY = np.array([dy for _, dy in DIRECTIONS], np.int64)
_OFFSET_DX = np.array([dx for dx, _ in OFFSETS], np.int64)
_OFFSET_DY = np.array([dy for _, dy in OFFSETS], np.int64)


@kernel
def damage(power, hp, stars, target_hp):
    """Hit points that an attack of `power` by a unit of `hp` takes from a target of `target_hp` on `stars`."""
    return min(
        (np.int32(power) * np.int32(hp) + np.int32(70)) // np.int32(100 + stars * target_hp), np.int32(target_hp)
    )


@kernel
def stars_of(p, board, cell, kind):
    """The defence of a unit type on a cell; aircraft have none."""
    return np.int64(0) if MOVES[kind] == 0 else np.int64(p.stars[board, cell])


@kernel
def hit(s, p, side, unit, hp, target):
    """The damage by a unit of `side` with `hp` to a unit of the other side on its present cell."""
    kind = s.kind[1 - side, target]
    stars = stars_of(p, s.board, s.cell[1 - side, target], kind)
    return np.int64(damage(POWER[s.kind[side, unit], kind], hp, stars, s.hp[1 - side, target]))


@kernel
def fire(s, p, side, unit, target):
    """`unit` of `side`, where it stands, attacks `target` of the other side, which counters if it can.

    Returns the damage done and the damage of the counter-attack.
    """
    done = hit(s, p, side, unit, s.hp[side, unit], target)
    s.hp[1 - side, target] -= done
    back = 0
    if s.hp[1 - side, target] > 0 and INDIRECT[s.kind[side, unit]] == 0 and INDIRECT[s.kind[1 - side, target]] == 0:
        back = hit(s, p, 1 - side, target, s.hp[1 - side, target], unit)
        s.hp[side, unit] -= back
    return done, back


@kernel
def occupied(s, p, side):
    """The cells on which units of `side` stand."""
    a, b, c, d = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
    words = p.enter_1.shape[2]
    for k in range(s.hp.shape[1]):
        if s.hp[side, k] > 0:
            cell = np.int64(s.cell[side, k])
            if words == 1:
                a |= np.int64(1) << cell
            else:
                word = cell // p.span
                bit = np.int64(1) << (cell - word * p.span)
                if word == 0:
                    a |= bit
                elif word == 1:
                    b |= bit
                elif word == 2:
                    c |= bit
                else:
                    d |= bit
    return a, b, c, d


@kernel
def reach(s, p, side, unit, own, enemy):
    """The cells on which a unit may end its move, its own among them. `own`, `enemy`: what `occupied` returns."""
    words = p.enter_1.shape[2]
    size, span = np.int64(p.width), np.int64(p.span)
    kind = s.kind[side, unit]
    moves = MOVES[kind]
    cell = np.int64(s.cell[side, unit])
    word = np.int64(0) if words == 1 else cell // span
    start = 1 << (cell - word * span)
    a = start if word == 0 else 0
    e0 = p.enter_1[s.board, moves, 0] & ~enemy[0]
    t0 = p.enter_2[s.board, moves, 0] & ~enemy[0]
    if words == 1:
        slow = np.int64(0)
        for _ in range(MOVEMENT[kind]):
            around = (a << 1) | (a >> 1) | (a << size) | (a >> size)
            a |= (around & e0) | (slow & t0)
            slow = around
        return (a & ~own[0] & ~enemy[0]) | start, 0, 0, 0
    b = start if word == 1 else 0
    c = start if word == 2 else 0
    d = start if word == 3 else 0
    e1 = p.enter_1[s.board, moves, 1] & ~enemy[1]
    t1 = p.enter_2[s.board, moves, 1] & ~enemy[1]
    e2, e3, t2, t3 = 0, 0, 0, 0
    if words > 2:
        e2 = p.enter_1[s.board, moves, 2] & ~enemy[2]
        t2 = p.enter_2[s.board, moves, 2] & ~enemy[2]
        e3 = p.enter_1[s.board, moves, 3] & ~enemy[3]
        t3 = p.enter_2[s.board, moves, 3] & ~enemy[3]
    s0, s1, s2, s3 = 0, 0, 0, 0
    for _ in range(MOVEMENT[kind]):
        n0, n1, n2, n3 = bits.neighbours(a, b, c, d, words, size, span)
        a |= (n0 & e0) | (s0 & t0)
        b |= (n1 & e1) | (s1 & t1)
        c |= (n2 & e2) | (s2 & t2)
        d |= (n3 & e3) | (s3 & t3)
        s0, s1, s2, s3 = n0, n1, n2, n3
    a = (a & ~own[0] & ~enemy[0]) | (start if word == 0 else 0)
    b = (b & ~own[1] & ~enemy[1]) | (start if word == 1 else 0)
    c = (c & ~own[2] & ~enemy[2]) | (start if word == 2 else 0)
    d = (d & ~own[3] & ~enemy[3]) | (start if word == 3 else 0)
    return a, b, c, d


@kernel
def unit_at(s, side, cell):
    """The unit of `side` that stands on a cell, or -1."""
    for k in range(s.hp.shape[1]):
        if s.cell[side, k] == cell and s.hp[side, k] > 0:
            return k
    return -1


@kernel
def shot_number(p, cell, target):
    """Index of the cannon's offset that leads from a cell to another, or -1."""
    dx = np.int64(p.x[target]) - np.int64(p.x[cell])
    dy = np.int64(p.y[target]) - np.int64(p.y[cell])
    if dx < -3 or dx > 3 or dy < -3 or dy > 3:
        return np.int64(-1)
    return OFFSET_NUMBER[dy + 3, dx + 3]


@kernel
def distance(p, cell, other):
    """The number of steps between two cells, ignoring obstacles."""
    dx = np.int64(p.x[other]) - np.int64(p.x[cell])
    dy = np.int64(p.y[other]) - np.int64(p.y[cell])
    return abs(dx) + abs(dy)


# An action is `unit * per_unit + code`, and the last ones end the turn and resign. Codes: `5 * cell` moves there,
# `5 * cell + 1 + direction` moves there and attacks the neighbour, `5 * cells + k` fires a cannon from where it stands.


@kernel
def per_unit(p):
    """Actions of one unit."""
    return 5 * p.stars.shape[1] + SHOTS


@kernel
def end_action(s, p):
    """The action that ends the turn."""
    return s.hp.shape[1] * per_unit(p)


@kernel
def attack_action(s, p, side, unit, cell, target):
    """The action of moving a unit to a cell and attacking a unit of the other side from there."""
    there = np.int64(s.cell[1 - side, target])
    code = np.int64(0)
    if INDIRECT[s.kind[side, unit]]:
        code = 5 * p.stars.shape[1] + shot_number(p, cell, there)
    else:
        for k in range(4):
            if cell + _DX[k] + _DY[k] * p.width == there:
                code = 5 * cell + 1 + k
    return unit * per_unit(p) + code


@kernel
def move_action(p, unit, cell):
    """The action of moving a unit to a cell without an attack."""
    return unit * per_unit(p) + 5 * cell


@kernel
def decode(s, p, side, action):
    """A unit's action as (unit, cell it goes to, cell it attacks or -1)."""
    per, cells = per_unit(p), p.stars.shape[1]
    unit = action // per
    code = action - unit * per
    if code >= 5 * cells:
        k = code - 5 * cells
        cell = np.int64(s.cell[side, unit])
        return unit, cell, cell + _OFFSET_DX[k] + _OFFSET_DY[k] * p.width
    cell = code // 5
    direction = code - 5 * cell - 1
    if direction < 0:
        return unit, cell, np.int64(-1)
    return unit, cell, cell + _DX[direction] + _DY[direction] * p.width


@kernel
def total_hp(s, side):
    """The sum of a side's hit points."""
    total = np.int64(0)
    for k in range(s.hp.shape[1]):
        total += s.hp[side, k]
    return total


@kernel
def by_count(s, p):
    """The result at the turn limit: the side whose hit points exceed the other's by more than the threshold wins."""
    lead = total_hp(s, 0) - total_hp(s, 1)
    threshold = np.int64(p.threshold[s.board])
    return RED_WINS if lead > threshold else (BLUE_WINS if -lead > threshold else DRAW)


@kernel
def end_turn(s, p):
    """The turn passes to the other side. Returns the result where the turn limit is reached, else 0."""
    s.turns += 1
    for k in range(s.moved.shape[0]):
        s.moved[k] = p.setup_moved[s.board, 1, k] if s.turns == 1 else 0
    return by_count(s, p) if s.turns >= p.limit[s.board] else GOES_ON


@kernel
def finished(s, side):
    """Whether no unit of `side` is left to move."""
    ready = 0
    for k in range(s.moved.shape[0]):
        ready += s.moved[k] == 0 and s.hp[side, k] > 0
    return ready == 0


@kernel
def perform(s, p, side, unit, cell, target):
    """A unit of `side` goes to a cell and attacks a unit of the other side, or none (-1); returns what `play` does."""
    s.cell[side, unit] = cell
    s.moved[unit] = 1
    if target >= 0:
        fire(s, p, side, unit, target)
        if total_hp(s, 1 - side) == 0:
            return RED_WINS if side == 0 else BLUE_WINS, side
        if total_hp(s, side) == 0:
            return BLUE_WINS if side == 0 else RED_WINS, side
    if finished(s, side):
        return end_turn(s, p), 1 - side
    return GOES_ON, side


@kernel
def play(s, p, side, action):
    """Plays an action of `side`. Returns the result (0 if the game goes on) and the next side to move."""
    end = end_action(s, p)
    if action >= end:
        if action > end:
            return BLUE_WINS if side == 0 else RED_WINS, 1 - side
        return end_turn(s, p), 1 - side
    unit, cell, target = decode(s, p, side, action)
    return perform(s, p, side, unit, cell, unit_at(s, 1 - side, target) if target >= 0 else -1)
