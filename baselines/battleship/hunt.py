"""Shared by the published attack strategies: undetermined cells, the checkerboard, the neighbourhood of hits.

All kernels read the record of a battleship view; `side` is the shooter.
"""

from __future__ import annotations

import numpy as np

from asobiba.core import kernel, random_below
from asobiba.envs.battleship.record import (
    SUNK_KIND,
    SUNK_ONLY,
    SUNK_PLACE,
    is_hit,
    is_miss,
    is_shot,
    sinking,
    told_afloat,
)

_PERIOD = 4


@kernel
def is_afloat(s, p, side, ship):
    """Whether a ship may still be afloat, as far as `side` was told."""
    return p.sunk == SUNK_ONLY or told_afloat(s, side, ship)


@kernel
def largest_afloat(s, p, side):
    """Size of the largest ship that may be afloat."""
    largest = np.int64(0)
    for ship in range(p.sizes.shape[0]):
        if is_afloat(s, p, side, ship):
            largest = max(largest, p.sizes[ship])
    return largest


@kernel
def smallest_afloat(s, p, side):
    """Size of the smallest ship that may be afloat."""
    smallest = p.longest
    for ship in range(p.sizes.shape[0]):
        if is_afloat(s, p, side, ship):
            smallest = min(smallest, p.sizes[ship])
    return smallest


@kernel
def _was_hit_by(s, p, side, cell, number):
    return is_hit(s, side, cell) and s.shot_number[side, cell] <= number


@kernel
def _settle_one(s, p, side, cell, size, settled):
    # Marks the cells of the ship that sank by the shot at `cell`, if the hits leave only one place for it.
    number = np.int64(s.shot_number[side, cell])
    found, first_cell, first_stride = 0, 0, np.int64(1)
    for down in range(2):
        stride = np.int64(p.width) if down else np.int64(1)
        before = cell // p.width if down else cell % p.width
        after = p.height - 1 - cell // p.width if down else p.width - 1 - cell % p.width
        for offset in range(max(0, size - 1 - after), min(before, size - 1) + 1):
            first = cell - offset * stride
            whole = True
            for k in range(size):
                x = first + k * stride
                if settled[x] != 0 or not _was_hit_by(s, p, side, x, number):
                    whole = False
                    break
            if whole:
                found += 1
                first_cell, first_stride = first, stride
    if found == 1:
        for k in range(size):
            settled[first_cell + k * first_stride] = 1


@kernel
def settle(s, p, side, settled):
    """Marks in `settled` (int8, a cell each) the hits that belong to ships known to be sunk, and where.

    A ship that was announced sunk is settled if, of the hits so far, only one line of its size runs through the cell
    that sank it. Hits that could belong to it or to others stay open, unless the ships sunk account for all hits.
    """
    hits, accounted = 0, 0
    for cell in range(p.cells):
        hits += is_hit(s, side, cell)
        settled[cell] = p.sunk == SUNK_PLACE and sinking(s, side, cell) != 0
    if p.sunk != SUNK_KIND:
        return
    for ship in range(p.sizes.shape[0]):
        if not told_afloat(s, side, ship):
            accounted += p.sizes[ship]
    if hits == accounted:
        for cell in range(p.cells):
            settled[cell] = is_hit(s, side, cell)
        return
    marked = 0
    while True:  # what one ship settles may leave only one place for another
        for cell in range(p.cells):
            ship = sinking(s, side, cell) - 1
            if ship >= 0 and settled[cell] == 0:
                _settle_one(s, p, side, cell, np.int64(p.sizes[ship]), settled)
        before, marked = marked, 0
        for cell in range(p.cells):
            marked += settled[cell]
        if marked == before:
            return


@kernel
def _may_hold_a_ship(s, p, side, cell, settled):
    return not is_miss(s, side, cell) and settled[cell] == 0


@kernel
def _run(s, p, side, cell, stride, settled):
    # Length of the line through `cell`, across or down, of cells that may hold a ship afloat.
    row, column = cell // p.width, cell % p.width
    after = p.width - 1 - column if stride == 1 else p.height - 1 - row
    before = column if stride == 1 else row
    run = 1
    for k in range(1, after + 1):
        if not _may_hold_a_ship(s, p, side, cell + k * stride, settled):
            break
        run += 1
    for k in range(1, before + 1):
        if not _may_hold_a_ship(s, p, side, cell - k * stride, settled):
            break
        run += 1
    return run


@kernel
def _mark_lines(s, p, side, settled, size, lines, length, stride, step, fits, mark):
    # Marks the cells not shot at in every stretch of at least `size` cells that may hold a ship, line by line.
    for line in range(lines):
        cell, run = line * step, 0
        for k in range(length + 1):
            if k < length and _may_hold_a_ship(s, p, side, cell, settled):
                run += 1
            else:
                if run >= size:
                    for back in range(1, run + 1):
                        if not is_shot(s, side, cell - back * stride):
                            fits[cell - back * stride] = mark
                run = 0
            cell += stride


@kernel
def mark_undetermined(s, p, side, settled, largest_first, fits):
    """Marks in `fits` (int8, a cell each) the cells not shot at that the smallest ship afloat may lie on; their number.

    The mark is 1; with `largest_first` it is 2 where the largest ship afloat may lie.
    """
    cells, width, height = np.int64(p.cells), np.int64(p.width), np.int64(p.height)
    for cell in range(cells):
        fits[cell] = 0
    for mark in range(1, 3 if largest_first else 2):
        size = smallest_afloat(s, p, side) if mark == 1 else largest_afloat(s, p, side)
        _mark_lines(
            s=s,
            p=p,
            side=side,
            settled=settled,
            size=size,
            lines=height,
            length=width,
            stride=1,
            step=width,
            fits=fits,
            mark=mark,
        )
        _mark_lines(
            s=s,
            p=p,
            side=side,
            settled=settled,
            size=size,
            lines=width,
            length=height,
            stride=width,
            step=1,
            fits=fits,
            mark=mark,
        )
    count = 0
    for cell in range(cells):
        count += fits[cell] != 0
    return count


@kernel
def _open_hit(s, p, side, row, column, settled):
    if row < 0 or column < 0 or row >= p.height or column >= p.width:
        return False
    cell = row * p.width + column
    return is_hit(s, side, cell) and settled[cell] == 0


@kernel
def neighbourhood(s, p, side, memory, settled):
    """A cell beside a hit that is not settled, or -1.

    Cells that continue a line of two such hits go first, then those in the longest line of cells that may hold a ship;
    ties are broken at random. Cells are left out where no ship afloat fits along the line through the hit.
    """
    smallest = smallest_afloat(s, p, side)
    chosen, count, best = -1, 0, 0
    for cell in range(p.cells):
        if is_shot(s, side, cell):
            continue
        row, column = cell // p.width, cell % p.width
        level = 0
        for direction in range(4):
            down = (direction == 0) - (direction == 1)
            right = (direction == 2) - (direction == 3)
            if _open_hit(s, p, side, row + down, column + right, settled):
                run = _run(s, p, side, cell, 1 if down == 0 else p.width, settled)
                if run >= smallest:
                    line = _open_hit(s, p, side, row + 2 * down, column + 2 * right, settled)
                    level = max(level, run + (1000 if line else 0))
        if level > best:
            best, count = level, 0
        if level > 0 and level == best:
            count += 1
            if random_below(memory, count) == 0:
                chosen = cell
    return chosen


@kernel
def _pattern(p, cell, row_offset, column_offset):
    # Order of the checkerboard's four sets: every fourth diagonal, those half-way between, then the other colour.
    diagonal = (cell // p.width + row_offset + cell % p.width + column_offset) % _PERIOD
    return (diagonal % 2) * 2 + diagonal // 2


@kernel
def search(p, legal, memory, checkerboard, fits):
    """A uniform undetermined cell; of the first set of the checkerboard that has one, if `checkerboard` is set.

    Inside a set cells that are marked 2 go first.
    """
    chosen, count, best = -1, 0, 9
    for cell in range(p.cells):
        if fits[cell] != 0:
            rank = _pattern(p, cell, memory.row_offset, memory.column_offset) if checkerboard else 0
            rank = 2 * rank + (2 - fits[cell])
            if rank < best:
                best, count = rank, 0
            if rank == best:
                count += 1
                if random_below(memory, count) == 0:
                    chosen = cell
    if chosen >= 0:
        return chosen
    for cell in range(p.cells):  # what is left of a position that contradicts itself
        if legal[cell] != 0:
            chosen = cell
    return chosen
