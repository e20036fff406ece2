"""The board as an SVG picture: stones on squares, the last stone, forbidden points, points of capture, fives."""

from __future__ import annotations

import numpy as np

from asobiba.core import Ruleset
from asobiba.core.states import legal_actions
from asobiba.envs.gogo.notation import (
    PLAYERS,
    capture_points,
    five_stones,
    forbidden_points,
    outcome_text,
    point_name,
    size_of,
    stones_of,
)

_CELL, _SIDE, _TOP, _BOTTOM = 36, 40, 56, 64
_FONT = "font-family='DejaVu Sans,Verdana,sans-serif'"
_INK = "#33261a"
_STONE = ("fill='#25221f' stroke='#000'", "fill='#fbfaf5' stroke='#6b6355'")


def _text(x: float, y: float, size: int, text: str, colour: str = _INK) -> str:
    return f"<text x='{x}' y='{y}' font-size='{size}' text-anchor='middle' {_FONT} fill='{colour}'>{text}</text>"


def _caption(state: np.void) -> str:
    if end := outcome_text(state):
        return end
    if state["terminated"] or state["truncated"]:
        return "the game is over"
    return f"move {int(state['steps']) + 1}: the {PLAYERS[int(state['to_move'])]} player"


def _captured(state: np.void, width: int) -> list[str]:
    """Both players' captured stones, as stones of the opponent's colour."""
    parts = []
    for player in (0, 1):
        x = 26 if player == 0 else width / 2 + 26
        parts.append(f"<circle cx='{x}' cy='{_TOP - 36}' r='9' {_STONE[player]} stroke-width='1.5'/>")
        for k in range(min(int(state["captured"][player]), 16)):
            parts.append(
                f"<circle cx='{x + 22 + 11 * k + 4 * (k // 2)}' cy='{_TOP - 36}' r='5' {_STONE[1 - player]} stroke-width='1'/>"
            )
    return parts


def _clickable(x: float, y: float, name: str, corner: float) -> str:
    return (
        f"<rect x='{x - corner}' y='{y - corner}' width='{2 * corner}' height='{2 * corner}' fill='transparent' "
        f"data-name='{name}'/>"
    )


def clicks(ruleset: Ruleset, state: np.void) -> dict[int, list[str]]:
    """For each legal action the `data-name` of the square to click."""
    return {int(action): [point_name(ruleset, int(action))] for action in legal_actions(ruleset, state)}


def svg(ruleset: Ruleset, state: np.void, *, seat: int | None = None, last_action: int | None = None) -> str:
    """The board; crosses mark points forbidden to the player to move, small rings points where he captures."""
    n = size_of(ruleset)
    width, height = 2 * _SIDE + n * _CELL, _TOP + n * _CELL + _BOTTOM
    stones = stones_of(ruleset, state)
    over = bool(state["terminated"] or state["truncated"])
    mover = int(state["to_move"])
    forbidden = [] if over else forbidden_points(ruleset, state, mover)
    takes = set() if over else set(capture_points(ruleset, state, mover))
    fives = set(five_stones(ruleset, state))
    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{width}' height='{height}' viewBox='0 0 {width} {height}'>",
        f"<rect width='{width}' height='{height}' fill='#f6f1e4'/>",
        f"<rect x='{_SIDE}' y='{_TOP}' width='{n * _CELL}' height='{n * _CELL}' fill='#e3c182'/>",
        *_captured(state, width),
    ]
    for k in range(n + 1):
        column_at, row_at = _SIDE + k * _CELL, _TOP + k * _CELL
        parts.append(
            f"<path d='M{column_at} {_TOP}V{_TOP + n * _CELL}M{_SIDE} {row_at}H{_SIDE + n * _CELL}' stroke='#8a6a35'/>"
        )
    for k in range(n):
        parts.append(_text(_SIDE + (k + 0.5) * _CELL, _TOP + n * _CELL + 18, 13, "abcdefghijklmnopqrs"[k]))
        parts.append(_text(_SIDE - 16, _TOP + (n - k - 0.5) * _CELL + 5, 13, str(k + 1)))
    for point in range(n * n):
        row, column = divmod(point, n)
        x, y = _SIDE + (column + 0.5) * _CELL, _TOP + (n - row - 0.5) * _CELL
        player = int(stones[row, column])
        if player >= 0:
            parts.append(f"<circle cx='{x}' cy='{y}' r='{_CELL * 0.42}' {_STONE[player]} stroke-width='1.5'/>")
            if point in fives:
                parts.append(
                    f"<circle cx='{x}' cy='{y}' r='{_CELL * 0.28}' fill='none' stroke='#e0a800' stroke-width='3'/>"
                )
            if point == int(state["last_point"]):
                parts.append(f"<circle cx='{x}' cy='{y}' r='5' fill='#d1432b'/>")
        elif point in takes:
            parts.append(f"<circle cx='{x}' cy='{y}' r='6' fill='none' stroke='#2f7d4f' stroke-width='2.5'/>")
        if point in forbidden:
            parts.append(
                f"<path d='M{x - 8} {y - 8}L{x + 8} {y + 8}M{x - 8} {y + 8}L{x + 8} {y - 8}' stroke='#b3261e' stroke-width='3'/>"
            )
        parts.append(_clickable(x, y, point_name(ruleset, point), _CELL / 2))
    parts.append(_text(width / 2, height - 26, 16, _caption(state)))
    parts.append(_text(width / 2, height - 8, 11, "red cross: forbidden (double-three) · green ring: captures here"))
    return "".join([*parts, "</svg>"])
