"""Gogo's search module with the learned evaluation; everything else is that of `search_rules`."""

from __future__ import annotations

import numpy as np

from asobiba.baselines.gogo import positions
from asobiba.baselines.gogo.evaluation import INPUTS, count_inputs, score
from asobiba.baselines.gogo.positions import load, play
from asobiba.baselines.gogo.search_rules import (
    game_keys,
    generate,
    generate_tactical,
    max_moves,
    no_moves,
    repetition,
    solve,
)
from asobiba.baselines.search.rows import NARROW, WIDTH
from asobiba.core import kernel

__all__ = [
    "evaluate",
    "game_keys",
    "generate",
    "generate_tactical",
    "load",
    "max_moves",
    "no_moves",
    "play",
    "position_fields",
    "repetition",
    "solve",
]

WEIGHTS = {"scale": 100}
"""Per cent of the network's score."""


def position_fields(ruleset):
    """Those of every search of Gogo, and room for the network's sums."""
    return [
        *positions.position_fields(ruleset),
        ("counts", np.int64, (INPUTS,)),
        ("first", np.int32, (WIDTH,)),
        ("second", np.int32, (NARROW,)),
    ]


@kernel
def evaluate(node, p, w):
    """The network's score for the player to move."""
    count_inputs(node, p, node.counts)
    return score(p, node.counts, node.first, node.second) * w.scale // 100
