"""Geometry of ships, and the placement strategies, as kernels.

A placement is one integer, the action that makes it: `cell` for a ship that lies across (to the right of its cell),
`cells + cell` for one that lies down (below its cell); `cell = row * width + column`.
"""

from __future__ import annotations

import numpy as np

from asobiba.core import kernel, random_below

TOUCHING_ALLOWED, TOUCHING_CORNERS, TOUCHING_NEVER = 0, 1, 2
PLACE_R, PLACE_ED1, PLACE_ED2, PLACE_PK = 0, 1, 2, 3
_TRIES = 200_000


@kernel
def placement_row(p, place):
    """Row of a placement's first cell."""
    return (place % p.cells) // p.width


@kernel
def placement_column(p, place):
    """Column of a placement's first cell."""
    return place % p.width if place < p.cells else (place - p.cells) % p.width


@kernel
def placement_stride(p, place):
    """From one cell of a placement to the next: 1 across, `width` down."""
    return p.width if place >= p.cells else 1


@kernel
def fits_board(p, place, size):
    """Whether a ship of this size lies on the board. A ship of size 1 lies across only, so that it is counted once."""
    row, column = placement_row(p, place), placement_column(p, place)
    if place < p.cells:
        return column + size <= p.width
    return size > 1 and row + size <= p.height


@kernel
def clash(p, a, size_a, b, size_b, touching):
    """Whether two placements overlap, or touch in a way that `touching` forbids."""
    down_a, down_b = np.int64(a >= p.cells), np.int64(b >= p.cells)
    top_a, left_a = placement_row(p, a), placement_column(p, a)
    top_b, left_b = placement_row(p, b), placement_column(p, b)
    bottom_a, right_a = top_a + (size_a - 1) * down_a, left_a + (size_a - 1) * (1 - down_a)
    bottom_b, right_b = top_b + (size_b - 1) * down_b, left_b + (size_b - 1) * (1 - down_b)
    rows_apart = max(top_b - bottom_a, top_a - bottom_b)
    columns_apart = max(left_b - right_a, left_a - right_b)
    if touching == TOUCHING_ALLOWED:
        return rows_apart <= 0 and columns_apart <= 0
    if touching == TOUCHING_CORNERS:
        return (rows_apart <= 0 and columns_apart <= 1) or (rows_apart <= 1 and columns_apart <= 0)
    return rows_apart <= 1 and columns_apart <= 1


@kernel
def random_placement(record, p, top, left, height, width, size):
    """A uniform placement of a ship inside a rectangle, drawn from `record`'s generator, or -1 if there is none."""
    across = height * max(width - size + 1, 0)
    down = max(height - size + 1, 0) * width if size > 1 else 0
    if across + down == 0:
        return -1
    k = random_below(record, across + down)
    if k < across:
        per_row = width - size + 1
        return (top + k // per_row) * p.width + left + k % per_row
    k -= across
    return p.cells + (top + k // width) * p.width + left + k % width


@kernel
def inside_band(p, place, size, band):
    """Whether every cell of a placement lies within `band` cells of the edge (1: on the edge)."""
    row, column, stride = placement_row(p, place), placement_column(p, place), placement_stride(p, place)
    for _ in range(size):
        if min(min(row, p.height - 1 - row), min(column, p.width - 1 - column)) >= band:
            return False
        if stride == 1:
            column += 1
        else:
            row += 1
    return True


@kernel
def _outside(p, place, size, top, left, height, width):
    row, column, down = placement_row(p, place), placement_column(p, place), np.int64(place >= p.cells)
    bottom, right = row + (size - 1) * down, column + (size - 1) * (1 - down)
    return row >= top + height or bottom < top or column >= left + width or right < left


@kernel
def _draw_once(record, p, strategy, apart, pack_x, pack_y, places):
    top, left, height, width = 0, 0, np.int64(p.height), np.int64(p.width)
    if strategy == PLACE_PK:
        height, width = np.int64(pack_x), np.int64(pack_y)
        if random_below(record, 2) == 1:
            height, width = width, height
        if height > p.height or width > p.width:
            height, width = width, height
        top, left = random_below(record, p.height - height + 1), random_below(record, p.width - width + 1)
    for j in range(places.shape[0]):
        size = p.sizes[j]
        alone = strategy == PLACE_PK and j == p.smallest
        place = -1
        for _ in range(1000):
            if alone:
                place = random_placement(record, p, 0, 0, p.height, p.width, size)
                if _outside(p, place, size, top, left, height, width):
                    break
            else:
                place = random_placement(record, p, top, left, height, width, size)
                if strategy in (PLACE_R, PLACE_PK) or inside_band(p, place, size, strategy):
                    break
            place = -1
        if place < 0:
            return False
        places[j] = place
        for i in range(j):
            touching = np.int64(p.touching)
            if apart and (strategy != PLACE_PK or alone or i == p.smallest):
                touching = max(touching, np.int64(TOUCHING_CORNERS))
            if clash(p, places[i], p.sizes[i], place, size, touching):
                return False
    return True


@kernel
def draw_fleet(record, p, strategy, apart, pack_x, pack_y, places):
    """Draws a whole fleet by a placement strategy into `places` (a placement per ship).

    Every ship is drawn uniformly from the placements that the strategy allows, and the whole fleet is drawn again if
    two ships clash, so that all fleets that the strategy allows are equally likely (for PK, given its rectangle).
    If no draw succeeds, any fleet that the game allows is taken.
    """
    for _ in range(_TRIES):
        if _draw_once(record, p, strategy, apart, pack_x, pack_y, places):
            return
    complete_fleet(p, places, 0)


@kernel
def clashes_with_earlier(p, places, j, place):
    """Whether ship `j` at `place` clashes with ships 0 to j - 1."""
    for i in range(j):  # noqa: SIM110 - a kernel has no generators
        if clash(p, places[i], p.sizes[i], place, p.sizes[j], p.touching):
            return True
    return False


@kernel
def complete_fleet(p, places, first):
    """Places ships `first` and later by depth-first search, keeping the earlier ones; returns whether it can."""
    ships = places.shape[0]
    for j in range(first, ships):
        places[j] = -1
    j = first
    while first <= j < ships:
        place = places[j] + 1
        while place < 2 * p.cells:
            if fits_board(p, place, p.sizes[j]) and not clashes_with_earlier(p, places, j, place):
                break
            place += 1
        if place == 2 * p.cells:
            places[j] = -1
            j -= 1
        else:
            places[j] = place
            j += 1
    return j == ships
