"""Battleship as a picture: a sea chart per board."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from asobiba.api.scene import (
    ACTION,
    ASKED,
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
    text,
    word,
)  # fmt: skip
from asobiba.core import Ruleset
from asobiba.envs.battleship.notation import names_of
from asobiba.envs.battleship.record import HIT, MISS, SUNK_ONLY

_CELL, _GAP, _TOP, _EDGE, _NARROWEST = 28, 48, 64, 36, 300
_LETTER = 6  # width of a letter of the captions, at the widest average
_INK = "#1d3347"
_PLAYERS, _LINES, _LENGTHS = 0, 1, 2
"""In the numbers of the drawing: the number of players, lines for the captions, then the letters of the ships' names."""
TEXTS, STYLES = Entries(), Entries()
_COLUMNS_AT = TEXTS("A")
for _letter in "BCDEFGHIJKLMNOPQRSTUVWXYZ":
    TEXTS(_letter)
_FLEET, _FLEET_OF, _SIDE, _SHOTS = (TEXTS(each) for each in ("Fleet", "Fleet of the ", " side", ", shots: "))
_SIDES_AT = TEXTS("first")
TEXTS("second")
_TOLD, _OF, _SHIPS, _NONE = (TEXTS(each) for each in ("afloat: ", " of ", " ships", "none"))
_OPEN, _CLOSE, _COMMA, _ACROSS, _DOWN = (TEXTS(each) for each in (" (", ")", ", ", " across", " down"))
_BLANK, _SUNK, _SUNK_OF, _OUT = (
    TEXTS(each) for each in (" ", "the whole fleet is sunk", "the whole fleet of the ", "no step is left")
)
_IS_SUNK = TEXTS(" side is sunk")
_PLACE, _BY_ENDS, _FIRE = (
    TEXTS(each) for each in ("place the ", "): click its two ends", "click a cell to fire at it")
)
_NAMES_AT = len(TEXTS)

_PAPER, _SEA = STYLES("class='paper' fill='#f7fafc'"), STYLES("fill='#dbe9f4'")
_SHIP, _GRID = STYLES("fill='#5f7285' stroke='#33424f' stroke-width='1.5'"), STYLES("stroke='#9db8cf'")
_MISSED = STYLES("fill='#ffffff' stroke='#9db8cf' stroke-width='1.5'")
_HIT_STYLE, _RING = STYLES("fill='#c8342b'"), STYLES("fill='none' stroke='#c8342b' stroke-width='2'")
_LAST = STYLES("fill='none' stroke='#f0a500' stroke-width='3'")
_TITLE = STYLES(f"class='ink' font-size='15' font-weight='bold' fill='{_INK}'")
_MIDDLE, _END = (STYLES(f"class='ink' font-size='12' text-anchor='{each}' fill='{_INK}'") for each in ("middle", "end"))
_SMALL = STYLES(f"class='ink' font-size='12' fill='{_INK}'")


def texts(ruleset: Ruleset) -> Sequence[str]:
    """The texts, with the names of the fleet's ships."""
    return [*TEXTS, *names_of(ruleset)]


def data(ruleset: Ruleset) -> np.ndarray:
    """The number of players, lines for the captions at their longest, and the lengths of the ships' names."""
    lengths = [len(name) for name in names_of(ruleset)]
    room = max(int(ruleset.params["width"][0]) * _CELL, _NARROWEST) // _LETTER
    return np.array([ruleset.num_players, 1 + (8 + sum(lengths) + 6 * len(lengths)) // (room - 12), *lengths])


@drawing
def spots(s, p, d, action, out):
    """A cell of the other's sea, or the two ends of a ship of the own fleet."""
    mover = int(s.to_move)
    cells, ship = int(p.cells), int(s.placed[mover])
    if ship == p.sizes.shape[0]:
        out[0, 0], out[1, 0] = 1, (1 - mover) * cells + action
        return
    cell = action % cells
    end = cell + (int(p.sizes[ship]) - 1) * (int(p.width) if action >= cells else 1)
    out[0, 0], out[1, 0], out[2, 0] = 2, mover * cells + cell, mover * cells + end


@drawing
def _cell(p, cell, out):
    word(out, _COLUMNS_AT + cell % int(p.width))
    number(out, cell // int(p.width) + 1)


@drawing
def _question(s, p, out):
    """A ship to place, or a shot."""
    ship = int(s.placed[int(s.to_move)])
    if ship == p.sizes.shape[0]:
        word(out, _FIRE)
    else:
        word(out, _PLACE)
        word(out, _NAMES_AT + ship)
        word(out, _OPEN)
        number(out, p.sizes[ship])
        word(out, _BY_ENDS)


@drawing
def tell(s, p, d, what, about, out):
    begin_words(out)
    cells = int(p.cells)
    if what == SPOT:
        word(out, _SIDES_AT + about // cells)
        word(out, _BLANK)
        _cell(p, about % cells, out)
    elif what == ACTION:
        ship = int(s.placed[max(int(s.to_move), 0)])
        if ship == p.sizes.shape[0]:
            _cell(p, about, out)
        else:
            word(out, _NAMES_AT + ship)
            word(out, _BLANK)
            _cell(p, about % cells, out)
            word(out, _DOWN if about >= cells else _ACROSS)
    elif what == ASKED:
        if about >= 0 and about == s.to_move and not s.terminated and not s.truncated:
            _question(s, p, out)
    elif what == ENDING:
        if s.afloat[0] != 0 and s.afloat[1] != 0:
            word(out, _OUT)
        elif d[_PLAYERS] == 1:
            word(out, _SUNK)
        else:
            word(out, _SUNK_OF)
            word(out, _SIDES_AT + (0 if s.afloat[0] == 0 else 1))
            word(out, _IS_SUNK)


@drawing
def _afloat(s, p, d, shooter, left, top, wide, out):
    """The ships that are afloat as the shooter was told, in as many lines as they need."""
    ships, lines, room = p.sizes.shape[0], 1, wide // _LETTER - 8
    text(out, _SMALL, left, top)
    word(out, _TOLD)
    count = 0
    for ship in range(ships):
        count += s.told_afloat[shooter, ship] != 0
    if p.sunk == SUNK_ONLY:
        number(out, count)
        word(out, _OF)
        number(out, ships)
        word(out, _SHIPS)
        return
    if count == 0:
        word(out, _NONE)
    for ship in range(ships):
        if s.told_afloat[shooter, ship]:
            count -= 1
            room -= int(d[_LENGTHS + ship]) + 6
            if room < 0:
                text(out, _SMALL, left, top + 14 * lines)
                lines += 1
                room = wide // _LETTER - int(d[_LENGTHS + ship]) - 6
            word(out, _NAMES_AT + ship)
            word(out, _OPEN)
            number(out, p.sizes[ship])
            word(out, _CLOSE)
            if count:
                word(out, _COMMA)


@drawing
def _board(s, p, d, owner, left, seat, last, out):
    """The sea of `owner` with the shots of the other side, and, for a viewer who knows it, the fleet."""
    height, width, cells, shooter = int(p.height), int(p.width), int(p.cells), 1 - owner
    text(out, _TITLE, left, _TOP - 32)
    if d[_PLAYERS] == 1:
        word(out, _FLEET)
    else:
        word(out, _FLEET_OF)
        word(out, _SIDES_AT + owner)
        word(out, _SIDE)
    word(out, _SHOTS)
    number(out, s.shots[shooter])
    rectangle(out, _SEA, left, _TOP, width * _CELL, height * _CELL)
    for ship in range(p.sizes.shape[0]):
        at = int(s.places[owner, ship])
        if at >= 0 and (seat < 0 or (seat == owner and d[_PLAYERS] > 1)):
            size, down = int(p.sizes[ship]), at >= cells
            rectangle(
                out,
                _SHIP,
                left + at % cells % width * _CELL + 3,
                _TOP + at % cells // width * _CELL + 3,
                (1 if down else size) * _CELL - 6,
                (size if down else 1) * _CELL - 6,
                11,
            )
    for column in range(width + 1):
        line(out, _GRID, left + column * _CELL, _TOP, left + column * _CELL, _TOP + height * _CELL)
    for row in range(height + 1):
        line(out, _GRID, left, _TOP + row * _CELL, left + width * _CELL, _TOP + row * _CELL)
    for column in range(width):
        text(out, _MIDDLE, left + column * _CELL + _CELL // 2, _TOP - 8)
        word(out, _COLUMNS_AT + column)
    for row in range(height):
        text(out, _END, left - 8, _TOP + row * _CELL + _CELL // 2 + 4)
        number(out, row + 1)
    for cell in range(cells):
        answer = int(s.answers[shooter, cell])
        x, y = left + cell % width * _CELL, _TOP + cell // width * _CELL
        if answer == MISS:
            circle(out, _MISSED, x + _CELL // 2, y + _CELL // 2, 5)
        elif answer:
            if answer != HIT:
                circle(out, _RING, x + _CELL // 2, y + _CELL // 2, 12)
            circle(out, _HIT_STYLE, x + _CELL // 2, y + _CELL // 2, 7)
        if cell == last:
            rectangle(out, _LAST, x + 1, y + 1, _CELL - 2, _CELL - 2)
        place(out, owner * cells + cell, x, y, _CELL, _CELL)


@drawing
def _last_shooter(s, p, last):
    """The side that fired the last shot, or -1."""
    if last < 0 or last >= p.cells:
        return -1
    first = s.shots[0] > 0 and s.shot_number[0, last] == s.shots[0]
    second = s.shots[1] > 0 and s.shot_number[1, last] == s.shots[1]
    if first and second:
        return 1 - int(s.to_move)
    return 0 if first else 1 if second else -1


@drawing
def scene(s, p, d, mask, seat, last, out):
    """The fleets with the shots fired at them; a seat sees its own fleet alone; the last shot is framed."""
    alone = d[_PLAYERS] == 1
    wide, tall = max(int(p.width) * _CELL, _NARROWEST), int(p.height) * _CELL
    begin(out, 2 * _EDGE + (wide if alone else 2 * wide + _GAP), _TOP + tall + 30 + 14 * d[_LINES])
    rectangle(out, _PAPER, 0, 0, out[0, 1], out[0, 2])
    shooter = _last_shooter(s, p, last)
    for owner in range(1 if alone else 0, 2):
        left = _EDGE if alone else _EDGE + owner * (wide + _GAP)
        _board(s, p, d, owner, left, seat, last if shooter == 1 - owner else -1, out)
        _afloat(s, p, d, 1 - owner, left, _TOP + tall + 24, wide, out)


def svg(ruleset: Ruleset, state: np.void, *, seat: int | None = None, last_action: int | None = None) -> str:
    """A picture of the state: the fleets with the shots fired at them.

    Args:
        seat: the seat whose knowledge is drawn; `None` draws both fleets.
        last_action: the action that led here; a shot is framed.
    """
    return Pen(ruleset).svg(state, seat, last_action)
