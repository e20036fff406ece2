"""Text for shots and positions.

A shot of the discrete game is `draw 0.3 -1.4 ccw`: weight (draw, soft, firm, hard), target x and y in m from the tee, spin
(ccw or cw); or `concede`. With continuous actions a shot is the delivery, `vx -0.9900 vy 29.5600 ccw` in m/s, if
actions are velocities; if they are targets, `draw 0.300 -1.400 ccw` with any target. Velocities may be given by a
weight and a target, too, and are told so (`move_text`). A position is one line: ends played, shots played, the side with the hammer, the score, and
the sixteen stones in the order thrown, `x,y` or `-`:

    e2 s3 h2 3:1 0.012500,-2.100000 - 0.400000,0.100000 - - - - - - - - - - - - -
"""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from asobiba.core import NotationError, PositionError, Ruleset
from asobiba.envs.curling.layout import SPINS, TARGET_X, TARGET_Y, WEIGHTS
from asobiba.envs.curling.rules import CONCEDES, velocity_of
from asobiba.envs.curling.shots import draw_shot, hit_shot
from asobiba.envs.curling.telling import named_shot

_SPIN = {1: "ccw", -1: "cw"}
_SIGN = {text: sign for sign, text in _SPIN.items()}


def action_to_text(ruleset: Ruleset, state: np.void, action: Any) -> str:
    """The text of an action: four decimals of a velocity in m/s, three of a target in m."""
    if not ruleset.discrete:
        return _continuous_text(ruleset, np.asarray(action, float))
    if action == len(ruleset.params["shots"][0]):
        return "concede"
    rest, spin = divmod(int(action), len(SPINS))
    rest, weight = divmod(rest, len(WEIGHTS))
    x, y = divmod(rest, len(TARGET_Y))
    return f"{WEIGHTS[weight]} {TARGET_X[x] + 0.0:g} {TARGET_Y[y] + 0.0:g} {_SPIN[SPINS[spin]]}"  # + 0.0: never -0


def move_text(ruleset: Ruleset, state: np.void, action: Any) -> str:
    """An action as a person types it: `draw -0.1 -1 ccw`.

    Where its rounded target gives another delivery, this follows: `draw 0.63 -2.17 cw (vx 0.7152 vy 28.7301)`.
    """
    if ruleset.discrete:
        return action_to_text(ruleset, state, action)
    given = np.asarray(action, float)
    if int(ruleset.params["concession"][0]) and given[-1] > CONCEDES:
        return "concede"
    return _named(ruleset, *velocity_of(ruleset.params[0], given))


def _named(ruleset: Ruleset, vx: float, vy: float, spin: float) -> str:
    p = ruleset.params[0]
    by_target = bool(p["by_target"])
    far, parts = (float(p["far"]), 1000.0) if by_target else (float(p["back"]), 100.0)
    area = float(p["side"]), float(p["hog"]), far, parts
    weight, x, y, exact = named_shot(
        int(p["model"]), float(p["release"]), p["weights"][: 0 if by_target else None], area, (vx, vy, spin)
    )
    if weight < 0:
        return f"{_velocity_text(vx, vy)} {_SPIN[int(spin)]}"
    rest = "" if exact or by_target else f" ({_velocity_text(vx, vy)})"
    return f"{WEIGHTS[weight]} {x + 0.0:g} {y + 0.0:g} {_SPIN[int(spin)]}{rest}"


def how_text(ruleset: Ruleset) -> str:
    """The way to write a continuous action."""
    if int(ruleset.params["by_target"][0]):
        return "A shot is `draw`, x and y of the target in m from the tee, and the spin: draw -0.1 -1 ccw."
    return (
        f"A shot is a weight ({', '.join(WEIGHTS)}), x and y of the target in m from the tee, and the spin: "
        "draw -0.1 -1 ccw. Or it is a velocity in m/s and the spin: vx -0.99 vy 29.56 ccw."
    )


def text_to_action(ruleset: Ruleset, state: np.void, text: str) -> Any:
    """The action of a text: an `int`, or a `(3,)` or `(4,)` float32 array.

    Raises:
        NotationError: for other text, and for shots that are no action of this ruleset.
    """
    words = text.split()
    if words == ["concede"] and int(ruleset.params["concession"][0]):
        return len(ruleset.params["shots"][0]) if ruleset.discrete else np.array([0, 0, 1, 1], np.float32)
    if not ruleset.discrete:
        return _continuous_action(ruleset, text)
    try:
        weight, x, y, spin = words
        number = (TARGET_X.index(float(x)) * len(TARGET_Y) + TARGET_Y.index(float(y))) * len(WEIGHTS)
        return (number + WEIGHTS.index(weight)) * len(SPINS) + ["ccw", "cw"].index(spin)
    except ValueError:
        raise NotationError(
            f"{text!r} is not a shot; shots look like this: draw 0.3 -1.4 ccw, with weight {', '.join(WEIGHTS)}, x one of "
            f"{', '.join(f'{v + 0.0:g}' for v in TARGET_X)}, y one of {', '.join(f'{v + 0.0:g}' for v in TARGET_Y)}, ccw or cw"
        ) from None


def _ranges(ruleset: Ruleset) -> np.ndarray:
    """Middle and half width of the ranges of an action's first two numbers: `(2, 2)`, m/s or m."""
    p = ruleset.params[0]
    if p["by_target"]:
        return np.array([[0.0, p["target_side"]], [(p["hog"] + p["far"]) / 2, (p["far"] - p["hog"]) / 2]])
    return np.array([[0.0, p["lateral"]], [(p["slowest"] + p["fastest"]) / 2, (p["fastest"] - p["slowest"]) / 2]])


def _continuous_text(ruleset: Ruleset, action: np.ndarray) -> str:
    if int(ruleset.params["concession"][0]) and action[-1] > CONCEDES:
        return "concede"
    a, b = (middle + half * min(max(x, -1.0), 1.0) for (middle, half), x in zip(_ranges(ruleset), action[:2].tolist()))
    spin = _SPIN[1 if action[2] >= 0 else -1]
    if int(ruleset.params["by_target"][0]):
        return f"draw {_decimals(a, 3)} {_decimals(b, 3)} {spin}"
    return f"{_velocity_text(a, b)} {spin}"


def _velocity_text(vx: float, vy: float) -> str:
    return f"vx {_decimals(vx, 4)} vy {_decimals(vy, 4)}"


def _decimals(value: float, places: int) -> str:
    return f"{round(value, places) + 0.0:.{places}f}"


def _continuous_action(ruleset: Ruleset, text: str) -> np.ndarray:
    by_target = bool(ruleset.params["by_target"][0])
    shape = "draw 0.3 -1.4 ccw" if by_target else "vx -0.99 vy 29.56 ccw, or draw 0.3 -1.4 ccw"
    number = r"([+-]?[0-9]+(?:\.[0-9]*)?)"
    wish = re.fullmatch(rf"({'|'.join(WEIGHTS)}) {number} {number} (ccw|cw)", text.strip())
    shot = re.fullmatch(rf"vx {number} vy {number} (ccw|cw)", text.strip())
    if wish is None and (shot is None or by_target):
        raise NotationError(f"{text!r} is not a shot; shots look like this: {shape}, with weight {', '.join(WEIGHTS)}")
    if wish is not None:
        weight, spin = WEIGHTS.index(wish[1]), _SIGN[wish[4]]
        values = float(wish[2]), float(wish[3])
        if by_target and weight:
            raise NotationError(f"{text!r}: where actions are targets, every stone is a draw")
        if not by_target:
            values = _velocity(ruleset, *values, weight, spin, text)
    else:
        assert shot is not None
        values, spin = (float(shot[1]), float(shot[2])), _SIGN[shot[3]]
    action = np.ones(ruleset.action_space.shape or (3,), np.float32)
    for k, (middle, half) in enumerate(_ranges(ruleset)):
        share = (values[k] - middle) / half
        if not abs(share) <= 1 + 1e-4:  # a rounded value may lie slightly outside
            name, unit = ("xy"[k], "m") if by_target else (f"v{'xy'[k]}", "m/s")
            low, high = middle - half, middle + half
            raise NotationError(f"{text!r}: {name} is {values[k]:g} {unit}, it must be from {low:g} to {high:g}")
        action[k] = min(max(share, -1.0), 1.0)
    action[2] = spin
    if len(action) > 3:
        action[3] = 0.0
    return action


def _velocity(ruleset: Ruleset, x: float, y: float, weight: int, spin: int, text: str) -> tuple[float, float]:
    """The delivery that stops at a point, or passes it with the speed of this weight."""
    p = ruleset.params[0]
    if not (abs(x) <= p["side"] and p["hog"] <= y <= p["far"]):
        raise NotationError(
            f"{text!r}: the target must lie within {p['side']:g} m of the centre line and from {p['hog']:g} to "
            f"{p['far']:g} m from the tee"
        )
    model, release = int(p["model"]), float(p["release"])
    if weight == 0:
        vx, vy = draw_shot(model, release, x, y, float(spin))
    else:
        vx, vy = hit_shot(model, release, x, y, float(spin), float(p["weights"][weight - 1]))
    return float(vx), float(vy)


def state_to_text(ruleset: Ruleset, state: np.void) -> str:
    """The position in one line."""
    stones = [
        f"{x:.6f},{y:.6f}" if here else "-" for (x, y), here in zip(state["stones"], state["in_play"], strict=True)
    ]
    score = f"{int(state['total'][0])}:{int(state['total'][1])}"
    return f"e{int(state['end'])} s{int(state['shot'])} h{int(state['hammer']) + 1} {score} {' '.join(stones)}"


def text_to_state(ruleset: Ruleset, text: str) -> np.void:
    """The state of a position; points of earlier ends are counted as of the first end.

    Raises:
        PositionError: for text of another form, or a position that these rules cannot have.
    """
    found = re.fullmatch(
        r"e([0-9]{1,3}) s([0-9]{1,2}) h([12]) ([0-9]{1,2}):([0-9]{1,2}) (\S+(?: \S+){15})", text.strip()
    )
    if found is None:
        raise PositionError(f"{text!r} is not a position; see asobiba.envs.curling.notation")
    p = ruleset.params[0]
    s = ruleset.zeros()[0]
    s["end"], s["shot"], s["hammer"] = int(found[1]), int(found[2]), int(found[3]) - 1
    s["conceded"] = -1
    s["to_move"] = (1 - s["hammer"] + s["shot"]) % 2
    for side in range(2):
        s["total"][side] = s["scores"][side, 0] = int(found[4 + side])
    if not p["first_end"] <= s["end"] <= p["last_end"] or s["shot"] > 15:
        raise PositionError(f"{text!r}: there is no shot {s['shot']} in end {s['end']} of {ruleset!r}")
    put_stones(ruleset, s, found[6].split())
    finish_position(ruleset, s)
    return s


def finish_position(ruleset: Ruleset, s: np.void) -> None:
    """Marks a position after the last end as over."""
    p = ruleset.params[0]
    decided = s["end"] >= p["ends"] and (s["total"][0] != s["total"][1] or s["end"] >= p["ends"] + p["extra_ends"])
    if decided or s["end"] >= p["last_end"]:
        s["terminated"], s["end_reason"] = 1, 1


def put_stones(ruleset: Ruleset, s: np.void, words: list[str], first: int = 0) -> None:
    """Puts the stones of a position's words into rows `first` and on. Raises `PositionError`."""
    p = ruleset.params[0]
    for k, word in enumerate(words, first):
        if word == "-":
            continue
        try:
            x, y = (float(value) for value in word.split(","))
        except ValueError:
            raise PositionError(
                f"{word!r} is not a stone; stones look like this: 0.4,-1.2, or - where there is none"
            ) from None
        # Rounding to six decimals may put a stone that touches an edge slightly beyond it.
        if not (math.isfinite(x) and abs(x) < p["side"] + 1e-6 and -p["release"] < y < p["back"] + 1e-6):
            raise PositionError(f"stone {k} lies at {word}, off the sheet")
        if k >= s["shot"]:
            raise PositionError(f"stone {k} has not been thrown after {s['shot']} shots")
        s["stones"][k], s["in_play"][k] = (x, y), 1


def board_text(ruleset: Ruleset, state: np.void, seat: int | None = None) -> str:
    """The position for a terminal: one row per stone, nearest to the tee first."""
    return told_board(ruleset, state, 0)


def told_board(ruleset: Ruleset, state: np.void, first_shot: int) -> str:
    """The text of `board_text` for a game whose ends begin with this shot: 0, or 6 in mixed doubles."""
    names = ruleset.players
    lines = [
        f"end {int(state['end']) + 1} of {int(ruleset.params['ends'][0])}, "
        f"shot {max(int(state['shot']) - first_shot, 0)} of {16 - first_shot}, "
        f"{names[0]} {int(state['total'][0])} : {int(state['total'][1])} {names[1]}, "
        f"hammer {names[int(state['hammer'])]}, to move {names[int(state['to_move'])]}"
    ]
    if state["run"].any():
        told = f"{_named(ruleset, *state['asked'])}, thrown with {_velocity_text(*state['run'][:2])}"
        lines.append(f"last shot: {told}{', foul' if state['foul'] else ''}")
    if state["conceded"] >= 0:
        lines.append(f"{names[int(state['conceded'])]} conceded")
    here = [k for k in range(16) if state["in_play"][k]]
    for k in sorted(here, key=lambda k: float(np.hypot(*state["stones"][k]))):
        x, y = state["stones"][k]
        side = (1 - int(state["hammer"]) + k) % 2
        lines.append(
            f"  {names[side]:7} {(k - first_shot) // 2 + 1}  x {x + 0.0:+7.3f}  y {y + 0.0:+7.3f}  {np.hypot(x, y):6.3f} m"
        )
    return "\n".join(lines)
