"""The board as an SVG picture, and a move as pictures hole by hole."""

from __future__ import annotations

import math

import numpy as np

from asobiba.core import Ruleset
from asobiba.core.states import legal_actions
from asobiba.envs.bao.notation import LETTERS, PLAYERS, action_to_text, counts_of
from asobiba.envs.bao.sowing import drops, sowings

_PIT, _GAP, _SIDE, _TOP = 72, 10, 96, 58
_BAND = 28  # above the upper and below the lower holes: their letters and counts, clear of all lines
_MOST_FRAMES = 240
_FONT = "font-family='DejaVu Sans,Verdana,sans-serif'"


def _centre(holes: int, hole: int) -> tuple[float, float]:
    """Place of a hole: a at the upper left, clockwise."""
    column = hole if hole < holes else 2 * holes - 1 - hole
    x = _SIDE + _GAP + column * (_PIT + _GAP) + _PIT / 2
    y = _TOP + _BAND + (0 if hole < holes else _PIT + 2 * _GAP) + _PIT / 2
    return x, y


def _seeds(x: float, y: float, count: int, spread: float) -> list[str]:
    """Seeds on a sunflower spiral: no two lie on each other, and few lie in the middle."""
    shown = min(count, 40)
    radius = 6.0 if shown <= 12 else 4.2
    parts = []
    for k in range(shown):
        distance = spread * math.sqrt((k + 0.5) / max(shown, 5))
        angle = k * 2.399963
        parts.append(
            f"<circle cx='{x + distance * math.cos(angle):.1f}' cy='{y + distance * math.sin(angle):.1f}' r='{radius}' "
            "fill='#f2e3c0' stroke='#5b4a2f' stroke-width='1'/>"
        )
    return parts


def _picture(
    holes: int,
    counts: list[int],
    stores: tuple[int, int],
    mover: int,
    caption: str,
    begun: int = -1,
    touched: int = -1,
    captured: int = -1,
    hand: int = 0,
) -> str:
    width = 2 * _SIDE + holes * (_PIT + _GAP) + _GAP
    inside = 2 * _PIT + 2 * _GAP + 2 * _BAND
    height = _TOP + inside + 44
    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{width}' height='{height}' viewBox='0 0 {width} {height}'>",
        f"<rect width='{width}' height='{height}' fill='#faf6ec'/>",
        f"<text x='{width / 2}' y='34' font-size='19' text-anchor='middle' {_FONT} fill='#2b2216'>{caption}</text>",
        f"<rect x='8' y='{_TOP}' width='{width - 16}' height='{inside}' rx='28' fill='#8a5a2b' "
        "stroke='#4d3014' stroke-width='3'/>",
    ]
    for player in (0, 1):
        x = _SIDE / 2 if player == 0 else width - _SIDE / 2
        weight = "bold" if player == mover else "normal"
        parts += [
            f"<rect x='{x - 34}' y='{_TOP + _GAP}' width='68' height='{inside - 2 * _GAP}' rx='24' fill='#5d3a18'/>",
            *_seeds(x, _TOP + inside / 2, stores[player], 26),
            f"<text x='{x}' y='{_TOP + inside - _GAP - 14}' font-size='20' text-anchor='middle' {_FONT} fill='#fff'>"
            f"{stores[player]}</text>",
            f"<text x='{x}' y='{_TOP + _GAP + 22}' font-size='14' text-anchor='middle' font-weight='{weight}' {_FONT} "
            f"fill='#ffe9b8'>{PLAYERS[player]}</text>",
        ]
    for hole in range(2 * holes):
        x, y = _centre(holes, hole)
        ring = "#4d3014"
        if hole == begun:
            ring = "#58c4dd"
        if hole == captured:
            ring = "#ff5a4f"
        if hole == touched:
            ring = "#ffd23f"
        thick = 5 if ring != "#4d3014" else 2
        label_y = y - _PIT / 2 - 9 if hole < holes else y + _PIT / 2 + 19
        parts += [
            f"<circle cx='{x}' cy='{y}' r='{_PIT / 2}' fill='#6d4420' stroke='{ring}' stroke-width='{thick}'/>",
            *_seeds(x, y, counts[hole], 25),
            f"<text x='{x + 14}' y='{label_y}' font-size='15' text-anchor='middle' font-weight='bold' {_FONT} "
            f"fill='#fff'>{counts[hole]}</text>",
            f"<text x='{x - 14}' y='{label_y}' font-size='13' text-anchor='middle' {_FONT} fill='#ffe9b8'>"
            f"{LETTERS[hole]}</text>",
        ]
        if hole == touched and hand:
            parts.append(
                f"<text x='{x}' y='{y + 6}' font-size='20' text-anchor='middle' font-weight='bold' {_FONT} "
                f"fill='#ffd23f' stroke='#3a240e' stroke-width='4' paint-order='stroke'>+{hand}</text>"
            )
    legend = "blue: sown from · yellow: last seed (+ seeds in hand) · red: captured"
    parts.append(
        f"<text x='{width / 2}' y='{height - 12}' font-size='13' text-anchor='middle' {_FONT} fill='#6b5a40'>{legend}</text></svg>"
    )
    return "".join(parts)


def _caption(ruleset: Ruleset, state: np.void) -> str:
    if state["terminated"] or state["truncated"]:
        winner = int(np.sign(state["rewards"][0]))
        return {0: "drawn", 1: "the first player wins", -1: "the second player wins"}[winner]
    return f"move {int(state['steps']) + 1}: the {PLAYERS[int(state['to_move'])]} player"


def targets(ruleset: Ruleset) -> dict[str, tuple[float, float, float, float]]:
    """The clickable holes by letter: x, y, width, height."""
    holes = ruleset.num_actions
    places = ((hole, *_centre(holes, hole)) for hole in range(2 * holes))
    return {LETTERS[hole]: (x - _PIT / 2, y - _PIT / 2, _PIT, _PIT) for hole, x, y in places}


def clicks(ruleset: Ruleset, state: np.void) -> dict[int, list[str]]:
    """For each legal action the hole to click."""
    return {int(a): [action_to_text(ruleset, state, int(a))] for a in legal_actions(ruleset, state)}


def svg(ruleset: Ruleset, state: np.void, *, seat: int | None = None, last_action: int | None = None) -> str:
    """The board with the last sowing: its first hole, its last hole, and its captures."""
    holes = ruleset.num_actions
    end = int(state["last_end"])
    return _picture(
        holes,
        counts_of(ruleset, state),
        (int(state["stores"][0]), int(state["stores"][1])),
        int(state["to_move"]),
        _caption(ruleset, state),
        begun=int(state["last_hole"]),
        touched=end,
        captured=2 * holes - 1 - end if end >= 0 and state["last_captured"] else -1,
    )


def frames(ruleset: Ruleset, before: np.void, action: int, after: np.void) -> list[str]:
    """The move as pictures: every lift and every seed; sowing by sowing where that would be more than 240 pictures.

    An endless move is shown until board and hole come again, or for 240 sowings.
    """
    holes, mover = ruleset.num_actions, int(before["to_move"])
    hole = int(action) + mover * holes
    counts = counts_of(ruleset, before)
    stores = (int(before["stores"][0]), int(before["stores"][1]))
    caption = f"move {int(before['steps']) + 1}: the {PLAYERS[mover]} player sows from {LETTERS[hole]}"
    steps: list[tuple[list[int], int, int]] = []
    for step in drops(counts, hole):
        steps.append(step)
        if len(steps) > _MOST_FRAMES:
            steps = []
            for board, last in sowings(counts, hole):
                steps.append((board, last, 0))
                if len(steps) == _MOST_FRAMES:
                    break
            break
    pictures = [
        _picture(holes, board, stores, mover, caption, begun=hole, touched=touched, hand=hand)
        for board, touched, hand in steps
    ]
    pictures.append(svg(ruleset, after, last_action=action))
    return pictures
