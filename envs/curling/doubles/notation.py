"""Text for mixed doubles: a placement is `guard`, `house`, `left` or `right`; shots are written as in curling.

A position is one line: ends played, shots played (`-`: a placement is due), the side with the hammer, the side that decided on
the placement (or is to), the sides that have used their power play (`p-`, `p1`, `p2`, `p12`), the score, and twelve stones,
`x,y` or `-`: the two positioned ones, that of the side that throws first before the other, and the ten delivered ones:

    e2 s1 h2 d2 p- 3:1 0.000000,-3.055000 0.000000,0.465000 0.012500,-2.100000 - - - - - - - - -
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from asobiba.core import NotationError, PositionError, Ruleset
from asobiba.envs.curling import notation
from asobiba.envs.curling.doubles.rules import FIRST_SHOT, PLACEMENTS, POSITIONED, had, placement_of
from asobiba.envs.curling.rules import CONCEDES


def _concedes(ruleset: Ruleset, action: np.ndarray) -> bool:
    return bool(ruleset.params["concession"][0]) and action[-1] > CONCEDES


def placement_action(ruleset: Ruleset, placement: int) -> np.ndarray:
    """The action of a placement, by its number: `(4,)` or `(5,)` float32."""
    action = np.zeros(ruleset.action_space.shape or (4,), np.float32)
    action[3] = (placement + 0.5) / 2.0 - 1.0
    return action


def action_to_text(ruleset: Ruleset, state: np.void, action: Any) -> str:
    """The text of an action: of a placement where one is due, the one that it comes to, else of a shot."""
    given = np.asarray(action, float)
    if _concedes(ruleset, given):
        return "concede"
    if int(state["shot"]) == 0:
        return PLACEMENTS[had(state, ruleset.params[0], placement_of(given[3]))]
    return notation.action_to_text(ruleset, state, given)


def move_text(ruleset: Ruleset, state: np.void, action: Any) -> str:
    """An action as a person types it."""
    given = np.asarray(action, float)
    if int(state["shot"]) == 0 or _concedes(ruleset, given):
        return action_to_text(ruleset, state, given)
    return notation.move_text(ruleset, state, given)


def how_text(ruleset: Ruleset) -> str:
    """The way to write an action."""
    return (
        f"A placement is {', '.join(PLACEMENTS[:-1])} or {PLACEMENTS[-1]}: one's own stone as the guard; in the house; a power "
        f"play to the left, to the right. {notation.how_text(ruleset)}"
    )


def status_text(ruleset: Ruleset, view: np.void, seat: int) -> str:
    """The words that ask a player for his decision."""
    if int(view["shot"]) == 0:
        return f"Place the stones of the end: {', '.join(PLACEMENTS)}."
    return f"Shot {int(view['shot']) - FIRST_SHOT + 1} of 10."


def text_to_action(ruleset: Ruleset, state: np.void, text: str) -> np.ndarray:
    """The action of a text: a `(4,)` or `(5,)` float32 array.

    Raises:
        NotationError: for other text, a shot where a placement is due, and a placement where none is.
    """
    word = text.strip()
    if word == "concede" and int(ruleset.params["concession"][0]):
        return np.array([0, 0, 1, 0, 1], np.float32)
    due = int(state["shot"]) == 0
    if word in PLACEMENTS and due:
        return placement_action(ruleset, PLACEMENTS.index(word))
    if due or word in PLACEMENTS:
        wanted = f"a placement ({', '.join(PLACEMENTS)})" if due else "a shot"
        raise NotationError(f"{text!r}: {wanted} is due")
    action = notation.text_to_action(ruleset, state, word)
    action[3:] = 0.0
    return action


def state_to_text(ruleset: Ruleset, state: np.void) -> str:
    """The position in one line."""
    stones = [
        f"{x:.6f},{y:.6f}" if here else "-"
        for (x, y), here in zip(state["stones"][POSITIONED:], state["in_play"][POSITIONED:], strict=True)
    ]
    shot = "-" if int(state["shot"]) == 0 else str(int(state["shot"]) - FIRST_SHOT)
    used = "".join(str(side + 1) for side in range(2) if state["power_end"][side] >= 0) or "-"
    score = f"{int(state['total'][0])}:{int(state['total'][1])}"
    hammer, decider = int(state["hammer"]) + 1, int(state["decider"]) + 1
    return f"e{int(state['end'])} s{shot} h{hammer} d{decider} p{used} {score} {' '.join(stones)}"


def text_to_state(ruleset: Ruleset, text: str) -> np.void:
    """The state of a position; points of earlier ends are counted as of the first end, and a power play as of the first end
    or, if both sides have used theirs, of the first two.

    Raises:
        PositionError: for text of another form, or a position that these rules cannot have.
    """
    found = re.fullmatch(
        r"e([0-9]{1,3}) s(-|[0-9]) h([12]) d([12]) p(-|12?|2) ([0-9]{1,2}):([0-9]{1,2}) (\S+(?: \S+){11})", text.strip()
    )
    if found is None:
        raise PositionError(f"{text!r} is not a position; see {__name__}")
    p = ruleset.params[0]
    s = ruleset.zeros()[0]
    s["end"], s["hammer"], s["decider"] = int(found[1]), int(found[3]) - 1, int(found[4]) - 1
    s["conceded"] = -1
    due = found[2] == "-"
    s["shot"] = 0 if due else int(found[2]) + FIRST_SHOT
    s["to_move"] = s["decider"] if due else (1 - s["hammer"] + s["shot"]) % 2
    s["power_end"] = -1
    for number, side in enumerate(found[5].replace("-", "")):
        s["power_end"][int(side) - 1] = number
    for side in range(2):
        s["total"][side] = s["scores"][side, 0] = int(found[6 + side])
    if not p["first_end"] <= s["end"] <= p["last_end"]:
        raise PositionError(f"{text!r}: there is no end {s['end']} in {ruleset!r}")
    if s["power_end"].max() > s["end"] or s["power_end"].max() >= p["ends"]:
        raise PositionError(f"{text!r}: so many power plays cannot have been used by end {s['end']}")
    words = found[8].split()
    if due and words != ["-"] * 12:
        raise PositionError(f"{text!r}: stones lie there before the placement")
    notation.put_stones(ruleset, s, words, POSITIONED)
    notation.finish_position(ruleset, s)
    return s


def board_text(ruleset: Ruleset, state: np.void, seat: int | None = None) -> str:
    """The position for a terminal: one row per stone, nearest to the tee first; positioned stones have the number 0."""
    text = notation.told_board(ruleset, state, FIRST_SHOT)
    if int(state["shot"]) == 0 and not state["terminated"]:
        text += f"\n{ruleset.players[int(state['decider'])]} places the stones of the end"
    return text
