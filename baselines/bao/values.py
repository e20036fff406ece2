"""Inputs of the policy `td` on the 8x2 board: see `asobiba.baselines.search.afterstates`.

The inputs are those of `evaluation.py`; besides, for both players, what each of their moves captures (1 for a move that captures
nothing, 0 for none), the most of these, how many moves there are, and what all together capture; and the lead, seed by seed.
The captures of the side to move are what it threatens at once; its opponent's are what he would take if nothing changed.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from asobiba.baselines.bao import search_rules
from asobiba.baselines.bao.evaluation import HOLES, count_inputs
from asobiba.baselines.bao.evaluation import INPUTS as COUNTED_INPUTS
from asobiba.baselines.bao.search_rules import generate, load, max_moves, play
from asobiba.baselines.search.rows import STEPS
from asobiba.core import GameParameterError, kernel
from asobiba.envs.bao.rules import seeds_in, sow_on

__all__ = ["FILE", "INPUTS", "count", "generate", "load", "max_moves", "play", "position_fields"]

FILE = Path(__file__).parent / "policies" / "td" / "evaluation.npz"
CAPTURES = COUNTED_INPUTS
"""Where the further inputs of the player to move begin; his opponent's follow each."""
MOST, MOVES = CAPTURES + 2 * HOLES, CAPTURES + 2 * HOLES + 2
SEEDS = MOVES + 2
ALL = SEEDS + 1
INPUTS = ALL + 2


@kernel
def count(node, p):
    me, none = np.int64(node.side), np.uint64(0)
    counts = node.counts
    count_inputs(node, p, me, counts)
    b0, b1 = node.board[0], node.board[1]
    for side in range(2):
        first = (me if side == 0 else 1 - me) * HOLES
        most, moves, total = np.int64(0), np.int64(0), np.int64(0)
        for k in range(HOLES):
            taken = np.int64(-1)
            if seeds_in(p, b0, b1, none, none, first + k) != 0:
                a0, a1, a2, a3, last = sow_on(p, b0, b1, none, none, first + k)
                if last >= 0:
                    taken = np.int64(seeds_in(p, a0, a1, a2, a3, 2 * HOLES - 1 - last))
                    moves += 1
                    total += taken
            counts[CAPTURES + side * HOLES + k] = min(taken + 1, STEPS - 1)
            most = max(most, taken + 1)
        counts[MOST + side] = min(most, STEPS - 1)
        counts[MOVES + side] = moves
        counts[ALL + side] = min(total // 2, STEPS - 1)
    lead = np.int64(node.stores[me]) - np.int64(node.stores[1 - me])
    counts[SEEDS] = min(max(lead + STEPS // 2, 0), STEPS - 1)


def position_fields(ruleset):
    """Those of every search of Bao.

    Raises:
        GameParameterError: for another board.
    """
    if ruleset.params.dtype["sow"].shape[0] != 2 * HOLES:
        raise GameParameterError(f"td plays on the board of 8x2, not {ruleset}; alpha_beta plays on all")
    return search_rules.position_fields(ruleset)
