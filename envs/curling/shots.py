"""Velocities for intended shots: exact inverses of the free motion, and the official libraries' own approximations.

All of them take the model, the distance of the release before the tee (m), a point in the tee's frame (m) and the sign
of the spin (+1 counter-clockwise, -1 clockwise), and return the velocity of delivery `(vx, vy)`, m/s, without noise.
"""

from __future__ import annotations

import math

from asobiba.core import kernel
from asobiba.core.elementary import atan2, log, sincos
from asobiba.envs.curling.motion import (
    COS_ALPHA,
    CS2_ALPHA,
    CS2_KAPPA,
    FARTHEST,
    SIN_ALPHA,
    TOP_SPEED,
    fcv1_speed,
    fcv1_tau,
    fcv1_tau_at_distance,
    fcv1_turn,
    fcv1_way,
    friction_of,
)
from asobiba.envs.curling.simulators import (
    CREATE_SHOT_SHIFT,
    CREATE_SHOT_SLOPE,
    CS2,
    CS2_DECELERATION,
    CS2_TURN,
    FCV1_FRAME,
)


@kernel
def _aimed(speed, bearing, offset):
    # A stone that leaves along heading 0 passes at the bearing `offset`.
    heading = bearing - offset
    s, c = sincos(heading)
    return speed * c, speed * s


@kernel
def _cs2_pass(v0, v1, spin):
    """Position of a stone, sent along heading 0 at speed v0, when its speed is v1 (> 0)."""
    s, c = sincos(CS2_ALPHA + CS2_TURN * log(v0 / v1))
    along = v0 * v0 * COS_ALPHA - v1 * v1 * c
    across = spin * (v0 * v0 * SIN_ALPHA - v1 * v1 * s)
    return CS2_KAPPA * along, CS2_KAPPA * across


@kernel
def _fcv1_pass(tau0, tau1, spin):
    """Position of a stone, sent along heading 0 with `tau0` seconds to go, when it has `tau1` left."""
    along, across = fcv1_way(tau0)
    later, aside = fcv1_way(tau1)
    along, across = along - later, -spin * (across - aside)
    turn = spin * fcv1_turn(tau0)
    s, c = sincos(turn)
    return along * c - across * s, along * s + across * c


@kernel
def _fcv1_speed_of(tau):
    # Speed of delivery: half a frame's friction above that of the continuous motion.
    v = fcv1_speed(tau)
    return v + 0.5 * FCV1_FRAME * friction_of(v)


@kernel
def draw_shot(model, release, x, y, spin):
    """The delivery that stops at (x, y)."""
    dy = y + release
    distance, bearing = math.sqrt(x * x + dy * dy), atan2(dy, x)
    if model == CS2:
        return _aimed(math.sqrt(distance / CS2_KAPPA), bearing, spin * CS2_ALPHA)
    distance = min(distance, 0.99 * FARTHEST)
    tau = fcv1_tau_at_distance(distance)
    for _ in range(4):
        along, across = fcv1_way(tau)
        tau += (distance - math.sqrt(along * along + across * across)) / fcv1_speed(tau)
    ax, ay = _fcv1_pass(tau, 0.0, spin)
    return _aimed(_fcv1_speed_of(tau), bearing, atan2(ay, ax))


@kernel
def hit_shot(model, release, x, y, spin, speed):
    """The delivery that passes (x, y) with this remaining speed (m/s)."""
    if speed < 1e-6:
        return draw_shot(model, release, x, y, spin)
    dy = y + release
    distance, bearing = math.sqrt(x * x + dy * dy), atan2(dy, x)
    if model == CS2:
        v = math.sqrt(distance / CS2_KAPPA + speed * speed)
        for _ in range(8):
            ax, ay = _cs2_pass(v, speed, spin)
            v += (distance - math.sqrt(ax * ax + ay * ay)) / (2.0 * CS2_KAPPA * v)
        ax, ay = _cs2_pass(v, speed, spin)
        return _aimed(v, bearing, atan2(ay, ax))
    tau1 = fcv1_tau(speed)
    along, across = fcv1_way(tau1)
    most = 0.98 * FARTHEST
    tau = fcv1_tau_at_distance(min(distance + math.sqrt(along * along + across * across), most))
    fastest = fcv1_tau(0.98 * TOP_SPEED)
    for _ in range(8):
        ax, ay = _fcv1_pass(tau, tau1, spin)
        tau = min(tau + (distance - math.sqrt(ax * ax + ay * ay)) / fcv1_speed(tau), fastest)
    ax, ay = _fcv1_pass(tau, tau1, spin)
    return _aimed(_fcv1_speed_of(tau), bearing, atan2(ay, ax))


@kernel
def pass_shot(model, release, x, y, spin, speed):
    """The delivery at this speed (m/s) that passes (x, y), or one that stops there if this speed is too low."""
    dy = y + release
    distance, bearing = math.sqrt(x * x + dy * dy), atan2(dy, x)
    if model == CS2:
        reach = speed * speed - distance / CS2_KAPPA
        if reach <= 1e-9:
            return draw_shot(model, release, x, y, spin)
        v = math.sqrt(reach)
        for _ in range(8):
            ax, ay = _cs2_pass(speed, v, spin)
            v = math.sqrt(max(v * v + (math.sqrt(ax * ax + ay * ay) - distance) / CS2_KAPPA, 1e-12))
        ax, ay = _cs2_pass(speed, v, spin)
        return _aimed(speed, bearing, atan2(ay, ax))
    tau0 = fcv1_tau(speed) - 0.5 * FCV1_FRAME
    along, across = fcv1_way(tau0)
    rest = math.sqrt(along * along + across * across) - distance
    if rest <= 1e-9:
        return draw_shot(model, release, x, y, spin)
    tau = fcv1_tau_at_distance(rest)
    for _ in range(12):
        ax, ay = _fcv1_pass(tau0, tau, spin)
        tau = max(tau + (math.sqrt(ax * ax + ay * ay) - distance) / max(fcv1_speed(tau), 1e-3), 0.0)
    ax, ay = _fcv1_pass(tau0, tau, spin)
    return _aimed(speed, bearing, atan2(ay, ax))


@kernel
def create_shot(release, x, y, spin):
    """cs2's own `CreateShot`: a straight throw to a point beside the target. It misses the tee by 6 mm."""
    dx = x + spin * (CREATE_SHOT_SHIFT + CREATE_SHOT_SLOPE * y)
    dy = y - spin * CREATE_SHOT_SLOPE * x + release
    distance = math.sqrt(dx * dx + dy * dy)
    speed = math.sqrt(2.0 * CS2_DECELERATION / distance)
    return dx * speed, dy * speed
