"""The shots of playouts: what a side throws when a search no longer thinks.

`simple_shot` is the simplest player of the program Ayumu: it hits the best stone or draws to the tee, and knows no guards.
`playout_shot` knows them. It asks who lies nearest to the tee, and whether that stone can be hit past the stones before it:

* the opponent, open: hit it, now and then freeze to it; guarded: draw around, hit past the guard, or take the guard out;
* oneself: without the hammer guard it, or draw another one behind; with the hammer hit what is left, or draw aside;
* nobody: draw, to behind a guard where one lies; without the hammer an early centre guard.

The shares of these are ours.
"""

from __future__ import annotations

from asobiba.baselines.curling.candidates import in_house, nearest, strongest_shot
from asobiba.core import kernel, random_below
from asobiba.envs.curling.rules import NO_GUARDS, end_score, tee_distance, throw, with_noise
from asobiba.envs.curling.shots import draw_shot, hit_shot, pass_shot
from asobiba.envs.curling.simulation import STONES
from asobiba.envs.curling.simulators import RADIUS

_LANE = 1.9 * RADIUS
"""m aside up to which a stone before another one is in the way of a shot at it."""
_CENTRE = 0.9
"""m aside up to which a guard hides the tee from one of the two spins."""
_GUARD_Y, _RING = -3.0, 1.2


@kernel
def simple_shot(p, stones, in_play, shot, record):
    """Ayumu's simplest player: hits the opponent's best stone in the house, or draws to the tee, with either spin.

    Returns `(vx, vy, spin)`; draws from `record`'s generator.
    """
    spin = 1.0 if random_below(record, 2) == 0 else -1.0
    k = nearest(p, stones, in_play, (shot + 1) % 2, -1.0)
    if k >= 0 and in_house(p, stones, in_play, k) and random_below(record, 2) == 0:
        vx, vy = hit_shot(p.model, p.release, stones[k, 0], stones[k, 1], spin, p.weights[1])
    else:
        vx, vy = draw_shot(p.model, p.release, 0.0, 0.0, spin)
    return vx, vy, spin


@kernel
def guard_of(stones, in_play, k):
    """The stone in the way of a straight shot at stone `k` (the nearest to its line), or -1."""
    best, found = _LANE, -1
    for j in range(STONES):
        if j != k and in_play[j] != 0 and stones[j, 1] < stones[k, 1] - RADIUS:
            aside = abs(stones[j, 0] - stones[k, 0])
            if aside < best:
                best, found = aside, j
    return found


@kernel
def _centre_guard(p, stones, in_play):
    """The guard nearest to the centre line, or -1."""
    best, found = _CENTRE, -1
    for j in range(STONES):
        if in_play[j] != 0 and stones[j, 1] < -1.0 and tee_distance(stones, j) >= p.score:
            if abs(stones[j, 0]) < best:
                best, found = abs(stones[j, 0]), j
    return found


@kernel
def _against(p, stones, in_play, shot, k, record):
    """A shot at the opponent's best stone `k`."""
    x, y = stones[k, 0], stones[k, 1]
    spin = 1.0 if random_below(record, 2) == 0 else -1.0
    chance = random_below(record, 20)
    guard = guard_of(stones, in_play, k)
    if guard < 0:
        if chance < 15 or shot == STONES - 1:
            vx, vy = hit_shot(p.model, p.release, x, y, spin, p.weights[1])
        elif chance < 18:
            vx, vy = draw_shot(p.model, p.release, x, y - 2.0 * RADIUS - 0.05, spin)
        else:
            vx, vy = pass_shot(p.model, p.release, x, y, spin, strongest_shot(p))
        return vx, vy, spin
    # A clockwise stone (-1) comes from the left, past a guard that lies to the right.
    spin = -1.0 if stones[guard, 0] > x else 1.0
    if chance < 8:
        vx, vy = draw_shot(p.model, p.release, 0.5 * x, 0.5 * y, spin)
    elif chance < 14:
        vx, vy = hit_shot(p.model, p.release, x, y, spin, p.weights[0] if chance < 10 else p.weights[1])
    elif guard % 2 == shot % 2 or shot >= p.guarded_shots or p.guard_rule == NO_GUARDS:
        vx, vy = pass_shot(p.model, p.release, stones[guard, 0], stones[guard, 1], spin, strongest_shot(p))
    else:
        vx, vy = draw_shot(p.model, p.release, 0.0, 0.0, spin)
    return vx, vy, spin


@kernel
def _with_best_stone(p, stones, in_play, shot, own, record):
    """A shot of the side whose stone `own` lies nearest to the tee."""
    x, y = stones[own, 0], stones[own, 1]
    spin = 1.0 if random_below(record, 2) == 0 else -1.0
    chance = random_below(record, 20)
    theirs = nearest(p, stones, in_play, (shot + 1) % 2, -1.0)
    if shot % 2 == 0:  # the hammer answers
        if guard_of(stones, in_play, own) < 0 and chance < 12:
            vx, vy = draw_shot(p.model, p.release, x, y - 2.0 + 0.1 * (chance - 6), spin)
        elif chance < 16:
            vx, vy = draw_shot(p.model, p.release, 0.5 * x, 0.5 * y, spin)
        elif theirs >= 0 and in_house(p, stones, in_play, theirs):
            vx, vy = hit_shot(p.model, p.release, stones[theirs, 0], stones[theirs, 1], spin, p.weights[1])
        else:
            vx, vy = draw_shot(p.model, p.release, 0.0, _GUARD_Y, spin)
        return vx, vy, spin
    if theirs >= 0 and in_house(p, stones, in_play, theirs) and chance < 12:
        vx, vy = hit_shot(p.model, p.release, stones[theirs, 0], stones[theirs, 1], spin, p.weights[1])
    else:
        vx, vy = draw_shot(p.model, p.release, -_RING if x > 0.0 else _RING, 0.0, spin)
    return vx, vy, spin


@kernel
def playout_shot(p, stones, in_play, shot, record):
    """A shot of a side that knows guards. Returns `(vx, vy, spin)`; draws from `record`'s generator."""
    own = nearest(p, stones, in_play, shot % 2, -1.0)
    theirs = nearest(p, stones, in_play, (shot + 1) % 2, -1.0)
    own_counts = own >= 0 and in_house(p, stones, in_play, own)
    if theirs >= 0 and in_house(p, stones, in_play, theirs):
        if not own_counts or tee_distance(stones, theirs) < tee_distance(stones, own):
            return _against(p, stones, in_play, shot, theirs, record)
    if own_counts:
        return _with_best_stone(p, stones, in_play, shot, own, record)
    spin = 1.0 if random_below(record, 2) == 0 else -1.0
    guard = _centre_guard(p, stones, in_play)
    if guard >= 0:
        x = 0.5 * stones[guard, 0]
        vx, vy = draw_shot(p.model, p.release, x, 0.0, -1.0 if stones[guard, 0] > x else 1.0)
        return vx, vy, -1.0 if stones[guard, 0] > x else 1.0
    y = _GUARD_Y if shot % 2 == 0 and shot < 6 and random_below(record, 2) == 0 else 0.0
    vx, vy = draw_shot(p.model, p.release, 0.0, y, spin)
    return vx, vy, spin


@kernel
def play_out(p, stones, in_play, before, before_in, shot, record, trace):
    """Plays the rest of the end by `playout_shot`, in place. Returns its score for the team that threw first."""
    while shot < STONES:
        vx, vy, spin = playout_shot(p, stones, in_play, shot, record)
        vx, vy = with_noise(record, p, vx, vy, spin)
        throw(p, stones, in_play, before, before_in, shot, (vx, vy, spin), trace)
        shot += 1
    return end_score(p, stones, in_play)
