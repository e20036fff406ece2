"""Policies of dense layers as compiled functions, for targets without Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from asobiba.core.agents import Thinking
from asobiba.core.game import Ruleset
from asobiba.core.networks import Network, forward


def _playing(observe: Any, inputs: int, policy: int) -> Callable[..., None]:
    def play(views, params, masks, layers, weights, scratch, active, seen, actions):
        view, mask = views[0], masks[0]
        observe(view, params[0], np.int64(view.to_move), seen)
        for k in range(inputs):
            scratch[k] = np.float32(seen[k])
        forward(layers, weights, scratch, active)
        best: Any = np.int64(-1)
        for action in range(mask.shape[0]):
            if mask[action] != 0 and (best < 0 or scratch[policy + action] > scratch[policy + best]):
                best = action
        actions[0] = best

    return play


def network_thinking(ruleset: Ruleset, network: Network) -> Thinking:
    """The legal action with the greatest logit; the first of equal ones."""
    widest = int(max(network.layers["inputs"].max(), network.layers["outputs"].max()))
    arrays = {
        "layers": network.layers,
        "weights": network.weights,
        "scratch": np.zeros(network.size, np.float32),
        "active": np.zeros(widest, np.int64),
        "seen": np.zeros(ruleset.observation_size, ruleset.observation_space.dtype),
    }
    return Thinking(_playing(ruleset.game.rules.observe, network.inputs, network.policy), arrays)
