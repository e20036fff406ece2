"""Actions as orders (unit, goal, target), and conversions between the two games."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from asobiba.core import Ruleset
from asobiba.envs.tactics.units import CANNON, DIRECTIONS, OFFSETS


class Order(NamedTuple):
    """A unit's order: its number, the cell it goes to, and the cell it attacks or -1."""

    unit: int
    goal: int
    target: int


def board_size(ruleset: Ruleset) -> int:
    """Cells to a side of the board."""
    return int(ruleset.params["width"][0])


def _sizes(ruleset: Ruleset) -> tuple[int, int, int]:
    """The board's side, its cells, and the actions of one unit."""
    size = board_size(ruleset)
    return size, size * size, 5 * size * size + len(OFFSETS)


def end_of_turn(ruleset: Ruleset, state: np.void) -> int:
    """The flat game's action that ends the turn; the next one resigns."""
    return len(state["moved"]) * _sizes(ruleset)[2]


def order_of(ruleset: Ruleset, state: np.void, action: int) -> Order:
    """A unit's action of the flat game as an order."""
    size, cells, per = _sizes(ruleset)
    unit, code = divmod(int(action), per)
    if code >= 5 * cells:
        goal = int(state["cell"][int(state["to_move"]), unit])
        dx, dy = OFFSETS[code - 5 * cells]
        return Order(unit, goal, goal + dx + dy * size)
    goal, way = divmod(code, 5)
    dx, dy = DIRECTIONS[way - 1]
    return Order(unit, goal, goal + dx + dy * size if way else -1)


def action_of(ruleset: Ruleset, state: np.void, order: Order) -> int | None:
    """The flat game's action of an order; `None` if no unit of that type could make that attack."""
    size, cells, per = _sizes(ruleset)
    first = order.unit * per
    if order.target < 0:
        return first + 5 * order.goal
    way = (order.target % size - order.goal % size, order.target // size - order.goal // size)
    side = int(state["to_move"])
    if int(state["kind"][side, order.unit]) == CANNON:
        if order.goal != int(state["cell"][side, order.unit]) or way not in OFFSETS:
            return None
        return first + 5 * cells + OFFSETS.index(way)
    return first + 5 * order.goal + 1 + DIRECTIONS.index(way) if way in DIRECTIONS else None


def targets(ruleset: Ruleset, state: np.void, unit: int, goal: int) -> list[int]:
    """The cells that a unit of the side to move may attack when it goes to `goal`."""
    enemy = 1 - int(state["to_move"])
    cells = [int(cell) for cell, hp in zip(state["cell"][enemy], state["hp"][enemy]) if hp]
    return [cell for cell in cells if action_of(ruleset, state, Order(unit, goal, cell)) is not None]


def standing_on(state: np.void, side: int, cell: int) -> int | None:
    """The unit of a side that stands on a cell."""
    for unit, (where, hp) in enumerate(zip(state["cell"][side].tolist(), state["hp"][side].tolist())):
        if hp and where == cell:
            return unit
    return None


def other_game(ruleset: Ruleset) -> Ruleset:
    """The same maps and parameters in the other game."""
    from asobiba.envs.tactics import GAME, STEPS

    return (STEPS if ruleset.game is GAME else GAME).ruleset(**ruleset.parameters)


def other_state(ruleset: Ruleset, state: np.void) -> np.void:
    """The position of `state`, which is of `ruleset`, in the other game.

    A unit that was chosen in words but has not yet moved is no longer chosen. `steps` is not changed.
    """
    found = other_game(ruleset).zeros()
    for name in set(found.dtype.names or ()) & set(ruleset.dtype.names or ()):
        found[name][0] = state[name]
    return found[0]


def in_words(ruleset: Ruleset, state: np.void, action: int) -> list[int]:
    """The actions of the game in words that make up an action of the flat game (`ruleset`) in `state`."""
    cells, end = _sizes(ruleset)[1], end_of_turn(ruleset, state)
    if action >= end:
        return [cells + 1 + int(action) - end]
    order = order_of(ruleset, state, action)
    words = [int(state["cell"][int(state["to_move"]), order.unit]), order.goal]
    if order.target >= 0:
        words.append(order.target)
    elif targets(ruleset, state, order.unit, order.goal):
        words.append(cells)
    return words


def completed(ruleset: Ruleset, state: np.void, action: int) -> int | None:
    """The flat game's action that an action of the game in words (`ruleset`) completes, or `None` if it does not."""
    cells = _sizes(ruleset)[1]
    if action > cells:
        return end_of_turn(ruleset, state) + int(action) - cells - 1
    unit = int(state["unit"])
    if state["phase"] == 1 and not targets(ruleset, state, unit, int(action)):
        return action_of(ruleset, state, Order(unit, int(action), -1))
    if state["phase"] == 2:
        return action_of(ruleset, state, Order(unit, int(state["goal"]), -1 if action == cells else int(action)))
    return None
