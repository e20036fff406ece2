"""What the games of this package share in their rules: beginning, sensing, hiding, observing. Kernels."""

from __future__ import annotations

import numpy as np

from asobiba.core import kernel, random_below, random_uniform
from asobiba.envs.mini4wd.car import CAR_NAMES, VOLTAGE
from asobiba.envs.mini4wd.course import KIND, LENGTH, NEXT_LANE
from asobiba.envs.mini4wd.physics import (
    BRAKING,
    DRIVE,
    FREE,
    draw_car,
    drive,
    measure_progress,
    place_car,
)
from asobiba.envs.mini4wd.sensors import draw_sensors, sense, sense_at_rest

_CARS = len(CAR_NAMES)


@kernel
def begin_car(s, p, k, lane):
    """Draws a car and its sensors and puts it on the start."""
    draw_car(s, p, k)
    place_car(s, p, k, lane)
    s.bus[k] = s.car[k, VOLTAGE]
    s.mode[k] = FREE
    draw_sensors(s, p, k)
    sense_at_rest(s, p, k)


@kernel
def starting_lane(s, p):
    """The lane that the parameters ask for, or a random one."""
    return p.lane if p.lane >= 0 else random_below(s, p.lanes)


@kernel
def mode_of(selector):
    """The drive mode that the second entry of an action selects: drive from 0, brake from -0.5, free below."""
    if selector >= 0.0:
        return DRIVE
    return BRAKING if selector >= -0.5 else FREE


@kernel
def control_step(s, p, k, duty, selector):
    """One control step of car `k`: remembers the action, drives, senses, keeps the trace of speeds."""
    duty = min(max(duty, -1.0), 1.0)
    selector = min(max(selector, -1.0), 1.0)
    for i in range(s.actions.shape[1] - 1, 0, -1):
        s.actions[k, i, 0] = s.actions[k, i - 1, 0]
        s.actions[k, i, 1] = s.actions[k, i - 1, 1]
    s.actions[k, 0, 0] = duty
    s.actions[k, 0, 1] = selector
    turned = s.turned[k]
    drive(s, p, k, duty, mode_of(selector), p.substeps)
    s.wheel_speed[k] = np.float32((s.turned[k] - turned) / p.control_step)
    sense(s, p, k)
    within = s.progress[k] / p.lap_length
    cell = int((within - np.floor(within)) * s.cell_speed.shape[1])
    s.cell_speed[k, min(cell, s.cell_speed.shape[1] - 1)] = np.float32(s.v[k])


@kernel
def look(s, p, k, out):
    """Writes what car `k` senses, in the order of the observation's channels."""
    at = 0
    for i in range(s.imu.shape[1]):
        for j in range(6):
            out[at] = s.imu[k, i, j]
            at += 1
    out[at] = s.voltage[k]
    out[at + 1] = s.actions[k, 0, 0]
    out[at + 2] = s.actions[k, 0, 1]
    out[at + 3] = np.float32(s.clock[k])
    out[at + 4] = s.frame_age[k]
    at += 5
    for i in range(s.actions.shape[1]):
        out[at] = s.actions[k, i, 0]
        out[at + 1] = s.actions[k, i, 1]
        at += 2
    if p.tachometer != 0:
        out[at] = s.wheel_speed[k]
        at += 1
    if p.target_high > 0.0:
        out[at] = s.target[k]


@kernel
def hide_simulator(s, p, k):
    """Blanks the simulator's state of car `k`; what its sensors gave stays."""
    s.u[k] = s.v[k] = s.w[k] = s.z[k] = s.vz[k] = s.y[k] = s.vy[k] = 0.0
    s.pitch[k] = s.pitch_rate[k] = s.roll[k] = s.roll_rate[k] = 0.0
    s.charge[k] = s.energy[k] = s.current[k] = s.bus[k] = s.duty[k] = s.delay[k] = s.since[k] = 0.0
    s.turned[k] = s.still[k] = s.knock_z[k] = s.knock_z_left[k] = s.knock_y[k] = s.knock_y_left[k] = 0.0
    s.smooth[k] = s.progress[k] = s.finish_time[k] = 0.0
    s.piece[k] = s.lane[k] = s.lap[k] = s.kind[k] = s.launch[k] = s.mode[k] = s.tick[k] = s.ring_at[k] = s.cause[k] = 0
    s.airborne[k] = 0
    s.car[k, :] = 0.0
    s.sensor[k, :] = 0.0
    s.mix[k, :, :, :] = 0.0
    s.bias[k, :] = 0.0
    s.smoothed[k, :] = 0.0
    s.ring[k, :, :] = 0.0
    s.cell_speed[k, :] = 0.0
    if p.tachometer == 0:
        s.wheel_speed[k] = 0.0
        s.wheel_turns[k] = 0.0


@kernel
def hide_senses(s, k):
    """Blanks what car `k` senses: its rival has no part in it."""
    s.imu[k, :, :] = 0.0
    s.actions[k, :, :] = 0.0
    s.voltage[k] = s.wheel_turns[k] = s.wheel_speed[k] = s.frame_age[k] = s.target[k] = 0.0


@kernel
def imagine(s, p, k, seen):
    """Draws a simulator's state for car `k` that its time allows: a new car, somewhere it can have come to.

    What was sensed stays as it is, if it is `seen`; of a rival's car the senses are drawn, too. The draw is from what
    is known before a run, not weighted by the measurements: a filter that wants the posterior weighs such draws itself.
    """
    draw_car(s, p, k)
    draw_sensors(s, p, k)
    place_car(s, p, k, starting_lane(s, p))
    if not seen:
        s.bus[k] = s.car[k, VOLTAGE]
        sense_at_rest(s, p, k)
    s.bus[k] = s.voltage[k]
    for i in range(s.ring.shape[1]):
        for j in range(6):
            s.ring[k, i, j] = s.imu[k, min(i, s.imu.shape[1] - 1), j]
    clock = s.clock[k]
    if clock > 0.0:
        s.duty[k] = s.actions[k, 0, 0]
        s.mode[k] = mode_of(s.actions[k, 0, 1])
        s.v[k] = s.wheel_speed[k] if seen and p.tachometer != 0 else 4.0 * random_uniform(s)
        s.w[k] = s.v[k]
        s.turned[k] = s.v[k] * clock * random_uniform(s)
        left = min(s.turned[k], (p.laps - 0.01) * p.lap_length)
        while left > 0.0:
            rest = p.track[s.piece[k], s.lane[k], LENGTH] - s.u[k]
            if left < rest:
                s.u[k] += left
                break
            left -= rest
            lane = int(p.track[s.piece[k], s.lane[k], NEXT_LANE])
            s.u[k] = 0.0
            s.lane[k] = lane
            s.piece[k] += 1
            if s.piece[k] == p.pieces:
                s.piece[k] = 0
                s.lap[k] += 1
        s.kind[k] = int(p.track[s.piece[k], s.lane[k], KIND])
        measure_progress(s, p, k)
