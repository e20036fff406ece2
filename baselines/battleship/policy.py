"""The classical battleship agents as one kernel; an agent's settings stand in its memory."""

from __future__ import annotations

import numpy as np

from asobiba.baselines.battleship.exact_count import MAX_CELLS, count_fleets, has_bit, set_bit
from asobiba.baselines.battleship.hunt import mark_undetermined, neighbourhood, search, settle
from asobiba.core import kernel, random_below, random_legal
from asobiba.envs.battleship.placement import draw_fleet
from asobiba.envs.battleship.record import SUNK_ONLY, is_shot

RANDOM, NEIGHBOURHOOD, CHECKERBOARD, COUNTING, EXACT = 0, 1, 2, 3, 4
MAX_SHIPS = 32
MEMORY = [
    ("attack", np.int64),
    ("threshold", np.int64),  # MPx, LAx: count from so many undetermined cells on
    ("ships", np.int64),  # and with at most so many ships afloat
    ("look", np.int64),  # shots of look-ahead; 1: MP
    ("prune", np.int64),  # cells tried at every level of the look-ahead
    ("largest_first", np.int64),  # in a set of the checkerboard, first the cells where the largest ship afloat fits
    ("placement", np.int64),
    ("apart", np.int64),
    ("pack_x", np.int64),
    ("pack_y", np.int64),
    ("row_offset", np.int64),
    ("column_offset", np.int64),
    ("begun", np.int8),
    ("planned", np.int8),
    ("plan", np.int16, (MAX_SHIPS,)),
    ("settled", np.int8, (26 * 26,)),
    ("undetermined", np.int8, (26 * 26,)),
    ("opened", np.int8),  # whether `opening` holds the counts of a board that was not shot at yet
    ("opening", np.int64, (MAX_CELLS,)),
]


@kernel
def _best_cells(s, p, side, misses, squares, wanted, best):
    # The `wanted` cells not shot at (nor assumed to be misses) that most fleets cover; returns how many there are.
    found = 0
    for cell in range(p.cells):
        if is_shot(s, side, cell) or has_bit(misses, cell) or squares[cell] == 0:
            continue
        if found < wanted:
            found += 1
        elif squares[cell] <= squares[best[found - 1]]:
            continue
        k = found - 1
        while k > 0 and squares[best[k - 1]] < squares[cell]:
            best[k] = best[k - 1]
            k -= 1
        best[k] = cell
    return found


@kernel
def fewest_left(s, p, side, misses, look, prune):
    """The fewest fleets left if the next `look` shots all miss, searching `prune` cells at each level but the last."""
    squares = np.empty(p.cells, np.int64)
    total = count_fleets(s, p, side, True, misses, squares)
    best = np.empty(max(prune, 1), np.int64)
    if look <= 1:
        found = _best_cells(s, p, side, misses, squares, 1, best)
        return total - squares[best[0]] if found > 0 else total
    fewest = total
    found = _best_cells(s, p, side, misses, squares, prune, best)
    for k in range(found):
        assumed = misses.copy()
        set_bit(assumed, best[k])
        fewest = min(fewest, fewest_left(s, p, side, assumed, look - 1, prune))
    return fewest


@kernel
def _most_covered(s, p, side, memory, squares):
    chosen, count, most = -1, 0, 0
    for cell in range(p.cells):
        if not is_shot(s, side, cell) and squares[cell] > 0 and squares[cell] >= most:
            if squares[cell] > most:
                most, count = squares[cell], 0
            count += 1
            if random_below(memory, count) == 0:
                chosen = cell
    return chosen


@kernel
def _by_counting(s, p, side, memory, exact):
    # The cell that leaves the fewest fleets if the shot (or the shots looked ahead) should miss, or -1.
    squares = np.empty(p.cells, np.int64)
    misses = np.zeros(2, np.uint64)
    opening = exact and s.shots[side] == 0
    if opening and memory.opened != 0:
        for cell in range(p.cells):
            squares[cell] = memory.opening[cell]
    else:
        count_fleets(s, p, side, not exact, misses, squares)
    if opening and memory.opened == 0:
        for cell in range(p.cells):
            memory.opening[cell] = squares[cell]
        memory.opened = 1
    if memory.look <= 1 or exact:
        return _most_covered(s, p, side, memory, squares)
    best = np.empty(max(memory.prune, 1), np.int64)
    found = _best_cells(s, p, side, misses, squares, memory.prune, best)
    chosen, fewest = -1, np.int64(0)
    for k in range(found):
        misses[0] = misses[1] = np.uint64(0)
        set_bit(misses, best[k])
        left = fewest_left(s, p, side, misses, memory.look - 1, memory.prune)
        if chosen < 0 or left < fewest:
            chosen, fewest = best[k], left
    return chosen


@kernel
def choose_shot_hunting(s, p, side, legal, memory):
    """The cell that R, RNB or CB shoots at."""
    settled = memory.settled
    settle(s, p, side, settled)
    if memory.attack != RANDOM:
        cell = neighbourhood(s, p, side, memory, settled)
        if cell >= 0:
            return cell
    mark_undetermined(s, p, side, settled, memory.largest_first != 0, memory.undetermined)
    return search(p, legal, memory, memory.attack >= CHECKERBOARD, memory.undetermined)


@kernel
def choose_shot(s, p, side, legal, memory):
    """The cell that any of the attack strategies shoots at."""
    countable = p.cells <= MAX_CELLS
    if memory.attack == EXACT and countable:
        cell = _by_counting(s, p, side, memory, True)
        if cell >= 0:
            return cell
    settled = memory.settled
    settle(s, p, side, settled)
    if memory.attack != RANDOM:
        cell = neighbourhood(s, p, side, memory, settled)
        if cell >= 0:
            return cell
    undetermined = mark_undetermined(s, p, side, settled, memory.largest_first != 0, memory.undetermined)
    if memory.attack >= COUNTING and countable and s.afloat[1 - side] <= memory.ships:
        if undetermined <= memory.threshold:
            cell = _by_counting(s, p, side, memory, p.sunk == SUNK_ONLY)
            if cell >= 0:
                return cell
    return search(p, legal, memory, memory.attack >= CHECKERBOARD, memory.undetermined)


@kernel
def choose_placement(s, p, side, legal, memory):
    """The next ship of the fleet that the placement strategy drew at its first ship."""
    ships = p.sizes.shape[0]
    if ships > MAX_SHIPS:
        return random_legal(memory, legal)
    if memory.planned == 0:
        draw_fleet(memory, p, memory.placement, memory.apart != 0, memory.pack_x, memory.pack_y, memory.plan[:ships])
        memory.planned = 1
    place = np.int64(memory.plan[s.placed[side]])
    return place if legal[place] != 0 else random_legal(memory, legal)


@kernel
def _begin(memory):
    if memory.begun == 0:
        memory.begun = 1
        memory.row_offset = random_below(memory, 4)
        memory.column_offset = random_below(memory, 4)


@kernel
def play_hunting(view, p, legal, memory):
    """The policy of R, RNB and CB; without the counting, it compiles in a fraction of the time of `play`."""
    side = np.int64(view.to_move)
    if view.placed[side] < p.sizes.shape[0]:
        return choose_placement(view, p, side, legal, memory)
    _begin(memory)
    return choose_shot_hunting(view, p, side, legal, memory)


@kernel
def play(view, p, legal, memory):
    """The policy of all classical battleship agents."""
    side = np.int64(view.to_move)
    if view.placed[side] < p.sizes.shape[0]:
        return choose_placement(view, p, side, legal, memory)
    _begin(memory)
    return choose_shot(view, p, side, legal, memory)
