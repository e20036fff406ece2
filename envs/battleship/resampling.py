"""Draws a fleet that fits everything a side was told, for `resample` of the rules."""

from __future__ import annotations

import numpy as np

from asobiba.core import kernel, random_below, random_uniform
from asobiba.envs.battleship.placement import (
    PLACE_ED1,
    PLACE_ED2,
    PLACE_PK,
    PLACE_R,
    TOUCHING_ALLOWED,
    TOUCHING_CORNERS,
    clash,
    draw_fleet,
    fits_board,
    inside_band,
    placement_stride,
)
from asobiba.envs.battleship.record import SUNK_ONLY, SUNK_PLACE, is_hit, is_miss, sinking, told_afloat

_ROUNDS = 256


@kernel
def _touching(p):
    # What `touching` is for fleets that the rules deal with a placement strategy that keeps ships apart.
    return max(p.touching, TOUCHING_CORNERS) if p.placement >= PLACE_R and p.apart != 0 else p.touching


@kernel
def _dealt(p, place, size):
    # Whether the rules may have dealt a ship here: the ED strategies keep to the edge.
    return (p.placement != PLACE_ED1 and p.placement != PLACE_ED2) or inside_band(p, place, size, p.placement)


@kernel
def placement_told(s, p, side, ship, place):
    """Whether a ship of the opponent may lie here by the answers that `side` got: the hits it covers, or -1.

    A ship that was announced sunk has all its cells hit, the last of them by the shot that sank it; a ship that was
    not has a cell left.
    """
    size, cells = np.int64(p.sizes[ship]), np.int64(p.cells)
    if not fits_board(p, place, size):
        return -1
    stride, cell = placement_stride(p, place), place % cells
    hits, marks, last, last_number = 0, 0, 0, 0
    foreign = False
    for _ in range(size):
        if is_miss(s, side, cell):
            return -1
        hits += is_hit(s, side, cell)
        mark = sinking(s, side, cell)
        marks += mark != 0
        foreign |= mark != 0 and mark != ship + 1 and mark != p.sizes.shape[0] + 1
        if s.shot_number[side, cell] > last_number:
            last_number = s.shot_number[side, cell]
            last = cell
        cell += stride
    if foreign:
        return -1
    sunk = p.sunk != SUNK_ONLY and not told_afloat(s, side, ship)
    if hits < size:
        return -1 if sunk or marks > 0 else hits
    if p.sunk == SUNK_PLACE:
        return hits if marks == size else -1
    return hits if marks == 1 and sinking(s, side, last) != 0 else -1


@kernel
def _may_lie(s, p, side, ship, place):
    # `placement_told`, and -1 where the rules cannot have dealt the ship.
    return placement_told(s, p, side, ship, place) if _dealt(p, place, np.int64(p.sizes[ship])) else -1


@kernel
def _mark(s, p, other, ship, value):
    place = np.int64(s.places[other, ship])
    cell, stride = place % p.cells, placement_stride(p, place)
    for _ in range(p.sizes[ship]):
        s.fleet[other, cell] = value
        cell += stride


@kernel
def _free_here(s, p, other, ship, place):
    # Whether no other ship is in the way: overlaps by the marked cells, touching by geometry.
    cell, stride = place % p.cells, placement_stride(p, place)
    for _ in range(p.sizes[ship]):
        if s.fleet[other, cell] != 0:
            return False
        cell += stride
    touching = _touching(p)
    if touching != TOUCHING_ALLOWED:
        for i in range(p.sizes.shape[0]):
            if i != ship and s.places[other, i] >= 0:
                if clash(p, s.places[other, i], p.sizes[i], place, p.sizes[ship], touching):
                    return False
    return True


@kernel
def _next_hit(s, p, side, start):
    # The first cell from `start` on that is hit and under no ship placed so far, or `cells`.
    cell = start
    while cell < p.cells:
        if is_hit(s, side, cell) and s.fleet[1 - side, cell] == 0:
            return cell
        cell += 1
    return cell


@kernel
def _option(p, ship, index, cell):
    # Placement number `index` of a ship over a cell: across for the first `size` numbers, then down.
    size, width = np.int64(p.sizes[ship]), np.int64(p.width)
    down = index >= size
    offset = index - size if down else index
    if down:
        first = cell - offset * width
        return p.cells + first if first >= 0 else -1
    return cell - offset if cell % width >= offset else -1


@kernel
def _save(s, other, slot):
    for ship in range(s.places.shape[1]):
        s.scratch[ship, slot] = s.places[other, ship]


@kernel
def _cover_hits(s, p, side):
    """Goes through all ways to cover the hits and draws one of them into column 2 of the scratch.

    A way is drawn in proportion to the product of the free placements of the ships that it leaves out; column 3 holds
    their numbers. Returns whether there is a way.
    """
    other, ships = 1 - side, p.sizes.shape[0]
    total = 0.0
    depth = 0
    s.scratch[0, 0] = _next_hit(s, p, side, 0)
    s.scratch[0, 1] = -1
    for ship in range(ships):
        s.places[other, ship] = -1
    while depth >= 0:
        target = np.int64(s.scratch[depth, 0]) if depth < ships else np.int64(p.cells)
        if depth == ships:
            target = _next_hit(s, p, side, 0)
        if target == p.cells or depth == ships:
            if target == p.cells:
                weight = 1.0
                for ship in range(ships):
                    if s.places[other, ship] < 0:
                        weight *= s.scratch[ship, 3]
                total += weight
                if weight > 0.0 and random_uniform(s) * total < weight:
                    _save(s, other, 2)
            depth -= 1
        # The choice at this depth is `ship * 2 * longest + index`; the ship it placed is taken up again first.
        advanced = False
        while depth >= 0 and not advanced:
            span = 2 * np.int64(p.longest)
            choice = np.int64(s.scratch[depth, 1])
            target = np.int64(s.scratch[depth, 0])
            if choice >= 0:
                ship = choice // span
                _mark(s, p, other, ship, 0)
                s.places[other, ship] = -1
            choice += 1
            while choice < ships * span:
                ship = choice // span
                index = choice % span
                if s.places[other, ship] >= 0 or index >= 2 * p.sizes[ship]:
                    choice = (ship + 1) * span if s.places[other, ship] >= 0 else choice + 1
                    continue
                place = _option(p, ship, index, target)
                if place >= 0 and _may_lie(s, p, side, ship, place) > 0 and _free_here(s, p, other, ship, place):
                    break
                choice += 1
            if choice < ships * span:
                s.scratch[depth, 1] = choice
                s.places[other, choice // span] = place
                _mark(s, p, other, choice // span, 1)
                depth += 1
                if depth < ships:
                    s.scratch[depth, 0] = _next_hit(s, p, side, target + 1)
                    s.scratch[depth, 1] = -1
                advanced = True
            else:
                depth -= 1
    return total > 0.0


@kernel
def _place_rest(s, p, side):
    # The ships that the chosen way leaves out, each uniformly over its free placements; False if two clash.
    other = 1 - side
    for ship in range(p.sizes.shape[0]):
        s.places[other, ship] = s.scratch[ship, 2]
    done = True
    for ship in range(p.sizes.shape[0]):
        if s.places[other, ship] >= 0 or not done:
            continue
        rank = random_below(s, s.scratch[ship, 3])
        place = -1
        while rank >= 0:
            place += 1
            rank -= _may_lie(s, p, side, ship, place) == 0
        for i in range(p.sizes.shape[0]):
            if s.places[other, i] >= 0:
                done = done and not clash(p, s.places[other, i], p.sizes[i], place, p.sizes[ship], _touching(p))
        s.places[other, ship] = place
    return done


@kernel
def _search_fleet(s, p, side):
    # Depth-first over whole fleets, each ship from a random start: some fleet that fits, if rejection had no luck.
    other, ships, span = 1 - side, p.sizes.shape[0], 2 * np.int64(p.cells)
    for ship in range(ships):
        s.places[other, ship] = -1
        s.scratch[ship, 0] = random_below(s, span)
        s.scratch[ship, 1] = -1
    depth = 0
    while 0 <= depth < ships:
        if s.places[other, depth] >= 0:
            _mark(s, p, other, depth, 0)
            s.places[other, depth] = -1
        tried = np.int64(s.scratch[depth, 1]) + 1
        while tried < span:
            place = (s.scratch[depth, 0] + tried) % span
            if _may_lie(s, p, side, depth, place) >= 0 and _free_here(s, p, other, depth, place):
                break
            tried += 1
        s.scratch[depth, 1] = tried
        if tried == span:
            s.scratch[depth, 1] = -1
            depth -= 1
            continue
        s.places[other, depth] = place
        _mark(s, p, other, depth, depth + 1)
        depth += 1
        if depth == ships and _next_hit(s, p, side, 0) < p.cells:
            depth -= 1


@kernel
def _deal_packed(s, p, side):
    # A fleet dealt by PK that fits all that `side` was told, by rejection; False if 256 were refused.
    other, ships = 1 - side, p.sizes.shape[0]
    places = s.places[other]
    for _ in range(_ROUNDS):
        draw_fleet(s, p, PLACE_PK, p.apart != 0, p.pack_x, p.pack_y, places)
        fits = True
        for ship in range(ships):
            fits = fits and _may_lie(s, p, side, ship, np.int64(places[ship])) >= 0
        if fits:
            for ship in range(ships):
                _mark(s, p, other, ship, 1)
            fits = _next_hit(s, p, side, 0) == p.cells
            for ship in range(ships):
                _mark(s, p, other, ship, 0)
        if fits:
            return True
    return False


@kernel
def draw_hidden_fleet(s, p, side, placed):
    """Draws the placements of the opponent of `side` into `s.places`, by all that `side` was told.

    With `placement` only fleets are drawn that this strategy deals. R and the ED strategies deal all their fleets with
    the same probability, so the fitting ones are drawn uniformly: one of the ways to cover the hits is drawn with the
    number of free placements of the other ships as its weight, then these ships, and the whole is drawn again if two
    clash. PK's fleets are not equally likely: they are dealt anew until one fits. After 256 rejections the draw is no
    longer exact: some fitting fleet (for PK one that may lie outside a rectangle) is searched for from random starts.
    """
    other, ships = 1 - side, p.sizes.shape[0]
    for cell in range(p.cells):
        s.fleet[other, cell] = 0
    places = s.places[other]
    if placed < ships or s.shots[side] == 0:
        # Players who place their own ships: all fleets are equally likely.
        strategy = max(p.placement, PLACE_R)
        draw_fleet(s, p, strategy, p.placement >= PLACE_R and p.apart != 0, p.pack_x, p.pack_y, places)
        for ship in range(placed, ships):
            places[ship] = -1
        return
    if p.placement == PLACE_PK and _deal_packed(s, p, side):
        return
    for ship in range(ships):
        free = 0
        for place in range(2 * p.cells):
            free += _may_lie(s, p, side, ship, place) == 0
        s.scratch[ship, 3] = free
    done = False
    for _ in range(_ROUNDS):
        if not _cover_hits(s, p, side):
            break
        done = _place_rest(s, p, side)
        if done:
            break
    if not done:
        _search_fleet(s, p, side)
    for cell in range(p.cells):
        s.fleet[other, cell] = 0
    for ship in range(ships):
        for slot in range(4):
            s.scratch[ship, slot] = 0
