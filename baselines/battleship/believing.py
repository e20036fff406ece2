"""The agents that search by belief, and their declarations."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from asobiba.baselines.battleship.equilibrium import EQUILIBRIUM, EXPLOITER, load_hiding, searcher
from asobiba.core import AgentDeclaration, GameParameterError, KernelAgent, Ruleset, game
from asobiba.envs.battleship.parameters import CLASSIC_FLEET

LEARNED = "learned"
_SOURCE = 'sum-product algorithm (Kschischang, Frey and Loeliger, "Factor graphs and the sum-product algorithm", 2001)'


def _slack(value: float) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1:
        raise GameParameterError(f"slack={value!r}: give a number from 0 to below 1")
    return max(float(value), 1e-6)


def make_belief(placement: str = "r", slack: float = 0.0) -> KernelAgent:
    """Shoots where a ship is believed to lie: belief propagation over the ships' placements.

    `slack`: shots are drawn from the cells whose chance is at most this share below the best.
    """
    return searcher(None, _slack(slack), placement, "belief")


class Hider(KernelAgent):
    """Places by a learned placement on the classical board; on others it places at random, and expects that too."""

    def initial_for(self, ruleset: Ruleset) -> np.ndarray:
        p = ruleset.params[0]
        initial = self.initial.copy()
        if (p["height"], p["width"], tuple(p["sizes"])) != (10, 10, CLASSIC_FLEET):
            initial["weighted"], initial["expects"], initial["touch"] = 0, 0, 1.0
        return initial


def _hider(file: Path, expects: bool, placement: str, slack: float, name: str) -> KernelAgent:
    hiding = load_hiding(game("battleship_attack").ruleset(), file)
    made = searcher(hiding, _slack(slack), None if placement == LEARNED else placement, name)
    agent = Hider(made.policy, name=name)
    agent.memory_dtype, agent.initial = made.memory_dtype, made.initial
    agent.initial["expects"] = expects
    return agent


def make_equilibrium(placement: str = LEARNED, slack: float = 0.2) -> KernelAgent:
    """Approximate equilibrium: its fleets are learned against the best searches, and its search expects such fleets.

    `slack`: shots are drawn from the cells whose chance is at most this share below the best, or a fleet could hide from it.
    """
    return _hider(EQUILIBRIUM, True, placement, slack, "equilibrium")


def make_exploiter(placement: str = LEARNED, slack: float = 0.0) -> KernelAgent:
    """Its fleets are learned against searches that expect any fleet alike; it searches as `belief`."""
    return _hider(EXPLOITER, False, placement, slack, "exploiter")


AGENTS: tuple[AgentDeclaration, ...] = (
    AgentDeclaration("belief", make_belief, "belief propagation over the ships' placements", _SOURCE),
    *(
        AgentDeclaration(name, make, text, "baselines/battleship/policies", league=False, kind="learned")
        for name, make, text in (
            ("equilibrium", make_equilibrium, "approximate equilibrium: placement learned against best searches"),
            ("exploiter", make_exploiter, "placement learned against searches that expect uniform fleets"),
        )
    ),
)
