"""Many games between two of the classical agents in one compiled call, for the reproduction of the paper."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import prange

from asobiba.baselines.battleship.policy import play
from asobiba.core import KernelAgent, Ruleset, compiled, seed_record
from asobiba.core.random import begin_memory
from asobiba.envs.battleship.record import is_hit
from asobiba.envs.battleship.rules import legal, reset, step

_CHUNK = 500


@dataclass
class Duel:
    """Results of games between two agents. `wins`, `shots`, `hits`: for the first and the second player."""

    games: int
    wins: tuple[int, int]
    shots: tuple[int, int]
    hits: tuple[int, int]

    def __add__(self, other: Duel) -> Duel:
        def both(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
            return a[0] + b[0], a[1] + b[1]

        return Duel(
            self.games + other.games,
            both(self.wins, other.wins),
            both(self.shots, other.shots),
            both(self.hits, other.hits),
        )


@compiled(parallel=True)
def _play_games(states, params, memories, seed, results):
    # A row of results per game: winner (0 or 1), shots and hits of the first, then of the second player.
    for index in prange(states.shape[0]):
        i = np.int64(index)
        s, p = states[i], params[0]
        seed_record(s, seed + i)
        for seat in range(2):
            begin_memory(memories[2 * i + seat], seed + i, seat)
        reset(s, p)
        mask = np.zeros(2 * p.cells, np.int8)
        while s.terminated == 0:
            legal(s, p, mask)
            step(s, p, play(s, p, mask, memories[2 * i + s.to_move]))
        results[i, 0] = 0 if s.rewards[0] > 0 else 1
        for side in range(2):
            hits = 0
            for cell in range(p.cells):
                hits += is_hit(s, side, cell)
            results[i, 1 + 2 * side] = s.shots[side]
            results[i, 2 + 2 * side] = hits


def play_games(ruleset: Ruleset, first: KernelAgent, second: KernelAgent, games: int, seed: int) -> np.ndarray:
    """Plays games number `seed` to `seed + games - 1` and returns their results.

    A game has the same result as through the environment with the same seed: the generators are started in the same
    way, and the agents read nothing that their view would hide (a test plays both ways).

    Returns:
        `(games, 5)` int64: the winner (0 or 1), shots and hits of the first player, shots and hits of the second.
    """
    states = ruleset.zeros(games)
    memories = np.concatenate([first.initial_for(ruleset), second.initial_for(ruleset)])[np.arange(2 * games) % 2]
    results = np.zeros((games, 5), np.int64)
    _play_games(states, ruleset.params, memories, np.uint64(seed), results)
    return results


def play_duel(ruleset: Ruleset, first: KernelAgent, second: KernelAgent, games: int, seed: int, progress=None) -> Duel:
    """The summed results of `games` games; `progress(n)` is called after every part of n games."""
    total = Duel(0, (0, 0), (0, 0), (0, 0))
    for begin in range(0, games, _CHUNK):
        part = min(_CHUNK, games - begin)
        rows = play_games(ruleset, first, second, part, seed + begin)
        won = int((rows[:, 0] == 0).sum())
        sums = [int(x) for x in rows.sum(axis=0)]
        total += Duel(part, (won, part - won), (sums[1], sums[3]), (sums[2], sums[4]))
        if progress is not None:
            progress(part)
    return total
