"""Exact counting for people: the number of fleets that fit everything a side was told, in total and over every cell."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from asobiba.baselines.battleship.agents import require_countable
from asobiba.baselines.battleship.exact_count import count_fleets
from asobiba.core import NotationError, PositionError, Ruleset, compiled
from asobiba.core.states import new_state, view_of
from asobiba.envs.battleship.notation import names_of, text_to_cell
from asobiba.envs.battleship.record import HIT, MISS


@dataclass(frozen=True)
class FleetCount:
    """Number of fleets that fit.

    `total` is their number with like ships told apart; `over` `(height, width)` int64 counts those with a ship on a cell.
    """

    total: int
    over: np.ndarray

    @property
    def probability(self) -> np.ndarray:
        """`(height, width)` float64: how likely a ship is on each cell, all fitting fleets being equally likely."""
        return self.over / max(self.total, 1)


def knowledge(ruleset: Ruleset, answers: Iterable[tuple[str, str]]) -> np.void:
    """The view of a side that has shot at these cells and got these answers, for `count_placements`.

    Args:
        ruleset: BattleshipAttack, with sinkings told by kind (the default).
        answers: pairs of a cell and its answer in the order of the shots, such as `("B4", "miss")`, `("C4", "hit")`,
            `("D4", "sunk destroyer")`.

    Raises:
        NotationError: for a cell or an answer that cannot be read.
        PositionError: for a cell shot at twice, or a ship sunk twice.
    """
    names = names_of(ruleset)
    view = new_state(ruleset, 0)
    view = view_of(ruleset, view, 0)
    told, afloat = view["answers"][0], view["told_afloat"][0]
    for number, (where, answer) in enumerate(answers, 1):
        cell = text_to_cell(ruleset, where)
        word, _, ship = answer.strip().lower().partition(" ")
        if word not in ("miss", "hit", "sunk") or (word == "sunk") != (ship in names):
            raise NotationError(
                f"{answer!r} is not an answer; answers are: miss, hit, {', '.join(f'sunk {name}' for name in names)}"
            )
        if view["shot_number"][0][cell]:
            raise PositionError(f"{where} was shot at twice")
        view["shot_number"][0][cell] = view["shots"][0] = number
        told[cell] = MISS if word == "miss" else HIT
        if word == "sunk":
            if not afloat[names.index(ship)]:
                raise PositionError(f"the {ship} was sunk twice")
            afloat[names.index(ship)] = 0
            view["afloat"][1] -= 1
            told[cell] += names.index(ship) + 1
    return view


@compiled()
def _count(states, params, side, over):
    return count_fleets(states[0], params[0], side, False, np.zeros(2, np.uint64), over)


def count_placements(ruleset: Ruleset, view: np.void, side: int = 0) -> FleetCount:
    """Counts the fleets of the opponent that fit everything `side` was told: misses, hits, which ship sank at which
    shot, and that the others did not sink.

    Args:
        ruleset: battleship or BattleshipAttack, with any of its rules, on at most 128 cells.
        view: a state, a view of it, or what `knowledge` makes.
        side: the side that was told.

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
