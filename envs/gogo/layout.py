"""The parameters of Gogo and its neighbours, and the sizes that follow from them."""

from __future__ import annotations

from typing import Any

import numpy as np

from asobiba.core import GameParameterError, Layout
from asobiba.envs.gogo import rules
from asobiba.envs.gogo.board import LIFT_BLOCK, LIFT_CAPTURE, LIFT_FIVE, PLANES, WORDS
from asobiba.envs.gogo.lines import LARGEST, MOST_LINES, MOST_POINTS, THREES_BROKEN, THREES_OFF, THREES_SOLID

SMALLEST = 9
PRESETS: dict[str, dict[str, Any]] = {
    "gogo": {
        "board_size": 13,
        "captures": True,
        "capture_goal": 10,
        "five": "stands",
        "overline": "nothing",
        "double_three": "solid",
        "lifts_ban": "nothing",
        "opening": "free",
        "against_five": "captor",
        "no_move": "draw",
    },
}
PRESETS["pente"] = {
    **PRESETS["gogo"],
    "board_size": 19,
    "five": "at_once",
    "overline": "wins",
    "double_three": "allowed",
    "opening": "centre",
}
PRESETS["ninuki"] = {
    **PRESETS["gogo"],
    "board_size": 19,
    "double_three": "broken",
    "lifts_ban": "block",
    "opening": "centre",
    "against_five": "draw",
}
PRESETS["gomoku"] = {
    **PRESETS["gogo"],
    "board_size": 15,
    "captures": False,
    "five": "at_once",
    "overline": "wins",
    "double_three": "allowed",
}
"""Parameters of each preset; a parameter that is not `None` overrides it."""

_CODES: dict[str, dict[str, int]] = {
    "five": {"stands": rules.FIVE_STANDS, "perfect": rules.FIVE_PERFECT, "at_once": rules.FIVE_AT_ONCE},
    "overline": {"nothing": 1, "wins": 0},
    "double_three": {"allowed": THREES_OFF, "solid": THREES_SOLID, "broken": THREES_BROKEN},
    "opening": {"free": rules.FREE, "centre": rules.CENTRE, "far": rules.FAR},
    "against_five": {"captor": rules.CAPTOR, "five": rules.OWNER, "draw": rules.DRAW},
    "no_move": {"draw": rules.DRAWS, "loses": rules.LOSES},
}
_LIFTS = {"capture": LIFT_CAPTURE, "five": LIFT_FIVE, "block": LIFT_BLOCK}


def chosen(preset: str, **parameters: Any) -> dict[str, Any]:
    """A preset's parameters with those changed that are not `None`.

    Raises:
        GameParameterError: for an unknown preset.
    """
    if preset not in PRESETS:
        raise GameParameterError(f"preset is one of {', '.join(PRESETS)}, not {preset!r}")
    return {name: value if parameters[name] is None else parameters[name] for name, value in PRESETS[preset].items()}


def _whole(name: str, value: Any, low: int, high: int) -> int:
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or not low <= value <= high:
        raise GameParameterError(f"{name} is a whole number from {low} to {high}, not {value!r}")
    return int(value)


def _lifts(value: Any) -> int:
    if not isinstance(value, str):
        raise GameParameterError(f"lifts_ban is 'nothing' or some of {', '.join(_LIFTS)} joined by +, not {value!r}")
    bits = 0
    for word in [] if value == "nothing" else value.split("+"):
        if word not in _LIFTS:
            raise GameParameterError(
                f"lifts_ban is 'nothing' or some of {', '.join(_LIFTS)} joined by +, such as capture+five, not {value!r}"
            )
        bits |= _LIFTS[word]
    return bits


def _full_lines(n: int) -> np.ndarray:
    """Bits of the squares of each line, in the numbering of `lines.line_through`."""
    full = np.zeros(MOST_LINES, np.int32)
    for row in range(n):
        for col in range(n):
            for line, bit in (
                (row, col), (n + col, row), (3 * n - 1 + row - col, col), (4 * n - 1 + row + col, col),
            ):  # fmt: skip
                full[line] |= 1 << bit
    return full


_STATE = (
    ("empty", np.int16),
    ("last_point", np.int16),
    ("banned", np.int16, (2,)),
    ("fives", np.int16, (2,)),
    ("captured", np.uint8, (2,)),
    ("last_taken", np.uint8),
    ("lifted", np.uint8),
    ("outcome", np.uint8),
    ("lines", np.int32, (WORDS * MOST_LINES,)),
    ("planes", np.uint8, (PLANES * MOST_POINTS,)),
)


def layout(
    preset: str = "gogo",
    board_size: int | None = None,
    captures: bool | None = None,
    capture_goal: int | None = None,
    five: str | None = None,
    overline: str | None = None,
    double_three: str | None = None,
    lifts_ban: str | None = None,
    opening: str | None = None,
    against_five: str | None = None,
    no_move: str | None = None,
    max_steps: int | None = None,
) -> Layout:
    """The sizes of a game with these parameters; `None` takes the preset's value.

    Raises:
        GameParameterError: for an unknown preset or word, or numbers out of range.
    """
    rule = chosen(
        preset, board_size=board_size, captures=captures, capture_goal=capture_goal, five=five, overline=overline,
        double_three=double_three, lifts_ban=lifts_ban, opening=opening, against_five=against_five, no_move=no_move,
    )  # fmt: skip
    n = _whole("board_size", rule["board_size"], SMALLEST, LARGEST)
    if rule["opening"] != "free" and n % 2 == 0:
        raise GameParameterError(f"opening={rule['opening']!r} needs an odd board_size, which has a centre, not {n}")
    goal = _whole("capture_goal", rule["capture_goal"], 0, 40)
    if goal % 2:
        raise GameParameterError(f"capture_goal counts stones, which are taken in pairs: it is even, not {goal}")
    if not isinstance(rule["captures"], (bool, np.bool_)):
        raise GameParameterError(f"captures is True or False, not {rule['captures']!r}")
    codes = {}
    for name, words in _CODES.items():
        if rule[name] not in words:
            raise GameParameterError(f"{name} is one of {', '.join(words)}, not {rule[name]!r}")
        codes[name] = words[rule[name]]
    goal = goal if rule["captures"] else 0
    # The player who is short of the goal has taken at most goal - 2 stones, so only so many points come free again.
    longest = n * n + 2 * max(goal - 2, 0)
    if rule["captures"] and goal == 0:
        longest = 3 * n * n
    steps = longest if max_steps is None else _whole("max_steps", max_steps, 1, 3 * n * n)
    squares = np.arange(MOST_POINTS)
    return Layout(
        state=list(_STATE),
        parameters={
            "width": np.int32(n),
            "area": np.int32(n * n),
            "captures": np.int8(bool(rule["captures"])),
            "goal": np.int16(goal),
            "five": np.int8(codes["five"]),
            "exact": np.int8(codes["overline"]),
            "threes": np.int8(codes["double_three"]),
            "lifts": np.int8(_lifts(rule["lifts_ban"])),
            "opening": np.int8(codes["opening"]),
            "against_five": np.int8(codes["against_five"]),
            "no_move": np.int8(codes["no_move"]),
            "full": _full_lines(n),
            "row": np.where(squares < n * n, squares // n, 0).astype(np.int8),
        },
        actions=n * n,
        observation={
            "stones": (2, n, n),
            "takes": (2, n, n),
            "forbidden": (1, n, n),
            "last": (1, n, n),
            "fives": (1, n, n),
            "captured": (2, max(goal // 2, 1)),
            "first": (1,),
            "to_move": (1,),
        },
        max_steps=steps,
    )
