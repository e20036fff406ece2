"""Moves as hole letters, positions as text.

A move is the letter of its hole: a, b, c, ... clockwise from the first player's leftmost hole, then A to F on the largest
boards. A position is `ROW/ROW PLAYER FIRST-SECOND`: seeds per hole of both rows clockwise, the player to move, the
seeds that each has captured; `0,4,0,4,0,4,0,4/0,4,0,4,0,4,0,4 first 0-0` is the start.
"""

from __future__ import annotations

import re
import string

import numpy as np

from asobiba.core import NotationError, PositionError, Ruleset, compiled
from asobiba.envs.bao import rules
from asobiba.envs.bao.layout import pack, parse_counts, unpack

LETTERS = string.ascii_lowercase + "ABCDEF"
PLAYERS = ("first", "second")
_OUTCOMES = {
    rules.ROW_EMPTY: "a row is empty",
    rules.REPEATED: "the position was repeated",
    rules.ENDLESS: "the move never ends",
    rules.BLOCKED: "every move would be endless",
}
_FORM = re.compile(r"(\S+)\s+(\S+)\s+([0-9]{1,6})-([0-9]{1,6})")


@compiled()
def _settle(states, params):
    rules.begin_turn(states[0], params[0])


def action_to_text(ruleset: Ruleset, state: np.void, action: int) -> str:
    """The letter of the hole that the mover's action `action` sows from."""
    return LETTERS[int(action) + int(state["to_move"]) * ruleset.num_actions]


def text_to_action(ruleset: Ruleset, state: np.void, text: str) -> int:
    """The action of a hole letter.

    Raises:
        NotationError: for anything but the letter of a hole of the mover's row.
    """
    holes, mover = ruleset.num_actions, int(state["to_move"])
    row = LETTERS[mover * holes : (mover + 1) * holes]
    text = text.strip()
    if len(text) != 1 or text not in row:
        whose = " is in the other player's row" if len(text) == 1 and text in LETTERS[: 2 * holes] else ""
        reason = whose or " is not a hole of this board"
        raise NotationError(
            f"{text!r}{reason}: a move of the {PLAYERS[mover]} player is one of the letters {row[0]} to {row[-1]}"
        )
    return row.index(text)


def counts_of(ruleset: Ruleset, state: np.void) -> list[int]:
    """Seeds per hole, clockwise from the first player's leftmost hole."""
    return unpack(state["board"], ruleset.num_actions)


def state_to_text(ruleset: Ruleset, state: np.void) -> str:
    """The position, without its history (which counts for repetitions)."""
    holes, counts = ruleset.num_actions, counts_of(ruleset, state)
    rows = "/".join(",".join(map(str, counts[k : k + holes])) for k in (0, holes))
    return f"{rows} {PLAYERS[int(state['to_move'])]} {state['stores'][0]}-{state['stores'][1]}"


def text_to_state(ruleset: Ruleset, text: str) -> np.void:
    """The state of a position, as if play began there.

    Raises:
        NotationError: for text of another form.
        PositionError: for a position that this ruleset cannot reach: its seeds do not add up.
    """
    found = _FORM.fullmatch(text.strip())
    if not found:
        raise NotationError(
            f"{text!r} is not a position: expected ROW/ROW PLAYER FIRST-SECOND, such as 0,4,0,4/0,4,0,4 first 0-0"
        )
    board, player, first, second = found.groups()
    if player not in PLAYERS:
        raise NotationError(f"the player to move is first or second; got {player!r}")
    try:
        counts = parse_counts(board, ruleset.num_actions)
    except ValueError as error:
        raise NotationError(str(error)) from None
    total, expected = sum(counts) + int(first) + int(second), int(ruleset.params["total"][0])
    if total != expected:
        raise PositionError(
            f"this game has {expected} seeds; {text!r} has {total} ({sum(counts)} on the board, {first} and {second} captured)"
        )
    states = ruleset.zeros()
    states["board"][0] = pack(counts)
    states["stores"][0] = int(first), int(second)
    states["to_move"][0] = PLAYERS.index(player)
    states["last_hole"] = states["last_end"] = -1
    _settle(states, ruleset.params)
    if states["terminated"][0]:
        states["end_reason"] = 1
    return states[0]


def board_text(ruleset: Ruleset, state: np.void, seat: int | None = None) -> str:
    """The board as the players see it: a at the upper left, clockwise."""
    holes, counts = ruleset.num_actions, counts_of(ruleset, state)
    upper = [f"{LETTERS[k]}:{counts[k]:<3}" for k in range(holes)]
    lower = [f"{LETTERS[k]}:{counts[k]:<3}" for k in range(2 * holes - 1, holes - 1, -1)]
    mover = int(state["to_move"])
    lines = [
        f"first {'*' if mover == 0 else ' '}  " + " ".join(upper) + f"  captured {state['stores'][0]}",
        f"second{'*' if mover == 1 else ' '}  " + " ".join(lower) + f"  captured {state['stores'][1]}",
    ]
    outcome = int(state["outcome"])
    if outcome:
        result = {0: "draw", 1: "the first player wins", -1: "the second player wins"}
        lines.append(f"{_OUTCOMES[outcome]}: {result[int(np.sign(state['rewards'][0]))]}")
    return "\n".join(line.rstrip() for line in lines)
