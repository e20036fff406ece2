"""Draws of hidden fleets where the rules deal them by a placement strategy."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest

from asobiba.core import game
from asobiba.core.states import is_over, new_state, resample, step, view_of

SIDE, SHIP, SHOTS = 4, 2, (5, 0, 3)
DRAWS = 3000


def cells_of(place: int, size: int = SHIP) -> list[tuple[int, int]]:
    down, cell = divmod(place, SIDE * SIDE)
    row, column = divmod(cell, SIDE)
    return [(row + k * down, column + k * (1 - down)) for k in range(size)]


def fleets(band: int, apart: bool) -> list[tuple[int, int]]:
    """All fleets of two ships of two cells, by a plain enumeration."""
    single = []
    for place in range(2 * SIDE * SIDE):
        cells = cells_of(place)
        if all(0 <= r < SIDE and 0 <= c < SIDE and min(r, c, SIDE - 1 - r, SIDE - 1 - c) < band for r, c in cells):
            single.append(place)
    found = []
    for pair in product(single, single):
        distance = min(abs(r - x) + abs(c - y) for r, c in cells_of(pair[0]) for x, y in cells_of(pair[1]))
        if distance > int(apart):
            found.append(pair)
    return found


@pytest.mark.parametrize(("placement", "band", "apart"), [("ed1", 1, False), ("rsp", SIDE, True), ("ed1sp", 1, True)])
def test_fleets_are_drawn_evenly_from_those_that_the_strategy_deals(placement, band, apart):
    ruleset = game("battleship_attack").ruleset(height=SIDE, width=SIDE, fleet=(SHIP, SHIP), placement=placement)
    state = new_state(ruleset, 1)
    for shot in SHOTS:
        state = step(ruleset, state, shot)
    told = {divmod(shot, SIDE): bool(state["answers"][0][shot] > 1) for shot in SHOTS}
    fitting = [
        pair
        for pair in fleets(band, apart)
        if all((cell in cells_of(pair[0]) + cells_of(pair[1])) == hit for cell, hit in told.items())
        and all(any(cell not in told for cell in cells_of(place)) for place in pair)  # none was announced sunk
    ]
    assert state["afloat"][1] == 2
    drawn = Counter(
        tuple(int(place) for place in resample(ruleset, state, 0, seed)["places"][1]) for seed in range(DRAWS)
    )
    assert set(drawn) == set(fitting)
    expected = DRAWS / len(fitting)
    chi_square = sum((drawn[pair] - expected) ** 2 / expected for pair in fitting)
    assert chi_square < len(fitting) + 5 * np.sqrt(2 * len(fitting))


def test_packed_fleets_are_drawn_inside_their_rectangle():
    ruleset = game("battleship_attack").ruleset(height=SIDE, width=SIDE, fleet=(3, 2, 2), placement="pk2x4")
    state = step(ruleset, new_state(ruleset, 1), 5)
    for seed in range(100):
        sizes, places = (3, 2), resample(ruleset, state, 0, seed)["places"][1]
        cells = [cell for size, place in zip(sizes, places, strict=False) for cell in cells_of(int(place), size)]
        spans = sorted(max(axis) - min(axis) + 1 for axis in zip(*cells, strict=True))
        assert spans[0] <= 2  # the smallest ship, the last, lies outside the rectangle
        assert spans[1] <= 4


def test_where_rejection_fails_some_fleet_that_fits_is_found():
    # A packed fleet that is dealt anew seldom fits 35 answers.
    ruleset = game("battleship_attack").ruleset(placement="pk2x10")
    dealt, outside = 0, 0
    for seed in range(20):
        state, shots = new_state(ruleset, seed), np.random.default_rng(seed).permutation(100)
        for shot in shots[:35]:
            if not is_over(state):
                state = step(ruleset, state, int(shot))
        if is_over(state):
            continue
        view = view_of(ruleset, state, 0)
        drawn = resample(ruleset, view, 0, 1000 + seed)
        assert view_of(ruleset, drawn, 0).tobytes() == view.tobytes(), "it fits all that was told"
        places, sizes = drawn["places"][1], ruleset.params["sizes"][0]
        cells = [
            [(place % 100 // 10 + k * (place // 100), place % 10 + k * (1 - place // 100)) for k in range(size)]
            for place, size in zip(places.tolist(), sizes.tolist(), strict=True)
        ]
        assert len({cell for ship in cells for cell in ship}) == sizes.sum(), "no two ships share a cell"
        dealt += 1
        packed = [cell for ship in cells[:-1] for cell in ship]
        spans = sorted(max(axis) - min(axis) + 1 for axis in zip(*packed, strict=True))
        outside += spans[0] > 2
    assert dealt >= 10
    assert outside > 0, "the fallback was never needed"
