"""One drawing for Python and for web pages: a game draws a scene of numbers, and small writers turn it into SVG.

A drawing module has functions in plain kernel style, marked with `@drawing`. Python calls them as they are;
`asobiba playground` compiles them to WebAssembly beside the rules. They write into `out`, `(ROWS, 8)` float64:

* `scene(s, p, d, mask, seat, last, out)`: the picture. `s` and `p` are the state (a seat's view) and the parameters, `d`
  the numbers of `data(ruleset)`, `mask` the legal actions of the player to move, `seat` the seat for which it is drawn
  (-1: nobody's), `last` the action that led here (-1: none, or not one number).
* `spots(s, p, d, action, out)`: the places that one clicks for an action, in order: `out[0, 0]` is their number, then
  `out[k, 0]` are spots. Where one action ends and another goes on, the last place is clicked again for the shorter one.
  Without places, actions are typed or chosen from a list.
* `tell(s, p, d, what, number, out)`: words for an action (`ACTION`; in games in turns the game's notation), a spot
  (`SPOT`), the reason of the end (`ENDING`), and, in games that answer these questions, what a seat is asked (`ASKED`),
  the move that led here, where it is not one number (`DONE`), and what was said and done on a day (`LOG`: in
  `LOG_PARTS` parts, lines of which the first is a heading; nothing after the last day). They are written with `word`
  and `number` after `begin_words`.
* `answer(s, p, d, out)`, where actions are continuous or steps follow in real time: the action of the page's controls.
  `out[1 + k, 0]` is the value of the k-th field of `controls(ruleset)`; for a choice, its number. The function writes the action's numbers in their place, and their count into `out[0, 0]`.

Their texts, styles (SVG attributes) and symbols (SVG elements) stand in tables of the module, `TEXTS`, `STYLES` and
`SYMBOLS`, of the class `Entries`: an entry is known to kernels by its number. `texts(ruleset)` and `symbols(ruleset)`
replace a table where it depends on the parameters, and `scenes(ruleset)` gives the functions where it does for them.
`controls(ruleset)` tells the input fields of actions that are not chosen one by one: `fields`, each with a `name` and
either `choices` or `low`, `high`, `step`, and `value`, where it begins; where a click on the picture sets it, `axis` ("x"
or "y"), `origin` and `scale`, by which a place in the picture becomes a value. `hint` is a line of help.
`LANGUAGES` may hold the texts in other languages, under the same numbers: `{"ja": texts}`.
`page/writer.js` is the other writer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape
from types import SimpleNamespace
from typing import Any, TypeVar

import numpy as np

from asobiba.core.game import Ruleset
from asobiba.core.states import action_mask, is_over

ROWS, COLUMNS = 4096, 8
"""The size of a scene: rows of (kind, style, x, y, a, b, number of a text or symbol, spot)."""
RECTANGLE, CIRCLE, LINE, TEXT, WORD, NUMBER, SYMBOL, PATH, POINT, PLACE = range(1, 11)
ACTION, SPOT, ENDING, ASKED, LOG = range(5)
DONE = 5
"""Questions to `tell`."""
LOG_PARTS = 3
"""Parts of a day's log, so that each fits in a scene's rows: `tell(..., LOG, LOG_PARTS * day + part, out)`."""
_FONT = "font-family='DejaVu Sans,Verdana,sans-serif'"

_Function = TypeVar("_Function", bound=Callable[..., Any])


def drawing(function: _Function) -> _Function:
    """Marks a function of a scene: Python runs it as it is, and it compiles for WebAssembly."""
    function.of_scene = True  # type: ignore[attr-defined]
    return function


class Entries(list[str]):
    """Texts, styles or symbols: calling the table enters one and gives its number."""

    def __call__(self, entry: str) -> int:
        if entry not in self:
            self.append(entry)
        return self.index(entry)


@drawing
def begin(out, width, height):
    """Begins a picture of this size."""
    out[0, 0], out[0, 1], out[0, 2] = 1, width, height


@drawing
def begin_words(out):
    """Begins words alone."""
    out[0, 0] = 1


@drawing
def put(out, kind, style, x, y, a, b, entry, spot):
    """Writes a row; what does not fit is left out."""
    k = int(out[0, 0])
    if k < out.shape[0]:
        out[k, 0], out[k, 1], out[k, 2], out[k, 3] = kind, style, x, y
        out[k, 4], out[k, 5], out[k, 6], out[k, 7] = a, b, entry, spot
        out[0, 0] = k + 1


@drawing
def rectangle(out, style, x, y, width, height, corner=0.0):
    """A rectangle from its upper left corner, with rounded corners of a radius."""
    put(out, RECTANGLE, style, x, y, width, height, corner, -1)


@drawing
def circle(out, style, x, y, radius):
    """A circle around (x, y)."""
    put(out, CIRCLE, style, x, y, radius, 0, 0, -1)


@drawing
def line(out, style, x, y, to_x, to_y):
    """A line between two points."""
    put(out, LINE, style, x, y, to_x, to_y, 0, -1)


@drawing
def text(out, style, x, y):
    """A text at (x, y); what it says follows by `word` and `number`."""
    put(out, TEXT, style, x, y, 0, 0, 0, -1)


@drawing
def word(out, entry):
    """A text of the table, in a text."""
    put(out, WORD, 0, 0, 0, 0, 0, entry, -1)


@drawing
def number(out, value, decimals=0, plus=0):
    """A number in a text, rounded half away from zero; with `plus` it always has a sign."""
    put(out, NUMBER, 0, value, decimals, plus, 0, 0, -1)


@drawing
def symbol(out, entry, x, y, scale=1.0, turn=0.0, style=-1):
    """A symbol of the table at (x, y), scaled, then turned clockwise by degrees."""
    put(out, SYMBOL, style, x, y, scale, turn, entry, -1)


@drawing
def path(out, style, closed=0):
    """A line through the points that follow by `point`; closed, it returns to the first."""
    put(out, PATH, style, 0, 0, closed, 0, 0, -1)


@drawing
def point(out, x, y):
    """The next point of a path."""
    put(out, POINT, 0, x, y, 0, 0, 0, -1)


@drawing
def place(out, spot, x, y, width, height):
    """A place to click: a rectangle that is not seen."""
    put(out, PLACE, 0, x, y, width, height, 0, spot)


def _plain(record: np.void) -> SimpleNamespace:
    """The fields as whole Python or 64-bit numbers, which do not overflow."""

    def value(found: Any) -> Any:
        kind = np.float64 if found.dtype.kind == "f" else np.uint64 if found.dtype == np.uint64 else np.int64
        return found.astype(kind) if found.shape else found.item()

    names = [name for name in record.dtype.names or () if not name.startswith("_pad")]
    return SimpleNamespace(**{name: value(np.asarray(record[name])) for name in names})


def functions(ruleset: Ruleset) -> Any:
    """A module with a ruleset's functions `scene` and `tell`, and in some games `spots`."""
    return ruleset.draw.scenes(ruleset) if hasattr(ruleset.draw, "scenes") else ruleset.draw


def table(ruleset: Ruleset, name: str) -> Sequence[str]:
    """A table of the game's drawing: `texts`, `styles` or `symbols`."""
    if hasattr(ruleset.draw, name):
        return getattr(ruleset.draw, name)(ruleset)
    return getattr(ruleset.draw, name.upper(), ())


def data(ruleset: Ruleset) -> np.ndarray:
    """The numbers that the game's drawing needs beside the parameters, float64, at least one."""
    found = getattr(ruleset.draw, "data", lambda ruleset: np.zeros(1))(ruleset)
    return np.ascontiguousarray(found, np.float64)


class Pen:
    """The drawing of a ruleset: what its kernels are called with, and its tables.

    Args:
        language: of the texts: "en", or another one that the drawing has.
    """

    def __init__(self, ruleset: Ruleset, language: str = "en"):
        self.ruleset, self.functions = ruleset, functions(ruleset)
        self.params, self.data = _plain(ruleset.params[0]), data(ruleset)
        self.texts, self.styles, self.symbols = (table(ruleset, name) for name in ("texts", "styles", "symbols"))
        self.texts = self.texts if language == "en" else ruleset.draw.LANGUAGES[language]

    def scene(self, state: np.void, seat: int | None = None, last_action: Any = None) -> np.ndarray:
        """The picture's rows. `state` is the view of `seat`, where one is given."""
        ruleset, out = self.ruleset, np.zeros((ROWS, COLUMNS))
        mask = np.zeros(ruleset.num_actions if ruleset.discrete else 0, np.int8)
        if ruleset.discrete and not ruleset.simultaneous and not is_over(state):
            mask = action_mask(ruleset, state)
        last = -1 if last_action is None or np.ndim(last_action) else int(last_action)
        seen = -1 if seat is None else seat
        self.functions.scene(_plain(state), self.params, self.data, mask, seen, last, out)
        return out[: int(out[0, 0])]

    def spots(self, state: np.void, action: int) -> list[int]:
        """The spots to click for an action; none where it is typed or chosen."""
        if not hasattr(self.functions, "spots"):
            return []
        out = np.zeros((ROWS, COLUMNS))
        self.functions.spots(_plain(state), self.params, self.data, int(action), out)
        return [int(spot) for spot in out[1 : 1 + int(out[0, 0]), 0]]

    def answer(self, state: np.void, values: Sequence[float]) -> np.ndarray:
        """The action of these values of the controls, float64."""
        out = np.zeros((ROWS, COLUMNS))
        out[1 : 1 + len(values), 0] = values
        self.functions.answer(_plain(state), self.params, self.data, out)
        return out[1 : 1 + int(out[0, 0]), 0]

    def tell(self, state: np.void, what: int, about: int) -> str:
        """Words for an action, a spot or an ending."""
        out = np.zeros((ROWS, COLUMNS))
        self.functions.tell(_plain(state), self.params, self.data, what, about, out)
        return "".join(self._piece(row) for row in out[1 : int(out[0, 0])])

    def done(self, state: np.void) -> str:
        """Words for the move that led to a state; empty where the game does not say."""
        return self.tell(state, DONE, 0)

    def log(self, state: np.void) -> list[list[str]]:
        """The lines of each day, the first a heading."""
        days: list[list[str]] = []
        while (parts := [self.tell(state, LOG, LOG_PARTS * len(days) + part) for part in range(LOG_PARTS)])[0]:
            days.append([line for part in parts for line in part.split("\n") if line])
        return [lines for lines in days if len(lines) > 1]

    def _piece(self, row: np.ndarray) -> str:
        return self.texts[int(row[6])] if row[0] == WORD else number_text(row[2], int(row[3]), bool(row[4]))

    def svg(self, state: np.void, seat: int | None = None, last_action: Any = None) -> str:
        """The picture of a state."""
        rows = self.scene(state, seat, last_action)
        width, height = _short(rows[0, 1]), _short(rows[0, 2])
        parts = [
            f"<svg xmlns='http://www.w3.org/2000/svg' width='{width}' height='{height}' viewBox='0 0 {width} {height}' {_FONT}>"
        ]
        k = 1
        while k < len(rows):
            end = k + 1
            while end < len(rows) and rows[end, 0] in (WORD, NUMBER, POINT):
                end += 1
            parts.append(self._shape(state, rows[k], rows[k + 1 : end]))
            k = end
        return "".join([*parts, "</svg>"])

    def _shape(self, state: np.void, row: np.ndarray, more: np.ndarray) -> str:
        kind, entry = int(row[0]), int(row[6])
        style = f" {self.styles[int(row[1])]}" if row[1] >= 0 else ""
        x, y, a, b = (_short(value) for value in row[2:6])
        if kind == RECTANGLE:
            corner = f" rx='{_short(row[6])}'" if row[6] else ""
            return f"<rect x='{x}' y='{y}' width='{a}' height='{b}'{corner}{style}/>"
        if kind == CIRCLE:
            return f"<circle cx='{x}' cy='{y}' r='{a}'{style}/>"
        if kind == LINE:
            return f"<path d='M{x} {y}L{a} {b}'{style}/>"
        if kind == TEXT:
            return f"<text x='{x}' y='{y}'{style}>{escape(''.join(map(self._piece, more)), quote=False)}</text>"
        if kind == SYMBOL:
            scale = f" scale({a})" if row[4] != 1 else ""
            turn = f" rotate({b})" if row[5] else ""
            return f"<g transform='translate({x} {y}){scale}{turn}'{style}>{self.symbols[entry]}</g>"
        if kind == PATH:
            points = "L".join(f"{_short(one[2])} {_short(one[3])}" for one in more)
            return f"<path d='M{points}{'Z' if row[4] else ''}'{style}/>"
        name = escape(self.tell(state, SPOT, int(row[7])))
        return f"<rect class='spot' data-name='{name}' x='{x}' y='{y}' width='{a}' height='{b}' fill='transparent'/>"


def number_text(value: float, decimals: int, plus: bool) -> str:
    """A number rounded half away from zero, the same in JavaScript."""
    digits = str(math.floor(abs(value) * 10**decimals + 0.5)).rjust(decimals + 1, "0")
    sign = "-" if value < 0 and digits.strip("0") else "+" if plus else ""
    whole, part = digits[: len(digits) - decimals], digits[len(digits) - decimals :]
    return f"{sign}{whole}.{part}" if decimals else f"{sign}{whole}"


def _short(value: float) -> str:
    """A coordinate with at most two decimals."""
    found = number_text(value, 2, False)
    return found.rstrip("0").rstrip(".")
