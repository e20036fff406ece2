"""A plain implementation of the rules of battleship: ships are sets of cells, and every placement is tested for the
mask.

`rules.py` plays the same game fast; a test plays both action by action. A cell is (row, column).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

Cell = tuple[int, int]
Ship = frozenset[Cell]


def near(a: Cell, b: Cell, corners: bool) -> bool:
    """Whether two cells touch: along an edge, or with `corners` at a corner too. A cell touches itself."""
    rows, columns = abs(a[0] - b[0]), abs(a[1] - b[1])
    return max(rows, columns) <= 1 if corners else rows + columns <= 1


class ReferenceGame:
    """A game in progress. `winner` is `None` while both fleets are afloat.

    Args:
        height, width: rows and columns.
        fleet: the ships' sizes, in the order in which they are placed.
        touching: "allowed", "corners" (ships may touch at corners only) or "never".
        hit_again: whether a hit earns another shot.
        sunk: the announcement of a sinking: "kind", "only" (that a ship sank) or "place".
    """

    def __init__(
        self,
        height: int = 10,
        width: int = 10,
        fleet: Sequence[int] = (5, 4, 3, 3, 2),
        touching: str = "allowed",
        hit_again: bool = False,
        sunk: str = "kind",
    ) -> None:
        self.height, self.width, self.sizes = height, width, tuple(fleet)
        self.touching, self.hit_again, self.sunk = touching, hit_again, sunk
        self.fleets: tuple[list[Ship], list[Ship]] = ([], [])
        self.shots: tuple[list[Cell], list[Cell]] = ([], [])
        self.told: tuple[dict[Cell, str], dict[Cell, str]] = ({}, {})
        """Reports to each side on the cells it shot at: miss, hit, sunk, or sunk and the number of the ship from 1."""
        self.mover = 0
        self.winner: int | None = None

    def ship(self, action: int, size: int) -> Ship | None:
        """The cells of a ship of this size: action `cell` puts it across, `cells + cell` down; `None` off the board.

        A ship of one cell lies across.
        """
        down, cell = divmod(action, self.height * self.width)
        row, column = divmod(cell, self.width)
        if down and size == 1:
            return None
        cells = [(row + k, column) if down else (row, column + k) for k in range(size)]
        last = cells[-1]
        return frozenset(cells) if last[0] < self.height and last[1] < self.width else None

    def apart(self, a: Ship, b: Ship) -> bool:
        """Whether two ships of one side may lie at these places."""
        if self.touching == "allowed":
            return not a & b
        return not any(near(x, y, self.touching == "never") for x, y in product(a, b))

    def can_be_completed(self, ships: list[Ship]) -> bool:
        """Whether the rest of the fleet finds room beside these ships."""
        if len(ships) == len(self.sizes):
            return True
        return any(self.can_be_completed([*ships, ship]) for ship in self.options(ships).values())

    def options(self, ships: list[Ship]) -> dict[int, Ship]:
        """The placements of the next ship beside these ships, by action."""
        size = self.sizes[len(ships)]
        found = {action: self.ship(action, size) for action in range(2 * self.height * self.width)}
        return {
            action: ship
            for action, ship in found.items()
            if ship is not None and all(self.apart(ship, other) for other in ships)
        }

    def actions(self) -> list[int]:
        """The legal actions of the side to move: placements that leave room for the rest, then cells not shot at."""
        if self.winner is not None:
            return []
        mine = self.fleets[self.mover]
        if len(mine) < len(self.sizes):
            return [action for action, ship in self.options(mine).items() if self.can_be_completed([*mine, ship])]
        cells = range(self.height * self.width)
        return [cell for cell in cells if divmod(cell, self.width) not in self.told[self.mover]]

    def play(self, action: int) -> None:
        """Places the next ship, or shoots."""
        mine = self.fleets[self.mover]
        if len(mine) < len(self.sizes):
            mine.append(self.options(mine)[action])
            if len(mine) == len(self.sizes):
                self.mover = 1 - self.mover
        elif not self._shoot(divmod(action, self.width)) or not self.hit_again:
            self.mover = 1 - self.mover

    def afloat(self, side: int) -> list[int]:
        """The numbers (from 1) of a side's ships that are not sunk."""
        hit = set(self.shots[1 - side])
        return [number for number, ship in enumerate(self.fleets[side], 1) if not ship <= hit]

    def _shoot(self, cell: Cell) -> bool:
        side, other = self.mover, 1 - self.mover
        self.shots[side].append(cell)
        number = next((k for k, ship in enumerate(self.fleets[other], 1) if cell in ship), None)
        if number is None:
            self.told[side][cell] = "miss"
            return False
        ship = self.fleets[other][number - 1]
        sinks = ship <= set(self.shots[side])
        self.told[side][cell] = "hit" if not sinks else "sunk" if self.sunk == "only" else f"sunk {number}"
        if sinks and self.sunk == "place":
            for part in ship:
                self.told[side][part] = f"sunk {number}"
        if not self.afloat(other):
            self.winner = side
        return True
