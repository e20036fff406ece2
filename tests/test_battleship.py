"""Battleship: rules, hidden information, notation, bad input."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from record_tools import try_records

from asobiba.conformance import commuting
from asobiba.core import GameParameterError, NotationError, PositionError, game
from asobiba.core.states import new_state, observation, resample, seed_states, view_of
from asobiba.envs.battleship import ATTACK, GAME, draw, notation
from asobiba.envs.battleship.reference import ReferenceGame

SMALL = {"height": 5, "width": 6, "fleet": (3, 2, 2)}


class OpenGame:
    """A game on the table: its record `states` (1,) and the mask `masks` (1, actions)."""

    def __init__(self, ruleset, seed=0):
        self.ruleset = ruleset
        self.masks = np.zeros((1, ruleset.num_actions), np.int8)
        self.states = ruleset.zeros()
        self.states[0] = new_state(ruleset, seed)
        self.mask()

    def mask(self):
        self.ruleset.engine.write_masks(self.states, self.ruleset.params, self.masks)

    def step(self, action):
        actions = np.array([action])
        self.ruleset.engine.advance_all(self.states, self.ruleset.params, actions, self.masks)
        self.mask()

    def play(self, *moves):
        for move in moves:
            action = notation.text_to_action(self.ruleset, self.states[0], move)
            assert self.masks[0][action], f"{move} is illegal"
            self.step(action)


FLEET = (
    "carrier A1 across",
    "battleship A2 across",
    "transport A3 across",
    "submarine A4 across",
    "destroyer A5 across",
)


def placed(**parameters):
    table = OpenGame(GAME.ruleset(**parameters))
    table.play(*FLEET, *FLEET)
    return table


def test_placement_counts_of_an_empty_board():
    table = OpenGame(GAME.ruleset())
    assert table.masks.sum() == 120
    for size, legal in zip((5, 4, 3, 2), (120, 140, 160, 180), strict=True):
        assert OpenGame(GAME.ruleset(fleet=(size, 1, 1, 1, 1))).masks.sum() == legal


def test_answers_and_end():
    table = placed()
    assert table.masks.sum() == 100
    for column in "ABCDE":
        table.play(f"{column}1", f"{column}6")
    seen = table.ruleset.channels(observation(table.ruleset, table.states[0], 0))
    assert seen["hits"][0, 0].tolist() == [1] * 5 + [0] * 5
    assert seen["sinkings"].sum() == 1
    assert seen["sinkings"][0, 0, 4] == 1
    assert seen["afloat"].tolist() == [0, 1, 1, 1, 1]
    assert seen["misses"].sum() == 0
    other = table.ruleset.channels(observation(table.ruleset, table.states[0], 1))
    assert other["misses"].sum() == 5
    assert other["own_afloat"].tolist() == [0, 1, 1, 1, 1]
    rest = [f"{c}{r}" for r, n in zip((2, 3, 4, 5), (4, 3, 3, 2), strict=True) for c in "ABCDE"[:n]]
    for k, cell in enumerate(rest):
        table.play(cell)
        if k < len(rest) - 1:
            table.play(f"{'ABCDEFGHIJ'[k % 10]}{8 + k // 10}")
    state = table.states[0]
    assert state["terminated"]
    assert state["rewards"].tolist() == [1, -1]
    assert not table.masks.any()
    assert state["steps"] == 10 + 2 * 17 - 1


def test_a_hit_shoots_again():
    table = placed(hit_again=True)
    table.play("A1")
    assert table.states["to_move"][0] == 0
    table.play("J10")
    assert table.states["to_move"][0] == 1


@pytest.mark.parametrize(("sunk", "marks"), [("kind", {"B5": 5}), ("only", {"B5": 6}), ("place", {"A5": 5, "B5": 5})])
def test_what_is_told_of_a_sunk_ship(sunk, marks):
    table = placed(sunk=sunk)
    table.play("A5", "J1", "B5")
    seen = table.ruleset.channels(observation(table.ruleset, table.states[0], 0))
    found = {notation.cell_to_text(table.ruleset, c): v for c, v in enumerate(seen["sinkings"].ravel()) if v}
    assert found == marks
    assert seen["afloat"].sum() == 4
    assert seen["afloat"].tolist() == [1, 1, 1, 1, 0]


def _cells(ruleset, place, size):
    cells, width = int(ruleset.params["cells"][0]), int(ruleset.params["width"][0])
    down, cell = divmod(int(place), cells)
    return [cell + k * (width if down else 1) for k in range(size)]


def _near(a, b, width, corners):
    ra, ca, rb, cb = *divmod(a, width), *divmod(b, width)
    dr, dc = abs(ra - rb), abs(ca - cb)
    return max(dr, dc) <= 1 if corners else dr + dc <= 1


@pytest.mark.parametrize("touching", ["allowed", "corners", "never"])
def test_placement_mask_against_a_slow_count(touching):
    """On a small tight board the mask allows exactly the placements after which the fleet can be completed."""
    ruleset = GAME.ruleset(height=4, width=5, fleet=(4, 3, 2), touching=touching)
    sizes = [4, 3, 2]

    def compatible(a, b):
        if touching == "allowed":
            return not set(a) & set(b)
        return not any(_near(x, y, 5, touching == "never") for x in a for y in b)

    def options(size):
        found = {}
        for place in range(40):
            row, column = divmod(place % 20, 5)
            if (row + size <= 4) if place >= 20 else (column + size <= 5):
                found[place] = _cells(ruleset, place, size)
        return found

    def completable(chosen, ship):
        if ship == 3:
            return True
        return any(
            all(compatible(cells, other) for other in chosen) and completable([*chosen, cells], ship + 1)
            for cells in options(sizes[ship]).values()
        )

    rng = np.random.default_rng(0)
    for _ in range(12):
        table = OpenGame(ruleset)
        chosen = []
        for ship in range(3):
            expected = [
                place
                for place, cells in options(sizes[ship]).items()
                if all(compatible(cells, other) for other in chosen) and completable([*chosen, cells], ship + 1)
            ]
            assert np.flatnonzero(table.masks[0]).tolist() == expected
            action = int(rng.choice(expected))
            chosen.append(_cells(ruleset, action, sizes[ship]))
            table.step(action)


@pytest.mark.parametrize(
    ("parameters", "games"),
    [
        ({}, 1),
        ({"touching": "corners", "sunk": "only", "hit_again": True}, 1),
        ({"height": 4, "width": 5, "fleet": (4, 3, 2), "sunk": "place"}, 15),
        ({"height": 4, "width": 5, "fleet": (4, 3, 2), "touching": "never", "hit_again": True}, 15),
    ],
    ids=str,
)
def test_the_rules_and_the_reference_play_the_same_game(parameters, games):
    """Masks, answers, ships afloat, whose turn it is, and who wins: every action of random games."""
    table = OpenGame(GAME.ruleset(**parameters))
    width, rng, actions = int(table.ruleset.params["width"][0]), np.random.default_rng(4), 0
    for seed in range(games):
        table = OpenGame(table.ruleset, seed)
        reference = ReferenceGame(**parameters)
        ships = len(reference.sizes)
        while True:
            legal = np.flatnonzero(table.masks[0]).tolist()
            assert legal == reference.actions()
            if reference.winner is not None:
                break
            assert table.states["to_move"][0] == reference.mover
            action = int(rng.choice(legal))
            table.step(action)
            reference.play(action)
            actions += 1
            state = table.states[0]
            for side in range(2):
                told = {
                    divmod(cell, width): "miss" if answer == 1 else "hit" if answer == 2 else f"sunk {answer - 2}"
                    for cell, answer in enumerate(state["answers"][side].tolist())
                    if answer
                }
                expected = reference.told[side]
                if reference.sunk == "only":
                    expected = {c: f"sunk {ships + 1}" if text == "sunk" else text for c, text in expected.items()}
                assert told == expected
                if len(reference.fleets[side]) == ships:
                    assert state["afloat"][side] == len(reference.afloat(side))
        assert table.states["terminated"][0]
        assert table.states["rewards"][0].tolist() == [1 - 2 * (reference.winner != k) for k in (0, 1)]
    assert actions > 25 * games


@pytest.mark.parametrize(
    "strategy", ["r", "rsp", "ed1", "ed1sp", "ed2", "ed2sp", "pk2x8", "pk2x10", "pksp2x10", "pk4x5"]
)
def test_delegated_placement(strategy):
    ruleset = GAME.ruleset(placement=strategy)
    for seed in range(20):
        table = OpenGame(ruleset, seed)
        assert table.masks[0].sum() == 100
        for side in range(2):
            ships = [
                _cells(ruleset, place, size)
                for place, size in zip(table.states["places"][0, side], (5, 4, 3, 3, 2), strict=True)
            ]
            assert len({c for ship in ships for c in ship}) == 17
            if strategy.startswith("ed"):
                depth = int(strategy[2])
                assert all(min(c // 10, 9 - c // 10, c % 10, 9 - c % 10) < depth for ship in ships for c in ship)
            pairs = list(itertools.combinations(range(5), 2))
            if "sp" in strategy:
                kept = [pair for pair in pairs if not strategy.startswith("pk") or 4 in pair]
                assert not any(_near(a, b, 10, False) for i, j in kept for a in ships[i] for b in ships[j])
            if strategy.startswith("pk"):
                rows = {c // 10 for ship in ships[:4] for c in ship}
                columns = {c % 10 for ship in ships[:4] for c in ship}
                spans = sorted((max(rows) - min(rows) + 1, max(columns) - min(columns) + 1))
                size = sorted(map(int, strategy.lstrip("pks").split("x")))
                assert spans[0] <= size[0]
                assert spans[1] <= size[1]


def test_random_placement_is_uniform():
    """All fleets of a small board are drawn equally often (chi-squared, 99.9 %)."""
    ruleset = GAME.ruleset(height=4, width=5, fleet=(4, 4, 4), placement="r")
    states = ruleset.zeros(4000)
    seed_states(states, 0)
    ruleset.engine.begin_all(states, ruleset.params, ruleset.zeros())
    counts = {}
    for places in states["places"].reshape(8000, 3).tolist():
        counts[tuple(places)] = counts.get(tuple(places), 0) + 1
    options = {place: set(_cells(ruleset, place, 4)) for place in range(40) if _fits(place, 4)}
    fleets = {
        fleet
        for fleet in itertools.product(options, repeat=3)
        if not any(options[a] & options[b] for a, b in itertools.combinations(fleet, 2))
    }
    assert set(counts) == fleets
    expected = 8000 / len(fleets)
    statistic = sum((n - expected) ** 2 / expected for n in counts.values())
    degrees = len(fleets) - 1
    assert statistic < degrees + 3.1 * np.sqrt(2 * degrees) + 6


def _fits(place, size):
    row, column = divmod(place % 20, 5)
    return row + size <= 4 if place >= 20 else column + size <= 5


def consistent_fleets(ruleset, state, side):
    """All fleets of the opponent of `side` that would have given it the same answers, by brute force."""
    sizes = [int(s) for s in ruleset.params["sizes"][0]]
    cells, width = int(ruleset.params["cells"][0]), int(ruleset.params["width"][0])
    height = cells // width
    touching, sunk = int(ruleset.params["touching"][0]), int(ruleset.params["sunk"][0])
    shots = [c for c in np.argsort(state["shot_number"][side], kind="stable") if state["shot_number"][side, c]]

    def answers(fleet):
        left = [set(ship) for ship in fleet]
        told = []
        for shot in shots:
            answer = "miss"
            for k, ship in enumerate(left):
                if shot in ship:
                    ship.discard(shot)
                    answer = "hit"
                    if not ship:
                        answer = ("sunk", k if sunk != 1 else None, tuple(fleet[k]) if sunk == 2 else None)
            told.append(answer)
        return told

    def placements(size):
        found = []
        for place in range(2 * cells):
            row, column = divmod(place % cells, width)
            if place < cells and column + size <= width:
                found.append((place, [row * width + column + k for k in range(size)]))
            elif place >= cells and size > 1 and row + size <= height:
                found.append((place, [(row + k) * width + column for k in range(size)]))
        return found

    truth = answers(
        [_cells(ruleset, place, size) for place, size in zip(state["places"][1 - side], sizes, strict=True)]
    )
    found = []
    for combination in itertools.product(*(placements(size) for size in sizes)):
        fleet = [cells_of for _, cells_of in combination]
        pairs = list(itertools.combinations(fleet, 2))
        if touching == 0:
            good = not any(set(a) & set(b) for a, b in pairs)
        else:
            good = not any(_near(x, y, width, touching == 2) for a, b in pairs for x in a for y in b)
        if good and answers(fleet) == truth:
            found.append(tuple(place for place, _ in combination))
    return found


@pytest.mark.parametrize("sunk", ["kind", "only", "place"])
@pytest.mark.parametrize("touching", ["allowed", "corners"])
def test_resampling_is_uniform_over_what_fits(sunk, touching):
    ruleset = GAME.ruleset(height=4, width=5, fleet=(4, 3, 2), sunk=sunk, touching=touching, placement="r")
    rng = np.random.default_rng(5)
    for seed in range(3):
        table = OpenGame(ruleset, seed)
        for _ in range(2 * (5 + 2 * seed)):
            table.step(int(rng.choice(np.flatnonzero(table.masks[0]))))
            if table.states["terminated"][0]:
                break
        fleets = consistent_fleets(ruleset, table.states[0], 0)
        view = view_of(ruleset, table.states[0], 0)
        assert (view["places"][1] == -1).all()
        draws = 40 * len(fleets)
        drawn = np.repeat(np.array([view], ruleset.dtype), draws)
        seed_states(drawn, 9000)
        seats = np.zeros(draws, np.int64)
        ruleset.engine.resample_all(drawn, ruleset.params, seats)
        counts = dict.fromkeys(fleets, 0)
        for places in drawn["places"][:, 1].tolist():
            counts[tuple(places)] += 1
        ruleset.engine.hide_all(drawn, ruleset.params, seats)
        assert all(again.tobytes() == view.tobytes() for again in drawn)
        statistic = sum((n - 40) ** 2 / 40 for n in counts.values())
        degrees = max(len(fleets) - 1, 1)
        assert statistic < degrees + 3.7 * np.sqrt(2 * degrees) + 9


@pytest.mark.parametrize(
    "parameters", [{}, {"sunk": "only"}, {"sunk": "place", "touching": "never"}, {"hit_again": True}]
)
def test_a_resampled_state_keeps_the_view_and_plays_on(parameters):
    ruleset = GAME.ruleset(**parameters)
    rng = np.random.default_rng(1)
    table = OpenGame(ruleset, 3)
    for step in range(400):
        if table.states["terminated"][0]:
            break
        action = int(rng.choice(np.flatnonzero(table.masks[0])))
        table.step(action)
        if step % 5 == 0:
            for seat in range(2):
                state = table.states[0]
                view = view_of(ruleset, state, seat)
                drawn = resample(ruleset, view, seat, step)
                assert view_of(ruleset, drawn, seat).tobytes() == view.tobytes()
                assert drawn["unhit"][1 - seat].sum() == state["unhit"][1 - seat].sum()
    assert table.states["terminated"][0]


def test_attack_rewards():
    ruleset = ATTACK.ruleset()
    table = OpenGame(ruleset, 1)
    total = 0.0
    for cell in range(100):
        table.step(cell)
        total += float(table.states["rewards"][0, 0])
        if table.states["terminated"][0]:
            break
    assert table.states["terminated"][0]
    assert total == pytest.approx(-(cell + 1) / 100, abs=1e-5)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"height": 0}, "1 to 26"),
        ({"width": 2.5}, "1 to 26"),
        ({"fleet": "five,4"}, "ship sizes"),
        ({"fleet": (2.5,)}, "ship sizes"),
        ({"fleet": ()}, "ship sizes"),
        ({"fleet": (11,)}, "does not fit"),
        ({"height": 3, "width": 3, "fleet": (3, 3, 3, 2)}, "does not fit"),
        ({"touching": "sometimes"}, "choose one of allowed, corners, never"),
        ({"sunk": True}, "choose one of kind, only, place"),
        ({"hit_again": "yes"}, "true or false"),
        ({"placement": "ed3"}, "placement strategy"),
        ({"placement": "pk"}, "placement strategy"),
        ({"placement": "pk2x7"}, "cannot place"),
        ({"sinkings": 1}, "unexpected keyword argument"),
    ],
)
def test_parameters_that_make_no_game(parameters, message):
    with pytest.raises(GameParameterError, match=message):
        GAME.ruleset(**parameters)


def test_fleet_as_text_is_the_same_game():
    assert GAME.ruleset(fleet="5,4,3,3,2").dtype == GAME.ruleset().dtype


@pytest.mark.parametrize("name", ["battleship", "battleship_attack"])
def test_notation_both_ways_over_whole_games(name):
    ruleset = game(name).ruleset()
    rng = np.random.default_rng(2)
    table = OpenGame(ruleset, 5)
    while not table.states["terminated"][0]:
        action = int(rng.choice(np.flatnonzero(table.masks[0])))
        text = notation.action_to_text(ruleset, table.states[0], action)
        assert notation.text_to_action(ruleset, table.states[0], text) == action
        table.step(action)
        if table.states["steps"][0] % 17 == 0 or table.states["terminated"][0]:
            read = notation.text_to_state(ruleset, notation.state_to_text(ruleset, table.states[0]))
            for field in ruleset.dtype.names:
                if not field.startswith(("rng", "_pad")):
                    assert np.array_equal(read[field], table.states[0][field]), field
    assert ("over" in notation.board_text(ruleset, table.states[0])) == (name == "battleship")


@pytest.mark.parametrize("text", ["", "K1", "A11", "A0", "4B", "B-4", "carrier"])
def test_text_that_is_no_shot(text):
    ruleset = GAME.ruleset(placement="r")
    with pytest.raises(NotationError, match="A1 to J10"):
        notation.text_to_action(ruleset, OpenGame(ruleset).states[0], text)


@pytest.mark.parametrize("text", ["A1", "A1 sideways", "destroyer A1 across", "carrier Z9 down"])
def test_text_that_is_no_placement(text):
    ruleset = GAME.ruleset()
    with pytest.raises(NotationError):
        notation.text_to_action(ruleset, OpenGame(ruleset).states[0], text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("first: fleet carrier H1 across; shots -; second: fleet -; shots -", "does not lie on the board"),
        ("first: fleet carrier A1 across, battleship A1 down; shots -; second: fleet -; shots -", "overlaps"),
        ("first: fleet carrier A1 across; shots A1; second: fleet -; shots -", "both fleets"),
        ("first: fleet -; shots -; second: fleet carrier A1 across; shots -", "after the first side"),
        (
            f"first: fleet {', '.join(FLEET)}; shots A1 A1; second: fleet {', '.join(FLEET)}; shots B1",
            "shot at twice",
        ),
        (
            f"first: fleet {', '.join(FLEET)}; shots A1 A2; second: fleet {', '.join(FLEET)}; shots -",
            "other side's turn",
        ),
    ],
)
def test_positions_that_cannot_occur(text, message):
    with pytest.raises(PositionError, match=message):
        notation.text_to_state(GAME.ruleset(), text)


def test_text_that_is_no_position():
    with pytest.raises(NotationError, match="expected: first: fleet"):
        notation.text_to_state(GAME.ruleset(), "8/8/8")


def test_pictures_hide_what_a_seat_does_not_know():
    table = placed()
    ruleset = table.ruleset
    view = np.array([view_of(ruleset, table.states[0], 0)])
    everything = draw.svg(ruleset, table.states[0])
    assert everything.count("#5f7285") == 10
    assert draw.svg(ruleset, table.states[0], seat=0) == draw.svg(ruleset, view[0], seat=0)
    assert draw.svg(ruleset, view[0], seat=0).count("#5f7285") == 5
    assert notation.board_text(ruleset, table.states[0], 0) == notation.board_text(ruleset, view[0], 0)


TIGHT = {"height": 4, "width": 5, "fleet": (4, 3, 2)}


@pytest.mark.parametrize(
    ("declared", "parameters"),
    [
        (GAME, TIGHT),
        (GAME, {**TIGHT, "touching": "corners", "sunk": "only"}),
        (GAME, {**TIGHT, "hit_again": True, "sunk": "place", "placement": "r"}),
        (ATTACK, {}),
    ],
)
def test_records_with_changed_bytes_never_pass_for_what_they_are_not(declared, parameters):
    valid, invalid = try_records(declared.ruleset(**parameters), 2000)
    assert valid > 20
    assert invalid > 1000


def test_boards_of_every_form_are_turned():
    oblong = GAME.ruleset(placement="r", height=6, width=4, fleet=(3, 2, 1), sunk="place", hit_again=True)
    assert len(GAME.symmetries(oblong)) == 3
    assert commuting(oblong) > 60
    assert len(GAME.symmetries(GAME.ruleset(placement="r"))) == 7
    assert GAME.symmetries(GAME.ruleset()) == []
