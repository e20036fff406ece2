"""Maps, and the `.tbsmap` text that stores them.

The text is a row of entries `KEY[value]` that end with `;`: `SIZEX`, `SIZEY`, `TURNLIMIT`, `HPTHRESHOLD`, `UNITNUMRED`,
`UNITNUMBLUE`, `AUTHOR`, `MAPCOM`, `UNIT[x,y,type,team,hit points,has moved]` and one `MAP[code,code,...]` for each row,
as in the maps that TUBSTAP came with. A unit that has moved cannot act in its side's first turn.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path

import numpy as np

from asobiba.core import PositionError
from asobiba.envs.tactics.units import COSTS, MOVES, NAMES, TERRAINS

SIZES = {8: 6, 10: 10, 14: 13}
"""Boards: cells to a side, and most units of a side on it."""
SIDES = ("red", "blue")
MOST_TURNS = 400
_NUMBERS = ("SIZEX", "SIZEY", "TURNLIMIT", "HPTHRESHOLD", "UNITNUMRED", "UNITNUMBLUE")
_TEXTS = ("AUTHOR", "MAPCOM")
_ENTRY = re.compile(r"([A-Z]+)\[([^\]]*)\]")
_WHOLE = re.compile(r"-?[0-9]{1,9}")
_CODES = tuple(str(code) for code in range(len(TERRAINS)))


class MapError(PositionError):
    """Raised for a map that cannot be read or played on."""


@dataclass(frozen=True)
class Unit:
    """A unit as it stands when the game begins; `x` to the right and `y` downwards, from 0."""

    x: int
    y: int
    kind: int
    side: int
    hp: int = 10
    moved: bool = False


@dataclass(frozen=True)
class Map:
    """A map. `terrain` holds a text of digits for each row, codes as in `units.yml`; `turn_limit` counts the turns of
    both sides, `hp_threshold` is the lead in hit points that does not yet win when they are over. A unit may begin on a
    cell that it cannot enter, as on published maps: a cannon on a mountain.

    Raises:
        MapError: with the reason.
    """

    name: str
    terrain: tuple[str, ...]
    units: tuple[Unit, ...]
    turn_limit: int = 30
    hp_threshold: int = 10
    author: str = ""
    comment: str = ""
    width: int = field(init=False)
    height: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "height", len(self.terrain))
        object.__setattr__(self, "width", len(self.terrain[0]) if self.terrain else 0)
        check(self)

    def of_side(self, side: int) -> list[Unit]:
        """The units of a side, in the map's order."""
        return [unit for unit in self.units if unit.side == side]

    @property
    def size(self) -> int:
        """The smallest board that holds the map."""
        most = max(len(self.of_side(side)) for side in (0, 1))
        return next(n for n, units in SIZES.items() if max(self.width, self.height) <= n and most <= units)

    def swapped(self) -> Map:
        """The same map with the colours of all units exchanged."""
        units = tuple(Unit(u.x, u.y, u.kind, 1 - u.side, u.hp, u.moved) for u in self.units)
        return Map(self.name, self.terrain, units, self.turn_limit, self.hp_threshold, self.author, self.comment)


def check(map_: Map) -> None:
    """Raises `MapError` unless a game can be played on the map."""

    def refuse(what: str) -> MapError:
        return MapError(f"map {map_.name!r}: {what}")

    largest = max(SIZES)
    if not (3 <= map_.width <= largest and 3 <= map_.height <= largest):
        raise refuse(f"it is {map_.width} x {map_.height} cells; expected 3 to {largest} each way")
    for y, row in enumerate(map_.terrain):
        if len(row) != map_.width:
            raise refuse(f"row {y} has {len(row)} cells, row 0 has {map_.width}; all rows must be of one length")
        for x, code in enumerate(row):
            if code not in _CODES:
                known = ", ".join(f"{k} {name}" for k, name in enumerate(TERRAINS))
                raise refuse(f"{code!r} at x {x}, y {y} is not a terrain; expected {known}")
            if (x in (0, map_.width - 1) or y in (0, map_.height - 1)) and code != "0":
                raise refuse(f"the outer ring must be no-entry (0); x {x}, y {y} is {TERRAINS[int(code)]}")
    for name, number in (("TURNLIMIT", map_.turn_limit), ("HPTHRESHOLD", map_.hp_threshold)):
        if not _is_whole(number):
            raise refuse(f"{name} is {number!r}; expected a whole number")
    if not 1 <= map_.turn_limit <= MOST_TURNS:
        raise refuse(f"TURNLIMIT is {map_.turn_limit}; expected 1 to {MOST_TURNS} turns, both sides counted")
    if not 0 <= map_.hp_threshold <= 1000:
        raise refuse(f"HPTHRESHOLD is {map_.hp_threshold}; expected 0 to 1000 hit points")
    for name, text in (("AUTHOR", map_.author), ("MAPCOM", map_.comment)):
        if any(sign in text for sign in ";]\r\n") or text != text.strip():
            raise refuse(f"{name} is {text!r}; expected text without ; ] and line breaks, and no blanks around it")
    standing: dict[tuple[int, int], int] = {}
    for number, unit in enumerate(map_.units):
        if not all(map(_is_whole, (unit.x, unit.y, unit.kind, unit.side, unit.hp))):
            raise refuse(f"unit {number} is {unit}; expected whole numbers")
        if not 0 <= unit.kind < len(NAMES):
            raise refuse(
                f"unit {number} is of unknown type {unit.kind}; expected 0 to {len(NAMES) - 1}: {', '.join(NAMES)}"
            )
        if unit.side not in (0, 1):
            raise refuse(f"unit {number} is of side {unit.side}; expected 0 (red) or 1 (blue)")
        where = f"unit {number} ({SIDES[unit.side]} {NAMES[unit.kind]}) at x {unit.x}, y {unit.y}"
        if not (0 <= unit.x < map_.width and 0 <= unit.y < map_.height):
            raise refuse(f"{where} is outside the {map_.width} x {map_.height} cells")
        ground = int(map_.terrain[unit.y][unit.x])
        if ground == 0:
            raise refuse(f"{where} stands on {TERRAINS[ground]}")
        if not 1 <= unit.hp <= 10:
            raise refuse(f"{where} has {unit.hp} hit points; expected 1 to 10")
        if (unit.x, unit.y) in standing:
            raise refuse(f"{where} stands where unit {standing[unit.x, unit.y]} does")
        standing[unit.x, unit.y] = number
    for side, name in enumerate(SIDES):
        count = len(map_.of_side(side))
        if not 1 <= count <= max(SIZES.values()):
            raise refuse(f"{name} has {count} units; expected 1 to {max(SIZES.values())}")


def _is_whole(number: object) -> bool:
    return isinstance(number, (int, np.integer)) and not isinstance(number, bool)


def read_map(text: str, name: str = "map") -> Map:
    """The map of a `.tbsmap` text.

    Raises:
        MapError: naming the entry that is missing, unknown or wrong.
    """

    def refuse(what: str) -> MapError:
        return MapError(f"map {name!r}: {what}")

    flat = text.replace("\r", "").replace("\n", "")
    numbers: dict[str, int] = {}
    texts: dict[str, str] = {}
    units: list[Unit] = []
    rows: list[list[str]] = []
    for entry in filter(None, (part.strip() for part in flat.split(";"))):
        found = _ENTRY.fullmatch(entry)
        if not found:
            raise refuse(f"{entry[:40]!r} is not an entry; expected KEY[value]; such as SIZEX[8];")
        key, value = found[1], found[2].strip()
        if key in _NUMBERS:
            if not _WHOLE.fullmatch(value):
                raise refuse(f"{key} is {value[:40]!r}; expected a whole number")
            if numbers.get(key, int(value)) != int(value):
                raise refuse(f"{key} is {numbers[key]} and {value}; expected one of them")
            numbers[key] = int(value)
        elif key in _TEXTS:
            texts[key] = value
        elif key == "UNIT":
            units.append(_unit(value, len(units), refuse))
        elif key == "MAP":
            rows.append([code.strip() for code in value.split(",")])
        else:
            raise refuse(f"{key!r} is not a key; expected one of {', '.join((*_NUMBERS, *_TEXTS, 'UNIT', 'MAP'))}")
    missing = [key for key in _NUMBERS if key not in numbers]
    if missing:
        raise refuse(f"it lacks {', '.join(missing)}")
    if len(rows) != numbers["SIZEY"]:
        raise refuse(f"it has {len(rows)} rows MAP[...], SIZEY says {numbers['SIZEY']}")
    for y, row in enumerate(rows):
        if len(row) != numbers["SIZEX"]:
            raise refuse(
                f"row {y}, MAP[{','.join(row)}], has {len(row)} cells, SIZEX says {numbers['SIZEX']}; "
                "expected terrain codes with commas between them"
            )
        for x, code in enumerate(row):
            if len(code) != 1:
                raise refuse(f"{code!r} at x {x}, y {y} is not a terrain code; expected one digit")
    for side, key in enumerate(("UNITNUMRED", "UNITNUMBLUE")):
        count = sum(unit.side == side for unit in units)
        if count != numbers[key]:
            raise refuse(f"it has {count} {SIDES[side]} units, {key} declares {numbers[key]}")
    return Map(
        name, tuple(map("".join, rows)), tuple(units), numbers["TURNLIMIT"], numbers["HPTHRESHOLD"],
        texts.get("AUTHOR", ""), texts.get("MAPCOM", ""),
    )  # fmt: skip


def _unit(value: str, number: int, refuse) -> Unit:
    parts = [part.strip() for part in value.split(",")]
    if len(parts) != 6:
        raise refuse(f"UNIT[{value}] has {len(parts)} parts; expected x,y,type,team,hit points,has moved")
    kind = parts.pop(2)
    if kind not in NAMES:
        raise refuse(f"UNIT[{value}] (unit {number}) is of unknown type {kind!r}; expected {', '.join(NAMES)}")
    if not all(map(_WHOLE.fullmatch, parts)):
        raise refuse(f"UNIT[{value}]: all parts but the type are whole numbers")
    x, y, side, hp, moved = map(int, parts)
    if side not in (0, 1) or moved not in (0, 1):
        raise refuse(f"UNIT[{value}]: the team is 0 (red) or 1 (blue), has moved is 0 or 1")
    return Unit(x, y, NAMES.index(kind), side, hp, bool(moved))


def write_map(map_: Map) -> str:
    """The map as `.tbsmap` text."""
    entries = [
        f"SIZEX[{map_.width}];SIZEY[{map_.height}];",
        f"TURNLIMIT[{map_.turn_limit}];HPTHRESHOLD[{map_.hp_threshold}];",
        f"UNITNUMRED[{len(map_.of_side(0))}];UNITNUMBLUE[{len(map_.of_side(1))}];",
        f"AUTHOR[{map_.author}];",
        f"MAPCOM[{map_.comment}];",
        *(f"UNIT[{u.x},{u.y},{NAMES[u.kind]},{u.side},{u.hp},{int(u.moved)}];" for u in map_.units),
        *(f"MAP[{','.join(row)}];" for row in map_.terrain),
    ]
    return "\n".join(entries) + "\n"


def _decoded(data: bytes) -> str:
    """The text of a file; the published maps have Japanese comments in Shift JIS."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp932", errors="replace")


def load_map(name: str) -> Map:
    """A map that comes with the game, by its name, or the file of a path that ends with `.tbsmap`.

    Raises:
        MapError: where there is none of that name.
    """
    if name.endswith(".tbsmap"):
        path = Path(name)
        if not path.is_file():
            raise MapError(f"there is no map file {name!r}")
        return read_map(_decoded(path.read_bytes()), path.stem)
    known = shipped_maps()
    if name not in known:
        raise MapError(f"no map is called {name!r}; there are: {', '.join(known)}, and paths of .tbsmap files")
    return known[name]


@cache
def shipped_maps() -> dict[str, Map]:
    """The maps that come with the game, by name, the smallest first."""
    found = []
    for file in (files("asobiba.envs.tactics") / "maps").iterdir():
        if file.name.endswith(".tbsmap"):
            found.append(read_map(file.read_text(encoding="utf-8"), file.name.removesuffix(".tbsmap")))
    found.sort(key=lambda m: (m.size, m.width * m.height, len(m.units), m.name))
    return {map_.name: map_ for map_ in found}


def reachable(map_: Map, unit: Unit) -> set[tuple[int, int]]:
    """The cells that a unit could reach in time on an empty map."""
    costs = COSTS[MOVES[unit.kind]]
    seen, waiting = {(unit.x, unit.y)}, deque([(unit.x, unit.y)])
    while waiting:
        for cell in _beside(*waiting.popleft()):
            if cell not in seen and costs[int(map_.terrain[cell[1]][cell[0]])] > 0:
                seen.add(cell)
                waiting.append(cell)
    return seen


def _beside(x: int, y: int) -> Iterator[tuple[int, int]]:
    yield from ((x, y - 1), (x + 1, y), (x, y + 1), (x - 1, y))
