"""Moves and positions as text.

* Moves: `g7` is column g (a on the left, no letter is left out), row 7 (1 at the bottom). A game is a list of moves:
  `g7 h8 f6`, with or without numbers (`1. g7 h8 2. f6`).
* Positions in one line, as in FEN: rows from the top, `x` the first player's stones, `o` the second's, numbers for empty
  points; the player to move; stones captured by the first and the second player; the last move, or a dash:
  `13/13/13/13/13/7o5/6x6/13/13/13/13/13/13 x 0-0 h8`.
* Diagrams: what `board_text` prints, in which `#` marks points forbidden to the player to move, `+` where he captures.

All are read back by `text_to_state`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from asobiba.core import GameParameterError, IllegalAction, NotationError, PositionError, Ruleset, compiled
from asobiba.core.states import new_state, step
from asobiba.envs.gogo import rules
from asobiba.envs.gogo.board import FIVES, TAKES, THREES, forbidden_count, rebuild

PLAYERS = ("first", "second")
STONES = "xo"
LOOKS_LIKE = "a move is a column and a row, such as g7"
_MOVE = re.compile(r"([a-s])([0-9]{1,2})")
_LINE = re.compile(r"(\S+)\s+([xo])\s+([0-9]{1,3})-([0-9]{1,3})\s+(-|[a-s][0-9]{1,2})")
_ROW = re.compile(r"\s*([0-9]{1,2})\s+((?:[(\[]?[.xo#X*+][)\]]?\s*)+)(?:[0-9]{1,2})?\s*")
_OUTCOMES = {
    rules.FIVE: "five in a row",
    rules.CAPTURES: "captures",
    rules.NO_MOVE: "no legal move is left",
    rules.BOTH: "the goal was captured against a five",
}


@compiled()
def _settle(states, params):
    rebuild(states[0], params[0])
    if states[0].steps > 0:
        rules.judge(states[0], params[0])


def size_of(ruleset: Ruleset) -> int:
    """Points on a side of the board."""
    return int(ruleset.params["width"][0])


def point_name(ruleset: Ruleset, point: int) -> str:
    """The name of a point, such as `g7`."""
    row, column = divmod(int(point), size_of(ruleset))
    return f"{'abcdefghijklmnopqrs'[column]}{row + 1}"


def action_to_text(ruleset: Ruleset, state: np.void, action: int) -> str:
    """The action as `g7`."""
    if not 0 <= action < ruleset.num_actions:
        raise NotationError(f"action {action} is not a point of a board of {ruleset.num_actions} points")
    return point_name(ruleset, action)


def text_to_action(ruleset: Ruleset, state: np.void | None, text: str) -> int:
    """The action that `g7` or `G7` means.

    Raises:
        NotationError: for text of another form, or a point outside the board.
    """
    n, found = size_of(ruleset), _MOVE.fullmatch(text.strip().lower())
    if not found:
        raise NotationError(f"{text!r} is not a move: {LOOKS_LIKE}")
    column, row = "abcdefghijklmnopqrs".index(found[1]), int(found[2]) - 1
    if column >= n or not 0 <= row < n:
        last = point_name(ruleset, n * n - 1)
        raise NotationError(f"{text!r} is outside the board, which goes from a1 to {last}")
    return row * n + column


def moves_to_text(ruleset: Ruleset, actions: Iterable[int]) -> str:
    """A game as a list of moves."""
    return " ".join(point_name(ruleset, action) for action in actions)


def text_to_moves(ruleset: Ruleset, text: str) -> list[int]:
    """The actions of a list of moves, with or without move numbers.

    Raises:
        NotationError: names the invalid move.
    """
    words = [word for word in text.replace(",", " ").split() if not re.fullmatch(r"[0-9]+\.+", word)]
    return [text_to_action(ruleset, None, re.sub(r"^[0-9]+\.+", "", word)) for word in words]


def play_moves(ruleset: Ruleset, moves: str | Sequence[int]) -> np.void:
    """The state after a game's moves, given as text or as actions.

    Raises:
        IllegalAction: for a move that the rules forbid, naming it and the position.
    """
    state = new_state(ruleset.unopened, 0)
    for action in text_to_moves(ruleset, moves) if isinstance(moves, str) else moves:
        state = step(ruleset, state, int(action))
    return state


def stones_of(ruleset: Ruleset, state: np.void) -> np.ndarray:
    """Stones of the board: `(n, n)` int8 by row and column, 0 and 1 for the players, -1 for empty points."""
    n = size_of(ruleset)
    planes = state["planes"]
    first, second = (planes[k * n * n : (k + 1) * n * n].reshape(n, n).astype(np.int8) for k in (0, 1))
    return second - (first == second)


def plane_of(ruleset: Ruleset, state: np.void, number: int) -> np.ndarray:
    """One of the state's planes as `(n, n)`: see `board.py`."""
    n = size_of(ruleset)
    return state["planes"][number * n * n : (number + 1) * n * n].reshape(n, n)


def forbidden_points(ruleset: Ruleset, state: np.void, player: int) -> list[int]:
    """The points that the double-three forbids to a player."""
    counts = plane_of(ruleset, state, THREES + player).ravel()
    return [int(k) for k in np.flatnonzero(counts >= 2) if forbidden_count(counts[k])]


def capture_points(ruleset: Ruleset, state: np.void, player: int) -> list[int]:
    """The points where a player's stone captures."""
    return np.flatnonzero(plane_of(ruleset, state, TAKES + player).ravel()).tolist()


def five_stones(ruleset: Ruleset, state: np.void) -> list[int]:
    """The stones that stand in a five."""
    return np.flatnonzero(plane_of(ruleset, state, FIVES).ravel()).tolist()


def state_to_text(ruleset: Ruleset, state: np.void) -> str:
    """The position in one line."""
    rows = []
    for row in stones_of(ruleset, state)[::-1]:
        letters = "".join("." if k < 0 else STONES[k] for k in row)
        rows.append(re.sub(r"\.+", lambda run: str(len(run[0])), letters))
    last = int(state["last_point"])
    taken = state["captured"]
    return f"{'/'.join(rows)} {STONES[_mover(state)]} {taken[0]}-{taken[1]} {point_name(ruleset, last) if last >= 0 else '-'}"


def _mover(state: np.void) -> int:
    return int(state["to_move"])


def text_to_state(ruleset: Ruleset, text: str) -> np.void:
    """The state of a position in one line, of a diagram, or after a list of moves.

    A position that a five or captures have decided is a finished game.

    Raises:
        NotationError: for text of another form.
        PositionError: for stones or counts that no game can reach, naming the reason.
        IllegalAction: for a list with a move that the rules forbid.
    """
    text = text.strip("\n")
    if found := _LINE.fullmatch(text.strip()):
        return _from_line(ruleset, found)
    rows = [row for line in text.splitlines() if (row := _ROW.fullmatch(line))]
    if len(rows) > 1:
        return _from_diagram(ruleset, text, rows)
    if text.strip() and all(_MOVE.fullmatch(word.lower()) or word.endswith(".") for word in text.split()):
        return play_moves(ruleset, text)
    raise NotationError(
        f"{text!r} is not a position: expected one line such as 13/13/.../13 x 0-0 -, a diagram, or moves such as g7 h8"
    )


def _from_line(ruleset: Ruleset, found: re.Match) -> np.void:
    n = size_of(ruleset)
    rows = found[1].split("/")
    if len(rows) != n:
        raise NotationError(f"{found[1]!r} has {len(rows)} rows, expected {n}: the top row first")
    stones = np.full((n, n), -1, np.int8)
    for row, letters in zip(range(n - 1, -1, -1), rows):
        spread = re.sub(r"(?<![0-9])[0-9]{1,2}(?![0-9])", lambda run: "." * int(run[0]), letters)
        if not re.fullmatch(r"[.xo]*", spread) or len(spread) != n:
            raise NotationError(
                f"row {row + 1}, {letters!r}, is not a row of {n} points: x, o and numbers of empty points"
            )
        stones[row] = [".xo".index(letter) - 1 for letter in spread]
    last = -1 if found[5] == "-" else text_to_action(ruleset, None, found[5])
    return set_up(ruleset, stones, STONES.index(found[2]), (int(found[3]), int(found[4])), last)


def _from_diagram(ruleset: Ruleset, text: str, rows: list[re.Match]) -> np.void:
    n = size_of(ruleset)
    if len(rows) != n or [int(row[1]) for row in rows] != list(range(n, 0, -1)):
        raise NotationError(f"the diagram has rows {', '.join(row[1] for row in rows)}; expected {n} down to 1")
    stones, last = np.full((n, n), -1, np.int8), -1
    for row, found in zip(range(n - 1, -1, -1), rows):
        letters = re.findall(r"[.xo#X*+]", found[2])
        if len(letters) != n:
            raise NotationError(f"row {row + 1} of the diagram has {len(letters)} points, expected {n}")
        stones[row] = [{"x": 0, "o": 1}.get(letter, -1) for letter in letters]
        if marked := re.search(r"[(\[][xo]", found[2]):
            last = row * n + len(re.findall(r"[.xo#X*+]", found[2][: marked.start()]))
    mover = re.search(r"([xo]) to move", text)
    taken = re.search(r"captured[^0-9]*([0-9]{1,3})[^0-9]+([0-9]{1,3})", text)
    counts = (int((stones == 0).sum()), int((stones == 1).sum()))
    captured = (int(taken[1]), int(taken[2])) if taken else (0, 0)
    side = STONES.index(mover[1]) if mover else (counts[0] + captured[1] > counts[1] + captured[0])
    return set_up(ruleset, stones, int(side), captured, last)


def set_up(
    ruleset: Ruleset, stones: np.ndarray | Iterable[tuple[int, int]], to_move: int, captured: tuple[int, int], last: int
) -> np.void:
    """The state with these stones.

    Args:
        stones: `(n, n)` as `stones_of` gives, or pairs (point, player).
        to_move: the player to move. captured: stones captured by the first and the second player.
        last: the point of the last stone, or -1.

    Raises:
        PositionError: for two stones on one point, points outside the board, or counts that no game can reach.
    """
    n = size_of(ruleset)
    planes = np.zeros((2, n * n), np.uint8)
    if isinstance(stones, np.ndarray):
        stones = [(int(k), int(stones.ravel()[k])) for k in np.flatnonzero(stones.ravel() >= 0)]
    for point, player in stones:
        if not 0 <= point < n * n:
            raise PositionError(f"point {point} is outside the board, which has points 0 to {n * n - 1}")
        if planes[:, point].any():
            raise PositionError(f"two stones stand on {point_name(ruleset, point)}")
        planes[player, point] = 1
    goal, takes = int(ruleset.params["goal"][0]), bool(ruleset.params["captures"][0])
    for player, taken in enumerate(captured):
        if taken % 2 or taken > (goal + 14 if goal else 254) or (taken and not takes):
            raise PositionError(
                f"the {PLAYERS[player]} player cannot have captured {taken} stones: "
                + ("they are taken in pairs, up to the goal" if takes else "nothing is captured in this game")
            )
    played = [int(planes[0].sum()) + captured[1], int(planes[1].sum()) + captured[0]]
    if played[0] - played[1] != to_move:
        raise PositionError(
            f"no game reaches this: the first player has put {played[0]} stones, the second {played[1]} "
            f"(on the board or captured), and the {PLAYERS[to_move]} player is to move; they put stones in turn"
        )
    if last >= 0 and (sum(played) == 0 or not planes[1 - to_move, last]):
        raise PositionError(
            f"the last move, {point_name(ruleset, last)}, is not a stone of the {PLAYERS[1 - to_move]} player"
        )
    if sum(played) >= ruleset.max_steps:
        raise PositionError(f"no game has {sum(played)} moves and goes on: the longest has {ruleset.max_steps}")
    states = ruleset.zeros()
    s = states[0]
    s["planes"][: 2 * n * n] = planes.ravel()
    s["to_move"], s["steps"], s["last_point"] = to_move, sum(played), last
    s["captured"] = captured
    _settle(states, ruleset.params)
    if states["terminated"][0]:
        states["end_reason"] = 1
    return states[0]


def why_not(ruleset: Ruleset, state: np.void, action: int) -> str:
    """The reason, in words, why the player to move may not put a stone here."""
    name = point_name(ruleset, action)
    if stones_of(ruleset, state).ravel()[action] >= 0:
        return f"{name} is occupied"
    if action in forbidden_points(ruleset, state, _mover(state)):
        return f"{name} is forbidden: it makes two open threes"
    where = "the first stone belongs in the centre" if int(state["steps"]) == 0 else "it is too near to the centre"
    return f"{name} is not allowed in the opening: {where}"


def outcome_text(state: np.void) -> str:
    """Reason why the game ended, or an empty text."""
    if not int(state["outcome"]):
        return ""
    result = {0: "draw", 1: "the first player wins", -1: "the second player wins"}
    return f"{_OUTCOMES[int(state['outcome'])]}: {result[int(np.sign(state['rewards'][0]))]}"


def board_text(ruleset: Ruleset, state: np.void, seat: int | None = None) -> str:
    """The board, row 1 at the bottom; brackets mark the last stone, `#` points forbidden to the player to move, `+` points
    where he captures."""
    n = size_of(ruleset)
    stones = stones_of(ruleset, state)
    over = bool(state["terminated"] or state["truncated"])
    forbidden = set() if over else set(forbidden_points(ruleset, state, _mover(state)))
    takes = set() if over else set(capture_points(ruleset, state, _mover(state)))
    letters = "   " + " ".join("abcdefghijklmnopqrs"[:n])
    last = int(state["last_point"])
    lines = [letters]
    for row in range(n - 1, -1, -1):
        text = ""
        for column in range(n):
            point = row * n + column
            text += "[" if point == last else "]" if column and point - 1 == last else " "
            empty = "#" if point in forbidden else "+" if point in takes else "."
            text += empty if stones[row, column] < 0 else STONES[stones[row, column]]
        text += "]" if row * n + n - 1 == last else ""
        lines.append(f"{row + 1:2d}{text}")
    taken = state["captured"]
    lines.append(f"captured: x {taken[0]}, o {taken[1]}" + ("" if over else f"; {STONES[_mover(state)]} to move"))
    if int(state["fives"].sum()) and not over:
        lines.append("a five stands: " + moves_to_text(ruleset, five_stones(ruleset, state)))
    if forbidden:
        lines.append(f"# forbidden, two open threes: {moves_to_text(ruleset, sorted(forbidden))}")
    if end := outcome_text(state):
        lines.append(end)
    return "\n".join(lines)


def gomocup_parameters(size: int, rule: int) -> dict[str, Any]:
    """The parameters of a game that the Gomocup protocol names by board and rule: 0 freestyle, 1 exactly five.

    Raises:
        GameParameterError: for a rule that this game does not have.
    """
    if rule not in (0, 1):
        raise GameParameterError(
            f"of the protocol's rules 0 (freestyle) and 1 (exactly five) are played here, not {rule}"
        )
    return {"preset": "gomoku", "board_size": size, "overline": "nothing" if rule else "wins"}


def gomocup_rule(ruleset: Ruleset) -> int:
    """The protocol's number of these rules.

    Raises:
        GameParameterError: for rules that Gomocup programs do not know (captures, forbidden points, openings).
    """
    p = ruleset.params[0]
    if p["captures"] or p["threes"] or p["opening"]:
        raise GameParameterError(
            f"Gomocup programs play five in a row without captures, forbidden points and openings, such as "
            f"preset=gomoku, not {ruleset!r}"
        )
    return int(p["exact"])


def gomocup_square(ruleset: Ruleset, action: int) -> tuple[int, int]:
    """The protocol's square (x, y): column and row, counted from 0."""
    y, x = divmod(int(action), size_of(ruleset))
    return x, y


def gomocup_action(ruleset: Ruleset, x: int, y: int) -> int:
    """The action of the protocol's square.

    Raises:
        NotationError: for a square outside the board.
    """
    n = size_of(ruleset)
    if not (0 <= x < n and 0 <= y < n):
        raise NotationError(f"{x},{y} is outside the board of {n} by {n}")
    return y * n + x


def gomocup_stones(ruleset: Ruleset, state: np.void, seat: int) -> list[tuple[int, int, bool]]:
    """The stones (x, y, whether they are `seat`'s), both players in turn."""
    board = stones_of(ruleset, state).ravel()
    own, other = (np.flatnonzero(board == player).tolist() for player in (seat, 1 - seat))
    first, second = (own, other) if seat == 0 else (other, own)
    turns = [point for pair in zip(first, [*second, None]) for point in pair if point is not None]
    return [(*gomocup_square(ruleset, point), point in set(own)) for point in turns]


def gomocup_last(ruleset: Ruleset, state: np.void) -> int:
    """The last action, or -1."""
    return int(state["last_point"])


def gomocup_state(ruleset: Ruleset, stones: Sequence[tuple[int, int, bool]], first: bool) -> np.void:
    """The state of stones (x, y, mine) in the order of play, in which I am to move; `first`: as the first player.

    Where the order is that of a game, it is played (with its captures); otherwise the stones are set up.
    """
    me = 0 if first else 1
    points = [(gomocup_action(ruleset, x, y), me if mine else 1 - me) for x, y, mine in stones]
    if [player for _, player in points] == [k % 2 for k in range(len(points))]:
        try:
            return play_moves(ruleset, [point for point, _ in points])
        except IllegalAction:
            pass  # a board that lists what stands, after captures
    return set_up(ruleset, points, me, (0, 0), -1)
