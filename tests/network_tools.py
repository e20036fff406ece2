"""Small networks, and how compiled code runs them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from asobiba.core.kernels import compiled
from asobiba.core.networks import LINEAR, RELU, Network, NetworkBuilder, forward


@compiled()
def compute(layers, weights, observations, scratch, active, out):
    for i in range(observations.shape[0]):
        for k in range(observations.shape[1]):
            scratch[k] = observations[i, k]
        forward(layers, weights, scratch, active)
        out[i] = scratch


def run_network(network: Network, observations: np.ndarray) -> np.ndarray:
    scratch = np.zeros(network.size, np.float32)
    out = np.zeros((len(observations), network.size), np.float32)
    widest = max(network.layers["inputs"].max(), network.layers["outputs"].max()) + 1
    compute(network.layers, network.weights, observations, scratch, np.zeros(widest, np.int64), out)
    return out


def drawn_layers(generator: np.random.Generator, *sizes: int) -> list[tuple[np.ndarray, np.ndarray]]:
    return [
        (generator.normal(size=(o, i)).astype(np.float32), generator.normal(size=o).astype(np.float32))
        for i, o in pairwise(sizes)
    ]


def table_network(logits: np.ndarray, values: np.ndarray) -> Network:
    """A network that looks the answer up: its observation is one 1 among zeros."""
    builder = NetworkBuilder(len(values))
    policy = builder.dense(0, logits.T, np.zeros(logits.shape[1]), LINEAR)
    return builder.build(policy, logits.shape[1], builder.dense(0, values[None], np.zeros(1), LINEAR))


def uniform_network(ruleset) -> Network:
    size, actions = ruleset.observation_size, ruleset.num_actions
    return table_network(np.zeros((size, actions), np.float32), np.zeros(size, np.float32))


def drawn_network(ruleset, seed: int) -> Network:
    hidden, policy, value = (
        drawn_layers(np.random.default_rng(seed), *sizes)[0]
        for sizes in ((ruleset.observation_size, 24), (24, ruleset.num_actions), (24, 1))
    )
    builder = NetworkBuilder(ruleset.observation_size)
    features = builder.dense(0, *hidden, RELU)
    return builder.build(
        builder.dense(features, 0.2 * policy[0], policy[1], LINEAR), ruleset.num_actions, builder.dense(features, 0.05 * value[0], value[1], LINEAR)
    )  # fmt: skip
