"""Exact counting: how many fleets fit all that a side was told, in total and over every cell.

The hits are covered first, way by way: few ships can lie over a given hit. What is left is to count the arrangements of
the remaining ships on free water, which is done on bit sets of 128 cells: the ships are put into two groups of at
most two, whose arrangements are listed, and one single ship. For every pair of a first and a second group that do
not clash, the placements of the single ship are counted by shifting the free cells; these loops run in vector
registers. A second pass with the roles exchanged counts the single ship's own cells.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from asobiba.core import GameParameterError, Ruleset, compiled, kernel
from asobiba.envs.battleship.fleet import TOUCHING_ALLOWED, TOUCHING_CORNERS, placement_stride
from asobiba.envs.battleship.record import HITS
from asobiba.envs.battleship.resampling import placement_told

MAX_CELLS = 128
_GROUPED = 5  # ships that the two groups and the single ship hold
_ONE, _ZERO, _W63, _W64 = np.uint64(1), np.uint64(0), np.uint64(63), np.uint64(64)
_M1, _M2, _M4 = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333), np.uint64(0x0F0F0F0F0F0F0F0F)
_H1, _S1, _S2, _S4, _S56 = np.uint64(0x0101010101010101), np.uint64(1), np.uint64(2), np.uint64(4), np.uint64(56)


@kernel
def _popcount(x):
    x = x - ((x >> _S1) & _M1)
    x = (x & _M2) + ((x >> _S2) & _M2)
    x = (x + (x >> _S4)) & _M4
    return np.int64((x * _H1) >> _S56)


@kernel
def _set_bit(words, row, cell):
    words[row, cell >> 6] |= _ONE << np.uint64(cell & 63)


@kernel
def _mark_ship(p, place, size, words, row, margin):
    # Sets the bits of a placement; with `margin` also of the cells that it keeps others away from.
    cells, width, height = np.int64(p.cells), np.int64(p.width), np.int64(p.height)
    stride, cell = placement_stride(p, place), np.int64(place % p.cells)
    for _ in range(size):
        _set_bit(words, row, cell)
        if margin and p.touching != TOUCHING_ALLOWED:
            y, x = cell // width, cell % width
            for dy in range(-1, 2):
                for dx in range(-1, 2):
                    corner = dy != 0 and dx != 0
                    inside = 0 <= y + dy < height and 0 <= x + dx < width
                    if inside and not (corner and p.touching == TOUCHING_CORNERS):
                        _set_bit(words, row, cell + dy * width + dx)
        cell += stride
    return cells


@kernel
def _list_placements(s, p, side, places, hits, masks, halos, counts):
    # All placements of every ship by the answers: number, hits covered, cells and cells with margin (words 0 and 1).
    for ship in range(p.sizes.shape[0]):
        n = 0
        for place in range(2 * np.int64(p.cells)):
            told = placement_told(s, p, side, ship, place)
            if told >= 0:
                places[ship, n] = place
                hits[ship, n] = told
                for word in range(2):
                    masks[ship, n, word] = _ZERO
                    halos[ship, n, word] = _ZERO
                _mark_ship(p, place, np.int64(p.sizes[ship]), masks[ship], n, False)
                _mark_ship(p, place, np.int64(p.sizes[ship]), halos[ship], n, True)
                n += 1
        counts[ship] = n


@kernel
def _pair_up(first, first_halo, n_first, second, second_halo, n_second, same, masks, halos, members):
    # Lists all pairs of placements that do not clash; unordered ones where both ships are alike.
    n = 0
    for i in range(n_first):
        for j in range(i + 1 if same else 0, n_second):
            if (first_halo[0, i] & second[0, j]) | (first_halo[1, i] & second[1, j]) == _ZERO:
                masks[0, n] = first[0, i] | second[0, j]
                masks[1, n] = first[1, i] | second[1, j]
                halos[0, n] = first_halo[0, i] | second_halo[0, j]
                halos[1, n] = first_halo[1, i] | second_halo[1, j]
                members[0, n] = i
                members[1, n] = j
                n += 1
    return n


@kernel
def _run_steps(size):
    # Shifts (in cells) that narrow free cells to starts of free runs of `size` <= 8 cells: f & f>>a, then b, then c.
    a = 1 if size > 1 else 0
    b = min(size - 1 - a, 2)
    return a, b, size - 1 - a - b


@kernel
def _run_starts(lo, hi, a, b, c):
    # The first cells of free runs; a, b, c are bit shifts below 64.
    lo, hi = lo & ((lo >> a) | ((hi << (_W63 - a)) << _ONE)), hi & (hi >> a)
    lo, hi = lo & ((lo >> b) | ((hi << (_W63 - b)) << _ONE)), hi & (hi >> b)
    return lo & ((lo >> c) | ((hi << (_W63 - c)) << _ONE)), hi & (hi >> c)


@kernel
def _pass(halos_1, n_1, sums_1, masks_2, halos_2, n_2, sums_2, keep_2, starts, size, width):
    """Counts the single ship's placements beside all pairs of groups that do not clash.

    `sums_1`, and with `keep_2` also `sums_2`, receive the sums by member of the group. `starts` (2, 2) are the single
    ship's possible first cells, across and down. Returns the total.
    """
    total = 0
    steps = _run_steps(size)
    a, b, c = np.uint64(steps[0]), np.uint64(steps[1]), np.uint64(steps[2])
    down = np.uint64(width)
    ad, bd, cd = a * down, b * down, c * down
    across_lo, across_hi, down_lo, down_hi = starts[0, 0], starts[0, 1], starts[1, 0], starts[1, 1]
    for i in range(n_1):
        lo, hi = halos_1[0, i], halos_1[1, i]
        here = 0
        for j in range(n_2):
            f_lo, f_hi = ~(lo | halos_2[0, j]), ~(hi | halos_2[1, j])
            g_lo, g_hi = _run_starts(f_lo, f_hi, a, b, c)
            d_lo, d_hi = _run_starts(f_lo, f_hi, ad, bd, cd)
            n = _popcount(g_lo & across_lo) + _popcount(g_hi & across_hi)
            n += _popcount(d_lo & down_lo) + _popcount(d_hi & down_hi)
            clash = (lo & masks_2[0, j]) | (hi & masks_2[1, j])
            n = n if clash == _ZERO else 0
            here += n
            if keep_2:
                sums_2[j] += n
        sums_1[i] += here
        total += here
    return total


@kernel
def _starts_of(p, places, members, n, starts):
    # The bit set of first cells of the listed placements, across and down.
    starts[:] = _ZERO
    for k in range(n):
        place = places[members[k]]
        cell = np.int64(place % p.cells)
        starts[1 if place >= p.cells else 0, cell >> 6] |= _ONE << np.uint64(cell & 63)


@kernel
def _filter(ship, masks, halos, hits, counts, used, used_halo, out_masks, out_halos, members):
    # The placements of a ship on free water beside what is placed already.
    n = 0
    for k in range(counts[ship]):
        if hits[ship, k] == 0:
            m0, m1 = masks[ship, k, 0], masks[ship, k, 1]
            if (m0 & used_halo[0]) | (m1 & used_halo[1]) == _ZERO:
                out_masks[0, n], out_masks[1, n] = m0, m1
                out_halos[0, n], out_halos[1, n] = halos[ship, k, 0], halos[ship, k, 1]
                members[n] = k
                n += 1
    return n


@kernel
def _alike(a, b, places, hits, counts):
    # Whether two ships have the same size and were told the same about: every fleet comes with its exchange.
    if counts[a] != counts[b]:
        return False
    same = True
    for k in range(counts[a]):
        same = same and places[a, k] == places[b, k] and hits[a, k] == hits[b, k]
    return same


@kernel
def _roles(free, m, n, alike, role):
    """Orders the free ships: the single ship, one or two of the first group, then of the second. Tells whether the
    second group is a pair of like ships."""
    single = 0
    for k in range(1, m):
        if n[k] > n[single]:
            single = k
    role[0] = single
    left = 1
    for k in range(m):
        if k != single:
            role[left] = k
            left += 1
    if m < 4:
        return False
    for i in range(1, m):
        for j in range(i + 1, m):
            if alike[free[role[i]], free[role[j]]]:
                x, y = role[i], role[j]
                at = 1
                for k in range(1, m):
                    if k not in (i, j):
                        role[at] = role[k]
                        at += 1
                role[m - 2], role[m - 1] = x, y
                return True
    return False


@kernel
def _group(lists, halos, n, first, second, pair, like, masks_out, halos_out, members_out):
    # The arrangements of one ship, or of two.
    if pair:
        return _pair_up(
            lists[first],
            halos[first],
            n[first],
            lists[second],
            halos[second],
            n[second],
            like,
            masks_out,
            halos_out,
            members_out,
        )
    for k in range(n[first]):
        for word in range(2):
            masks_out[word, k] = lists[first, word, k]
            halos_out[word, k] = halos[first, word, k]
        members_out[0, k] = k
    return n[first]


@kernel
def _count_free(
    p, free, m, weight, places, lists, halos, members, n, alike, work, group_members, sums, acc, role, starts
):
    """Counts the arrangements of `m` <= 5 free ships on the listed placements; adds `weight` times the number of
    arrangements with a placement to `acc[ship, placement]`. Returns their number."""
    for k in range(m):
        if n[k] == 0:
            return 0
    if m == 0:
        return 1
    if m == 1:
        for k in range(n[0]):
            acc[free[0], members[0, k]] += weight
        return n[0]
    like = _roles(free, m, n, alike, role)
    single, one = role[0], role[1]
    masks_1, halos_1, masks_2, halos_2 = work[0], work[1], work[2], work[3]
    n_2 = 1
    factor = 2 if like else 1
    if m == 2:
        for word in range(2):
            masks_2[word, 0] = _ZERO
            halos_2[word, 0] = _ZERO
    else:
        n_2 = _group(
            lists,
            halos,
            n,
            role[m - 2] if m > 3 else role[2],
            role[m - 1],
            m > 3,
            like,
            masks_2,
            halos_2,
            group_members[1],
        )
    pair_1 = m == 5
    total = 0
    for second_pass in range(2):
        # First the sums of both groups beside the single ship, then those of the single ship, which takes the place of
        # the last ship of the first group; that one is the single ship then.
        last = role[2] if pair_1 else one
        alone = last if second_pass else single
        first = one if pair_1 else (single if second_pass else one)
        other = single if second_pass else last
        n_1 = _group(lists, halos, n, first, other, pair_1, False, masks_1, halos_1, group_members[0])
        sums[:, : max(n_1, n_2)] = 0
        ship = free[alone]
        _starts_of(p, places[ship], members[alone], n[alone], starts)
        found = factor * _pass(
            halos_1,
            n_1,
            sums[0],
            masks_2,
            halos_2,
            n_2,
            sums[1],
            second_pass == 0,
            starts,
            np.int64(p.sizes[ship]),
            np.int64(p.width),
        )
        if second_pass:
            for k in range(n_1):
                member = group_members[0, 1 if pair_1 else 0, k]
                acc[free[single], members[single, member]] += weight * factor * sums[0, k]
            break
        total = found
        for k in range(n_1):
            acc[free[first], members[first, group_members[0, 0, k]]] += weight * factor * sums[0, k]
            if pair_1:
                acc[free[other], members[other, group_members[0, 1, k]]] += weight * factor * sums[0, k]
        if m > 2:
            first_2 = role[m - 2] if m > 3 else role[2]
            for k in range(n_2):
                acc[free[first_2], members[first_2, group_members[1, 0, k]]] += weight * factor * sums[1, k]
                if m > 3:
                    last_2 = role[m - 1]
                    acc[free[last_2], members[last_2, group_members[1, 1, k]]] += weight * factor * sums[1, k]
    return total


@kernel
def count_fleets(s, p, side, over):
    """Counts the opponent's fleets that fit all the answers `side` got, with like ships told apart.

    Args:
        s, p: a state or view of battleship with at most 128 cells and ships of at most 8 cells, and its parameters.
        side: who was told.
        over: `(cells,)` int64, receives for every cell the number of fleets with a ship there.

    Returns:
        The number of fleets (`int64`).
    """
    ships, cells = p.sizes.shape[0], np.int64(p.cells)
    most = 2 * cells
    places = np.zeros((ships, most), np.int64)
    hits = np.zeros((ships, most), np.int64)
    masks = np.zeros((ships, most, 2), np.uint64)
    margin = np.zeros((ships, most, 2), np.uint64)
    counts = np.zeros(ships, np.int64)
    _list_placements(s, p, side, places, hits, masks, margin, counts)
    acc = np.zeros((ships, most), np.int64)
    alike = np.zeros((ships, ships), np.bool_)
    longest, second = 1, 1
    for a in range(ships):
        if counts[a] >= longest:
            longest, second = counts[a], longest
        elif counts[a] > second:
            second = counts[a]
        for b in range(ships):
            alike[a, b] = a != b and _alike(a, b, places, hits, counts)
    room = max(longest * second, most)
    work = np.zeros((4, 2, room), np.uint64)
    group_members = np.zeros((2, 2, room), np.int64)
    sums = np.zeros((2, room), np.int64)
    lists = np.zeros((_GROUPED, 2, most), np.uint64)
    halos = np.zeros((_GROUPED, 2, most), np.uint64)
    members = np.zeros((_GROUPED, most), np.int64)
    n = np.zeros(_GROUPED, np.int64)
    role = np.zeros(_GROUPED, np.int64)
    free = np.zeros(ships, np.int64)
    starts = np.zeros((2, 2), np.uint64)
    chosen = np.full(ships, -1, np.int64)  # the placement of each ship placed so far
    stack_ship = np.zeros(ships + 1, np.int64)
    stack_at = np.zeros(ships + 1, np.int64)
    stack_cell = np.zeros(ships + 1, np.int64)
    stack_only = np.zeros(ships + 1, np.int64)
    used = np.zeros((ships + 1, 2), np.uint64)
    used_halo = np.zeros((ships + 1, 2), np.uint64)
    weights = np.ones(ships + 1, np.int64)
    total = 0
    depth = 0
    entering = True
    while depth >= 0:
        if entering:
            # The first hit under no ship must be covered next.
            cell = 0
            while cell < cells and (
                s.seen[side, HITS * cells + cell] == 0
                or (used[depth, cell >> 6] >> np.uint64(cell & 63)) & _ONE != _ZERO
            ):
                cell += 1
            m = 0
            for ship in range(ships):
                if chosen[ship] < 0:
                    free[m] = ship
                    m += 1
            only = -1
            if cell == cells and m > _GROUPED:
                only = free[0]  # too many ships for the groups: this one is gone through
            if cell == cells and m <= _GROUPED:
                for k in range(m):
                    n[k] = _filter(
                        free[k],
                        masks,
                        margin,
                        hits,
                        counts,
                        used[depth],
                        used_halo[depth],
                        lists[k],
                        halos[k],
                        members[k],
                    )
                found = _count_free(
                    p,
                    free,
                    m,
                    weights[depth],
                    places,
                    lists,
                    halos,
                    members,
                    n,
                    alike,
                    work,
                    group_members,
                    sums,
                    acc,
                    role,
                    starts,
                )
                if found > 0:
                    total += weights[depth] * found
                    for ship in range(ships):
                        if chosen[ship] >= 0:
                            acc[ship, chosen[ship]] += weights[depth] * found
                depth -= 1
                entering = False
                continue
            stack_cell[depth], stack_only[depth] = cell, only
            stack_ship[depth], stack_at[depth] = 0, -1
            entering = False
        # The next placement at this depth.
        ship, at, cell, only = stack_ship[depth], stack_at[depth], stack_cell[depth], stack_only[depth]
        if at >= 0:
            chosen[ship] = -1
        at += 1
        advanced = False
        while ship < ships and not advanced:
            fitting = chosen[ship] < 0 and (only < 0 or ship == only)
            copies = 1
            if fitting and only < 0:
                for k in range(ships):
                    if chosen[k] < 0 and alike[ship, k]:
                        copies += 1
                        fitting = fitting and k > ship
            if fitting:
                while at < counts[ship]:
                    m0, m1 = masks[ship, at, 0], masks[ship, at, 1]
                    clash = (m0 & used_halo[depth, 0]) | (m1 & used_halo[depth, 1])
                    word = m0 if cell < 64 else m1
                    if only >= 0:
                        takes = hits[ship, at] == 0
                    else:
                        takes = (word >> np.uint64(cell & 63)) & _ONE != _ZERO
                    if takes and clash == _ZERO:
                        advanced = True
                        break
                    at += 1
            if advanced:
                chosen[ship] = at
                stack_ship[depth], stack_at[depth] = ship, at
                for k in range(2):
                    used[depth + 1, k] = used[depth, k] | masks[ship, at, k]
                    used_halo[depth + 1, k] = used_halo[depth, k] | margin[ship, at, k]
                weights[depth + 1] = weights[depth] * copies
                depth += 1
                entering = True
            else:
                ship += 1
                at = 0
        if not advanced:
            depth -= 1
    over[:] = 0
    for ship in range(ships):
        for k in range(counts[ship]):
            if acc[ship, k] != 0:
                cell, stride = np.int64(places[ship, k] % cells), placement_stride(p, places[ship, k])
                for _ in range(np.int64(p.sizes[ship])):
                    over[cell] += acc[ship, k]
                    cell += stride
    return total


@compiled()
def _count_one(states, params, side, over):
    return count_fleets(states[0], params[0], side, over)


@dataclass(frozen=True)
class FleetCount:
    """How many fleets fit.

    `total` is their number with like ships told apart; `over` `(height, width)` int64 counts those with a ship on a cell.
    """

    total: int
    over: np.ndarray

    @property
    def probability(self) -> np.ndarray:
        """`(height, width)` float64: how likely a ship is on each cell, all fitting fleets being equally likely."""
        return self.over / max(self.total, 1)


def check_countable(ruleset: Ruleset) -> None:
    """Raises `GameParameterError` unless the fleets of these rules can be counted on bit sets."""
    p = ruleset.params[0]
    sizes = np.asarray(p["sizes"])
    cells, width = int(p["cells"]), int(p["width"])
    if cells > MAX_CELLS or sizes.max() > 8:
        raise GameParameterError(
            f"exact counting takes boards of at most {MAX_CELLS} cells and ships of at most 8, not {cells} cells and "
            f"ships of {sizes.max()}"
        )
    if 4 * width > 63 and int(p["height"]) >= 5 and sizes.max() >= 5:
        raise GameParameterError(f"exact counting of ships of 5 and more takes boards at most 15 wide, not {width}")


def count_placements(ruleset: Ruleset, view: np.void, side: int = 0) -> FleetCount:
    """Counts the fleets of the opponent that fit everything `side` was told: misses, hits, which ship sank at which
    shot, and that the others did not sink.

    Args:
        ruleset: battleship or BattleshipAttack, with any of its rules; at most 128 cells, ships of at most 8.
        view: a state or a view of it.
        side: who was told.

    Raises:
        GameParameterError: for larger boards or ships.
    """
    check_countable(ruleset)
    states = ruleset.zeros()
    states[0] = view
    over = np.zeros(int(ruleset.params["cells"][0]), np.int64)
    total = int(_count_one(states, ruleset.params, side, over))
    p = ruleset.params[0]
    return FleetCount(total, over.reshape(int(p["height"]), int(p["width"])))
