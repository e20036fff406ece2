"""The decision on the placement that all players share."""

from __future__ import annotations

from asobiba.core import kernel
from asobiba.envs.curling.doubles.rules import HOUSE, RIGHT

FAR_BEHIND, LAST_ENDS = 2, 2
"""Points, and ends, from which on a side that is behind takes its power play."""


@kernel
def choose(view, p):
    """The placement of the side to move: a power play where it needs points, else its stone in the house."""
    side = view.to_move
    behind = view.total[1 - side] - view.total[side]
    late = view.end >= p.ends - LAST_ENDS
    if view.power_end[side] < 0 and view.end < p.ends and (behind >= FAR_BEHIND or (late and behind > 0)):
        return RIGHT
    return HOUSE


@kernel
def write_placement(placement, action):
    """The action of a placement."""
    for k in range(action.shape[0]):
        action[k] = 0.0
    action[3] = (placement + 0.5) / 2.0 - 1.0
