"""A car's memory of its run: dead reckoning from gyro and tachometer, and the car's lean under load so far.

A network that sees a third of a second knows neither its place nor its car. A car's chip can integrate: the end of the
last curve, the turn of the present one, the heading, the distance; and the lean at each load, which reveals the height
of its rollers. Everything is computed from the plain observation, so that it is the same in training, in a league, and
on a real car.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from asobiba.core import GameParameterError, Ruleset, compiled, kernel
from asobiba.core.elementary import cos, exp, sin

CURVE = 1.0
"""Curvature above which the car is in a curve, 1/m; the lanes of a lane changer bend by 0.8 at most."""
SLOWEST = 0.5
"""Below this speed curvature is not measured, m/s."""
_G = 9.80665
_LEAN_TIME, _LOAD_TIME, _LANE_TIME, _BEND_TIME = 0.3, 0.06, 0.2, 0.03
"""Time constants, s: of the lean's decay, and of the low passes of lateral load, of a curve's curvature and of curvature."""
_STRAIGHT_WAVES = (5.0, 2.5, 1.25)
"""Wavelengths, m, in which the way since the last curve is told."""
_LAP_WAVES = (1, 2, 3, 4)
"""Waves a lap in which the way since the start is told."""
FIELDS = ("time", "heading", "way", "since", "turned", "lane", "lean", "leaned", "load", "loaded", "bend")
"""The last observation's time, s; heading, rad, and way, m, since the start; way since the last curve, m; what the present or
the last curve has turned, rad; its curvature, 1/m; lean, rad, and the greatest so far; lateral load, g, and the greatest so
far; curvature of the way, 1/m."""
_TIME, _HEADING, _WAY, _SINCE, _TURNED, _LANE, _LEAN, _LEANED, _LOAD, _LOADED, _BEND = range(len(FIELDS))
SIZE = 1 + 2 * len(_STRAIGHT_WAVES) + 3 + 2 + 2 * len(_LAP_WAVES) + 1 + 4


@kernel
def share(step, time_constant):
    """Share of the way to a measurement that a low pass goes in a step."""
    return 1.0 - exp(-step / time_constant)


@kernel
def remember(fields, rest, seen, places, lap, told):
    """Takes in what a car observes, and writes what it remembers then.

    Args:
        fields, rest: its memory: `(len(FIELDS),)` and the gyro's readings at rest, `(3,)`; both are changed.
        seen: the observation, flat.
        places: in it, `(4,)`: the first of the inertial sensor's samples, their number, the time, the wheels' speed.
        lap: its length, m.
        told: `(SIZE,)` float32, is written: the fields at scales of about 1, places and angles as sines and cosines.
    """
    first, samples = places[0] + 3, places[1]
    time, speed = np.float64(seen[places[2]]), np.float64(seen[places[3]])
    if time == 0.0:
        for k in range(fields.shape[0]):
            fields[k] = 0.0
        for axis in range(3):
            total = 0.0
            for sample in range(samples):
                total += seen[first + 6 * sample + axis]
            rest[axis] = total / samples
    step = min(max(time - fields[_TIME], 0.0), 0.2)
    last = first + 6 * (samples - 1)
    before = max(last - 6, first)
    roll = 0.5 * (np.float64(seen[before]) + np.float64(seen[last])) - rest[0]
    yaw = 0.5 * (np.float64(seen[before + 2]) + np.float64(seen[last + 2])) - rest[2]
    fields[_TIME] = time
    fields[_HEADING] += yaw * step
    fields[_WAY] += speed * step
    measured = yaw / speed if speed > SLOWEST else 0.0
    fields[_BEND] += share(step, _BEND_TIME) * (measured - fields[_BEND])
    if abs(fields[_BEND]) > CURVE:
        fields[_TURNED] = (0.0 if fields[_SINCE] > 0.0 else fields[_TURNED]) + yaw * step
        fields[_SINCE] = 0.0
        fields[_LANE] += share(step, _LANE_TIME) * (abs(fields[_BEND]) - fields[_LANE])
    else:
        fields[_SINCE] += speed * step
    fields[_LEAN] = (fields[_LEAN] + roll * step) * exp(-step / _LEAN_TIME)
    fields[_LEANED] = max(fields[_LEANED], abs(fields[_LEAN]))
    fields[_LOAD] += share(step, _LOAD_TIME) * (speed * yaw / _G - fields[_LOAD])
    fields[_LOADED] = max(fields[_LOADED], abs(fields[_LOAD]))
    told[0] = fields[_SINCE] / 4.0
    n = 1
    for k in range(len(_STRAIGHT_WAVES)):
        angle = 2.0 * np.pi * fields[_SINCE] / _STRAIGHT_WAVES[k]
        told[n], told[n + 1] = sin(angle), cos(angle)
        n += 2
    told[n] = fields[_TURNED] / 2.0
    told[n + 1], told[n + 2] = sin(fields[_TURNED]), cos(fields[_TURNED])
    told[n + 3], told[n + 4] = sin(fields[_HEADING]), cos(fields[_HEADING])
    n += 5
    for k in range(len(_LAP_WAVES)):
        angle = _LAP_WAVES[k] * 2.0 * np.pi * fields[_WAY] / lap
        told[n], told[n + 1] = sin(angle), cos(angle)
        n += 2
    told[n] = 2.0 * (fields[_LANE] - 1.9)
    told[n + 1], told[n + 2] = 4.0 * fields[_LEAN], 4.0 * fields[_LEANED]
    told[n + 3], told[n + 4] = 0.5 * fields[_LOAD], 0.5 * fields[_LOADED]


@compiled()
def _remember_all(fields, rest, seen, rows, places, lap, told):
    for k in range(seen.shape[0]):
        remember(fields[rows[k]], rest[rows[k]], seen[k], places, lap, told[k])


def places_of(channels: Mapping[str, tuple[int, ...]]) -> np.ndarray:
    """The `places` of `remember` in an observation of these channels.

    Raises:
        GameParameterError: if there is no tachometer.
    """
    if "wheel_speed" not in channels:
        raise GameParameterError("a car's memory needs the game's parameter tachometer=True")
    ends = np.cumsum([int(np.prod(shape)) for shape in channels.values()])
    starts = {name: int(end - np.prod(shape)) for (name, shape), end in zip(channels.items(), ends, strict=True)}
    return np.array([starts["imu"], channels["imu"][0], starts["time"], starts["wheel_speed"]], np.int64)


class RunMemory:
    """The memories of `count` cars that run side by side; a row whose time is 0 begins a new run.

    Args:
        ruleset: whose observation has the tachometer; its course tells how long a lap is.
        count: of cars.
        channels: name -> shape of what `look` is given; by default the ruleset's.

    Raises:
        GameParameterError: if there is no tachometer.
    """

    size = SIZE
    """Number of values it adds to an observation."""

    def __init__(self, ruleset: Ruleset, count: int, channels: Mapping[str, tuple[int, ...]] | None = None):
        self._places = places_of(ruleset.layout.observation if channels is None else channels)
        self._lap = float(ruleset.params["lap_length"][0])
        self._fields = np.zeros((count, len(FIELDS)))
        self._rest = np.zeros((count, 3))

    def fields(self, row: int) -> dict[str, float]:
        """Memory of a car, by name: `FIELDS`."""
        return dict(zip(FIELDS, self._fields[row].tolist(), strict=True))

    def look(self, observations: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """Takes in what cars observe, and returns it with what they remember.

        Args:
            observations: `(n, size)`.
            rows: whose observations these are, `(n,)`; by default all cars'.

        Returns:
            `(n, size + SIZE)` float32.
        """
        seen = np.ascontiguousarray(observations, np.float32)
        at = np.arange(len(seen)) if rows is None else np.asarray(rows, np.int64)
        told = np.zeros((len(seen), SIZE), np.float32)
        _remember_all(self._fields, self._rest, seen, at, self._places, self._lap, told)
        return np.concatenate([seen, told], 1)
