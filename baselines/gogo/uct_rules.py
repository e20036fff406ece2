"""Gogo's search module for UCT: the same positions as for alpha-beta, and only the most promising moves."""

from __future__ import annotations

from asobiba.baselines.gogo.search_rules import (
    MOST_MOVES,
    WEIGHTS,
    evaluate,
    game_keys,
    gather,
    load,
    max_moves,
    no_moves,
    play,
    position_fields,
    repetition,
)
from asobiba.core import kernel

__all__ = [
    "WEIGHTS",
    "evaluate",
    "game_keys",
    "generate",
    "load",
    "max_moves",
    "no_moves",
    "play",
    "position_fields",
    "repetition",
]

WIDTH = 10


@kernel
def generate(node, p):
    """The moves of greatest promise, best first; where one decides at once, or must be answered, few are left."""
    count = min(gather(node, p, MOST_MOVES), WIDTH)
    urgent = 0
    while urgent < count and node.order[urgent] >= 500:
        urgent += 1
    return urgent if urgent > 0 else count
