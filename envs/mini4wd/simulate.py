"""A run of the simulator as one call, for calibration, system identification and pictures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from asobiba.core import GameParameterError, Ruleset, compiled
from asobiba.core.laws import close_step, has_ended
from asobiba.core.random import seed_record
from asobiba.envs.mini4wd.car import Car, load_car
from asobiba.envs.mini4wd.course import Course
from asobiba.envs.mini4wd.course_source import load_course
from asobiba.envs.mini4wd.physics import CAUSES
from asobiba.envs.mini4wd.profile import Profile, load_profile
from asobiba.envs.mini4wd.rules import reset, run_on

SELECTORS = {"drive": 0.5, "brake": -0.25, "free": -0.75}
"""Second entries of actions that select the drive modes."""


@compiled()
def _run(states, params, commands):
    for i in range(commands.shape[0]):
        states[i + 1] = states[i]
        s = states[i + 1]
        if has_ended(s):
            return i
        run_on(s, params[0], commands[i, 0], commands[i, 1])
        close_step(s, params[0])
    return commands.shape[0]


@compiled()
def _begin(states, params, seed):
    seed_record(states[0], seed)
    reset(states[0], params[0])


@dataclass(frozen=True)
class Log:
    """A recorded run.

    Args:
        ruleset: the rules it was driven under.
        states: `(n + 1,)` state records: the start and the state after each of `n` control steps. Every field of the
            simulator is there, such as `states["v"][:, 0]` (m/s), and what was sensed, such as `states["imu"][:, 0]`.
        commands: `(n, 2)` float64: duty and mode selector of each step.
    """

    ruleset: Ruleset
    states: np.ndarray
    commands: np.ndarray

    def __len__(self) -> int:
        return len(self.commands)

    def __getitem__(self, field: str) -> np.ndarray:
        """A field of the car after every step, `(n + 1, ...)`."""
        return self.states[field][:, 0]

    @property
    def cause(self) -> str:
        """The reason why the car was out, or "running"."""
        return CAUSES[int(self["cause"][-1])]

    @property
    def finish_time(self) -> float | None:
        """Seconds for all laps, or `None` if the car did not finish."""
        time = float(self["finish_time"][-1])
        return time if time > 0 else None


@lru_cache(maxsize=64)
def _ruleset(course: Course, profile: Profile, parameters: tuple) -> Ruleset:
    from asobiba.envs.mini4wd import GAME

    return GAME.ruleset(course=course, profile=profile, **dict(parameters))


def simulate(
    car: str | Path | Mapping[str, Any] | Car,
    course: str | Path | Mapping[str, Any] | Course,
    commands: np.ndarray,
    *,
    seed: int = 0,
    randomise: str = "none",
    **parameters: Any,
) -> Log:
    """Drives a car with a given sequence of commands.

    Args:
        car: as `asobiba.envs.mini4wd.car.load_car` takes it.
        course: as `asobiba.envs.mini4wd.course_source.load_course` takes it.
        commands: one row a control step: `(n,)` duties in [-1, 1], or `(n, 2)` duties and mode selectors
            (`SELECTORS`).
        seed: of the sensors' noise, and of the car where `randomise` varies it.
        parameters: further parameters of the game `mini4wd`, such as `control_ms`, `lane`, `imu`.

    Returns:
        The log, up to the finish, the course-out or the last command.

    Raises:
        GameParameterError: for commands of another shape or outside [-1, 1], and for bad parameters.
    """
    rows = np.asarray(commands, np.float64)
    if rows.ndim == 1:
        rows = np.column_stack([rows, np.full(len(rows), SELECTORS["drive"])])
    if rows.ndim != 2 or rows.shape[1] != 2 or not np.all(np.abs(rows) <= 1):
        raise GameParameterError(
            f"commands must be (n,) duties or (n, 2) duties and modes, all in [-1, 1], not an array of {np.shape(commands)}"
        )
    ruleset = _ruleset(
        load_course(course),
        load_profile(parameters.pop("profile", "atmega328p")),
        tuple(sorted({"randomise": randomise, "max_seconds": 60.0, **parameters}.items())),
    )
    params = ruleset.params.copy()
    params["car"][0, 0] = load_car(car).vector
    states = ruleset.zeros(len(rows) + 1)
    _begin(states, params, seed)
    done = _run(states, params, np.ascontiguousarray(rows))
    return Log(ruleset, states[: done + 1], rows[:done])


def lap_run(car: Any, course: Any, duty: float = 1.0, *, seconds: float = 30.0, **parameters: Any) -> Log:
    """A run at constant duty: `simulate` with the same command in every step."""
    control_ms = parameters.get("control_ms") or load_profile(parameters.get("profile", "atmega328p")).control_ms
    steps = round(seconds * 1000 / control_ms)
    return simulate(car, course, np.full(steps, duty), **parameters)
