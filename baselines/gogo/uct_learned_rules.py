"""Gogo's search module for UCT with the learned network: it values leaves in place of playouts, and new children first."""

from __future__ import annotations

import numpy as np

from asobiba.baselines.gogo.evaluation import SCALE, count_inputs, score
from asobiba.baselines.gogo.learned_rules import position_fields
from asobiba.baselines.gogo.uct_rules import (
    WEIGHTS,
    evaluate,
    game_keys,
    generate,
    load,
    max_moves,
    no_moves,
    play,
    repetition,
)
from asobiba.core import GameParameterError, kernel
from asobiba.core.elementary import exp
from asobiba.core.record import record_dtype

__all__ = [
    "WEIGHTS",
    "evaluate",
    "game_keys",
    "generate",
    "load",
    "max_moves",
    "no_moves",
    "play",
    "playout",
    "position_fields",
    "prior",
    "repetition",
    "settings_record",
]


def settings_record(ruleset, weight: int = 1) -> np.ndarray:
    """Settings that `prior` reads.

    Args:
        weight: visits that the network's value of a new child counts as, at least 1.

    Raises:
        GameParameterError: for less.
    """
    if weight < 1:
        raise GameParameterError(f"weight is at least 1 visit, not {weight!r}")
    record = np.zeros(1, record_dtype([("weight", np.int64)]))
    record["weight"] = weight
    return record


@kernel
def value_of(node, p):
    """The network's value for the side to move, from -1 to 1."""
    count_inputs(node, p, node.counts)
    return 2.0 / (1.0 + exp(-score(p, node.counts, node.first, node.second) / SCALE)) - 1.0


@kernel
def playout(node, p, generator, settings, root_side):
    """No game is played: the network's value."""
    return value_of(node, p)


@kernel
def prior(node, child, p, move, settings, knowledge):
    """The visits of a new child, and the network's value of it for who moved."""
    return settings.weight, -value_of(child, p)
