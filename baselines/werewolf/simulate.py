"""Many games of the basic play in a compiled loop, without views, masks or records.

The policies read the state itself, of which they look at nothing that their view would hide.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import get_num_threads

from asobiba.baselines.werewolf.basic_play import basic_policy
from asobiba.core import Ruleset, compiled, kernel
from asobiba.core.random import begin_memory, seed_record
from asobiba.envs.werewolf import rules


@kernel
def _play(s, p, memories, action, mask):
    decisions = 0
    while s.terminated == 0:
        for k in range(p.players):
            if s.acting[k] != 0:
                s.to_move = k
                action[k] = basic_policy(s, p, mask, memories[k])
                decisions += 1
        s.to_move = -1
        rules.step(s, p, action)
    return decisions


@compiled()
def play_games(first, count, states, blank, params, memories, initial, action, mask, totals):
    """Plays games of the seeds from `first` on; adds to totals: wins of the wolves' side, days, decisions.

    `initial` holds the memory records of the two sides, villagers first.
    """
    p = params[0]
    for seed in range(first, first + count):
        states[0] = blank[0]
        s = states[0]
        seed_record(s, seed)
        rules.reset(s, p)
        for k in range(p.players):
            memories[k] = initial[s.team[k]]
            begin_memory(memories[k], seed, k)
        totals[2] += _play(s, p, memories, action, mask)
        totals[1] += s.day
        for k in range(p.players):
            if s.team[k] == 1:
                totals[0] += s.win_reward[k] > 0
                break


@dataclass(frozen=True)
class Tally:
    """Totals of many games: wins of the wolves' side, days and decisions."""

    games: int
    wolf_wins: int
    days: int
    decisions: int


def simulate(
    ruleset: Ruleset,
    initial: np.ndarray,
    games: int,
    first_seed: int = 0,
    threads: int | None = None,
    progress: Callable[[int], Any] | None = None,
) -> Tally:
    """Plays `games` games with the sides' memory records `initial` (2,); `progress(n)` is called after every n games."""
    threads = threads or get_num_threads()
    part = max(1, min(2_500, -(-games // threads)))
    starts = range(0, games, part)

    def run(start: int) -> np.ndarray:
        states, blank = ruleset.zeros(), ruleset.zeros()
        seats = states["left"].shape[1]
        totals = np.zeros(3, np.int64)
        count = min(part, games - start)
        play_games(
            first=first_seed + start,
            count=count,
            states=states,
            blank=blank,
            params=ruleset.params,
            memories=np.zeros(seats, initial.dtype),
            initial=initial,
            action=np.zeros(seats, np.int64),
            mask=np.zeros(1, np.int8),
            totals=totals,
        )
        if progress is not None:
            progress(count)
        return totals

    with ThreadPoolExecutor(threads) as pool:
        totals = np.sum(list(pool.map(run, starts)), axis=0)
    return Tally(games, *(int(x) for x in totals))
