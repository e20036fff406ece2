"""What the car senses: inertial sensor, battery voltage, tachometer. Kernels shared by the games of this package.

A sample is y = saturate(quantise(S C LPF(x) + bias + walk + noise)): low-pass filter at the substep's rate, then
mounting and scale of the axes, turn-on bias with random walk, white noise, and vibration that grows with speed: half of
its power at the wheels' frequency (aliased by sampling, as on the car), half of it broad.
Frame: x ahead, y to the left, z up; at rest the accelerometer reads (0, 0, 1) g; rates follow the right hand, so that
a nose going down is a positive y and a left turn a positive z. g and degrees/s inside, g and rad/s in the observation.
"""

from __future__ import annotations

import math

import numpy as np

from asobiba.core import kernel, random_normal, random_uniform
from asobiba.envs.mini4wd.car import (
    ACC_BIAS,
    ACC_NOISE,
    ACC_RANGE,
    ACC_STEP,
    ACC_WALK,
    ACTION_DELAY,
    BANDWIDTH,
    DROP_RATE,
    GYRO_BIAS,
    GYRO_NOISE,
    GYRO_RANGE,
    GYRO_STEP,
    GYRO_VIBRATION,
    GYRO_WALK,
    MOUNTING,
    SCALE_ERROR,
    TYRE,
    VIBRATION,
    VOLTAGE_NOISE,
)  # fmt: skip

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
    s.delay[k] = s.car[k, ACTION_DELAY]
    s.smooth[k] = 1.0 - math.exp(-2.0 * math.pi * s.sensor[k, BANDWIDTH] * 0.001)
    angle = s.sensor[k, MOUNTING] * _RADIANS
    a, b, c = angle * signed_uniform(s), angle * signed_uniform(s), angle * signed_uniform(s)
    for half in range(2):
        m = s.mix[k, half]
        m[0, 0], m[0, 1], m[0, 2] = math.cos(b) * math.cos(c), -math.cos(b) * math.sin(c), math.sin(b)
        m[1, 0] = math.cos(a) * math.sin(c) + math.sin(a) * math.sin(b) * math.cos(c)
        m[1, 1] = math.cos(a) * math.cos(c) - math.sin(a) * math.sin(b) * math.sin(c)
        m[1, 2] = -math.sin(a) * math.cos(b)
        m[2, 0] = math.sin(a) * math.sin(c) - math.cos(a) * math.sin(b) * math.cos(c)
        m[2, 1] = math.sin(a) * math.cos(c) + math.cos(a) * math.sin(b) * math.sin(c)
        m[2, 2] = math.cos(a) * math.cos(b)
        bias = s.sensor[k, ACC_BIAS] if half == 0 else s.sensor[k, GYRO_BIAS]
        for i in range(3):
            scale = 1.0 + s.sensor[k, SCALE_ERROR] * signed_uniform(s)
            for j in range(3):
                m[i, j] *= scale
            s.bias[k, 3 * half + i] = bias * signed_uniform(s)
    s.smoothed[k, 2] = 1.0


@kernel
def sense_at_rest(s, p, k):
    """Fills the window with what is sensed at rest."""
    for _ in range(s.ring.shape[1]):
        take_sample(s, p, k)
    s.frame_age[k] = 0.0
    send_frame(s, p, k)
    sense_car(s, k)


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
    radius = math.sqrt(-2.0 * math.log(1.0 - random_uniform(s)))
    angle = 2.0 * math.pi * random_uniform(s)
    return radius * math.cos(angle), radius * math.sin(angle)


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
    tone = math.sin(s.turned[k] * 2.0 / s.car[k, TYRE]) / math.sqrt(1.0 + (wheel_hz / band) * (wheel_hz / band))
    for half in range(2):
        shake = speed * (s.sensor[k, VIBRATION] if half == 0 else s.sensor[k, GYRO_VIBRATION])
        noise = s.sensor[k, ACC_NOISE] if half == 0 else s.sensor[k, GYRO_NOISE]
        most = s.sensor[k, ACC_RANGE] if half == 0 else s.sensor[k, GYRO_RANGE]
        step = s.sensor[k, ACC_STEP] if half == 0 else s.sensor[k, GYRO_STEP]
        unit = 1.0 if half == 0 else _RADIANS
        if most > 0.0:
            spread = math.sqrt(noise * noise + shake * shake * broad * broad)
            first, second = two_normals(s)
            third = random_normal(s)
            for i in range(3):
                value = s.bias[k, 3 * half + i] + shake * tone
                for j in range(3):
                    value += s.mix[k, half, i, j] * s.smoothed[k, 3 * half + j]
                value += spread * (first if i == 0 else (second if i == 1 else third))
                value = math.floor(value / step + 0.5) * step
                s.ring[k, at, 3 * half + i] = np.float32(min(max(value, -most), most) * unit)


@kernel
def send_frame(s, p, k):
    """The newest samples that have arrived, in order of time, into the observed window; or the frame is lost."""
    if s.sensor[k, DROP_RATE] > 0.0 and random_uniform(s) < s.sensor[k, DROP_RATE]:
        return
    s.frame_age[k] = p.latency_samples * p.sample_every * np.float32(0.001)
    window, size = s.imu.shape[1], s.ring.shape[1]
    at = s.ring_at[k] - p.latency_samples - window + 1
    if at < 0:
        at += size
    for i in range(window):
        for j in range(6):
            s.imu[k, i, j] = s.ring[k, at, j]
        at += 1
        if at == size:
            at = 0


@kernel
def sense_car(s, k):
    """Battery voltage and tachometer."""
    s.voltage[k] = np.float32(s.bus[k] + s.sensor[k, VOLTAGE_NOISE] * random_normal(s))
    s.wheel_turns[k] = np.float32(s.turned[k] / (math.pi * s.car[k, TYRE]))


@kernel
def sense(s, p, k):
    """What the car has sensed by the end of a control step."""
    walk = math.sqrt(p.control_step)
    s.frame_age[k] += np.float32(p.control_step)
    for half in range(2):
        spread = walk * (s.sensor[k, ACC_WALK] if half == 0 else s.sensor[k, GYRO_WALK])
        if spread > 0.0:
            first, second = two_normals(s)
            s.bias[k, 3 * half] += spread * first
            s.bias[k, 3 * half + 1] += spread * second
            s.bias[k, 3 * half + 2] += spread * random_normal(s)
    send_frame(s, p, k)
    sense_car(s, k)
