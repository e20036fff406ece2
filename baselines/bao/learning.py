"""Learns the evaluation of `evaluation.py`, see `asobiba.baselines.search.rows_learning`, and the values of `values.py`, see
`asobiba.baselines.search.temporal_difference`.

Half of the games begin with the usual board, half with a random one. Results alone are learned: of 40,000 games, the scores of
a search to depth 6 foretell them far worse (cross entropy 0.51) than the network that learned them does in testing (0.22).
"""

from __future__ import annotations

import numpy as np

from asobiba.baselines.bao.evaluation import INPUTS, SCALE, count_inputs
from asobiba.baselines.search.rows_learning import Lesson
from asobiba.baselines.search.temporal_difference import Course, Opponent
from asobiba.core import Game, Ruleset, compiled


@compiled()
def inputs_of(states, params, counts):
    """Writes the inputs of each state, `(n, INPUTS)`."""
    for k in range(states.shape[0]):
        count_inputs(states[k], params[0], np.int64(states[k].to_move), counts[k])


def inputs(ruleset: Ruleset, states: np.ndarray) -> np.ndarray:
    """The steps of all inputs, `(n, INPUTS)` int64."""
    counts = np.zeros((len(states), INPUTS), np.int64)
    inputs_of(states, ruleset.params, counts)
    return counts


def _ruleset(game: Game, chunk: int) -> Ruleset:
    return game.ruleset(start="random") if chunk % 2 else game.ruleset()


LESSON = Lesson(_ruleset, inputs, plies=range(8), scale=SCALE, told=0.0)
COURSE = Course(
    "asobiba.baselines.bao.values",
    _ruleset,
    (
        Opponent("uct", "uct", plies=4),
        Opponent("uct_on_random_boards", "uct", {"start": "random"}),
        Opponent("random", "random", plies=4),
    ),
)
