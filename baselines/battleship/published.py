"""The tables of the paper, as far as its print is legible, and the games that reproduce them.

Source: "Evaluation of Attacking and Placing Strategies in a Classic Battleship Game", Tables 1 to 5 and Figure 6.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

# First player, second player: wins of the first player, hit rate of the first, of the second (percent; None: illegible).
TABLE_1: dict[tuple[str, str], tuple[float | None, float | None, float | None]] = {
    ("r", "r"): (52.31, 20.814, 20.641),
    ("rnb", "rnb"): (None, None, None),
    ("rnb", "r"): (94.61, None, None),
    ("r", "rnb"): (6.26, 18.227, 30.953),
    ("cb", "cb"): (51.54, 36.683, 36.766),
    ("cb", "rnb"): (70.62, 36.430, 32.001),
    ("rnb", "cb"): (31.54, 31.863, None),
    ("mp", "mp"): (51.67, 38.171, 38.250),
    ("mp", "cb"): (56.46, 37.971, 36.897),
    ("mp", "rnb"): (74.44, 37.662, 32.089),
    ("cb", "mp"): (46.38, 36.835, 38.123),
    ("rnb", "mp"): (27.49, 31.999, 37.723),
    ("la", "la"): (51.67, 38.178, 38.257),
    ("la", "mp"): (51.71, 38.177, 38.250),
    ("la", "cb"): (56.47, 37.980, 36.910),
    ("la", "rnb"): (74.56, 37.710, 32.091),
    ("mp", "la"): (51.63, 38.172, 38.257),
    ("cb", "la"): (46.39, 36.843, 38.118),
    ("rnb", "la"): (None, 31.969, None),
}
# Of these, the pairings that are played again with the checkerboard's other reading.
CHECKERBOARD_PAIRS = tuple(pair for pair in TABLE_1 if {"cb", "mp"} & set(pair) and "la" not in pair)
# Rectangle: average wins as first player, as second player.
TABLE_2: dict[str, tuple[float, float | None]] = {
    "2x8": (51.47, 47.98),
    "2x9": (52.08, None),
    "2x10": (52.32, None),
    "3x6": (50.58, 47.41),
    "3x7": (51.81, 48.47),
    "4x5": (51.69, 48.48),
    "4x6": (51.71, 48.42),
}
FIGURE_6 = tuple(range(10, 90, 10))
PLACEMENTS = ("r", "ed1", "ed2", "pk2x10")


def apart(placement: str) -> str:
    """The name of a placement strategy with touching forbidden."""
    return f"pksp{placement[2:]}" if placement.startswith("pk") else f"{placement}sp"


@dataclass(frozen=True)
class Cell:
    """One pairing: the table it is in, and both agents as text."""

    table: str
    first: str
    second: str

    @property
    def key(self) -> str:
        return f"{self.table}: {self.first} - {self.second}"


LARGEST_FIRST = "largest first"


def largest_first(pair: tuple[str, str]) -> Cell:
    """A pairing of Table 1 in which CB and MP look for the largest ship first."""
    return Cell(LARGEST_FIRST, *(f"{name}:largest_first=true" if name in ("cb", "mp") else name for name in pair))


def _with(attack: str, placement: str) -> str:
    return f"{attack}:placement={placement}"


TABLES = ("table 1", LARGEST_FIRST, "figure 6", "table 2", "table 3", "table 4", "table 5")


def cells(tables: Collection[str] = TABLES) -> Iterator[Cell]:
    """All pairings of these tables, cheap ones of each table first."""
    plain = {Cell("table 1", *pair) for pair in CHECKERBOARD_PAIRS} if LARGEST_FIRST in tables else set()
    return (cell for cell in _cells() if cell.table in tables or cell in plain)


def _cells() -> Iterator[Cell]:
    for first, second in TABLE_1:
        yield Cell("table 1", first, second)
    yield from map(largest_first, CHECKERBOARD_PAIRS)
    for x in FIGURE_6:
        yield Cell("figure 6", f"mp:x={x}", "cb")
        yield Cell("figure 6", "cb", f"mp:x={x}")
    for first in TABLE_2:
        for second in TABLE_2:
            yield Cell("table 2", _with("mp", f"pk{first}"), _with("mp", f"pk{second}"))
    for first in PLACEMENTS:
        for second in PLACEMENTS:
            yield Cell("table 3", _with("mp", first), _with("mp", second))
    for table, attack in (("table 4", "mp"), ("table 5", "rnb")):
        for placement in PLACEMENTS:
            yield Cell(table, _with(attack, placement), _with(attack, apart(placement)))
            yield Cell(table, _with(attack, apart(placement)), _with(attack, placement))
