"""The trained policy in `policies/`: a network that chooses among the shots of the discrete game.

In the continuous game it plays the same shots: the observations of both games are the same.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from asobiba.baselines.curling.player import to_action
from asobiba.core import Agent, Ruleset
from asobiba.core.registry import game
from asobiba.envs.curling.layout import discrete_shots, simulator_of

FILE = "policy.safetensors"


def path() -> Path:
    """The file of the trained policy."""
    return Path(str(files("asobiba.baselines.curling") / "policies" / FILE))


def ppo() -> Agent:
    """The policy that `asobiba train curling_discrete` made. Needs the extra `sb3`."""
    from asobiba.learn.agent import PolicyAgent, load_policy

    return PolicyAgent(load_policy(path()), "ppo")


@cache
def _shots(simulator: Any) -> np.ndarray:
    return discrete_shots(simulator)


class Translated(Agent):
    """An agent of the discrete game that plays the continuous one.

    Args:
        agent: answers `act_batch`.
    """

    def __init__(self, agent: Agent):
        self.agent, self.name = agent, agent.name

    def reset(self, ruleset: Ruleset, seat: int, seed: int) -> None:
        kept = {key: value for key, value in ruleset.parameters.items() if key != "actions"}
        self.ruleset, self.inner = ruleset, game("curling_discrete").ruleset(**{**kept, "concession": False})
        self.shots = _shots(simulator_of(ruleset))
        self.agent.begin(self.inner, (seat,), (seed,))

    def act(self, view: np.void, legal: np.ndarray) -> Any:
        views = np.zeros(1, view.dtype)
        views[0] = view
        return self.act_batch(views, legal[None])[0]

    def act_batch(self, views: np.ndarray, legal: np.ndarray) -> np.ndarray:
        """Actions `(n, 3)` or `(n, 4)` for view records `(n,)`."""
        numbers = self.agent.act_batch(views.view(self.inner.dtype), np.ones((len(views), len(self.shots)), np.int8))
        assert numbers is not None
        return np.array([to_action(self.ruleset, *self.shots[number]) for number in numbers])


def ppo_continuous() -> Agent:
    """`ppo` in the continuous game."""
    return Translated(ppo())
