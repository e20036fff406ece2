"""The rules of battleship.

A state keeps for each side its fleet and the answers to its shots (`record.py`), one byte per cell; the planes of the
observation are written from these, so that thousands of games fit into a processor's cache. `BattleshipAttack` shares
this layout; there, side 1 has no player and only owns a fleet.
"""

from __future__ import annotations

import numpy as np

from asobiba.core import kernel
from asobiba.envs.battleship.placement import (
    TOUCHING_ALLOWED,
    TOUCHING_CORNERS,
    complete_fleet,
    draw_fleet,
    placement_column,
    placement_row,
    placement_stride,
)
from asobiba.envs.battleship.record import HIT, MISS, SUNK_KIND, SUNK_ONLY, is_hit, plane_size
from asobiba.envs.battleship.resampling import draw_hidden_fleet
from asobiba.envs.battleship.validity import valid

__all__ = ["hide", "legal", "observe", "resample", "reset", "step", "valid"]


@kernel
def put_ship(s, p, side, ship, place):
    """Ship number `ship` (from 0) of `side` is put at `place`."""
    s.places[side, ship] = place
    s.unhit[side, ship] = p.sizes[ship]
    cell, stride = place % p.cells, placement_stride(p, place)
    for _ in range(p.sizes[ship]):
        s.fleet[side, cell] = ship + 1
        cell += stride
    s.placed[side] += 1


@kernel
def deal(s, p, side):
    """The delegated placement strategy places the fleet of `side`."""
    places = s.places[side]
    draw_fleet(s, p, p.placement, p.apart != 0, p.pack_x, p.pack_y, places)
    for ship in range(p.sizes.shape[0]):
        put_ship(s, p, side, ship, places[ship])


@kernel
def reset(s, p):
    s.to_move = 0
    for side in range(2):
        for ship in range(p.sizes.shape[0]):
            s.told_afloat[side, ship] = 1
            s.places[side, ship] = -1
        s.afloat[side] = p.sizes.shape[0]
        if p.placement >= 0:
            deal(s, p, side)


@kernel
def _block(p, mask, top, left, bottom, right, size):
    # No ship of this size may cover a cell of the rectangle.
    for row in range(max(top, 0), min(bottom, p.height - 1) + 1):
        for column in range(max(left - size + 1, 0), min(right, p.width - 1) + 1):
            mask[row * p.width + column] = 0
    for row in range(max(top - size + 1, 0), min(bottom, p.height - 1) + 1):
        for column in range(max(left, 0), min(right, p.width - 1) + 1):
            mask[p.cells + row * p.width + column] = 0


@kernel
def _legal_placements(s, p, mask):
    side = s.to_move
    ship = np.int64(s.placed[side])
    size, width = np.int64(p.sizes[ship]), np.int64(p.width)
    mask[:] = 0
    for row in range(p.height):
        for column in range(width - size + 1):
            mask[row * width + column] = 1
    if size > 1:
        for cell in range((p.height - size + 1) * width):
            mask[p.cells + cell] = 1
    for other in range(ship):
        place = np.int64(s.places[side, other])
        down = np.int64(place >= p.cells)
        top, left = placement_row(p, place), placement_column(p, place)
        bottom, right = top + (p.sizes[other] - 1) * down, left + (p.sizes[other] - 1) * (1 - down)
        if p.touching == TOUCHING_ALLOWED:
            _block(p, mask, top, left, bottom, right, size)
        elif p.touching == TOUCHING_CORNERS:
            _block(p, mask, top - 1, left, bottom + 1, right, size)
            _block(p, mask, top, left - 1, bottom, right + 1, size)
        else:
            _block(p, mask, top - 1, left - 1, bottom + 1, right + 1, size)
    if p.tight != 0:  # on a board this tight a placement may leave no room for the ships after it
        places = s.places[side]
        for place in range(mask.shape[0]):
            if mask[place] != 0:
                places[ship] = place
                mask[place] = complete_fleet(p, places, ship + 1)
        for other in range(ship, p.sizes.shape[0]):
            places[other] = -1


@kernel
def open_cells(s, p, side, mask):
    """Writes which cells `side` has not shot at yet into the first entries of `mask`."""
    answers = s.answers[side]
    for cell in range(plane_size(s)):
        mask[cell] = answers[cell] == 0


@kernel
def legal(s, p, mask):
    if s.placed[s.to_move] < p.sizes.shape[0]:
        _legal_placements(s, p, mask)
    else:
        open_cells(s, p, s.to_move, mask)
        for place in range(plane_size(s), np.uint64(mask.shape[0])):
            mask[place] = 0


@kernel
def shoot(s, p, side, cell):
    """`side` shoots at a cell; returns whether it is a hit."""
    target = 1 - side
    s.shots[side] += 1
    s.shot_number[side, cell] = s.shots[side]
    ship = np.int64(s.fleet[target, cell]) - 1
    if ship < 0:
        s.answers[side, cell] = MISS
        return False
    s.answers[side, cell] = HIT
    s.unhit[target, ship] -= 1
    if s.unhit[target, ship] == 0:
        _sink(s, p, side, ship, cell)
    return True


@kernel
def _sink(s, p, side, ship, cell):
    target = 1 - side
    s.afloat[target] -= 1
    if p.sunk == SUNK_ONLY:
        s.answers[side, cell] = HIT + p.sizes.shape[0] + 1
        s.told_afloat[side, s.afloat[target]] = 0
        return
    s.told_afloat[side, ship] = 0
    if p.sunk == SUNK_KIND:
        s.answers[side, cell] = HIT + ship + 1
        return
    place = np.int64(s.places[target, ship])
    first, stride = place % p.cells, placement_stride(p, place)
    for k in range(p.sizes[ship]):
        s.answers[side, first + k * stride] = HIT + ship + 1


@kernel
def step(s, p, action):
    side = np.int64(s.to_move)
    ships = p.sizes.shape[0]
    if s.placed[side] < ships:
        ship = np.int64(s.placed[side])
        put_ship(s, p, side, ship, action)
        if ship + 1 == ships:
            s.to_move = 1 - side
        return
    hit = shoot(s, p, side, action)
    if s.afloat[1 - side] == 0:
        s.rewards[side] = 1
        s.rewards[1 - side] = -1
        s.terminated = 1
    if not (hit and p.hit_again != 0):
        s.to_move = 1 - side


@kernel
def observe(s, p, player, out):
    answers, told, fleet, unhit = s.answers[player], s.told_afloat[player], s.fleet[player], s.unhit[player]
    incoming = s.answers[1 - player]
    cells, ships = plane_size(s), np.uint64(p.sizes.shape[0])
    for cell in range(cells):
        out[cell] = answers[cell] == MISS
    at = cells
    for cell in range(cells):
        out[at + cell] = answers[cell] >= HIT
    at += cells
    for cell in range(cells):
        out[at + cell] = max(answers[cell] - HIT, 0)
    at += cells
    for ship in range(ships):
        out[at + ship] = told[ship]
    at += ships
    if at == np.uint64(out.shape[0]):
        return  # the one-sided game has no more channels
    for cell in range(cells):
        out[at + cell] = fleet[cell]
    at += cells
    for cell in range(cells):
        out[at + cell] = incoming[cell] != 0
    at += cells
    for ship in range(ships):
        out[at + ship] = unhit[ship] > 0
    at += ships
    for ship in range(ships):
        out[at + ship] = s.placed[player] == ship


@kernel
def hide(s, p, player):
    other = 1 - player
    for cell in range(p.cells):
        s.fleet[other, cell] = 0
    for ship in range(p.sizes.shape[0]):
        s.unhit[other, ship] = 0
        s.places[other, ship] = -1
    s.rng_key = np.uint64(0)
    s.rng_counter = np.uint64(0)


@kernel
def resample(s, p, player):
    other = 1 - player
    placed = np.int64(s.placed[other])
    draw_hidden_fleet(s, p, player, placed)
    s.placed[other] = 0
    for ship in range(placed):
        put_ship(s, p, other, ship, s.places[other, ship])
        place = np.int64(s.places[other, ship])
        cell, stride = place % p.cells, placement_stride(p, place)
        for _ in range(p.sizes[ship]):
            s.unhit[other, ship] -= is_hit(s, player, cell)
            cell += stride
