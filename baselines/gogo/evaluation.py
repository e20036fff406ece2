"""An evaluation of Gogo that is learned: a small network over counts of patterns, in whole numbers.

Its inputs are the counts that a search keeps anyway (see `positions.py`): for the player to move and for his opponent
how many stones would make each class of pattern, captured pairs and points of capture; then the age of the game. The
network is that of `asobiba.baselines.search.rows`; `learning.py` makes its weights.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from asobiba.baselines.search.rows import STEPS, UNIT, judge, load_rows
from asobiba.core import kernel
from asobiba.envs.gogo.board import TAKES

FILE = Path(__file__).parent / "policies" / "alpha_beta_learned" / "evaluation.npz"
SIDE = 9
"""Inputs of a side: the classes 1 to 7, captured pairs, points where it captures."""
INPUTS = 2 * SIDE + 1
SCALE = 200
"""Points of a score that the logit 1 of a win stands for."""
_UPPER = (0, 1, 2, 3, 4, 6, 8, 11, 15, 20, 27, 36, 48, 64, 90)
_COUNTED = 128
STEP_OF = np.searchsorted(np.array(_UPPER), np.arange(_COUNTED)).astype(np.int64)
"""The step of each count: up to 0, up to 1, ...; more than 90 is the last one."""

ROWS, FIRST, HIDDEN, SECOND, LAST, BIAS = load_rows(FILE, INPUTS)


@kernel
def count_inputs(node, p, counts):
    """Writes the step of each input of a search's node into `counts`, `(INPUTS,)`."""
    me = np.int64(node.to_move)
    area = np.int64(p.area)
    for side in range(2):
        player = me if side == 0 else 1 - me
        at = SIDE * side
        for kind in range(1, 8):
            counts[at + kind - 1] = STEP_OF[min(np.int64(node.tally[8 * player + kind]), _COUNTED - 1)]  # type: ignore[call-overload]
        counts[at + 7] = STEP_OF[min(np.int64(node.captured[player]) // 2, _COUNTED - 1)]  # type: ignore[call-overload]
        points = 0
        if p.captures != 0:
            for point in range((TAKES + player) * area, (TAKES + player + 1) * area):
                points += 1 if node.planes[point] != 0 else 0
        counts[at + 8] = STEP_OF[min(points, _COUNTED - 1)]
    counts[2 * SIDE] = min(np.int64(node.steps) >> 3, STEPS - 1)


@kernel
def score(counts, first, second):
    """The score of inputs for the player to move; `first` and `second` are scratch, `(WIDTH,)` and `(NARROW,)` int32."""
    return judge(counts, ROWS, FIRST, HIDDEN, SECOND, LAST, BIAS, first, second) * SCALE // UNIT**2
