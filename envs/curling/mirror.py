"""The symmetry of the sheet: left and right may be exchanged, and the spins with them."""

from __future__ import annotations

from typing import Any

import numpy as np

from asobiba.core import Ruleset
from asobiba.core.symmetry import Symmetry
from asobiba.envs.curling.layout import SPINS, TARGET_X, TARGET_Y, WEIGHTS


def mirror_state(ruleset: Ruleset, state: np.void) -> np.void:
    """The state seen in a mirror along the centre line. The generator is the same: noise is not mirrored."""
    other = state.copy()
    for name in ("stones", "before", "last_stones"):
        other[name][:, 0] = -other[name][:, 0] + 0.0
    for name in ("asked", "run"):
        other[name][0], other[name][2] = -other[name][0] + 0.0, -other[name][2] + 0.0
    return other


def mirror_action(ruleset: Ruleset, action: Any) -> Any:
    """The mirrored action: of a continuous action `(3,)` or `(4,)`, or the number of a discrete one."""
    if ruleset.discrete:
        action = int(action)
        if action == len(ruleset.params["shots"][0]):
            return action
        rest, spin = divmod(action, len(SPINS))
        rest, weight = divmod(rest, len(WEIGHTS))
        x, y = divmod(rest, len(TARGET_Y))
        return (((len(TARGET_X) - 1 - x) * len(TARGET_Y) + y) * len(WEIGHTS) + weight) * len(SPINS) + 1 - spin
    other = np.array(action, copy=True)
    other[..., 0] = -other[..., 0]
    # Spin 0 counts as counter-clockwise; its mirror image must be below.
    other[..., 2] = np.where(other[..., 2] == 0, -1e-6, -other[..., 2])
    return other


def mirror_observation(ruleset: Ruleset, observation: np.ndarray) -> np.ndarray:
    """Mirrored observations, `(..., observation_size)`."""
    other = np.array(observation, copy=True)
    parts = ruleset.channels(other)
    parts["stones"][..., 0] *= -1
    if "image" in parts:
        parts["image"][...] = parts["image"][..., ::-1].copy()
    return other


def symmetries(ruleset: Ruleset) -> list[Symmetry]:
    """The mirror of the discrete game."""
    numbers = mirror_observation(ruleset, np.arange(1, ruleset.observation_size + 1, dtype=np.float64))
    actions = np.array([mirror_action(ruleset, action) for action in range(ruleset.num_actions)])
    return [Symmetry(np.abs(numbers).astype(np.int64) - 1, actions, signs=np.sign(numbers).astype(np.int8))]
