"""An evaluation of Bao on the 8x2 board that is learned: a small network over the seeds in each hole, in whole numbers.

Its inputs, for the player to move: seeds in each of his holes and of his opponent's, each in the order in which their
owner sows; lead in captured seeds; seeds and filled holes of both rows. The network is that of
`asobiba.baselines.search.rows`; `learning.py` makes its weights.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from asobiba.baselines.bao.search_rules import row_seeds
from asobiba.baselines.search.rows import STEPS, UNIT, judge, load_rows
from asobiba.core import kernel
from asobiba.envs.bao.rules import seeds_in

FILE = Path(__file__).parent / "policies" / "alpha_beta_learned" / "evaluation.npz"
HOLES = 8
LEAD = 2 * HOLES
ROW_SEEDS, FILLED = LEAD + 1, LEAD + 3
"""Where the inputs of the player to move stand; his opponent's follow each."""
INPUTS = LEAD + 5
SCALE = 200
"""Points of a score that the logit 1 of a win stands for."""

ROWS, FIRST, HIDDEN, SECOND, LAST, BIAS = load_rows(FILE, INPUTS)


@kernel
def count_inputs(node, p, me, counts):
    """Writes the step of each input of a position into `counts`, `(INPUTS,)`, for the player `me`."""
    b0, b1, b2, b3 = node.board[0], node.board[1], np.uint64(0), np.uint64(0)
    for side in range(2):
        player = me if side == 0 else 1 - me
        for k in range(HOLES):
            counts[side * HOLES + k] = min(seeds_in(p, b0, b1, b2, b3, player * HOLES + k), STEPS - 1)
        seeds, filled = row_seeds(p, b0, b1, b2, b3, player)
        counts[ROW_SEEDS + side] = min(seeds // 2, STEPS - 1)
        counts[FILLED + side] = filled
    lead = np.int64(node.stores[me]) - np.int64(node.stores[1 - me])
    counts[LEAD] = min(max(lead // 2 + STEPS // 2, 0), STEPS - 1)


@kernel
def score(counts, sums, narrow):
    """The score of inputs for the player to move; `sums` and `narrow` are scratch, `(WIDTH,)` and `(NARROW,)` int32."""
    return judge(counts, ROWS, FIRST, HIDDEN, SECOND, LAST, BIAS, sums, narrow) * SCALE // UNIT**2
