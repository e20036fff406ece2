"""Bao's rules: the paper's worked examples, an independent slow sowing, every way a game ends, bad input."""

from __future__ import annotations

import numpy as np
import pyspiel
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from record_tools import try_records

from asobiba.api import openspiel
from asobiba.core import GameParameterError, NotationError, PositionError
from asobiba.core.states import action_mask, is_over, legal_actions, new_state, step
from asobiba.envs.bao import GAME, draw, notation
from asobiba.envs.bao.layout import layout
from asobiba.envs.bao.reference import ReferenceGame
from asobiba.envs.bao.sowing import drops, is_endless, sowings


def state_of(text, **parameters):
    ruleset = GAME.ruleset(**parameters)
    return ruleset, notation.text_to_state(ruleset, text)


def play(ruleset, state, text):
    return step(ruleset, state, notation.text_to_action(ruleset, state, text))


def test_opening_with_f_on_8x2():
    """Inahata and Takahashi, figure 2: f, then j, ends at o and captures the four seeds of b."""
    ruleset = GAME.ruleset()
    state = new_state(ruleset, 0)
    boards = list(sowings(notation.counts_of(ruleset, state), 5))
    assert [notation.LETTERS[last] for _, last in boards] == ["j", "o"]
    assert boards[0][0] == [0, 4, 0, 4, 0, 0, 1, 5, 1, 5, 0, 4, 0, 4, 0, 4]
    assert boards[1][0] == [0, 4, 0, 4, 0, 0, 1, 5, 1, 0, 1, 5, 1, 5, 1, 4]
    after = play(ruleset, state, "f")
    assert notation.state_to_text(ruleset, after) == "0,0,0,4,0,0,1,5/1,0,1,5,1,5,1,4 second 4-0"


def test_opening_with_d_on_4x2():
    """Inahata and Takahashi, section 5.1: S0 to S7 in six sowings, ending at e."""
    ruleset = GAME.ruleset(holes=4)
    state = new_state(ruleset, 0)
    boards = [board for board, _ in sowings(notation.counts_of(ruleset, state), 3)]
    assert boards[0] == [0, 4, 0, 0, 1, 5, 1, 5]
    assert boards[-2] == [0, 6, 2, 1, 0, 6, 0, 1]
    assert boards[-1] == [0, 6, 0, 2, 1, 6, 0, 1]
    assert len(boards) == 6
    after = play(ruleset, state, "d")
    assert int(after["last_end"]) == 4
    assert notation.state_to_text(ruleset, after) == "0,6,0,0/1,6,0,1 second 2-0"


@pytest.mark.parametrize(
    ("parameters", "games"),
    [
        ({}, 25),
        ({"endless": "loses", "repetition": "first_loses", "occurrences": 2, "start": "random"}, 25),
        ({"holes": 4, "start": "random"}, 60),
        ({"holes": 4, "start": "random", "endless": "draws", "repetition": "second_loses"}, 60),
        ({"holes": 16, "start": "full"}, 2),
    ],
    ids=str,
)
def test_the_rules_and_the_reference_play_the_same_game(parameters, games):
    """Masks, boards, stores, repetitions, results: every ply of random games, some thousand in all."""
    ruleset = GAME.ruleset(**parameters)
    holes, rng, plies = ruleset.num_actions, np.random.default_rng(1), 0
    names = {1: "a row is empty", 2: "repetition", 3: "endless", 4: "blocked"}
    settings = {k: v for k, v in parameters.items() if k in ("endless", "repetition", "occurrences")}
    for seed in range(games):
        state = new_state(ruleset, seed)
        game = ReferenceGame(notation.counts_of(ruleset, state), **settings)
        while True:
            mask = action_mask(ruleset, state)
            assert [int(state["to_move"]) * holes + k for k in np.flatnonzero(mask)] == game.moves()
            if is_over(state):
                break
            action = int(rng.choice(np.flatnonzero(mask)))
            hole = int(state["to_move"]) * holes + action
            state, plies = step(ruleset, state, action), plies + 1
            game.play(hole)
            assert int(state["to_move"]) == game.mover
            assert state["stores"].tolist() == game.stores
            assert game.last == (
                hole,
                int(state["last_end"]) if state["last_end"] >= 0 else None,
                state["last_captured"],
            )
            if game.result is None or game.result[1] != "endless":
                assert notation.counts_of(ruleset, state) == game.board
            if game.result is None:
                assert not state["terminated"]
                assert int(state["occurrences"]) == game.times()
            else:
                winner, reason = game.result
                assert names[int(state["outcome"])] == reason
                assert state["rewards"].tolist() == [0 if winner is None else 1 - 2 * (winner != k) for k in (0, 1)]
            if state["truncated"]:
                break
    assert plies > 5 * games


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 5), min_size=8, max_size=8).filter(lambda x: x[0] > 0 and any(x[4:])))
def test_an_endless_move_comes_back_to_where_it_began(counts):
    """The exact test of the kernels relies on it: sowing is injective, so no endless move has a tail before its cycle."""
    if is_endless(counts, 0):
        *_, (board, last) = sowings(counts, 0)
        assert (board, last) == (counts, 0)


ENDLESS = "3,1,0,1/0,1,0,1 first 4-5"  # seven seeds: the least endless move of 4x2, from a


def test_endless_moves_are_illegal_lose_or_draw():
    ruleset, state = state_of(ENDLESS, holes=4)
    assert is_endless(notation.counts_of(ruleset, state), 0)
    assert action_mask(ruleset, state).tolist() == [0, 1, 0, 1]
    for endless, reward in (("loses", -1), ("draws", 0)):
        ruleset, state = state_of(ENDLESS, holes=4, endless=endless)
        after = play(ruleset, state, "a")
        assert after["terminated"]
        assert after["rewards"].tolist() == [reward, -reward]
        assert "never ends" in notation.board_text(ruleset, after)


def test_a_player_whose_every_move_is_endless_and_illegal_ends_the_game():
    """On 2x2 there are such boards; on 4x2 none with at most 18 seeds."""
    assert is_endless([2, 0, 2, 1], 0)
    ruleset, state = state_of("2,0/2,1 first 3-0", holes=2)
    assert (state["terminated"], state["outcome"]) == (1, 4)
    assert state["stores"].tolist() == [3 + 2, 3]
    assert state["rewards"].tolist() == [1, -1]
    assert "every move would be endless" in notation.board_text(ruleset, state)
    assert not is_over(state_of("2,0/2,1 first 3-0", holes=2, endless="loses")[1])


def repeat_until_over(**parameters):
    """Goes round the two-ply repetition of 4x2: shortest line dfdebhbea, then a cycle of two moves."""
    ruleset = GAME.ruleset(holes=4, **parameters)
    state = new_state(ruleset, 0)
    for letter in "dfdebhbea":
        state = play(ruleset, state, letter)
    start = state["board"].copy()
    while not is_over(state) and int(state["steps"]) < 60:
        for action in legal_actions(ruleset, state):
            after = step(ruleset, state, int(action))
            if after["stores"].tolist() == state["stores"].tolist() and int(after["outcome"]) != 1:
                reply = [step(ruleset, after, int(k)) for k in legal_actions(ruleset, after)]
                if is_over(after) or any((r["board"] == start).all() or r["outcome"] == 2 for r in reply):
                    break
        state = after
        if not is_over(state):
            state = next(r for r in reply if (r["board"] == start).all() or r["outcome"] == 2)
    return state


def test_repetition_draws_at_the_third_occurrence_by_default():
    state = repeat_until_over()
    assert (state["outcome"], state["occurrences"], state["rewards"].tolist()) == (2, 3, [0, 0])
    assert state["steps"] == 9 + 4


def test_repetition_is_a_parameter():
    assert repeat_until_over(repetition="first_loses")["rewards"].tolist() == [-1, 1]
    assert repeat_until_over(repetition="second_loses")["rewards"].tolist() == [1, -1]
    assert repeat_until_over(occurrences=2)["steps"] == 9 + 2
    off = repeat_until_over(repetition="off")
    assert not off["terminated"]
    assert off["steps"] >= 59


def test_random_starts_differ_and_hold_their_seeds():
    ruleset = GAME.ruleset(start="random")
    boards = {tuple(notation.counts_of(ruleset, new_state(ruleset, seed))) for seed in range(20)}
    assert len(boards) == 20
    assert all(sum(board) == 32 and any(board[:8]) and any(board[8:]) for board in boards)
    assert notation.counts_of(ruleset, new_state(ruleset, 3)) == notation.counts_of(ruleset, new_state(ruleset, 3))
    assert notation.counts_of(GAME.ruleset(start="full"), new_state(GAME.ruleset(start="full"), 0)) == [4] * 16


def test_openspiel_deals_a_random_start_by_chance():
    (name,) = openspiel.register(GAME)
    spiel = pyspiel.load_game(name, {"start": "random", "chance_outcomes": 20})
    assert spiel.get_type().chance_mode == pyspiel.GameType.ChanceMode.EXPLICIT_STOCHASTIC
    start = spiel.new_initial_state()
    assert start.is_chance_node()
    dealt = [start.child(outcome) for outcome, _ in start.chance_outcomes()]
    assert len({state.record["board"].tobytes() for state in dealt}) == 20
    assert all(state.current_player() == 0 and state.record["occurrences"] == 1 for state in dealt)
    pyspiel.random_sim_test(spiel, num_sims=2, serialize=True, verbose=False)
    fixed = pyspiel.load_game(name)
    assert fixed.get_type().chance_mode == pyspiel.GameType.ChanceMode.DETERMINISTIC
    assert not fixed.new_initial_state().is_chance_node()


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"holes": 7}, "even number of holes"),
        ({"holes": 18}, "from 2 to 16"),
        ({"holes": 0}, "got 0"),
        ({"holes": 4, "start": "0,4,0,4/0,4,0,-1"}, "cannot hold -1"),
        ({"holes": 4, "start": "0,4,0,4/0,4,0"}, "same number of holes"),
        ({"holes": 4, "start": "0,0,0,0/1,1,1,1"}, "leaves a row empty"),
        ({"holes": 8, "start": "0,4/0,4"}, "this game has 8 holes"),
        ({"start": "empty"}, "alternate, full, random"),
        ({"holes": 2, "start": "99,99/1,1"}, "at most 128 seeds"),
        ({"endless": "wins"}, "illegal, loses, draws"),
        ({"repetition": "wins"}, "draw, first_loses"),
        ({"occurrences": 1}, "from 2 to 100"),
        ({"max_steps": 0}, "got 0"),
    ],
)
def test_parameters_that_make_no_game(parameters, words):
    with pytest.raises(GameParameterError, match=words):
        layout(**parameters)


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("nonsense", NotationError, "not a position"),
        ("0,4,0,4/0,4,0,x first 0-0", NotationError, "'x' in the second player's row"),
        ("0,4,0,4/0,4,0,-4 first 0-0", NotationError, "cannot hold -4"),
        ("0,4,0/0,4,0 first 0-0", NotationError, "this game has 4 holes"),
        ("0,4,0,4/0,4,0,4 third 0-0", NotationError, "got 'third'"),
        ("0,4,0,4/0,4,0,4 first 1-0", PositionError, r"has 16 seeds; .* has 17"),
    ],
)
def test_positions_that_are_none(text, error, words):
    with pytest.raises(error, match=words):
        state_of(text, holes=4)


def test_moves_that_are_none():
    ruleset, state = state_of("0,4,0,4/0,4,0,4 second 0-0", holes=4)
    assert notation.text_to_action(ruleset, state, "f") == 1
    assert notation.action_to_text(ruleset, state, 1) == "f"
    with pytest.raises(NotationError, match="in the other player's row"):
        notation.text_to_action(ruleset, state, "a")
    with pytest.raises(NotationError, match=r"not a hole of this board: .* e to h"):
        notation.text_to_action(ruleset, state, "z")


def test_position_text_goes_both_ways():
    ruleset = GAME.ruleset()
    state, rng = new_state(ruleset, 5), np.random.default_rng(0)
    while not is_over(state):
        text = notation.state_to_text(ruleset, state)
        again = notation.text_to_state(ruleset, text)
        for name in ("board", "stores", "to_move", "moves"):
            assert np.array_equal(again[name], state[name])
        state = step(ruleset, state, int(rng.choice(legal_actions(ruleset, state))))


def test_picture_and_animation_show_every_seed():
    ruleset = GAME.ruleset()
    before = new_state(ruleset, 0)
    after = step(ruleset, before, 5)
    frames = draw.frames(ruleset, before, 5, after)
    lifts_and_seeds = list(drops(notation.counts_of(ruleset, before), 5))
    assert len(frames) == len(lifts_and_seeds) + 1 == (1 + 4) + (1 + 5) + 1
    assert [hand for _, _, hand in lifts_and_seeds] == [4, 3, 2, 1, 0, 5, 4, 3, 2, 1, 0]
    picture = draw.svg(ruleset, after, last_action=5)
    assert picture == frames[-1]
    assert all(colour in picture for colour in ("#58c4dd", "#ff5a4f", "#ffd23f"))
    assert picture.startswith("<svg")
    assert picture.endswith("</svg>")


def test_an_endless_move_is_animated_up_to_its_limit():
    ruleset, state = state_of(ENDLESS, holes=4, endless="draws")
    frames = draw.frames(ruleset, state, 0, play(ruleset, state, "a"))
    assert 10 < len(frames) <= 241


@pytest.mark.parametrize("parameters", [{}, {"holes": 4, "start": "random"}], ids=str)
def test_records_with_changed_bytes_never_pass_for_what_they_are_not(parameters):
    valid, invalid = try_records(GAME.ruleset(**parameters))
    assert valid > 100
    assert invalid > 100
