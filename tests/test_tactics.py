"""The rules of turn-based tactics against published figures and an independent slow implementation."""

from __future__ import annotations

import dataclasses
import os
import random
import re

import numpy as np
import pytest

from asobiba.api import Batch
from asobiba.core import (
    GameParameterError,
    IllegalAction,
    NotationError,
    PositionError,
    StateBytesError,
    compiled,
    states,
)
from asobiba.envs.tactics import GAME, STEPS, draw, notation, orders
from asobiba.envs.tactics.generator import generate_map
from asobiba.envs.tactics.maps import Map, MapError, Unit, load_map, read_map, shipped_maps, write_map
from asobiba.envs.tactics.reference import SlowGame
from asobiba.envs.tactics.rules import is_legal, legal, observe, random_action, reset, step, valid
from asobiba.envs.tactics.steps import is_legal as is_legal_step
from asobiba.envs.tactics.steps import random_action as random_step
from asobiba.envs.tactics.units import MARKS, POWER, STARS, TERRAINS

FLAT, STEPS_RULES = GAME.ruleset(), STEPS.ruleset()


def field(tmp_path, terrain: str, red: list[str], blue: list[str], limit: int = 30, threshold: int = 0):
    """A ruleset on one strip of terrain (names separated by blanks); units such as `P10@2`."""
    codes = "".join(str(TERRAINS.index(name)) for name in terrain.split())
    width = len(codes) + 2
    units = []
    for side, texts in enumerate((red, blue)):
        for text in texts:
            unit, _, x = text.partition("@")
            units.append(Unit(int(x), 1, MARKS.index(unit[0]), side, int(unit[1:])))
    map_ = Map("strip", ("0" * width, f"0{codes}0", "0" * width), tuple(units), limit, threshold)
    path = tmp_path / f"strip{len(list(tmp_path.iterdir()))}.tbsmap"
    path.write_text(write_map(map_), encoding="utf-8")
    return GAME.ruleset(map=str(path), size=8)


# The damage of units with full hit points; rows attack, columns are attacked: F A P U R I. Where a figure has no use
# (aircraft have no stars) it is left out.
TABLES = {
    0: ["6 7 0 0 0 0", "0 0 10 10 9 10", "0 0 6 7 8 8", "0 0 6 8 7 9", "7 7 2 5 5 10", "0 0 1 1 1 6"],
    1: ["6 7 0 0 0 0", "0 0 10 10 8 10", "0 0 5 7 7 7", "0 0 6 7 6 8", "7 7 2 5 4 10", "0 0 1 1 0 5"],
    3: ["6 7 0 0 0 0", "0 0 8 8 7 9", "0 0 4 5 6 6", "0 0 5 6 5 7", "7 7 1 4 4 8", "0 0 0 1 0 4"],
    4: ["6 7 0 0 0 0", "0 0 8 8 6 8", "0 0 4 5 5 5", "0 0 4 5 5 6", "7 7 1 4 3 8", "0 0 0 1 0 4"],
}


@pytest.mark.parametrize("stars", TABLES)
def test_damage_of_full_units_is_the_published_table(stars):
    from asobiba.envs.tactics.battle import damage
    from asobiba.envs.tactics.reference import damage as slow_damage

    for attacker, row in enumerate(TABLES[stars]):
        for target, wanted in enumerate(map(int, row.split())):
            here = 0 if target < 2 else stars
            assert damage(POWER[attacker, target], 10, here, 10) == wanted
            assert slow_damage(attacker, 10, target, stars, 10) == wanted


EXCHANGES = [
    ("P10", "plain", "P10", "plain", 5, 3),
    ("I10", "plain", "I10", "plain", 5, 3),
    ("P10", "plain", "I10", "plain", 7, 0),
    ("R10", "road", "P10", "wood", 1, 7),
    ("A5", "plain", "R10", "plain", 4, 4),
    ("F10", "plain", "A5", "plain", 5, 0),
]


@pytest.mark.parametrize(("attacker", "ground", "target", "other", "done", "back"), EXCHANGES)
def test_published_exchanges(tmp_path, attacker, ground, target, other, done, back):
    ruleset = field(tmp_path, f"{ground} {other} plain plain", [f"{attacker}@1"], [f"{target}@2", "I10@4"])
    state = states.new_state(ruleset, 0)
    after = states.step(ruleset, state, notation.text_to_action(ruleset, state, "b2xc2"))
    assert int(state["hp"][1, 0]) - int(after["hp"][1, 0]) == done
    assert int(state["hp"][0, 0]) - int(after["hp"][0, 0]) == back
    slow = SlowGame(load_map(ruleset.parameters["map"]))
    slow.play((0, (1, 1), (2, 1)))
    assert [p.hp for p in slow.sides[0] + slow.sides[1]] == [*after["hp"][0, :1], *after["hp"][1, :2]]


def test_a_cannon_is_not_countered_and_moves_or_fires(tmp_path):
    ruleset = field(tmp_path, "plain plain fortress plain plain", ["U10@1", "I10@5"], ["P7@3"])
    state = states.new_state(ruleset, 0)
    after = states.step(ruleset, state, notation.text_to_action(ruleset, state, "b2xd2"))
    assert (int(after["hp"][1, 0]), int(after["hp"][0, 0])) == (2, 10)
    with pytest.raises(NotationError, match="no cannon attacks d2 from c2"):
        notation.text_to_action(ruleset, state, "b2-c2xd2")
    legal = [notation.action_to_text(ruleset, state, a) for a in states.legal_actions(ruleset, state)]
    assert sorted(text for text in legal if text.startswith("b2")) == ["b2-b2", "b2-c2", "b2xd2"]


def test_the_last_turn_counts_hit_points_against_the_threshold(tmp_path):
    for lead, rewards in ((3, [0, 0]), (4, [1, -1])):
        ruleset = field(tmp_path, "plain " * 6, [f"I{4 + lead}@1"], ["I4@6"], limit=2, threshold=3)
        state = states.new_state(ruleset, 0)
        for _ in range(2):
            assert not states.is_over(state)
            state = states.step(ruleset, state, orders.end_of_turn(ruleset, state))
        assert state["terminated"]
        assert state["rewards"].tolist() == rewards


def test_resigning_loses():
    ruleset = GAME.ruleset(resign=True)
    state = states.new_state(ruleset, 0)
    assert ruleset.num_actions == 2042
    state = states.step(ruleset, state, notation.text_to_action(ruleset, state, "end"))
    state = states.step(ruleset, state, notation.text_to_action(ruleset, state, "resign"))
    assert state["rewards"].tolist() == [1, -1]


def test_sizes_of_the_action_sets():
    for size, flat, words in ((8, 2041, 66), (10, 5201, 102), (14, 13001, 198)):
        assert GAME.layout(size=size).actions == flat
        assert STEPS.layout(size=size).actions == words


def slow_action(ruleset, state, action):
    if action >= orders.end_of_turn(ruleset, state):
        return None
    size = orders.board_size(ruleset)
    order = orders.order_of(ruleset, state, action)
    target = None if order.target < 0 else (order.target % size, order.target // size)
    return order.unit, (order.goal % size, order.goal // size), target


def check_slow(ruleset, state, slow):
    """The fast state is the slow game."""
    size = orders.board_size(ruleset)
    assert int(state["turns"]) == slow.turn
    assert bool(state["terminated"]) == slow.over
    for side in (0, 1):
        for k, piece in enumerate(slow.sides[side]):
            assert int(state["hp"][side, k]) == piece.hp
            if piece.hp:
                assert int(state["cell"][side, k]) == piece.at[1] * size + piece.at[0]
                if side == slow.mover and not slow.over:
                    assert bool(state["moved"][k]) == piece.moved
    if slow.over:
        wanted = [0, 0] if slow.winner is None else [1 - 2 * (slow.winner != side) for side in (0, 1)]
        assert state["rewards"].tolist() == wanted
    else:
        assert int(state["to_move"]) == slow.mover


@pytest.mark.parametrize("map_", [m for m in shipped_maps().values() if m.size == 8], ids=lambda m: m.name)
def test_random_games_agree_with_the_slow_implementation(map_):
    """Both games and the slow one, side by side: actions, positions, conversions, results."""
    generator = random.Random(map_.name)
    board = [m.name for m in shipped_maps().values() if m.size == 8].index(map_.name)
    seed = next(k for k in range(1000) if int(states.new_state(FLAT, k)["board"]) == board)
    for _ in range(2):
        slow, state = SlowGame(map_), states.new_state(FLAT, seed)
        words = states.new_state(STEPS_RULES, seed)
        while not slow.over:
            mask = states.action_mask(FLAT, state)
            legal = {slow_action(FLAT, state, int(a)): int(a) for a in np.flatnonzero(mask)}
            assert set(legal) == set(slow.actions())
            assert len(legal) == mask.sum()
            attacks = [move for move in legal if move is not None and move[2] is not None]
            move = generator.choice(sorted(attacks or legal, key=repr))
            for word in orders.in_words(FLAT, state, legal[move]):
                text = notation.action_to_text(STEPS_RULES, words, word)
                assert notation.text_to_action(STEPS_RULES, words, text) == word
                whole = orders.completed(STEPS_RULES, words, word)
                words = states.step(STEPS_RULES, words, word)
            assert whole == legal[move]
            state = states.step(FLAT, state, legal[move])
            slow.play(move)
            check_slow(FLAT, state, slow)
            same = orders.other_state(STEPS_RULES, words)
            for name in FLAT.dtype.names:
                if name != "steps":
                    assert np.array_equal(same[name], state[name]), name


@pytest.mark.parametrize("name", ["highlands", "plains"])
def test_larger_boards_agree_with_the_slow_implementation(name):
    """The moves on boards of several words, by the kernels without the engine of these boards."""
    ruleset, slow = GAME.ruleset(map=name), SlowGame(load_map(name))
    generator = random.Random(name)
    record, mask = ruleset.zeros(), np.zeros(ruleset.num_actions, np.int8)
    play_plainly(record, ruleset.params, mask, -1)
    for _ in range(120):
        legal = {slow_action(ruleset, record[0], int(a)): int(a) for a in np.flatnonzero(mask)}
        assert set(legal) == set(slow.actions())
        move = generator.choice(sorted((m for m in legal if m is not None), key=repr))
        play_plainly(record, ruleset.params, mask, legal[move])
        slow.play(move)
        check_slow(ruleset, record[0], slow)
        if slow.over:
            break


def test_thirteen_units_a_side_and_a_cannon_that_begins_on_a_mountain(tmp_path):
    """As on published maps of 10 x 10 cells. The cannon may stay, leave and fire; nobody else goes there."""
    rows = ["0" * 10, *["0" + "1" * 8 + "0"] * 8, "0" * 10]
    rows[2] = "0111411130"
    units = [Unit(1 + k % 7, 7 + k // 7, (2, 5, 0)[k % 3], 0) for k in range(12)] + [Unit(4, 2, 3, 0, 9)]
    units += [Unit(1 + k % 7, 4 + k // 7, (1, 4, 5)[k % 3], 1, 7) for k in range(12)] + [Unit(4, 1, 5, 1)]
    path = tmp_path / "many.tbsmap"
    path.write_text(write_map(Map("many", tuple(rows), tuple(units), 9, 200)), encoding="utf-8")
    ruleset, slow = GAME.ruleset(map=str(path)), SlowGame(load_map(str(path)))
    assert ruleset.num_actions == 13001
    generator = random.Random(1)
    record, mask = ruleset.zeros(), np.zeros(ruleset.num_actions, np.int8)
    play_plainly(record, ruleset.params, mask, -1)
    cannon = {move[1:] for move in slow.actions() if move is not None and move[0] == 12}
    assert {((4, 2), None), ((3, 2), None), ((4, 2), (4, 4))} <= cannon
    assert all(goal == (4, 2) for goal, target in cannon if target is not None)
    for _ in range(60):
        found = {slow_action(ruleset, record[0], int(a)): int(a) for a in np.flatnonzero(mask)}
        assert set(found) == set(slow.actions())
        assert valid_plainly(record, ruleset.params)
        move = generator.choice(sorted((m for m in found if m is not None), key=repr))
        play_plainly(record, ruleset.params, mask, found[move])
        slow.play(move)
        check_slow(ruleset, record[0], slow)
        if slow.over:
            break
    record[0]["cell"][0, 0] = 2 * 14 + 4  # a panzer did not begin on the mountain
    assert not valid_plainly(record, ruleset.params)


@compiled()
def valid_plainly(record, params):
    return valid(record[0], params[0])


@compiled()
def play_plainly(record, params, mask, action):
    if action < 0:
        reset(record[0], params[0])
    else:
        step(record[0], params[0], action)
    legal(record[0], params[0], mask)


@compiled()
def examine(record, params, mask, counts, draws):
    """Number of actions that `is_legal` and the mask judge differently; counts what `random_action` draws; `valid`."""
    s, p = record[0], params[0]
    wrong = 0
    for action in range(-1, mask.shape[0] + 1):
        known = 0 <= action < mask.shape[0] and mask[action] != 0
        wrong += is_legal(s, p, action) != known
    for _ in range(draws):
        counts[random_action(s, p, s)] += 1
    return wrong


@compiled()
def examine_words(record, params, mask, counts, draws):
    s, p = record[0], params[0]
    wrong = 0
    for action in range(-1, mask.shape[0] + 1):
        known = 0 <= action < mask.shape[0] and mask[action] != 0
        wrong += is_legal_step(s, p, action) != known
    for _ in range(draws):
        counts[random_step(s, p, s)] += 1
    return wrong


GAMES = [(FLAT, examine), (STEPS_RULES, examine_words)]


def accepted(ruleset, record):
    """Whether a record may come in from outside."""
    try:
        states.require_valid(ruleset, record)
    except StateBytesError:
        return False
    return True


@pytest.mark.parametrize(("ruleset", "look"), GAMES, ids=["flat", "words"])
def test_the_kernels_without_a_mask_agree_with_the_mask(ruleset, look):
    batch = Batch(ruleset, 4, threads=1)
    batch.reset(seed=11)
    for number in range(60):
        batch.step(batch.sample_actions())
        if number % 10:
            continue
        for i in range(4):
            record, mask = batch.states[i : i + 1].copy(), batch.masks[i]
            if states.is_over(record[0]):
                continue
            counts = np.zeros(ruleset.num_actions, np.int64)
            n = int(mask.sum())
            assert accepted(ruleset, record)
            assert look(record, ruleset.params, mask, counts, 400 * n) == 0
            assert not counts[mask == 0].any()
            # Each count is binomial with mean 400 and a standard deviation of 20.
            assert abs(counts[mask != 0] - 400).max() < 120


@pytest.mark.parametrize("ruleset", [FLAT, STEPS_RULES], ids=["flat", "words"])
def test_mutated_records_are_judged_and_never_crash(ruleset):
    generator = np.random.default_rng(0)
    state = states.new_state(ruleset, 0)
    header = ruleset.dtype.fields["hp"][1]
    refused = 0
    for _ in range(300):
        data = bytearray(state.tobytes())
        for place in generator.integers(header, len(data), 3):
            data[place] = int(generator.integers(256))
        record = np.frombuffer(bytes(data), ruleset.dtype).copy()
        if not accepted(ruleset, record):
            refused += 1
        else:
            assert states.action_mask(ruleset, record[0]).any()
    assert refused > 200


def test_two_colours_see_the_same_board():
    seed = next(k for k in range(100) if FLAT.parameters and int(states.new_state(FLAT, k)["board"]) == 0)
    state = states.new_state(FLAT, seed)
    red, blue = (FLAT.channels(states.observation(FLAT, state, seat)) for seat in (0, 1))
    assert np.array_equal(red["own"], blue["other"])
    assert np.array_equal(red["terrain"], blue["terrain"])
    assert red["hit_points"].sum() == state["hp"].sum()
    assert red["ready"].sum() == (state["hp"][0] > 0).sum()
    assert red["turns_left"].sum() == 15
    assert red["threshold"].sum() == 5
    assert (red["red"][0], blue["red"][0], red["to_move"][0], blue["to_move"][0]) == (1, 0, 1, 0)


@pytest.mark.parametrize(
    ("limit", "threshold", "turns", "levels"), [(39, 10, 39, 10), (50, 80, 50, 26), (9, 200, 9, 38)]
)
def test_the_limits_of_published_maps_are_told_apart(tmp_path, limit, threshold, turns, levels):
    ruleset = field(tmp_path, "plain " * 6, ["I10@1"], ["I10@6"], limit=limit, threshold=threshold)
    record = ruleset.zeros()
    record[0]["hp"][:, 0] = 10
    out = np.zeros(ruleset.observation_space.shape, np.int8)
    observe_plainly(record, ruleset.params, out)
    found = ruleset.channels(out)
    assert (found["turns_left"].sum(), found["threshold"].sum()) == (turns, levels)


@compiled()
def observe_plainly(record, params, out):
    observe(record[0], params[0], 0, out)


def test_maps_survive_being_written():
    for map_ in shipped_maps().values():
        assert read_map(write_map(map_), map_.name) == map_
    assert len(shipped_maps()) >= 12
    forces = {(m.width, len(m.of_side(0))) for m in shipped_maps().values()}
    assert {(6, 3), (8, 6), (14, 10)} <= forces


def test_generated_maps_are_alike_for_both_colours():
    for seed in range(20):
        map_ = generate_map(seed, 10, 8, 5)
        assert map_ == generate_map(seed, 10, 8, 5)
        turned = tuple(row[::-1] for row in reversed(map_.terrain))
        assert map_.terrain == turned
        red = {(u.x, u.y, u.kind, u.hp) for u in map_.of_side(0)}
        assert red == {(9 - u.x, 7 - u.y, u.kind, u.hp) for u in map_.of_side(1)}
    assert generate_map(1) != generate_map(2)
    assert GAME.ruleset(map="generated").chance
    assert GAME.ruleset(map="generated", map_seed=1).params["setup_cell"].any()
    assert len(generate_map(0, 12, 12, 13).of_side(0)) == 13
    with pytest.raises(GameParameterError, match="1 to 9 units a side"):
        generate_map(0, 8, 8, 12)
    for numbers, message in (((-1,), "seed of a generated map .* not -1"), ((0, 8.5), "width .* not 8.5")):
        with pytest.raises(GameParameterError, match=message):
            generate_map(*numbers)


GOOD = """SIZEX[6];SIZEY[4];TURNLIMIT[20];HPTHRESHOLD[5];UNITNUMRED[1];UNITNUMBLUE[1];AUTHOR[a];MAPCOM[b];
UNIT[1,1,panzer,0,10,0];UNIT[4,2,infantry,1,10,0];
MAP[0,0,0,0,0,0];MAP[0,1,2,3,4,0];MAP[0,1,1,1,1,0];MAP[0,0,0,0,0,0];"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("UNIT[4,2,infantry", "UNIT[5,2,infantry", "stands on no-entry"),
        ("UNIT[4,2,infantry", "UNIT[9,2,infantry", "outside the 6 x 4 cells"),
        ("infantry", "knight", "unknown type 'knight'; expected fighter, attacker"),
        ("MAP[0,1,2,3,4,0]", "MAP[0,1,2,3,4]", r"row 1, MAP\[0,1,2,3,4\], has 5 cells, SIZEX says 6"),
        ("MAP[0,1,2,3,4,0]", "MAP[012340]", "has 1 cells, SIZEX says 6; expected terrain codes with commas"),
        ("MAP[0,1,2,3,4,0]", "MAP[0,1,2,,4,0]", "'' at x 3, y 1 is not a terrain code"),
        ("MAP[0,1,2,3,4,0];", "", "3 rows MAP"),
        ("UNITNUMRED[1]", "UNITNUMRED[2]", "1 red units, UNITNUMRED declares 2"),
        (
            "UNIT[1,1,panzer,0,10,0];",
            "UNIT[1,1,panzer,0,10,0];UNIT[1,2,panzer,0,10,0];",
            "2 red units, UNITNUMRED declares 1",
        ),
        ("panzer,0,10,0", "panzer,0,11,0", "11 hit points; expected 1 to 10"),
        ("panzer,0,10,0", "panzer,2,10,0", "team is 0 .red. or 1"),
        ("panzer,0,10,0", "panzer,0,10", "5 parts; expected x,y,type"),
        ("UNIT[4,2,infantry", "UNIT[1,1,infantry", "stands where unit 0 does"),
        ("MAP[0,1,2,3,4,0]", "MAP[7,1,2,3,4,0]", "'7' at x 0, y 1 is not a terrain"),
        ("MAP[0,1,2,3,4,0]", "MAP[1,1,2,3,4,0]", "outer ring must be no-entry"),
        ("TURNLIMIT[20]", "TURNLIMIT[0]", "TURNLIMIT is 0"),
        ("TURNLIMIT[20]", "TURNLIMIT[x]", "expected a whole number"),
        ("TURNLIMIT[20]", "TURNLIMIT[20];TURNLIMIT[30]", "TURNLIMIT is 20 and 30"),
        ("MAP[0,1,2,3,4,0]", "MAP[0,1,\u00b2,3,4,0]", "'\u00b2' at x 2, y 1 is not a terrain"),
        ("TURNLIMIT[20];", "", "it lacks TURNLIMIT"),
        ("AUTHOR[a]", "WRITER[a]", "'WRITER' is not a key"),
        ("AUTHOR[a]", "AUTHOR", "is not an entry; expected KEY"),
    ],
)
def test_bad_maps_are_refused_with_the_reason(old, new, message):
    assert read_map(GOOD).size == 8
    with pytest.raises(MapError, match=message):
        read_map(GOOD.replace(old, new))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"comment": "two; parts"}, "MAPCOM is 'two; parts'; expected text without ;"),
        ({"author": "a\nb"}, "AUTHOR is"),
        ({"turn_limit": 2.5}, "TURNLIMIT is 2.5; expected a whole number"),
        ({"units": (Unit(1, 1, -1, 0), Unit(4, 2, 5, 1))}, "unit 0 is of unknown type -1; expected 0 to 5: fighter"),
        ({"units": (Unit(1, 1, 2, 2), Unit(4, 2, 5, 1))}, "unit 0 is of side 2"),
        ({"units": (Unit(1.5, 1, 2, 0), Unit(4, 2, 5, 1))}, "unit 0 is .*1.5.*; expected whole numbers"),
    ],
)
def test_maps_that_could_not_be_read_again_are_not_made(change, message):
    with pytest.raises(MapError, match=message):
        dataclasses.replace(read_map(GOOD), **change)


def test_maps_with_japanese_comments_are_read_as_they_were_published(tmp_path):
    """TUBSTAP's own files are in Shift JIS, where the second byte of a sign may be that of a bracket."""
    path = tmp_path / "shift_jis.tbsmap"
    for encoding in ("cp932", "utf-8", "utf-8-sig"):
        path.write_bytes(GOOD.replace("MAPCOM[b]", "MAPCOM[ゾウの地図]").encode(encoding))
        assert load_map(str(path)).comment == "ゾウの地図"
        assert states.new_state(GAME.ruleset(map=str(path)), 0)["hp"][:, 0].tolist() == [10, 10]


def test_units_that_have_moved_wait_for_their_sides_second_turn(tmp_path):
    """As in TUBSTAP, which readies a side's units at the end of its turn: blue's marks hold through blue's first turn."""
    path = tmp_path / "tired.tbsmap"
    path.write_text(
        GOOD.replace("NUMRED[1]", "NUMRED[2]").replace("NUMBLUE[1]", "NUMBLUE[2]")
        + "UNIT[1,2,infantry,0,10,1];UNIT[4,1,infantry,1,10,1];",
        encoding="utf-8",
    )
    ruleset, slow = GAME.ruleset(map=str(path)), SlowGame(load_map(str(path)))
    state, ready = states.new_state(ruleset, 0), []
    while not states.is_over(state) and int(state["turns"]) < 4:
        legal = {slow_action(ruleset, state, int(a)): int(a) for a in states.legal_actions(ruleset, state)}
        assert set(legal) == set(slow.actions())
        ready.append(sorted({move[0] for move in legal if move is not None}))
        state = states.step(ruleset, state, orders.end_of_turn(ruleset, state))
        slow.play(None)
        check_slow(ruleset, state, slow)
    assert ready == [[0], [0], [0, 1], [0, 1]]


def test_a_map_file_that_was_edited_is_read_again(tmp_path):
    path = tmp_path / "edited.tbsmap"
    for limit in (10, 12):
        path.write_text(re.sub(r"TURNLIMIT\[\d+\]", f"TURNLIMIT[{limit}]", GOOD), encoding="utf-8")
        os.utime(path, ns=(limit, limit))
        assert GAME.ruleset(map=str(path)).params["limit"][0, 0] == limit


def test_parameters_that_make_no_game():
    GAME.ruleset(size=8)  # which is known then, and 8.0 equals it
    for parameters, error, message in (
        ({"size": 9}, GameParameterError, "size is one of 8, 10, 14"),
        ({"size": 8.0}, GameParameterError, "size is one of 8, 10, 14, .* not 8.0"),
        ({"size": [8]}, GameParameterError, r"size is a number or a text, not \[8\]"),
        ({"map": "nowhere"}, MapError, "no map is called 'nowhere'; there are: skirmish"),
        ({"map": "none.tbsmap"}, MapError, "no map file 'none.tbsmap'"),
        ({"map": "plains", "size": 8}, GameParameterError, "needs the board of size 14"),
        ({"map": 3}, GameParameterError, "map is the name"),
        ({"map_seed": -1}, GameParameterError, "map_seed"),
        ({"resign": 2}, GameParameterError, "resign is True or False"),
    ):
        with pytest.raises(error, match=message):
            GAME.ruleset(**parameters)


def at(text, ruleset=FLAT):
    return notation.text_to_state(ruleset, text)


def test_an_action_for_a_moved_unit_is_refused_by_name():
    state = at("skirmish 0 I10b2+,P6c2 I10e5,P6d5")
    with pytest.raises(IllegalAction, match="the infantry on b2 has moved already in this turn"):
        notation.text_to_action(FLAT, state, "b2-b3")
    with pytest.raises(IllegalAction, match=r"may not play .*b2-b2"):
        states.step(FLAT, state, 5 * 9)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("skirmish 0 I10b2", "expected MAP TURN RED BLUE"),
        ("moon 0 I10b2 I10c2", "none of the maps"),
        ("skirmish \u00b2 I10b2 I10c2", "expected MAP TURN RED BLUE"),
        ("skirmish 99 I10b2 I10c2", "turn 99 is after the last"),
        ("skirmish 0 I11b2 I10c2", "is not a unit"),
        ("skirmish 0 I10a1 I10c2", "cannot stand on no-entry"),
        ("skirmish 0 I10b2 I10b2", "another unit stands there"),
        ("skirmish 0 I10b2 I10c2+", "no blue unit has moved"),
        ("skirmish 0 - -", "both sides have lost"),
        ("skirmish 0 I1b2,I1b3,I1b4,I1c2,I1c3,I1c4,I1d2 I10e5", "room for 6"),
    ],
)
def test_impossible_positions_are_refused_with_the_reason(text, message):
    with pytest.raises((NotationError, PositionError), match=message):
        at(text)


def test_a_choice_in_words_is_part_of_the_position():
    state = at("skirmish 0 I10c3,P6c2 I10c5,P6d5 c3>c4", STEPS_RULES)
    legal = [notation.action_to_text(STEPS_RULES, state, a) for a in states.legal_actions(STEPS_RULES, state)]
    assert legal == ["hit c5", "wait"]
    assert "infantry c3 to c4" in notation.board_text(STEPS_RULES, state)
    assert notation.state_to_text(STEPS_RULES, state).endswith("c3>c4")
    with pytest.raises(PositionError, match="cannot go there"):
        at("skirmish 0 I10c3,P6c2 I10c5,P6d5 c3>b2", STEPS_RULES)


def test_the_picture_shows_units_and_turn():
    state = at("skirmish 1 I10b2,P4c2 I7d4+,P6d5")
    picture = draw.svg(FLAT, state)
    assert "blue to move" in picture
    assert "hit points: red 14, blue 13" in picture
    assert picture.count("opacity='0.62'") == 1


@pytest.mark.parametrize(
    ("position", "text", "frame", "ring"),
    [
        ("skirmish 0 I10b2,P4c2 I7d4,P6d5", "c2-c4xd4", (2, 3), (3, 3)),
        ("skirmish 0 P4c2 I7d4,P6d5", "c2-c3", (2, 2), None),  # the turn passes on
        ("skirmish 0 U10b3 I7d4,U6d3", "b3xd4", (1, 2), (3, 3)),
        ("skirmish 0 U10b3,I10b2 U7d4,U6d3", "b3xd4", (1, 2), (3, 3)),
        ("skirmish 0 P10c3 I1c4", "c3xc4", (2, 2), (2, 3)),  # the last unit of blue
    ],
)
def test_the_picture_shows_the_last_action(position, text, frame, ring):
    state = at(position)
    action = notation.text_to_action(FLAT, state, text)
    after = states.step(FLAT, state, action)
    picture = draw.svg(FLAT, after, last_action=action)
    x, y = (24 + 56 * frame[0] + 2, 62 + 56 * frame[1] + 2)
    assert f"<rect x='{x}' y='{y}' width='52'" in picture
    assert ("stroke-dasharray='6 4'" in picture) is (ring is not None)
    if ring is not None:
        assert f"<circle cx='{24 + 56 * ring[0] + 28}' cy='{62 + 56 * ring[1] + 28}' r='25'" in picture


def test_the_text_picture():
    assert notation.board_text(FLAT, at("skirmish 1 I10b2,P4c2 I7d4+,P6d5")).splitlines() == [
        "   a    b    c    d    e    f",
        " 1 #    #    #    #    #    #",
        " 2 #    .I10 .P4  w    .    #",
        " 3 #    =    .    .    =    #",
        " 4 #    =    .    .i7  =    #",
        " 5 #    .    w    .p6* .    #",
        " 6 #    #    #    #    #    #",
        "skirmish, turn 1 of 15: red 14, blue 13, threshold 5",
        "blue to move",
    ]


def test_stars_are_those_of_the_published_terrains():
    assert STARS.tolist() == [0, 1, 0, 3, 4, 0, 4]


def test_the_maps_of_a_ruleset_are_named():
    assert notation.setting_text(GAME.ruleset(map="duel")) == "Map: duel"
    assert "skirmish, duel, narrows" in notation.setting_text(FLAT)
    assert "32 generated" in notation.setting_text(GAME.ruleset(map="generated"))
