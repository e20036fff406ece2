"""The search rules of Bao with the learned evaluation; everything else is `search_rules`'."""

from __future__ import annotations

import numpy as np

from asobiba.baselines.bao import search_rules
from asobiba.baselines.bao.evaluation import INPUTS, count_inputs, score
from asobiba.baselines.bao.search_rules import game_keys, generate, load, max_moves, play, repetition
from asobiba.baselines.search.rows import NARROW, WIDTH
from asobiba.core import kernel

__all__ = [
    "WEIGHTS",
    "evaluate",
    "game_keys",
    "generate",
    "load",
    "max_moves",
    "play",
    "position_fields",
    "repetition",
]

WEIGHTS = {"scale": 100}
"""Per cent of the network's score."""


def position_fields(ruleset):
    """Those of every search of Bao, and room for the network's sums."""
    return [
        *search_rules.position_fields(ruleset),
        ("counts", np.int64, (INPUTS,)),
        ("sums", np.int32, (WIDTH,)),
        ("narrow", np.int32, (NARROW,)),
    ]


@kernel
def evaluate(node, p, w):
    """The network's score for the player to move."""
    count_inputs(node, p, np.int64(node.side), node.counts)
    return score(node.counts, node.sums, node.narrow) * w.scale // 100
