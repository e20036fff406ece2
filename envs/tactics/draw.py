"""The map as an SVG picture: terrain, units with their hit points, units that may still move, the last action."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace

import numpy as np

from asobiba.api.scene import (
    ACTION,
    ENDING,
    SPOT,
    Entries,
    Pen,
    begin,
    begin_words,
    circle,
    drawing,
    line,
    number,
    place,
    rectangle,
    symbol,
    text,
    word,
)  # fmt: skip
from asobiba.core import Ruleset
from asobiba.envs.tactics import layout
from asobiba.envs.tactics.maps import SIDES
from asobiba.envs.tactics.notation import LETTERS, in_words, map_name
from asobiba.envs.tactics.orders import board_size
from asobiba.envs.tactics.units import DIRECTIONS, MARKS, NAMES, OFFSETS, TERRAINS

FPS = 3.0
_CELL, _TOP, _EDGE = 56, 62, 24
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


_OFFSETS, _DIRECTIONS = np.array(OFFSETS), np.array(DIRECTIONS)
_LIMIT, _THRESHOLD = 0, 1
"""In the numbers of the drawing, two for each map."""
TEXTS, STYLES, SYMBOLS = Entries(), Entries(), Entries()
_LETTERS_AT = TEXTS(LETTERS[0])
for _letter in LETTERS[1:]:
    TEXTS(_letter)
_SIDES_AT = TEXTS(SIDES[0])
TEXTS(SIDES[1])
_TO_MOVE, _TURN, _OF, _POINTS = (TEXTS(each) for each in (" to move", "turn ", " of ", "hit points: red "))
_BLUE, _BOUND, _CLOSE = (TEXTS(each) for each in (", blue ", " (threshold ", ")"))
_FINAL_AT = TEXTS("wait")
TEXTS("end")
TEXTS("resign")
_PHASES_AT = TEXTS("")
TEXTS("to ")
TEXTS("hit ")
_DASH, _HITS = TEXTS("-"), TEXTS("x")
_WON_AT = TEXTS("drawn")
TEXTS("red wins")
TEXTS("blue wins")
_MAPS_AT = len(TEXTS)

_PAPER = STYLES("class='paper' fill='#f6f4ee'")
_WHO_AT = STYLES(f"font-size='16' font-weight='bold' fill='{_SIDE[0]}'")
STYLES(f"font-size='16' font-weight='bold' fill='{_SIDE[1]}'")
_END = STYLES("class='ink' font-size='16' font-weight='bold' fill='#222'")
_LINE = STYLES("class='ink' font-size='14' fill='#444'")
_RIGHT = STYLES("class='ink' font-size='14' text-anchor='end' fill='#444'")
_NAME = STYLES("class='ink' font-size='12' text-anchor='end' fill='#6a6a6a'")
_CHOSEN = STYLES("fill='none' stroke='#ffb400' stroke-width='4'")
_GOAL, _SHOT = STYLES("fill='none' stroke='#222' stroke-width='3'"), STYLES("stroke='#222' stroke-width='4'")
_TARGET = STYLES("fill='none' stroke='#222' stroke-width='4' stroke-dasharray='6 4'")
_READY, _MOVED = STYLES("opacity='1'"), STYLES("opacity='0.62'")
_HP = STYLES(
    "font-size='15' font-weight='bold' text-anchor='end' fill='#111' stroke='#fff' stroke-width='3' paint-order='stroke'"
)


def _unit(kind: int, side: int) -> str:
    """A unit around (0, 0), without its hit points."""
    return (
        f"<rect x='-22' y='-22' width='44' height='44' rx='{22 if side else 7}' fill='{_SIDE[side]}' stroke='#fff' stroke-width='2'/>"
        f"<g fill='#fff'>{_SHAPE[NAMES[kind]]}</g>"
        "<text x='-20' y='-11' font-size='11' font-weight='bold' fill='#111' stroke='#fff' stroke-width='2.5' "
        f"paint-order='stroke'>{MARKS[kind]}</text>"
    )


for _kind in range(len(NAMES)):
    for _side in (0, 1):
        SYMBOLS(_unit(_kind, _side))
_GROUNDS_AT = len(SYMBOLS)


def _ground(map_: layout.Map, size: int) -> str:
    """A map from its upper left corner, with the letters and numbers of its cells."""
    parts = []
    for cell in range(size * size):
        row, column = divmod(cell, size)
        inside = row < map_.height and column < map_.width
        name = TERRAINS[int(map_.terrain[row][column])] if inside else "no-entry"
        x, y = (column + 0.5) * _CELL, (row + 0.5) * _CELL
        parts.append(
            f"<g transform='translate({x:g} {y:g})'><rect x='-28' y='-28' width='56' height='56' fill='{_GROUND[name]}' "
            f"stroke='#00000022'/>{_DETAIL.get(name, '')}</g>"
        )
        if inside and (row == 0 or column == 0) and row != column:
            parts.append(
                f"<text x='{x:g}' y='{y + 5:g}' font-size='13' text-anchor='middle' fill='#ccd'>"
                f"{LETTERS[column] if row == 0 else row + 1}</text>"
            )
    return "".join(parts)


def texts(ruleset: Ruleset) -> Sequence[str]:
    """The texts, with the names of the maps."""
    return [*TEXTS, *(map_name(ruleset, board) for board in range(len(layout.maps_of(ruleset))))]


def symbols(ruleset: Ruleset) -> Sequence[str]:
    """The units, and the ground of every map."""
    return [*SYMBOLS, *(_ground(map_, board_size(ruleset)) for map_ in layout.maps_of(ruleset))]


def data(ruleset: Ruleset) -> np.ndarray:
    """The limits of turns and the thresholds of hit points of the maps."""
    return np.array([[map_.turn_limit, map_.hp_threshold] for map_ in layout.maps_of(ruleset)], float).ravel()


def scenes(ruleset: Ruleset) -> SimpleNamespace:
    """The functions of the drawing of either game."""
    if in_words(ruleset):
        return SimpleNamespace(scene=_scene_in_words, spots=_spots_in_words, tell=_tell_in_words)
    return SimpleNamespace(scene=_scene_of_orders, spots=_spots_of_orders, tell=_tell_of_orders)


@drawing
def _per(p):
    """The actions of one unit in the flat game."""
    return 5 * int(p.width) * int(p.width) + _OFFSETS.shape[0]


@drawing
def _goal(s, p, side, action):
    """The cell that an order's unit goes to."""
    code = action % _per(p)
    if code >= 5 * p.width * p.width:
        return int(s.cell[side, action // _per(p)])
    return code // 5


@drawing
def _target(s, p, side, action):
    """The cell that an order attacks, or -1."""
    code, size = action % _per(p), int(p.width)
    if code >= 5 * size * size:
        way = code - 5 * size * size
        return int(s.cell[side, action // _per(p)]) + int(_OFFSETS[way, 0]) + int(_OFFSETS[way, 1]) * size
    if code % 5 == 0:
        return -1
    return code // 5 + int(_DIRECTIONS[code % 5 - 1, 0]) + int(_DIRECTIONS[code % 5 - 1, 1]) * size


@drawing
def _cell(p, cell, out):
    word(out, _LETTERS_AT + cell % int(p.width))
    number(out, cell // int(p.width) + 1)


@drawing
def _ending(s, out):
    word(out, _WON_AT + (1 if s.rewards[0] > 0 else 2 if s.rewards[0] < 0 else 0))


@drawing
def _spots_of_orders(s, p, d, action, out):
    """The cells of the unit, of its goal, and of its target; none for `end` and `resign`."""
    out[0, 0] = 0
    if action < s.moved.shape[0] * _per(p):
        side = int(s.to_move)
        target = _target(s, p, side, action)
        out[0, 0] = 2 if target < 0 else 3
        out[1, 0], out[2, 0] = int(s.cell[side, action // _per(p)]), _goal(s, p, side, action)
        out[3, 0] = target


@drawing
def _spots_in_words(s, p, d, action, out):
    """The cell."""
    out[0, 0], out[1, 0] = 1 if action < p.width * p.width else 0, action


@drawing
def _tell_of_orders(s, p, d, what, about, out):
    begin_words(out)
    end = s.moved.shape[0] * _per(p)
    if what == SPOT:
        _cell(p, about, out)
    elif what == ENDING:
        _ending(s, out)
    elif what == ACTION and about >= end:
        word(out, _FINAL_AT + 1 + about - end)
    elif what == ACTION:
        side = int(s.to_move)
        origin, goal, target = int(s.cell[side, about // _per(p)]), _goal(s, p, side, about), _target(s, p, side, about)
        _cell(p, origin, out)
        if goal != origin or target < 0:
            word(out, _DASH)
            _cell(p, goal, out)
        if target >= 0:
            word(out, _HITS)
            _cell(p, target, out)


@drawing
def _tell_in_words(s, p, d, what, about, out):
    begin_words(out)
    cells = int(p.width) * int(p.width)
    if what == ENDING:
        _ending(s, out)
    elif what == SPOT:
        _cell(p, about, out)
    elif what == ACTION and about >= cells:
        word(out, _FINAL_AT + about - cells)
    elif what == ACTION:
        word(out, _PHASES_AT + int(s.phase))
        _cell(p, about, out)


@drawing
def _x(p, cell):
    return _EDGE + (cell % int(p.width) + 0.5) * _CELL


@drawing
def _y(p, cell):
    return _TOP + (cell // int(p.width) + 0.5) * _CELL


@drawing
def _field(s, p, d, out):
    """The map, and the lines above it."""
    size, board, mover = int(p.width), int(s.board), int(s.to_move)
    width, height = 2 * _EDGE + size * _CELL, _TOP + size * _CELL + _EDGE
    begin(out, width, height)
    rectangle(out, _PAPER, 0, 0, width, height)
    over = s.terminated != 0 or s.truncated != 0
    text(out, _END if over else _WHO_AT + mover, _EDGE, 24)
    if over:
        _ending(s, out)
    else:
        word(out, _SIDES_AT + mover)
        word(out, _TO_MOVE)
    text(out, _RIGHT, width - _EDGE, 24)
    word(out, _TURN)
    number(out, s.turns)
    word(out, _OF)
    number(out, d[2 * board + _LIMIT])
    text(out, _LINE, _EDGE, 44)
    for side in range(2):
        word(out, _BLUE if side else _POINTS)
        total = 0
        for k in range(s.moved.shape[0]):
            total += int(s.hp[side, k])
        number(out, total)
    word(out, _BOUND)
    number(out, d[2 * board + _THRESHOLD])
    word(out, _CLOSE)
    text(out, _NAME, width - _EDGE, 44)
    word(out, _MAPS_AT + board)
    symbol(out, _GROUNDS_AT + board, _EDGE, _TOP)


@drawing
def _units(s, p, out):
    """The units; those that have moved in this turn are pale."""
    for side in range(2):
        for k in range(s.moved.shape[0]):
            if s.hp[side, k]:
                x, y = _x(p, int(s.cell[side, k])), _y(p, int(s.cell[side, k]))
                ready = side != s.to_move or s.moved[k] == 0
                symbol(out, 2 * int(s.kind[side, k]) + side, x, y, 1.0, 0.0, _READY if ready else _MOVED)
                text(out, _HP, x + 22, y + 23)
                number(out, s.hp[side, k])
    for cell in range(p.width * p.width):
        place(out, cell, _x(p, cell) - _CELL / 2, _y(p, cell) - _CELL / 2, _CELL, _CELL)


@drawing
def _scene_of_orders(s, p, d, mask, seat, last, out):
    """The position; the destination of the last action is framed, its target ringed."""
    _field(s, p, d, out)
    if 0 <= last < s.moved.shape[0] * _per(p):
        side = int(s.to_move)
        if s.moved[last // _per(p)] == 0:  # it was the last of its turn
            side = 1 - side
        goal, target = _goal(s, p, side, last), _target(s, p, side, last)
        x, y = _x(p, goal), _y(p, goal)
        rectangle(out, _GOAL, x - 26, y - 26, 52, 52)
        if target >= 0:
            line(out, _SHOT, x, y, _x(p, target), _y(p, target))
            circle(out, _TARGET, _x(p, target), _y(p, target), 25)
    _units(s, p, out)


@drawing
def _scene_in_words(s, p, d, mask, seat, last, out):
    """The position; the chosen cells are framed."""
    _field(s, p, d, out)
    if s.phase and not s.terminated and not s.truncated:
        for k in range(2 if s.phase == 2 else 1):
            cell = int(s.goal) if k else int(s.cell[int(s.to_move), int(s.unit)])
            rectangle(out, _CHOSEN, _x(p, cell) - 27, _y(p, cell) - 27, 54, 54)
    _units(s, p, out)


def svg(ruleset: Ruleset, state: np.void, *, seat: int | None = None, last_action: int | None = None) -> str:
    """The position as an SVG picture whose size is the board's.

    Args:
        ruleset, state: the position.
        seat: ignored, since nothing is hidden.
        last_action: the action that led here: the destination is framed, the target ringed. In words the chosen cells
            are framed. Units that have moved in this turn are pale.
    """
    return Pen(ruleset).svg(state, None, last_action)
