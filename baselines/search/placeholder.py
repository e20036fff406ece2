"""The game that stands in the search's loops before a real one is bound: one heap, of which one to three are taken.

It is a whole search module (see the package), so that the loops can be imported, read by tools, and tried.
"""

from __future__ import annotations

import numpy as np

from asobiba.baselines.search.hooks import no_tactical as generate_tactical
from asobiba.baselines.search.hooks import nothing_proven as solve
from asobiba.baselines.search.hooks import stuck_loses as no_moves
from asobiba.core import kernel

__all__ = ["evaluate", "generate", "generate_tactical", "load", "no_moves", "play", "solve"]

WEIGHTS = {"odd": 1}


def position_fields(ruleset):
    """The heap."""
    return [("heap", np.int32)]


def max_moves(ruleset):
    """Three."""
    return 3


def repetition(ruleset):
    """Nothing repeats."""
    return 0, 0


def game_keys(ruleset, state):
    """The present position."""
    return np.array([2 * int(state["heap"]) + int(state["to_move"])])


@kernel
def load(s, p, node):
    """The heap and who is to move."""
    node.heap = s.heap
    node.side = s.to_move
    node.key = 2 * s.heap + s.to_move


@kernel
def generate(node, p):
    """Takes one to three."""
    count = min(node.heap, 3)
    for k in range(count):
        node.moves[k] = k
        node.order[k] = 0
    return count


@kernel
def play(node, child, p, move):
    """The player who takes the last one wins."""
    child.heap = node.heap - (move + 1)
    child.side = 1 - node.side
    child.key = 2 * child.heap + child.side
    return 1 if child.heap == 0 else 0


@kernel
def evaluate(node, p, w):
    """Nothing is known of a heap that is not empty but whether it is odd."""
    return w.odd * (node.heap & 1)


@kernel
def past_keys(s, p, keys):
    """Nothing repeats."""
    keys[0] = 0
    return 1
