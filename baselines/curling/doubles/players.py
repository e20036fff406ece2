"""Players of curling that also place stones."""

from __future__ import annotations

from typing import Any

import numpy as np

from asobiba.baselines.curling.doubles.placements import choose, write_placement
from asobiba.baselines.curling.player import whole
from asobiba.baselines.curling.searchers import Ayumu as AyumuOfFour
from asobiba.baselines.curling.simple import sample_shot, tee_shot, write_action
from asobiba.core import KernelAgent, Ruleset, compiled, kernel
from asobiba.core.states import new_state, step
from asobiba.envs.curling.simulation import STONES


@kernel
def write_shot(p, vx, vy, spin, action):
    """The action of a delivery."""
    write_action(p, vx, vy, spin, action)
    for k in range(3, action.shape[0]):
        action[k] = 0.0


@kernel
def tee_draw_policy(view, p, legal, memory, action):
    """Draws to the tee."""
    if view.shot == 0:
        write_placement(choose(view, p), action)
    else:
        vx, vy, spin = tee_shot(p)
        write_shot(p, vx, vy, spin, action)


@kernel
def rule_based_policy(view, p, legal, memory, action):
    """Plays as Digital Curling 3's sample."""
    if view.shot == 0:
        write_placement(choose(view, p), action)
    else:
        vx, vy, spin = sample_shot(view, p, memory)
        write_shot(p, vx, vy, spin, action)


_MEMORY = [
    ("trials", np.int64),
    ("board", np.float64, (STONES, 2)),
    ("before", np.float64, (STONES, 2)),
    ("here", np.uint8, (STONES,)),
    ("before_here", np.uint8, (STONES,)),
]
"""The setting, and room for the trials."""


def tee_draw() -> KernelAgent:
    """Draws to the tee, whatever lies there."""
    return KernelAgent(tee_draw_policy, name="tee_draw")


def rule_based(trials: int = 50) -> KernelAgent:
    """`rule_based` of curling, which tries a hit `trials` times with noise."""
    return KernelAgent(rule_based_policy, _MEMORY, {"trials": whole("trials", trials, 1, 100_000)}, "rule_based")


@compiled()
def _choose(views, params):
    return choose(views[0], params[0])


class Ayumu(AyumuOfFour):
    """The Monte-Carlo tree search of curling.

    It goes by the win table of the four-person game (`own_table`).
    """

    _warm_for: Ruleset | None = None

    def prepare(self, ruleset: Ruleset) -> None:
        # A game begins with a placement, which compiles nothing of the search: the first shot would do it on the clock.
        if self._warm_for != ruleset:
            self._warm_for = ruleset
            placed = step(ruleset, new_state(ruleset, 0), np.zeros(ruleset.actions_shape, ruleset.action_dtype))
            self.reset(ruleset, 0, 0)
            self.warm_up([placed])

    def act(self, view: np.void, legal: np.ndarray) -> Any:
        if int(view["shot"]) > 0:
            return super().act(view, legal)
        views = self.ruleset.zeros()
        views[0] = view
        action = np.zeros(self.ruleset.actions_shape, self.ruleset.action_dtype)
        action[3] = (int(_choose(views, self.ruleset.params)) + 0.5) / 2.0 - 1.0
        return action
