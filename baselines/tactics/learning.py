"""Learns the evaluation of `evaluation.py`, see `asobiba.baselines.search.rows_learning`, and the values of `values.py`, see
`asobiba.baselines.search.temporal_difference`.

Half of the games are played on the shipped maps, half on maps that are drawn for them, so that what is learned holds on maps
that nobody has seen.
"""

from __future__ import annotations

import numpy as np

from asobiba.baselines.search.rows_learning import Lesson
from asobiba.baselines.search.temporal_difference import Course, Opponent
from asobiba.baselines.tactics.evaluation import INPUTS, count_inputs
from asobiba.core import Game, Ruleset, compiled


@compiled()
def inputs_of(states, params, counts, threat):
    """Writes the inputs of each state, `(n, INPUTS)`."""
    for k in range(states.shape[0]):
        count_inputs(states[k], params[0], np.int64(states[k].to_move), counts[k], threat)


def inputs(ruleset: Ruleset, states: np.ndarray) -> np.ndarray:
    """The steps of all inputs, `(n, INPUTS)` int64."""
    counts = np.zeros((len(states), INPUTS), np.int64)
    inputs_of(states, ruleset.params, counts, np.zeros((3, states["hp"].shape[-1]), np.int64))
    return counts


def ruleset_of_chunk(game: Game, chunk: int) -> Ruleset:
    """The shipped maps, and for every second chunk of games other drawn ones; never those of `map_seed=0`, the default."""
    return game.ruleset(map="generated", map_seed=1 + chunk) if chunk % 2 else game.ruleset()


LESSON = Lesson(ruleset_of_chunk, inputs, plies=range(8), scale=1.0)
COURSE = Course(
    "asobiba.baselines.tactics.values",
    ruleset_of_chunk,
    (Opponent("max_act_eval", "max_act_eval", plies=4), Opponent("rhea", "rhea", plies=4)),
)
