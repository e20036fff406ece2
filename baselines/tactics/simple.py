"""Agents that look at the present position only: attack-first random and MaxActEval, in both games."""

from __future__ import annotations

from typing import Any

import numpy as np

from asobiba.baselines.tactics.playouts import BAD_BARGAIN, attack_value, draw_order
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
from asobiba.envs.tactics.units import INDIRECT, POWER


@kernel
def attack_first_order(view, p, memory):
    """A uniform attack if there is any, otherwise a uniform move of a uniform unit."""
    return draw_order(view, p, np.int64(view.to_move), memory, 1.0, 0.0)


@kernel
def max_act_order(view, p, memory):
    """The attack of the greatest value, if that is above -20; otherwise a uniform unit goes to the cell of the greatest
    5 x stars + floor(attack power / (distance + 5)), the best of all enemies counting. Ties at random.

    TUBSTAP's program makes no attack that takes nothing, and an enemy threatens only what it could attack at once; here it
    threatens every unit that has moved (`threat`).
    """
    side = np.int64(view.to_move)
    own, enemy = occupied(view, p, side), occupied(view, p, 1 - side)
    unit, goal, target = np.int64(-1), np.int64(-1), np.int64(-1)
    best, ties, ready = np.int64(BAD_BARGAIN), np.int64(0), np.int64(0)
    mover = np.int64(-1)
    for k in range(view.moved.shape[0]):
        if view.moved[k] != 0 or view.hp[side, k] == 0:
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
    """The next decision of the order that `memory` holds (an order is chosen in phase 0)."""
    cells = p.stars.shape[1]
    if memory.unit < 0:
        return np.int64(cells + 1)
    if view.phase == 0:
        return np.int64(view.cell[view.to_move, memory.unit])
    if view.phase == 1:
        return np.int64(memory.goal)
    return np.int64(cells) if memory.target < 0 else np.int64(view.cell[1 - view.to_move, memory.target])


@kernel
def attack_first_policy(view, p, legal, memory):
    unit, goal, target = attack_first_order(view, p, memory)
    return action_of_order(view, p, unit, goal, target)


@kernel
def max_act_policy(view, p, legal, memory):
    unit, goal, target = max_act_order(view, p, memory)
    return action_of_order(view, p, unit, goal, target)


@kernel
def attack_first_words(view, p, legal, memory):
    if view.phase == 0:
        memory.unit, memory.goal, memory.target = attack_first_order(view, p, memory)
    return as_word(view, p, memory)


@kernel
def max_act_words(view, p, legal, memory):
    if view.phase == 0:
        memory.unit, memory.goal, memory.target = max_act_order(view, p, memory)
    return as_word(view, p, memory)


PLAN = [("unit", np.int64), ("goal", np.int64), ("target", np.int64)]


def simple_agent(policy: Any, name: str, words: bool) -> KernelAgent:
    """One of the policies above as an agent; those of the game in words remember the order that they spell out."""
    return KernelAgent(policy, PLAN if words else (), name=name, masks=False)
