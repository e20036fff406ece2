"""The map as an SVG picture: terrain, units with their hit points, units that may still move, the last action."""

from __future__ import annotations

import numpy as np

from asobiba.core import Ruleset
from asobiba.core.states import legal_actions
from asobiba.envs.tactics import layout
from asobiba.envs.tactics.maps import SIDES
from asobiba.envs.tactics.notation import LETTERS, cell_name, in_words, map_name, outcome_text
from asobiba.envs.tactics.orders import board_size, end_of_turn, order_of
from asobiba.envs.tactics.units import MARKS, NAMES, TERRAINS

FPS = 3.0
_CELL, _TOP, _EDGE = 56, 62, 24
_FONT = "font-family='DejaVu Sans,Verdana,sans-serif'"
_GROUND = {
    "no-entry": "#2f3437", "plain": "#cfe3a4", "sea": "#8cc0e0", "wood": "#7fae6b", "mountain": "#b39d85",
    "road": "#e3dac6", "fortress": "#c9c4d6",
}  # fmt: skip
_DETAIL = {
    "sea": "<path d='M-18 -6q6 -6 12 0t12 0t12 0M-18 8q6 -6 12 0t12 0t12 0' fill='none' stroke='#5e9cc4' stroke-width='2'/>",
    "wood": "<path d='M-16 18l9 -22l9 22zM0 20l10 -26l10 26z' fill='#4f8046'/>",
    "mountain": "<path d='M-24 22l16 -36l12 22l6 -10l14 24z' fill='#8f7a62'/><path d='M-14 -1l6 -13l6 11z' fill='#fff'/>",
    "road": "<path d='M0 -26V26' stroke='#b9ab8c' stroke-width='3' stroke-dasharray='7 6'/>",
    "fortress": "<path d='M-20 22V-14h8v7h8v-7h8v7h8v-7h8V22z' fill='#9a93ad'/>",
}
_SIDE = ("#c8402f", "#2f63b8")
_SHAPE = {
    "fighter": "<path d='M0 -15l4 10l13 7v4l-13 -3l-2 9l5 4v2l-7 -2l-7 2v-2l5 -4l-2 -9l-13 3v-4l13 -7z'/>",
    "attacker": "<path d='M0 -13l4 7h14v5l-14 3v7l5 4v3h-18v-3l5 -4v-7l-14 -3v-5h14z'/>",
    "panzer": "<path d='M-16 2h32l-4 11h-24zM-9 -7h15v2h12v3h-12v3h-15z'/>",
    "cannon": "<path d='M-14 6l22 -18l4 5l-20 16z'/><circle cx='-6' cy='8' r='6'/>",
    "antiair": "<path d='M-15 5h30l-4 8h-22zM-7 4l-2 -16h4l2 16zM2 4l3 -16h4l-3 16z'/>",
    "infantry": "<circle cy='-9' r='5'/><path d='M-8 13v-9q0 -6 8 -6t8 6v9z'/>",
}


def _centre(ruleset: Ruleset, cell: int) -> tuple[float, float]:
    row, column = divmod(int(cell), board_size(ruleset))
    return _EDGE + (column + 0.5) * _CELL, _TOP + (row + 0.5) * _CELL


def _unit(x: float, y: float, side: int, kind: int, hp: int, waiting: bool) -> str:
    name = NAMES[kind]
    return (
        f"<g transform='translate({x:g} {y:g})' opacity='{1 if waiting else 0.62}'>"
        f"<rect x='-22' y='-22' width='44' height='44' rx='{22 if side else 7}' fill='{_SIDE[side]}' stroke='#fff' stroke-width='2'/>"
        f"<g fill='#fff'>{_SHAPE[name]}</g>"
        f"<text x='-20' y='-11' font-size='11' font-weight='bold' {_FONT} fill='#111' stroke='#fff' stroke-width='2.5' "
        f"paint-order='stroke'>{MARKS[kind]}</text>"
        f"<text x='22' y='23' font-size='15' font-weight='bold' text-anchor='end' {_FONT} fill='#111' stroke='#fff' "
        f"stroke-width='3' paint-order='stroke'>{hp}</text></g>"
    )


def targets(ruleset: Ruleset) -> dict[str, tuple[float, float, float, float]]:
    """The clickable cells by name: x, y, width, height."""
    centres = {cell_name(ruleset, cell): _centre(ruleset, cell) for cell in range(board_size(ruleset) ** 2)}
    return {name: (x - _CELL / 2, y - _CELL / 2, _CELL, _CELL) for name, (x, y) in centres.items()}


def clicks(ruleset: Ruleset, state: np.void) -> dict[int, list[str]]:
    """For each legal action the cells to click: those of the unit, of its goal, and of its target.

    A unit that might attack from its goal, but does not, is clicked once more there.
    """
    legal, cells = legal_actions(ruleset, state).tolist(), board_size(ruleset) ** 2
    if in_words(ruleset):
        return {action: [cell_name(ruleset, action)] for action in legal if action < cells}
    orders = {action: order_of(ruleset, state, action) for action in legal if action < end_of_turn(ruleset, state)}
    attacked_from = {(order.unit, order.goal) for order in orders.values() if order.target >= 0}
    found = {}
    for action, order in orders.items():
        path = [int(state["cell"][int(state["to_move"]), order.unit]), order.goal]
        if (order.unit, order.goal) in attacked_from:
            path.append(order.target if order.target >= 0 else order.goal)
        found[action] = [cell_name(ruleset, cell) for cell in path]
    return found


def _trace(ruleset: Ruleset, state: np.void, action: int | None) -> list[str]:
    """Drawing of the action of the flat game that led to a position."""
    if action is None or in_words(ruleset) or action >= end_of_turn(ruleset, state):
        return []
    before = state.copy()
    if not state["moved"][order_of(ruleset, state, action).unit]:  # it was the last of its turn
        before["to_move"] = 1 - int(state["to_move"])
    order = order_of(ruleset, before, action)
    x, y = _centre(ruleset, order.goal)
    drawn = [f"<rect x='{x - 26:g}' y='{y - 26:g}' width='52' height='52' fill='none' stroke='#222' stroke-width='3'/>"]
    if order.target >= 0:
        to_x, to_y = _centre(ruleset, order.target)
        drawn += [
            f"<path d='M{x:g} {y:g}L{to_x:g} {to_y:g}' stroke='#222' stroke-width='4'/>",
            f"<circle cx='{to_x:g}' cy='{to_y:g}' r='25' fill='none' stroke='#222' stroke-width='4' stroke-dasharray='6 4'/>",
        ]
    return drawn


def svg(ruleset: Ruleset, state: np.void, *, seat: int | None = None, last_action: int | None = None) -> str:
    """The position as an SVG picture whose size is the board's.

    Args:
        ruleset, state: the position.
        seat: ignored, since nothing is hidden.
        last_action: the action that led here: the destination is framed, the target ringed. In words the chosen cells
            are framed. Units that have moved in this turn are pale.
    """
    size, map_ = board_size(ruleset), layout.maps_of(ruleset)[int(state["board"])]
    width, height = 2 * _EDGE + size * _CELL, _TOP + size * _CELL + _EDGE
    over = outcome_text(state)
    mover = int(state["to_move"])
    hp = [int(state["hp"][side].sum()) for side in (0, 1)]
    who = over or f"{SIDES[mover]} to move"
    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{width}' height='{height}' viewBox='0 0 {width} {height}'>",
        f"<rect width='{width}' height='{height}' fill='#f6f4ee'/>",
        f"<text x='{_EDGE}' y='24' font-size='16' font-weight='bold' {_FONT} fill='{'#222' if over else _SIDE[mover]}'>{who}</text>",
        f"<text x='{width - _EDGE}' y='24' font-size='14' text-anchor='end' {_FONT} fill='#444'>turn {int(state['turns'])} of "
        f"{map_.turn_limit}</text>",
        f"<text x='{_EDGE}' y='44' font-size='14' {_FONT} fill='#444'>hit points: red {hp[0]}, blue {hp[1]} (threshold "
        f"{map_.hp_threshold})</text>",
        f"<text x='{width - _EDGE}' y='44' font-size='12' text-anchor='end' {_FONT} fill='#777'>"
        f"{map_name(ruleset, int(state['board'])).replace('&', '&amp;').replace('<', '&lt;')}</text>",
    ]
    for cell in range(size * size):
        row, column = divmod(cell, size)
        inside = row < map_.height and column < map_.width
        name = TERRAINS[int(map_.terrain[row][column])] if inside else "no-entry"
        x, y = _centre(ruleset, cell)
        parts.append(
            f"<g transform='translate({x:g} {y:g})'><rect x='-28' y='-28' width='56' height='56' fill='{_GROUND[name]}' "
            f"stroke='#00000022'/>{_DETAIL.get(name, '')}</g>"
        )
        if inside and (row == 0 or column == 0) and row != column:
            parts.append(
                f"<text x='{x:g}' y='{y + 5:g}' font-size='13' text-anchor='middle' {_FONT} fill='#aab'>"
                f"{LETTERS[column] if row == 0 else row + 1}</text>"
            )
    if in_words(ruleset) and state["phase"] and not over:
        marked = [int(state["cell"][mover, int(state["unit"])])] + [int(state["goal"])] * (int(state["phase"]) == 2)
        for cell in marked:
            x, y = _centre(ruleset, cell)
            parts.append(
                f"<rect x='{x - 27:g}' y='{y - 27:g}' width='54' height='54' fill='none' stroke='#ffb400' stroke-width='4'/>"
            )
    parts += _trace(ruleset, state, last_action)
    for side in (0, 1):
        for k in range(len(state["moved"])):
            if state["hp"][side, k]:
                waiting = side != mover or not state["moved"][k]
                x, y = _centre(ruleset, int(state["cell"][side, k]))
                parts.append(_unit(x, y, side, int(state["kind"][side, k]), int(state["hp"][side, k]), waiting))
    return "".join(parts) + "</svg>"
