"""Exact counting against published numbers and against plain enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from asobiba.baselines.battleship.counting import count_placements, knowledge
from asobiba.core import GameParameterError, NotationError, PositionError, game
from asobiba.core.states import legal_actions, new_state, observation, step

# Number of fleets on the empty board, the two ships of 3 told apart, and per cell divided by 2 in units of 10^9 from
# the centre (A) to the corner (O): "Evaluation of Attacking and Placing Strategies in a Classic Battleship Game",
# Figure 5 and Section 4 (1.5 x 10^10 with the ships of 3 not told apart).
TOTAL = 30_093_975_536
FIGURE_5 = "3.21 3.14 3.06 3.00 2.92 2.77 2.77 2.67 2.51 2.49 2.39 2.16 2.15 1.73 1.20"


def attack(**parameters):
    return game("battleship_attack").ruleset(**parameters)


def test_the_empty_board_gives_the_published_numbers():
    rules = attack()
    count = count_placements(rules, new_state(rules, 0))
    assert count.total == TOTAL
    assert round(count.total / 2, -8) == 1.50e10 or abs(count.total / 2 - 1.5e10) < 0.05e9
    octant = sorted((count.over[r, c] / 2e9 for r in range(5) for c in range(r, 5)), reverse=True)
    assert [f"{value:.2f}" for value in octant] == FIGURE_5.split()
    assert count.over.sum() == 17 * TOTAL
    assert (count.over == count.over.T).all()


def plain_count(rules, state):
    """Enumerates all fleets with Python sets and asks each whether it would have given the same answers."""
    height, width = rules.parameters["height"], rules.parameters["width"]
    touching, told = rules.parameters["touching"], rules.parameters["sunk"]
    sizes = rules.parameters["fleet"]
    cells = [(r, c) for r in range(height) for c in range(width)]
    channels = rules.channels(observation(rules, state, 0))
    misses, hits, sinkings = (channels[name].reshape(height, width) for name in ("misses", "hits", "sinkings"))
    numbers = np.asarray(state["shot_number"][0]).reshape(height, width)
    shots = sorted((c for c in cells if misses[c] or hits[c]), key=lambda c: numbers[c])

    def options(size):
        for r, c in cells:
            for dr, dc in ((0, 1), (1, 0)) if size > 1 else ((0, 1),):
                if r + dr * (size - 1) < height and c + dc * (size - 1) < width:
                    yield frozenset((r + dr * k, c + dc * k) for k in range(size))

    def apart(a, b):
        for (r, c), (x, y) in itertools.product(a, b):
            gap = (abs(r - x), abs(c - y))
            if gap == (0, 0) or (touching == "never" and max(gap) <= 1) or (touching == "corners" and sum(gap) <= 1):
                return False
        return True

    def fits(fleet):
        left = [set(ship) for ship in fleet]
        marks = np.zeros((height, width), int)
        for cell in shots:
            on = [k for k, ship in enumerate(fleet) if cell in ship]
            if bool(on) != bool(hits[cell]):
                return False
            if on:
                left[on[0]].discard(cell)
                if not left[on[0]]:
                    for where in fleet[on[0]] if told == "place" else [cell]:
                        marks[where] = len(sizes) + 1 if told == "only" else on[0] + 1
        return (marks == sinkings).all()

    total, over = 0, np.zeros((height, width), int)

    def place(chosen):
        nonlocal total
        if len(chosen) == len(sizes):
            if fits(chosen):
                total += 1
                for ship in chosen:
                    for cell in ship:
                        over[cell] += 1
            return
        for option in options(sizes[len(chosen)]):
            if all(apart(option, other) for other in chosen):
                place([*chosen, option])

    place([])
    return total, over


@pytest.mark.parametrize(
    "parameters",
    [
        # Boards of 20 cells with three ships share one compiled engine.
        {"height": 5, "width": 4, "fleet": (4, 3, 2)},
        {"height": 5, "width": 4, "fleet": (3, 2, 2)},
        {"height": 2, "width": 10, "fleet": (2, 2, 1)},
        {"height": 5, "width": 4, "fleet": (3, 2, 2), "touching": "never"},
        {"height": 5, "width": 4, "fleet": (3, 2, 2), "touching": "corners"},
        {"height": 4, "width": 5, "fleet": (3, 2, 2), "sunk": "only"},
        {"height": 4, "width": 5, "fleet": (3, 2, 2), "sunk": "place"},
        pytest.param({"height": 2, "width": 5, "fleet": (2, 2, 1, 1, 1, 1)}, marks=pytest.mark.slow),
    ],
)
def test_random_knowledge_against_plain_enumeration(parameters):
    rules = attack(**parameters)
    generator = np.random.default_rng(5)
    for seed in range(2):
        state = new_state(rules, seed)
        asked = 0
        while not state["terminated"]:
            if generator.random() < 0.35:
                total, over = plain_count(rules, state)
                count = count_placements(rules, state)
                assert count.total == total
                assert (count.over == over).all()
                asked += 1
            state = step(rules, state, int(generator.choice(legal_actions(rules, state))))
        assert asked


def test_knowledge_from_answers():
    rules = attack(height=5, width=5, fleet=(3, 2))
    answers = [("B2", "miss"), ("C3", "hit"), ("D3", "sunk ship2"), ("C4", "hit")]
    # The ship of 2 lies on C3 and D3, so the hit on C4 belongs to the other: across A4-C4, B4-D4, C4-E4, or C4 is the
    # end of nothing down (C5 is the edge's cell: C4, C5 leave no third).
    count = count_placements(rules, knowledge(rules, answers))
    assert count.total == 3
    assert count.over[2].tolist() == [0, 0, 3, 3, 0]
    assert count.over[3].tolist() == [1, 2, 3, 2, 1]


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ([("Z9", "miss")], "is not a cell"),
        ([("A1", "splash")], "answers are: miss, hit, sunk ship1, sunk ship2"),
        ([("A1", "sunk")], "answers are"),
        ([("A1", "miss"), ("A1", "hit")], "shot at twice"),
        ([("A1", "sunk ship1"), ("A2", "sunk ship1")], "sunk twice"),
    ],
)
def test_answers_that_make_no_knowledge(answers, message):
    with pytest.raises((NotationError, PositionError), match=message):
        knowledge(attack(height=5, width=5, fleet=(3, 2)), answers)


def test_boards_that_are_too_large_are_refused():
    rules = attack(height=12, width=12)
    with pytest.raises(GameParameterError, match="at most 128 cells"):
        count_placements(rules, new_state(rules, 0))
