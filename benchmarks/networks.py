"""Networks as kernels beside PyTorch, and self-play by search: one core, the published network of animal shogi."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from asobiba import baselines, game
from asobiba.api import Batch
from asobiba.core import compiled
from asobiba.core.networks import Network, forward
from asobiba.learn.kernels import load_network
from asobiba.learn.policy_file import load_policy
from asobiba.learn.search import SelfPlay

POLICY = Path(baselines.__path__[0]) / "animal_shogi" / "policies" / "gumbel_az" / "policy.safetensors"
BATCHES = (1, 16, 256)
SIMULATIONS = 32


@compiled()
def _answers(layers, weights, observations, scratch, active):
    for i in range(observations.shape[0]):
        for k in range(observations.shape[1]):
            scratch[k] = observations[i, k]
        forward(layers, weights, scratch, active)


def _observations(count: int) -> np.ndarray:
    batch = Batch(game("animal_shogi").ruleset(), count, threads=1)
    batch.reset(seed=1)
    for _ in range(10):
        batch.step(batch.sample_actions())
    return batch.observations.reshape(count, -1)


def _microseconds(call: Callable[[], object], rounds: int = 9) -> float:
    call()
    repeats, spent = 1, 0.0
    while spent < 0.05:
        repeats *= 2
        start = time.perf_counter()
        for _ in range(repeats):
            call()
        spent = time.perf_counter() - start
    found = []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(repeats):
            call()
        found.append((time.perf_counter() - start) / repeats)
    return statistics.median(found) * 1e6


class Forward(NamedTuple):
    """Microseconds of one batch."""

    batch: int
    kernel: float
    torch: float


def forwards() -> list[Forward]:
    """The network as a kernel and in PyTorch, both on one thread."""
    torch.set_num_threads(1)
    network, policy, rows = load_network(POLICY), load_policy(POLICY), []
    scratch, active = np.zeros(network.size, np.float32), np.zeros(network.size, np.int64)
    for count in BATCHES:
        seen = _observations(count)
        tensor = torch.from_numpy(seen.astype(np.float32))

        def by_torch(tensor: torch.Tensor = tensor) -> object:
            with torch.no_grad():
                logits, features = policy.mlp_extractor(tensor)
                return policy.action_net(logits), policy.value_net(features)

        arguments = network.layers, network.weights, seen, scratch, active
        kernel = _microseconds(partial(_answers, *arguments))
        rows.append(Forward(count, kernel, _microseconds(by_torch)))
    return rows


def self_play() -> tuple[float, float]:
    """Moves of self-play a second on one core, and the share of its time that is not the network's arithmetic."""
    network: Network = load_network(POLICY)
    settings = {"games": 64, "simulations": SIMULATIONS, "threads": 1, "length": 200, "openings": 4}
    play = SelfPlay(game("animal_shogi").ruleset(), network, **settings)
    play.play(network, 0)
    rates = []
    for number in range(1, 6):
        start = time.perf_counter()
        moves = int(play.play(network, number * 1000).lengths.sum())
        rates.append(moves / (time.perf_counter() - start))
    rate = statistics.median(rates)
    seen = play.games.observations[
        play.games.lengths > 4, 4
    ]  # positions of such games, for the price of one evaluation
    scratch, active = np.zeros(network.size, np.float32), np.zeros(network.size, np.int64)
    one = _microseconds(lambda: _answers(network.layers, network.weights, seen, scratch, active)) / len(seen)
    return rate, 1 - rate * (SIMULATIONS + 1) * one / 1e6
