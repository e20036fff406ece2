"""Animal shogi (どうぶつしょうぎ), the children's shogi on 3x4 squares.

## Description

Each side has a lion, an elephant, a giraffe and a chick. The lion moves one square in any direction, the elephant one
diagonally, the giraffe one along a file or rank, the chick one forward. A chick that moves to the far rank becomes a
hen, which moves like the lion but not diagonally backwards. A captured piece goes to the captor's hand (a hen as a
chick). Instead of moving, a player may drop a piece from his hand on any empty square; a drop may give mate, a chick
may be dropped on a file that has one, and a chick dropped on the far rank stays a chick. A player wins by catching the
lion, or by bringing his own lion to the far rank (try), unless it is caught in the next move. Squares have the names
that players use: files A to C from the first player's left, ranks 1 (the second player's home) to 4.

## Action Space

`Discrete(132)`, from the mover's side: square `k` is file `k % 3` and rank `k // 3` counted from the mover's left
corner. `12 * direction + square` moves the piece on `square`; directions are forward left, forward, forward right,
left, right, back left, back, back right. `96 + 12 * kind + square` drops a chick, elephant or giraffe.

## Observation Space

A flat `int8` vector of zeros and ones from the viewer's side:

* `pieces` (10 * (1 + history), 4, 3): planes of the viewer's chick, elephant, giraffe, hen, lion, then the opponent's;
  first the present position, then the one a move before, and so on; rank 0 is the viewer's home rank.
* `hands` (12 * (1 + history),): at least one and at least two chicks, elephants, giraffes in the viewer's hand, then in
  the opponent's; ordered by time like `pieces`.
* `repeated` (1,): the position has stood before. `first` (1,): the viewer is the first player. `to_move` (1,): the
  viewer is to move.

## Rewards

At the end +1 for the winner and -1 for the loser, 0 for both in a draw, and 0 before.

## Starting State

`gle/1c1/1C1/ELG`: each side's home rank is elephant, lion, giraffe from its left; the chicks stand in front of the
lions and face each other.

## State

* `position` (int64): the position from the side of the player to move, in bits: a square is 4 bits, square 0 (his left
  corner) the lowest; 0 empty, 1 to 5 his chick, elephant, giraffe, hen, lion, 9 to 13 the opponent's. From bit 48 on six
  counts of 2 bits: his chicks, elephants and giraffes in hand, then the opponent's.
* `occurrences` (uint8): how often this position has stood, this time included.
* `outcome` (uint8): 0 undecided, 1 a lion was taken, 2 try, 3 repetition, 4 no move.
* `keys` (int64, 2 x (max_steps // 2 + 1)): the positions of the game so far, as `position` with the player to move in bit
  60: after an even number of moves in row 0, after an odd number in row 1, in order; 0 where none is yet.

## Episode End

* A lion is caught: its player loses.
* Try: a lion reaches the far rank and cannot be caught in the next move: its player wins at once. If it can be caught
  and is not, its player wins after that move. With `try_rule="next_move"` every try is decided after the next move
  only, as in the published analysis; the winner is the same.
* The same position (board, hands, player to move) stands for the third time: a draw. Positions are compared exactly.
* A player who has no move loses. This cannot happen from the start unless `legal_check` is set, where it is mate.
* Truncation after `max_steps` moves.

## Arguments

`legal_check=False`: a move may leave the lion where it can be caught; `True` masks such moves.
`try_rule="at_once"`: or `"next_move"`. `history=0`: earlier positions in the observation, 0 to 16. `max_steps=256`: 1 to
4096 (perfect play lasts up to 173 moves).

## References

* Madoka Kitao (rules) and Maiko Fujita (design), Dobutsu Shogi, 2008; rules at http://www.doubutsushogi.jp.
* Tetsuro Tanaka, "An analysis of a board game 'Doubutsu Shogi'" (in Japanese), IPSJ SIG Notes 2009-GI-22 No. 3: the
  game is lost for the first player in 78 moves.
* Hiroshi Gomi, "How to write Doubutsu Shogi, gently" (in Japanese), 2010: names of squares, the ladder of agents.

## Version History

* v0 (2026-11-21): first version.
"""

from __future__ import annotations

import numpy as np

from asobiba.api import expose
from asobiba.core import Game, GameParameterError, Layout, Ruleset
from asobiba.core.symmetry import Symmetry, observation_map
from asobiba.envs.animal_shogi import rules
from asobiba.envs.animal_shogi.board import ACTIONS, BOARD_BITS, SQUARES

TRY_RULES = ("at_once", "next_move")


def layout(legal_check: bool = False, try_rule: str = "at_once", history: int = 0, max_steps: int = 256) -> Layout:
    """The sizes of a game with these parameters.

    Raises:
        GameParameterError: for another `try_rule`, or numbers out of range.
    """
    if not isinstance(legal_check, (bool, np.bool_)):
        raise GameParameterError(f"legal_check is True or False, not {legal_check!r}")
    if try_rule not in TRY_RULES:
        raise GameParameterError(f"try_rule is one of {', '.join(TRY_RULES)}, not {try_rule!r}")
    for name, value, low, high in (("history", history, 0, 16), ("max_steps", max_steps, 1, 4096)):
        if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or not low <= value <= high:
            raise GameParameterError(f"{name} is a whole number from {low} to {high}, not {value!r}")
    positions = history + 1
    return Layout(
        state=[
            ("position", np.int64),
            ("occurrences", np.uint8),
            ("outcome", np.uint8),
            ("keys", np.int64, (2, max_steps // 2 + 1)),
        ],
        parameters={
            "legal_check": np.int8(legal_check),
            "try_at_once": np.int8(try_rule == "at_once"),
            "history": np.int32(history),
        },
        actions=ACTIONS,
        observation={
            "pieces": (10 * positions, 4, 3),
            "hands": (12 * positions,),
            "repeated": (1,),
            "first": (1,),
            "to_move": (1,),
        },
        max_steps=max_steps,
    )


def symmetries(ruleset: Ruleset) -> list[Symmetry]:
    """The board seen in a mirror: left and right exchanged."""
    squares = np.arange(SQUARES).reshape(-1, 3)[:, ::-1].ravel()
    directions = (2, 1, 0, 4, 3, 7, 6, 5)  # as the action space numbers them
    moves = [k * SQUARES + squares for k in (*directions, *range(len(directions), ACTIONS // SQUARES))]
    observation = observation_map(ruleset.layout.observation, ("pieces",), squares)
    return [Symmetry(observation, np.concatenate(moves), mirror)]


def mirror(state: np.void) -> None:
    """Exchanges left and right in the record of a start."""
    position = int(state["position"])
    squares = [position >> 4 * square & 15 for square in range(SQUARES)]
    turned = sum(squares[square // 3 * 3 + 2 - square % 3] << 4 * square for square in range(SQUARES))
    state["keys"][0, 0] += turned - (position & BOARD_BITS)
    state["position"] = position & ~BOARD_BITS | turned


GAME = Game(
    name="animal_shogi",
    version=0,
    title="Animal shogi",
    layout=layout,
    rules=rules,
    variants={"next_move": {"try_rule": "next_move"}, "legal_check": {"legal_check": True}},
    notation="asobiba.envs.animal_shogi.notation",
    draw="asobiba.envs.animal_shogi.draw",
    symmetries=symmetries,
    evidence="perft and random games against an independent slow implementation; the published analysis",
)
env, raw_env, parallel_env = expose(GAME)
