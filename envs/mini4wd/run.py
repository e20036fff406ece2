"""Rules common to the games of this package: beginning, sensing, hiding, observing. Kernels."""

from __future__ import annotations

import math

import numpy as np

from asobiba.core import kernel, random_below, random_uniform
from asobiba.envs.mini4wd.car import CAR_NAMES, TYRE, VOLTAGE
from asobiba.envs.mini4wd.course import KIND, KINDS, LENGTH, NEXT_LANE
from asobiba.envs.mini4wd.physics import (
    BRAKING,
    CAUSES,
    DRIVE,
    DT,
    FREE,
    draw_car,
    drive,
    measure_progress,
    place_car,
    send,
)
from asobiba.envs.mini4wd.profile import ACTION_DELAY, COMMAND_LOSS, PULSES_PER_TURN, STANDING
from asobiba.envs.mini4wd.sensors import VOLTS, WHEEL_SPEED, WHEEL_TURNS, draw_sensors, sense, sense_at_rest

_CARS, _KINDS, _CAUSES = len(CAR_NAMES), len(KINDS), len(CAUSES)


@kernel
def begin_car(s, p, k, lane):
    """Draws a car and its sensors and puts it on the start."""
    draw_car(s, p, k)
    place_car(s, p, k, lane)
    s.bus[k] = s.car[k, VOLTAGE]
    s.mode[k] = FREE
    s.idle[k] = STANDING
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
    """One control step of car `k`: remembers the action, sends it unless it is lost, drives, senses, keeps the trace of speeds."""
    duty = min(max(duty, -1.0), 1.0)
    selector = min(max(selector, -1.0), 1.0)
    for i in range(s.actions.shape[1] - 1, 0, -1):
        s.actions[k, i, 0] = s.actions[k, i - 1, 0]
        s.actions[k, i, 1] = s.actions[k, i - 1, 1]
    s.actions[k, 0, 0] = duty
    s.actions[k, 0, 1] = selector
    if s.sensor[k, COMMAND_LOSS] == 0.0 or random_uniform(s) >= s.sensor[k, COMMAND_LOSS]:
        send(s, k, duty, mode_of(selector))
    drive(s, p, k, p.substeps)
    sense(s, p, k)
    within = s.progress[k] / p.lap_length
    cell = int((within - math.floor(within)) * s.cell_speed.shape[1])
    s.cell_speed[k, min(cell, s.cell_speed.shape[1] - 1)] = np.float32(s.v[k])


@kernel
def look(s, p, k, out):
    """Writes the senses of car `k`, in the order of the observation's channels."""
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
    """Blanks the simulator's state of car `k`; its sensors' readings stay."""
    s.u[k] = s.v[k] = s.w[k] = s.z[k] = s.vz[k] = s.y[k] = s.vy[k] = 0.0
    s.pitch[k] = s.pitch_rate[k] = s.roll[k] = s.roll_rate[k] = 0.0
    s.charge[k] = s.energy[k] = s.current[k] = s.bus[k] = s.duty[k] = 0.0
    s.turned[k] = s.still[k] = s.knock_z[k] = s.knock_z_left[k] = s.knock_y[k] = s.knock_y_left[k] = 0.0
    s.smooth[k] = s.progress[k] = s.finish_time[k] = 0.0
    s.reversed[k] = s.low[k] = s.idle[k] = s.driven[k] = s.silence[k] = s.phase[k] = s.edge[k] = s.seen_edge[
        k
    ] = s.measured[k] = 0.0
    s.mark[k] = s.pulses[k] = s.seen_pulses[k] = 0
    s.piece[k] = s.lane[k] = s.lap[k] = s.kind[k] = s.launch[k] = s.mode[k] = s.tick[k] = s.ring_at[k] = s.cause[k] = 0
    s.airborne[k] = 0
    s.under_way[k] = 0
    s.acts_at[k, :] = 0.0
    s.coming_duty[k, :] = 0.0
    s.coming_mode[k, :] = 0
    s.car[k, :] = 0.0
    s.sensor[k, :] = 0.0
    s.mix[k, :, :, :] = 0.0
    s.bias[k, :] = 0.0
    s.smoothed[k, :] = 0.0
    s.ring[k, :, :] = 0.0
    s.cell_speed[k, :] = 0.0


@kernel
def hide_senses(s, k):
    """Blanks the senses of car `k`, which its rival does not share."""
    s.imu[k, :, :] = 0.0
    s.actions[k, :, :] = 0.0
    s.voltage[k] = s.wheel_turns[k] = s.wheel_speed[k] = s.frame_age[k] = s.target[k] = 0.0


@kernel
def imagine_commands(s, p, k):
    """The command that car `k` obeys and those that are under way, by its delay and the last actions.

    Actions beyond the history are taken for the oldest of it, lost ones for sent.
    """
    begun = int(s.clock[k] / p.control_step + 0.5)
    count = min(int((s.sensor[k, ACTION_DELAY] + 0.5 * DT) / p.control_step), begun, s.acts_at.shape[1])
    oldest = s.actions.shape[1] - 1
    if count < begun:
        s.duty[k] = s.actions[k, min(count, oldest), 0]
        s.mode[k] = mode_of(s.actions[k, min(count, oldest), 1])
    s.under_way[k] = count
    for i in range(count):
        ago = count - i
        s.acts_at[k, i] = s.clock[k] - ago * p.control_step + s.sensor[k, ACTION_DELAY]
        s.coming_duty[k, i] = s.actions[k, min(ago - 1, oldest), 0]
        s.coming_mode[k, i] = mode_of(s.actions[k, min(ago - 1, oldest), 1])


@kernel
def imagine(s, p, k, seen):
    """Draws a simulator's state for car `k` that its time allows: a new car, at a reachable place.

    Sensed values are kept if they are `seen`; for a rival's car the senses are drawn too. The draw is from the prior,
    not weighted by the measurements: a filter that needs the posterior must weigh such draws itself.
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
        s.ring[k, i, VOLTS] = s.voltage[k]
        s.ring[k, i, WHEEL_SPEED] = s.wheel_speed[k]
        s.ring[k, i, WHEEL_TURNS] = s.wheel_turns[k]
    clock = s.clock[k]
    if clock > 0.0:
        imagine_commands(s, p, k)
        s.v[k] = s.wheel_speed[k] if seen and p.tachometer != 0 else 4.0 * random_uniform(s)
        s.w[k] = s.v[k]
        s.turned[k] = s.v[k] * clock * random_uniform(s)
        if p.tachometer != 0:
            s.pulses[k] = s.seen_pulses[k] = int(s.wheel_turns[k] * s.sensor[k, PULSES_PER_TURN] + 0.5)
            s.edge[k] = s.seen_edge[k] = clock
            s.measured[k] = s.wheel_speed[k]
            s.turned[k] = s.wheel_turns[k] * math.pi * s.car[k, TYRE]
            s.mark[k] = math.floor(s.turned[k] / (math.pi * s.car[k, TYRE]) * s.sensor[k, PULSES_PER_TURN] + s.phase[k])
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


@kernel
def _within(x, low, high):
    """Whether a number lies in a range; NaN does not."""
    return x >= low and x <= high


@kernel
def _valid_motion(s, k):
    """Whether speeds, angles, times and shares of a car lie in their ranges."""
    for value in (
        s.v[k],
        s.w[k],
        s.vz[k],
        s.vy[k],
        s.current[k],
        s.roll_rate[k],
        s.pitch_rate[k],
        s.knock_y[k],
        s.knock_z[k],
    ):
        if not _within(value, -1e5, 1e5):
            return False
    for value in (
        s.z[k],
        s.y[k],
        s.pitch[k],
        s.roll[k],
        s.charge[k],
        s.energy[k],
        s.turned[k],
        s.progress[k],
        s.bus[k],
    ):
        if not _within(value, -1e5, 1e5):
            return False
    for value in (
        s.still[k],
        s.reversed[k],
        s.low[k],
        s.idle[k],
        s.driven[k],
        s.silence[k],
        s.finish_time[k],
    ):
        if not _within(value, 0.0, 3600.0):
            return False
    for value in (s.edge[k], s.seen_edge[k], s.measured[k], s.knock_y_left[k], s.knock_z_left[k]):
        if not _within(value, -1.0, 3600.0):
            return False
    return _within(s.phase[k], 0.0, 1.0) and _within(s.smooth[k], 0.0, 1.0) and _within(s.duty[k], -1.0, 1.0)


@kernel
def _valid_commands(s, k):
    """Whether the commands under way are in order and none is later than the car's delay."""
    if not 0 <= s.under_way[k] <= s.acts_at.shape[1]:
        return False
    earliest = s.clock[k] - DT
    for i in range(s.acts_at.shape[1]):
        if i < s.under_way[k]:
            if not _within(s.acts_at[k, i], earliest, s.clock[k] + s.sensor[k, ACTION_DELAY] + 1e-9):
                return False
            earliest = s.acts_at[k, i]
        elif s.acts_at[k, i] != 0.0 or s.coming_duty[k, i] != 0.0 or s.coming_mode[k, i] != 0:
            return False
        if not (_within(s.coming_duty[k, i], -1.0, 1.0) and 0 <= s.coming_mode[k, i] <= FREE):
            return False
    return True


@kernel
def valid_car(s, p, k):
    """Whether car `k` of a record from outside is one that these rules could have made: its places, counts and ranges."""
    if not (0 <= s.piece[k] < p.pieces and 0 <= s.lane[k] < p.lanes and -1000 <= s.lap[k] <= p.laps + 1):
        return False
    if not (0 <= s.kind[k] < _KINDS and 0 <= s.launch[k] < _KINDS and 0 <= s.cause[k] < _CAUSES):
        return False
    if not (0 <= s.mode[k] <= FREE and 0 <= s.tick[k] < p.sample_every and 0 <= s.ring_at[k] < s.ring.shape[1]):
        return False
    if s.airborne[k] > 1 or s.pulses[k] < 0 or s.seen_pulses[k] < 0 or s.seen_pulses[k] > s.pulses[k]:
        return False
    if not (_within(s.u[k], 0.0, p.track[s.piece[k], s.lane[k], LENGTH]) and _within(s.clock[k], 0.0, 3600.0)):
        return False
    if not (_valid_motion(s, k) and _valid_commands(s, k)):
        return False
    for j in range(s.car.shape[1]):
        if not _within(s.car[k, j], _low_end(p, j, p.car[k, j]), _high_end(p, j, p.car[k, j])):
            return False
    for j in range(s.sensor.shape[1]):
        place = j + s.car.shape[1]
        if not _within(s.sensor[k, j], _low_end(p, place, p.sensor[j]), _high_end(p, place, p.sensor[j])):
            return False
    for i in range(s.imu.shape[1]):
        for j in range(6):
            if not _within(s.imu[k, i, j], -1e4, 1e4):
                return False
    for i in range(s.ring.shape[1]):
        for j in range(s.ring.shape[2]):
            if not _within(s.ring[k, i, j], -1e6, 1e6):
                return False
    for j in range(6):
        if not (_within(s.bias[k, j], -1e4, 1e4) and _within(s.smoothed[k, j], -1e6, 1e6)):
            return False
    for i in range(s.actions.shape[1]):
        if not (_within(s.actions[k, i, 0], -1.0, 1.0) and _within(s.actions[k, i, 1], -1.0, 1.0)):
            return False
    return (
        _within(s.target[k], 0.0, 1000.0)
        and _within(s.voltage[k], -100.0, 100.0)
        and _within(s.wheel_speed[k], -1e4, 1e4)
        and _within(s.frame_age[k], 0.0, 3600.0)
    )


@kernel
def _low_end(p, place, nominal):
    """Least value that a quantity of car or profile is drawn as, rounding allowed for."""
    return min(nominal * p.ranges[place, 0], nominal * p.ranges[place, 1]) - 1e-9


@kernel
def _high_end(p, place, nominal):
    return max(nominal * p.ranges[place, 0], nominal * p.ranges[place, 1]) + 1e-9
