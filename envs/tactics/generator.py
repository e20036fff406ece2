"""Random maps with equal positions for both colours: half a map is drawn and rotated by half a turn.

Plain, road and wood at random, a mountain and sea cell in twenty, units near two opposite corners, as in the generator
of Neller, Huang and Cho for this game; equal forces make their adjustment of hit points unnecessary.
"""

from __future__ import annotations

import numpy as np

from asobiba.core import GameParameterError
from asobiba.envs.tactics.maps import SIZES, Map, Unit, reachable
from asobiba.envs.tactics.units import COSTS, KINDS, MOVES, TERRAINS

_SEA, _MOUNTAIN = TERRAINS.index("sea"), TERRAINS.index("mountain")
_COMMON = [TERRAINS.index(name) for name in ("plain", "road", "wood")]
MOST_UNITS = max(SIZES.values())
_TRIES = 1000


def generate_map(
    seed: int, width: int = 8, height: int = 8, units: int = 6, turn_limit: int = 30, hp_threshold: int = 10
) -> Map:
    """A map drawn from a seed; equal arguments give equal maps.

    Args:
        seed: any whole number from 0.
        width, height: cells with the ring that cannot be entered, 6 to 14.
        units: units of a side, 1 to 13, and at most a quarter of the cells inside the ring.

    Raises:
        GameParameterError: for numbers that make no map.
    """
    for name, value in (("seed", seed), ("width", width), ("height", height), ("units", units)):
        if not isinstance(value, (int, np.integer)) or value < 0:
            raise GameParameterError(f"{name} of a generated map is a whole number from 0, not {value!r}")
    if not (6 <= width <= 14 and 6 <= height <= 14):
        raise GameParameterError(f"a generated map has 6 to 14 cells each way, not {width} x {height}")
    inside = (width - 2) * (height - 2)
    if not 1 <= units <= min(MOST_UNITS, inside // 4):
        raise GameParameterError(
            f"a generated map of {width} x {height} has 1 to {min(MOST_UNITS, inside // 4)} units a side, not {units}"
        )
    generator = np.random.Generator(np.random.Philox(seed))
    for _ in range(_TRIES):
        terrain = _terrain(generator, width, height)
        red = _units(generator, terrain, units)
        if red is None:
            continue
        turned = [Unit(width - 1 - u.x, height - 1 - u.y, u.kind, 1) for u in red]
        rows = tuple("".join(map(str, row)) for row in terrain)
        map_ = Map(
            f"generated-{width}x{height}-{units}-{seed}",
            rows,
            (*red, *turned),
            turn_limit,
            hp_threshold,
            "generate_map",
        )
        if all((enemy.x, enemy.y) in reachable(map_, unit) for unit in red for enemy in turned if _alike(unit, enemy)):
            return map_
    raise GameParameterError(f"no map of {width} x {height} with {units} units a side was found for seed {seed}")


def _alike(unit: Unit, enemy: Unit) -> bool:
    return bool(MOVES[unit.kind] == MOVES[enemy.kind])


def _terrain(generator: np.random.Generator, width: int, height: int) -> np.ndarray:
    drawn = np.array(_COMMON)[generator.integers(len(_COMMON), size=(height, width))]
    chance = generator.random((height, width))
    drawn[chance < 1 / 20] = _MOUNTAIN
    drawn[chance > 19 / 20] = _SEA
    turned = drawn[::-1, ::-1]
    first = np.arange(height * width).reshape(height, width) < height * width // 2
    terrain = np.where(first, drawn, turned)
    if height * width % 2:
        terrain[height // 2, width // 2] = _COMMON[0]
    terrain[[0, -1]] = 0
    terrain[:, [0, -1]] = 0
    return terrain


def _units(generator: np.random.Generator, terrain: np.ndarray, count: int) -> list[Unit] | None:
    """Units of random types near the upper left corner, in the half whose turned image is free; `None` if they do not fit."""
    height, width = terrain.shape
    cells = [(x, y) for y in range(1, height - 1) for x in range(1, width - 1) if y * width + x < height * width // 2]
    placed: list[Unit] = []
    taken: set[tuple[int, int]] = set()
    for _ in range(count):
        kind = int(generator.integers(KINDS))
        free = [(x, y) for x, y in cells if (x, y) not in taken and COSTS[MOVES[kind], terrain[y, x]] > 0]
        if not free:
            return None
        weights = np.array([0.6 ** (x + y) for x, y in free])
        x, y = free[int(generator.choice(len(free), p=weights / weights.sum()))]
        taken.add((x, y))
        placed.append(Unit(x, y, kind, 0))
    return placed
