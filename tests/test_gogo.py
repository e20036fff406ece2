"""Gogo's rules: a position for every rule, and random games of all presets against the plain reference."""

from __future__ import annotations

import re

import numpy as np
import pytest

from asobiba.api.batch import Batch
from asobiba.core import (
    GameParameterError,
    IllegalAction,
    NotationError,
    PositionError,
    compiled,
)
from asobiba.core.states import action_mask, from_bytes, is_over, legal_actions, observation, state_bytes, step
from asobiba.envs.gogo import GAME, notation, rules
from asobiba.envs.gogo.reference import Board

GOGO = GAME.ruleset()
_FILLERS = ("a13", "d13", "g13", "j13", "m13", "b11", "e11", "h11", "k11")


@compiled()
def _all_valid(states, params):
    wrong = 0
    for i in range(states.shape[0]):
        wrong += 0 if rules.valid(states[i], params[0]) else 1
    return wrong == 0


@compiled()
def _agrees(states, params, masks):
    for i in range(states.shape[0]):
        for action in range(masks.shape[1]):
            if (masks[i, action] != 0) != rules.is_legal(states[i], params[0], action):
                return False
    return True


def valid(ruleset, states):
    return bool(_all_valid(np.atleast_1d(states), ruleset.params))


def position(x="", o="", to_move="x", captured=(0, 0), ruleset=GOGO, last=""):
    """The stones named, and as many stray stones in the upper rows as the turn needs."""

    def point(name):
        return notation.text_to_action(ruleset, None, name)

    stones = [(point(name), 0) for name in x.split()] + [(point(name), 1) for name in o.split()]
    side = "xo".index(to_move)
    first, second = len(x.split()) + captured[1], len(o.split()) + captured[0]
    missing = first - second - side
    for name in _FILLERS[: abs(missing)]:
        stones.append((point(name), 1 if missing > 0 else 0))
    state = notation.set_up(ruleset, stones, side, captured, point(last) if last else -1)
    assert valid(ruleset, state)
    return state


def play(state, *moves, ruleset=GOGO):
    for move in moves:
        state = step(ruleset, state, notation.text_to_action(ruleset, state, move))
        assert valid(ruleset, state)
    return state


def stones(state, ruleset=GOGO):
    board = notation.stones_of(ruleset, state)
    return [
        {notation.point_name(ruleset, int(k)) for k in np.flatnonzero(board.ravel() == player)} for player in (0, 1)
    ]


def legal(state, move, ruleset=GOGO):
    return bool(action_mask(ruleset, state)[notation.text_to_action(ruleset, state, move)])


# --- captures ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", [(0, 1), (0, -1), (1, 0), (-1, 0), (1, 1), (-1, -1), (1, -1), (-1, 1)])
def test_two_stones_are_captured_in_each_of_eight_directions(way):
    def at(k):
        return "abcdefghijklm"[6 + k * way[1]] + str(7 + k * way[0])

    state = play(position(x=at(3), o=f"{at(1)} {at(2)}"), at(0))
    assert not {at(1), at(2)} & stones(state)[1]
    assert state["captured"].tolist() == [2, 0]
    assert state["last_taken"] == 2


@pytest.mark.parametrize(
    ("x", "o", "move"),
    [
        ("d7", "b7 c7", "a7"),  # from the edge
        ("a1", "b2 c3", "d4"),  # out of the corner
        ("m7", "k7 l7", "j7"),  # against a stone on the edge
        ("g1", "g2 g3", "g4"),
    ],
)
def test_captures_at_the_edge(x, o, move):
    assert play(position(x=x, o=o), move)["captured"].tolist() == [2, 0]


@pytest.mark.parametrize(
    ("x", "o", "move"),
    [
        ("e7", "f7", "g7"),  # one stone
        ("d7", "e7 f7 g7", "h7"),  # three stones
        ("", "l7 m7", "k7"),  # the edge encloses nothing
        ("d7", "e7 g7", "h7"),  # a gap
        ("d7 f7", "e7 g7", "h7"),  # not side by side
    ],
)
def test_exactly_two_side_by_side_are_captured(x, o, move):
    assert play(position(x=x, o=o), move)["captured"].tolist() == [0, 0]


def test_a_stone_put_between_two_opposing_ones_is_safe():
    state = play(position(x="f7", o="e7 h7"), "g7")
    assert {"f7", "g7"} <= stones(state)[0]
    assert state["captured"].tolist() == [0, 0]


def test_one_move_captures_in_several_directions():
    around = [(0, 1), (0, -1), (1, 0), (-1, 0), (1, 1), (-1, -1), (1, -1), (-1, 1)]
    name = [["abcdefghijklm"[6 + k * dc] + str(7 + k * dr) for k in (1, 2, 3)] for dr, dc in around]
    state = position(x=name[0][2] + " " + name[4][2], o=" ".join(name[0][:2] + name[4][:2]))
    assert play(state, "g7")["captured"].tolist() == [4, 0]
    huge = GAME.ruleset(capture_goal=40, overline="wins", double_three="allowed")
    x, o = [three[2] for three in name], [stone for three in name for stone in three[:2]]
    state = position(x=" ".join(x), o=" ".join(o), captured=(0, 0), ruleset=huge)
    assert play(state, "g7", ruleset=huge)["captured"].tolist() == [16, 0]


def test_the_fifth_pair_wins_at_once_and_no_pair_before():
    state = play(position(x="d7", o="e7 f7", captured=(6, 0)), "g7")
    assert not is_over(state)
    state = play(position(x="d7", o="e7 f7", captured=(8, 0)), "g7")
    assert state["rewards"].tolist() == [1, -1]
    assert state["outcome"] == rules.CAPTURES
    state = play(position(x="d7 g10", o="e7 f7 g8 g9", captured=(6, 0)), "g7")
    assert state["captured"][0] == 10
    assert state["terminated"]


# --- fives ------------------------------------------------------------------------------------------------------


def test_a_five_wins_when_it_stands_after_the_reply():
    state = play(position(x="c7 d7 e7 f7", o="c2 e3 g2"), "g7")
    assert not is_over(state)
    assert notation.moves_to_text(GOGO, notation.five_stones(GOGO, state)) == "c7 d7 e7 f7 g7"
    state = play(state, "k5")
    assert state["rewards"].tolist() == [1, -1]
    assert state["outcome"] == rules.FIVE


def test_a_capture_breaks_a_five():
    before = position(x="c7 d7 e7 f7 e8", o="e9 b2 d2")
    state = play(before, "g7")
    assert not is_over(state)
    state = play(state, "e6")
    assert {"e7", "e8"}.isdisjoint(stones(state)[0])
    assert not is_over(state)
    assert not notation.five_stones(GOGO, state)
    at_once = GAME.ruleset(five="at_once")
    assert play(position(x="c7 d7 e7 f7 e8", o="e9 b2 d2", ruleset=at_once), "g7", ruleset=at_once)["terminated"]


def test_a_perfect_five_wins_at_once_where_that_is_asked_for():
    perfect = GAME.ruleset(five="perfect")
    breakable = play(position(x="c7 d7 e7 f7 e8", o="e9 b2 d2", ruleset=perfect), "g7", ruleset=perfect)
    assert not is_over(breakable)
    safe = play(position(x="c7 d7 e7 f7", o="b2 d2 e9", ruleset=perfect), "g7", ruleset=perfect)
    assert safe["rewards"].tolist() == [1, -1]
    # A capture elsewhere does not break it, unless it is the fifth.
    elsewhere = {"x": "c7 d7 e7 f7 b2 c2", "o": "a2 k2 k4"}
    assert play(position(**elsewhere, ruleset=perfect), "g7", ruleset=perfect)["terminated"]
    fifth = play(position(**elsewhere, captured=(8, 8), ruleset=perfect), "g7", ruleset=perfect)
    assert not is_over(fifth)


def test_the_standing_five_wins_against_a_five_of_the_reply():
    state = play(position(x="c7 d7 e7 f7", o="c3 d3 e3 f3"), "g7", "g3")
    assert state["rewards"].tolist() == [1, -1]


@pytest.mark.parametrize(("rule", "rewards"), [("captor", [-1, 1]), ("five", [1, -1]), ("draw", [0, 0])])
def test_a_fifth_capture_against_a_standing_five(rule, rewards):
    ruleset = GAME.ruleset(against_five=rule)
    state = play(position(x="c7 d7 e7 f7 b2 c2", o="a2 k2 k4", captured=(8, 8), ruleset=ruleset), "g7", ruleset=ruleset)
    state = play(state, "d2", ruleset=ruleset)
    assert state["rewards"].tolist() == rewards


@pytest.mark.parametrize(("overline", "wins"), [("nothing", False), ("wins", True)])
def test_overlines(overline, wins):
    ruleset = GAME.ruleset(overline=overline)
    state = play(position(x="b7 c7 d7 f7 g7", o="b2 d2 f2 h2", ruleset=ruleset), "e7", "k2", ruleset=ruleset)
    assert bool(state["terminated"]) == wins


def test_a_capture_that_makes_a_five_of_a_line_of_six_gives_its_owner_the_win():
    # c7 to h7 is no five; capturing h7 with h8 leaves five.
    before = position(x="c7 d7 e7 f7 g7 h7 h8", o="h6 b2 d2 f2 k2 k4", to_move="o")
    assert not is_over(before)
    state = play(before, "h9")
    assert state["rewards"].tolist() == [1, -1]


def test_five_against_four_stones_is_no_five_in_any_direction():
    for x in ("c7 d7 e7", "g3 g4 g5", "c3 d4 e5"):
        assert not notation.five_stones(GOGO, position(x=x))


@pytest.mark.parametrize("x", ["c7 d7 e7 f7 g7", "g3 g4 g5 g6 g7", "c3 d4 e5 f6 g7", "c7 d6 e5 f4 g3"])
def test_fives_in_every_direction(x):
    assert len(notation.five_stones(GOGO, position(x=x, to_move="o"))) == 5


# --- the double-three -------------------------------------------------------------------------------------------


def test_two_solid_threes_are_forbidden_to_both_players():
    assert not legal(position(x="e7 f7 g8 g9"), "g7")
    assert not legal(position(o="e7 f7 g8 g9", to_move="o"), "g7")
    assert legal(position(x="e7 f7 g8 g9", to_move="o"), "g7")


@pytest.mark.parametrize("x", ["f7 h7 g8 g9", "f7 h7 f8 h6", "e5 f6 h6 i5", "f6 h8 g6 g8"])
def test_solid_threes_with_the_new_stone_anywhere(x):
    assert not legal(position(x=x), "g7")


@pytest.mark.parametrize(
    ("x", "o"),
    [
        ("d7 f7 g8 g9", ""),  # broken threes do not count
        ("d7 e7 g8 g9", ""),
        ("e7 f7 g8 g9", "d7"),  # a closed end
        ("e7 f7 g8 g9", "g6"),
        ("e7 f7", ""),  # one three
        ("d7 e7 f7 g8 g9", ""),  # a four and a three
    ],
)
def test_what_is_no_double_three(x, o):
    assert legal(position(x=x, o=o), "g7")


def test_a_three_at_the_edge_is_closed():
    assert legal(position(x="b7 c7 a8 a9"), "a7")
    assert not legal(position(x="b7 c7 d8 d9"), "d7")


def test_broken_threes_count_where_that_is_asked_for():
    broken = GAME.ruleset(double_three="broken")
    for x in ("d7 f7 g8 g9", "d7 e7 g8 g9", "d7 e7 g9 g10", "d7 e7 h8 j10"):
        assert not legal(position(x=x, ruleset=broken), "g7", ruleset=broken)
    assert legal(position(x="c7 e7 g8 g9", ruleset=broken), "g7", ruleset=broken)


def test_a_forbidden_point_that_captures():
    stones_ = {"x": "e7 f7 g8 g9 j10", "o": "h8 i9"}
    assert not legal(position(**stones_), "g7")
    lifted = GAME.ruleset(lifts_ban="capture")
    state = position(**stones_, ruleset=lifted)
    assert legal(state, "g7", ruleset=lifted)
    assert play(state, "g7", ruleset=lifted)["captured"].tolist() == [2, 0]


def test_a_forbidden_point_that_makes_a_five_or_blocks_one():
    five = {"x": "c3 d4 e5 f6 e7 f7 g8 g9", "o": "b3 k3"}
    block = {"x": "e7 f7 g8 g9", "o": "c3 d4 e5 f6"}
    for ban, made, blocked in (
        ("nothing", False, False),
        ("five", True, False),
        ("block", False, True),
        ("five+block", True, True),
    ):
        ruleset = GAME.ruleset(lifts_ban=ban)
        assert legal(position(**five, ruleset=ruleset), "g7", ruleset=ruleset) == made
        assert legal(position(**block, ruleset=ruleset), "g7", ruleset=ruleset) == blocked


def test_a_capture_frees_a_forbidden_point_and_forbids_another():
    state = play(position(x="e7 f7 g8 g9", o="f9"), "a1")
    assert notation.forbidden_points(GOGO, state, 0) == [notation.text_to_action(GOGO, None, "g7")]
    state = play(state, "g10")  # closes one three
    assert notation.forbidden_points(GOGO, state, 0) == []


def test_a_person_is_told_why_a_point_cannot_be_played():
    def why(state, name, ruleset=GOGO):
        return notation.why_not(ruleset, state, notation.text_to_action(ruleset, None, name))

    state = position(x="e7 f7 g8 g9")
    assert why(state, "e7") == "e7 is occupied"
    assert why(state, "g7") == "g7 is forbidden: it makes two open threes"
    assert "# forbidden, two open threes: g7" in notation.board_text(GOGO, state)
    far = GAME.ruleset(opening="far")
    assert why(notation.play_moves(far, ""), "a1", far).endswith("the first stone belongs in the centre")
    assert why(notation.play_moves(far, "g7 a1"), "i9", far).endswith("it is too near to the centre")


# --- openings, ends, parameters -----------------------------------------------------------------------------------


def test_openings():
    centre = GAME.ruleset(opening="centre")
    assert [notation.point_name(centre, int(a)) for a in legal_actions(centre, notation.play_moves(centre, ""))] == [
        "g7"
    ]
    far = GAME.ruleset(opening="far")
    state = notation.play_moves(far, "g7 a1")
    assert not legal(state, "i9", ruleset=far)
    assert legal(state, "j7", ruleset=far)
    assert len(legal_actions(GOGO, notation.play_moves(GOGO, ""))) == 169


@pytest.mark.parametrize(("rule", "rewards"), [("draw", [0, 0]), ("loses", [1, -1])])
def test_a_full_board_leaves_no_legal_move(rule, rewards):
    ruleset = GAME.ruleset(preset="gomoku", board_size=9, no_move=rule)
    stones_ = [(9 * row + column, (row + column // 2) % 2) for row in range(9) for column in range(9)]
    state = notation.set_up(ruleset, stones_[1:], 0, (0, 0), -1)
    assert not is_over(state)
    state = play(state, "a1", ruleset=ruleset)
    assert state["outcome"] == rules.NO_MOVE
    assert state["rewards"].tolist() == rewards


def test_parameters_out_of_range_are_named():
    for parameters, message in (
        ({"preset": "go"}, "preset is one of gogo, pente, ninuki, gomoku, not 'go'"),
        ({"board_size": 8}, "board_size is a whole number from 9 to 19, not 8"),
        ({"capture_goal": 9}, "capture_goal counts stones"),
        ({"double_three": "some"}, "double_three is one of"),
        ({"lifts_ban": "capture+luck"}, "lifts_ban is 'nothing' or some of"),
        ({"opening": "centre", "board_size": 14}, "needs an odd board_size"),
        ({"captures": 1}, "captures is True or False"),
    ):
        with pytest.raises(GameParameterError, match=re.escape(message)):
            GAME.ruleset(**parameters)
    with pytest.raises(GameParameterError, match="Did you mean 'overline'"):
        GAME.ruleset(overlines="wins")


def test_presets_differ_where_the_games_do():
    sizes = {name: GAME.ruleset(preset=name).num_actions for name in ("gogo", "pente", "ninuki", "gomoku")}
    assert sizes == {"gogo": 169, "pente": 361, "ninuki": 361, "gomoku": 225}
    gomoku = GAME.ruleset(preset="gomoku")
    assert play(position(x="c7 d7 e7 f7 h7", ruleset=gomoku), "g7", ruleset=gomoku)["terminated"]
    state = play(position(x="d7", o="e7 f7", ruleset=gomoku), "g7", ruleset=gomoku)
    assert state["captured"].tolist() == [0, 0]
    assert GAME.ruleset(preset="gomoku").dtype == GOGO.dtype


# --- text ---------------------------------------------------------------------------------------------------------


def test_a_position_goes_through_a_line_a_diagram_and_its_moves():
    moves = "g7 h8 f6 e5 h7 h9 i6"
    state = notation.play_moves(GOGO, moves)
    line = notation.state_to_text(GOGO, state)
    assert line == "13/13/13/13/7o5/7o5/7x5/8x4/4o8/13/13/13/13 o 0-2 i6"
    for text in (line, notation.board_text(GOGO, state), moves, "1. g7 h8 2. f6 e5 3. h7 h9 4. i6"):
        assert notation.state_to_text(GOGO, notation.text_to_state(GOGO, text)) == line
    assert notation.moves_to_text(GOGO, notation.text_to_moves(GOGO, "1.g7 h8 2.f6")) == "g7 h8 f6"


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("13/13 x 0-0 -", NotationError, "has 2 rows, expected 13"),
        ("/".join(["13"] * 12 + ["14"]) + " x 0-0 -", NotationError, "row 1, '14', is not a row of 13 points"),
        ("/".join(["13"] * 12 + ["12x"]) + " x 0-0 -", PositionError, "they put stones in turn"),
        ("/".join(["13"] * 13) + " x 3-0 -", PositionError, "cannot have captured 3 stones"),
        ("/".join(["13"] * 13) + " x 40-40 -", PositionError, "cannot have captured 40 stones"),
        ("/".join(["13"] * 12 + ["12x"]) + " o 0-0 a1", PositionError, "the last move, a1, is not a stone"),
        ("g7 z9", NotationError, "is not a position"),
        ("g7 n9", NotationError, "is outside the board"),
        ("g7 g7", IllegalAction, "may not play"),
    ],
)
def test_positions_that_are_none(text, error, message):
    with pytest.raises(error, match=re.escape(message)):
        notation.text_to_state(GOGO, text)


def test_a_diagram_with_forbidden_points_and_captures_is_read_back():
    state = position(x="e7 f7 g8 g9 j3", o="k3 l3 a9", captured=(2, 4))
    text = notation.board_text(GOGO, state)
    board, _, legend = text.partition("captured")
    assert board.count("#") == 1
    assert board.count("+") == 1
    assert "# forbidden, two open threes: g7" in legend
    assert notation.state_to_text(GOGO, notation.text_to_state(GOGO, text)) == notation.state_to_text(GOGO, state)


def test_stones_on_top_of_each_other_are_refused():
    with pytest.raises(PositionError, match="two stones stand on g7"):
        notation.set_up(GOGO, [(84, 0), (84, 1)], 0, (0, 0), -1)
    with pytest.raises(PositionError, match="outside the board"):
        notation.set_up(GOGO, [(169, 0)], 1, (0, 0), -1)


def test_the_picture_shows_captures_and_forbidden_points():
    state = position(x="e7 f7 g8 g9 j10", o="h8 i9")
    picture = GOGO.draw.svg(GOGO, state)
    assert picture.count("#b3261e") == 1
    assert picture.count("#2f7d4f") == 1


# --- the plain reference ------------------------------------------------------------------------------------------

RULES = [
    {"board_size": 9},
    {"preset": "ninuki", "board_size": 9},
    {"preset": "pente", "board_size": 9},
    {"preset": "gomoku", "board_size": 10},
    {"board_size": 9, "five": "perfect", "lifts_ban": "capture+five", "no_move": "loses"},
    {"board_size": 11, "double_three": "broken", "against_five": "five", "overline": "wins", "capture_goal": 4},
    {},
]


@pytest.mark.parametrize("changes", RULES, ids=str)
def test_random_games_agree_with_the_reference(changes):
    """Every legal mask, plane, capture and result of games whose moves stay close to the stones."""
    ruleset = GAME.ruleset(**changes)
    games = 5 if changes else 3
    n = notation.size_of(ruleset)
    batch = Batch(ruleset, games, autoreset="disabled", threads=1)
    batch.reset(seed=7)
    references = [Board.of(**changes) for _ in range(games)]
    generator = np.random.default_rng(11)
    live, ended = list(range(games)), 0
    while live:
        actions = batch.sample_actions().copy()
        for i in live:
            legal_now = np.flatnonzero(batch.masks[i])
            assert {divmod(int(a), n) for a in legal_now} == references[i].legal()
            actions[i] = _near(references[i], legal_now, n, generator)
            references[i].play(*divmod(int(actions[i]), n))
        batch.step(actions)
        assert valid(ruleset, batch.states)
        assert _agrees(batch.states, ruleset.params, batch.masks)
        for i in list(live):
            _compare(ruleset, batch.states[i], batch.observations[i], references[i])
            if references[i].result is not None:
                live.remove(i)
                ended += 1
    assert ended == games


def _near(board, legal_now, n, generator):
    if board.cells and generator.random() < 0.9:
        row, column = list(board.cells)[generator.integers(len(board.cells))]
        near = [a for a in legal_now if abs(a // n - row) <= 2 and abs(a % n - column) <= 2]
        legal_now = near or legal_now
    return legal_now[generator.integers(len(legal_now))]


def _compare(ruleset, state, observed, board):
    n = board.size
    assert tuple(state["captured"]) == tuple(board.captured)
    placed = notation.stones_of(ruleset, state)
    assert {(r, c): "xo"[placed[r, c]] for r, c in np.argwhere(placed >= 0).tolist()} == board.cells
    if board.result is not None:
        assert state["terminated"]
        assert float(state["rewards"][0]) == board.result
        return
    assert not is_over(state)
    channels = ruleset.channels(observed)
    mover = board.mover

    def points(plane):
        return {tuple(point) for point in np.argwhere(plane).tolist()}

    free = [q for q in board.points() if board.at(*q) == "."]
    assert points(channels["forbidden"][0]) == {q for q in free if board.forbidden(*q, mover)}
    for k, player in enumerate((mover, 1 - mover)):
        assert points(channels["takes"][k]) == {q for q in free if board.enclosed(*q, player)}
        pairs = board.captured[player] // 2
        assert channels["captured"][k].sum() == min(pairs, channels["captured"].shape[1])
    assert points(channels["fives"][0]) == board.fives(0) | board.fives(1)
    assert channels["last"].sum() == 1
    assert channels["stones"].shape == (2, n, n)


def test_bytes_that_are_no_state_are_found_out():
    """Every byte of the board and its counts is worked out again, whatever stands there."""
    state = notation.play_moves(GOGO, "g7 h8 f6 e5 h7 h9 i6 h10")
    assert valid(GOGO, state)
    generator = np.random.default_rng(5)
    raw = np.frombuffer(state.tobytes(), np.uint8)
    begin = GOGO.dtype.fields["empty"][1]
    wrong = 0
    for _ in range(400):
        changed = raw.copy()
        changed[generator.integers(begin, len(raw), 1 + generator.integers(3))] = generator.integers(0, 256)
        if (changed != raw).any():
            wrong += 1
            record = changed.view(GOGO.dtype)[0]
            same = all(record[name].tobytes() == state[name].tobytes() for name in _CHECKED)
            assert same or not valid(GOGO, record)
    assert wrong > 300


def test_games_that_should_be_over_are_no_states():
    """A full board, and a five that nothing can break, in records that say the game goes on."""
    small, gomoku = (GAME.ruleset(preset="gomoku", board_size=size) for size in (9, 13))
    full = [(9 * row + column, (row + column // 2) % 2) for row in range(9) for column in range(9)]
    state = play(notation.set_up(small, full[1:], 0, (0, 0), -1), "a1", ruleset=small)
    five = play(position(x="c7 d7 e7 f7", ruleset=gomoku), "g7", ruleset=gomoku)
    for ruleset, finished in ((small, state), (gomoku, five)):
        assert finished["terminated"]
        going_on = finished.copy()
        going_on["terminated"] = going_on["outcome"] = going_on["end_reason"] = 0
        assert not valid(ruleset, going_on)


_CHECKED = ("empty", "captured", "fives", "banned", "lifted", "planes", "lines")


def test_a_state_comes_back_from_its_bytes():
    state = notation.play_moves(GOGO, "g7 h8 f6")
    again = from_bytes(GOGO, state_bytes(GOGO, state))
    assert (observation(GOGO, again, 1) == observation(GOGO, state, 1)).all()
