"""Positions of the reference game as the rules hold them."""

from __future__ import annotations

from collections import Counter

from asobiba.envs.animal_shogi.reference import ReferenceGame


def slow_position(board: dict, hands: list[Counter]) -> int:
    """A slow game's position (first player to move) as the rules hold it."""
    kinds = {"chick": 1, "elephant": 2, "giraffe": 3, "hen": 4, "lion": 5}
    position = 0
    for (file, rank), (player, kind) in board.items():
        position |= (kinds[kind] + 8 * player) << (4 * (3 * (3 - rank) + file))
    for player in (0, 1):
        for k, kind in enumerate(("chick", "elephant", "giraffe")):
            position |= hands[player][kind] << (48 + 6 * player + 2 * k)
    return position


def turned(slow: ReferenceGame) -> tuple[dict, list[Counter]]:
    """The position as the second player sees it, as if he were the first."""
    board = {(2 - x, 3 - y): (1 - player, kind) for (x, y), (player, kind) in slow.board.items()}
    return board, [slow.hands[1], slow.hands[0]]
