"""The board as a picture: pieces as tiles with the directions they move in, hands, last move, legal targets."""

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
    number,
    place,
    rectangle,
    symbol,
    text,
    word,
)  # fmt: skip
from asobiba.core import Ruleset
from asobiba.envs.animal_shogi import rules
from asobiba.envs.animal_shogi.board import DROPS, GOES, HANDS, OFFSETS, SQUARES, STEP

_CELL, _HAND, _TOP = 92, 120, 64
_LEFT = _HAND + 20
_WIDTH, _HEIGHT = 2 * _HAND + 3 * _CELL + 40, _TOP + 4 * _CELL + 54
_INK = "#3a2b18"
_FILL = {"C": "#f7d774", "E": "#9fc3e8", "G": "#e8c39f", "H": "#f2b35e", "L": "#ef9a86"}
_SHAPES = {
    "C": (
        "<circle r='15' fill='#fff3b0' stroke='{i}' stroke-width='2'/><circle cx='-5' cy='-3' r='2' fill='{i}'/>"
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
    "H": (
        "<path d='M-7 -14q2 -8 6 -3q2 -7 5 0q5 -4 4 4Z' fill='#d1432b'/>"
        "<circle r='15' fill='#fffaf0' stroke='{i}' stroke-width='2'/><circle cx='-5' cy='-3' r='2' fill='{i}'/>"
        "<circle cx='5' cy='-3' r='2' fill='{i}'/><path d='M-4 3L4 3L0 9Z' fill='#e08a1e'/>"
    ),
    "L": (
        "<circle r='20' fill='#c9772b' stroke='{i}' stroke-width='2'/><circle r='13' fill='#f6cf8b'/>"
        "<circle cx='-5' cy='-3' r='2' fill='{i}'/><circle cx='5' cy='-3' r='2' fill='{i}'/>"
        "<path d='M-5 5q5 5 10 0' fill='none' stroke='{i}' stroke-width='2'/>"
    ),
}  # fmt: skip
_DOTS = {2: (-1, -1), 3: (0, -1), 4: (1, -1), -1: (-1, 0), 1: (1, 0), -4: (-1, 1), -3: (0, 1), -2: (1, 1)}


def _tile(kind: int, letter: str) -> str:
    """A piece: its picture, and a dot on each side that it moves to."""
    sides = [_DOTS[offset] for direction, offset in enumerate(OFFSETS) if GOES[kind] >> direction & 1]
    dots = "".join(f"<circle cx='{31 * dx}' cy='{31 * dy}' r='3.6' fill='#c0392b'/>" for dx, dy in sides)
    return (
        f"<rect x='-39' y='-39' width='78' height='78' rx='10' fill='{_FILL[letter]}' stroke='{_INK}' stroke-width='2'/>"
        f"{_SHAPES[letter].format(i=_INK)}{dots}"
    )


TEXTS, STYLES = Entries(), Entries()
SYMBOLS = tuple(_tile(kind, letter) for kind, letter in enumerate("CEGHL", 1))
_SQUARES_AT = TEXTS("A4")
for _name in ("B4", "C4", "A3", "B3", "C3", "A2", "B2", "C2", "A1", "B1", "C1"):
    TEXTS(_name)
_HANDS_AT = TEXTS("hand-first-C")
for _name in ("hand-first-E", "hand-first-G", "hand-second-C", "hand-second-E", "hand-second-G"):
    TEXTS(_name)
_DROPS_AT = TEXTS("C*")
TEXTS("E*")
TEXTS("G*")
_PROMOTES = TEXTS("+")
_FILES_AT = TEXTS("A")
TEXTS("B")
TEXTS("C")
_SIDES_AT = TEXTS("first")
TEXTS("second")
_STAR, _TIMES, _MOVE, _COLON, _TO_MOVE = (TEXTS(each) for each in (" *", "x", "move ", ": the ", " player to move"))
_NO_RESULT, _MOVES, _OVER = TEXTS("no result after "), TEXTS(" moves"), TEXTS("the game is over")
_CAUGHT, _TRY, _THIRD, _STUCK = (
    TEXTS(each)
    for each in (
        "the lion is caught: ", "try: ", "the position stands for the third time: ", "no move is left: ",
    )
)  # fmt: skip
_WON_AT = TEXTS("draw")
TEXTS("the first player wins")
TEXTS("the second player wins")
_LION, _TRIED, _REPEATED, _NO_MOVE = rules.LION_TAKEN, rules.TRY, rules.REPETITION, rules.NO_MOVE

_PAPER = STYLES("class='paper' fill='#f4f8ec'")
_PLAIN, _FAR, _NEAR, _TOUCHED = (
    STYLES(f"fill='{fill}' stroke='{_INK}' stroke-width='1.5'") for fill in ("#fdf6dd", "#cfe8f7", "#cdeec0", "#ffd98a")
)
_TARGET = STYLES("fill='#2e8b57' stroke='#fff' stroke-width='2'")
_HEAD, _LABEL = (STYLES(f"class='ink' font-size='{k}' text-anchor='middle' fill='{_INK}'") for k in (18, 14))
_COUNT = STYLES(f"font-size='16' fill='{_INK}'")
_STAND, _ACTIVE = (STYLES(f"fill='#e9dcc0' stroke='{mark}' stroke-width='4'") for mark in ("#b9a27c", "#2e8b57"))


@drawing
def _absolute(position, square, side):
    """The piece on a square counted from A4, as the first player names it: 1 to 5 his, 9 to 13 the other's."""
    at = SQUARES - 1 - square if side else square
    piece = (position >> (4 * at)) & 15
    if piece and side:
        piece = piece - 8 if piece > 8 else piece + 8
    return piece


@drawing
def _held(position, player, side, kind):
    """The number of pieces of a kind (0 chick, 1 elephant, 2 giraffe) in a player's hand."""
    shift = HANDS + 2 * kind + (6 if player != side else 0)
    return (position >> shift) & 3


@drawing
def _origin(action):
    return -1 if action >= DROPS else action % 12


@drawing
def _goal(action):
    return (action - DROPS) % 12 if action >= DROPS else int(STEP[action // 12, action % 12])


@drawing
def spots(s, p, d, action, out):
    """The square or hand that a piece leaves, and where it goes."""
    side = int(s.to_move)
    origin, to = _origin(action), _goal(action)
    start = 12 + 3 * side + (action - DROPS) // 12 if origin < 0 else (11 - origin if side else origin)
    out[0, 0], out[1, 0], out[2, 0] = 2, start, (11 - to if side else to)


@drawing
def tell(s, p, d, what, about, out):
    begin_words(out)
    if what == SPOT:
        word(out, _SQUARES_AT + about if about < 12 else _HANDS_AT + about - 12)
    elif what == ENDING:
        _ending(s, out)
    elif what == ACTION:
        side = int(s.to_move)
        origin, to = _origin(about), _goal(about)
        if origin < 0:
            word(out, _DROPS_AT + (about - DROPS) // 12)
        else:
            word(out, _SQUARES_AT + (11 - origin if side else origin))
        word(out, _SQUARES_AT + (11 - to if side else to))
        if origin >= 0 and to >= 9 and (s.position >> (4 * origin)) & 7 == 1:
            word(out, _PROMOTES)


@drawing
def _ending(s, out):
    outcome = int(s.outcome)
    if outcome == 0:
        if s.truncated:
            word(out, _NO_RESULT)
            number(out, s.steps)
            word(out, _MOVES)
        else:
            word(out, _OVER)
        return
    if outcome == _LION:
        word(out, _CAUGHT)
    elif outcome == _TRIED:
        word(out, _TRY)
    elif outcome == _REPEATED:
        word(out, _THIRD)
    elif outcome == _NO_MOVE:
        word(out, _STUCK)
    word(out, _WON_AT + (1 if s.rewards[0] > 0 else 2 if s.rewards[0] < 0 else 0))


@drawing
def scene(s, p, d, mask, seat, last, out):
    """The board with the first player below; the squares of the last move are tinted, legal targets have a dot."""
    begin(out, _WIDTH, _HEIGHT)
    side = int(s.to_move)
    rectangle(out, _PAPER, 0, 0, _WIDTH, _HEIGHT)
    text(out, _HEAD, _WIDTH / 2, 30)
    if s.terminated or s.truncated or s.outcome:
        _ending(s, out)
    else:
        word(out, _MOVE)
        number(out, s.steps + 1)
        word(out, _COLON)
        word(out, _SIDES_AT + side)
        word(out, _TO_MOVE)
    for square in range(SQUARES):
        _square(s, mask, last, square, out)
    for file in range(3):
        text(out, _LABEL, _LEFT + (file + 0.5) * _CELL, _TOP - 8)
        word(out, _FILES_AT + file)
    for rank in range(4):
        text(out, _LABEL, _HAND + 8, _TOP + (rank + 0.5) * _CELL + 5)
        number(out, rank + 1)
    for player in range(2):
        _hand(s, player, out)
    for square in range(SQUARES):
        place(out, square, _LEFT + square % 3 * _CELL, _TOP + (3 - square // 3) * _CELL, _CELL, _CELL)


@drawing
def _square(s, mask, last, square, out):
    """A square, counted from A4, with its piece and its marks."""
    side = int(s.to_move)
    x, y = _LEFT + square % 3 * _CELL, _TOP + (3 - square // 3) * _CELL
    style = _NEAR if square < 3 else _FAR if square >= 9 else _PLAIN
    if last >= 0:
        mover = 1 - side
        origin, to = _origin(last), _goal(last)
        if square == (11 - to if mover else to) or (origin >= 0 and square == (11 - origin if mover else origin)):
            style = _TOUCHED
    rectangle(out, style, x, y, _CELL, _CELL)
    piece = _absolute(s.position, square, side)
    if piece:
        symbol(out, (piece - 1) % 8, x + _CELL / 2, y + _CELL / 2, 1.0, 180 if piece > 8 else 0)
    for action in range(mask.shape[0]):
        if mask[action]:
            to = _goal(action)
            if square == (11 - to if side else to):
                circle(out, _TARGET, x + _CELL - 13, y + 13, 7)
                break


@drawing
def _hand(s, player, out):
    """The stand of a player: the second player's at the upper left, the first player's at the lower right."""
    side = int(s.to_move)
    left = 10 if player else _WIDTH - _HAND + 6
    top = _TOP if player else _TOP + 4 * _CELL - 276
    rectangle(out, _ACTIVE if player == side else _STAND, left, top, _HAND - 16, 276, 8)
    text(out, _LABEL, left + (_HAND - 16) / 2, top + 296 if player else top - 10)
    word(out, _SIDES_AT + player)
    if player == side:
        word(out, _STAR)
    row = 0
    for kind in range(4):
        held = _held(s.position, player, side, kind) if kind < 3 else 1
        if kind == 3:  # a lion that was caught
            for square in range(SQUARES):
                if _absolute(s.position, square, side) == (5 if player else 13):
                    held = 0
        if held:
            x, y = left + (_HAND - 16) / 2 - 14, top + 36 + 68 * row
            symbol(out, kind if kind < 3 else 4, x, y, 0.7, 180 if player else 0)
            text(out, _COUNT, x + 36, y + 6)
            word(out, _TIMES)
            number(out, held)
            if kind < 3:
                place(out, 12 + 3 * player + kind, x - 30, y - 30, 60, 60)
            row += 1


def svg(ruleset: Ruleset, state: np.void, *, seat: int | None = None, last_action: int | None = None) -> str:
    """The position as an SVG picture of fixed size, the first player below.

    Args:
        ruleset, state: the position.
        seat: ignored, since nothing is hidden.
        last_action: the action that led here; its squares are tinted.
    """
    return Pen(ruleset).svg(state, None, last_action)
