"""Controllers that know the course, and the policy, as compiled functions, for targets without Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from asobiba.baselines.mini4wd import policies
from asobiba.baselines.mini4wd.controllers import Controller, blank_sensors, nominal
from asobiba.baselines.mini4wd.learned import LearnedDriver, look, steer
from asobiba.baselines.mini4wd.learning import Playback
from asobiba.baselines.mini4wd.predict import REPLICAS
from asobiba.core import Agent, Ruleset
from asobiba.core.agents import Thinking


def _by_duty(views, params, masks, memory, replicas, model, out, actions):
    seat = max(np.int64(views[0].to_move), np.int64(0))
    policies.decide(views[0], params[0], seat, memory[0], replicas, np.int64(0), model[0], out)
    for j in range(actions.shape[1]):
        actions[0, j] = np.float32(out[j])


def _by_level(views, params, masks, memory, replicas, model, out, actions):
    policies.decide(views[0], params[0], np.int64(0), memory[0], replicas, np.int64(0), model[0], out)
    actions[0] = policies.level_of(out[0], out[1])


def _by_policy(views, params, masks, memory, layers, weights, scratch, active, actions):
    look(views[0], max(np.int64(views[0].to_move), np.int64(0)), memory[0])
    steer(memory[0], layers, weights, scratch, active, actions[0])


def controller(agent: Controller, ruleset: Ruleset) -> Thinking:
    """A controller whose preparation is the same before every run."""
    memory = agent.memory()
    agent.practise(ruleset, memory, 0)
    arrays = {
        "memory": memory,
        "replicas": nominal(ruleset).zeros(REPLICAS),
        "model": blank_sensors(ruleset),
        "out": np.zeros(2),
    }
    return Thinking(_by_level if ruleset.discrete else _by_duty, arrays)


def learned(agent: LearnedDriver, ruleset: Ruleset) -> Thinking:
    """The trained policy. Raises `GameParameterError` if it does not fit the rules."""
    agent.reset(ruleset, 0, 0)
    return Thinking(_by_policy, agent.arrays)


COMPILED: dict[type[Agent], Callable[[Any, Ruleset], Thinking | None]] = {
    Controller: controller,
    Playback: controller,
    LearnedDriver: learned,
}
