"""A plain implementation of the rules of animal shogi: dictionaries of squares and pieces, no bits, no tables.

`rules.py` plays the same game fast; a test plays both move by move. Nothing is shared with it, so that an error in one
shows against the other. Squares are (file, rank): file 0 to 2 is A to C, rank 0 to 3 is 1 to 4. Player 0 begins on rank 4
and moves up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator

Square = tuple[int, int]
Move = tuple
"""`("move", origin, target)` or `("drop", kind, target)`."""

ORTHOGONAL = ((0, -1), (0, 1), (-1, 0), (1, 0))
DIAGONAL = ((-1, -1), (1, -1), (-1, 1), (1, 1))
MOVES = {
    "chick": ((0, -1),),
    "elephant": DIAGONAL,
    "giraffe": ORTHOGONAL,
    "hen": (*ORTHOGONAL, (-1, -1), (1, -1)),
    "lion": (*ORTHOGONAL, *DIAGONAL),
}


class ReferenceGame:
    """A game in progress. `result` is None, or (winner or None for a draw, reason)."""

    def __init__(self, try_at_once: bool = True, legal_check: bool = False):
        self.board: dict[Square, tuple[int, str]] = {
            (0, 3): (0, "elephant"), (1, 3): (0, "lion"), (2, 3): (0, "giraffe"), (1, 2): (0, "chick"),
            (0, 0): (1, "giraffe"), (1, 0): (1, "lion"), (2, 0): (1, "elephant"), (1, 1): (1, "chick"),
        }  # fmt: skip
        self.hands: list[Counter[str]] = [Counter(), Counter()]
        self.mover = 0
        self.try_at_once, self.legal_check = try_at_once, legal_check
        self.seen: Counter = Counter([self.position()])
        self.result: tuple[int | None, str] | None = None

    def position(self) -> Hashable:
        """Key of the position for repetitions."""
        held = tuple(frozenset((+hand).items()) for hand in self.hands)
        return frozenset(self.board.items()), held, self.mover

    def copy(self) -> ReferenceGame:
        other = object.__new__(ReferenceGame)
        other.__dict__ = {
            **self.__dict__,
            "board": dict(self.board),
            "hands": [Counter(h) for h in self.hands],
            "seen": Counter(self.seen),
        }
        return other

    def reaches(self, square: Square) -> Iterator[Square]:
        """Squares that the piece on a square could move to if they were free."""
        player, kind = self.board[square]
        for dx, dy in MOVES[kind]:
            x, y = square[0] + dx, square[1] + (dy if player == 0 else -dy)
            if 0 <= x < 3 and 0 <= y < 4:
                yield x, y

    def attacked(self, square: Square, by: int) -> bool:
        """Whether a piece of a player could capture on a square."""
        return any(owner == by and square in self.reaches(at) for at, (owner, _) in self.board.items())

    def lion_of(self, player: int) -> Square | None:
        """Square of a player's lion; `None` once it is caught."""
        return next((at for at, piece in self.board.items() if piece == (player, "lion")), None)

    def moves(self) -> list[Move]:
        """("move", origin, target) and ("drop", kind, target) for the player to move."""
        if self.result is not None:
            return []
        found: list[Move] = []
        for at, (owner, _) in self.board.items():
            if owner == self.mover:
                for to in self.reaches(at):
                    if to not in self.board or self.board[to][0] != self.mover:
                        found.append(("move", at, to))
        for kind, count in self.hands[self.mover].items():
            if count:
                found += [("drop", kind, (x, y)) for x in range(3) for y in range(4) if (x, y) not in self.board]
        if self.legal_check:
            found = [move for move in found if self.leaves_lion_safe(move)]
        return found

    def leaves_lion_safe(self, move: Move) -> bool:
        """Whether the mover's lion cannot be caught after this move."""
        board, hands = dict(self.board), [Counter(h) for h in self.hands]
        self._place(move)
        lion = self.lion_of(self.mover)
        safe = lion is not None and not self.attacked(lion, 1 - self.mover)
        self.board, self.hands = board, hands
        return safe

    def _place(self, move: Move) -> str | None:
        """Carries out a move; returns the kind taken."""
        sort, what, to = move
        if sort == "drop":
            self.hands[self.mover][what] -= 1
            self.board[to] = (self.mover, what)
            return None
        taken = self.board[to][1] if to in self.board else None
        if taken is not None and taken != "lion":
            self.hands[self.mover]["chick" if taken == "hen" else taken] += 1
        _, kind = self.board.pop(what)
        if kind == "chick" and to[1] == (0 if self.mover == 0 else 3):
            kind = "hen"
        self.board[to] = (self.mover, kind)
        return taken

    def play(self, move: Move) -> None:
        """Plays a move and sets `result` if it ends the game: a caught lion, a try, a repetition, or no move."""
        mover, other = self.mover, 1 - self.mover
        home = {0: 3, 1: 0}
        lion = self.lion_of(other)
        intruder = lion is not None and lion[1] == home[mover]
        taken = self._place(move)
        self.mover = other
        self.seen[self.position()] += 1
        mine = self.lion_of(mover)
        if taken == "lion":
            self.result = (mover, "lion")
        elif intruder:
            self.result = (other, "try")  # the lion that had come to the mover's home rank was not caught
        elif self.try_at_once and move[0] == "move" and mine is not None and mine == move[2] and mine[1] == home[other]:
            if not self.attacked(mine, other):
                self.result = (mover, "try")
        if self.result is None and self.seen[self.position()] == 3:
            self.result = (None, "repetition")
        if self.result is None and not self.moves():
            self.result = (mover, "no move")


def perft(game: ReferenceGame, depth: int) -> int:
    """Sequences of `depth` moves; finished games have none."""
    if depth == 0:
        return 1
    total = 0
    for move in game.moves():
        if depth == 1:
            total += 1
            continue
        after = game.copy()
        after.play(move)
        total += perft(after, depth - 1)
    return total
