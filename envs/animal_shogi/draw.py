"""The board as an SVG picture: pieces as tiles with the directions they move in, hands, last move, legal targets."""

from __future__ import annotations

import numpy as np

from asobiba.core import Ruleset
from asobiba.envs.animal_shogi.board import GOES, OFFSETS
from asobiba.envs.animal_shogi.notation import (
    action_parts,
    legal_now,
    outcome_text,
    square_name,
)
from asobiba.envs.animal_shogi.position import PLAYERS, board_of, hands_of

_CELL, _GAP, _HAND, _TOP = 92, 4, 120, 64
_WIDTH, _HEIGHT = 2 * _HAND + 3 * _CELL + 40, _TOP + 4 * _CELL + 54
_FONT = "font-family='DejaVu Sans,Verdana,sans-serif'"
_FILL = {"C": "#f7d774", "H": "#f2b35e", "E": "#9fc3e8", "G": "#e8c39f", "L": "#ef9a86"}
_INK = "#3a2b18"
_SHAPES = {
    "C": (
        "<circle r='15' fill='#fff3b0' stroke='{i}' stroke-width='2'/><circle cx='-5' cy='-3' r='2' fill='{i}'/>"
        "<circle cx='5' cy='-3' r='2' fill='{i}'/><path d='M-4 3L4 3L0 9Z' fill='#e08a1e'/>"
    ),
    "H": (
        "<path d='M-7 -14q2 -8 6 -3q2 -7 5 0q5 -4 4 4Z' fill='#d1432b'/>"
        "<circle r='15' fill='#fffaf0' stroke='{i}' stroke-width='2'/><circle cx='-5' cy='-3' r='2' fill='{i}'/>"
        "<circle cx='5' cy='-3' r='2' fill='{i}'/><path d='M-4 3L4 3L0 9Z' fill='#e08a1e'/>"
    ),
    "E": (
        "<ellipse cx='-14' cy='-3' rx='8' ry='11' fill='#b9c7d6' stroke='{i}' stroke-width='2'/>"
        "<ellipse cx='14' cy='-3' rx='8' ry='11' fill='#b9c7d6' stroke='{i}' stroke-width='2'/>"
        "<circle r='13' fill='#c9d6e4' stroke='{i}' stroke-width='2'/><circle cx='-5' cy='-3' r='2' fill='{i}'/>"
        "<circle cx='5' cy='-3' r='2' fill='{i}'/><path d='M0 2q-3 10 4 14' fill='none' stroke='{i}' stroke-width='4'/>"
    ),
    "G": (
        "<path d='M-6 -14v-8M6 -14v-8' stroke='{i}' stroke-width='3'/>"
        "<ellipse rx='11' ry='16' fill='#f3d27a' stroke='{i}' stroke-width='2'/><circle cx='-4' cy='-5' r='2' fill='{i}'/>"
        "<circle cx='4' cy='-5' r='2' fill='{i}'/><circle cx='-5' cy='4' r='3' fill='#a8692c'/>"
        "<circle cx='5' cy='7' r='3' fill='#a8692c'/>"
    ),
    "L": (
        "<circle r='20' fill='#c9772b' stroke='{i}' stroke-width='2'/><circle r='13' fill='#f6cf8b'/>"
        "<circle cx='-5' cy='-3' r='2' fill='{i}'/><circle cx='5' cy='-3' r='2' fill='{i}'/>"
        "<path d='M-5 5q5 5 10 0' fill='none' stroke='{i}' stroke-width='2'/>"
    ),
}
_DOTS = {2: (-1, -1), 3: (0, -1), 4: (1, -1), -1: (-1, 0), 1: (1, 0), -4: (-1, 1), -3: (0, 1), -2: (1, 1)}


def _corner(name: str) -> tuple[float, float]:
    return _HAND + 20 + "ABC".index(name[0]) * _CELL, _TOP + (int(name[1]) - 1) * _CELL


def _tile(letter: str, x: float, y: float, scale: float, turned: bool) -> str:
    """A piece centred on (x, y): its picture and a dot on each side that it moves to."""
    kind = letter.upper()
    dots = "".join(
        f"<circle cx='{31 * dx}' cy='{31 * dy}' r='3.6' fill='#c0392b'/>"
        for direction, (dx, dy) in enumerate(_DOTS[offset] for offset in OFFSETS)
        if GOES["CEGHL".index(kind) + 1] >> direction & 1
    )
    turn = " rotate(180)" if turned else ""
    return (
        f"<g transform='translate({x:g} {y:g}) scale({scale:g}){turn}'>"
        f"<rect x='-39' y='-39' width='78' height='78' rx='10' fill='{_FILL[kind]}' stroke='{_INK}' stroke-width='2'/>"
        f"{_SHAPES[kind].format(i=_INK)}{dots}</g>"
    )


def clicks(ruleset: Ruleset, state: np.void) -> dict[int, list[str]]:
    """For each legal action the `data-name`s of the parts of the picture to click."""
    mover, found = int(state["to_move"]), {}
    for action in legal_now(ruleset, state):
        kind, origin, to = action_parts(state, action)
        start = f"hand-{PLAYERS[mover]}-{'CEG'[kind - 1]}" if origin < 0 else square_name(origin, mover)
        found[int(action)] = [start, square_name(to, mover)]
    return found


def svg(
    ruleset: Ruleset,
    state: np.void,
    *,
    seat: int | None = None,
    last_action: int | None = None,
    selected: str | None = None,
) -> str:
    """The position as an SVG picture of fixed size, the first player below.

    Args:
        ruleset, state: the position.
        seat: ignored, since nothing is hidden.
        last_action: the action that led here; its squares are tinted.
        selected: `data-name` of a piece; only its targets are marked. Otherwise all squares that can be moved to are.
    """
    board, hands, mover = board_of(state), hands_of(state), int(state["to_move"])
    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{_WIDTH}' height='{_HEIGHT}' viewBox='0 0 {_WIDTH} {_HEIGHT}'>",
        f"<rect width='{_WIDTH}' height='{_HEIGHT}' fill='#f4f8ec'/>",
        f"<text x='{_WIDTH / 2}' y='30' font-size='18' text-anchor='middle' {_FONT} fill='{_INK}'>"
        f"{_caption(ruleset, state)}</text>",
    ]
    touched = _touched(state, last_action)
    paths = [path for path in clicks(ruleset, state).values() if selected in (None, path[0])]
    targets = {path[-1] for path in paths}
    for square in range(12):
        name = square_name(square, 0)
        x, y = _corner(name)
        fill = "#cfe8f7" if name[1] == "1" else "#cdeec0" if name[1] == "4" else "#fdf6dd"
        if name in touched:
            fill = "#ffd98a"
        parts.append(
            f"<rect data-name='{name}' x='{x}' y='{y}' width='{_CELL}' height='{_CELL}' fill='{fill}' stroke='{_INK}' "
            f"stroke-width='{4 if name == selected else 1.5}'/>"
        )
        letter = board[square]
        if letter != ".":
            tile = _tile(letter, x + _CELL / 2, y + _CELL / 2, 1.0, letter.islower())
            parts.append(f"<g data-name='{name}'>{tile}</g>")
        if name in targets:
            cx, cy = x + _CELL - 13, y + 13
            parts.append(
                f"<circle data-name='{name}' cx='{cx}' cy='{cy}' r='7' fill='#2e8b57' stroke='#fff' stroke-width='2'/>"
            )
    parts += _labels()
    for player in (0, 1):
        parts += _hand(player, hands[player], player == mover, selected)
    return "".join([*parts, "</svg>"])


def _caption(ruleset: Ruleset, state: np.void) -> str:
    if end := outcome_text(state):
        return end
    if state["truncated"]:
        return f"no result after {int(state['steps'])} moves"
    if state["terminated"]:
        return "the game is over"
    return f"move {int(state['steps']) + 1}: the {PLAYERS[int(state['to_move'])]} player to move"


def _touched(state: np.void, last_action: int | None) -> set[str]:
    """The squares of the last move, by the player who is not to move now."""
    if last_action is None:
        return set()
    _, origin, to = action_parts(state, last_action)
    player = 1 - int(state["to_move"])
    return {square_name(square, player) for square in (origin, to) if square >= 0}


def _labels() -> list[str]:
    parts = []
    for k, file in enumerate("ABC"):
        x = _HAND + 20 + (k + 0.5) * _CELL
        parts.append(
            f"<text x='{x}' y='{_TOP - 8}' font-size='14' text-anchor='middle' {_FONT} fill='{_INK}'>{file}</text>"
        )
    for rank in range(4):
        y = _TOP + (rank + 0.5) * _CELL + 5
        parts.append(
            f"<text x='{_HAND + 8}' y='{y}' font-size='14' text-anchor='middle' {_FONT} fill='{_INK}'>{rank + 1}</text>"
        )
    return parts


def _hand(player: int, hand: dict[str, int], to_move: bool, selected: str | None) -> list[str]:
    """The stand of a player: the second player's at the upper left, the first player's at the lower right."""
    left = 10 if player else _WIDTH - _HAND + 6
    top = _TOP if player else _TOP + 4 * _CELL - 276
    mark = "#2e8b57" if to_move else "#b9a27c"
    label_y = top + 296 if player else top - 10
    parts = [
        f"<rect x='{left}' y='{top}' width='{_HAND - 16}' height='276' rx='8' fill='#e9dcc0' stroke='{mark}' stroke-width='4'/>",
        f"<text x='{left + (_HAND - 16) / 2}' y='{label_y}' font-size='14' text-anchor='middle' {_FONT} fill='{_INK}'>"
        f"{PLAYERS[player]}{' *' if to_move else ''}</text>",
    ]
    shown = [kind for kind in "CEGL" if hand[kind]]
    for row, kind in enumerate(shown):
        x, y = left + (_HAND - 16) / 2 - 14, top + 36 + 68 * row
        name = f"hand-{PLAYERS[player]}-{kind}"
        ring = "#2e8b57" if name == selected else "none"
        parts.append(
            f"<g data-name='{name}'><rect x='{x - 30}' y='{y - 30}' width='60' height='60' rx='10' fill='none' "
            f"stroke='{ring}' stroke-width='5'/>{_tile(kind, x, y, 0.7, bool(player))}</g>"
            f"<text x='{x + 36}' y='{y + 6}' font-size='16' {_FONT} fill='{_INK}'>x{hand[kind]}</text>"
        )
    return parts
