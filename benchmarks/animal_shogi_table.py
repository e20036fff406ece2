"""Measures the table of animal shogi's exact values: opening it, and looking up positions of random games.

asobiba solve animal_shogi
python benchmarks/animal_shogi_table.py
"""

from __future__ import annotations

import statistics
import time

import numpy as np

from asobiba.api import Batch
from asobiba.baselines.animal_shogi.solver.table import ValueTable
from asobiba.core import game

GAMES, STEPS, ROUNDS = 4096, 40, 7


def random_positions() -> np.ndarray:
    """Positions of random games that go on, `(n,)` int64."""
    batch = Batch(game("animal_shogi").ruleset(), GAMES)
    batch.reset(0)
    found = []
    for _ in range(STEPS):
        batch.step(batch.sample_actions())
        found.append(batch.states["position"][batch.states["terminated"] == 0])
    return np.concatenate(found)


def main() -> None:
    """Prints seconds to open the table with its first answer, and microseconds a position in one call."""
    positions = random_positions()
    begin = time.perf_counter()
    table = ValueTable.open()
    table.values(positions[:1])
    opened = time.perf_counter() - begin
    times = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        table.values(positions)
        times.append(time.perf_counter() - begin)
    print(f"{table.path}: open with the first answer {opened:.3f} s")
    each = 1e6 / len(positions)
    print(
        f"{len(positions):,} positions in one call: {statistics.median(times) * each:.3f} us a position "
        f"(median of {ROUNDS}; the first call {times[0] * each:.3f})"
    )


if __name__ == "__main__":
    main()
