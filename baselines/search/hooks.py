"""Defaults for the optional kernels of a search module."""

from __future__ import annotations

from asobiba.core import kernel


@kernel
def no_tactical(node, p):
    """Quiescence has no move to follow."""
    return 0


@kernel
def stuck_loses(node, p):
    """A player without a move loses."""
    return -1


@kernel
def nothing_proven(frames, ply, p, budget):
    """No search of threats."""
    return 0


@kernel
def present_alone(s, p, keys):
    """No position of the game can come again."""
    keys[0] = 0
    return 1
