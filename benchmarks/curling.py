"""Shots per second of both simulators of digital curling, beside a plain integration in frames of a millisecond.

    python benchmarks/curling.py [--batches 20]

Batches of 1024 shots at random speeds into random positions of eight stones. One thread is measured by its own CPU time,
so that other work on the machine does not count; two threads by the clock. On two cores of an AMD EPYC that were not
quite idle (2026-11-22):

| simulator | one thread, shots/s of CPU time | all threads, shots/s | 1 ms frames, shots/s of CPU time |
|---|--:|--:|--:|
| cs2 | 385,204 | 388,770 (2) | 2,027 |
| fcv1 | 242,020 | 218,087 (2) | 320 |
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numba
import numpy as np

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
        run_shot(model, side, back, release, stones[i], in_play[i], 8, shots[i, 0], shots[i, 1], shots[i, 2], trace)


@compiled(parallel=True)
def all_threads(model, side, back, release, stones, in_play, shots):
    trace = np.zeros((0, 10))
    for i in numba.prange(stones.shape[0]):
        run_shot(model, side, back, release, stones[i], in_play[i], 8, shots[i, 0], shots[i, 1], shots[i, 2], trace)


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batches", type=int, default=20)
    batches = parser.parse_args().batches
    print("| simulator | one thread, shots/s of CPU time | all threads, shots/s | 1 ms frames, shots/s of CPU time |")
    print("|---|--:|--:|--:|")
    for name, sim in SIMULATORS.items():
        generator = np.random.default_rng(1)
        stones, in_play = random_positions(generator, BATCH, STONES)
        shots = random_shots(generator, sim, BATCH)
        sheet = sim.model, sim.side, sim.back, sim.release
        figures = []
        for run, clock in ((one_thread, time.thread_time), (all_threads, time.perf_counter)):
            run(*sheet, stones[:2].copy(), in_play[:2].copy(), shots)
            copies = [(stones.copy(), in_play.copy()) for _ in range(batches)]
            begin = clock()
            for places, here in copies:
                run(*sheet, places, here, shots)
            figures.append(batches * BATCH / (clock() - begin))
        begin = time.thread_time()
        for k in range(100):
            play(name == "cs2", sim.release, sim.side, sim.back, stones[k], in_play[k], 8, *shots[k])
            if k == 0:
                begin = time.thread_time()  # compiled by now
        figures.append(99 / (time.thread_time() - begin))
        print(f"| {name} | {figures[0]:,.0f} | {figures[1]:,.0f} ({numba.get_num_threads()}) | {figures[2]:,.0f} |")


if __name__ == "__main__":
    main()
