"""Players of a few lines, compiled: the greedy tee draw, and Digital Curling 3's sample."""

from __future__ import annotations

import numpy as np

from asobiba.baselines.curling.candidates import in_house, nearest
from asobiba.baselines.curling.player import free_stop_of, whole
from asobiba.core import KernelAgent, kernel
from asobiba.envs.curling.rules import tee_distance, throw, with_noise
from asobiba.envs.curling.scratch import stack_rows
from asobiba.envs.curling.shots import draw_shot, hit_shot
from asobiba.envs.curling.simulation import STONES


@kernel
def write_action(p, vx, vy, spin, action):
    """Writes the continuous action for a delivery (clipped to the box)."""
    if p.by_target != 0:
        x, y = free_stop_of(p.model, p.release, vx, vy, spin)
        a, b = x / p.target_side, (y - 0.5 * (p.hog + p.far)) / (0.5 * (p.far - p.hog))
    else:
        a, b = vx / p.lateral, (vy - 0.5 * (p.slowest + p.fastest)) / (0.5 * (p.fastest - p.slowest))
    action[0], action[1], action[2] = min(max(a, -1.0), 1.0), min(max(b, -1.0), 1.0), spin
    if action.shape[0] == 4:
        action[3] = -1.0


@kernel
def nearest_shot(p, vx, vy, spin):
    """The number of the discrete shot nearest to a delivery, in the units of cs2's noise."""
    best, found = 1e30, 0
    for k in range(p.shots.shape[0]):
        if p.shots[k, 2] == spin:
            dx, dy = (p.shots[k, 0] - vx) / 0.06, (p.shots[k, 1] - vy) / 0.12
            if dx * dx + dy * dy < best:
                best, found = dx * dx + dy * dy, k
    return found


@kernel
def tee_shot(p):
    """The draw to the tee, counter-clockwise."""
    vx, vy = draw_shot(p.model, p.release, 0.0, 0.0, 1.0)
    return vx, vy, 1.0


@kernel
def sample_shot(view, p, memory):
    """The sample player's delivery: `(vx, vy, spin)`."""
    own = nearest(p, view.stones, view.in_play, view.shot % 2, -1.0)
    theirs = nearest(p, view.stones, view.in_play, (view.shot + 1) % 2, -1.0)
    own_counts = own >= 0 and in_house(p, view.stones, view.in_play, own)
    their_counts = theirs >= 0 and in_house(p, view.stones, view.in_play, theirs)
    if not own_counts and not their_counts:
        return tee_shot(p)
    if own_counts and (not their_counts or tee_distance(view.stones, own) < tee_distance(view.stones, theirs)):
        x, y = view.stones[own, 0], view.stones[own, 1]
        spin = -1.0 if x < 0.0 else 1.0
        vx, vy = draw_shot(p.model, p.release, x, max(y - 2.0, p.hog + 0.3), spin)
        return vx, vy, spin
    board, here, trace = memory.board, memory.here, stack_rows()[0:0]
    best, found = -1, 1.0
    x, y = view.stones[theirs, 0], view.stones[theirs, 1]
    for turn in range(2):
        spin = 1.0 - 2.0 * turn
        vx, vy = hit_shot(p.model, p.release, x, y, spin, p.weights[2])
        removed = 0
        for _ in range(memory.trials):
            for k in range(STONES):
                board[k, 0], board[k, 1], here[k] = view.stones[k, 0], view.stones[k, 1], view.in_play[k]
            wx, wy = with_noise(memory, p, vx, vy, spin)
            throw(p, board, here, memory.before, memory.before_here, view.shot, (wx, wy, spin), trace)
            if not in_house(p, board, here, theirs):
                removed += 1
        if removed > best:
            best, found = removed, spin
    vx, vy = hit_shot(p.model, p.release, x, y, found, p.weights[2])
    return vx, vy, found


@kernel
def tee_draw_policy(view, p, legal, memory, action):
    """Draws to the tee."""
    vx, vy, spin = tee_shot(p)
    write_action(p, vx, vy, spin, action)


@kernel
def tee_draw_discrete_policy(view, p, legal, memory):
    """Draws to the tee, as nearly as the discrete shots can."""
    vx, vy, spin = tee_shot(p)
    return nearest_shot(p, vx, vy, spin)


@kernel
def rule_based_policy(view, p, legal, memory, action):
    """Plays as Digital Curling 3's sample."""
    vx, vy, spin = sample_shot(view, p, memory)
    write_action(p, vx, vy, spin, action)


@kernel
def rule_based_discrete_policy(view, p, legal, memory):
    """Plays as Digital Curling 3's sample, as nearly as the discrete shots can."""
    vx, vy, spin = sample_shot(view, p, memory)
    return nearest_shot(p, vx, vy, spin)


def tee_draw() -> KernelAgent:
    """Draws to the tee, whatever lies there."""
    return KernelAgent(tee_draw_policy, name="tee_draw")


def tee_draw_discrete() -> KernelAgent:
    """Draws to the tee, whatever lies there."""
    return KernelAgent(tee_draw_discrete_policy, name="tee_draw")


_MEMORY = [
    ("trials", np.int64),
    ("board", np.float64, (STONES, 2)),
    ("before", np.float64, (STONES, 2)),
    ("here", np.uint8, (STONES,)),
    ("before_here", np.uint8, (STONES,)),
]
"""The setting, and room for the trials."""


def rule_based(trials: int = 50) -> KernelAgent:
    """Draws to the tee where no stone counts; hits the opponent's best stone hard, with the spin that works more often
    in `trials` noisy trials; guards its own best stone from two metres."""
    return KernelAgent(rule_based_policy, _MEMORY, {"trials": whole("trials", trials, 1, 100_000)}, "rule_based")


def rule_based_discrete(trials: int = 50) -> KernelAgent:
    """`rule_based` with the discrete shots."""
    trials = whole("trials", trials, 1, 100_000)
    return KernelAgent(rule_based_discrete_policy, _MEMORY, {"trials": trials}, "rule_based")
