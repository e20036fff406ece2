"""Perft by the solver's own move generator: the number of games of a length, with equal positions expanded once.

Positions of one ply that are equal up to mirroring are expanded once, with how many games lead to them; so depths are
within reach that no tree walk reaches. A second, independent count beside that of the rules.
"""

from __future__ import annotations

import numpy as np

from asobiba.baselines.animal_shogi.solver.index import POP, WHOLE_GAME, position_of
from asobiba.baselines.animal_shogi.solver.moves import MOST_MOVES, TRIED, catchers, successors
from asobiba.baselines.animal_shogi.solver.reach import start_number
from asobiba.core import compiled


@compiled()
def _expand(material, numbers, games, after, after_games):
    """Plays every move; returns how many games there are now, and how many entries of `after` go on."""
    out = np.empty((1, MOST_MOVES), np.int64)
    total, n = 0, 0
    for k in range(numbers.shape[0]):
        position = position_of(material, numbers[k])
        mine, theirs, e, g, c, h, own = position[:7]
        count = successors(out, 0, material, position, True)
        total += games[k] * (count + POP[catchers(theirs, mine, e, g, c, h, own)])
        if theirs < 3:
            continue  # the opponent's lion was not caught on its goal rank: every other move ends the game
        for j in range(count):
            if out[0, j] & 3 != TRIED:
                after[n], after_games[n] = out[0, j] >> 2, games[k]
                n += 1
    return total, n


def perft(depth: int, material: int = WHOLE_GAME) -> list[int]:
    """The number of games of 1, 2, ... `depth` moves from the start; games that ended earlier do not count.

    A safe try ends the game at once; a third repetition does not (none is possible below nine plies).
    """
    numbers, games = np.array([start_number(material)]), np.array([1])
    counts = []
    for _ in range(depth):
        after = np.empty(len(numbers) * 64, np.int64)
        after_games = np.empty(len(numbers) * 64, np.int64)
        total, n = _expand(material, numbers, games, after, after_games)
        counts.append(int(total))
        order = np.argsort(after[:n])
        after, after_games = after[order], after_games[order]
        starts = np.flatnonzero(np.concatenate(([True], after[1:] != after[:-1]))) if n else np.zeros(0, np.int64)
        numbers = after[starts]
        games = np.add.reduceat(after_games, starts) if n else after_games
    return counts
