"""The rules of animal shogi against an independent slow implementation, and against published figures."""

from __future__ import annotations

import random

import numpy as np
import pytest
from record_tools import try_records

from asobiba.core import GameParameterError, IllegalAction, NotationError, PositionError, compiled, game, states
from asobiba.core.laws import close_step
from asobiba.envs.animal_shogi import notation, rules
from asobiba.envs.animal_shogi.board import TARGET, flip
from asobiba.envs.animal_shogi.position import board_of, set_up
from asobiba.envs.animal_shogi.reference import ReferenceGame, perft

GAME = game("animal_shogi")
RULES = GAME.ruleset()
SLOW_NAMES = {"C": "chick", "E": "elephant", "G": "giraffe", "H": "hen", "L": "lion"}


@compiled()
def count_lines(stack, masks, params, depth):
    """Sequences of `depth` moves from stack[0], by the rules themselves."""
    p = params[0]
    total = 0
    ply = 0
    action = np.zeros(depth + 1, np.int64)
    rules.legal(stack[0], p, masks[0])
    while ply >= 0:
        found = -1
        for a in range(action[ply], masks.shape[1]):
            if masks[ply, a] != 0:
                found = a
                break
        if found < 0:
            ply -= 1
            continue
        action[ply] = found + 1
        if ply == depth - 1:
            total += 1
            continue
        stack[ply + 1] = stack[ply]
        s = stack[ply + 1]
        s.rewards[:] = 0
        rules.step(s, p, found)
        close_step(s, p)
        if s.terminated == 0 and s.truncated == 0:
            ply += 1
            action[ply] = 0
            rules.legal(s, p, masks[ply])
    return total


def perft_by_rules(depth: int, text: str | None = None, **parameters) -> int:
    ruleset = GAME.ruleset(**parameters)
    stack = ruleset.zeros(depth + 1)
    stack[0] = notation.text_to_state(ruleset, text) if text else states.new_state(ruleset, 0)
    return int(count_lines(stack, np.zeros((depth + 1, 132), np.int8), ruleset.params, depth))


PERFT = [4, 17, 123, 976, 8122, 71677, 635117, 5684459]
"""Counted by the slow implementation; `test_perft_slow` counts the deeper ones again."""


def test_perft_by_the_rules():
    assert [perft_by_rules(depth) for depth in range(1, 9)] == PERFT


def test_perft_by_the_slow_implementation():
    assert [perft(ReferenceGame(), depth) for depth in range(1, 7)] == PERFT[:6]


@pytest.mark.slow
def test_perft_slow():
    assert [perft(ReferenceGame(), depth) for depth in (7, 8)] == PERFT[6:]


@pytest.mark.parametrize(
    ("parameters", "slow"),
    [({"try_rule": "next_move"}, {"try_at_once": False}), ({"legal_check": True}, {"legal_check": True})],
)
def test_perft_of_the_variants(parameters, slow):
    counts = [perft_by_rules(depth, **parameters) for depth in range(1, 7)]
    assert counts[:5] == [perft(ReferenceGame(**slow), depth) for depth in range(1, 6)]
    assert counts[5] == {"try_rule": 72004, "legal_check": 12636}[next(iter(parameters))]


def action_of(game: ReferenceGame, move) -> int:
    """The number of a slow move: squares from the mover's left corner."""

    def square(at):
        k = at[0] + 3 * (3 - at[1])
        return 11 - k if game.mover else k

    sort, what, to = move
    if sort == "drop":
        return 96 + 12 * ("chick", "elephant", "giraffe").index(what) + square(to)
    offset = square(to) - square(what)
    return 12 * (2, 3, 4, -1, 1, -4, -3, -2).index(offset) + square(what)


def play_random_games(count: int, seed: int, parameters: dict, slow: dict, careless: float) -> dict[str, int]:
    """Plays random games on both sides and compares actions, flags, rewards and counts of repetition at every move.

    With probability 1 - `careless` a player does not leave his lion to be caught, so that games last.
    """
    ruleset = GAME.ruleset(**parameters)
    engine, generator = ruleset.engine, random.Random(seed)
    record, masks, blank = ruleset.zeros(), np.zeros((1, 132), np.int8), ruleset.zeros()
    actions = np.zeros(1, np.int64)
    ends: dict[str, int] = {}
    for _ in range(count):
        engine.begin_all(record, ruleset.params, blank)
        slow_game = ReferenceGame(**slow)
        while True:
            engine.write_masks(record, ruleset.params, masks)
            moves = {action_of(slow_game, move): move for move in slow_game.moves()}
            assert sorted(moves) == np.flatnonzero(masks[0]).tolist()
            assert record["to_move"][0] == slow_game.mover
            if not moves:
                break
            choices = sorted(moves)
            if not parameters.get("legal_check") and generator.random() > careless:
                quiet = [a for a in choices if slow_game.leaves_lion_safe(moves[a])]
                choices = quiet or choices
            action = actions[0] = generator.choice(choices)
            engine.advance_all(record, ruleset.params, actions, masks)
            slow_game.play(moves[action])
            assert record["occurrences"][0] == slow_game.seen[slow_game.position()]
            assert bool(record["terminated"][0]) == (slow_game.result is not None)
            if record["truncated"][0]:
                break
        winner, reason = slow_game.result or (None, "truncated")
        wanted = [0.0, 0.0] if winner is None else [1.0 - 2 * (winner != seat) for seat in (0, 1)]
        assert record["rewards"][0].tolist() == wanted
        ends[reason] = ends.get(reason, 0) + 1
    return ends


VARIANTS = [
    ({}, {}, 1.0),
    ({}, {}, 0.05),
    ({"try_rule": "next_move"}, {"try_at_once": False}, 0.2),
    ({"legal_check": True}, {"legal_check": True}, 1.0),
]


@pytest.mark.parametrize(("parameters", "slow", "careless"), VARIANTS)
def test_random_games_agree_with_the_slow_implementation(parameters, slow, careless):
    ends = play_random_games(150, 1, parameters, slow, careless)
    assert sum(ends.values()) == 150


@pytest.mark.slow
@pytest.mark.parametrize(("parameters", "slow", "careless"), VARIANTS)
def test_random_games_agree_a_hundred_thousand_times(parameters, slow, careless):
    ends = play_random_games(25_000, 2, parameters, slow, careless)
    assert sum(ends.values()) == 25_000


def start():
    return states.new_state(RULES, 0)


def at(text):
    return notation.text_to_state(RULES, text)


def played(text: str, ruleset=RULES, state=None):
    state = states.new_state(ruleset, 0) if state is None else state
    for move in text.split():
        state = states.step(ruleset, state, notation.text_to_action(ruleset, state, move))
    return state


def test_the_tutorials_console_listing():
    assert notation.console_text(RULES, start()).splitlines() == [
        "-----------------------",
        "後手持ち駒: ",
        " |A|B|C|",
        "1|キ|ラ|ゾ|",
        "2| |ヒ| |",
        "3| |ひ| |",
        "4|ぞ|ら|き|",
        "先手持ち駒: ",
        "指し手: 先手 ",
        "-----------------------",
        "コード 着手可能手(合法手)",
        "13a  A3らいおん",
        "15a  C3らいおん",
        "258  C3きりん",
        "472  B2ひよこ",
    ]


def test_the_tutorials_positions():
    letters = dict(enumerate([".", ".", "C", "c", "E", "e", "G", "g", "L", "l"]))
    board = [letters[code] for code in (4, 8, 6, 0, 2, 0, 0, 3, 0, 7, 9, 5)]
    assert set_up(RULES, board).tobytes() == set_up(RULES, board_of(start())).tobytes()
    assert notation.state_to_text(RULES, set_up(RULES, board)) == "gle/1c1/1C1/ELG b - 1"
    giraffe = 3
    assert sorted(TARGET[giraffe, 4][:4]) == [1, 3, 5, 7]
    # The tutorial's example of setting up: both lions stand on the far rank, so the player to move has won by a try.
    state = set_up(RULES, "ElG....e.gL.", ({"C": 1}, {"C": 1}), side=0)
    assert notation.board_text(RULES, state).endswith("try: the first player wins")


def test_moves_in_every_notation():
    for text in ("B3B2", "B3xB2", "2c2b", "472", "B2ひよこ", "B2ひよこ(B3)"):
        assert notation.text_to_action(RULES, start(), text) == 16
    after = played("B3B2 B1B2")
    for text in ("C*C2", "C*1b", "f82", "C2ひよこ", "C2ひよこ打"):
        assert notation.text_to_action(RULES, after, text) == 96 + 8


def test_a_name_that_two_pieces_fit_asks_for_the_origin():
    state = at("1l1/2G/1G1/EL1 b Ecc")
    with pytest.raises(NotationError, match=r"could be .*name the origin"):
        notation.text_to_action(RULES, state, "B2きりん")
    assert notation.text_to_action(RULES, state, "B2きりん(C2)") == notation.text_to_action(RULES, state, "C2B2")


def test_moves_and_positions_survive_being_written():
    generator = random.Random(3)
    writers = (notation.action_to_text, notation.action_to_usi, notation.action_to_japanese, notation.action_code)
    for _ in range(30):
        state = start()
        while not states.is_over(state):
            action = generator.choice(states.legal_actions(RULES, state).tolist())
            for write in writers:
                assert notation.text_to_action(RULES, state, write(RULES, state, action)) == action
            state = states.step(RULES, state, action)
            again = at(notation.state_to_text(RULES, state))
            for name in ("position", "to_move", "terminated", "rewards", "outcome"):
                assert np.array_equal(again[name], state[name])


def result(state):
    return int(state["outcome"]), state["rewards"].tolist()


def test_a_captured_hen_returns_as_a_chick():
    state = played("B1B2", state=at("1l1/1+C1/3/GLE w ceg"))
    assert notation.state_to_text(RULES, state).split()[2] == "ge2c"


def test_a_chick_becomes_a_hen_by_moving_only():
    assert notation.state_to_text(RULES, played("A2A1+", state=at("2l/C2/3/GLE b ceg"))).startswith("+C1l/3/3/GLE")
    dropped = played("C*A1 C1C2", state=at("2l/3/3/GLE b Cceg"))
    assert notation.state_to_text(RULES, dropped).startswith("C2/2l/3/GLE")
    origins = {notation.action_to_text(RULES, dropped, a)[:2] for a in states.legal_actions(RULES, dropped)}
    assert origins == {"A4", "B4", "C4"}


def test_two_chicks_may_stand_on_a_file():
    assert notation.state_to_text(RULES, played("C*A2", state=at("2l/3/C2/GLE b Ceg"))).startswith("2l/C2/C2/GLE")


def test_a_safe_try_wins_at_once_or_one_move_later():
    text = "2l/L2/3/3 b 2C2E2G".replace("2G", "Gg")
    assert result(played("A2A1", state=at(text))) == (rules.TRY, [1, -1])
    later = GAME.ruleset(try_rule="next_move")
    state = played("A2A1", later, notation.text_to_state(later, text))
    assert result(state) == (0, [0, 0])
    assert result(played("G*C4", later, state)) == (rules.TRY, [1, -1])


def test_a_try_that_can_be_caught_is_decided_by_the_next_move():
    state = played("A2A1", state=at("1l1/L2/3/3 b 2E2G2c"))
    assert result(state) == (0, [0, 0])
    assert result(played("B1A1", state=state)) == (rules.LION_TAKEN, [-1, 1])
    assert result(played("C*C4", state=state)) == (rules.TRY, [1, -1])
    # A try in answer to a try comes too late.
    state = played("A2A1 C3C4", state=at("1g1/L2/2l/3 b 2E2CG"))
    assert result(state) == (rules.TRY, [1, -1])


def test_moving_into_check_is_legal_unless_masked():
    text = "1l1/3/1L1/3 b 2E2G2c"
    assert result(played("B3B2 B1B2", state=at(text))) == (rules.LION_TAKEN, [-1, 1])
    strict = GAME.ruleset(legal_check=True)
    with pytest.raises(IllegalAction, match="B3B2"):
        played("B3B2", strict, notation.text_to_state(strict, text))


def test_the_third_occurrence_is_a_draw():
    round_trip = "C4C3 A1A2 C3C4 A2A1 "
    state = played(round_trip * 2)
    assert result(state) == (rules.REPETITION, [0, 0])
    assert int(state["steps"]) == 8
    assert result(played(round_trip + "C4C3 A1A2 C3C4")) == (0, [0, 0])


def test_equal_boards_with_other_hands_or_sides_are_no_repetition():
    # The same squares with a chick exchanged for another owner's, and with the other player to move.
    keys = {int(s["position"]) | int(s["to_move"]) << 60 for s in map(at, (
        "1l1/3/3/1L1 b 2C2E2G", "1l1/3/3/1L1 b C2E2Gc", "1l1/3/3/1L1 w 2C2E2G", "1l1/3/3/1L1 w C2E2Gc",
    ))}  # fmt: skip
    assert len(keys) == 4


def test_mate_ends_the_game_where_check_is_heeded():
    assert "no move" in play_random_games(60, 5, {"legal_check": True}, {"legal_check": True}, 1.0)


def test_observations_are_seen_from_the_viewers_side():
    first, second = (RULES.channels(states.observation(RULES, start(), seat)) for seat in (0, 1))
    assert np.array_equal(first["pieces"], second["pieces"])
    assert first["pieces"].sum() == 8
    assert [first["first"][0], first["to_move"][0], second["first"][0], second["to_move"][0]] == [1, 1, 0, 0]
    after = played("B3B2 B1B2 C*C2 A1A2")
    for seat in (0, 1):
        shown = RULES.channels(states.observation(RULES, after, seat))
        swapped = RULES.channels(states.observation(RULES, after, 1 - seat))
        mirrored = np.concatenate([swapped["pieces"][5:], swapped["pieces"][:5]])[:, ::-1, ::-1]
        assert np.array_equal(shown["pieces"], mirrored)
        assert shown["hands"].tolist() == np.roll(swapped["hands"], 6).tolist()


def test_earlier_positions_in_the_observation():
    ruleset = GAME.ruleset(history=2)
    moves = ["B3B2", "B1B2", "C*C2", "A1A2"]
    past = [states.new_state(ruleset, 0)]
    for move in moves:
        past.append(played(move, ruleset, past[-1]))
    for seat in (0, 1):
        shown = ruleset.channels(states.observation(ruleset, past[-1], seat))
        for back in range(3):
            then = RULES.channels(states.observation(RULES, played(" ".join(moves[: len(moves) - back])), seat))
            assert np.array_equal(shown["pieces"][10 * back : 10 * back + 10], then["pieces"])
            assert np.array_equal(shown["hands"][12 * back : 12 * back + 12], then["hands"])
    early = ruleset.channels(states.observation(ruleset, past[1], 0))
    assert not early["pieces"][20:].any()


def test_flipping_twice_changes_nothing():
    state = played("B3B2 B1B2 C*C2")
    assert flip(flip(np.int64(state["position"]))) == state["position"]


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("gle/1c1/1C1", NotationError, "has 3 ranks"),
        ("gle/1c1/1C1/EL b -", NotationError, "has 2 squares"),
        ("gle/1c1/1C1/ELX b -", NotationError, "'X' in rank"),
        ("gle/1c1/1C1/ELG x -", NotationError, "expected SFEN"),
        ("gle/1c1/1C1/ELG b Q", NotationError, "is not a hand"),
        ("gle/1c1/1C1/ELG b C", PositionError, "two chicks and hens; this position has 3: 2 on the board, 1 in hand"),
        ("gle/3/1C1/ELG b -", PositionError, "two chicks and hens; this position has 1"),
        ("gle/1c1/1C1/LLG b E", PositionError, "first player has 2 lions"),
        ("g1e/1c1/1C1/ELG b -", PositionError, "second player has 0 lions"),
        ("gle/3/3/ELG b 3C", PositionError, "3 chicks in the first player's hand"),
        ("gle/3/3/ELG b 2Cc", PositionError, "has 3: 0 on the board, 3 in hand"),
        ("g1e/1c1/1C1/ELG b L", PositionError, "would be to move"),
        ("gle/1c1/1C1/ELG b L", PositionError, "one in the opponent's hand"),
    ],
)
def test_impossible_positions_are_refused_with_the_reason(text, error, message):
    if " " not in text:
        text += " b -"
    with pytest.raises(error, match=message):
        at(text)


def test_a_side_left_in_check_is_refused_where_check_is_heeded():
    ruleset = GAME.ruleset(legal_check=True)
    with pytest.raises(PositionError, match="left his lion to be caught"):
        notation.text_to_state(ruleset, "1l1/1L1/3/3 b 2C2E2G")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("castle", "pieces, squares and drops look like this"),
        ("A4D4", "pieces, squares and drops look like this"),
        ("A4A2", "neighbouring square"),
        ("L*B2", "pieces, squares and drops look like this"),
        ("B1ひよこ", "fits no legal move"),
        ("000", "pieces, squares and drops look like this"),
        ("", "pieces, squares and drops look like this"),
    ],
)
def test_unreadable_moves(text, message):
    with pytest.raises(NotationError, match=message):
        notation.text_to_action(RULES, start(), text)


@pytest.mark.parametrize(
    "parameters", [{"legal_check": 2}, {"try_rule": "never"}, {"history": 17}, {"history": 1.5}, {"max_steps": 0}]
)
def test_parameters_that_make_no_game(parameters):
    with pytest.raises(GameParameterError, match=next(iter(parameters))):
        GAME.ruleset(**parameters)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"board": ["."] * 11}, "12 squares"),
        ({"board": ["Z"] + ["."] * 11}, "'Z' is not a piece"),
        ({"board": list("ELG.C..c.gle"), "side": 2}, "side is 0"),
        ({"board": list("ELG.C..c.gle"), "hands": ({"H": 1}, {})}, "a captured hen is a chick"),
    ],
)
def test_set_up_names_what_is_wrong(arguments, message):
    with pytest.raises(PositionError, match=message):
        set_up(RULES, **arguments)


def test_the_text_picture_marks_what_matters():
    assert notation.board_text(RULES, played("B3B2 B1B2")).splitlines() == [
        "second   hand cx1",
        "    A   B   C",
        " 1  g  [.]' e",
        " 2  . '[l]  . '",
        " 3  . ' . ' . '",
        " 4  E   L   G",
        "first*   hand Cx1",
    ]


def test_the_picture_marks_what_matters():
    from asobiba.api.scene import SPOT, Pen
    from asobiba.envs.animal_shogi import draw

    state = played("B3B2 B1B2")
    picture = draw.svg(RULES, state, last_action=notation.text_to_action(RULES, played("B3B2"), "B1B2"))
    assert "the first player to move" in picture
    assert picture.count("#ffd98a") == 2
    assert "data-name='hand-first-C'" in picture
    pen = Pen(RULES)
    targets = {pen.spots(state, action)[-1] for action in states.legal_actions(RULES, state).tolist()}
    assert picture.count("fill='#2e8b57'") == len(targets)
    assert [pen.tell(state, SPOT, spot) for spot in pen.spots(state, 96 + 8)] == ["hand-first-C", "C2"]


@pytest.mark.parametrize("parameters", [{}, {"legal_check": True, "try_rule": "next_move"}], ids=str)
def test_records_with_changed_bytes_never_pass_for_what_they_are_not(parameters):
    valid, invalid = try_records(GAME.ruleset(**parameters))
    assert valid > 100
    assert invalid > 1000
