"""The reflections and turns of the board, for games that begin with the shooting."""

from __future__ import annotations

from functools import partial

import numpy as np

from asobiba.core import Ruleset
from asobiba.core.symmetry import Symmetry, board_symmetries

_PLANES = ("misses", "hits", "sinkings", "own_fleet", "incoming")


def symmetries(ruleset: Ruleset) -> list[Symmetry]:
    """Seven on a square board, three on another. None where the players place their fleets: there, the cell that an action
    names after a reflection depends on the length of the ship.
    """
    channels = ruleset.layout.observation
    _, height, width = channels["hits"]
    if ruleset.num_actions != height * width:
        return []
    return [
        Symmetry(observation, cells, partial(_turn, cells=cells))
        for observation, cells in board_symmetries(channels, _PLANES, (height, width))
    ]


def _turn(state: np.void, cells: np.ndarray) -> None:
    state["fleet"] = state["fleet"][:, cells]
    for side in range(2):
        for ship in range(state["places"].shape[1]):
            lies = np.flatnonzero(state["fleet"][side] == ship + 1)
            if len(lies):
                down = len(lies) > 1 and lies[1] - lies[0] > 1
                state["places"][side, ship] = lies[0] + (len(cells) if down else 0)
