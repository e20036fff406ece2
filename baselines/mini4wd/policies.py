"""The controllers as kernels: from a car's senses to duty and drive mode.

`s` is a view (the senses of the car of seat `k`: `imu`, `voltage`, `wheel_speed`, `actions`, `clock`), `m` the
controller's memory record, whose `setting` array holds its parameters, `out` receives duty and mode selector.
Accelerations are in g, rates in rad/s; x ahead, y left, z up.
"""

from __future__ import annotations

import math

import numpy as np

from asobiba.baselines.mini4wd.localise import localise
from asobiba.baselines.mini4wd.plan import plan
from asobiba.baselines.mini4wd.predict import predict
from asobiba.baselines.mini4wd.stopping import PULSE_AGE, nominal_pull, stop_at_mark
from asobiba.core import kernel
from asobiba.core.elementary import asin
from asobiba.envs.mini4wd.layout import LEVELS
from asobiba.envs.mini4wd.profile import LATENCY, TACHOMETER_FILTER

CONSTANT, SEQUENCE, SLOPE, PLAYBACK, PSEUDO_SPEED, GYRO_PITCH, SHAPE, LOCALISE, PREDICT, STOP, PLAN = range(11)
DRIVE, BRAKE, FREE = 0.5, -0.25, -0.75
SETTINGS, FILTERS, TAPE = 12, 16, 3000
GRAVITY = 9.80665
_DUTIES = np.array([duty for duty, _ in LEVELS])
_DRIVES = np.array([selector >= 0 for _, selector in LEVELS])
_UNDER_WAY = 1.0
"""A car that goes faster is under way, m/s."""
_SIDEWAYS = 0.5
"""A car whose lateral acceleration is beyond this is in a curve, g."""
_SETTLED = 0.16
"""So long after pulling away or a curve the tachometer has caught up with the accelerometer, s."""


@kernel
def read_imu(s, p, k, m):
    """Means of the samples that are new in this step into `m.sensed`; those of the standing start are the zero."""
    window = s.imu.shape[1]
    new = min(max(p.substeps // p.sample_every, 1), window)
    standing = s.clock[k] == 0.0
    if standing:
        new = window
    for j in range(6):
        total = 0.0
        for i in range(window - new, window):
            total += s.imu[k, i, j]
        m.sensed[j] = total / new
    if standing:
        for j in range(6):
            m.zero[j] = m.sensed[j] - (1.0 if j == 2 else 0.0)
    for j in range(6):
        m.sensed[j] -= m.zero[j]


@kernel
def constant(m, out):
    out[0] = m.setting[0]
    out[1] = DRIVE


@kernel
def on_time(time, on, off):
    """Time that a pattern, on for `on` s, off for `off` s, and so on, has been on since its beginning, s."""
    periods = math.floor(time / (on + off))
    return periods * on + min(time - periods * (on + off), on)


@kernel
def sequence(s, p, k, m, out):
    """On for a time, off for a time, and again. What lies inside one control period acts as its share of the duty."""
    on, off = m.setting[2], m.setting[1]
    now = s.clock[k] + 1e-9
    share = (on_time(now + p.control_step, on, off) - on_time(now, on, off)) / p.control_step
    share = math.floor(1000.0 * share + 0.5) / 1000.0  # as fine as a bridge's pulses
    out[0] = m.setting[0] * min(share, 1.0)
    out[1] = DRIVE if share > 0.0 else FREE


@kernel
def climb(s, p, k, m):
    """Sine of the slope: what the accelerometer reads ahead beyond the speed's own change.

    With a tachometer the change is that of the wheels, and the reading is made as late as the tachometer's filter makes
    them. In curves nothing is read: there a sensor that is mounted a degree askew reads a share of the lateral acceleration.
    Nor just after one, nor as the car pulls away: where the acceleration jumps, the tachometer is late.
    Without a tachometer the change is what the nominal motor gives at the pseudo-speed (the reading added up). A rolling car's
    accelerometer reads the motor's force and the drag, and no gravity: it sees a slope only by what the motor does as
    the car slows down, which is less than what its own vibration hides.
    """
    reading = m.sensed[0] * GRAVITY
    if p.tachometer != 0:
        behind = p.sensor[TACHOMETER_FILTER] + p.sensor[LATENCY] + PULSE_AGE
        m.filter[2] += min(p.control_step / behind, 1.0) * (reading - m.filter[2])
        m.filter[3] += 0.3 * (m.sensed[1] - m.filter[3])
        changed = (s.wheel_speed[k] - m.filter[1]) / p.control_step
        m.filter[1] = s.wheel_speed[k]
        if m.filter[1] < _UNDER_WAY or abs(m.filter[3]) > _SIDEWAYS:
            m.filter[4] = 0.0
        m.filter[4] += p.control_step
        return (m.filter[2] - changed) / GRAVITY if m.filter[4] > _SETTLED else 0.0
    pull = nominal_pull(s, p, k, m.filter[1])
    m.filter[1] = max(m.filter[1] + (0.3 * reading + 0.7 * pull) * p.control_step, 0.0)
    return (reading - max(pull, 0.0)) / GRAVITY


@kernel
def slope(s, p, k, m, out):
    """Tilt from the accelerometer, told from acceleration; an upward slope lowers the duty for a while."""
    share = min(p.control_step / m.setting[3], 1.0)
    tilt = asin(min(max(climb(s, p, k, m), -0.9), 0.9))
    m.filter[0] += share * (tilt - m.filter[0])
    # Before a tachometer's first pulses, and while the pseudo-speed is still small, pulling away would pass for a slope.
    if m.filter[0] > m.setting[2] and m.filter[1] > _UNDER_WAY:
        m.timer = m.setting[4]
    out[0] = m.setting[1] if m.timer > 0.0 else m.setting[0]
    out[1] = DRIVE
    m.timer -= p.control_step


@kernel
def playback(s, p, k, m, out):
    """Plays the tape; with correction the duty is raised as the battery has fallen since the recording."""
    at = min(int(s.clock[k] / p.control_step + 0.5), m.tape_length - 1)
    out[0] = m.tape[at, 0]
    out[1] = m.tape[at, 1]
    if m.setting[0] > 0.0 and out[1] >= 0.0:
        share = 0.2
        m.filter[0] += share * (s.voltage[k] - m.tape[at, 2] - m.filter[0])
        now = max(m.tape[at, 2] + m.filter[0], 0.5)
        out[0] = min(max(out[0] * m.tape[at, 2] / now, -1.0), 1.0)


@kernel
def pseudo_speed(s, p, k, m, out):
    """Adds the forward acceleration up, every 100 ms; a pseudo-speed beyond a threshold reverses the motor for a moment.

    The reading of a pulse is added up like every other, so that a pulse takes the pseudo-speed down as it does the car's.
    The sum drifts (mounting, curves): a share `keep` of it is kept every 100 ms.
    """
    m.filter[0] += m.sensed[0] * GRAVITY * p.control_step
    m.timer += p.control_step
    if m.timer >= 0.1 - 1e-9:
        m.filter[1] = max(m.filter[1] * m.setting[3] + m.filter[0], 0.0)
        m.filter[0] = 0.0
        m.timer = 0.0
        if m.filter[1] > m.setting[1]:
            m.pulse = m.setting[2]
    out[1] = DRIVE
    if m.pulse > 1e-9:
        m.pulse -= p.control_step
        out[0] = -1.0
    else:
        out[0] = m.setting[0]


@kernel
def gyro_pitch(s, p, k, m, out):
    """A pitch rate beyond a threshold is a slope: a reverse pulse, then low duty; hard acceleration lowers it too."""
    m.filter[0] += 0.5 * (-m.sensed[4] - m.filter[0])
    m.filter[1] += 0.2 * (m.sensed[0] - m.filter[1])
    if m.filter[0] > m.setting[2] and m.timer <= 0.0:
        m.pulse = m.setting[3]
        m.timer = m.setting[4]
    out[1] = DRIVE
    if m.pulse > 1e-9:
        m.pulse -= p.control_step
        out[0] = -1.0
    elif m.timer > 0.0 or m.filter[1] > m.setting[5]:
        out[0] = m.setting[1]
    else:
        out[0] = m.setting[0]
    m.timer -= p.control_step


@kernel
def shape(s, p, k, m, out):
    """Moving averages of the six axes, the course's shape from yaw rate and pitch, and a duty for each shape."""
    share = min(p.control_step / m.setting[6], 1.0)
    for j in range(6):
        m.filter[j] += share * (m.sensed[j] - m.filter[j])
    # Pitch: the integrated rate, which leaks away; the accelerometer would take pulling away for a slope.
    m.filter[6] = 0.97 * (m.filter[6] - m.sensed[4] * p.control_step)
    yaw = abs(m.filter[5])
    if m.timer <= 0.0 and (m.filter[6] > m.setting[5] or abs(m.filter[4]) > m.setting[7]):
        m.timer = m.setting[8]
    if m.timer > 0.0:
        out[0] = m.setting[2]
    elif yaw > m.setting[4]:
        out[0] = m.setting[1]
    else:
        out[0] = m.setting[0]
    out[1] = DRIVE
    if m.timer > m.setting[8] - m.setting[9]:
        out[0] = 0.0
        out[1] = BRAKE
    m.timer -= p.control_step


@kernel
def sense(s, p, k, m, out):
    """The action of a controller that goes by the car's senses alone, whose number is `m.kind`."""
    kind = m.kind
    if kind == CONSTANT:
        constant(m, out)
    elif kind == SEQUENCE:
        sequence(s, p, k, m, out)
    elif kind == SLOPE:
        slope(s, p, k, m, out)
    elif kind == PSEUDO_SPEED:
        pseudo_speed(s, p, k, m, out)
    elif kind == GYRO_PITCH:
        gyro_pitch(s, p, k, m, out)
    else:
        shape(s, p, k, m, out)


@kernel
def limited(duty):
    """A duty as an action holds it."""
    return np.float32(min(max(duty, -1.0), 1.0))


@kernel
def drive(s, p, legal, m, action):
    """Policy of a `SensingController` where actions are continuous."""
    k = s.to_move
    read_imu(s, p, k, m)
    sense(s, p, k, m, m.out)
    action[0] = limited(m.out[0])
    if action.shape[0] > 1:
        action[1] = m.out[1]


@kernel
def level_of(duty, selector):
    """The discrete action that comes nearest to duty and mode selector."""
    if selector < 0.0:
        return 0 if selector < -0.5 else 1
    if abs(duty) < 0.05:
        return 0
    best, apart = 0, 1e9
    for level in range(_DUTIES.shape[0]):
        if _DRIVES[level] and abs(_DUTIES[level] - duty) < apart:
            best, apart = level, abs(_DUTIES[level] - duty)
    return best


@kernel
def drive_by_level(s, p, legal, m):
    """Policy of a `SensingController` where actions are levels."""
    k = s.to_move
    read_imu(s, p, k, m)
    sense(s, p, k, m, m.out)
    return level_of(limited(m.out[0]), m.out[1])


@kernel
def decide(s, p, k, m, replicas, first, model, out):
    """The action of the controller whose number is `m.kind`."""
    read_imu(s, p, k, m)
    kind = m.kind
    if kind == PLAYBACK:
        playback(s, p, k, m, out)
    elif kind == LOCALISE:
        localise(s, p, k, m, out)
    elif kind == PREDICT:
        predict(s, p, k, m, replicas, first, model, out)
    elif kind == PLAN:
        plan(s, p, k, m, replicas, first, model, out)
    elif kind == STOP:
        stop_at_mark(s, p, k, m, out)
    else:
        sense(s, p, k, m, out)
    out[0] = limited(out[0])
