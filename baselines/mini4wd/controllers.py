"""The controllers as agents, their memory, and compiled runs of many cars."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import wraps
from typing import Any

import numba
import numpy as np

from asobiba.baselines.mini4wd import policies
from asobiba.baselines.mini4wd.localise import CELL, CELLS
from asobiba.baselines.mini4wd.predict import REPLICAS
from asobiba.core import Agent, AgentDeclaration, GameParameterError, KernelAgent, Ruleset, compiled
from asobiba.core.laws import close_step, has_ended
from asobiba.core.random import seed_record
from asobiba.core.record import record_dtype
from asobiba.envs.mini4wd.car import CAR_NAMES
from asobiba.envs.mini4wd.rules import hide, reset, run_on

_SENSING = [
    ("kind", np.int32),
    ("timer", np.float64),
    ("pulse", np.float64),
    ("rest", np.float64),
    ("setting", np.float64, (policies.SETTINGS,)),
    ("filter", np.float64, (policies.FILTERS,)),
    ("sensed", np.float64, (6,)),
    ("zero", np.float64, (6,)),
    ("out", np.float64, (2,)),
]
MEMORY = record_dtype(
    [
        ("rng_key", np.uint64),
        ("rng_counter", np.uint64),
        *_SENSING,
        ("cells", np.int32),
        ("starts", np.int32),
        ("at", np.int32),
        ("tape_length", np.int32),
        ("car", np.float64, (len(CAR_NAMES),)),
        ("belief", np.float64, (CELLS,)),
        ("bend", np.float32, (CELLS,)),
        ("climb", np.float32, (CELLS,)),
        ("speed", np.float32, (CELLS,)),
        ("tape", np.float32, (policies.TAPE, 3)),
    ]
)


@compiled()
def _act(views, i, params, k, memories, replicas, model, out):
    policies.decide(views[i], params[0], k, memories[i], replicas, i * REPLICAS, model[0], out)


@compiled(parallel=True)
def run_cars(states, params, seeds, memories, views, replicas, model, course, actions, trail):
    """Runs car `i` with controller `memories[i]` on course `course[i]` (index into params and model) to its end.

    `trail[i, step]` receives the believed cell, the tachometer's speed, yaw rate and pitch rate of every step.
    """
    for index in numba.prange(states.shape[0]):
        i = np.int64(index)
        s = states[i]
        p = params[course[i]]
        seed_record(s, seeds[i])
        reset(s, p)
        out = actions[i]
        memories[i].car[:] = s.car[0]  # read by the upper reference alone
        n = 0
        while not has_ended(s):
            views[i] = s
            hide(views[i], p, 0)
            policies.decide(views[i], p, 0, memories[i], replicas, i * REPLICAS, model[course[i]], out)
            if n < trail.shape[1]:
                trail[i, n, 0] = memories[i].at
                trail[i, n, 1] = s.wheel_speed[0]
                trail[i, n, 2] = memories[i].sensed[5]
                trail[i, n, 3] = memories[i].sensed[4]
            n += 1
            run_on(s, p, np.float64(np.float32(out[0])), np.float64(np.float32(out[1])))
            close_step(s, p)


def nominal(ruleset: Ruleset) -> Ruleset:
    """The time attack with the nominal car of these rules, for controllers that know car and course."""
    from asobiba.envs.mini4wd import GAME

    known = GAME.parameters
    shared = {name: value for name, value in ruleset.parameters.items() if name in known}
    return GAME.ruleset(**{**shared, "randomise": "none", "actions": "duty_mode"})


def blank_sensors(ruleset: Ruleset) -> np.ndarray:
    """Parameters of the nominal car whose sensors take no samples: faster, for prediction."""
    params = nominal(ruleset).params.copy()
    params["sample_every"] = 2**30
    params["tachometer"] = 0
    return params


class Controller(Agent):
    """A controller of this package as an agent.

    Args:
        kind: its number in `policies`.
        settings: the controller's parameters, in the order in which its kernel reads them.
        name: its name in tables.
    """

    def __init__(self, kind: int, settings: list[float], name: str):
        self.kind = kind
        self.settings = settings
        self.name = name

    def memory(self) -> np.ndarray:
        """A fresh memory record, `(1,)`."""
        record = np.zeros(1, MEMORY)
        record["kind"] = self.kind
        record["setting"][0, : len(self.settings)] = self.settings
        return record

    def practise(self, ruleset: Ruleset, memory: np.ndarray, seed: int) -> None:
        """Preparation on the course before the run: nothing, unless the controller learns."""

    def reset(self, ruleset: Ruleset, seat: int, seed: int) -> None:
        self._ruleset, self._seat = ruleset, seat
        self._model_ruleset = nominal(ruleset)
        self._model = blank_sensors(ruleset)
        self._memory = self.memory()
        self.practise(ruleset, self._memory, seed)
        self._replicas = self._model_ruleset.zeros(REPLICAS)
        self._view = ruleset.zeros()
        self._out = np.zeros(2)

    def act(self, view: np.void, legal: np.ndarray) -> Any:
        self._view[0] = view
        _act(self._view, 0, self._ruleset.params, self._seat, self._memory, self._replicas, self._model, self._out)
        if self._ruleset.discrete:
            return nearest_level(self._out)
        size = self._ruleset.actions_shape[-1]
        return self._out[:size].astype(np.float32)


class SensingController(KernelAgent, Controller):
    """A controller that goes by the car's senses alone: all of it is a kernel.

    Args:
        kind, settings, name: as for `Controller`.
        levels: for a game whose actions are the levels of duty.
    """

    def __init__(self, kind: int, settings: list[float], name: str, levels: bool = False):
        Controller.__init__(self, kind, settings, name)
        padded = np.zeros(policies.SETTINGS)
        padded[: len(settings)] = settings
        policy = policies.drive_by_level if levels else policies.drive
        KernelAgent.__init__(self, policy, _SENSING, {"kind": kind, "setting": padded}, name, masks=False)


def by_level(declaration: AgentDeclaration) -> AgentDeclaration:
    """The same controller where actions are levels of duty."""
    make = declaration.make

    @wraps(make)
    def made(*args: Any, **settings: Any) -> Agent:
        agent = make(*args, **settings)
        if isinstance(agent, SensingController):
            return SensingController(agent.kind, agent.settings, agent.name, levels=True)
        return agent

    return replace(declaration, make=made)


def nearest_level(action: np.ndarray) -> int:
    """The discrete action that comes nearest to duty and mode selector."""
    return int(policies.level_of(float(action[0]), float(action[1])))


def run_many(
    ruleset: Ruleset,
    memories: np.ndarray,
    seeds: np.ndarray,
    *,
    params: np.ndarray | None = None,
    models: np.ndarray | None = None,
    course: np.ndarray | None = None,
    trail: np.ndarray | None = None,
) -> np.ndarray:
    """Runs many cars of the time attack to their ends in compiled code.

    Args:
        ruleset: of the game `mini4wd`.
        memories: `(n,)` prepared memory records, one a car; they are changed.
        seeds: `(n,)` integers.
        params, models: `(c,)` parameter records of the courses, and those of the nominal cars; the ruleset's by default.
        course: `(n,)` indices into them.
        trail: `(n, steps, 4)` float32 that receives what `run_cars` says.

    Returns:
        `(n,)` final state records.
    """
    n = len(memories)
    states = ruleset.zeros(n)
    run_cars(
        states=states,
        params=ruleset.params if params is None else params,
        seeds=np.asarray(seeds, np.int64),
        memories=memories,
        views=ruleset.zeros(n),
        replicas=ruleset.zeros(n * REPLICAS),
        model=blank_sensors(ruleset) if models is None else models,
        course=np.zeros(n, np.int64) if course is None else course,
        actions=np.zeros((n, 2)),
        trail=np.zeros((n, 0, 4), np.float32) if trail is None else trail,
    )
    return states


def car_field(state: np.void, name: str) -> float:
    """A value of the car that was drawn for this run."""
    return float(state["car"][0, CAR_NAMES.index(name)])


def require_range(name: str, value: Any, low: float, high: float) -> float:
    """A controller's parameter as a number. Raises `GameParameterError` outside its range."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= high:
        raise GameParameterError(f"{name} is {value!r}, but must be a number from {low:g} to {high:g}")
    return float(value)


Settings = Mapping[str, float]
__all__ = [
    "CELL",
    "MEMORY",
    "Controller",
    "blank_sensors",
    "car_field",
    "nearest_level",
    "nominal",
    "require_range",
    "run_many",
]
