"""The sizes and the parameter record of both games."""

from __future__ import annotations

from collections.abc import Hashable
from functools import lru_cache
from pathlib import Path

import numpy as np

from asobiba.core import GameParameterError, Layout
from asobiba.envs.tactics import bits
from asobiba.envs.tactics.generator import generate_map
from asobiba.envs.tactics.maps import SIZES, Map, load_map, shipped_maps
from asobiba.envs.tactics.rules import GROUNDS, LEADS, TURNS
from asobiba.envs.tactics.units import CLASSES, COSTS, KINDS, OFFSETS, STARS

MOST_MAPS = 32
"""Maps of a ruleset; the room in the parameter record is always for this many, so that all rulesets of a board share
their compiled code."""
_GENERATED = {8: (8, 6), 10: (10, 6), 14: (14, 10)}
"""Width and units of a side of the maps that `map="generated"` draws, for each board."""


def choose_maps(map: str, size: int, map_seed: int) -> tuple[Map, ...]:
    """The maps that a game's parameters name.

    Raises:
        GameParameterError: for a board that does not exist or does not hold the map.
        MapError: for a map that does not exist or cannot be read.
    """
    if not isinstance(size, int) or (size not in SIZES and size != 0):
        raise GameParameterError(
            f"size is one of {', '.join(_SIZES)}, or 0 for the smallest that holds the map, not {size!r}"
        )
    if not isinstance(map, str):
        raise GameParameterError(f"map is the name of a map, a path, 'all' or 'generated', not {map!r}")
    if not isinstance(map_seed, (int, np.integer)) or map_seed < 0:
        raise GameParameterError(f"map_seed is a whole number from 0, not {map_seed!r}")
    if map == "all":
        return tuple(m for m in shipped_maps().values() if m.size == (size or 8))
    if map == "generated":
        width, units = _GENERATED[size or 8]
        return tuple(generate_map(map_seed * MOST_MAPS + k, width, width, units) for k in range(MOST_MAPS))
    chosen = load_map(map)
    if size and chosen.size > size:
        raise GameParameterError(
            f"map {map!r} needs the board of size {chosen.size}: it has {chosen.width} x {chosen.height} cells and "
            f"{len(chosen.of_side(0))} against {len(chosen.of_side(1))} units; size is {size}"
        )
    return (chosen,)


_SIZES = [str(size) for size in SIZES]


def _parameters(map: str, size: int, map_seed: int) -> tuple[tuple[Map, ...], int, dict]:
    file = Path(map) if isinstance(map, str) and map.endswith(".tbsmap") else None
    return _parameters_of(map, size, map_seed, file.stat().st_mtime_ns if file and file.exists() else None)


@lru_cache(maxsize=256, typed=True)  # 8.0 and True are no sizes, though they equal some
def _parameters_of(map: str, size: int, map_seed: int, written: int | None) -> tuple[tuple[Map, ...], int, dict]:
    maps = choose_maps(map, size, map_seed)
    size = size or max(m.size for m in maps)
    return maps, size, parameter_arrays(maps, size)


def parameter_arrays(maps: tuple[Map, ...], size: int) -> dict:
    """The arrays of the parameter record for maps on a board."""
    cells, units, words, span = size * size, SIZES[size], bits.WORDS[size], bits.SPAN[size]
    enter = np.zeros((2, MOST_MAPS, len(CLASSES), words), np.int64)
    arrays: dict[str, np.ndarray] = {
        "stars": np.zeros((MOST_MAPS, cells), np.uint8),
        "grounds": np.zeros((MOST_MAPS, GROUNDS * cells), np.int8),
        "limit": np.zeros(MOST_MAPS, np.int16),
        "threshold": np.zeros(MOST_MAPS, np.int16),
        "setup_hp": np.zeros((MOST_MAPS, 2, units), np.uint8),
        "setup_cell": np.zeros((MOST_MAPS, 2, units), np.uint8),
        "setup_kind": np.zeros((MOST_MAPS, 2, units), np.uint8),
        "setup_moved": np.zeros((MOST_MAPS, 2, units), np.uint8),
    }
    for number, map_ in enumerate(maps):
        arrays["limit"][number], arrays["threshold"][number] = map_.turn_limit, map_.hp_threshold
        for y, row in enumerate(map_.terrain):
            for x, letter in enumerate(row):
                code, cell = int(letter), y * size + x
                if code == 0:
                    continue
                arrays["stars"][number, cell] = STARS[code]
                arrays["grounds"][number, (code - 1) * cells + cell] = 1
                for moves in range(len(CLASSES)):
                    cost = COSTS[moves, code]
                    if cost > 0:
                        enter[cost - 1, number, moves, cell // span] |= 1 << (cell % span)
        for side in (0, 1):
            for k, unit in enumerate(map_.of_side(side)):
                arrays["setup_hp"][number, side, k] = unit.hp
                arrays["setup_cell"][number, side, k] = unit.y * size + unit.x
                arrays["setup_kind"][number, side, k] = unit.kind
                arrays["setup_moved"][number, side, k] = unit.moved
    numbers = np.arange(cells)
    return {
        "width": np.int64(size),
        "span": np.int64(span),
        "maps": np.int64(len(maps)),
        "enter_1": enter[0],
        "enter_2": enter[1],
        "x": (numbers % size).astype(np.uint8),
        "y": (numbers // size).astype(np.uint8),
        **arrays,
    }


def position_fields(size: int) -> list[tuple]:
    """The fields of a position on a board, as NumPy field tuples."""
    units = SIZES[size]
    return [
        ("hp", np.uint8, (2, units)),
        ("cell", np.uint8, (2, units)),
        ("kind", np.uint8, (2, units)),
        ("moved", np.uint8, (units,)),
        ("board", np.uint8),
        ("turns", np.int16),
    ]


def _channels(size: int) -> dict[str, tuple[int, ...]]:
    return {
        "terrain": (GROUNDS, size, size),
        "own": (KINDS, size, size),
        "other": (KINDS, size, size),
        "hit_points": (10, size, size),
        "ready": (1, size, size),
        "turns_left": (TURNS,),
        "threshold": (LEADS,),
        "red": (1,),
        "to_move": (1,),
    }


def make_layout(map: str, size: int, map_seed: int, resign: bool, steps: bool) -> Layout:
    """The layout of the flat game, or of the game in words (`steps`)."""
    if not isinstance(resign, (bool, np.bool_)):
        raise GameParameterError(f"resign is True or False, not {resign!r}")
    for name, value in (("map", map), ("size", size), ("map_seed", map_seed)):
        if not isinstance(value, Hashable):
            raise GameParameterError(f"{name} is a number or a text, not {value!r}")
    maps, size, arrays = _parameters(map, int(size) if isinstance(size, (int, np.integer)) else size, map_seed)
    cells, units = size * size, SIZES[size]
    turns = max(m.turn_limit for m in maps)
    state, channels = position_fields(size), _channels(size)
    if steps:
        state += [("phase", np.uint8), ("unit", np.uint8), ("goal", np.uint8)]
        channels |= {"phase": (3,), "chosen": (1, size, size), "goal": (1, size, size)}
        actions = cells + 2
    else:
        actions = units * (5 * cells + len(OFFSETS)) + 1
    return Layout(
        state=state,
        parameters={**arrays, "resign": np.int64(resign)},
        actions=actions + bool(resign),
        observation=channels,
        max_steps=turns * (units * (3 if steps else 1) + 1),
        chance=len(maps) > 1,
        usual_opening=12 if steps else 4,  # maps are few
    )


def maps_of(ruleset) -> tuple[Map, ...]:
    """The maps of a ruleset, in the order of the field `board`."""
    parameters = ruleset.parameters
    return _parameters(parameters["map"], parameters["size"], parameters["map_seed"])[0]
