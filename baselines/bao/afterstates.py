"""The boards that a player's moves lead to, as inputs of a network.

A sowing goes on from hole to hole, so that a network can hardly tell from the counts where a move ends. The rules can: as
in TD-Gammon, the network is shown the board after each of its own moves (its afterstates), and looks at no reply.
Everything is computed from the plain observation.

Source: Tesauro, Temporal difference learning and TD-Gammon, Communications of the ACM 38, 1995.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from asobiba.core import Ruleset, compiled, kernel
from asobiba.envs.bao.rules import seeds_in, slot_of, sow_on

EXTRA = 2
"""Values of a move besides the counts: the seeds it captures, and whether it can be made and ends."""


@kernel
def tell(p, out, first):
    """Completes an observation by what the moves of its viewer lead to.

    Args:
        p: the ruleset's parameters.
        out: begins with the seeds in his row and in the other, clockwise; `(holes, 2 * holes + EXTRA)` values are written
            from `first` on: each move's counts after the capture, and the extra values.
    """
    ring = p.sow.shape[0]
    b0 = b1 = b2 = b3 = np.uint64(0)
    for hole in range(ring):
        slot = slot_of(p, hole)
        seeds = np.uint64(np.int64(out[hole])) << np.uint64((slot & 7) << 3)
        if slot < 8:
            b0 |= seeds
        elif slot < 16:
            b1 |= seeds
        elif slot < 24:
            b2 |= seeds
        else:
            b3 |= seeds
    for move in range(ring // 2):
        start = first + move * (ring + EXTRA)
        for k in range(ring + EXTRA):
            out[start + k] = 0
        if out[move] == 0:
            continue
        a0, a1, a2, a3, last = sow_on(p, b0, b1, b2, b3, np.int64(move))
        if last < 0:
            continue
        for hole in range(ring):
            out[start + hole] = seeds_in(p, a0, a1, a2, a3, hole)
        opposite = ring - 1 - last
        out[start + ring] = out[start + opposite]
        out[start + opposite] = 0
        out[start + ring + 1] = 1


@compiled()
def _tell_all(params, found, first):
    for n in range(len(found)):
        tell(params[0], found[n], first)


def _completed(observe: Any) -> Any:
    @kernel
    def complete(s, p, player, out):
        ring = p.sow.shape[0]
        observe(s, p, player, out)
        tell(p, out, out.shape[0] - (ring // 2) * (ring + EXTRA))

    return complete


class Afterstates:
    """Completes observations with the boards after the viewer's own moves, as `asobiba.learn.memory` wants it; it remembers nothing.

    Args:
        ruleset: of the games.
        count: of games side by side, which do not matter here.
    """

    stateless = True
    completed = staticmethod(_completed)

    def __init__(self, ruleset: Ruleset, count: int):
        self._params = ruleset.params
        ring = self._params.dtype["sow"].shape[0]
        self.size = ring // 2 * (ring + EXTRA)

    def look(self, observations: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """Observations `(n, size)` with what `tell` says of each, `(n, size + self.size)` float32."""
        seen = observations.shape[1]
        found = np.zeros((len(observations), seen + self.size), np.float32)
        found[:, :seen] = observations
        _tell_all(self._params, found, seen)
        return found
