"""Learns the evaluation of `evaluation.py`; see `asobiba.baselines.search.rows_learning`."""

from __future__ import annotations

from functools import cache, partial

import numpy as np

from asobiba.baselines.gogo import learned_rules
from asobiba.baselines.gogo.evaluation import INPUTS, SCALE, count_inputs
from asobiba.baselines.gogo.positions import load
from asobiba.baselines.search.rows_learning import Lesson
from asobiba.core import Game, Ruleset, compiled
from asobiba.core.record import record_dtype


@compiled()
def inputs_of(states, params, nodes, counts):
    """Writes the inputs of each state, `(n, INPUTS)`; `nodes` is one record of scratch."""
    for k in range(states.shape[0]):
        load(states[k], params[0], nodes[0])
        count_inputs(nodes[0], params[0], counts[k])


@cache
def _node(ruleset: Ruleset) -> np.ndarray:
    fields = [*learned_rules.position_fields(ruleset), ("key", np.int64), ("side", np.int8)]
    return np.zeros(1, record_dtype(fields))


def inputs(ruleset: Ruleset, states: np.ndarray) -> np.ndarray:
    """The steps of all inputs, `(n, INPUTS)` int64."""
    counts = np.zeros((len(states), INPUTS), np.int64)
    inputs_of(states, ruleset.params, _node(ruleset), counts)
    return counts


def _ruleset(preset: str, game: Game, chunk: int) -> Ruleset:
    return game.ruleset(preset=preset)


def lesson(preset: str = "gogo") -> Lesson:
    """How the network of a preset is learned, from games by its rules."""
    return Lesson(partial(_ruleset, preset), inputs, plies=range(2, 10), scale=SCALE)
