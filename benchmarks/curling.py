"""Shots of both simulators of digital curling, beside a plain integration in frames of a millisecond."""

from __future__ import annotations

import sys
from pathlib import Path

import numba
import numpy as np
from timing import Burst

from asobiba.core import compiled
from asobiba.envs.curling.simulation import run_shot
from asobiba.envs.curling.simulators import SIMULATORS

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from curling_reference import play
from test_curling import random_positions, random_shots

BATCH, STONES = 1024, 8


@compiled()
def one_thread(model, side, back, release, stones, in_play, shots):
    trace = np.zeros((0, 10))
    for i in range(stones.shape[0]):
        run_shot(model, side, back, release, stones[i], in_play[i], 8, (shots[i, 0], shots[i, 1], shots[i, 2]), trace)


@compiled(parallel=True)
def all_threads(model, side, back, release, stones, in_play, shots):
    trace = np.zeros((0, 10))
    for i in numba.prange(stones.shape[0]):
        run_shot(model, side, back, release, stones[i], in_play[i], 8, (shots[i, 0], shots[i, 1], shots[i, 2]), trace)


def events(name: str, threads: int) -> Burst:
    """Batches of 1024 shots, each into a fresh copy of its position."""
    sim, stones, in_play, shots = _drawn(name)
    run = one_thread if threads == 1 else all_threads

    def burst() -> int:
        if threads > 1:
            numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))
        run(sim.model, sim.side, sim.back, sim.release, stones.copy(), in_play.copy(), shots)
        return BATCH

    return burst


def frames(name: str) -> Burst:
    """The same shots, 50 of them, in frames of 1 ms."""
    sim, stones, in_play, shots = _drawn(name)

    def burst() -> int:
        for k in range(50):
            play(name == "cs2", sim.release, sim.side, sim.back, stones[k].copy(), in_play[k].copy(), STONES, *shots[k])
        return 50

    return burst


def _drawn(name: str):
    generator = np.random.default_rng(1)
    stones, in_play = random_positions(generator, BATCH, STONES)
    return SIMULATORS[name], stones, in_play, random_shots(generator, SIMULATORS[name], BATCH)
