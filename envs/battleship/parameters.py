"""The layout of a battleship game from its parameters; invalid ones are refused."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from asobiba.core import GameParameterError, Layout
from asobiba.envs.battleship.placement import PLACE_ED1, PLACE_ED2, PLACE_PK, PLACE_R

TOUCHING = ("allowed", "corners", "never")
SUNK_TOLD = ("kind", "only", "place")
CLASSIC_FLEET = (5, 4, 3, 3, 2)
_CLASSIC_NAMES = ("carrier", "battleship", "transport", "submarine", "destroyer")
_STRATEGY = re.compile(r"(r|ed1|ed2|pk)(sp)?(?:([0-9]{1,4})x([0-9]{1,4}))?")
_STRATEGY_CODES = {"r": PLACE_R, "ed1": PLACE_ED1, "ed2": PLACE_ED2, "pk": PLACE_PK}
_SEARCH_LIMIT = 300_000


def fleet_sizes(fleet: Sequence[int] | str) -> tuple[int, ...]:
    """The ships' sizes from a sequence of integers or text such as `5,4,3,3,2`.

    Raises:
        GameParameterError: if it is neither.
    """
    try:
        parts = re.split(r"[\s,\-/]+", fleet.strip()) if isinstance(fleet, str) else list(fleet)
        sizes = tuple(int(size) for size in parts)
        exact = isinstance(fleet, str) or all(size == part for size, part in zip(sizes, parts, strict=True))
    except (TypeError, ValueError):
        sizes, exact = (), False
    if not sizes or not exact or min(sizes) < 1:
        raise GameParameterError(
            f"fleet={fleet!r} is not a list of ship sizes; give whole numbers from 1, as 5,4,3,3,2"
        )
    return sizes


def ship_names(sizes: Sequence[int]) -> tuple[str, ...]:
    """Names of the ships: the classic names for the classic fleet, else `ship1`, `ship2`, ..."""
    if tuple(sizes) == CLASSIC_FLEET:
        return _CLASSIC_NAMES
    return tuple(f"ship{k + 1}" for k in range(len(sizes)))


def parse_placement(text: str) -> dict[str, int]:
    """Splits the name of a placement strategy (`r`, `ed1`, `ed2`, `pk2x10`; with `sp`: `rsp`, `pksp2x10`).

    Returns:
        `placement` (a code of `placement.py`), `apart` (0 or 1), `pack_x`, `pack_y` (cells; 0 except for PK).

    Raises:
        GameParameterError: for any other text.
    """
    match = _STRATEGY.fullmatch(text.lower()) if isinstance(text, str) else None
    if match is None or (match[1] == "pk") != (match[3] is not None):
        raise GameParameterError(
            f"no placement strategy is called {text!r}; there are r, ed1, ed2, pkXxY such as pk2x10, and with "
            "touching forbidden rsp, ed1sp, ed2sp, pkspXxY"
        )
    return {
        "placement": _STRATEGY_CODES[match[1]],
        "apart": int(match[2] is not None),
        "pack_x": int(match[3] or 0),
        "pack_y": int(match[4] or 0),
    }


def _placements(height: int, width: int, size: int) -> list[tuple[int, int, int, int]]:
    across = [(r, c, r, c + size - 1) for r in range(height) for c in range(width - size + 1)]
    down = [(r, c, r + size - 1, c) for r in range(height - size + 1) for c in range(width)] if size > 1 else []
    return across + down


def _clash(a: tuple[int, int, int, int], b: tuple[int, int, int, int], touching: int) -> bool:
    rows, columns = max(b[0] - a[2], a[0] - b[2]), max(b[1] - a[3], a[1] - b[3])
    if touching == 1:
        return rows + max(columns, 0) <= 1 and columns + max(rows, 0) <= 1
    return max(rows, columns) <= (0 if touching == 0 else 1)


def _fleet_exists(options: list[list[tuple[int, int, int, int]]], touching: Mapping[tuple[int, int], int]) -> bool:
    """Whether one option can be chosen per ship without a clash (depth-first, the ship with fewest options first)."""
    order = sorted(range(len(options)), key=lambda k: len(options[k]))
    visits = 0

    def place(depth: int, chosen: list[tuple[int, tuple[int, int, int, int]]]) -> bool:
        nonlocal visits
        if depth == len(order):
            return True
        ship = order[depth]
        for option in options[ship]:
            visits += 1
            if visits > _SEARCH_LIMIT:
                return False
            if all(not _clash(option, other, touching[min(ship, k), max(ship, k)]) for k, other in chosen):
                if place(depth + 1, [*chosen, (ship, option)]):
                    return True
        return False

    return place(0, [])


def strategy_is_possible(
    height: int, width: int, sizes: Sequence[int], touching: int, strategy: Mapping[str, int]
) -> bool:
    """Whether a placement strategy can place this fleet on this board at all."""
    pairs = {(i, j): touching for j in range(len(sizes)) for i in range(j)}
    smallest = smallest_ship(sizes)
    kind = strategy["placement"]
    if strategy["apart"]:
        for i, j in pairs:
            if kind != PLACE_PK or smallest in (i, j):
                pairs[i, j] = max(touching, 1)
    options = [_placements(height, width, size) for size in sizes]
    if kind in (PLACE_ED1, PLACE_ED2):

        def inside(box: tuple[int, int, int, int]) -> bool:
            return all(
                min(r, height - 1 - r, c, width - 1 - c) < kind
                for r in range(box[0], box[2] + 1)
                for c in range(box[1], box[3] + 1)
            )

        return _fleet_exists([[box for box in boxes if inside(box)] for boxes in options], pairs)
    if kind == PLACE_PK:
        x, y = strategy["pack_x"], strategy["pack_y"]
        for h, w in {(x, y), (y, x)}:
            if 0 < h <= height and 0 < w <= width:
                packed = [
                    [b for b in boxes if b[0] >= h or b[1] >= w]
                    if k == smallest
                    else [b for b in boxes if b[2] < h and b[3] < w]
                    for k, boxes in enumerate(options)
                ]
                if _fleet_exists(packed, pairs):
                    return True
        return False
    return _fleet_exists(options, pairs)


def smallest_ship(sizes: Sequence[int]) -> int:
    """Index of the smallest ship, the last one if there are several."""
    return max(k for k, size in enumerate(sizes) if size == min(sizes))


def _roomy(height: int, width: int, sizes: Sequence[int], touching: int) -> bool:
    """Whether the earlier ships, wherever they lie, always leave room for the later ones (a sufficient bound)."""

    def taken(a: int, b: int) -> int:
        # At most so many placements of a ship of size b are lost to one of size a.
        if touching == 0:
            return a + b - 1 + a * b
        return 3 * (a + b + 1) + (b + 2) * (a + 2)

    return all(
        len(_placements(height, width, size)) > sum(taken(earlier, size) for earlier in sizes[:k])
        for k, size in enumerate(sizes)
    )


def _choice(name: str, value: Any, choices: tuple[str, ...]) -> int:
    if value not in choices:
        raise GameParameterError(f"{name}={value!r} is unknown; choose one of {', '.join(choices)}")
    return choices.index(value)


def make_layout(
    height: Any, width: Any, fleet: Any, touching: Any, hit_again: Any, sunk: Any, placement: str | None, attack: bool
) -> Layout:
    """The layout of both battleship games; the arguments are the games' parameters.

    Raises:
        GameParameterError: for invalid values.
    """
    for name, value in (("height", height), ("width", width)):
        if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or not 1 <= value <= 26:
            raise GameParameterError(f"{name}={value!r}: the board has from 1 to 26 cells a side")
    sizes = fleet_sizes(fleet)
    touching_code = _choice("touching", touching, TOUCHING)
    sunk_code = _choice("sunk", sunk, SUNK_TOLD)
    if not isinstance(hit_again, (bool, np.bool_)):
        raise GameParameterError(f"hit_again={hit_again!r}: give true or false")
    free = {"placement": PLACE_R, "apart": 0, "pack_x": 0, "pack_y": 0}
    if not strategy_is_possible(height, width, sizes, touching_code, free):
        raise GameParameterError(
            f"a fleet of sizes {', '.join(map(str, sizes))} does not fit a board of {height} rows and {width} columns "
            f"(touching={touching!r}); take a larger board or fewer ships"
        )
    strategy = {**free, "placement": -1} if placement is None else parse_placement(placement)
    if placement is not None and not strategy_is_possible(height, width, sizes, touching_code, strategy):
        raise GameParameterError(
            f"placement={placement!r} cannot place a fleet of sizes {', '.join(map(str, sizes))} on a board of "
            f"{height} rows and {width} columns (touching={touching!r}); choose another strategy"
        )
    cells, ships = height * width, len(sizes)
    channels = {
        "misses": (1, height, width),
        "hits": (1, height, width),
        "sinkings": (1, height, width),
        "afloat": (ships,),
    }
    own = {
        "own_fleet": (1, height, width),
        "incoming": (1, height, width),
        "own_afloat": (ships,),
        "placing": (ships,),
    }
    return Layout(
        state=[
            ("answers", np.int8, (2, cells)),
            ("fleet", np.int8, (2, cells)),
            ("shot_number", np.uint8 if cells < 256 else np.int16, (2, cells)),
            ("told_afloat", np.int8, (2, ships)),
            ("places", np.int16, (2, ships)),
            ("unhit", np.int8, (2, ships)),
            ("shots", np.int16, (2,)),
            ("afloat", np.int8, (2,)),
            ("placed", np.int8, (2,)),
            ("scratch", np.int16, (ships, 4)),
        ],
        parameters={
            "height": np.int64(height),
            "width": np.int64(width),
            "cells": np.int64(cells),
            "sizes": np.array(sizes, np.int64),
            "longest": np.int64(max(sizes)),
            "smallest": np.int64(smallest_ship(sizes)),
            "touching": np.int64(touching_code),
            "hit_again": np.int64(hit_again),
            "sunk": np.int64(sunk_code),
            "tight": np.int64(not _roomy(height, width, sizes, touching_code)),
            "shot_reward": np.float32(-1 / cells),
            **{name: np.int64(value) for name, value in strategy.items()},
        },
        actions=cells if attack or placement is not None else 2 * cells,
        observation=channels if attack else {**channels, **own},
        observation_high=ships + 1,
        max_steps=cells if attack else 2 * cells + 2 * ships,
    )
