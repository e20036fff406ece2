"""The car's sensors: inertial sensor, battery voltage, tachometer. Kernels shared by the games of this package.

A sample is y = saturate(quantise(S C LPF(x) + bias + walk + noise)): low-pass filter at the substep's rate, then
mounting and scale of the axes, turn-on bias with random walk, white noise, and vibration that grows with speed: half of
its power at the wheels' frequency (aliased by sampling, as on the car), half of it broad.
Frame: x ahead, y to the left, z up; at rest the accelerometer reads (0, 0, 1) g; rates follow the right hand, so that
a nose going down is a positive y and a left turn a positive z. g and degrees/s inside, g and rad/s in the observation.

A telemetry frame holds a sample, the battery's voltage, and what the tachometer has counted and measured. Frames are
taken on a grid of the car's own, whose phase is drawn anew for every episode, and reach the host `latency` later.
"""

from __future__ import annotations

import math

import numpy as np

from asobiba.core import kernel, random_below, random_normal, random_uniform
from asobiba.core.elementary import exp, log, sin, sincos
from asobiba.envs.mini4wd.car import TYRE
from asobiba.envs.mini4wd.profile import (
    ACC_BIAS,
    ACC_NOISE,
    ACC_RANGE,
    ACC_STEP,
    ACC_WALK,
    BANDWIDTH,
    DROP_RATE,
    GYRO_BIAS,
    GYRO_NOISE,
    GYRO_RANGE,
    GYRO_STEP,
    GYRO_VIBRATION,
    GYRO_WALK,
    LATENCY,
    MOUNTING,
    PULSES_PER_TURN,
    ROLL_VIBRATION,
    SCALE_ERROR,
    TACHOMETER_FILTER,
    TACHOMETER_JITTER,
    VIBRATION,
    VOLTAGE_NOISE,
)  # fmt: skip
from asobiba.envs.mini4wd.tachometer import wheel_speed

VOLTS, WHEEL_SPEED, WHEEL_TURNS = 6, 7, 8
"""Columns of a telemetry frame in the ring, after the six of the inertial sensor."""
FRAME = 9
_G = 1.0 / 9.80665
_DEGREES = 180.0 / math.pi
_RADIANS = math.pi / 180.0
_BROAD_BAND = 500.0  # Hz, half the substeps' rate


@kernel
def signed_uniform(s):
    """A uniform float in [-1, 1)."""
    return 2.0 * random_uniform(s) - 1.0


@kernel
def draw_sensors(s, p, k):
    """Mounting, scale and turn-on bias of this episode."""
    s.smooth[k] = 1.0 - exp(-2.0 * math.pi * s.sensor[k, BANDWIDTH] * 0.001)
    angle = s.sensor[k, MOUNTING] * _RADIANS
    sin_a, cos_a = sincos(angle * signed_uniform(s))
    sin_b, cos_b = sincos(angle * signed_uniform(s))
    sin_c, cos_c = sincos(angle * signed_uniform(s))
    for half in range(2):
        m = s.mix[k, half]
        m[0, 0], m[0, 1], m[0, 2] = cos_b * cos_c, -cos_b * sin_c, sin_b
        m[1, 0] = cos_a * sin_c + sin_a * sin_b * cos_c
        m[1, 1] = cos_a * cos_c - sin_a * sin_b * sin_c
        m[1, 2] = -sin_a * cos_b
        m[2, 0] = sin_a * sin_c - cos_a * sin_b * cos_c
        m[2, 1] = sin_a * cos_c + cos_a * sin_b * sin_c
        m[2, 2] = cos_a * cos_b
        bias = s.sensor[k, ACC_BIAS] if half == 0 else s.sensor[k, GYRO_BIAS]
        for i in range(3):
            scale = 1.0 + s.sensor[k, SCALE_ERROR] * signed_uniform(s)
            for j in range(3):
                m[i, j] *= scale
            s.bias[k, 3 * half + i] = bias * signed_uniform(s)
    s.smoothed[k, 2] = 1.0
    s.phase[k] = random_uniform(s)
    s.tick[k] = random_below(s, min(p.sample_every, 50))


@kernel
def sense_at_rest(s, p, k):
    """Fills the window with what is sensed at rest."""
    for _ in range(s.ring.shape[1]):
        take_sample(s, p, k)
    receive_frame(s, p, k)


@kernel
def filter_samples(s, k, ax, ay, az, roll_rate, nose_down, yaw):
    """Low-pass filter over one substep: accelerations in m/s2, rates in rad/s."""
    share = s.smooth[k]
    s.smoothed[k, 0] += share * (ax * _G - s.smoothed[k, 0])
    s.smoothed[k, 1] += share * (ay * _G - s.smoothed[k, 1])
    s.smoothed[k, 2] += share * (az * _G - s.smoothed[k, 2])
    s.smoothed[k, 3] += share * (roll_rate * _DEGREES - s.smoothed[k, 3])
    s.smoothed[k, 4] += share * (nose_down * _DEGREES - s.smoothed[k, 4])
    s.smoothed[k, 5] += share * (yaw * _DEGREES - s.smoothed[k, 5])


@kernel
def two_normals(s):
    """Two independent standard normal floats (Box-Muller, two draws)."""
    radius = math.sqrt(-2.0 * log(1.0 - random_uniform(s)))
    sine, cosine = sincos(2.0 * math.pi * random_uniform(s))
    return radius * cosine, radius * sine


@kernel
def take_sample(s, p, k):
    """One sample of the six axes into the ring."""
    at = s.ring_at[k] + 1
    if at == s.ring.shape[1]:
        at = 0
    s.ring_at[k] = at
    speed = abs(s.w[k])
    band = s.sensor[k, BANDWIDTH]
    wheel_hz = speed / (math.pi * s.car[k, TYRE])
    broad = math.sqrt(min(band / _BROAD_BAND, 1.0)) * 0.7071
    tone = sin(s.turned[k] * 2.0 / s.car[k, TYRE]) / math.sqrt(1.0 + (wheel_hz / band) * (wheel_hz / band))
    for half in range(2):
        shake = speed * (s.sensor[k, VIBRATION] if half == 0 else s.sensor[k, GYRO_VIBRATION])
        noise = s.sensor[k, ACC_NOISE] if half == 0 else s.sensor[k, GYRO_NOISE]
        most = s.sensor[k, ACC_RANGE] if half == 0 else s.sensor[k, GYRO_RANGE]
        step = s.sensor[k, ACC_STEP] if half == 0 else s.sensor[k, GYRO_STEP]
        unit = 1.0 if half == 0 else _RADIANS
        if most > 0.0:
            first, second = two_normals(s)
            third = random_normal(s)
            for i in range(3):
                if half == 1 and i == 0:
                    shakes = shake + speed * s.sensor[k, ROLL_VIBRATION]
                else:
                    shakes = shake
                spread = math.sqrt(noise * noise + shakes * shakes * broad * broad)
                value = s.bias[k, 3 * half + i] + shakes * tone
                for j in range(3):
                    value += s.mix[k, half, i, j] * s.smoothed[k, 3 * half + j]
                value += spread * (first if i == 0 else (second if i == 1 else third))
                value = math.floor(value / step + 0.5) * step
                s.ring[k, at, 3 * half + i] = np.float32(min(max(value, -most), most) * unit)
    s.ring[k, at, VOLTS] = np.float32(s.bus[k] + s.sensor[k, VOLTAGE_NOISE] * random_normal(s))
    if p.tachometer != 0:
        read_tachometer(s, k)
        s.ring[k, at, WHEEL_SPEED] = np.float32(s.measured[k])
        s.ring[k, at, WHEEL_TURNS] = np.float32(s.pulses[k] / s.sensor[k, PULSES_PER_TURN])


@kernel
def count_pulses(s, k):
    """The tachometer over one substep, before the clock moves on: which marks have passed, and when the last did."""
    per_pulse = math.pi * s.car[k, TYRE] / s.sensor[k, PULSES_PER_TURN]
    at = s.turned[k] / per_pulse + s.phase[k]
    mark = math.floor(at)
    if mark == s.mark[k]:
        return
    beyond = at - mark if mark > s.mark[k] else s.mark[k] - at
    since = min(beyond * per_pulse / max(abs(s.w[k]), 1e-3), 0.001)
    s.edge[k] = s.clock[k] + 0.001 - since
    if s.sensor[k, TACHOMETER_JITTER] > 0.0:
        s.edge[k] += s.sensor[k, TACHOMETER_JITTER] * random_normal(s)
    s.pulses[k] += abs(mark - s.mark[k])
    s.mark[k] = mark


@kernel
def read_tachometer(s, k):
    """The wheel speed that another frame measures."""
    per_pulse = math.pi * s.car[k, TYRE] / s.sensor[k, PULSES_PER_TURN]
    s.measured[k] = wheel_speed(
        s.measured[k], s.pulses[k], s.edge[k], s.seen_pulses[k], s.seen_edge[k], s.clock[k], per_pulse,
        s.sensor[k, TACHOMETER_FILTER],
    )  # fmt: skip
    if s.pulses[k] != s.seen_pulses[k]:
        s.seen_pulses[k] = s.pulses[k]
        s.seen_edge[k] = s.edge[k]


@kernel
def receive_frame(s, p, k):
    """Data that has reached the host by now: the newest samples, in order of time, and the rest of the frame."""
    step = 0.001 * p.sample_every
    age = 0.001 * s.tick[k]
    window, size = s.imu.shape[1], s.ring.shape[1]
    at = s.ring_at[k]
    behind = 0
    while age < s.sensor[k, LATENCY] - 1e-9 and behind < size - window:
        age += step
        behind += 1
    at -= behind
    if at < 0:
        at += size
    s.frame_age[k] = np.float32(age)
    s.voltage[k] = s.ring[k, at, VOLTS]
    s.wheel_speed[k] = s.ring[k, at, WHEEL_SPEED]
    s.wheel_turns[k] = s.ring[k, at, WHEEL_TURNS]
    at -= window - 1
    if at < 0:
        at += size
    for i in range(window):
        for j in range(6):
            s.imu[k, i, j] = s.ring[k, at, j]
        at += 1
        if at == size:
            at = 0


@kernel
def sense(s, p, k):
    """Sensor readings at the end of a control step."""
    walk = math.sqrt(p.control_step)
    s.frame_age[k] += np.float32(p.control_step)
    for half in range(2):
        spread = walk * (s.sensor[k, ACC_WALK] if half == 0 else s.sensor[k, GYRO_WALK])
        if spread > 0.0:
            first, second = two_normals(s)
            s.bias[k, 3 * half] += spread * first
            s.bias[k, 3 * half + 1] += spread * second
            s.bias[k, 3 * half + 2] += spread * random_normal(s)
    if s.sensor[k, DROP_RATE] > 0.0 and random_uniform(s) < s.sensor[k, DROP_RATE]:
        return
    receive_frame(s, p, k)
