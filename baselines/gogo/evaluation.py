"""An evaluation of Gogo that is learned: a small network over counts of patterns, in whole numbers.

Its inputs are the counts that a search keeps anyway (see `positions.py`): for the player to move and for his opponent
how many stones would make each class of pattern, captured pairs and points of capture; then the age of the game. Each
count falls into one of 16 steps, and each step of each count has a row of weights: the sum of the rows goes through two
layers more. Additions of whole numbers are exact in any order, so that the values are the same on every machine.

`learning.py` makes the weights; the form (a sum of rows by input, clipped, small integers) is that of Nasu, "Efficiently
updatable neural-network-based evaluation functions for computer shogi", 2018.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from asobiba.core import kernel
from asobiba.envs.gogo.board import TAKES

FILE = Path(__file__).parent / "policies" / "alpha_beta_learned" / "evaluation.npz"
SIDE = 9
"""Inputs of a side: the classes 1 to 7, captured pairs, points where it captures."""
INPUTS = 2 * SIDE + 1
STEPS = 16
WIDTH, NARROW = 32, 16
"""Units of the first and of the second layer."""
SHIFT = 6
UNIT = 1 << SHIFT
"""The whole number that stands for 1 in weights and activations."""
MOST = 8 * UNIT - 1
"""The greatest activation."""
SCALE = 200
"""Points of a score that the logit 1 of a win stands for."""
_UPPER = (0, 1, 2, 3, 4, 6, 8, 11, 15, 20, 27, 36, 48, 64, 90)
_COUNTED = 128
STEP_OF = np.searchsorted(np.array(_UPPER), np.arange(_COUNTED)).astype(np.int64)
"""The step of each count: up to 0, up to 1, ...; more than 90 is the last one."""


def load_weights(file: Path = FILE) -> dict[str, np.ndarray]:
    """The weights: `rows` (INPUTS, STEPS, WIDTH), `first` (WIDTH,), `hidden` (NARROW, WIDTH), `second` (NARROW,), `last`
    (NARROW,) and `bias` (1,), all int64 multiples of 1 / `UNIT`, the biases of the last two layers of 1 / `UNIT` ** 2."""
    with np.load(file) as saved:
        return {name: saved[name].astype(np.int64) for name in ("rows", "first", "hidden", "second", "last", "bias")}


_WEIGHTS = load_weights()
ROWS = np.ascontiguousarray(_WEIGHTS["rows"].reshape(INPUTS * STEPS, WIDTH).astype(np.int32))
FIRST = _WEIGHTS["first"].astype(np.int32)
HIDDEN = _WEIGHTS["hidden"].astype(np.int32)
SECOND = _WEIGHTS["second"].astype(np.int32)
LAST = _WEIGHTS["last"].astype(np.int32)
BIAS = int(_WEIGHTS["bias"][0])


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
def judge(counts, first, second):
    """The score of inputs for the player to move; `first` and `second` are scratch, `(WIDTH,)` and `(NARROW,)` int32."""
    for k in range(WIDTH):
        first[k] = FIRST[k]
    for i in range(INPUTS):
        row = STEPS * i + counts[i]
        for k in range(WIDTH):
            first[k] += ROWS[row, k]
    for k in range(WIDTH):
        first[k] = min(max(first[k], np.int32(0)), np.int32(MOST))
    total = np.int64(BIAS)
    for j in range(NARROW):
        unit = SECOND[j]
        for k in range(WIDTH):
            unit += HIDDEN[j, k] * first[k]
        second[j] = min(max(unit >> SHIFT, np.int32(0)), np.int32(MOST))
        total += np.int64(LAST[j]) * np.int64(second[j])
    return (total * SCALE) >> (2 * SHIFT)
