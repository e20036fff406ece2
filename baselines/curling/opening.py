"""The opening book, from `book.yml`: the key of a position, its line, and the shot for a word of the line."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

import numpy as np
import yaml

from asobiba.baselines.curling.plans import FIRST_PLANS, HAMMER_PLANS, Plan
from asobiba.core import GameParameterError, Ruleset
from asobiba.envs.curling.rules import REMOVAL
from asobiba.envs.curling.simulate import Shot

AREAS = ("BL", "BC", "BR", "ML", "MC", "MR", "FL", "FC", "FR", "GL", "GC", "GR", "OO")
"""House from the back, guard zone, elsewhere: the thirteen areas."""
_MIRROR = {"L": "R", "R": "L", "C": "C", "O": "O"}
_HALF = 0.61
"""m; the middle third of the house in both directions: the radius of the four-foot circle."""
_COLUMN = {"L": -1.15, "C": 0.0, "R": 1.15}
_ROW = {"B": 1.05, "M": 0.0, "F": -1.05}
_GUARDS = {"centre": (0.0, -3.0), "left": (-1.3, -2.9), "right": (1.3, -2.9)}
STONES = 3
"""Stones of each side that the book covers."""


def area_of(ruleset: Ruleset, x: float, y: float) -> str:
    """The area in which a stone lies."""
    p = ruleset.params[0]
    column = "L" if x < -_HALF else "R" if x > _HALF else "C"
    if np.hypot(x, y) < p["score"]:
        return ("F" if y < -_HALF else "B" if y > _HALF else "M") + column
    if y < p["fgz_tee"] and y > p["hog"]:
        return "G" + column
    return "OO"


def key_of(ruleset: Ruleset, view: np.void) -> str:
    """The key of a position, such as `MC- GC+`, from the view of the team to throw."""
    words = []
    for k in np.flatnonzero(view["in_play"]):
        mark = "+" if int(k) % 2 == int(view["shot"]) % 2 else "-"
        words.append(area_of(ruleset, *view["stones"][k]) + mark)
    return " ".join(sorted(words, key=_order))


def _order(word: str) -> tuple[int, str]:
    return AREAS.index(word[:2]), word[2]


def mirrored(text: str) -> str:
    """A key or a shot with left and right exchanged."""
    words = []
    for word in text.split():
        if word[:2] in AREAS:
            word = word[0] + _MIRROR[word[1]] + word[2:]
        words.append({"left": "right", "right": "left"}.get(word, word))
    if text and text.split()[0][:2] in AREAS:
        words.sort(key=_order)
    return " ".join(words)


@cache
def book() -> dict[str, dict[int, dict[str, dict[str, list[str]]]]]:
    """The book: side, stone, plan, key -> four shots.

    Raises:
        GameParameterError: naming the line that cannot be read or is missing.
    """
    data = yaml.safe_load((files("asobiba.baselines.curling") / "book.yml").read_text(encoding="utf-8"))
    for side, plans in (("first", FIRST_PLANS), ("hammer", HAMMER_PLANS)):
        for stone in range(1, STONES + 1):
            for plan in plans:
                lines = data[side][stone].get(plan)
                if not lines or "*" not in lines:
                    raise GameParameterError(f"book.yml: {side}, stone {stone}, {plan} has no line '*'")
                for key, shots in lines.items():
                    where = f"book.yml: {side}, stone {stone}, {plan}, {key!r}"
                    if key != "*" and key != " ".join(sorted(key.split(), key=_order)):
                        raise GameParameterError(f"{where}: its words must stand in the order {' '.join(AREAS)}")
                    if len(shots) != 4:
                        raise GameParameterError(f"{where}: {shots}, but four shots are expected, for risk 0 to 3")
                    for shot in shots:
                        _check(shot, where)
    return data


def _check(shot: str, where: str) -> None:
    words = shot.split()
    good = words == ["through"] or (
        len(words) == 2
        and (
            (words[0] == "guard" and words[1] in _GUARDS)
            or (words[0] in ("draw", "around", "freeze", "hit", "take") and words[1] in AREAS[:-1])
        )
    )
    if not good:
        raise GameParameterError(
            f"{where}: {shot!r} is no shot; shots are: guard centre, left or right; draw, around, freeze, hit or take and "
            "an area; through"
        )


def line_of(ruleset: Ruleset, view: np.void, plan: Plan) -> str | None:
    """The book's shot for a position, as a word; `None` beyond the book."""
    stone = int(view["shot"]) // 2 + 1
    if stone > STONES:
        return None
    side = "hammer" if int(view["hammer"]) == int(view["to_move"]) else "first"
    lines = book()[side][stone][plan.name]
    key = key_of(ruleset, view)
    if key in lines:
        return lines[key][plan.risk]
    if mirrored(key) in lines:
        return mirrored(lines[mirrored(key)][plan.risk])
    return lines["*"][plan.risk]


def _stone_in(ruleset: Ruleset, view: np.void, area: str, parity: int | None) -> np.ndarray | None:
    """The stone of an area nearest to the thrower; of one side where `parity` is given."""
    found = [
        view["stones"][k]
        for k in np.flatnonzero(view["in_play"])
        if area_of(ruleset, *view["stones"][k]) == area and (parity is None or int(k) % 2 == parity)
    ]
    return min(found, key=lambda place: place[1]) if found else None


def shot_of(ruleset: Ruleset, view: np.void, word: str) -> Shot | None:
    """The delivery for a word of the book here, or `None` if it is impossible (no such stone; a forbidden hit)."""
    verb, _, area = word.partition(" ")
    p = ruleset.params[0]
    if verb == "through":
        return Shot.hit(ruleset, 2.2, 0.0, 1, float(p["weights"][2]))
    if verb == "guard":
        x, y = _GUARDS[area]
        return Shot.draw(ruleset, x, y, -1 if x < 0 else 1)
    if verb == "draw":
        x, y = _COLUMN[area[1]], _ROW[area[0]]
        return Shot.draw(ruleset, x, y, -1 if x < 0 else 1)
    theirs = (int(view["shot"]) + 1) % 2
    place = _stone_in(ruleset, view, area, None if verb == "around" else theirs)
    if place is None:
        return None
    x, y = float(place[0]), float(place[1])
    spin = -1 if x < 0 else 1
    if verb == "around":
        return Shot.draw(ruleset, 0.4 * x, 0.0, spin)
    if verb == "freeze":
        return Shot.draw(ruleset, x, y - 0.31, spin)
    guarded = int(view["shot"]) < int(p["guarded_shots"]) and int(p["guard_rule"]) >= REMOVAL
    if area[0] == "G" and guarded:
        return None
    return Shot.hit(ruleset, x, y, spin, float(p["weights"][1 if verb == "hit" else 2]))
