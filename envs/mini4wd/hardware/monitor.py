"""Progress of a real run, estimated from the car's sensors: distance, laps, and whether the car is still running.

A real course has no lap gate and no simulator. With a tachometer the distance is that of the wheels; without one it is
read from the gyro: the heading of a course is known, so the heading turned through gives the car's place. On a straight
nothing turns, so distance comes in pieces, corner by corner, and a lap ends with its last corner.
"""

from __future__ import annotations

import math
from collections import deque

import numpy as np

from asobiba.envs.mini4wd.course import BASE, KAPPA, LENGTH, Course
from asobiba.envs.mini4wd.hardware.codec import DriveMode, Telemetry
from asobiba.envs.mini4wd.tachometer import wheel_speed

STANDING_SPREAD = 0.05
"""g: accelerations below this mean that the wheels stand still."""
STANDING_RATE = 5.0
"""Degrees per second: below this the car does not turn."""
ON_ITS_ROOF = -0.5
"""g: mean upward acceleration below this over `OVERTURNED_TIME` means that the car lies on its roof."""
OVERTURNED_TIME, WINDOW = 0.3, 0.5


class HeadingMap:
    """Distance along a course as a function of the heading turned through since the start."""

    def __init__(self, course: Course):
        self.lap_length = course.lap_length
        pieces = course.pieces
        turned = pieces[:, 0, KAPPA] * pieces[:, 0, LENGTH]
        self.direction = math.copysign(1.0, turned.sum())
        heading, distance, furthest = 0.0, -course.start_distance, 0.0
        points = [(0.0, 0.0)]
        for turn, length in zip(turned * self.direction, pieces[:, 0, BASE], strict=True):
            before, heading = heading, heading + turn
            if heading > furthest + 1e-6:  # a new heading: before it the car was where the turn begins
                share = max(furthest - before, 0.0) / turn
                points += [(furthest + 1e-4, distance + share * length), (heading, distance + length)]
                furthest = heading
            distance += length
        self.lap_turn = abs(turned.sum())
        table = np.array(points)
        self._heading, self._distance = table[:, 0], np.maximum(table[:, 1], 0.0)

    def distance(self, turned: float) -> float:
        """m since the start, for the greatest heading reached, rad in the course's direction."""
        laps, rest = divmod(max(turned, 0.0), self.lap_turn)
        return laps * self.lap_length + float(np.interp(rest, self._heading, self._distance))


class RunMonitor:
    """Follows one run frame by frame.

    Args:
        course: the course.
        tyre: diameter of the tyres, m.
        pulses_per_turn: tachometer pulses per turn of a wheel; 0 without a tachometer.
        time_constant: of the low pass of the measured wheel speed, s.
        stand_seconds: a car that has moved is out once it has stood for so long.
    """

    def __init__(
        self,
        course: Course,
        tyre: float,
        pulses_per_turn: int = 0,
        time_constant: float = 0.0,
        stand_seconds: float = 3.0,
    ):
        self._stand_seconds = stand_seconds
        self._time_constant = time_constant
        self._seen_edge = 0.0
        self._map = HeadingMap(course)
        self._per_pulse = math.pi * tyre / pulses_per_turn if pulses_per_turn else None
        self._turned = self._furthest = 0.0
        self._pulses: int | None = None
        self._last_time: float | None = None
        self._recent: deque[tuple[float, float, float, float, float]] = deque()
        self._standing_since: float | None = None
        self._roof_since: float | None = None
        self.distance = 0.0
        self.wheel_speed = 0.0
        self.moved = False

    def add(self, frame: Telemetry, acceleration: np.ndarray, rate: np.ndarray) -> None:
        """Takes in a frame; `acceleration` in g and `rate` in rad/s, both in the car's axes, the rate re-zeroed."""
        elapsed = 0.0 if self._last_time is None else max(frame.car_time - self._last_time, 0.0)
        self._last_time = frame.car_time
        self._turned += rate[2] * elapsed * self._map.direction
        self._furthest = max(self._furthest, self._turned)
        if self._per_pulse is not None and frame.pulses is not None:
            self._count(frame.pulses, frame.car_time, frame.pulse_age)
        else:
            self.distance = max(self.distance, self._map.distance(self._furthest))
        self._watch(frame, acceleration, rate)

    def _count(self, pulses: int, now: float, age: float | None) -> None:
        assert self._per_pulse is not None
        if self._pulses is None:
            self._pulses, self._seen_edge = pulses, now - (1.0 if age is None else age)
        new = (pulses - self._pulses) & 0xFFFF
        edge = now - age if age is not None else self._seen_edge
        self.wheel_speed = float(
            wheel_speed(
                self.wheel_speed, float(new), edge, 0.0, self._seen_edge, now, self._per_pulse, self._time_constant
            )
        )
        if new:
            self.distance += new * self._per_pulse
            self._pulses, self._seen_edge = pulses, edge

    def _watch(self, frame: Telemetry, acceleration: np.ndarray, rate: np.ndarray) -> None:
        now = frame.car_time
        self._recent.append((now, *acceleration, float(np.abs(rate).max())))
        while now - self._recent[0][0] > WINDOW:
            self._recent.popleft()
        recent = np.array(self._recent)
        still = recent[:, 1:4].std(axis=0).max() < STANDING_SPREAD and recent[:, 4].max() < math.radians(STANDING_RATE)
        if not still:
            self._standing_since = None
            self.moved = self.moved or frame.drive.mode in (DriveMode.FORWARD, DriveMode.REVERSE)
        elif self._standing_since is None:
            self._standing_since = now
        if recent[-30:, 3].mean() > ON_ITS_ROOF:
            self._roof_since = None
        elif self._roof_since is None:
            self._roof_since = now

    @property
    def out(self) -> str | None:
        """The reason why the run is over, or `None`: "overturned", or "stopped" for too long after having moved."""
        if self._last_time is None:
            return None
        if self._roof_since is not None and self._last_time - self._roof_since >= OVERTURNED_TIME:
            return "overturned"
        standing = (
            self._standing_since is not None and self._last_time - self._standing_since >= self._stand_seconds - WINDOW
        )
        return "stopped" if standing and self.moved else None
