"""Exact counting for people: how many fleets fit all that a side was told, in total and over every cell."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from asobiba.baselines.battleship.agents import require_countable
from asobiba.baselines.battleship.fleets import count_fleets
from asobiba.core import Ruleset, compiled


@dataclass(frozen=True)
class FleetCount:
    """How many fleets fit.

    `total` is their number with like ships told apart; `over` `(height, width)` int64 counts those with a ship on a cell.
    """

    total: int
    over: np.ndarray

    @property
    def probability(self) -> np.ndarray:
        """`(height, width)` float64: how likely a ship is on each cell, all fitting fleets being equally likely."""
        return self.over / max(self.total, 1)


@compiled()
def _count(states, params, side, over):
    return count_fleets(states[0], params[0], side, False, np.zeros(2, np.uint64), over)


def count_placements(ruleset: Ruleset, view: np.void, side: int = 0) -> FleetCount:
    """Counts the fleets of the opponent that fit everything `side` was told: misses, hits, which ship sank at which
    shot, and that the others did not sink.

    Args:
        ruleset: battleship or BattleshipAttack, with any of its rules, on at most 128 cells.
        view: a state or a view of it.
        side: who was told.

    Raises:
        GameParameterError: for boards and fleets too large to be counted.
    """
    require_countable(ruleset)
    states = ruleset.zeros()
    states[0] = view
    over = np.zeros(int(ruleset.params["cells"][0]), np.int64)
    total = int(_count(states, ruleset.params, side, over))
    p = ruleset.params[0]
    return FleetCount(total, over.reshape(int(p["height"]), int(p["width"])))
