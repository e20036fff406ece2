"""The controllers on many random courses with many randomised cars."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from asobiba.baselines.mini4wd.controllers import Controller, blank_sensors, run_many
from asobiba.core import Ruleset, make_agent
from asobiba.core import states as one
from asobiba.envs.mini4wd import GAME, POSITION
from asobiba.envs.mini4wd.physics import CAUSES

POINTS = (
    "1 for the whole distance (in proportion), plus the time at 3 m/s over the time needed, minus 1 for a course-out"
)

UPPER_REFERENCE = "predict:identified=true,margin=0.25"
"""Knows the actual car of each run: the upper bound for the others."""


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


def drive_all(controller: str, ruleset: Ruleset, runs: int, seed: int) -> np.ndarray:
    """Final states `(runs,)` of an agent's runs of the time attack, with the seeds from `seed` on; it practises once."""
    agent = make_agent(GAME, controller)
    if isinstance(agent, Controller):
        memory = agent.memory()
        agent.practise(ruleset, memory, seed)
        return run_many(ruleset, np.repeat(memory, runs), seed + np.arange(runs))
    finals = ruleset.zeros(runs)
    for k in range(runs):
        agent.reset(ruleset, 0, seed + k)
        state = one.new_state(ruleset, seed + k)
        while not one.is_over(state):
            state = one.step(ruleset, state, agent.act(one.view_of(ruleset, state, 0), np.zeros(0, np.int8)))
        finals[k] = state
    return finals


@dataclass(frozen=True)
class Plan:
    """Settings of a table.

    The controllers' defaults were tuned on the courses random:0 to random:19; by default the table uses others.

    Args:
        courses, first: `random:first` and as many as `courses` in all.
        cars: randomised cars on each course.
        car, randomise: the nominal car and the ranges it is drawn from.
        seed: the cars of course number `c` have the seeds `seed + c * cars` and following.
    """

    courses: int = 200
    first: int = 1000
    cars: int = 20
    car: str = "dash"
    randomise: str = "default"
    seed: int = 1_000_000

    @property
    def names(self) -> list[str]:
        """The courses."""
        return [f"random:{k}" for k in range(self.first, self.first + self.courses)]


_AT_ONCE = 10
"""Courses whose cars run together: their memories take 80 KB a car."""


def evaluate(controller: str, plan: Plan, progress: Callable[[int], None] = lambda courses: None) -> Row:
    """Runs a controller on every course of a plan.

    Args:
        controller: the agent's text, such as `slope:duty=0.8`.
        plan: courses and cars.
        progress: called with the number of courses that have just been driven.
    """
    base = {"car": plan.car, "randomise": plan.randomise, "tachometer": True, "lane": 0, "max_seconds": 60.0}
    agent = make_agent(GAME, controller)
    assert isinstance(agent, Controller)
    finals, rulesets, course = [], [], np.repeat(np.arange(plan.courses), plan.cars)
    for begin in range(0, plan.courses, _AT_ONCE):
        part = [GAME.ruleset(course=name, **base) for name in plan.names[begin : begin + _AT_ONCE]]
        memories = []
        for number, ruleset in enumerate(part, begin):
            memory = agent.memory()
            agent.practise(ruleset, memory, plan.seed + number)
            memories.append(np.repeat(memory, plan.cars))
        numbers = np.repeat(np.arange(len(part)), plan.cars)
        finals.append(
            run_many(
                part[0], np.concatenate(memories), plan.seed + begin * plan.cars + np.arange(len(numbers)),
                params=np.concatenate([r.params for r in part]),
                models=np.concatenate([blank_sensors(r) for r in part]), course=numbers,
            )
        )  # fmt: skip
        rulesets += part
        progress(len(part))
    return summarise(controller, np.concatenate(finals), rulesets, course)


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


@dataclass(frozen=True)
class Stops:
    """Distance from its mark at which a controller of the position match stops.

    Args:
        stopped: share of runs that ended at a standstill.
        mean, median: distance to the mark of those, m.
        contest: the contest's score, m: of five runs the best and the worst are dropped, the other three averaged.
            Mean over all fives of runs; a run that did not stop is a worst one.
    """

    controller: str
    tachometer: bool
    runs: int
    stopped: float
    mean: float
    median: float
    contest: float


def evaluate_stops(
    controller: str, tachometer: bool, runs: int, seed: int, progress: Callable[[int], None] = lambda runs: None
) -> Stops:
    """Plays the position match on the Junior Circuit with randomised stock cars; seeds from `seed` on."""
    ruleset = POSITION.ruleset(tachometer=tachometer)
    agent = make_agent(POSITION, controller)
    off = np.full(runs, np.inf)
    nothing = np.zeros(0, np.int8)
    for run in range(runs):
        agent.reset(ruleset, 0, seed + run)
        state = one.new_state(ruleset, seed + run)
        while not one.is_over(state):
            state = one.step(ruleset, state, agent.act(one.view_of(ruleset, state, 0), nothing))
        if state["finish_time"][0] > 0:
            off[run] = abs(state["progress"][0] - state["target"][0])
        progress(1)
    return stops_of(controller, tachometer, off)


def stops_of(controller: str, tachometer: bool, off: np.ndarray) -> Stops:
    """The figures of distances to the mark, m; infinite where the car did not stop."""
    good = np.isfinite(off)
    fives = np.sort(off[: len(off) // 5 * 5].reshape(-1, 5), axis=1)[:, 1:4].mean(axis=1)
    return Stops(
        controller, tachometer, len(off), float(good.mean()),
        float(off[good].mean()) if good.any() else float("nan"),
        float(np.median(off[good])) if good.any() else float("nan"),
        float(fives.mean()) if len(fives) else float("nan"),
    )  # fmt: skip


__all__ = [
    "POINTS",
    "Plan",
    "Row",
    "Stops",
    "drive_all",
    "evaluate",
    "evaluate_stops",
    "points",
    "stops_of",
    "summarise",
]
