"""Stands in for a game where `afterstate_loops` is read, checked and documented; see `afterstates` for what the kernels of a
game do."""

from __future__ import annotations

from asobiba.baselines.search.uct_placeholder import generate, load, play
from asobiba.core import kernel

__all__ = ["count", "generate", "load", "play"]


@kernel
def count(node, p):
    node.counts[0] = min(node.left, 15)
