"""Exact counting of the fleets that fit everything a side was told.

Ships are bit masks of at most 128 cells. The ways to cover all hits are gone through one by one; the ships that a way
leaves free are counted, not listed: for three sets of placements A, B, C the number of disjoint triples with a given a
follows by inclusion and exclusion from the numbers of clashing pairs, which bit sets over the placements give. Where
more than three ships are free, all placements of the ones with the fewest placements are gone through.
"""

from __future__ import annotations

import numpy as np

from asobiba.core import kernel
from asobiba.envs.battleship.placement import (
    TOUCHING_ALLOWED,
    TOUCHING_NEVER,
    fits_board,
    placement_stride,
)
from asobiba.envs.battleship.record import is_hit, told_afloat
from asobiba.envs.battleship.resampling import placement_told

MAX_CELLS = 128
_ZERO, _ONE = np.uint64(0), np.uint64(1)
_M1, _M2, _M4 = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333), np.uint64(0x0F0F0F0F0F0F0F0F)
_H01 = np.uint64(0x0101010101010101)
_S1, _S2, _S4, _S56 = np.uint64(1), np.uint64(2), np.uint64(4), np.uint64(56)


@kernel
def ones(x):
    """Number of bits set in a `uint64` (the compiler makes it one instruction)."""
    x = x - ((x >> _S1) & _M1)
    x = (x & _M2) + ((x >> _S2) & _M2)
    x = (x + (x >> _S4)) & _M4
    return np.int64((x * _H01) >> _S56)


@kernel
def lowest(x):
    """Number of the lowest bit set in a non-zero `uint64`."""
    return ones((x & (~x + _ONE)) - _ONE)


@kernel
def set_bit(mask, cell):
    """Sets a cell's bit in a mask of two `uint64`."""
    mask[cell >> 6] |= _ONE << np.uint64(cell & 63)


@kernel
def has_bit(mask, cell):
    """Whether a cell's bit is set in a mask of two `uint64`."""
    return (mask[cell >> 6] >> np.uint64(cell & 63)) & _ONE != _ZERO


@kernel
def _mask_placement(p, place, size, body, reach):
    # The ship's cells, and all cells that no other ship may use.
    cell, stride = place % p.cells, placement_stride(p, place)
    body[0] = body[1] = _ZERO
    for k in range(size):
        set_bit(body, cell + k * stride)
    reach[0], reach[1] = body[0], body[1]
    if p.touching == TOUCHING_ALLOWED:
        return
    for k in range(size):
        row, column = (cell + k * stride) // p.width, (cell + k * stride) % p.width
        for down in range(-1, 2):
            for right in range(-1, 2):
                if p.touching != TOUCHING_NEVER and down != 0 and right != 0:
                    continue
                if 0 <= row + down < p.height and 0 <= column + right < p.width:
                    set_bit(reach, (row + down) * p.width + column + right)


@kernel
def _meets(clash, a, available, first, last):
    # Number of the available placements with words first to last - 1 that clash with placement a.
    count = 0
    for w in range(first, last):
        count += ones(available[w] & clash[a, w])
    return count


@kernel
def _meets_both(clash, a, b, available, first, last):
    count = 0
    for w in range(first, last):
        count += ones(available[w] & clash[a, w] & clash[b, w])
    return count


@kernel
def _population(available, first, last):
    count = 0
    for w in range(first, last):
        count += ones(available[w])
    return count


@kernel
def _count_pairs(clash, start, i, j, available, weights):
    # Disjoint pairs of ships i and j; adds to each placement's weight the pairs it is in.
    number_i = _population(available, start[i], start[i + 1])
    number_j = _population(available, start[j], start[j + 1])
    total = 0
    for w in range(start[i], start[i + 1]):
        left = available[w]
        while left != _ZERO:
            a = w * 64 + lowest(left)
            left &= left - _ONE
            pairs = number_j - _meets(clash, a, available, start[j], start[j + 1])
            weights[a] += pairs
            total += pairs
    for w in range(start[j], start[j + 1]):
        left = available[w]
        while left != _ZERO:
            b = w * 64 + lowest(left)
            left &= left - _ONE
            weights[b] += number_i - _meets(clash, b, available, start[i], start[i + 1])
    return total


@kernel
def _count_triples(clash, start, i, j, k, available, meets, both, weights):
    """Disjoint triples of placements of ships i, j, k; adds to each placement's weight the triples it is in."""
    ships = (i, j, k)
    number = (
        _population(available, start[i], start[i + 1]),
        _population(available, start[j], start[j + 1]),
        _population(available, start[k], start[k + 1]),
    )
    if number[0] == 0 or number[1] == 0 or number[2] == 0:
        return 0
    # meets[x, a]: how many placements of the x-th of the three clash with placement a of another.
    crossed_ij, crossed_ik, crossed_jk = 0, 0, 0
    for x in range(3):
        for w in range(start[ships[x]], start[ships[x] + 1]):
            left = available[w]
            while left != _ZERO:
                a = w * 64 + lowest(left)
                left &= left - _ONE
                both[a] = 0
                for y in range(3):
                    if y != x:
                        meets[y, a] = _meets(clash, a, available, start[ships[y]], start[ships[y] + 1])
                if x == 0:
                    crossed_ij += meets[1, a]
                    crossed_ik += meets[2, a]
                elif x == 1:
                    crossed_jk += meets[2, a]
    # both[a]: pairs of the other two ships that clash with a and with each other.
    for w in range(start[i], start[i + 1]):
        left = available[w]
        while left != _ZERO:
            a = w * 64 + lowest(left)
            left &= left - _ONE
            for v in range(start[j], start[j + 1]):
                near = available[v] & clash[a, v]
                while near != _ZERO:
                    b = v * 64 + lowest(near)
                    near &= near - _ONE
                    mutual = _meets_both(clash, a, b, available, start[k], start[k + 1])
                    both[a] += mutual
                    both[b] += mutual
            for v in range(start[k], start[k + 1]):
                near = available[v] & clash[a, v]
                while near != _ZERO:
                    c = v * 64 + lowest(near)
                    near &= near - _ONE
                    both[c] += _meets_both(clash, a, c, available, start[j], start[j + 1])
    total = 0
    for x in range(3):
        y, z = (1, 2) if x == 0 else (0, 2) if x == 1 else (0, 1)
        crossed = crossed_jk if x == 0 else crossed_ik if x == 1 else crossed_ij
        first, second = ships[y], ships[z]
        for w in range(start[ships[x]], start[ships[x] + 1]):
            left = available[w]
            while left != _ZERO:
                a = w * 64 + lowest(left)
                left &= left - _ONE
                kept = crossed + both[a]
                for v in range(start[first], start[first + 1]):
                    near = available[v] & clash[a, v]
                    while near != _ZERO:
                        kept -= meets[z, v * 64 + lowest(near)]
                        near &= near - _ONE
                for v in range(start[second], start[second + 1]):
                    near = available[v] & clash[a, v]
                    while near != _ZERO:
                        kept -= meets[y, v * 64 + lowest(near)]
                        near &= near - _ONE
                triples = (number[y] - meets[y, a]) * (number[z] - meets[z, a]) - kept
                weights[a] += triples
                if x == 0:
                    total += triples
    return total


@kernel
def _count_free(clash, start, free, levels, chosen, left_words, meets, both, weights):
    """Disjoint choices of one available placement per free ship, by `levels[0]`; adds to the weights. Returns the number."""
    words = levels.shape[1]
    ships = free.shape[0]
    if ships == 0:
        return 1
    if ships == 1:
        i = free[0]
        for w in range(start[i], start[i + 1]):
            left = levels[0, w]
            while left != _ZERO:
                weights[w * 64 + lowest(left)] += 1
                left &= left - _ONE
        return _population(levels[0], start[i], start[i + 1])
    if ships == 2:
        return _count_pairs(clash, start, free[0], free[1], levels[0], weights)
    outer = ships - 3
    i, j, k = free[outer], free[outer + 1], free[outer + 2]
    if outer == 0:
        return _count_triples(clash, start, i, j, k, levels[0], meets, both, weights)
    # sums[d] (in chosen[1]) is what was counted below depth d so far.
    total, depth = 0, 0
    chosen[0, 0] = start[free[0]]
    left_words[0] = levels[0, start[free[0]]]
    chosen[1, 0] = 0
    while depth >= 0:
        ship = free[depth]
        while left_words[depth] == _ZERO and chosen[0, depth] + 1 < start[ship + 1]:
            chosen[0, depth] += 1
            left_words[depth] = levels[depth, chosen[0, depth]]
        if left_words[depth] == _ZERO:
            below = chosen[1, depth]
            depth -= 1
            if depth >= 0:
                weights[chosen[2, depth]] += below
                chosen[1, depth] += below
            else:
                total = below
            continue
        a = chosen[0, depth] * 64 + lowest(left_words[depth])
        left_words[depth] &= left_words[depth] - _ONE
        for w in range(words):
            levels[depth + 1, w] = levels[depth, w] & ~clash[a, w]
        if depth + 1 == outer:
            below = _count_triples(clash, start, i, j, k, levels[outer], meets, both, weights)
            weights[a] += below
            chosen[1, depth] += below
        else:
            chosen[2, depth] = a
            depth += 1
            chosen[0, depth] = start[free[depth]]
            left_words[depth] = levels[depth, start[free[depth]]]
            chosen[1, depth] = 0
    return total


@kernel
def _write_hits(s, side, cells, hits):
    for cell in range(cells):
        if is_hit(s, side, cell):
            set_bit(hits, cell)


@kernel
def count_fleets(s, p, side, afloat_only, misses, squares):
    """Counts the fleets that fit all that `side` was told, and the cells they cover.

    Args:
        afloat_only: whether to count only the ships afloat, on cells not shot at, as if all hits were settled.
        misses: `(2,)` uint64, cells taken to be misses besides those told.
        squares: `(cells,)` int64, receives for every cell the number of fleets that cover it.

    Returns:
        The number of fleets.
    """
    ships, cells = p.sizes.shape[0], np.int64(p.cells)
    words_most = (2 * cells + 63) // 64
    most = ships * words_most * 64
    places = np.empty(most, np.int64)
    bodies = np.empty((most, 2), np.uint64)
    reaches = np.empty((most, 2), np.uint64)
    start = np.zeros(ships + 1, np.int64)
    counted = np.empty(ships, np.int64)
    cover_start = np.zeros(ships + 1, np.int64)
    available = np.zeros(ships * words_most, np.uint64)
    hits = np.zeros(2, np.uint64)
    body, reach = np.zeros(2, np.uint64), np.zeros(2, np.uint64)
    squares[:cells] = 0
    if not afloat_only:
        _write_hits(s, side, cells, hits)
    # Free placements first (bit sets, each ship from a word's start), then those that cover a hit.
    word, number, extra = 0, 0, 0
    cover_places = np.empty(most, np.int64)
    cover_bodies = np.empty((most, 2), np.uint64)
    cover_reaches = np.empty((most, 2), np.uint64)
    for ship in range(ships):
        if afloat_only and not told_afloat(s, side, ship):
            continue
        start[number], cover_start[number] = word, extra
        local = 0
        for place in range(2 * cells):
            covered = placement_told(s, p, side, ship, place)
            if covered < 0 or (afloat_only and covered > 0):
                continue
            _mask_placement(p, place, np.int64(p.sizes[ship]), body, reach)
            if (body[0] & misses[0]) != _ZERO or (body[1] & misses[1]) != _ZERO:
                continue
            if covered > 0:
                cover_places[extra] = place
                cover_bodies[extra, 0], cover_bodies[extra, 1] = body[0], body[1]
                cover_reaches[extra, 0], cover_reaches[extra, 1] = reach[0], reach[1]
                extra += 1
                continue
            index = word * 64 + local
            places[index] = place
            bodies[index, 0], bodies[index, 1] = body[0], body[1]
            reaches[index, 0], reaches[index, 1] = reach[0], reach[1]
            available[index >> 6] |= _ONE << np.uint64(index & 63)
            local += 1
        word += (local + 63) // 64
        counted[number] = ship
        number += 1
    start[number], cover_start[number] = word, extra
    weights = np.zeros(max(word * 64, 1), np.int64)
    cover_weights = np.zeros(max(extra, 1), np.int64)
    clash = np.zeros((max(word * 64, 1), max(word, 1)), np.uint64)
    for x in range(number):
        for y in range(x + 1, number):
            _fill_clashes(start, x, y, available, bodies, reaches, clash)
    total = _cover(
        p=p, number=number, counted=counted, start=start, available=available, bodies=bodies, clash=clash,
        weights=weights, cover_start=cover_start, cover_bodies=cover_bodies, cover_reaches=cover_reaches,
        cover_weights=cover_weights, hits=hits,
    )  # fmt: skip
    for x in range(number):
        size = np.int64(p.sizes[counted[x]])
        for w in range(start[x], start[x + 1]):
            left = available[w]
            while left != _ZERO:
                a = w * 64 + lowest(left)
                left &= left - _ONE
                _spread(p, places[a], size, weights[a], squares)
        for e in range(cover_start[x], cover_start[x + 1]):
            _spread(p, cover_places[e], size, cover_weights[e], squares)
    return total


@kernel
def _spread(p, place, size, weight, squares):
    cell, stride = place % p.cells, placement_stride(p, place)
    for k in range(size):
        squares[cell + k * stride] += weight


@kernel
def _fill_clashes(start, x, y, available, bodies, reaches, clash):
    for w in range(start[x], start[x + 1]):
        left = available[w]
        while left != _ZERO:
            a = w * 64 + lowest(left)
            left &= left - _ONE
            low, high = reaches[a, 0], reaches[a, 1]
            bit = _ONE << np.uint64(a & 63)
            for v in range(start[y], start[y + 1]):
                others = ones(available[v])
                for b in range(v * 64, v * 64 + others):
                    if (bodies[b, 0] & low) | (bodies[b, 1] & high) != _ZERO:
                        clash[a, v] |= _ONE << np.uint64(b & 63)
                        clash[b, w] |= bit


@kernel
def _cover(
    p, number, counted, start, available, bodies, clash, weights,
    cover_start, cover_bodies, cover_reaches, cover_weights, hits,
):  # fmt: skip
    """Goes through all ways to cover the hits with placements that cover some, and counts the free ships of each."""
    words = clash.shape[1]
    levels = np.zeros((number + 1, words), np.uint64)
    chosen = np.zeros((3, number + 1), np.int64)
    left_words = np.zeros(number + 1, np.uint64)
    meets = np.zeros((3, weights.shape[0]), np.int64)
    both = np.zeros(weights.shape[0], np.int64)
    free = np.zeros(number, np.int64)
    picks = np.full(number + 1, -1, np.int64)  # per depth, the covering placement tried now
    picked_ship = np.full(number + 1, -1, np.int64)
    used = np.zeros(number, np.uint8)
    bodies_below = np.zeros((number + 2, 2), np.uint64)  # union of the bodies chosen above this depth
    reaches_below = np.zeros((number + 2, 2), np.uint64)
    total, depth = 0, 0
    while depth >= 0:
        open_low = hits[0] & ~bodies_below[depth, 0]
        open_high = hits[1] & ~bodies_below[depth, 1]
        if open_low == _ZERO and open_high == _ZERO:
            found = _count_left(
                number=number, start=start, available=available, bodies=bodies, clash=clash, weights=weights,
                reach=reaches_below[depth], used=used, free=free, levels=levels, chosen=chosen,
                left_words=left_words, meets=meets, both=both,
            )  # fmt: skip
            total += found
            for d in range(depth):
                cover_weights[picks[d]] += found
            depth -= 1
        elif depth == number:
            depth -= 1
        elif picks[depth] < 0:
            picked_ship[depth] = 0
            picks[depth] = cover_start[0] - 1
            if _advance(
                depth=depth,
                number=number,
                used=used,
                picks=picks,
                picked_ship=picked_ship,
                cover_start=cover_start,
                cover_bodies=cover_bodies,
                bodies_below=bodies_below,
                reaches_below=reaches_below,
                hits=hits,
            ):
                _descend(depth, used, picks, picked_ship, cover_bodies, cover_reaches, bodies_below, reaches_below)
                depth += 1
                picks[depth] = -1
            else:
                picks[depth] = -1
                depth -= 1
            continue
        # Back at a depth whose choice was made: take it up and try the next one.
        while depth >= 0:
            used[picked_ship[depth]] = 0
            if _advance(
                depth=depth,
                number=number,
                used=used,
                picks=picks,
                picked_ship=picked_ship,
                cover_start=cover_start,
                cover_bodies=cover_bodies,
                bodies_below=bodies_below,
                reaches_below=reaches_below,
                hits=hits,
            ):
                _descend(depth, used, picks, picked_ship, cover_bodies, cover_reaches, bodies_below, reaches_below)
                depth += 1
                picks[depth] = -1
                break
            picks[depth] = -1
            depth -= 1
    return total


@kernel
def _advance(depth, number, used, picks, picked_ship, cover_start, cover_bodies, bodies_below, reaches_below, hits):
    """The next placement at this depth: of a ship not used, over the first open hit, clear of those chosen before."""
    low, high = hits[0] & ~bodies_below[depth, 0], hits[1] & ~bodies_below[depth, 1]
    if low != _ZERO:
        low, high = low & (~low + _ONE), _ZERO
    else:
        high &= ~high + _ONE
    pick = picks[depth] + 1
    ship = picked_ship[depth]
    while ship < number:
        if used[ship] == 0:
            pick = max(pick, cover_start[ship])
            while pick < cover_start[ship + 1]:
                body_low, body_high = cover_bodies[pick, 0], cover_bodies[pick, 1]
                if (body_low & low) | (body_high & high) != _ZERO:
                    if (body_low & reaches_below[depth, 0]) | (body_high & reaches_below[depth, 1]) == _ZERO:
                        picks[depth], picked_ship[depth] = pick, ship
                        return True
                pick += 1
        ship += 1
    return False


@kernel
def _descend(depth, used, picks, picked_ship, cover_bodies, cover_reaches, bodies_below, reaches_below):
    used[picked_ship[depth]] = 1
    for half in range(2):
        bodies_below[depth + 1, half] = bodies_below[depth, half] | cover_bodies[picks[depth], half]
        reaches_below[depth + 1, half] = reaches_below[depth, half] | cover_reaches[picks[depth], half]


@kernel
def _count_left(
    number, start, available, bodies, clash, weights, reach, used, free, levels, chosen, left_words, meets, both
):
    """Counts the placements of the ships not used that keep clear of `reach`, those with the fewest first."""
    ships = 0
    for ship in range(number):
        if used[ship] == 0:
            free[ships] = ship
            ships += 1
    for n in range(ships):
        ship = free[n]
        for w in range(start[ship], start[ship + 1]):
            word = available[w]
            for b in range(w * 64, w * 64 + ones(available[w])):
                if (bodies[b, 0] & reach[0]) | (bodies[b, 1] & reach[1]) != _ZERO:
                    word &= ~(_ONE << np.uint64(b & 63))
            levels[0, w] = word
    for n in range(1, ships):  # insertion sort by the number of placements
        ship = free[n]
        size = _population(levels[0], start[ship], start[ship + 1])
        m = n - 1
        while m >= 0 and _population(levels[0], start[free[m]], start[free[m] + 1]) > size:
            free[m + 1] = free[m]
            m -= 1
        free[m + 1] = ship
    for n in range(ships):
        if _population(levels[0], start[free[n]], start[free[n] + 1]) == 0:
            return 0
    return _count_free(clash, start, free[:ships], levels, chosen, left_words, meets, both, weights)


@kernel
def placements_bound(p):
    """Product of the ships' numbers of placements on an empty board (float): no count exceeds it."""
    bound = 1.0
    for ship in range(p.sizes.shape[0]):
        number = 0
        for place in range(2 * p.cells):
            number += fits_board(p, place, p.sizes[ship])
        bound *= number
    return bound
