"""Text for shots and positions.

A shot of the discrete game is `draw 0.3 -1.4 ccw`: weight (draw, soft, firm, hard), target x and y in m from the tee, spin
(ccw or cw); or `concede`. A position is one line: ends played, shots played, who has the hammer, the score, and the
sixteen stones in the order thrown, `x,y` or `-`:

    e2 s3 h2 3:1 0.012500,-2.100000 - 0.400000,0.100000 - - - - - - - - - - - - -
"""

from __future__ import annotations

import math
import re

import numpy as np

from asobiba.core import NotationError, PositionError, Ruleset
from asobiba.envs.curling.layout import SPINS, TARGET_X, TARGET_Y, WEIGHTS

_SPIN = {1: "ccw", -1: "cw"}


def _require_discrete(ruleset: Ruleset) -> None:
    if not ruleset.discrete:
        raise NotationError(f"actions of {ruleset!r} are numbers; texts are those of curling_discrete")


def action_to_text(ruleset: Ruleset, state: np.void, action: int) -> str:
    """The text of a discrete action. Raises `NotationError` where actions are continuous."""
    _require_discrete(ruleset)
    if action == len(ruleset.params["shots"][0]):
        return "concede"
    rest, spin = divmod(int(action), len(SPINS))
    rest, weight = divmod(rest, len(WEIGHTS))
    x, y = divmod(rest, len(TARGET_Y))
    return f"{WEIGHTS[weight]} {TARGET_X[x] + 0.0:g} {TARGET_Y[y] + 0.0:g} {_SPIN[SPINS[spin]]}"  # + 0.0: never -0


def text_to_action(ruleset: Ruleset, state: np.void, text: str) -> int:
    """The discrete action of a text.

    Raises:
        NotationError: for other text, and where actions are continuous.
    """
    _require_discrete(ruleset)
    words = text.split()
    try:
        if words == ["concede"] and int(ruleset.params["concession"][0]):
            return len(ruleset.params["shots"][0])
        weight, x, y, spin = words
        number = (TARGET_X.index(float(x)) * len(TARGET_Y) + TARGET_Y.index(float(y))) * len(WEIGHTS)
        return (number + WEIGHTS.index(weight)) * len(SPINS) + ["ccw", "cw"].index(spin)
    except ValueError:
        raise NotationError(
            f"{text!r} is no shot; shots look like this: draw 0.3 -1.4 ccw, with weight {', '.join(WEIGHTS)}, x one of "
            f"{', '.join(f'{v + 0.0:g}' for v in TARGET_X)}, y one of {', '.join(f'{v + 0.0:g}' for v in TARGET_Y)}, ccw or cw"
        ) from None


def state_to_text(ruleset: Ruleset, state: np.void) -> str:
    """The position in one line."""
    stones = [
        f"{x:.6f},{y:.6f}" if here else "-" for (x, y), here in zip(state["stones"], state["in_play"], strict=True)
    ]
    score = f"{int(state['total'][0])}:{int(state['total'][1])}"
    return f"e{int(state['end'])} s{int(state['shot'])} h{int(state['hammer']) + 1} {score} {' '.join(stones)}"


def text_to_state(ruleset: Ruleset, text: str) -> np.void:
    """The state of a position; the points of the ends before are counted as of the first end.

    Raises:
        PositionError: for text of another form, or a position that these rules cannot have.
    """
    found = re.fullmatch(r"e(\d{1,3}) s(\d{1,2}) h([12]) (\d{1,2}):(\d{1,2}) (\S+(?: \S+){15})", text.strip())
    if found is None:
        raise PositionError(f"{text!r} is no position; see asobiba.envs.curling.notation")
    p = ruleset.params[0]
    s = ruleset.zeros()[0]
    s["end"], s["shot"], s["hammer"] = int(found[1]), int(found[2]), int(found[3]) - 1
    s["conceded"] = -1
    s["to_move"] = (1 - s["hammer"] + s["shot"]) % 2
    for side in range(2):
        s["total"][side] = s["scores"][side, 0] = int(found[4 + side])
    if not p["first_end"] <= s["end"] <= p["last_end"] or s["shot"] > 15:
        raise PositionError(f"{text!r}: there is no shot {s['shot']} in end {s['end']} of {ruleset!r}")
    for k, word in enumerate(found[6].split()):
        if word == "-":
            continue
        try:
            x, y = (float(value) for value in word.split(","))
        except ValueError:
            raise PositionError(
                f"{word!r} is no stone; stones look like this: 0.4,-1.2, or - where there is none"
            ) from None
        # Six decimals may put a stone that touches an edge a hair beyond it.
        if not (math.isfinite(x) and abs(x) < p["side"] + 1e-6 and -p["release"] < y < p["back"] + 1e-6):
            raise PositionError(f"stone {k} lies at {word}, off the sheet")
        if k >= s["shot"]:
            raise PositionError(f"stone {k} has not been thrown after {s['shot']} shots")
        s["stones"][k], s["in_play"][k] = (x, y), 1
    decided = s["end"] >= p["ends"] and (s["total"][0] != s["total"][1] or s["end"] >= p["ends"] + p["extra_ends"])
    if decided or s["end"] >= p["last_end"]:
        s["terminated"], s["end_reason"] = 1, 1
    return s


def shot_to_text(vx: float, vy: float, spin: float) -> str:
    """A delivery as text, such as `vx -0.990 vy 29.560 ccw`."""
    return f"vx {vx:.3f} vy {vy:.3f} {_SPIN[1 if spin > 0 else -1]}"


def board_text(ruleset: Ruleset, state: np.void, seat: int | None = None) -> str:
    """The position for a terminal: a row a stone, nearest to the tee first."""
    names = ruleset.players
    lines = [
        f"end {int(state['end']) + 1} of {int(ruleset.params['ends'][0])}, shot {int(state['shot'])} of 16, "
        f"{names[0]} {int(state['total'][0])} : {int(state['total'][1])} {names[1]}, "
        f"hammer {names[int(state['hammer'])]}, to move {names[int(state['to_move'])]}"
    ]
    if state["run"].any():
        lines.append(f"last shot: {shot_to_text(*state['run'])}{', foul' if state['foul'] else ''}")
    if state["conceded"] >= 0:
        lines.append(f"{names[int(state['conceded'])]} conceded")
    here = [k for k in range(16) if state["in_play"][k]]
    for k in sorted(here, key=lambda k: float(np.hypot(*state["stones"][k]))):
        x, y = state["stones"][k]
        side = (1 - int(state["hammer"]) + k) % 2
        lines.append(f"  {names[side]:7} {k // 2 + 1}  x {x + 0.0:+7.3f}  y {y + 0.0:+7.3f}  {np.hypot(x, y):6.3f} m")
    return "\n".join(lines)
