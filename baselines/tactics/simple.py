"""Agents that look at the present position only: attack-first random and MaxActEval, in both games."""

from __future__ import annotations

from typing import Any

import numpy as np

from asobiba.baselines.tactics.playouts import BAD_BARGAIN, attack_value, draw_attack, draw_order, hurts, worth_hitting
from asobiba.core import KernelAgent, kernel, random_below
from asobiba.envs.tactics.battle import (
    attack_action,
    distance,
    end_action,
    move_action,
    occupied,
    reach,
    shot_number,
    stars_of,
)
from asobiba.envs.tactics.rules import choice, size_of
from asobiba.envs.tactics.steps import GOAL, TARGET, UNIT, can_hit
from asobiba.envs.tactics.units import INDIRECT, POWER


@kernel
def attack_first_order(view, p, memory):
    """A uniform attack if there is any, otherwise a uniform move of a uniform unit."""
    return draw_order(view, p, np.int64(view.to_move), memory, 1.0, 0.0)


@kernel
def max_act_order(view, p, memory, only=-1):
    """The attack of the greatest value, if that is above -20; otherwise a uniform unit goes to the cell of the greatest
    5 x stars + floor(attack power / (distance + 5)), the best of all enemies counting. Ties at random.

    TUBSTAP's program makes no attack that takes nothing, and an enemy threatens only what it could attack at once; here it
    threatens every unit that has moved (`threat`). With `only`, this unit's orders alone are considered.
    """
    side = np.int64(view.to_move)
    own, enemy = occupied(view, p, side), occupied(view, p, 1 - side)
    unit, goal, target = np.int64(-1), np.int64(-1), np.int64(-1)
    best, ties, ready = np.int64(BAD_BARGAIN), np.int64(0), np.int64(0)
    mover = np.int64(-1)
    for k in range(view.moved.shape[0]):
        if view.moved[k] != 0 or view.hp[side, k] == 0 or (only >= 0 and k != only):
            continue
        ready += 1
        if random_below(memory, ready) == 0:
            mover = np.int64(k)
        stops = reach(view, p, side, k, own, enemy)
        indirect = INDIRECT[view.kind[side, k]] != 0
        for rank in range(1 if indirect else size_of(stops)):
            cell = np.int64(view.cell[side, k]) if indirect else choice(stops, rank, np.int64(p.span))
            for e in range(view.hp.shape[1]):
                if view.hp[1 - side, e] == 0 or POWER[view.kind[side, k], view.kind[1 - side, e]] == 0:
                    continue
                there = np.int64(view.cell[1 - side, e])
                near = shot_number(p, cell, there) >= 0 if indirect else distance(p, cell, there) == 1
                if near:
                    value = attack_value(view, p, side, k, cell, e)
                    if value > best:
                        best, ties = value, np.int64(0)
                    if value == best and value > BAD_BARGAIN:
                        ties += 1
                        if random_below(memory, ties) == 0:
                            unit, goal, target = np.int64(k), cell, np.int64(e)
    if unit >= 0 or mover < 0:
        return unit, goal, target
    best, ties = np.int64(-1), np.int64(0)
    kind = view.kind[side, mover]
    stops = reach(view, p, side, mover, own, enemy)
    for rank in range(size_of(stops)):
        cell = choice(stops, rank, np.int64(p.span))
        value = np.int64(0)
        for e in range(view.hp.shape[1]):
            if view.hp[1 - side, e] > 0:
                away = distance(p, cell, np.int64(view.cell[1 - side, e]))
                value = max(value, np.int64(POWER[kind, view.kind[1 - side, e]]) // (away + 5))
        value += 5 * stars_of(p, view.board, cell, kind)
        if value > best:
            best, ties = value, np.int64(0)
        if value == best:
            ties += 1
            if random_below(memory, ties) == 0:
                goal = cell
    return mover, goal, np.int64(-1)


@kernel
def action_of_order(view, p, unit, goal, target):
    """An order as an action of the flat game; without a unit the turn ends."""
    if unit < 0:
        return np.int64(end_action(view, p))
    if target < 0:
        return np.int64(move_action(p, unit, goal))
    return np.int64(attack_action(view, p, np.int64(view.to_move), unit, goal, target))


@kernel
def as_word(view, p, memory):
    """The next decision of the order that `memory` holds."""
    cells = p.stars.shape[1]
    if memory.unit < 0:
        return np.int64(cells + 1)
    if view.phase == UNIT:
        return np.int64(view.cell[view.to_move, memory.unit])
    if view.phase == GOAL:
        return np.int64(memory.goal)
    return np.int64(cells) if memory.target < 0 else np.int64(view.cell[1 - view.to_move, memory.target])


@kernel
def is_spelled(view, memory):
    """Whether what is chosen so far of the present order is of the order that `memory` holds; an opening, a learner or a
    human being may have chosen something else."""
    told = memory.begun > 0 and view.steps + 1 == memory.begun + np.int64(view.phase)
    if not told or memory.unit != view.unit:
        return False
    return view.phase == GOAL or memory.goal == view.goal


@kernel
def attack_first_of(view, p, unit, generator):
    """`attack_first_order` of a unit that is chosen already: (cell it goes to, target or -1)."""
    side = np.int64(view.to_move)
    own, enemy = occupied(view, p, side), occupied(view, p, 1 - side)
    stops = reach(view, p, side, unit, own, enemy)
    worth = worth_hitting(view, p, side, unit)
    _, cell, target = draw_attack(view, p, side, unit, stops, worth, False, np.int64(0), generator)
    if cell < 0:
        cell = choice(stops, random_below(generator, size_of(stops)), np.int64(p.span))
    return cell, target


@kernel
def target_from(view, p, unit, goal, by_value, generator):
    """The enemy that a unit attacks after it has gone to `goal`, or -1.

    Only attacks that take hit points count. `by_value`: the one of the greatest value, if that is above -20. Otherwise any.
    Ties at random.
    """
    side = np.int64(view.to_move)
    target, best, ties = np.int64(-1), np.int64(BAD_BARGAIN), np.int64(0)
    for k in range(view.moved.shape[0]):
        if can_hit(view, p, side, unit, goal, k) and hurts(view, p, side, unit, k):
            value = attack_value(view, p, side, unit, goal, k) if by_value else best + (ties == 0)
            if value > best:
                best, ties = value, np.int64(0)
            if value == best and value > BAD_BARGAIN:
                ties += 1
                if random_below(generator, ties) == 0:
                    target = np.int64(k)
    return target


@kernel
def attack_first_policy(view, p, legal, memory):
    unit, goal, target = attack_first_order(view, p, memory)
    return action_of_order(view, p, unit, goal, target)


@kernel
def max_act_policy(view, p, legal, memory):
    unit, goal, target = max_act_order(view, p, memory)
    return action_of_order(view, p, unit, goal, target)


@kernel
def next_word(view, p, memory, by_value):
    """The next decision of MaxActEval (`by_value`) or of attack-first: of the order in `memory`, or of a new one that begins
    with what somebody else has chosen."""
    if view.phase != UNIT and is_spelled(view, memory):
        return as_word(view, p, memory)
    unit = np.int64(view.unit)
    if view.phase == TARGET:
        memory.goal, memory.target = view.goal, target_from(view, p, unit, np.int64(view.goal), by_value, memory)
    elif by_value:
        unit, memory.goal, memory.target = max_act_order(view, p, memory, unit if view.phase == GOAL else np.int64(-1))
    elif view.phase == GOAL:
        memory.goal, memory.target = attack_first_of(view, p, unit, memory)
    else:
        unit, memory.goal, memory.target = attack_first_order(view, p, memory)
    memory.unit, memory.begun = unit, np.int64(view.steps) + 1 - np.int64(view.phase)
    return as_word(view, p, memory)


@kernel
def attack_first_words(view, p, legal, memory):
    return next_word(view, p, memory, False)


@kernel
def max_act_words(view, p, legal, memory):
    return next_word(view, p, memory, True)


PLAN = [("unit", np.int64), ("goal", np.int64), ("target", np.int64), ("begun", np.int64)]
"""An order, and one more than the step in which its unit was chosen."""


def simple_agent(policy: Any, name: str, words: bool) -> KernelAgent:
    """One of the policies above as an agent; those of the game in words remember the order that they spell out."""
    return KernelAgent(policy, PLAN if words else (), name=name, masks=False)
