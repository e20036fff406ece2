"""The board as a picture: stones on squares, the last stone, forbidden points, points of capture, fives."""

from __future__ import annotations

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
from asobiba.envs.gogo import rules
from asobiba.envs.gogo.board import EXEMPT, FIVES, TAKES, THREES

_CELL, _SIDE, _TOP, _BOTTOM = 36, 40, 56, 64
_INK = "#33261a"
TEXTS, STYLES, SYMBOLS = Entries(), Entries(), Entries()
_LETTERS_AT = TEXTS("a")
for _letter in "bcdefghijklmnopqrs":
    TEXTS(_letter)
_MOVE, _COLON, _PLAYER, _OVER = (TEXTS(each) for each in ("move ", ": the ", " player", "the game is over"))
_LEGEND = TEXTS("red cross: forbidden (double-three) · green ring: captures here")
_SIDES_AT = TEXTS("first")
TEXTS("second")
_BY_FIVE, _BY_CAPTURES, _STUCK, _BY_BOTH = (
    TEXTS(each)
    for each in (
        "five in a row: ", "captures: ", "no legal move is left: ", "the goal was captured against a five: ",
    )
)  # fmt: skip
_WON_AT = TEXTS("draw")
TEXTS("the first player wins")
TEXTS("the second player wins")
_FIVE, _CAPTURES, _NO_MOVE = rules.FIVE, rules.CAPTURES, rules.NO_MOVE

_PAPER, _BOARD = STYLES("class='paper' fill='#f6f1e4'"), STYLES("fill='#e3c182'")
_GRID = STYLES("stroke='#8a6a35'")
_BIG_AT = STYLES("fill='#25221f' stroke='#000' stroke-width='1.5'")
STYLES("fill='#fbfaf5' stroke='#6b6355' stroke-width='1.5'")
_SMALL_AT = STYLES("fill='#25221f' stroke='#000' stroke-width='1'")
STYLES("fill='#fbfaf5' stroke='#6b6355' stroke-width='1'")
_GOLD, _LAST = STYLES("fill='none' stroke='#e0a800' stroke-width='3'"), STYLES("fill='#d1432b'")
_TAKE = STYLES("fill='none' stroke='#2f7d4f' stroke-width='2.5'")
_CROSS = SYMBOLS("<path d='M-8 -8L8 8M-8 8L8 -8' stroke='#b3261e' stroke-width='3'/>")
_LABEL, _CAPTION, _SMALL = (
    STYLES(f"class='ink' font-size='{size}' text-anchor='middle' fill='{_INK}'") for size in (13, 16, 11)
)


@drawing
def spots(s, p, d, action, out):
    """The point."""
    out[0, 0], out[1, 0] = 1, action


@drawing
def tell(s, p, d, what, about, out):
    begin_words(out)
    if what == ENDING:
        _ending(s, out)
    elif what in (ACTION, SPOT):
        n = int(p.width)
        word(out, _LETTERS_AT + about % n)
        number(out, about // n + 1)


@drawing
def _ending(s, out):
    outcome = int(s.outcome)
    if outcome == 0:
        word(out, _OVER)
        return
    if outcome == _FIVE:
        word(out, _BY_FIVE)
    elif outcome == _CAPTURES:
        word(out, _BY_CAPTURES)
    elif outcome == _NO_MOVE:
        word(out, _STUCK)
    else:
        word(out, _BY_BOTH)
    word(out, _WON_AT + (1 if s.rewards[0] > 0 else 2 if s.rewards[0] < 0 else 0))


@drawing
def _captured(s, width, out):
    """Both players' captured stones, as stones of the opponent's colour."""
    for player in range(2):
        x = 26 + player * width / 2
        circle(out, _BIG_AT + player, x, _TOP - 36, 9)
        for k in range(min(int(s.captured[player]), 16)):
            circle(out, _SMALL_AT + 1 - player, x + 22 + 11 * k + 4 * (k // 2), _TOP - 36, 5)


@drawing
def scene(s, p, d, mask, seat, last, out):
    """The board; crosses mark points forbidden to the player to move, small rings points where he captures."""
    n = int(p.width)
    width, height = 2 * _SIDE + n * _CELL, _TOP + n * _CELL + _BOTTOM
    over = s.terminated != 0 or s.truncated != 0
    begin(out, width, height)
    rectangle(out, _PAPER, 0, 0, width, height)
    rectangle(out, _BOARD, _SIDE, _TOP, n * _CELL, n * _CELL)
    _captured(s, width, out)
    for k in range(n + 1):
        line(out, _GRID, _SIDE + k * _CELL, _TOP, _SIDE + k * _CELL, _TOP + n * _CELL)
        line(out, _GRID, _SIDE, _TOP + k * _CELL, _SIDE + n * _CELL, _TOP + k * _CELL)
    for k in range(n):
        text(out, _LABEL, _SIDE + (k + 0.5) * _CELL, _TOP + n * _CELL + 18)
        word(out, _LETTERS_AT + k)
        text(out, _LABEL, _SIDE - 16, _TOP + (n - k - 0.5) * _CELL + 5)
        number(out, k + 1)
    for at in range(n * n):
        _point(s, n, at, over, out)
    text(out, _CAPTION, width / 2, height - 26)
    if over or s.outcome:
        _ending(s, out)
    else:
        word(out, _MOVE)
        number(out, s.steps + 1)
        word(out, _COLON)
        word(out, _SIDES_AT + int(s.to_move))
        word(out, _PLAYER)
    text(out, _SMALL, width / 2, height - 8)
    word(out, _LEGEND)


@drawing
def _point(s, n, at, over, out):
    """A point: its stone, and what may or may not be played there."""
    area, mover = n * n, int(s.to_move)
    x, y = _SIDE + (at % n + 0.5) * _CELL, _TOP + (n - at // n - 0.5) * _CELL
    player = 0 if s.planes[at] else 1 if s.planes[area + at] else -1
    if player >= 0:
        circle(out, _BIG_AT + player, x, y, _CELL * 0.42)
        if s.planes[FIVES * area + at]:
            circle(out, _GOLD, x, y, _CELL * 0.28)
        if at == s.last_point:
            circle(out, _LAST, x, y, 5)
    elif not over and s.planes[(TAKES + mover) * area + at]:
        circle(out, _TAKE, x, y, 6)
    if not over and 2 <= s.planes[(THREES + mover) * area + at] < EXEMPT:
        symbol(out, _CROSS, x, y)
    place(out, at, x - _CELL / 2, y - _CELL / 2, _CELL, _CELL)


def svg(ruleset: Ruleset, state: np.void, *, seat: int | None = None, last_action: int | None = None) -> str:
    """The board; crosses mark points forbidden to the player to move, small rings points where he captures."""
    return Pen(ruleset).svg(state, None, last_action)
