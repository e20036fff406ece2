"""Deliveries as a person says them: the weight and the target that give a velocity (the inverse of `shots`)."""

from __future__ import annotations

import math

from asobiba.core import kernel
from asobiba.core.elementary import atan2, sincos
from asobiba.envs.curling.motion import COS_ALPHA, CS2_KAPPA, SIN_ALPHA, fcv1_tau
from asobiba.envs.curling.shots import _cs2_pass, _fcv1_pass, hit_shot
from asobiba.envs.curling.simulators import CS2, FCV1_FRAME

_SAME = 2e-6
"""m/s, by which the velocity of a float32 action may differ from the one that it was made of."""


@kernel
def place_at_speed(model, release, delivery, speed):
    """The place (m) where the delivery `(vx, vy, spin)`, undisturbed, still has this speed (m/s); 0: where it stops."""
    vx, vy, spin = delivery
    v0, heading = math.sqrt(vx * vx + vy * vy), atan2(vy, vx)
    if model == CS2 and speed == 0.0:
        ax, ay = CS2_KAPPA * v0 * v0 * COS_ALPHA, spin * CS2_KAPPA * v0 * v0 * SIN_ALPHA
    elif model == CS2:
        ax, ay = _cs2_pass(v0, speed, spin)
    else:
        ax, ay = _fcv1_pass(fcv1_tau(v0) - 0.5 * FCV1_FRAME, fcv1_tau(speed), spin)
    s, c = sincos(heading)
    return ax * c - ay * s, ax * s + ay * c - release


@kernel
def named_shot(model, release, weights, area, delivery):
    """A delivery as a person says it: by its weight and its target.

    It is the lightest weight that gives the delivery again; else the lightest whose target lies in the area.

    Args:
        weights: m/s at the target, beside 0 for a draw.
        area: `(side, hog, far, parts)`: |x| up to `side` and y from `hog` to `far`, m, in `parts` of a metre.
        delivery: `(vx, vy, spin)`.

    Returns:
        `(weight, x, y, exact)`: its number (0: draw; -1: no target lies in the area), m, whether it gives the delivery
        again.
    """
    side, hog, far, parts = area
    vx, vy, spin = delivery
    weight, found_x, found_y = -1, 0.0, 0.0
    for k in range(len(weights) + 1):
        speed = weights[k - 1] if k > 0 else 0.0
        x, y = place_at_speed(model, release, delivery, speed)
        x, y = math.floor(x * parts + 0.5) / parts, math.floor(y * parts + 0.5) / parts
        if not (abs(x) <= side and hog <= y <= far):
            continue
        again_x, again_y = hit_shot(model, release, x, y, spin, speed)
        if abs(again_x - vx) < _SAME and abs(again_y - vy) < _SAME:
            return k, x, y, 1
        if weight < 0:
            weight, found_x, found_y = k, x, y
    return weight, found_x, found_y, 0
