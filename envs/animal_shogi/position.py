"""Positions set up freely: boards, hands and side to a state, and back; impossible ones are refused with the reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from asobiba.core import PositionError, Ruleset, compiled
from asobiba.envs.animal_shogi import rules
from asobiba.envs.animal_shogi.board import HANDS, OPPONENT, PIECE_MASK, POSITION_MASK, SIDE_BIT, SQUARES, flip

PIECES = ".CEGHL"
"""Letters by kind; capitals are the first player's, small letters the second's. H is a hen."""
KINDS = ("chick", "elephant", "giraffe", "hen", "lion")
PLAYERS = ("first", "second")


@compiled()
def flipped(position):
    """The position (`int64`) from the other side."""
    return flip(np.int64(position))


@compiled()
def judge(states, params, position, side):
    """Begins a game in `position` and ends it where nothing is left to play. Returns whether the side that has just
    moved left its lion to be taken."""
    s, p = states[0], params[0]
    rules.begin(s, position, side)
    outcome, sign = rules.decided_at_first(position, p)
    if outcome != rules.UNDECIDED:
        rules.finish(s, outcome, side if sign > 0 else 1 - side)
    return rules.lion_left_to_be_caught(position)


def absolute(position: int, side: int) -> int:
    """A position of `side`, who is to move, from the first player's side: square 0 is A4, square 11 is C1."""
    return int(flipped(position)) if side == 1 else int(position)


def _letters(position: int) -> list[str]:
    letters = []
    for square in range(SQUARES):
        piece = position >> (4 * square) & PIECE_MASK
        letters.append(PIECES[piece] if piece < OPPONENT else PIECES[piece - OPPONENT].lower())
    return letters


def board_of(state: np.void) -> list[str]:
    """The 12 squares from A4, B4, C4, A3 on to C1: a letter of `PIECES`, small for the second player, "." if empty."""
    return _letters(absolute(state["position"], int(state["to_move"])))


def touched_last(state: np.void) -> set[int]:
    """The squares, from A4 = 0, that the last move of the game changed; none at its beginning."""
    ply = int(state["steps"]) - 1
    if ply < 0:
        return set()
    key = int(state["keys"][ply & 1, ply >> 1])
    before = _letters(absolute(key & POSITION_MASK, key >> SIDE_BIT))
    return {square for square, (old, new) in enumerate(zip(before, board_of(state), strict=True)) if old != new}


def hands_of(state: np.void) -> tuple[dict[str, int], dict[str, int]]:
    """Hands of the first and the second player: counts by letter, of C, E, G, and L for a lion that was caught."""
    position, board = absolute(state["position"], int(state["to_move"])), board_of(state)
    first, second = ({kind: position >> (HANDS + 6 * k + 2 * j) & 3 for j, kind in enumerate("CEG")} for k in (0, 1))
    first["L"], second["L"] = int("l" not in board), int("L" not in board)
    return first, second


def set_up(
    ruleset: Ruleset,
    board: Sequence[str],
    hands: Sequence[Mapping[str, int]] = ({}, {}),
    side: int = 0,
) -> np.void:
    """The state in which a game begins at this position.

    Args:
        ruleset: animal shogi.
        board: 12 letters as `board_of` gives them (A4, B4, C4, A3 ... C1).
        hands: pieces of the first and the second player: counts by the letters C, E, G.
        side: the side to move, 0 or 1.

    A position in which the game is over (a lion stands on the far rank, or was caught and is in the opponent's hand as
    L) gives a finished state.

    Raises:
        PositionError: for a position that cannot occur, naming the reason.
    """
    board = list(board)
    if len(board) != 12:
        raise PositionError(f"the board has 12 squares, A4, B4, C4, A3 and so on to C1; got {len(board)}")
    if side not in (0, 1):
        raise PositionError(f"side is 0 (first player) or 1 (second player), not {side!r}")
    position = 0
    for square, letter in enumerate(board):
        if len(letter) != 1 or letter.upper() not in PIECES:
            raise PositionError(
                f"{letter!r} is not a piece: C, E, G, H, L or, of the second player, c, e, g, h, l; . is empty"
            )
        if letter != ".":
            position |= (PIECES.index(letter.upper()) + OPPONENT * letter.islower()) << (4 * square)
    held = [_hand(player, hands[player]) for player in (0, 1)]
    _require_counts(board, held, side)
    for player in (0, 1):
        for j, kind in enumerate("CEG"):
            position |= held[player][kind] << (HANDS + 6 * player + 2 * j)
    if side == 1:
        position = int(flipped(position))
    states = ruleset.zeros()
    exposed = judge(states, ruleset.params, position, side)
    if exposed and ruleset.parameters["legal_check"] and not states["terminated"][0]:
        raise PositionError(
            f"the {PLAYERS[1 - side]} player has just moved and left his lion to be caught, which legal_check forbids"
        )
    if states["terminated"][0]:
        states["end_reason"] = 1
    return states[0]


def _hand(player: int, hand: Mapping[str, int]) -> dict[str, int]:
    counts = dict.fromkeys("CEGL", 0)
    for kind, count in hand.items():
        if kind not in counts:
            raise PositionError(
                f"{kind!r} in the {PLAYERS[player]} player's hand: a hand holds C, E and G (a captured hen is a chick)"
            )
        if not isinstance(count, (int, np.integer)) or not 0 <= count <= (1 if kind == "L" else 2):
            raise PositionError(
                f"{count!r} {KINDS['CEGHL'.index(kind)]}s in the {PLAYERS[player]} player's hand: there are two in the game"
            )
        counts[kind] = int(count)
    return counts


def _require_counts(board: list[str], held: list[dict[str, int]], side: int) -> None:
    for player, letter in ((0, "L"), (1, "l")):
        if board.count(letter) > 1:
            raise PositionError(
                f"the {PLAYERS[player]} player has {board.count(letter)} lions on the board; he has one"
            )
        caught = held[1 - player]["L"]
        if board.count(letter) + caught != 1:
            where = "on the board and one in the opponent's hand" if caught else "on the board"
            raise PositionError(f"the {PLAYERS[player]} player has {board.count(letter)} lions {where}; he has one")
        if caught and player != side:
            raise PositionError(
                f"the {PLAYERS[player]} player's lion is caught, so he would be to move, but the {PLAYERS[side]} player is"
            )
    for kinds, name in (("CH", "chicks and hens"), ("E", "elephants"), ("G", "giraffes")):
        on_board = sum(letter.upper() in kinds for letter in board)
        in_hands = held[0][kinds[0]] + held[1][kinds[0]]
        if on_board + in_hands != 2:
            raise PositionError(
                f"the game has two {name}; this position has {on_board + in_hands}: {on_board} on the board, "
                f"{in_hands} in hand"
            )
