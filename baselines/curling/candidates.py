"""Candidate shots: the thirteen kinds of the program Ayumu, on any position.

The table has two parts. The first has the plainest shot of every kind that fits the position (at most `PRINCIPAL` rows): the
tee draw, a hit on the opponent's best stone, a guard before the own one, a draw behind a guard, a freeze, a centre guard.
The second has all the others. A search that can try few shots takes the first rows.

Source: github.com/YuriCat/AyumuCurling; the points and weights are its own, in m from the tee, y away from the thrower.
"""

from __future__ import annotations

import math

import numpy as np

from asobiba.core import kernel
from asobiba.core.elementary import sincos
from asobiba.envs.curling.motion import fcv1_speed, fcv1_tau_at_distance
from asobiba.envs.curling.rules import tee_distance
from asobiba.envs.curling.shots import draw_shot, hit_shot, pass_shot
from asobiba.envs.curling.simulation import STONES
from asobiba.envs.curling.simulators import CS2, CS2_DECELERATION, RADIUS

(
    PASS, DRAW, PREGUARD, RING_DRAW, FREEZE, COME_AROUND, POSTGUARD, HIT, PEEL, DRAW_RAISE, TAKE_OUT, DOUBLE,
    RAISE_TAKE_OUT,
) = range(13)  # fmt: skip
KINDS = (
    "pass", "draw", "preguard", "ring draw", "freeze", "come-around", "postguard", "hit", "peel", "draw raise",
    "take-out", "double", "raise take-out",
)  # fmt: skip
ALL_KINDS = (1 << len(KINDS)) - 1
PRINCIPAL = 48
"""At most so many rows are of the first part."""
MOST = 480
"""Rows of a table that no position fills: 8 stones of the opponent, 16 in all, give 423 at most."""

ALL_ROWS, NO_ROW = np.int64(-1), np.int64(-2)
"""For `wanted` of `candidates`."""

_DRAWS = ((0.0, 0.0), (0.0, 0.58), (0.9, 0.0), (-0.9, 0.0), (0.0, 0.29))
_GUARDS = ((0.0, -3.0), (0.6, -2.17), (-0.6, -2.17))
_RING = 1.83 - 2.0 * RADIUS
_FREEZE_ANGLES = (0.0, -22.5, 22.5, -45.0, 45.0)
_FREEZE_GAPS = (2.0 * RADIUS + 0.02, 3.5 * RADIUS)
_BEHIND = (1.0, 2.2, 3.5)
_BEFORE = (1.0, 2.0, 3.0)


@kernel
def speed_for(model, distance):
    """Speed (m/s) of a stone that slides this far (m)."""
    if model == CS2:
        return math.sqrt(2.0 * CS2_DECELERATION * distance)
    return fcv1_speed(fcv1_tau_at_distance(distance))


@kernel
def strongest_shot(p):
    """Speed of delivery (m/s) of a take-out that goes as hard as players throw."""
    return p.fastest * (1.0 - 0.2 / 33.44)


# Kinds are passed as floats, and counts begin as np.int64: Numba compiles a function anew for every literal integer.


@kernel
def _put(out, n, vx, vy, spin, kind):
    if n < out.shape[0]:
        out[n, 0], out[n, 1], out[n, 2], out[n, 3] = vx, vy, spin, kind


@kernel
def _wants(wanted, n):
    # Velocities are worked out for these rows only: searches list many positions of which they play one shot.
    return wanted == (n if wanted >= 0 else ALL_ROWS)


@kernel
def _put_draws(p, out, wanted, n, x, y, kind):
    if n < out.shape[0] and abs(x) < p.side and y > p.hog and y < p.back:
        for spin in (1.0, -1.0):
            if _wants(wanted, n):
                vx, vy = draw_shot(p.model, p.release, x, y, spin)
                _put(out, n, vx, vy, spin, kind)
            n = min(n + 1, out.shape[0])
    return n


@kernel
def _put_hits(p, out, wanted, n, x, y, speed, kind):
    for spin in (1.0, -1.0):
        if _wants(wanted, n):
            vx, vy = hit_shot(p.model, p.release, x, y, spin, speed)
            _put(out, n, vx, vy, spin, kind)
        n = min(n + 1, out.shape[0])
    return n


@kernel
def _put_passes(p, out, wanted, n, x, y, kind):
    for spin in (1.0, -1.0):
        if _wants(wanted, n):
            vx, vy = pass_shot(p.model, p.release, x, y, spin, strongest_shot(p))
            _put(out, n, vx, vy, spin, kind)
        n = min(n + 1, out.shape[0])
    return n


@kernel
def nearest(p, stones, in_play, parity, beyond):
    """The stone of one side (rows of this parity) nearest to the tee but farther than `beyond` m, or -1."""
    best, found = 1e9, -1
    for k in range(parity, STONES, 2):
        if in_play[k] != 0:
            distance = tee_distance(stones, k)
            if beyond < distance < best:
                best, found = distance, k
    return found


@kernel
def in_house(p, stones, in_play, k):
    """Whether stone `k` lies where it would count."""
    return in_play[k] != 0 and tee_distance(stones, k) < p.score


@kernel
def _put_against(p, stones, in_play, kinds, k, rank, first, out, wanted, n):
    """Shots at the opponent's stone `k`, which is number `rank` from the tee. As those that follow it, returns how many there are now.

    Args:
        first: whether the table's first part is written, or its second.
    """
    distance = tee_distance(stones, k)
    x, y = stones[k, 0], stones[k, 1]
    house = distance < p.score
    if kinds & (1 << HIT) and house and first == (rank < 2):
        n = _put_hits(p, out, wanted, n, x, y, p.weights[1], float(HIT))
    if kinds & (1 << TAKE_OUT) and first == (rank == 0):
        n = _put_passes(p, out, wanted, n, x, y, float(TAKE_OUT))
    if kinds & (1 << FREEZE) and house and rank < 2:
        for gap in _FREEZE_GAPS:
            for angle in _FREEZE_ANGLES:
                if first == (rank == 0 and angle == 0.0):
                    s, c = sincos(angle * math.pi / 180.0)
                    n = _put_draws(p, out, wanted, n, x + gap * s, y - gap * c, float(FREEZE))
    if first:
        return n
    if kinds & (1 << HIT) and house and rank < 3:
        n = _put_hits(p, out, wanted, n, x, y, p.weights[0], float(HIT))
        n = _put_hits(p, out, wanted, n, x, y, p.weights[2], float(HIT))
    if kinds & (1 << PEEL) and not house and y < p.fgz_tee:
        for aside in (-RADIUS, RADIUS):
            n = _put_passes(p, out, wanted, n, x + aside, y, float(PEEL))
    if kinds & (1 << DOUBLE) and rank < 3:
        for j in range(k % 2, STONES, 2):
            if j != k and in_play[j] != 0 and stones[j, 1] > y - 0.3:
                dx, dy = stones[j, 0] - x, stones[j, 1] - y
                if dx * dx + dy * dy < 4.0:
                    # The first stone goes to the second: met on the side away from it.
                    length = math.sqrt(dx * dx + dy * dy)
                    n = _put_passes(p, out, wanted, n, x - 1.6 * RADIUS * dx / length, y, float(DOUBLE))
                    n = _put_passes(p, out, wanted, n, x + 1.2 * RADIUS * dx / length, y, float(DOUBLE))
    return n


@kernel
def _put_around(p, stones, in_play, kinds, k, theirs, out, wanted, n):
    """Shots of the table's second part that use stone `k`: round it, off it, in front of it."""
    x, y = stones[k, 0], stones[k, 1]
    house = tee_distance(stones, k) < p.score
    if kinds & (1 << COME_AROUND) and not house and y < 0.0:
        for behind in _BEHIND:
            n = _put_draws(p, out, wanted, n, x, y + behind, float(COME_AROUND))
    if k % 2 != theirs:
        if kinds & (1 << POSTGUARD) and house:
            for before in _BEFORE:
                n = _put_draws(p, out, wanted, n, x, y - before, float(POSTGUARD))
        if kinds & (1 << DRAW_RAISE) and y < -0.3:
            speed = speed_for(p.model, max(-y, 0.3))
            n = _put_hits(p, out, wanted, n, x, y - 2.0 * RADIUS, speed, float(DRAW_RAISE))
    if kinds & (1 << RAISE_TAKE_OUT):
        target = nearest(p, stones, in_play, theirs, -1.0)
        if target >= 0 and target != k and in_house(p, stones, in_play, target):
            dx, dy = stones[target, 0] - x, stones[target, 1] - y
            length = math.sqrt(dx * dx + dy * dy)
            if dy > 0.6 and abs(dx) < dy:
                ghost = 2.0 * RADIUS / length
                n = _put_passes(p, out, wanted, n, x - ghost * dx, y - ghost * dy, float(RAISE_TAKE_OUT))
    return n


@kernel
def _put_opponents(p, stones, in_play, kinds, theirs, first, out, wanted, n):
    """Shots at the opponent's stones, the nearest to the tee first."""
    beyond = -1.0
    for rank in range(8):
        k = nearest(p, stones, in_play, theirs, beyond)
        if k < 0:
            break
        beyond = tee_distance(stones, k)
        n = _put_against(p, stones, in_play, kinds, k, rank, first=first, out=out, wanted=wanted, n=n)
        if first and rank == 1:
            break
    return n


@kernel
def _put_plain_guards(p, stones, in_play, kinds, own, out, wanted, n):
    """The first part's shots with guards: before the own best stone, in the centre, behind one, and past one to be peeled."""
    if kinds & (1 << POSTGUARD) and own >= 0 and in_house(p, stones, in_play, own):
        n = _put_draws(p, out, wanted, n, stones[own, 0], stones[own, 1] - 2.0, float(POSTGUARD))
    if kinds & (1 << COME_AROUND):
        for k in range(STONES):
            if in_play[k] != 0 and stones[k, 1] < -1.0 and abs(stones[k, 0]) < 1.0 and n < PRINCIPAL - 16:
                if tee_distance(stones, k) >= p.score:
                    n = _put_draws(p, out, wanted, n, stones[k, 0] * 0.5, 0.0, float(COME_AROUND))
    if kinds & (1 << PREGUARD):
        n = _put_draws(p, out, wanted, n, _GUARDS[0][0], _GUARDS[0][1], float(PREGUARD))
    return n


@kernel
def candidates(p, stones, in_play, shot, kinds, out, wanted):
    """Writes candidate shots, those of the first part first, into `out` (`(n, 4)` float64: vx, vy, spin, kind).

    Args:
        p: the parameter record.
        stones, in_play: the position; shot: number of the shot, 0 to 15.
        kinds: bits of the kinds that may be written.
        wanted: the only row that is worked out; `NO_ROW`: they are only counted; `ALL_ROWS`.

    Returns:
        The number of candidates (at least one): all of them where `out` has `MOST` rows, else the first ones.
    """
    n = np.int64(0)
    theirs = (shot + 1) % 2
    if kinds & (1 << DRAW):
        n = _put_draws(p, out, wanted, n, 0.0, 0.0, float(DRAW))
    n = _put_opponents(p, stones, in_play, kinds, theirs, True, out, wanted, n)
    own = nearest(p, stones, in_play, shot % 2, -1.0)
    n = _put_plain_guards(p, stones, in_play, kinds, own, out, wanted, n)
    if kinds & (1 << PASS):
        if _wants(wanted, n):
            vx, vy = through_shot(p, stones, in_play)
            _put(out, n, vx, vy, 1.0, float(PASS))
        n = min(n + 1, out.shape[0])
    if kinds & (1 << RING_DRAW):
        n = _put_draws(p, out, wanted, n, _RING, 0.0, float(RING_DRAW))
        n = _put_draws(p, out, wanted, n, -_RING, 0.0, float(RING_DRAW))
    if n < out.shape[0]:
        n = _put_second_part(p, stones, in_play, kinds, theirs, out, wanted, n)
    if n == 0:
        if _wants(wanted, n):
            vx, vy = draw_shot(p.model, p.release, 0.0, 0.0, 1.0)
            _put(out, n, vx, vy, 1.0, float(DRAW))
        n += 1
    return n


@kernel
def _put_second_part(p, stones, in_play, kinds, theirs, out, wanted, n):
    """All candidates that the first part does not have."""
    n = _put_opponents(p, stones, in_play, kinds, theirs, False, out, wanted, n)
    if kinds & (1 << PREGUARD):
        for g in range(1, len(_GUARDS)):
            n = _put_draws(p, out, wanted, n, _GUARDS[g][0], _GUARDS[g][1], float(PREGUARD))
    for k in range(STONES):
        if in_play[k] != 0 and n < out.shape[0]:
            n = _put_around(p, stones, in_play, kinds, k, theirs, out, wanted, n)
    if kinds & (1 << DRAW):
        for d in range(1, len(_DRAWS)):
            n = _put_draws(p, out, wanted, n, _DRAWS[d][0], _DRAWS[d][1], float(DRAW))
    if kinds & (1 << RING_DRAW):
        for eighth in range(8):
            if eighth % 4 != 0 and eighth != 6:  # not the sides, which the first part has, and not the front
                s, c = sincos(eighth * math.pi / 4.0)
                n = _put_draws(p, out, wanted, n, _RING * c, _RING * s, float(RING_DRAW))
    return n


@kernel
def through_shot(p, stones, in_play):
    """A hard counter-clockwise shot that leaves the sheet on the side where fewer stones lie."""
    right = 0
    for k in range(STONES):
        if in_play[k] != 0:
            right += 1 if stones[k, 0] > 0.0 else -1
    x = -2.2 if right > 0 else 2.2
    return pass_shot(p.model, p.release, x, -1.0, 1.0, strongest_shot(p))
