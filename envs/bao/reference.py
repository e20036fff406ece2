"""A plain implementation of the rules of Bao, after the paper: a list of seeds per hole, sown one by one.

`rules.py` plays the same game fast, with a board of eight holes in one word and a whole sowing in one addition; a test
plays both move by move. Holes are numbered clockwise from the first player's leftmost: his are the lower half.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from asobiba.envs.bao.sowing import after_move, is_endless


class ReferenceGame:
    """A game in progress. `result` is `None`, or (winner or `None` for a draw, reason).

    Args:
        board: seeds per hole.
        endless: the effect of an endless move: "illegal", "loses" or "draws".
        repetition: "off", "draw", "first_loses" or "second_loses": the result when a position stands for the
            `occurrences`-th time.
    """

    def __init__(
        self, board: Sequence[int], endless: str = "illegal", repetition: str = "draw", occurrences: int = 3
    ) -> None:
        self.board = list(board)
        self.stores = [0, 0]
        self.mover = 0
        self.endless, self.repetition, self.occurrences = endless, repetition, occurrences
        self.seen: Counter[tuple[tuple[int, ...], int]] = Counter()
        self.last: tuple[int, int | None, int] | None = None
        """Of the last move: the hole it began from, where its last seed fell (`None`: it never ends), seeds captured."""
        self.result: tuple[int | None, str] | None = None
        self._begin_turn()

    def row(self, player: int) -> range:
        """The holes of a player's row."""
        half = len(self.board) // 2
        return range(player * half, (player + 1) * half)

    def moves(self) -> list[int]:
        """The holes that the mover may sow from: those of his row that hold seeds and, where that is asked, whose sowing
        ends."""
        if self.result is not None:
            return []
        holes = [hole for hole in self.row(self.mover) if self.board[hole] > 0]
        if self.endless == "illegal":
            holes = [hole for hole in holes if not is_endless(self.board, hole)]
        return holes

    def play(self, hole: int) -> None:
        """Sows from a hole, captures the seeds opposite the last one, and begins the other player's turn."""
        mover = self.mover
        self.mover = 1 - mover
        if is_endless(self.board, hole):
            self.last = hole, None, 0
            self.result = (1 - mover if self.endless == "loses" else None), "endless"
            return
        self.board, end, captured = after_move(self.board, hole)
        self.stores[mover] += captured
        self.last = hole, end, captured
        self._begin_turn()

    def times(self) -> int:
        """Number of occurrences of this position (board and player to move), this time included."""
        return self.seen[tuple(self.board), self.mover]

    def _begin_turn(self) -> None:
        if any(sum(self.board[hole] for hole in self.row(player)) == 0 for player in (0, 1)):
            self._count("a row is empty")
            return
        if self.repetition != "off":
            self.seen[tuple(self.board), self.mover] += 1
            if self.times() >= self.occurrences:
                losers = {"first_loses": 0, "second_loses": 1}
                loser = losers.get(self.repetition)
                self.result = (None if loser is None else 1 - loser), "repetition"
                return
        if not self.moves():
            self._count("blocked")

    def _count(self, reason: str) -> None:
        """Each seed left goes to the owner of the row it lies in; more seeds win."""
        for player in (0, 1):
            self.stores[player] += sum(self.board[hole] for hole in self.row(player))
        self.board = [0] * len(self.board)
        first, second = self.stores
        self.result = (None if first == second else int(second > first)), reason
