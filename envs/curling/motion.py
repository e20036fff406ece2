"""The motion of one stone without contacts.

A stone's motion is described backwards from its stop: `tau` is the remaining time, and the vector from its
place to its stop depends on `tau` and the sign of its spin alone. In cs2 that is a closed form, a logarithmic spiral

    stop - P(v) = kappa v^2 exp(i (theta0 + s alpha + s w ln(v0/v))),   v = a tau,

kappa = 1/(a sqrt(4 + w^2)), alpha = atan(w/2). In fcv1 it is a table of cubic pieces in `tau`, made by
quadrature in `tables`: speed and heading depend on the speed only, so all stones slide on the end of one curve and its mirror image. The
pieces are equally long in the root of `tau`: motion changes fastest where it ends. There are few, because every
compiled function that simulates holds them as constants.
"""

from __future__ import annotations

import json
import math
from importlib import resources

import numpy as np

from asobiba.core import kernel
from asobiba.core.elementary import atan, log, sincos
from asobiba.envs.curling import simulators as const
from asobiba.envs.curling.simulators import CS2, CS2_DECELERATION, CS2_TURN

CS2_KAPPA = 1.0 / (CS2_DECELERATION * math.sqrt(4.0 + CS2_TURN * CS2_TURN))
CS2_ALPHA = atan(CS2_TURN / 2.0)
SIN_ALPHA, COS_ALPHA = sincos(CS2_ALPHA)
_STRAIGHT = 1.0 / (2.0 * CS2_DECELERATION)

ROOT_STEP = 1.0 / 40.0
"""Root of s: the step of the root of `tau` from one row of the tables of fcv1 to the next."""
TOP_SPEED = 6.0
"""m/s, the greatest speed in fcv1's tables; the simulator's shots are never faster."""


def _read_tables():
    with resources.files(__package__).joinpath("fcv1.json").open(encoding="utf-8") as file:
        return [np.array(each) if isinstance(each, list) else each for each in json.load(file).values()]


_CURVE, _LENGTH, _TURN, _SPIN_LOST, _TAU_OF_SPEED, _TAU_OF_DISTANCE, FARTHEST = _read_tables()
"""Rows every `ROOT_STEP`: cubic pieces of the way to the stop (along and across its last heading), of the length of the
path; heading and spin lost from there to the stop. `tau` by the root of the speed, and of the distance to the stop."""
_ROWS = _CURVE.shape[0]

# Columns of a stone's row while it moves. A row describes a stretch of its path: until it stops, spins out or is hit.
(
    T0, TAU0, STOP_X, STOP_Y, COS, SIN, SPIN, OMEGA, END, EXIT, NEXT, PARTNER, MOVING, VX, VY,
) = range(15)  # fmt: skip
"""Time and `tau` at the stretch's begin; where the stone would stop; the direction that the curve is drawn from; sign of
the spin; spin (rad/s) at the begin; times of the stretch's end, of leaving the sheet, of the next contact, and with
whom; whether the stone moves; its velocity at the begin."""


@kernel
def _row(tau):
    """The row of the tables for `tau`, and the time since the row's begin."""
    k = min(int(math.sqrt(tau) / ROOT_STEP), _ROWS - 1)
    return k, tau - (k * ROOT_STEP) * (k * ROOT_STEP)


@kernel
def _between(table, at):
    at = min(at, len(table) - 1.0001)
    k = int(at)
    return table[k] + (at - k) * (table[k + 1] - table[k])


@kernel
def fcv1_speed(tau):
    """Speed (m/s) with `tau` seconds to go."""
    k, t = _row(tau)
    return _LENGTH[k, 1] + t * (2.0 * _LENGTH[k, 2] + t * 3.0 * _LENGTH[k, 3])


@kernel
def fcv1_tau(v):
    """Seconds to go at speed `v`."""
    tau = _between(_TAU_OF_SPEED, math.sqrt(v / TOP_SPEED) * (len(_TAU_OF_SPEED) - 1))
    for _ in range(2):
        now = fcv1_speed(tau)
        tau = max(tau + (v - now) / friction_of(now), 0.0)
    return tau


@kernel
def friction_of(v):
    """`friction` for kernels."""
    return const.FCV1_GRAVITY * (const.FCV1_FRICTION[0] / (v + const.FCV1_FRICTION[1]) + const.FCV1_FRICTION[2])


@kernel
def fcv1_turn(tau):
    """The remaining turn of a spinning stone's heading (rad)."""
    return _between(_TURN, math.sqrt(tau) / ROOT_STEP)


@kernel
def _spin_lost(tau):
    return _between(_SPIN_LOST, math.sqrt(tau) / ROOT_STEP)


@kernel
def fcv1_way(tau):
    """The vector to the stop, `(along, across)` the last heading, for a stone that turns right."""
    k, t = _row(tau)
    along = _CURVE[k, 0] + t * (_CURVE[k, 1] + t * (_CURVE[k, 2] + t * _CURVE[k, 3]))
    across = _CURVE[k, 4] + t * (_CURVE[k, 5] + t * (_CURVE[k, 6] + t * _CURVE[k, 7]))
    return along, across


@kernel
def fcv1_length(tau):
    """Length of the path to the stop."""
    k, t = _row(tau)
    return _LENGTH[k, 0] + t * (_LENGTH[k, 1] + t * (_LENGTH[k, 2] + t * _LENGTH[k, 3]))


@kernel
def fcv1_tau_at_distance(distance):
    """The approximate remaining time of a spinning stone this far from its stop."""
    return _between(_TAU_OF_DISTANCE, math.sqrt(distance / FARTHEST) * (len(_TAU_OF_DISTANCE) - 1))


@kernel
def launch(model, m, i, t, x, y, first):
    """A stretch begins: stone `i`, whose row tells its velocity and spin, is at (x, y) at time `t`.

    `first`: it is delivered.
    """
    vx, vy, omega = m[i, VX], m[i, VY], m[i, OMEGA]
    speed = math.sqrt(vx * vx + vy * vy)
    m[i, T0] = t
    spin = 1.0 if omega > 1.2e-7 else -1.0 if omega < -1.2e-7 else 0.0
    m[i, SPIN] = spin
    if speed < 1e-9:
        m[i, TAU0] = 0.0
        m[i, STOP_X], m[i, STOP_Y], m[i, COS], m[i, SIN] = x, y, 1.0, 0.0
        m[i, END] = t
        return
    c, s = vx / speed, vy / speed
    if model == CS2:
        tau = speed / CS2_DECELERATION
        way = _STRAIGHT * speed * speed
        if spin != 0.0:
            way = CS2_KAPPA * speed * speed
            c, s = c * COS_ALPHA - s * spin * SIN_ALPHA, s * COS_ALPHA + c * spin * SIN_ALPHA
        m[i, STOP_X] = x + way * c
        m[i, STOP_Y] = y + way * s
        end = t + tau
    else:
        tau = fcv1_tau(speed)
        if first:
            tau -= 0.5 * const.FCV1_FRAME
        end = t + tau
        if spin != 0.0:
            turn = spin * fcv1_turn(tau)
            b, a = sincos(turn)
            c, s = c * a - s * b, s * a + c * b
            along, across = fcv1_way(tau)
            across *= -spin
            m[i, STOP_X] = x + along * c - across * s
            m[i, STOP_Y] = y + along * s + across * c
            kept = _spin_lost(tau) - abs(omega)
            if kept > 0.0:  # the spin is used up before the stone stops
                low, high = 0, min(int(math.sqrt(tau) / ROOT_STEP) + 1, _ROWS)
                while high - low > 1:
                    middle = (low + high) // 2
                    if _SPIN_LOST[middle] > kept:
                        high = middle
                    else:
                        low = middle
                share = (kept - _SPIN_LOST[low]) / (_SPIN_LOST[low + 1] - _SPIN_LOST[low])
                root = (low + share) * ROOT_STEP
                end = t + max(tau - root * root, 0.0)
        else:
            way = fcv1_length(tau)
            m[i, STOP_X] = x + way * c
            m[i, STOP_Y] = y + way * s
    m[i, TAU0] = tau
    m[i, COS] = c
    m[i, SIN] = s
    m[i, END] = end


@kernel
def at_time(model, m, i, t):
    """Place and velocity `(x, y, vx, vy)` of moving stone `i` at time `t`, within its present stretch."""
    tau0 = m[i, TAU0]
    tau = tau0 - (t - m[i, T0])
    c, s, spin = m[i, COS], m[i, SIN], m[i, SPIN]
    if tau <= 1e-12:
        return m[i, STOP_X], m[i, STOP_Y], 0.0, 0.0
    if model == CS2:
        v = CS2_DECELERATION * tau
        if spin == 0.0:
            way = _STRAIGHT * v * v
            return m[i, STOP_X] - way * c, m[i, STOP_Y] - way * s, v * c, v * s
        turn = spin * CS2_TURN * log(tau0 / tau)
        b, a = sincos(turn)
        c, s = c * a - s * b, s * a + c * b
        way = CS2_KAPPA * v * v
        ca, sa = COS_ALPHA, -spin * SIN_ALPHA
        return m[i, STOP_X] - way * c, m[i, STOP_Y] - way * s, v * (c * ca - s * sa), v * (s * ca + c * sa)
    k, u = _row(tau)
    if spin == 0.0:
        way = _LENGTH[k, 0] + u * (_LENGTH[k, 1] + u * (_LENGTH[k, 2] + u * _LENGTH[k, 3]))
        v = _LENGTH[k, 1] + u * (2.0 * _LENGTH[k, 2] + u * 3.0 * _LENGTH[k, 3])
        return m[i, STOP_X] - way * c, m[i, STOP_Y] - way * s, v * c, v * s
    along = _CURVE[k, 0] + u * (_CURVE[k, 1] + u * (_CURVE[k, 2] + u * _CURVE[k, 3]))
    across = -spin * (_CURVE[k, 4] + u * (_CURVE[k, 5] + u * (_CURVE[k, 6] + u * _CURVE[k, 7])))
    va = _CURVE[k, 1] + u * (2.0 * _CURVE[k, 2] + u * 3.0 * _CURVE[k, 3])
    vb = -spin * (_CURVE[k, 5] + u * (2.0 * _CURVE[k, 6] + u * 3.0 * _CURVE[k, 7]))
    return (
        m[i, STOP_X] - along * c + across * s,
        m[i, STOP_Y] - along * s - across * c,
        va * c - vb * s,
        va * s + vb * c,
    )


@kernel
def spin_at(model, m, i, t):
    """Spin (rad/s) of moving stone `i` at time `t`."""
    if model == CS2:
        return m[i, OMEGA]
    tau = m[i, TAU0] - (t - m[i, T0])
    left = abs(m[i, OMEGA]) - (_spin_lost(m[i, TAU0]) - _spin_lost(max(tau, 0.0)))
    return m[i, SPIN] * max(left, 0.0)


@kernel
def tau_at_distance(model, distance):
    """The approximate remaining time of a stone this far (m) from its stop, rather too long than too short."""
    if model == CS2:
        return math.sqrt(distance / CS2_KAPPA) / CS2_DECELERATION + 1e-6
    return fcv1_tau_at_distance(distance) + 0.01


@kernel
def strongest(model):
    """The greatest deceleration (m/s2) that a stone can have, turning included."""
    if model == CS2:
        return CS2_DECELERATION * 1.0023
    return 0.3701
