"""A driver by predictive control whose caution a trained network sets (`caution`, `general`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from asobiba.baselines.mini4wd.caution import CAUTIONS, FEATURES, drive_one, fresh_memory, perceive_one
from asobiba.baselines.mini4wd.controllers import blank_sensors, nominal
from asobiba.baselines.mini4wd.predict import REPLICAS
from asobiba.core import Agent, AgentDeclaration, GameParameterError, Ruleset
from asobiba.envs.mini4wd.layout import control_ms_of

POLICY = Path(__file__).parent / "policies" / "ppo" / "policy.safetensors"
TRAINED_MS = 20
"""The control period that the network knows."""


class CautiousDriver(Agent):
    """Drives by a `network.CarPolicy` that `asobiba mini4wd train-general` has trained.

    Args:
        policy: the `CarPolicy`.
        name: its name in tables.

    Attributes:
        caution: the network's last answer, `(CAUTIONS,)`.
    """

    def __init__(self, policy: Any, name: str = "ppo"):
        from asobiba.baselines.mini4wd.export import actor_layers

        if dict(policy.channels) != {"features": (FEATURES,)}:
            raise GameParameterError(
                f"the policy reads {dict(policy.channels)}; {name!r} needs one that asobiba mini4wd train-general has trained"
            )
        self.name = name
        self._layers = [(weight.astype(np.float32), bias.astype(np.float32)) for weight, bias in actor_layers(policy)]

    def reset(self, ruleset: Ruleset, seat: int, seed: int) -> None:
        if not ruleset.parameters.get("tachometer"):
            raise GameParameterError(f"the policy {self.name!r} needs the game's parameter tachometer=True")
        if control_ms_of(ruleset) != TRAINED_MS or ruleset.discrete or ruleset.actions_shape[-1] != 2:
            raise GameParameterError(
                f"the policy {self.name!r} was trained for duty and mode every {TRAINED_MS} ms, but the game has steps of "
                f"{control_ms_of(ruleset)} ms and {ruleset.action_space}"
            )
        self._ruleset, self._seat = ruleset, seat
        known = nominal(ruleset)
        self._models, self._replicas = blank_sensors(ruleset), known.zeros(REPLICAS)
        self._memory, self._view = fresh_memory(1), ruleset.zeros()
        self._features, self._out = np.zeros(FEATURES), np.zeros(2)
        self.caution = np.zeros(CAUTIONS)

    def act(self, view: np.void, legal: np.ndarray) -> Any:
        self._view[0] = view
        params = self._ruleset.params
        perceive_one(self._view, params, self._seat, self._memory, self._replicas, self._models, self._features)
        self.caution[:] = self.answer(self._features.astype(np.float32))
        drive_one(params, self._memory, self._replicas, self._models, self.caution, self._out)
        return self._out.astype(np.float32)

    def answer(self, features: np.ndarray) -> np.ndarray:
        """Features `(FEATURES,)` to caution `(CAUTIONS,)`: the mean of the policy's distribution."""
        values = np.clip(features, -4.0, 4.0)
        for number, (weight, bias) in enumerate(self._layers, 1):
            values = weight @ values + bias
            if number < len(self._layers):
                values = np.maximum(values, 0.0)
        return np.clip(values, -1.0, 1.0)


def ppo(path: str | None = None) -> CautiousDriver:
    """The policy in `policies/ppo`, trained on generated courses by `asobiba mini4wd train-general`, or the one at `path`. It knows the
    course and the nominal car, as `predict` does; needs the extra `sb3`, the tachometer and a control period of 20 ms."""
    from asobiba.learn.agent import load_policy

    return CautiousDriver(load_policy(path or POLICY))


GENERAL = AgentDeclaration(
    "ppo",
    ppo,
    "PPO over generated courses and drawn cars: sets the caution of predictive control; needs the extra sb3 and the tachometer",
    "baselines/mini4wd/policies",
    deterministic=True,
    league=False,
    kind="learned",
)
