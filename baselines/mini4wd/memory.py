"""A car's memory of its run: dead reckoning from gyro and tachometer, and the car's lean under load so far.

A network that sees a third of a second knows neither its place nor its car. A car's chip can integrate: the end of the
last curve, the turn of the present one, the heading, the distance; and the lean at each load, which reveals the height
of its rollers. Everything is computed from the plain observation, so that it is the same in training, in a league, and
on a real car.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from asobiba.core import GameParameterError, Ruleset

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
SIZE = 1 + 2 * len(_STRAIGHT_WAVES) + 3 + 2 + 2 * len(_LAP_WAVES) + 1 + 4


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
    """Number of values it adds to an observation: the fields at scales of about 1, places and angles as sines and cosines."""

    def __init__(self, ruleset: Ruleset, count: int, channels: Mapping[str, tuple[int, ...]] | None = None):
        channels = dict(ruleset.layout.observation if channels is None else channels)
        if "wheel_speed" not in channels:
            raise GameParameterError("a car's memory needs the game's parameter tachometer=True")
        ends = np.cumsum([int(np.prod(shape)) for shape in channels.values()])
        starts = {name: int(end - np.prod(shape)) for (name, shape), end in zip(channels.items(), ends, strict=True)}
        self._imu, self._samples = starts["imu"], channels["imu"][0]
        self._time, self._wheels = starts["time"], starts["wheel_speed"]
        self._lap = float(ruleset.params["lap_length"][0])
        self._fields = np.zeros((len(FIELDS), count))
        self._rest = np.zeros((count, 3))

    def fields(self, row: int) -> dict[str, float]:
        """Memory of a car, by name: `FIELDS`."""
        return dict(zip(FIELDS, self._fields[:, row].tolist(), strict=True))

    def look(self, observations: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """Takes in what cars observe, and returns it with what they remember.

        Args:
            observations: `(n, size)`.
            rows: whose observations these are, `(n,)`; by default all cars'.

        Returns:
            `(n, size + SIZE)` float32.
        """
        seen = np.asarray(observations, np.float32)
        at = np.arange(len(seen)) if rows is None else np.asarray(rows)
        imu = seen[:, self._imu : self._imu + 6 * self._samples].reshape(len(seen), self._samples, 6)
        time, speed = seen[:, self._time].astype(float), seen[:, self._wheels].astype(float)
        fresh = time == 0.0
        if fresh.any():
            self._fields[:, at[fresh]] = 0.0
            self._rest[at[fresh]] = imu[fresh, :, 3:].mean(1)
        before, heading, way, since, turned, lane, lean, leaned, load, loaded, bend = self._fields[:, at]
        step = np.clip(time - before, 0.0, 0.2)
        rates = imu[:, -2:, 3:].mean(1) - self._rest[at]
        heading = heading + rates[:, 2] * step
        way = way + speed * step
        measured = np.where(speed > SLOWEST, rates[:, 2] / np.maximum(speed, SLOWEST), 0.0)
        bend = bend + _share(step, _BEND_TIME) * (measured - bend)
        curve = np.abs(bend) > CURVE
        turned = np.where(curve, np.where(since > 0.0, 0.0, turned) + rates[:, 2] * step, turned)
        since = np.where(curve, 0.0, since + speed * step)
        lane = lane + np.where(curve, _share(step, _LANE_TIME), 0.0) * (np.abs(bend) - lane)
        lean = (lean + rates[:, 0] * step) * np.exp(-step / _LEAN_TIME)
        leaned = np.maximum(leaned, np.abs(lean))
        load = load + _share(step, _LOAD_TIME) * (speed * rates[:, 2] / _G - load)
        loaded = np.maximum(loaded, np.abs(load))
        self._fields[:, at] = time, heading, way, since, turned, lane, lean, leaned, load, loaded, bend
        phase = 2.0 * np.pi * way / self._lap
        told = [
            since / 4.0,
            *(wave(2.0 * np.pi * since / length) for length in _STRAIGHT_WAVES for wave in (np.sin, np.cos)),
            turned / 2.0, np.sin(turned), np.cos(turned), np.sin(heading), np.cos(heading),
            *(wave(k * phase) for k in _LAP_WAVES for wave in (np.sin, np.cos)),
            2.0 * (lane - 1.9), 4.0 * lean, 4.0 * leaned, 0.5 * load, 0.5 * loaded,
        ]  # fmt: skip
        return np.concatenate([seen, np.stack(told, 1).astype(np.float32)], 1)


def _share(step: np.ndarray, time_constant: float) -> np.ndarray:
    """Share of the way to a measurement that a low pass goes in a step."""
    return 1.0 - np.exp(-step / time_constant)
