"""Chooses unit actions without listing them: the attack-first choice of playouts and simple agents."""

from __future__ import annotations

import numpy as np

from asobiba.core import kernel, random_below, random_uniform
from asobiba.envs.tactics.battle import (
    DRAW,
    RED_WINS,
    damage,
    distance,
    end_turn,
    hit,
    occupied,
    perform,
    reach,
    shot_number,
    stars_of,
    total_hp,
    unit_at,
)
from asobiba.envs.tactics.rules import choice, from_where, size_of
from asobiba.envs.tactics.units import DIRECTIONS, INDIRECT, MOVEMENT, POWER

BAD_BARGAIN = -20
"""MaxActEval makes no attack that it values at this or less."""
_DX = np.array([dx for dx, _ in DIRECTIONS], np.int64)
_DY = np.array([dy for _, dy in DIRECTIONS], np.int64)


@kernel
def hurts(s, p, side, unit, target):
    """Whether an attack would take anything: `hit` is above 0, without its division."""
    kind = s.kind[1 - side, target]
    power = np.int64(POWER[s.kind[side, unit], kind])
    stars = stars_of(p, s.board, s.cell[1 - side, target], kind)
    return power * s.hp[side, unit] + 70 >= 100 + stars * s.hp[1 - side, target]


@kernel
def worth_hitting(s, p, side, unit):
    """The cells of enemies that a unit would take hit points from, but those that lie too far away for one move."""
    a, b, c, d = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
    words = p.enter_1.shape[2]
    here, furthest = np.int64(s.cell[side, unit]), MOVEMENT[s.kind[side, unit]] + 1
    for k in range(s.hp.shape[1]):
        if s.hp[1 - side, k] > 0 and hurts(s, p, side, unit, k):
            cell = np.int64(s.cell[1 - side, k])
            if distance(p, here, cell) > furthest:
                continue
            word = np.int64(0) if words == 1 else cell // p.span
            bit = np.int64(1) << (cell - word * p.span)
            a |= bit if word == 0 else 0
            b |= bit if word == 1 else 0
            c |= bit if word == 2 else 0
            d |= bit if word == 3 else 0
    return a, b, c, d


@kernel
def draw_attack(s, p, side, unit, stops, worth, harmless, seen, generator):
    """Draws among a unit's attacks and `seen` others before them, all alike. What it can go to and what is `worth_hitting`
    do not matter to a cannon, whose attacks that take nothing count if `harmless`.

    Returns (how many there are now, cell it goes to, target); the cell is -1 where none of this unit's was drawn.
    """
    words, size, span = p.enter_1.shape[2], np.int64(p.width), np.int64(p.span)
    cell, target = np.int64(-1), np.int64(-1)
    if INDIRECT[s.kind[side, unit]] != 0:
        here = np.int64(s.cell[side, unit])
        for k in range(s.hp.shape[1]):
            if s.hp[1 - side, k] > 0 and shot_number(p, here, np.int64(s.cell[1 - side, k])) >= 0:
                if harmless or hurts(s, p, side, unit, k):
                    seen += 1
                    if random_below(generator, seen) == 0:
                        cell, target = here, np.int64(k)
        return seen, cell, target
    for direction in range(4):
        places = from_where(stops, worth, direction, words, size, span)
        n = size_of(places)
        if n > 0:
            seen += n
            rank = random_below(generator, seen)
            if rank < n:
                cell = choice(places, rank, span)
                target = np.int64(unit_at(s, 1 - side, cell + _DX[direction] + _DY[direction] * size))
    return seen, cell, target


@kernel
def threat(s, p, side, enemy):
    """The most that an enemy would take from one of `side`'s units that have moved already, where they stand."""
    most = np.int64(0)
    for k in range(s.moved.shape[0]):
        if s.moved[k] != 0 and s.hp[side, k] > 0:
            most = max(most, hit(s, p, 1 - side, enemy, s.hp[1 - side, enemy], k))
    return most


@kernel
def attack_value(s, p, side, unit, cell, target):
    """MaxActEval: damage x (10 + threat of the target) - counter-attack x (10 + own hit points)."""
    done = hit(s, p, side, unit, s.hp[side, unit], target)
    back = np.int64(0)
    left = s.hp[1 - side, target] - done
    kind, other = s.kind[side, unit], s.kind[1 - side, target]
    if left > 0 and INDIRECT[kind] == 0 and INDIRECT[other] == 0:
        back = np.int64(damage(POWER[other, kind], left, stars_of(p, s.board, cell, kind), s.hp[side, unit]))
    return done * (10 + threat(s, p, side, target)) - back * (10 + np.int64(s.hp[side, unit]))


@kernel
def draw_order(s, p, side, generator, attack_share, choosy):
    """A unit's order: with the probability `attack_share` a uniform attack among those of all units that can still move
    and take hit points; otherwise, or where there is none, a uniform unit and a uniform move or attack of it.

    With the probability `choosy` that attack is the best, by `attack_value`, of one uniform attack of each unit, and none
    where even that one is a bad bargain.

    Returns (unit, cell it goes to, target or -1); unit -1 where none is left to move.
    """
    own, enemy = occupied(s, p, side), occupied(s, p, 1 - side)
    unit, goal, target = np.int64(-1), np.int64(-1), np.int64(-1)
    if attack_share >= 1 or random_uniform(generator) < attack_share:
        judged = choosy > 0 and (choosy >= 1 or random_uniform(generator) < choosy)
        seen, best = np.int64(0), np.int64(BAD_BARGAIN)
        for k in range(s.moved.shape[0]):
            if s.moved[k] == 0 and s.hp[side, k] > 0:
                stops, worth = own, own
                if INDIRECT[s.kind[side, k]] == 0:
                    worth = worth_hitting(s, p, side, k)
                    if worth[0] | worth[1] | worth[2] | worth[3] == 0:
                        continue
                    stops = reach(s, p, side, k, own, enemy)
                if judged:
                    seen = np.int64(0)
                seen, cell, found = draw_attack(s, p, side, k, stops, worth, False, seen, generator)
                if cell >= 0:
                    if judged:
                        value = attack_value(s, p, side, k, cell, found)
                        if value <= best:
                            continue
                        best = value
                    unit, goal, target = np.int64(k), cell, found
        if unit >= 0:
            return unit, goal, target
    seen = np.int64(0)
    for k in range(s.moved.shape[0]):
        if s.moved[k] == 0 and s.hp[side, k] > 0:
            seen += 1
            if random_below(generator, seen) == 0:
                unit = np.int64(k)
    if unit >= 0:
        stops = reach(s, p, side, unit, own, enemy)
        n = size_of(stops)
        worth = worth_hitting(s, p, side, unit)
        _, cell, target = draw_attack(s, p, side, unit, stops, worth, False, n, generator)
        goal = cell if cell >= 0 else choice(stops, random_below(generator, n), np.int64(p.span))
    return unit, goal, target


@kernel
def draw_any_attack(s, p, side, generator):
    """A uniform attack of all units that can still move, those that take nothing included.

    Returns (unit, cell it goes to, target); unit -1 where there is none.
    """
    own, enemy = occupied(s, p, side), occupied(s, p, 1 - side)
    unit, goal, target, seen = np.int64(-1), np.int64(-1), np.int64(-1), np.int64(0)
    for k in range(s.moved.shape[0]):
        if s.moved[k] == 0 and s.hp[side, k] > 0:
            stops = own
            if INDIRECT[s.kind[side, k]] == 0:
                stops = reach(s, p, side, k, own, enemy)
            seen, cell, found = draw_attack(s, p, side, k, stops, enemy, True, seen, generator)
            if cell >= 0:
                unit, goal, target = np.int64(k), cell, found
    return unit, goal, target


@kernel
def play_out_as_published(s, p, side, generator, attack_share):
    """Plays a position, in place, to the end as the program of M-UCT does; `play_out` makes no attack that takes nothing."""
    result = 0
    while result == 0:
        unit, goal, target = np.int64(-1), np.int64(-1), np.int64(-1)
        if random_uniform(generator) < attack_share:
            unit, goal, target = draw_any_attack(s, p, side, generator)
        if unit < 0:
            unit, goal, target = draw_order(s, p, side, generator, 0.0, 0.0)
        if unit < 0:
            result = end_turn(s, p)
            side = 1 - side
        else:
            result, side = perform(s, p, side, unit, goal, target)


@kernel
def value_as_published(s, p, side, root_side):
    """A finished playout for a side as the program of M-UCT counts it: a lead of the root's by the threshold wins."""
    own, other = total_hp(s, root_side), total_hp(s, 1 - root_side)
    threshold = np.int64(p.threshold[s.board])
    if own == 0 or (other > 0 and other - own >= max(threshold, 1)):
        value = -1.0
    else:
        value = 1.0 if other == 0 or own - other >= threshold else 0.0
    return value if side == root_side else -value


@kernel
def play_out(s, p, side, generator, attack_share, choosy):
    """Plays a position, in place, to the end; returns the result of `battle`."""
    result = 0
    while result == 0:
        unit, goal, target = draw_order(s, p, side, generator, attack_share, choosy)
        if unit < 0:
            result = end_turn(s, p)
            side = 1 - side
        else:
            result, side = perform(s, p, side, unit, goal, target)
    return result


@kernel
def value_for(result, side):
    """A result of `battle` as 1, 0 or -1 for a side."""
    if result == DRAW:
        return 0.0
    return 1.0 if (result == RED_WINS) == (side == 0) else -1.0
