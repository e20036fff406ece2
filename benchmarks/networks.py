"""Networks as kernels beside PyTorch, and learning by search: the published network of animal shogi."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
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
from asobiba.core.networks import forward
from asobiba.learn.config import load_config
from asobiba.learn.expert import Expert
from asobiba.learn.kernels import load_network
from asobiba.learn.policy_file import load_policy
from asobiba.learn.search import SelfPlay

POLICY = Path(baselines.__path__[0]) / "animal_shogi" / "policies" / "gumbel_az" / "policy.safetensors"
BATCHES = (1, 16, 256)
SIMULATIONS, THREADS = 32, 2


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
    torch.set_flush_denormal(
        True
    )  # weights that have decayed to nothing, which kernels drop, cost PyTorch ten times the time
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
    torch.set_flush_denormal(False)
    return rows


class Training(NamedTuple):
    """Rounds of `asobiba train animal_shogi --algo gumbel_az`.

    Attributes:
        moves: of self-play a second, learning included.
        core: milliseconds of processor time a move, learning included: on a machine that others use too, what it costs.
        playing: the share of the time in which games are played, not learned from.
        outside: the share of the time of self-play that is not the network's arithmetic.
        computed: the share of the evaluations that a search asks for that are computed: other positions were met before.
    """

    moves: float
    core: float
    playing: float
    outside: float
    computed: float


def training() -> Training:
    """`rounds_of_training` in a process whose threads wait as those of `asobiba train` do."""
    waiting = "from asobiba.core.targets import wait_without_spinning as wait; wait(); "
    code = f"{waiting}import json, networks; print(json.dumps(networks.rounds_of_training()))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=Path(__file__).parent, check=True, stdout=subprocess.PIPE, text=True
    )
    return Training(*json.loads(done.stdout))


def rounds_of_training(rounds: int = 5) -> Training:
    """The trainer with the game's settings but for `THREADS` threads, from the published weights before its last run."""
    shogi = game("animal_shogi")
    config = load_config(shogi, algorithm="gumbel_az", threads=THREADS, simulations=SIMULATIONS, window=40000)
    torch.set_num_threads(THREADS)
    expert = Expert(shogi, config)
    expert.play_and_learn()  # compiles
    assert isinstance(expert.self_play, SelfPlay)
    before, begun = expert.self_play.evaluations, time.process_time()
    found = [expert.play_and_learn() for _ in range(rounds)]
    spent = time.process_time() - begun
    asked, computed = (now - then for now, then in zip(expert.self_play.evaluations, before, strict=True))
    playing, learning = (sum(row[name] for row in found) for name in ("self_play", "learning"))
    games, network = expert.self_play.games, expert.network()
    seen = games.observations[games.lengths > 4, 4]  # positions of such games, for the price of one evaluation
    scratch, active = np.zeros(network.size, np.float32), np.zeros(network.size, np.int64)
    one = _microseconds(lambda: _answers(network.layers, network.weights, seen, scratch, active)) / len(seen)
    moves = sum(row["moves"] for row in found)
    return Training(
        moves=moves / (playing + learning),
        core=1000 * spent / moves,
        playing=playing / (playing + learning),
        outside=1 - computed * one / 1e6 / (playing * THREADS),
        computed=computed / asked,
    )
