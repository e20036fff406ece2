"""Stopping at a mark: the car's place by dead reckoning on the known course, and the time to brake. Kernels.

On straights the distance is the speed added up: the pseudo-speed of GAT 2016 (Orihara), the forward acceleration added up, here
in the mean with the acceleration that the nominal motor should give, and set right by a tachometer where there is one.
Curves set distance and speed right: the course says how far a car is that has turned so far, and how fast one is that
turns so fast. Distances are along the mean of all lanes, as the mark's.
"""

from __future__ import annotations

from asobiba.core import kernel
from asobiba.core.elementary import modulo
from asobiba.envs.mini4wd.car import (
    EFFICIENCY,
    GEAR,
    MASS,
    MOTOR_I0,
    MOTOR_K,
    MOTOR_R,
    ROLLING,
    TYRE,
)  # fmt: skip
from asobiba.envs.mini4wd.course import BASE, KAPPA, KIND, KINDS, LANE_CHANGER, LENGTH, START
from asobiba.envs.mini4wd.profile import (
    ACTION_DELAY,
    BRIDGE_R,
    DEAD_TIME,
    GYRO_RANGE,
    LATENCY,
    PWM_FREQUENCY,
    TACHOMETER_FILTER,
)

GRAVITY = 9.80665
WAVE = KINDS.index("wave")
DISTANCE, SPEED, TURNED, BRAKED, LATE, TRIES = range(6)
"""Places in the controller's filter: m, m/s, rad turned beyond what the course has at that distance, s since the brake,
m/s as late as the tachometer's, how often it was short and drove on."""
PULSE_AGE = 0.015
"""Mean age of a pulse of the tachometer, s."""
_TRUST = 0.2
"""Gain of the correction by the tachometer in a step."""
_GAIN = 0.3
"""Of the speed's control, duty per m/s."""
_BRAKES, _SHORT, _MOST_TRIES = 0.5, 0.06, 3
"""A car that has braked for so long, s, and believes that it is short by more than this, m, drives on: so often."""
_STRAIGHT = 0.8
"""A car that turns more slowly than this is on a straight, rad/s."""
_CORNER = 0.4
"""A car that has turned further than this since the last curve is in the next one, rad; a bridge leads aside by less."""


@kernel
def piece_at(p, distance):
    """The piece of the course at this distance from the start line, m."""
    at = modulo(distance + p.start_distance, p.lap_length)
    piece = 0
    while piece < p.pieces - 1 and p.track[piece + 1, 0, START] <= at:
        piece += 1
    return piece


@kernel
def bend_of_piece(p, piece):
    """Radians to turn for each metre along the mean of all lanes; 0 where the heading comes back: waves, lane changers."""
    kind = int(p.track[piece, 0, KIND])
    if kind in (LANE_CHANGER, WAVE):
        return 0.0
    return p.track[piece, 0, KAPPA] * p.track[piece, 0, LENGTH] / p.track[piece, 0, BASE]


@kernel
def way_to_bend(p, distance):
    """Metres to the next curve and its bend."""
    piece = piece_at(p, distance)
    way = p.track[piece, 0, START] + p.track[piece, 0, BASE] - modulo(distance + p.start_distance, p.lap_length)
    for _ in range(p.pieces):
        piece = piece + 1 if piece + 1 < p.pieces else 0
        bend = bend_of_piece(p, piece)
        if bend != 0.0:
            return way, bend
        way += p.track[piece, 0, BASE]
    return 0.0, 0.0


@kernel
def dead_share(p):
    """The share of a duty below 1 that the bridge's dead time takes."""
    return p.sensor[DEAD_TIME] * p.sensor[PWM_FREQUENCY]


@kernel
def nominal_pull(s, p, k, speed):
    """Acceleration that the nominal motor gives on the flat at the last command and the measured voltage, m/s2."""
    constant = p.car[k, MOTOR_K] * 2.0 * p.car[k, GEAR] / p.car[k, TYRE]
    duty = s.actions[k, 0, 0] if s.actions[k, 0, 1] >= 0.0 else 0.0
    if 0.0 < duty < 1.0:
        duty = max(duty - dead_share(p), 0.0)
    current = (duty * s.voltage[k] - constant * speed) / (p.car[k, MOTOR_R] + p.sensor[BRIDGE_R]) - p.car[k, MOTOR_I0]
    return constant * p.car[k, EFFICIENCY] * current / p.car[k, MASS] - p.car[k, ROLLING] * GRAVITY


@kernel
def nominal_duty(s, p, k, speed):
    """The duty at which the nominal motor keeps this speed on the flat."""
    constant = p.car[k, MOTOR_K] * 2.0 * p.car[k, GEAR] / p.car[k, TYRE]
    force = p.car[k, ROLLING] * p.car[k, MASS] * GRAVITY
    current = p.car[k, MOTOR_I0] + force / (p.car[k, EFFICIENCY] * constant)
    return (constant * speed + (p.car[k, MOTOR_R] + p.sensor[BRIDGE_R]) * current) / max(
        s.voltage[k], 0.5
    ) + dead_share(p)


@kernel
def reckon(s, p, k, f, forward, turning):
    """Distance and speed after another control step, from acceleration (m/s2) and yaw rate (rad/s)."""
    step = p.control_step
    gyro = p.sensor[GYRO_RANGE] > 0.0
    bend = bend_of_piece(p, piece_at(p, f[DISTANCE]))
    f[SPEED] += 0.5 * (forward + nominal_pull(s, p, k, f[SPEED])) * step
    if gyro and turning * bend > 0.0 and abs(turning) > _STRAIGHT:
        f[SPEED] += 0.2 * (turning / bend - f[SPEED])
    if p.tachometer != 0:
        # Measurements are late: each is compared with the speed made late in the same way. A wheel that brakes gives no pulses.
        behind = p.sensor[TACHOMETER_FILTER] + p.sensor[LATENCY] + PULSE_AGE
        f[LATE] += min(step / behind, 1.0) * (f[SPEED] - f[LATE])
        if f[BRAKED] == 0.0:
            off = _TRUST * (s.wheel_speed[k] - f[LATE])
            f[SPEED] += off
            f[LATE] += off
    f[SPEED] = max(f[SPEED], 0.0)
    f[DISTANCE] += f[SPEED] * step
    if not gyro:
        return
    f[TURNED] += (turning - bend * f[SPEED]) * step
    if bend != 0.0:
        shift = 0.2 * f[TURNED] / bend
        f[DISTANCE] += shift
        f[TURNED] -= bend * shift
        return
    if abs(turning) < _STRAIGHT:  # what is left is the error of the gyro's scale
        f[TURNED] *= 0.9
    if abs(f[TURNED]) > _CORNER:
        way, bend = way_to_bend(p, f[DISTANCE])
        if bend * f[TURNED] > 0.0:
            f[DISTANCE] += way + 1e-6
            f[SPEED] = f[LATE] = turning / bend


@kernel
def stop_at_mark(s, p, k, m, out):
    """Keeps a speed up to the point from which the car can just stop at the mark, then brakes; drives on if it is short."""
    f = m.filter
    if s.clock[k] > 0.0:
        reckon(s, p, k, f, m.sensed[0] * GRAVITY, m.sensed[5])
    speed, slow, near, deceleration, late = m.setting[0], m.setting[1], m.setting[2], m.setting[3], m.setting[4]
    left = s.target[k] - f[DISTANCE] - f[SPEED] * (late + p.sensor[ACTION_DELAY])
    if f[BRAKED] >= _BRAKES and abs(f[SPEED]) < 0.05 and left > _SHORT and f[TRIES] < _MOST_TRIES:
        f[BRAKED] = 0.0
        f[TRIES] += 1.0
    if f[BRAKED] > 0.0 or f[SPEED] * f[SPEED] >= 2.0 * deceleration * left:
        f[BRAKED] += p.control_step
        out[0] = 0.0
        out[1] = -0.25
        return
    wanted = slow if left < near else speed
    out[0] = nominal_duty(s, p, k, wanted) + _GAIN * (wanted - f[SPEED])
    out[1] = 0.5
