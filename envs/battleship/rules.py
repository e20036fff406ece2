"""The rules of battleship.

Each side has one row of `seen`, which is its observation, byte for byte, so that observing is a copy: planes of one
byte a cell (misses, hits, sinkings, own fleet, opponent's shots) and three lists of one byte a ship (opponent's ships
afloat, own ships afloat, the ship to be placed next); `record.py` has the offsets. `BattleshipAttack` shares this layout;
there, side 1 is nobody and only owns a fleet.
"""

from __future__ import annotations

import numpy as np

from asobiba.core import kernel
from asobiba.envs.battleship.fleet import (
    TOUCHING_ALLOWED,
    TOUCHING_CORNERS,
    complete_fleet,
    draw_fleet,
    placement_column,
    placement_row,
    placement_stride,
)
from asobiba.envs.battleship.record import (
    HITS,
    MISSES,
    SINKINGS,
    SUNK_KIND,
    SUNK_ONLY,
    afloat_at,
    fleet_at,
    incoming_at,
    own_afloat_at,
    placing_at,
)
from asobiba.envs.battleship.resampling import draw_hidden_fleet


@kernel
def put_ship(s, p, side, ship, place):
    """Ship number `ship` (from 0) of `side` is put at `place`."""
    s.places[side, ship] = place
    s.left[side, ship] = p.sizes[ship]
    s.seen[side, own_afloat_at(p) + ship] = 1
    cell, stride = place % p.cells, placement_stride(p, place)
    for _ in range(p.sizes[ship]):
        s.seen[side, fleet_at(p) + cell] = ship + 1
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
            s.seen[side, afloat_at(p) + ship] = 1
            s.places[side, ship] = -1
        s.afloat[side] = p.sizes.shape[0]
        if p.placement >= 0:
            deal(s, p, side)
        else:
            s.seen[side, placing_at(p)] = 1


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
    start = np.uint64(incoming_at(p))  # unsigned: an index that cannot be negative lets the loop run in vectors
    for cell in range(np.uint64(p.cells)):
        mask[cell] = s.seen[1 - side, start + cell] ^ np.int8(1)


@kernel
def legal(s, p, mask):
    if s.placed[s.to_move] < p.sizes.shape[0]:
        _legal_placements(s, p, mask)
    else:
        open_cells(s, p, s.to_move, mask)
        for place in range(np.uint64(p.cells), np.uint64(mask.shape[0])):
            mask[place] = 0


@kernel
def shoot(s, p, side, cell):
    """`side` shoots at a cell; tells whether that is a hit."""
    target = 1 - side
    s.shots[side] += 1
    s.shot_number[side, cell] = s.shots[side]
    s.seen[target, incoming_at(p) + cell] = 1
    ship = np.int64(s.seen[target, fleet_at(p) + cell]) - 1
    if ship < 0:
        s.seen[side, MISSES * p.cells + cell] = 1
        return False
    s.seen[side, HITS * p.cells + cell] = 1
    s.left[target, ship] -= 1
    if s.left[target, ship] == 0:
        _sink(s, p, side, ship, cell)
    return True


@kernel
def _sink(s, p, side, ship, cell):
    target, sinkings = 1 - side, SINKINGS * p.cells
    s.afloat[target] -= 1
    s.seen[target, own_afloat_at(p) + ship] = 0
    if p.sunk == SUNK_ONLY:
        s.seen[side, sinkings + cell] = p.sizes.shape[0] + 1
        s.seen[side, afloat_at(p) + s.afloat[target]] = 0
        return
    s.seen[side, afloat_at(p) + ship] = 0
    if p.sunk == SUNK_KIND:
        s.seen[side, sinkings + cell] = ship + 1
        return
    place = np.int64(s.places[target, ship])
    first, stride = place % p.cells, placement_stride(p, place)
    for k in range(p.sizes[ship]):
        s.seen[side, sinkings + first + k * stride] = ship + 1


@kernel
def step(s, p, action):
    side = np.int64(s.to_move)
    ships = p.sizes.shape[0]
    if s.placed[side] < ships:
        ship = np.int64(s.placed[side])
        put_ship(s, p, side, ship, action)
        s.seen[side, placing_at(p) + ship] = 0
        if ship + 1 < ships:
            s.seen[side, placing_at(p) + ship + 1] = 1
        else:
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
    for k in range(out.shape[0]):
        out[k] = s.seen[player, k]


@kernel
def hide(s, p, player):
    other = 1 - player
    for cell in range(p.cells):
        s.seen[other, fleet_at(p) + cell] = 0
    for ship in range(p.sizes.shape[0]):
        # In its place stands what the player was told.
        s.seen[other, own_afloat_at(p) + ship] = s.seen[player, afloat_at(p) + ship]
        s.left[other, ship] = 0
        s.places[other, ship] = -1
    s.rng_key = np.uint64(0)
    s.rng_counter = np.uint64(0)


@kernel
def resample(s, p, player):
    other = 1 - player
    placed = np.int64(s.placed[other])
    draw_hidden_fleet(s, p, player, placed)
    s.placed[other] = 0
    for ship in range(p.sizes.shape[0]):
        s.seen[other, own_afloat_at(p) + ship] = 0
    for ship in range(placed):
        put_ship(s, p, other, ship, s.places[other, ship])
        place = np.int64(s.places[other, ship])
        cell, stride = place % p.cells, placement_stride(p, place)
        for _ in range(p.sizes[ship]):
            s.left[other, ship] -= s.seen[player, HITS * p.cells + cell]
            cell += stride
        s.seen[other, own_afloat_at(p) + ship] = s.left[other, ship] > 0
