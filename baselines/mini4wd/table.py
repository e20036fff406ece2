"""The controllers on many random courses with many randomised cars."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from asobiba.baselines.mini4wd.controllers import Controller, blank_sensors, nominal, run_many
from asobiba.core import Ruleset, make_agent
from asobiba.envs.mini4wd import GAME
from asobiba.envs.mini4wd.physics import CAUSES

POINTS = (
    "1 for the whole distance (in proportion), plus the time at 3 m/s over the time needed, minus 1 for a course-out"
)

UPPER_REFERENCE = "predict:identified=true,margin=0.25"
"""Knows the very car of each run: what the others could reach at best."""


@dataclass(frozen=True)
class Row:
    """One controller's results.

    Args:
        lap_time: mean seconds for a lap of the runs that finished.
        speed: mean speed of the runs that finished, m/s.
        out: share of runs that left the course or stopped.
        causes: the share of each cause of `physics.CAUSES` among all runs.
        unfinished: share of runs that were still running when time was up.
        energy: mean energy from the battery per metre, J/m.
        points: mean of the points (see `POINTS`), by which the league ranks.
        error: standard error of the mean of the courses' means of the points.
    """

    controller: str
    runs: int
    lap_time: float
    speed: float
    out: float
    causes: dict[str, float]
    unfinished: float
    energy: float
    points: float
    error: float


def points(states: np.ndarray, ruleset: Ruleset, lap_lengths: np.ndarray) -> np.ndarray:
    """Points of final states, `(n,)`: the sum of the rewards of the time attack with its default weights."""
    laps = ruleset.parameters["laps"]
    whole = laps * lap_lengths
    time = states["finish_time"][:, 0]
    done = time > 0
    finish = np.where(done, whole / 3.0 / np.where(done, time, 1.0), 0.0)
    return states["progress"][:, 0] / whole + finish - (states["cause"][:, 0] > 0)


def evaluate(
    controller: str,
    courses: Sequence[str],
    cars: int,
    *,
    car: str = "dash",
    randomise: str = "default",
    seed: int = 0,
    progress: Callable[[], None] | None = None,
) -> Row:
    """Runs a controller on every course with `cars` randomised cars each.

    Args:
        controller: the agent's text, such as `slope:duty=0.8`.
        courses: names of courses.
        car, randomise: the nominal car and the ranges it is drawn from.
        seed: the cars of course `c` have the seeds `seed + c * cars` and following.
        progress: called after each course has been prepared.
    """
    base = {"car": car, "randomise": randomise, "tachometer": True, "lane": 0, "max_seconds": 60.0}
    rulesets = [GAME.ruleset(course=course, **base) for course in courses]
    agent = make_agent(GAME, controller)
    assert isinstance(agent, Controller)
    memories = []
    for number, ruleset in enumerate(rulesets):
        memory = agent.memory()
        agent.prepare(ruleset, memory, seed + number)
        memories.append(np.repeat(memory, cars))
        if progress:
            progress()
    course = np.repeat(np.arange(len(courses)), cars)
    states = run_many(
        rulesets[0], np.concatenate(memories), seed + np.arange(len(course)),
        params=np.concatenate([r.params for r in rulesets]),
        models=np.concatenate([blank_sensors(r) for r in rulesets]), course=course,
    )  # fmt: skip
    return summarise(controller, states, rulesets, course)


def summarise(controller: str, states: np.ndarray, rulesets: Sequence[Ruleset], course: np.ndarray) -> Row:
    """The results of final states; `course[i]` is the number of the course of run `i`."""
    lap_lengths = np.array([float(r.params["lap_length"][0]) for r in rulesets])[course]
    laps = rulesets[0].parameters["laps"]
    time, cause = states["finish_time"][:, 0], states["cause"][:, 0]
    done = time > 0
    driven = np.maximum(states["progress"][:, 0], 0.1)
    score = points(states, rulesets[0], lap_lengths)
    per_course = np.array([score[course == c].mean() for c in range(len(rulesets))])
    return Row(
        controller=controller,
        runs=len(states),
        lap_time=float(np.mean(time[done] / laps)) if done.any() else float("nan"),
        speed=float(np.mean(laps * lap_lengths[done] / time[done])) if done.any() else float("nan"),
        out=float(np.mean(cause > 0)),
        causes={name: float(np.mean(cause == k)) for k, name in enumerate(CAUSES) if k},
        unfinished=float(np.mean(~done & (cause == 0))),
        energy=float(np.mean(states["energy"][:, 0] / driven)),
        points=float(score.mean()),
        error=float(per_course.std(ddof=1) / np.sqrt(len(per_course))) if len(per_course) > 1 else float("nan"),
    )


__all__ = ["POINTS", "Row", "evaluate", "nominal", "points", "summarise"]
