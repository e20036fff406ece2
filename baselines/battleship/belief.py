"""Where the opponent's ships are believed to lie: belief propagation over the placements of each ship.

Every ship has a distribution over its placements: what the answers allow, times a prior weight. Ships and cells exchange
messages: on a cell that was hit lies exactly one ship, on any other at most one. With odds `o` that a ship is believed to
lie on a cell by all other messages, the weight of a placement is multiplied for each of its cells by `1 / sum(o)` (hit)
or `1 / (1 + sum(o))`, the sums over the other ships. That is the sum-product algorithm for these constraints (Kschischang,
Frey and Loeliger, "Factor graphs and the sum-product algorithm", 2001), exact where the graph has no loops and an
approximation here; a round costs some microseconds where exact counting costs up to a second.

No exponential or logarithm is taken: the same bytes come out on every machine.
"""

from __future__ import annotations

import numpy as np

from asobiba.core import kernel, random_below, random_legal, random_uniform
from asobiba.envs.battleship.placement import clash, draw_fleet, fits_board, placement_stride
from asobiba.envs.battleship.record import is_hit, is_shot
from asobiba.envs.battleship.resampling import placement_told

ROUNDS = 4
"""Rounds of messages. More do not save shots."""
MAX_WEIGHTS = 1000
"""Prior weights that an agent has room for: five ships on 100 cells, across and down."""
MAX_SHIPS = 32
MEMORY = [
    ("weights", np.float64, (MAX_WEIGHTS,)),  # of the placements of each ship, across and down
    ("weighted", np.int8),  # whether there are any
    ("expects", np.int8),  # whether a search expects fleets by these weights
    ("touch", np.float64),
    ("slack", np.float64),  # shots are drawn from the cells whose chance is at most this share below the best
    ("hides", np.int8),  # whether fleets are drawn by the weights, else by the placement strategy
    ("placement", np.int64),
    ("apart", np.int64),
    ("pack_x", np.int64),
    ("pack_y", np.int64),
    ("planned", np.int8),
    ("plan", np.int16, (MAX_SHIPS,)),
]
MOST_EDGES = 6
"""Edges between cells of different ships that count in a fleet's probability."""
_LEAST = 1e-9
_MOST_TRIES = 200_000


@kernel
def _fitting(s, p, side, weights, weighted, start, first, stride, prior):
    # Lists each ship's placements that fit the answers, with their prior weights; without a prior where it allows none.
    cells, found = np.int64(p.cells), 0
    for ship in range(p.sizes.shape[0]):
        start[ship] = found
        for pass_ in range(2):
            use = weighted and pass_ == 0
            for place in range(2 * cells):
                weight = np.float64(weights[ship * 2 * cells + place]) if use else 1.0
                if weight > 0.0 and placement_told(s, p, side, ship, place) >= 0:
                    first[found], stride[found] = place % cells, placement_stride(p, place)
                    prior[found] = weight
                    found += 1
            if found > start[ship]:
                break
    start[p.sizes.shape[0]] = found


@kernel
def _beside(near, ship, at, stride, size, width):
    # Product of `near` over the cells beside a placement, edge to edge; `near` has a margin of one cell.
    across = width if stride == 1 else 1
    product = near[ship, at - stride] * near[ship, at + size * stride]
    for k in range(size):
        product *= near[ship, at + k * stride - across] * near[ship, at + k * stride + across]
    return product


@kernel
def _answer(s, p, side, odds, on, touch, ratio, near):
    # The cells' messages to the ships: what lying on a cell, and beside it, multiplies a placement's weight by.
    ships = p.sizes.shape[0]
    for cell in range(p.cells):
        hit = is_hit(s, side, cell)
        beside = cell + (cell // p.width) * 2 + p.width + 3
        for ship in range(ships):
            others, lying = 0.0, 0.0
            for other in range(ships):
                if other != ship:
                    others += odds[other, cell]
                    lying += on[other, cell]
            ratio[ship, cell] = 1.0 / max(others, _LEAST) if hit else 1.0 / (1.0 + others)
            near[ship, beside] = 1.0 - (1.0 - touch) * min(lying, 1.0)


@kernel
def _weigh(p, ship, start, first, stride, prior, ratio, near, touches, on):
    # Adds the weight of each placement of a ship to its cells; returns their sum.
    size, total, width = np.int64(p.sizes[ship]), 0.0, np.int64(p.width)
    for n in range(start[ship], start[ship + 1]):
        cell, step, weight = first[n], stride[n], prior[n]
        for k in range(size):
            weight *= ratio[ship, cell + k * step]
        if touches:
            at = cell + (cell // width) * 2 + width + 3
            weight *= max(_beside(near, ship, at, 1 if step == 1 else width + 2, size, width + 2), _LEAST)
        total += weight
        for k in range(size):
            on[ship, cell + k * step] += weight
    return total


@kernel
def believe(s, p, side, weights, weighted, touch, rounds, on):
    """Writes how likely each ship of the opponent is believed to lie on each cell, by all that `side` was told.

    Args:
        weights: prior weight of each placement of each ship, `weights[(ship * 2) * cells + placement]`.
        weighted: whether to use them; else all placements weigh the same.
        touch: factor of a fleet's probability for every edge between cells of different ships; 1 where touching makes no
            difference.
        on: `(ships, cells)` float64, written.
    """
    ships, cells = p.sizes.shape[0], np.int64(p.cells)
    start = np.empty(ships + 1, np.int64)
    first, stride = np.empty(2 * ships * cells, np.int64), np.empty(2 * ships * cells, np.int64)
    prior = np.empty(2 * ships * cells, np.float64)
    _fitting(s, p, side, weights, weighted, start, first, stride, prior)
    odds, ratio = np.zeros((ships, cells)), np.ones((ships, cells))
    near = np.ones((ships, (np.int64(p.width) + 2) * (np.int64(p.height) + 2)))
    for step in range(rounds + 1):
        for ship in range(ships):
            for cell in range(cells):
                on[ship, cell] = 0.0
            total = _weigh(
                p, ship, start, first, stride, prior, ratio=ratio, near=near, touches=touch != 1.0, on=on
            )  # fmt: skip
            for cell in range(cells):
                if on[ship, cell] > 0.0:
                    away = max(total - on[ship, cell], _LEAST * total)
                    told = on[ship, cell] / (ratio[ship, cell] * away)
                    odds[ship, cell] = told if step == 0 else 0.5 * (odds[ship, cell] + told)
                    on[ship, cell] /= total
                else:
                    odds[ship, cell] = 0.0
        if step < rounds:
            _answer(s, p, side, odds, on, touch, ratio, near)


@kernel
def choose_shot(s, p, side, legal, memory):
    """A cell that is believed likeliest to be hit, or one of those whose chance is at most the share `slack` below."""
    ships, cells = p.sizes.shape[0], np.int64(p.cells)
    on = np.empty((ships, cells))
    expects = memory.expects != 0
    believe(s, p, side, memory.weights, expects, memory.touch if expects else 1.0, ROUNDS, on)
    best = 0.0
    for cell in range(cells):
        if is_shot(s, side, cell):
            on[0, cell] = 0.0
            continue
        for ship in range(1, ships):
            on[0, cell] += on[ship, cell]
        best = max(best, on[0, cell])
    chosen, count, least = -1, 0, best * (1.0 - memory.slack)
    for cell in range(cells):
        if best > 0.0 and on[0, cell] >= least and on[0, cell] > 0.0:
            count += 1
            if random_below(memory, count) == 0:
                chosen = cell
    return chosen if chosen >= 0 else random_legal(memory, legal)


@kernel
def edges_between(p, places, ship):
    """Edges between cells of `ship` and cells of ships 0 to `ship` - 1; -1 if it clashes with one of them."""
    edges = 0
    for other in range(ship):
        if clash(p, places[other], p.sizes[other], places[ship], p.sizes[ship], p.touching):
            return -1
        stride, stride_other = placement_stride(p, places[ship]), placement_stride(p, places[other])
        for k in range(p.sizes[ship]):
            a = places[ship] % p.cells + k * stride
            for m in range(p.sizes[other]):
                b = places[other] % p.cells + m * stride_other
                rows = abs(a // p.width - b // p.width)
                columns = abs(a % p.width - b % p.width)
                edges += rows + columns == 1
    return edges


@kernel
def _draw_place(record, p, weights, ship):
    # One placement of a ship, by its weights.
    cells, total = np.int64(p.cells), 0.0
    for place in range(2 * cells):
        total += weights[ship * 2 * cells + place]
    left, last = random_uniform(record) * total, -1
    for place in range(2 * cells):
        weight = np.float64(weights[ship * 2 * cells + place])
        if weight > 0.0:
            last = place
            if left < weight:
                return place
            left -= weight
    return last


@kernel
def draw_weighted(record, p, weights, touch, places):
    """Draws a fleet with a probability in proportion to the product of its placements' weights and of `touch` for every edge
    between cells of different ships, of which `MOST_EDGES` count; by rejection."""
    ships, most = places.shape[0], max(touch, 1.0)
    for _ in range(_MOST_TRIES):
        edges, fits = 0, True
        for ship in range(ships):
            places[ship] = _draw_place(record, p, weights, ship)
            between = -1
            if places[ship] >= 0 and fits_board(p, places[ship], p.sizes[ship]):
                between = edges_between(p, places, ship)
            if between < 0:
                fits = False
                break
            edges += between
        if not fits:
            continue
        for edge in range(MOST_EDGES):
            factor = touch if edge < edges else 1.0
            if factor < most and random_uniform(record) * most >= factor:
                fits = False
                break
        if fits:
            return
    draw_fleet(record, p, 0, False, 0, 0, places)


@kernel
def _choose_placement(s, p, side, legal, memory):
    # The next ship of the fleet that was drawn at the first ship.
    ships = p.sizes.shape[0]
    if ships > MAX_SHIPS:
        return random_legal(memory, legal)
    if memory.planned == 0:
        plan = memory.plan[:ships]
        if memory.hides != 0 and memory.weighted != 0:
            draw_weighted(memory, p, memory.weights, memory.touch, plan)
        else:
            draw_fleet(memory, p, memory.placement, memory.apart != 0, memory.pack_x, memory.pack_y, plan)
        memory.planned = 1
    place = np.int64(memory.plan[s.placed[side]])
    return place if legal[place] != 0 else random_legal(memory, legal)


@kernel
def play(view, p, legal, memory):
    """The policy of agents that search by belief."""
    side = np.int64(view.to_move)
    if view.placed[side] < p.sizes.shape[0]:
        return _choose_placement(view, p, side, legal, memory)
    return choose_shot(view, p, side, legal, memory)
