"""The board as an SVG picture, and a move as pictures hole by hole."""

from __future__ import annotations

import math

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
    number,
    place,
    rectangle,
    text,
    word,
)  # fmt: skip
from asobiba.core import Ruleset
from asobiba.envs.bao import rules
from asobiba.envs.bao.layout import pack
from asobiba.envs.bao.notation import LETTERS, counts_of
from asobiba.envs.bao.sowing import drops, sowings

_PIT, _GAP, _SIDE, _TOP = 72, 10, 96, 58
_BAND = 34  # above the upper and below the lower holes: their letters and counts, clear of all lines
_MOST_FRAMES, _MOST_SEEDS = 240, 40
_HAND, _FROM, _SPIRAL = 0, 1, 2
"""In the numbers of the drawing: the seeds in hand and the hole of a move that is being sown, then the places of seeds."""
TEXTS, STYLES = Entries(), Entries()
_HOLES_AT = TEXTS(LETTERS[0])
for _letter in LETTERS[1:]:
    TEXTS(_letter)
_MOVE, _COLON, _PLAYER, _SOWS, _PLUS, _OVER = (
    TEXTS(each) for each in ("move ", ": the ", " player", " sows from ", "+", "the game is over: ")
)
_SIDES_AT = TEXTS("first")
TEXTS("second")
_LEGEND = TEXTS("blue: sown from · yellow: last seed (+ seeds in hand) · red: captured")
_EMPTY, _AGAIN, _LONG, _BLOCK = (
    TEXTS(each)
    for each in (
        "a row is empty: ", "the position was repeated: ", "the move never ends: ", "every move would be endless: ",
    )
)  # fmt: skip
_WON_AT = TEXTS("drawn")
TEXTS("the first player wins")
TEXTS("the second player wins")
_ROW_EMPTY, _REPEATED, _ENDLESS, _BLOCKED = rules.ROW_EMPTY, rules.REPEATED, rules.ENDLESS, rules.BLOCKED

_PAPER, _WOOD = STYLES("class='paper' fill='#faf6ec'"), STYLES("fill='#8a5a2b' stroke='#4d3014' stroke-width='3'")
_STORE = STYLES("fill='#5d3a18'")
_PIT_STYLE = STYLES("fill='#6d4420' stroke='#4d3014' stroke-width='2'")
_BEGUN, _CAUGHT, _TOUCHED = (
    STYLES(f"fill='#6d4420' stroke='{ring}' stroke-width='5'") for ring in ("#58c4dd", "#ff5a4f", "#ffd23f")
)
_SEED = STYLES("fill='#f2e3c0' stroke='#5b4a2f' stroke-width='1'")
_CAPTION = STYLES("class='ink' font-size='24' text-anchor='middle' fill='#2b2216'")
_SMALL = STYLES("class='ink' font-size='20' text-anchor='middle' fill='#6b5a40'")
_STORED = STYLES("font-size='26' text-anchor='middle' fill='#fff'")
_NAME_AT = STYLES("font-size='19' text-anchor='middle' fill='#ffe9b8'")
STYLES("font-size='19' text-anchor='middle' font-weight='bold' fill='#ffe9b8'")
_COUNT = STYLES("font-size='22' text-anchor='middle' font-weight='bold' fill='#fff'")
_LETTER = STYLES("font-size='22' text-anchor='middle' fill='#ffe9b8'")
_HELD = STYLES(
    "font-size='20' text-anchor='middle' font-weight='bold' fill='#ffd23f' stroke='#3a240e' stroke-width='4' paint-order='stroke'"
)


def data(ruleset: Ruleset) -> np.ndarray:
    """Nothing in hand; seeds on a sunflower spiral: no two lie on each other, and few lie in the middle."""
    angles = 2.399963 * np.arange(_MOST_SEEDS)
    return np.concatenate([[0, -1], np.cos(angles), np.sin(angles)]).round(9)


@drawing
def _count(s, p, hole):
    """Seeds in a hole, clockwise from the first player's leftmost hole."""
    holes = p.sow.shape[0] // 2
    byte = hole if hole < holes else hole - holes + 4 * s.board.shape[0]
    return int((s.board[byte // 8] >> np.uint64(8 * (byte % 8))) & np.uint64(255))


@drawing
def _x(p, hole):
    holes = p.sow.shape[0] // 2
    column = hole if hole < holes else 2 * holes - 1 - hole
    return _SIDE + _GAP + column * (_PIT + _GAP) + _PIT / 2


@drawing
def _y(p, hole):
    return _TOP + _BAND + (0 if hole < p.sow.shape[0] // 2 else _PIT + 2 * _GAP) + _PIT / 2


@drawing
def spots(s, p, d, action, out):
    """The hole."""
    out[0, 0], out[1, 0] = 1, action + int(s.to_move) * (p.sow.shape[0] // 2)


@drawing
def tell(s, p, d, what, about, out):
    begin_words(out)
    if what == ENDING:
        _ending(s, out)
    elif what == ACTION:
        word(out, _HOLES_AT + about + int(s.to_move) * (p.sow.shape[0] // 2))
    elif what == SPOT:
        word(out, _HOLES_AT + about)


@drawing
def _ending(s, out):
    outcome = int(s.outcome)
    if outcome == _ROW_EMPTY:
        word(out, _EMPTY)
    elif outcome == _REPEATED:
        word(out, _AGAIN)
    elif outcome == _ENDLESS:
        word(out, _LONG)
    elif outcome == _BLOCKED:
        word(out, _BLOCK)
    else:
        word(out, _OVER)
    word(out, _WON_AT + (1 if s.rewards[0] > 0 else 2 if s.rewards[0] < 0 else 0))


@drawing
def _caption(s, d, out):
    if s.terminated or s.truncated:
        _ending(s, out)
        return
    word(out, _MOVE)
    number(out, s.steps + 1)
    word(out, _COLON)
    word(out, _SIDES_AT + int(s.to_move))
    word(out, _PLAYER)
    if d[_FROM] >= 0:
        word(out, _SOWS)
        word(out, _HOLES_AT + int(d[_FROM]))


@drawing
def _seeds(d, x, y, count, spread, out):
    shown = min(count, _MOST_SEEDS)
    radius = 6.0 if shown <= 12 else 4.2
    for k in range(shown):
        distance = spread * math.sqrt((k + 0.5) / max(shown, 5))
        circle(out, _SEED, x + distance * d[_SPIRAL + k], y + distance * d[_SPIRAL + _MOST_SEEDS + k], radius)


@drawing
def scene(s, p, d, mask, seat, last, out):
    """The board with the last sowing: its first hole, its last hole, and its captures."""
    holes = p.sow.shape[0] // 2
    width = 2 * _SIDE + holes * (_PIT + _GAP) + _GAP
    inside = 2 * _PIT + 2 * _GAP + 2 * _BAND
    height = _TOP + inside + 50
    begin(out, width, height)
    rectangle(out, _PAPER, 0, 0, width, height)
    text(out, _CAPTION, width / 2, 34)
    _caption(s, d, out)
    rectangle(out, _WOOD, 8, _TOP, width - 16, inside, 28)
    for player in range(2):
        x = _SIDE / 2 if player == 0 else width - _SIDE / 2
        rectangle(out, _STORE, x - 38, _TOP + _GAP, 76, inside - 2 * _GAP, 24)
        _seeds(d, x, _TOP + inside / 2, int(s.stores[player]), 26, out)
        text(out, _STORED, x, _TOP + inside - _GAP - 14)
        number(out, s.stores[player])
        text(out, _NAME_AT + (1 if player == s.to_move else 0), x, _TOP + _GAP + 22)
        word(out, _SIDES_AT + player)
    for hole in range(2 * holes):
        _pit(s, p, d, hole, out)
    text(out, _SMALL, width / 2, height - 16)
    word(out, _LEGEND)
    for hole in range(2 * holes):
        place(out, hole, _x(p, hole) - _PIT / 2, _y(p, hole) - _PIT / 2, _PIT, _PIT)


@drawing
def _pit(s, p, d, hole, out):
    """A hole with its seeds, their number and its letter."""
    holes = p.sow.shape[0] // 2
    x, y = _x(p, hole), _y(p, hole)
    style = _PIT_STYLE
    if hole == s.last_hole:
        style = _BEGUN
    if s.last_end >= 0 and s.last_captured and hole == 2 * holes - 1 - s.last_end:
        style = _CAUGHT
    if hole == s.last_end:
        style = _TOUCHED
    circle(out, style, x, y, _PIT / 2)
    count = _count(s, p, hole)
    _seeds(d, x, y, count, 25, out)
    label_y = y - _PIT / 2 - 9 if hole < holes else y + _PIT / 2 + 25
    text(out, _COUNT, x + 17, label_y)
    number(out, count)
    text(out, _LETTER, x - 17, label_y)
    word(out, _HOLES_AT + hole)
    if hole == s.last_end and d[_HAND] > 0:
        text(out, _HELD, x, y + 6)
        word(out, _PLUS)
        number(out, d[_HAND])


def svg(ruleset: Ruleset, state: np.void, *, seat: int | None = None, last_action: int | None = None) -> str:
    """The board with the last sowing: its first hole, its last hole, and its captures."""
    return Pen(ruleset).svg(state, None, last_action)


def _sown(pen: Pen, before: np.void, hole: int, counts: list[int], touched: int, hand: int) -> str:
    """The board while a move is sown."""
    state = before.copy()
    state["board"], state["last_hole"], state["last_end"], state["last_captured"] = pack(counts), hole, touched, 0
    pen.data[_HAND], pen.data[_FROM] = hand, hole
    return pen.svg(state)


def frames(ruleset: Ruleset, before: np.void, action: int, after: np.void) -> list[str]:
    """The move as pictures: every lift and every seed; sowing by sowing where that would be more than 240 pictures.

    An endless move is shown until board and hole come again, or for 240 sowings.
    """
    holes, mover = ruleset.num_actions, int(before["to_move"])
    hole = int(action) + mover * holes
    counts = counts_of(ruleset, before)
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
    pen = Pen(ruleset)
    pictures = [_sown(pen, before, hole, board, touched, hand) for board, touched, hand in steps]
    pictures.append(svg(ruleset, after, last_action=action))
    return pictures
