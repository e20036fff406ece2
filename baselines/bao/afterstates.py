"""The boards that a player's moves lead to, as inputs of a network.

A sowing goes on from hole to hole, so that a network can hardly tell from the counts where a move ends. The rules can: as
in TD-Gammon, the network is shown the board after each of its own moves (its afterstates), and looks at no reply.
Everything is computed from the plain observation.

Source: Tesauro, Temporal difference learning and TD-Gammon, Communications of the ACM 38, 1995.
"""

from __future__ import annotations

import numpy as np

from asobiba.core import Ruleset, compiled, kernel
from asobiba.envs.bao.rules import seeds_in, slot_of, sow_on

EXTRA = 2
"""Values of a move besides the counts: the seeds it captures, and whether it can be made and ends."""


@kernel
def tell(p, counts, told):
    """Writes what the moves of the player whose row comes first lead to.

    Args:
        p: the ruleset's parameters.
        counts: `(2 * holes,)`, seeds in his row and in the other, clockwise.
        told: `(holes, 2 * holes + EXTRA)` float32, zeros: each move's counts after the capture, and the extra values.
    """
    ring = counts.shape[0]
    b0 = b1 = b2 = b3 = np.uint64(0)
    for hole in range(ring):
        slot = slot_of(p, hole)
        seeds = np.uint64(counts[hole]) << np.uint64((slot & 7) << 3)
        if slot < 8:
            b0 |= seeds
        elif slot < 16:
            b1 |= seeds
        elif slot < 24:
            b2 |= seeds
        else:
            b3 |= seeds
    for move in range(ring // 2):
        if counts[move] == 0:
            continue
        a0, a1, a2, a3, last = sow_on(p, b0, b1, b2, b3, np.int64(move))
        if last < 0:
            continue
        for hole in range(ring):
            told[move, hole] = seeds_in(p, a0, a1, a2, a3, hole)
        opposite = ring - 1 - last
        told[move, ring] = told[move, opposite]
        told[move, opposite] = 0
        told[move, ring + 1] = 1


@compiled()
def _tell_all(params, observations, ring, told):
    for n in range(len(observations)):
        tell(params[0], observations[n, :ring], told[n])


class Afterstates:
    """Completes observations with the boards after the viewer's own moves, as `asobiba.learn.memory` wants it; it remembers nothing.

    Args:
        ruleset: of the games.
        count: of games side by side, which do not matter here.
    """

    stateless = True

    def __init__(self, ruleset: Ruleset, count: int):
        self._params = ruleset.params
        self._ring = self._params.dtype["sow"].shape[0]
        self._shape = (self._ring // 2, self._ring + EXTRA)
        self.size = self._shape[0] * self._shape[1]

    def look(self, observations: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """Observations `(n, size)` with what `tell` says of each, `(n, size + self.size)` float32."""
        seen = np.ascontiguousarray(observations, np.float32)
        told = np.zeros((len(seen), *self._shape), np.float32)
        _tell_all(self._params, seen.astype(np.int64), self._ring, told)
        return np.concatenate([seen, told.reshape(len(seen), -1)], 1)
