"""An evaluation of Gogo that is learned: a small network over counts of patterns, in whole numbers.

Its inputs are counts of what a search keeps anyway (see `positions.py`): for the player to move and for his opponent how
many stones would make each class of pattern, captured pairs, points of capture, and points where one stone makes
patterns on two lines; then the age of the game. The network is that of `asobiba.baselines.search.rows`; `learning.py`
makes its weights. Each kind of rules has weights of its own (`network_of`).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from asobiba.baselines.gogo.patterns import FOUR, OPEN_THREE, OPEN_TWO
from asobiba.baselines.search.rows import STEPS, UNIT, judge, load_rows
from asobiba.core import kernel
from asobiba.envs.gogo.board import TAKES
from asobiba.envs.gogo.lines import THREES_OFF

_FOLDER = Path(__file__).parent / "policies" / "alpha_beta_learned"
PRESETS = ("gogo", "pente", "gomoku")
FILES = {name: (_FOLDER if name == PRESETS[0] else _FOLDER / name) / "evaluation.npz" for name in PRESETS}
"""The weights by the preset whose games they were learned from."""
SIDE = 13
"""Inputs of a side: the classes 1 to 7, captured pairs, points where it captures, points of two patterns: a four and a
three or more, two threes, a three and less, two of less."""
INPUTS = 2 * SIDE + 1
SCALE = 200
"""Points of a score that the logit 1 of a win stands for."""
_UPPER = (0, 1, 2, 3, 4, 6, 8, 11, 15, 20, 27, 36, 48, 64, 90)
_COUNTED = 128
STEP_OF = np.searchsorted(np.array(_UPPER), np.arange(_COUNTED)).astype(np.int64)
"""The step of each count: up to 0, up to 1, ...; more than 90 is the last one."""

ROWS, FIRST, HIDDEN, SECOND, LAST, BIAS = (
    np.array(arrays) for arrays in zip(*(load_rows(file, INPUTS) for file in FILES.values()), strict=True)
)


@kernel
def network_of(p):
    """The network for these rules, by its place in `PRESETS`."""
    if p.captures == 0:
        return 2
    return 1 if p.threes == THREES_OFF else 0


@kernel
def count_doubles(node, p, player, found):
    """Counts the points where the player's stone makes patterns on two lines, into `found[:4]`."""
    area = np.uint64(p.area)  # unsigned, so that no index counts from the end and the loop becomes vectors
    kinds = node.kinds
    at = np.uint64(4 * player) * area
    four_three = two_threes = three_two = two_twos = np.uint32(0)
    for k in range(area):
        first, second = kinds[at + k], kinds[at + area + k]
        third, fourth = kinds[at + area + area + k], kinds[at + area + area + area + k]
        fours = (
            np.uint32(first >= FOUR) + np.uint32(second >= FOUR) + np.uint32(third >= FOUR) + np.uint32(fourth >= FOUR)
        )
        threes = (
            np.uint32(first >= OPEN_THREE)
            + np.uint32(second >= OPEN_THREE)
            + np.uint32(third >= OPEN_THREE)
            + np.uint32(fourth >= OPEN_THREE)
        )
        twos = (
            np.uint32(first >= OPEN_TWO)
            + np.uint32(second >= OPEN_TWO)
            + np.uint32(third >= OPEN_TWO)
            + np.uint32(fourth >= OPEN_TWO)
        )
        four_three += np.uint32(fours >= 1) & np.uint32(threes >= 2)
        two_threes += np.uint32(fours == 0) & np.uint32(threes >= 2)
        three_two += np.uint32(threes == 1) & np.uint32(twos >= 2)
        two_twos += np.uint32(threes == 0) & np.uint32(twos >= 2)
    found[0] = four_three
    found[1] = two_threes
    found[2] = three_two
    found[3] = two_twos


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
        doubles = counts[at + 9 : at + SIDE]
        count_doubles(node, p, player, doubles)
        for k in range(SIDE - 9):
            doubles[k] = STEP_OF[min(doubles[k], _COUNTED - 1)]
    counts[2 * SIDE] = min(np.int64(node.steps) >> 3, STEPS - 1)


@kernel
def score(p, counts, first, second):
    """The score of inputs for the player to move; `first` and `second` are scratch, `(WIDTH,)` and `(NARROW,)` int32."""
    k = network_of(p)
    logit = judge(counts, ROWS[k], FIRST[k], HIDDEN[k], SECOND[k], LAST[k], BIAS[k], first, second)
    return logit * SCALE // UNIT**2
