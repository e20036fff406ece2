"""Sequential halving: simulations shared out over candidates of which most are poor.

A shot's simulations are divided over rounds. In a round every candidate left gets equally many; the worse half, by mean
value, is dropped. Ties go to the candidate that stands earlier in the table, which is the search's prior. With fewer
simulations than `LEAST` a candidate, only the first of the table are tried at all, and a warning says so.
Source: Karnin, Koren, Somekh, "Almost Optimal Exploration in Multi-Armed Bandits", ICML 2013.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from functools import partial

import numpy as np

from asobiba.baselines.curling.player import Clock, FewSimulations

LEAST = 4
"""Simulations that a candidate needs before it can be compared."""
MANY = 30
"""Candidates that have to be left out before a player warns."""


def tried_of(count: int, simulations: int, name: str) -> int:
    """The number of candidates, of `count`, that a search with this many simulations can try. Warns if many are left out."""
    tried = min(count, max(simulations // LEAST, 2))
    if count - tried >= MANY:
        warnings.warn(  # one text for all positions: Python shows it once
            f"{name}: with {simulations} simulations a shot only the first {tried} candidates of a position are tried, "
            f"{LEAST} times each at least; 5000 simulations are a fair budget",
            FewSimulations,
            stacklevel=2,
        )
    return tried


def halve(
    count: int,
    clock: Clock,
    view: np.void,
    think: Callable[[np.ndarray, int], None],
    means: Callable[[], np.ndarray],
    name: str,
) -> int:
    """Searches by sequential halving within the clock's budget. Returns the best candidate.

    Args:
        count: of candidates. view: the position, for the clock.
        think: `think(alive, n)` plays `n` lines, in turn from the candidates `alive` (int64). means: the mean value of each
            candidate so far, `(count,)`; of no interest where none has been played.
        name: of the player, for the warning.
    """
    clock.start(view)
    if clock.rate == 0.0 and clock.timed:  # how fast this machine is: one line of each
        clock.portion(partial(think, np.arange(count)), count, count)
    total = clock.left_simulations()
    alive = np.arange(tried_of(count, total, name))
    rounds = max(math.ceil(math.log2(len(alive))), 1)
    for number in range(rounds):
        lines = max(clock.left_simulations() // (rounds - number), len(alive))
        clock.portion(partial(think, alive), lines // len(alive) * len(alive), len(alive))
        order = np.argsort(-means()[alive], kind="stable")  # ties: the table's order
        alive = np.sort(alive[order][: (len(alive) + 1) // 2])
        if clock.out_of_time():
            break
    clock.stop()
    found = means()[alive]
    return int(alive[found.argmax()])
