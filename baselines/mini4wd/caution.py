"""The trained policy's kernels: what it knows of its run, and the predictive control whose caution it sets.

`predict` is equally cautious everywhere: it keeps every car as far from the limit as the worst of them needs. The policy sets the
caution anew in every step, apart for curves and for flight, from what it has learnt about its car on the way (how it leans
under load, what its motor and battery do otherwise than the nominal car's) and from the course ahead. Like `predict` it knows
the course and the nominal car; unlike it, it remembers.
"""

from __future__ import annotations

import math

import numpy as np

from asobiba.baselines.mini4wd.policies import FILTERS, SETTINGS, read_imu
from asobiba.baselines.mini4wd.predict import LAG, REPLICAS, SHIFTS, bend_at, locate, strongest
from asobiba.core import compiled, kernel
from asobiba.core.elementary import exp
from asobiba.core.record import record_dtype
from asobiba.envs.mini4wd.car import (
    BATTERY_R,
    CAR_NAMES,
    CG_HEIGHT,
    EFFICIENCY,
    FENCE,
    GEAR,
    GRIP,
    LANDING_PITCH,
    MASS,
    MOTOR_K,
    MOTOR_R,
    ROLLER_DRAG,
    ROLLER_OFFSET,
    TREAD,
    TYRE,
    VOLTAGE,
)
from asobiba.envs.mini4wd.course import CANT, CURVE, KAPPA, KIND, LANE_CHANGER, LENGTH, NEXT_LANE, THETA

GRAVITY = 9.80665
LEAN, LEANED, LOAD, LOADED, SHARE, PULLS, BRAKES, SAG, YAW, LEVEL = range(10)
"""Memory: lean (rad) and lateral load (g) of now, the greatest so far of each, the greatest lean for its load, how much faster
the wheels are than the replica's as the motor pulls and as it brakes (m/s), by how much the battery is below the replica's (V), how far the
yaw rate is from the replica's (rad/s), the last command's strength."""
_LEAN_TIME, _LOAD_TIME, _CAR_TIME, _YAW_TIME = 0.3, 0.06, 1.5, 0.3
"""Time constants of the memory, s."""
AHEAD = np.array([0.0, 0.15, 0.35, 0.6, 0.9, 1.25, 1.7, 2.2, 2.8, 3.5])
"""Distances at which the course is looked at, m."""
_NOW, _CAR = 21, 9
FEATURES = _NOW + _CAR + 4 * len(AHEAD)
CAUTIONS = 3
"""Entries of an action: caution in curves, in flight, and how long a command is tried; 0, 0 and -1/6 are those of `predict`."""

MEMORY = record_dtype(
    [
        ("setting", np.float64, (SETTINGS,)),
        ("filter", np.float64, (FILTERS,)),
        ("sensed", np.float64, (6,)),
        ("zero", np.float64, (6,)),
        ("belief", np.float64, (REPLICAS,)),
        ("car", np.float64, (len(CAR_NAMES),)),
        ("recall", np.float64, (LEVEL + 1,)),
        ("start", np.int64),
    ]
)


def fresh_memory(count: int) -> np.ndarray:
    """Memory records `(count,)` of cars at the start."""
    records = np.zeros(count, MEMORY)
    records["setting"][:, 3] = 1.0  # the tachometer is believed, as `predict` does
    return records


@kernel
def remember(s, p, k, m, r):
    """Takes in what the car sensed in a step; `r` is the replica that explains the run best."""
    step = p.control_step
    m.recall[LEAN] = (m.recall[LEAN] + m.sensed[3] * step) * exp(-step / _LEAN_TIME)
    lean = abs(m.recall[LEAN])
    load = s.wheel_speed[k] * m.sensed[5] / GRAVITY
    m.recall[LOAD] += min(step / _LOAD_TIME, 1.0) * (load - m.recall[LOAD])
    load = abs(m.recall[LOAD])
    m.recall[LEANED] = max(m.recall[LEANED], lean)
    m.recall[LOADED] = max(m.recall[LOADED], load)
    if load > 0.8:
        m.recall[SHARE] = max(m.recall[SHARE], lean / load)
    share = step / _CAR_TIME
    off = m.filter[SHIFTS + r.lane[0]] if r.airborne[0] == 0 else 0.0
    if s.actions[k, 0, 1] >= 0.0 and s.actions[k, 0, 0] > 0.9:
        m.recall[PULLS] += share * (off - m.recall[PULLS])
        m.recall[SAG] += share * (s.voltage[k] - r.bus[0] - m.recall[SAG])
    elif -0.5 <= s.actions[k, 0, 1] < 0.0:
        m.recall[BRAKES] += share * (off - m.recall[BRAKES])


@kernel
def see_ahead(model, r, out, at):
    """Curvature, slope, its change, and bridges of the replica's lane at the distances `AHEAD`."""
    piece, lane, u, gone = r.piece[0], r.lane[0], r.u[0], 0.0
    for i in range(AHEAD.shape[0]):
        u += AHEAD[i] - gone
        gone = AHEAD[i]
        while u >= model.track[piece, lane, LENGTH]:
            u -= model.track[piece, lane, LENGTH]
            lane = int(model.track[piece, lane, NEXT_LANE])
            piece = piece + 1 if piece + 1 < model.pieces else 0
        curve = model.track[piece, lane, CURVE]
        out[at] = 0.5 * abs(model.track[piece, lane, KAPPA]) * (1.0 - min(abs(model.track[piece, lane, CANT]), 1.0))
        out[at + 1] = 4.0 * (model.track[piece, lane, THETA] + curve * u)
        out[at + 2] = min(max(curve, -3.0), 3.0)
        out[at + 3] = 1.0 if int(model.track[piece, lane, KIND]) == LANE_CHANGER else 0.0
        at += 4


@kernel
def describe(s, p, k, m, r, model, out):
    """Writes the network's input, `(FEATURES,)`, all of about 1."""
    out[0] = 0.1 * min(s.clock[k], 20.0) - 1.0
    out[1] = 0.3 * r.v[0] - 1.0
    out[2] = min(max(r.w[0] - r.v[0], -2.0), 2.0)
    out[3] = float(r.airborne[0])
    out[4] = 0.3 * s.wheel_speed[k] - 1.0
    out[5] = 5.0 * m.filter[SHIFTS + r.lane[0]]
    out[6] = 20.0 * m.recall[PULLS]
    out[7] = 20.0 * m.recall[BRAKES]
    out[8] = 5.0 * m.recall[SAG]
    out[9] = 4.0 * m.recall[LEAN]
    out[10] = 4.0 * m.recall[LEANED]
    out[11] = 0.5 * abs(m.recall[LOAD])
    out[12] = 0.5 * m.recall[LOADED]
    out[13] = 10.0 * m.recall[SHARE]
    out[14] = s.actions[k, 0, 0]
    out[15] = s.actions[k, 0, 1]
    best, second = -1e30, -1e30
    for lane in range(p.lanes):
        if m.belief[lane] > best:
            second = best
            best = m.belief[lane]
        else:
            second = max(second, m.belief[lane])
    out[16] = min(0.05 * (best - second), 2.0)
    out[17] = 8.0 * abs(r.roll[0])
    out[18] = m.recall[YAW]
    out[19] = 0.5 * (s.voltage[k] - 2.5)
    out[20] = m.recall[LEVEL]
    at = _NOW
    car = model.car[0]
    half = 0.5 * car[TREAD]
    out[at] = 0.2 * (half / car[ROLLER_OFFSET] - 5.0)
    out[at + 1] = 50.0 * (car[FENCE] - 0.033)
    out[at + 2] = 0.1 * (car[LANDING_PITCH] - 30.0)
    out[at + 3] = 4.0 * (car[GRIP] - 0.5)
    out[at + 4] = 10.0 * (car[MASS] - 0.15)
    out[at + 5] = 50.0 * (car[CG_HEIGHT] - 0.018)
    fastest = car[VOLTAGE] / car[MOTOR_K] * 0.5 * car[TYRE] / car[GEAR]
    out[at + 6] = 0.2 * (fastest - 8.0)
    stall = car[VOLTAGE] * car[MOTOR_K] * car[GEAR] * car[EFFICIENCY] / (car[MOTOR_R] + car[BATTERY_R]) / car[TYRE]
    out[at + 7] = 0.1 * (stall / car[MASS] - 10.0)
    out[at + 8] = 4.0 * (car[ROLLER_DRAG] - 0.235)
    see_ahead(model, r, out, at + _CAR)
    for j in range(out.shape[0]):
        out[j] = min(max(out[j], -4.0), 4.0)


@kernel
def perceive(s, p, k, m, replicas, first, model, out):
    """Follows the run by a step, remembers it, and writes the network's input."""
    read_imu(s, p, k, m)
    if s.clock[k] == 0.0:
        for j in range(m.recall.shape[0]):
            m.recall[j] = 0.0
        for j in range(m.filter.shape[0]):
            m.filter[j] = 0.0
    m.start = locate(s, p, k, m, replicas, first, model)
    r = replicas[m.start]
    if s.clock[k] > 0.0:
        remember(s, p, k, m, r)
        bend = bend_at(model, r, -LAG * r.v[0]) if r.airborne[0] == 0 else 0.0
        share = min(p.control_step / _YAW_TIME, 1.0)
        m.recall[YAW] += share * (min(abs(m.sensed[5] - bend * r.v[0]), 5.0) - m.recall[YAW])
    describe(s, p, k, m, r, model, out)


@kernel
def drive_by(p, m, replicas, first, model, caution, out):
    """The strongest command that the caution, `(CAUTIONS,)`, allows."""
    rolling = min(max(0.6 - 0.6 * caution[0], 0.0), 1.2)
    flying = min(max(0.3 - 0.3 * caution[1], 0.0), 0.6)
    steps = int(min(max(7.0 - 6.0 * caution[2], 1.0), 13.0) + 0.5)
    strongest(replicas, first, m.start, p, model, steps, rolling, flying, out)
    m.recall[LEVEL] = out[0] if out[1] > 0.0 else (-0.5 if out[1] < -0.5 else -1.0)


@compiled()
def perceive_one(views, params, k, memories, replicas, models, out):
    """`perceive` of a single car."""
    perceive(views[0], params[0], k, memories[0], replicas, 0, models[0], out)


@compiled()
def drive_one(params, memories, replicas, models, caution, out):
    """`drive_by` of a single car."""
    drive_by(params[0], memories[0], replicas, 0, models[0], caution, out)


__all__ = ["AHEAD", "CAUTIONS", "FEATURES", "drive_one", "fresh_memory", "math", "perceive_one"]
