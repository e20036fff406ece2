"""Gogo's search module with threes: at the root, and at the leaves if their budget of threats is odd."""

from __future__ import annotations

import numpy as np

from asobiba.baselines.gogo import positions
from asobiba.baselines.gogo.positions import play
from asobiba.baselines.gogo.search_rules import (
    WEIGHTS,
    evaluate,
    game_keys,
    generate,
    generate_tactical,
    max_moves,
    no_moves,
    repetition,
)
from asobiba.baselines.gogo.threats import find_win
from asobiba.baselines.gogo.threes import find_threes
from asobiba.core import kernel

ROOT, ROOT_LINE = 200, 8
LEAF, LEAF_LINE = 30, 4
"""Positions and plies of a search of threes at the root and at a leaf."""

__all__ = [
    "WEIGHTS",
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


def position_fields(ruleset):
    """Those of every search of Gogo, and what the threes of the root have found: -1 before it."""
    return [*positions.position_fields(ruleset), ("threes", np.int32), ("threes_move", np.int32)]


@kernel
def load(s, p, node):
    """The position of a state, whose threes are not yet searched."""
    positions.load(s, p, node)
    node.threes = -1


@kernel
def solve(frames, ply, p, budget):
    """Plies to a win by fours, fives, captures, and then threes, or 0."""
    plies = find_win(frames, ply, p, budget)
    if plies != 0:
        return plies
    if ply != 0:
        return find_threes(frames, ply, p, LEAF, LEAF_LINE) if budget & 1 else 0
    root = frames[0]
    if root.threes < 0:  # once for all depths
        root.threes = find_threes(frames, 0, p, ROOT, ROOT_LINE)
        root.threes_move = root.best_move
    if root.threes > 0:
        root.best_move = root.threes_move
        return np.int64(root.threes)
    return 0
