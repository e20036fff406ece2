"""The simulator's car as the body of a car's program: millisecond by millisecond, with its sensors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from asobiba.core import compiled, seed_record
from asobiba.envs.mini4wd.hardware.codec import STOP, Drive, DriveMode
from asobiba.envs.mini4wd.hardware.program import CarProgram
from asobiba.envs.mini4wd.physics import BRAKING, CAUSES, DRIVE, FREE, RUNNING, drive, send
from asobiba.envs.mini4wd.profile import (
    ACTION_DELAY,
    BATTERY_LIMIT,
    KNOWS_MODES,
    LINK_TIMEOUT,
    MAXIMUM_DUTY,
    REVERSE_LIMIT,
    VOLTAGE_NOISE,
    load_profile,
)
from asobiba.envs.mini4wd.run import begin_car, starting_lane

_RADIANS_PER_MS = math.pi / 180.0 * 0.001
_COUNTS = (CarProgram.ACCELERATION_SCALE, CarProgram.RATE_SCALE * 180.0 / math.pi)


@compiled()
def begin_body(states, params, seed):
    """Draws a car and its sensors from the seed and puts it on the start."""
    s, p = states[0], params[0]
    seed_record(s, seed)
    begin_car(s, p, 0, starting_lane(s, p))
    # Here the link and the program stand between command and motor, and set the limits.
    s.sensor[0, ACTION_DELAY] = 0.0
    s.sensor[0, LINK_TIMEOUT] = 1e9
    s.sensor[0, REVERSE_LIMIT] = 1e9
    s.sensor[0, BATTERY_LIMIT] = 0.0
    s.sensor[0, MAXIMUM_DUTY] = 1.0
    s.sensor[0, KNOWS_MODES] = 1.0


@compiled()
def run_body(states, params, duties, modes, out):
    """Drives one car millisecond by millisecond: `(n,)` signed duties and modes, up to `len(out)` of them.

    Writes `(n, 4)` rows: distance of the wheels (m), heading (rad), battery voltage (V), progress (m); the sensors'
    noise is not in them. Returns how many milliseconds were driven before the car was out.
    """
    s, p = states[0], params[0]
    heading = 0.0
    for k in range(out.shape[0]):
        if s.cause[0] != RUNNING:
            return k
        send(s, 0, duties[k], modes[k])
        drive(s, p, 0, 1)
        heading += s.smoothed[0, 5] * _RADIANS_PER_MS
        out[k, 0] = s.turned[0]
        out[k, 1] = heading
        out[k, 2] = s.bus[0]
        out[k, 3] = s.progress[0]
    return out.shape[0]


def motor_mode(drive: Drive) -> int:
    """The simulator's mode of a drive."""
    return {DriveMode.BRAKE: BRAKING, DriveMode.FREE: FREE}.get(drive.mode, DRIVE)


@dataclass
class SimulatedSense:
    """Readings of the simulated sensors; see `program.Sensed`."""

    raw: tuple[int, ...]
    temperature: float
    battery: float
    pulses: int
    pulse_age: float | None = None


class SimulatedBody:
    """One car of the simulator.

    Args:
        seed: of the car, where it is randomised, its sensors, and the starting lane.
        axes: how the sensor is mounted: the `(3, 3)` matrix that turns its axes into the car's (`env.parse_axes`).
        parameters: of the game `mini4wd` (course, car, lane, profile, imu, randomise, ...).
    """

    TEMPERATURE = 25.0

    def __init__(self, seed: int = 0, axes: np.ndarray | None = None, **parameters: Any):
        from asobiba.envs.mini4wd import GAME

        chosen = {k: v for k, v in parameters.items() if k in ("course", "car", "lane", "profile", "imu", "randomise")}
        self.profile = load_profile(chosen.get("profile", GAME.parameters["profile"]))
        self.ruleset = GAME.ruleset(
            **chosen, sample_ms=max(round(1000 / self.profile.imu_hz), 1), window=1, latency_ms=0, control_ms=10, laps=100,
            tachometer=self.profile.values["pulses_per_turn"] > 0,
        )  # fmt: skip
        self._seed = seed
        self._axes = np.eye(3) if axes is None else axes
        self.place()
        self.advance(0.0, STOP)  # compiles, on the first run on a machine, before anybody waits for an answer

    def place(self, seed: int | None = None) -> None:
        """Puts a fresh car on the start, drawn from `seed` or from the one after the last."""
        self._due, self._drive = 0, STOP
        self._seed = self._seed if seed is None else int(seed)
        self._states = self.ruleset.zeros()
        begin_body(self._states, self.ruleset.params, np.uint64(self._seed))
        self._seed += 1
        self._noise = np.random.default_rng(self._seed)

    @property
    def progress(self) -> float:
        """Distance from the start, m (the simulator's truth)."""
        return float(self.states["progress"][0, 0])

    @property
    def speed(self) -> float:
        """m/s (the simulator's truth)."""
        return float(self.states["v"][0, 0])

    @property
    def cause(self) -> str:
        """The reason why the car is out; "running" while it is not."""
        return CAUSES[int(self.states["cause"][0, 0])]

    @property
    def states(self) -> np.ndarray:
        """The simulator's state record, `(1,)`, of now."""
        if self._due:
            due, self._due = self._due, 0
            if self._states["cause"][0, 0] == RUNNING:
                self._run(np.full(due, self._drive.signed), np.full(due, motor_mode(self._drive)))
        return self._states

    def _run(self, duties: np.ndarray, modes: np.ndarray) -> None:
        run_body(self._states, self.ruleset.params, duties, modes, np.empty((len(duties), 4)))

    def advance(self, seconds: float, drive: Drive) -> None:
        # Milliseconds of the same drive gather until somebody looks.
        if drive != self._drive:
            _ = self.states
            self._drive = drive
        self._due += round(seconds * 1000)

    def sense(self) -> SimulatedSense:
        state = self.states[0]
        if CAUSES[int(state["cause"][0])] == "running":
            counts = state["ring"][0, state["ring_at"][0], :6].astype(np.float64)
            counts[:3] *= _COUNTS[0]
            counts[3:] *= _COUNTS[1]
        else:  # beside the course, on its roof
            counts = self._noise.normal(0.0, (8, 8, 8, 1, 1, 1)) + np.array([0, 0, -_COUNTS[0], 0, 0, 0])
        counts = np.concatenate([self._axes.T @ counts[:3], self._axes.T @ counts[3:]])
        raw = np.clip(np.rint(counts), -32768, 32767).astype(int)
        pulses = int(state["pulses"][0])
        age = max(float(state["clock"][0] - state["edge"][0]), 0.0) if pulses else None
        volts = float(state["bus"][0]) + self._noise.normal(0.0, float(state["sensor"][0, VOLTAGE_NOISE]))
        return SimulatedSense(tuple(raw.tolist()), self.TEMPERATURE, max(volts, 0.0), pulses & 0xFFFF, age)

    @property
    def tyre(self) -> float:
        """Diameter of the tyres, m."""
        from asobiba.envs.mini4wd.car import TYRE

        return float(self.states["car"][0, 0, TYRE])
