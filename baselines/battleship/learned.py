"""Trained policies as agents of the whole game: the policy shoots, a placement strategy places the fleet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from asobiba.baselines.battleship.agents import make_r
from asobiba.core import Agent, AgentDeclaration, Ruleset
from asobiba.learn.agent import PolicyAgent, load_policy

POLICY = Path(__file__).parent / "policies" / "policy.safetensors"


class PolicyWithFleet(Agent):
    """A policy for the shots, and a placement strategy for the fleet.

    Args:
        player: the policy. If it was trained with the placement of ships it places them itself.
        placement: a placement strategy, as in the other agents.
    """

    def __init__(self, player: PolicyAgent, placement: str = "r"):
        self.player, self.name = player, player.name
        self._placer = make_r(placement)

    def prepare(self, ruleset: Ruleset) -> None:
        self.player.prepare(ruleset)

    def reset(self, ruleset: Ruleset, seat: int, seed: int) -> None:
        self.player.reset(ruleset, seat, seed)
        self._ships = len(ruleset.params["sizes"][0])
        self._game: tuple[Ruleset, int, int] | None = (ruleset, seat, seed)

    def act(self, view: np.void, legal: np.ndarray) -> Any:
        if self.player.partial and view["placed"][view["to_move"]] < self._ships:
            if self._game is not None:
                self._placer.reset(*self._game)
                self._game = None
            return self._placer.act(view, legal)
        return self.player.act(view, legal)


def make_ppo(placement: str = "r") -> PolicyWithFleet:
    """The policy in `policies/`, trained by `asobiba train battleship`. Needs the extra `sb3`."""
    make_r(placement)  # refuses a wrong name before PyTorch is loaded
    return PolicyWithFleet(PolicyAgent(load_policy(POLICY), "ppo"), placement)


PPO = AgentDeclaration(
    "ppo",
    make_ppo,
    "MaskablePPO, trained by `asobiba train battleship`; needs the extra sb3",
    "baselines/battleship/policies",
    league=False,
    kind="learned",
)
