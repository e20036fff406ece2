"""A plain implementation of the rules of Gogo, to read beside the paper: one list of stones, no stored results.

Slow on purpose and independent of the kernels: it shares only the parameters with them, and the tests play both.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from asobiba.envs.gogo.layout import chosen

DIRECTIONS = ((0, 1), (1, 0), (1, 1), (-1, 1))
EMPTY, OFF = ".", "#"
STONES = "xo"


@dataclass
class Board:
    """A game so far. `rule` holds the parameters of the game by name (see the package)."""

    rule: dict[str, Any]
    cells: dict[tuple[int, int], str] = field(default_factory=dict)
    captured: list[int] = field(default_factory=lambda: [0, 0])
    moves: int = 0
    result: int | None = None
    """None while the game goes on, then 1, -1 or 0 for the first player."""
    why: str = ""

    @classmethod
    def of(cls, preset: str = "gogo", **changes: Any) -> Board:
        """An empty board of a preset with some parameters changed."""
        return cls(chosen(preset, **{**dict.fromkeys(chosen_names(), None), **changes}))

    @property
    def size(self) -> int:
        return int(self.rule["board_size"])

    @property
    def mover(self) -> int:
        return self.moves % 2

    def at(self, row: int, col: int) -> str:
        """`x`, `o`, `.` or, beyond the edge, `#`."""
        if not (0 <= row < self.size and 0 <= col < self.size):
            return OFF
        return self.cells.get((row, col), EMPTY)

    def points(self) -> Iterator[tuple[int, int]]:
        for row in range(self.size):
            for col in range(self.size):
                yield row, col

    def ray(self, row: int, col: int, dr: int, dc: int, reach: range) -> str:
        """The squares at these distances in a direction."""
        return "".join(self.at(row + k * dr, col + k * dc) for k in reach)

    def enclosed(self, row: int, col: int, player: int) -> list[tuple[int, int]]:
        """The stones that a stone of `player` here captures."""
        if not self.rule["captures"]:
            return []
        me, you = STONES[player], STONES[1 - player]
        found = []
        for dr, dc in DIRECTIONS:
            for sign in (1, -1):
                if self.ray(row, col, sign * dr, sign * dc, range(1, 4)) == you + you + me:
                    found += [(row + sign * k * dr, col + sign * k * dc) for k in (1, 2)]
        return found

    def threes(self, row: int, col: int, player: int) -> int:
        """The number of directions in which a stone of `player` here makes an open three."""
        me = STONES[player]
        shapes = [f".{me * 3}."]
        if self.rule["double_three"] == "broken":
            shapes += [f".{me}{me}.{me}.", f".{me}.{me}{me}."]
        count = 0
        for dr, dc in DIRECTIONS:
            line = self.ray(row, col, dr, dc, range(-5, 0)) + me + self.ray(row, col, dr, dc, range(1, 6))
            count += any(
                line[k : k + len(shape)] == shape and k <= 5 < k + len(shape) and shape[5 - k] == me
                for shape in shapes
                for k in range(6)
            )
        return count

    def run(self, row: int, col: int, dr: int, dc: int) -> int:
        """Number of stones of one colour side by side here."""
        stone, length = self.at(row, col), 1
        for sign in (1, -1):
            k = 1
            while self.at(row + sign * k * dr, col + sign * k * dc) == stone:
                length, k = length + 1, k + 1
        return length

    def is_five(self, length: int) -> bool:
        return length == 5 or (length > 5 and self.rule["overline"] == "wins")

    def fives(self, player: int) -> set[tuple[int, int]]:
        """The player's stones that stand in a five."""
        return {
            (row, col)
            for (row, col), stone in self.cells.items()
            if stone == STONES[player] and any(self.is_five(self.run(row, col, *d)) for d in DIRECTIONS)
        }

    def makes_five(self, row: int, col: int, player: int) -> bool:
        self.cells[row, col] = STONES[player]
        found = any(self.is_five(self.run(row, col, *d)) for d in DIRECTIONS)
        del self.cells[row, col]
        return found

    def forbidden(self, row: int, col: int, player: int) -> bool:
        """Whether the double-three forbids this empty point."""
        if self.rule["double_three"] == "allowed" or self.threes(row, col, player) < 2:
            return False
        lifts = self.rule["lifts_ban"].split("+")
        if "capture" in lifts and self.enclosed(row, col, player):
            return False
        if "five" in lifts and self.makes_five(row, col, player):
            return False
        return not ("block" in lifts and self.makes_five(row, col, 1 - player))

    def opening_allows(self, row: int, col: int) -> bool:
        middle = self.size // 2
        distance = max(abs(row - middle), abs(col - middle))
        if self.rule["opening"] == "free":
            return True
        if self.moves == 0:
            return distance == 0
        return not (self.moves == 2 and self.rule["opening"] == "far" and distance < 3)

    def allowed(self, row: int, col: int, player: int) -> bool:
        return self.at(row, col) == EMPTY and not self.forbidden(row, col, player)

    def legal(self) -> set[tuple[int, int]]:
        """The points that the player to move may play."""
        if self.result is not None:
            return set()
        return {q for q in self.points() if self.allowed(*q, self.mover) and self.opening_allows(*q)}

    def play(self, row: int, col: int) -> None:
        """Plays one move, and decides the game if it ends."""
        me = self.mover
        you = 1 - me
        taken = self.enclosed(row, col, me)
        self.cells[row, col] = STONES[me]
        for point in taken:
            del self.cells[point]
        self.captured[me] += len(taken)
        self.moves += 1
        win = {0: 1, 1: -1}
        goal = self.rule["capture_goal"] if self.rule["captures"] else 0
        if goal and self.captured[me] >= goal:
            if not self.fives(you) or self.rule["against_five"] == "captor":
                self.end(win[me], "captures")
            elif self.rule["against_five"] == "five":
                self.end(win[you], "five")
            else:
                self.end(0, "both")
        elif self.fives(you):
            self.end(win[you], "five")
        elif self.fives(me) and (self.rule["five"] == "at_once" or not self.rule["captures"]):
            self.end(win[me], "five")
        elif not any(self.allowed(*q, you) for q in self.points()):
            if self.fives(me):
                self.end(win[me], "five")
            elif self.rule["no_move"] == "loses":
                self.end(win[me], "no move")
            else:
                self.end(0, "no move")
        elif self.fives(me) and self.rule["five"] == "perfect" and self.perfect(me):
            self.end(win[me], "five")

    def perfect(self, owner: int) -> bool:
        """Whether no legal capture of the opponent breaks every five of `owner` or reaches the goal."""
        other, goal = 1 - owner, self.rule["capture_goal"]
        for point in [q for q in self.points() if self.allowed(*q, other)]:
            taken = self.enclosed(*point, other)
            if not taken:
                continue
            if goal and self.captured[other] + len(taken) >= goal:
                return False
            after = Board(self.rule, dict(self.cells))
            after.cells[point] = STONES[other]
            for stone in taken:
                del after.cells[stone]
            if not after.fives(owner):
                return False
        return True

    def end(self, result: int, why: str) -> None:
        self.result, self.why = result, why


def chosen_names() -> list[str]:
    """The names of the rule's parameters."""
    from asobiba.envs.gogo.layout import PRESETS

    return list(PRESETS["gogo"])
