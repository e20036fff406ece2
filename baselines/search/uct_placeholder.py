"""Stands in for a game where `uct_loops` is read, checked and documented; a search binds a game's own kernels instead.

The game: `left` stones, each player takes one or two, who takes the last one wins. See the package for what the kernels
of a game do.
"""

from __future__ import annotations

from asobiba.core import kernel


@kernel
def load(s, p, node):
    node.left, node.side, node.key = s.left, s.to_move, 2 * s.left + s.to_move


@kernel
def generate(node, p):
    for k in range(min(2, node.left)):
        node.moves[k] = k + 1
        node.order[k] = 0
    return min(2, node.left)


@kernel
def play(node, child, p, move):
    child.left, child.side = node.left - move, 1 - node.side
    child.key = 2 * child.left + child.side
    return 1 if child.left == 0 else 0


@kernel
def playout(node, p, generator, settings, root_side):
    """The playout of games that have none of their own: never called."""
    return 0.0


@kernel
def prior(node, child, p, move, settings, knowledge):
    """The prior of games that have none of their own: never called."""
    return 0, 0.0
