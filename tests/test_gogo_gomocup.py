"""The Gomocup protocol both ways: our agents as programs, and programs in processes of their own as agents."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import numpy as np
import pytest

from asobiba.core import Agent, GameParameterError, make_agent
from asobiba.core.record import BY_RULES
from asobiba.core.states import action_mask, is_over, legal_actions, new_state, step
from asobiba.envs.gogo import GAME, notation
from asobiba.protocols.gomocup import GomocupServer
from asobiba.protocols.gomocup_agent import GomocupAgent
from asobiba.protocols.process import EngineError, EngineTimeout
from asobiba.protocols.sandbox import consent

GOMOKU = GAME.ruleset(preset="gomoku")
ENGINE = f"{sys.executable} {Path(__file__).with_name('gomocup_engines.py')}"


def talk(*lines, agent="prototype", parameters=None):
    output = io.StringIO()
    GomocupServer(GAME, agent, parameters, output).run(line + "\n" for line in lines)
    return output.getvalue().splitlines()


def square(text):
    x, y = text.split(",")
    return int(x), int(y)


def test_a_game_as_managers_play_it():
    said = talk(
        "ABOUT",
        "START 15",
        "INFO timeout_turn 200",
        "INFO max_memory 0",
        "BEGIN",
        "TURN 0,0",
        "TURN 14,14",
        "END",
        "BEGIN",
    )
    assert said[0].startswith('name="asobiba prototype"')
    assert said[1] == "OK"
    squares = [square(line) for line in said[2:]]
    assert len(squares) == 3  # nothing is answered after END
    assert len({*squares, (0, 0), (14, 14)}) == 5
    assert all(0 <= x < 15 and 0 <= y < 15 for x, y in squares)


def test_an_engine_of_two_threads_that_ponders_plays_legal_moves_and_takes_them_back():
    name = "alpha_beta:seconds=1,threads=2,ponder=True"
    moves = ["TURN 0,0", "TAKEBACK 0,0", "TAKEBACK 7,7", "TURN 14,14", "RESTART", "BEGIN", "TURN 0,14", "TURN 14,0"]
    said = talk("START 15", "INFO timeout_turn 100", "BEGIN", *moves, "END", agent=name)
    assert said[1] == said[-3] == "7,7"  # the first stone, in the middle
    squares = [square(line) for line in said if line != "OK"]
    assert len(squares) == 6
    assert len({*squares[3:], (0, 14), (14, 0)}) == 5
    assert not any(line.startswith("ERROR") for line in said)


def test_a_board_is_taken_over_and_its_five_made():
    stones = ["3,7,1", "0,0,2", "4,7,1", "0,2,2", "5,7,1", "0,4,2", "6,7,1", "2,7,2"]
    assert talk("START 15", "BOARD", *stones, "DONE")[-1] == "7,7"


def test_exactly_five_by_rule_1():
    stones = ["3,7,1", "0,0,2", "4,7,1", "0,2,2", "5,7,1", "0,4,2", "6,7,1", "0,6,2", "8,7,1", "0,8,2"]
    assert talk("START 15", "INFO rule 0", "BOARD", *stones, "DONE")[-1] in ("2,7", "7,7")
    assert talk("START 15", "INFO rule 1", "BOARD", *stones, "DONE")[-1] == "2,7"


@pytest.mark.parametrize(
    ("lines", "answer"),
    [
        (["BEGIN"], "ERROR START comes first"),
        (["START 3"], "ERROR board_size is a whole number from 9 to 19, not 3"),
        (["START x"], "ERROR START needs the size"),
        (["RECTSTART 15,10"], "ERROR the board must be square"),
        (["START 15", "TURN 20,0"], "ERROR 20,0 is outside the board"),
        (["START 15", "TURN 3,3", "TURN 3,3"], "ERROR first may not play"),
        (["START 15", "TURN here"], "ERROR TURN needs the opponent's move"),
        (["START 15", "TAKEBACK 3,3"], "ERROR there is no move to take back"),
        (["START 15", "BOARD", "3,3,1", "3,3,2", "DONE"], "ERROR two stones stand on d4"),
        (["DANCE"], "UNKNOWN command DANCE"),
        (["START 15", "INFO rule 4", "RESTART"], "ERROR of the protocol's rules 0"),
    ],
)
def test_what_cannot_be_done_is_answered(lines, answer):
    assert talk(*lines)[-1].startswith(answer)


def test_moves_are_taken_back_and_games_restarted():
    said = talk("START 15", "TURN 7,7", "TAKEBACK 8,8", "TAKEBACK 7,7", "TURN 7,7", "RESTART", "BEGIN")
    assert [line for line in said if line == "OK"] == ["OK"] * 4


def test_rules_with_captures_for_managers_that_know_them():
    said = talk(
        "START 13",
        "BOARD",
        "6,6,1",
        "7,6,2",
        "0,0,1",
        "8,6,2",
        "DONE",
        agent="weak",
        parameters={"preset": "gogo", "overline": None},
    )
    assert said[-1] == "9,6"  # the capture of Table 1


def games_of(manner, **settings):
    return GomocupAgent(f"{ENGINE} {manner}", **{"seconds": 0.3, "grace": 0.5, **settings})


def play(agent, rival, seat=0, plies=30):
    agent.reset(GOMOKU, seat, 0)
    rival.reset(GOMOKU, 1 - seat, 0)
    state = new_state(GOMOKU, 0)
    for _ in range(plies):
        if is_over(state):
            break
        player = agent if int(state["to_move"]) == seat else rival
        state = step(GOMOKU, state, player.act(state, action_mask(GOMOKU, state)))
    return state


class Corner(Agent):
    """Fills the last rows."""

    def reset(self, ruleset, seat, seed):
        pass

    def act(self, view, legal):
        return int(np.flatnonzero(legal)[-1 - 2 * int(view["steps"])])


@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize("manner", ["good", "noisy"])
def test_a_program_plays_from_either_seat(manner, seat):
    agent = games_of(manner)
    try:
        state = play(agent, Corner(), seat, plies=8)
    finally:
        agent.close()
    own = notation.stones_of(GOMOKU, state).ravel() == seat
    assert np.flatnonzero(own).tolist() == [0, 1, 2, 3]
    assert notation.gomocup_stones(GOMOKU, state, seat)[seat] == (0, 0, True)


def test_a_position_in_the_middle_is_handed_over():
    agent = games_of("good")
    agent.reset(GOMOKU, 0, 0)
    state = notation.play_moves(GOMOKU, "a1 h8 b1 i9")
    try:
        assert notation.point_name(GOMOKU, agent.act(state, action_mask(GOMOKU, state))) == "c1"
    finally:
        agent.close()


@pytest.mark.parametrize(
    ("manner", "error"), [("slow", EngineTimeout), ("exits", EngineError), ("outside", ValueError)]
)
def test_a_program_that_misbehaves_loses_only_its_game(manner, error):
    agent = games_of(manner)
    with pytest.raises(error):
        play(agent, Corner())
    assert agent._process is None


@pytest.mark.parametrize(("manner", "error"), [("silent", EngineTimeout), ("refuses", EngineError)])
def test_a_program_that_does_not_begin(manner, error):
    with pytest.raises(error):
        games_of(manner, handshake=0.5).reset(GOMOKU, 0, 0)


def test_an_occupied_square_is_judged_by_the_rules():
    agent = games_of("occupied")
    agent.reset(GOMOKU, 1, 0)
    state = notation.play_moves(GOMOKU, "a1")
    try:
        action = agent.act(state, action_mask(GOMOKU, state))
    finally:
        agent.close()
    assert action == 0
    assert action not in legal_actions(GOMOKU, state)


def test_rules_that_no_program_knows_are_refused():
    agent = games_of("good")
    with pytest.raises(GameParameterError, match="without captures, forbidden points"):
        agent.reset(GAME.ruleset(), 0, 0)


def moves_of(first, second, ruleset=GOMOKU, most=60):
    """The moves of a game, and its last state."""
    players = (first, second)
    for seat, player in enumerate(players):
        player.reset(ruleset, seat, 0)
    state, moves = new_state(ruleset, 0), []
    while not is_over(state) and len(moves) < most:
        moves.append(int(players[int(state["to_move"])].act(state, action_mask(ruleset, state))))
        state = step(ruleset, state, moves[-1])
    return moves, state


def test_our_own_program_plays_the_game_that_its_agent_plays_without_it():
    """`asobiba engine gogo` in a process of its own, through the loader: the same moves as in this process."""
    engine = f"{sys.executable} -m asobiba.cli engine gogo --agent middle"
    with consent(True):  # it imports this checkout
        program = make_agent(GAME, f"gomocup:seconds=20 grace=20 handshake=60 {engine}")
    try:
        moves, state = moves_of(program, make_agent(GAME, "weak"))
    finally:
        program.close()
    assert moves == moves_of(make_agent(GAME, "middle"), make_agent(GAME, "weak"))[0]
    assert len(moves) > 12
    assert int(state["end_reason"]) == BY_RULES


@pytest.mark.parametrize("preset", ["gomoku", "gogo"])
def test_a_handed_over_game_is_answered_as_by_the_agent(preset):
    """Every position of a game, with its captures, gets the answer of the agent that sees it in this process."""
    ruleset = GAME.ruleset(preset=preset)
    moves, last = moves_of(make_agent(GAME, "champion"), make_agent(GAME, "middle"), ruleset)
    assert (int(last["captured"].sum()) > 0) == (preset == "gogo")
    agent = make_agent(GAME, "champion")
    lines, expected, state = [], [], new_state(ruleset, 0)
    for ply, move in enumerate(moves):
        seat = ply % 2
        agent.reset(ruleset, seat, 0)
        expected.append(int(agent.act(state, action_mask(ruleset, state))))
        lines += [f"START {notation.size_of(ruleset)}", "BOARD"]
        for k, point in enumerate(moves[:ply]):
            x, y = notation.gomocup_square(ruleset, point)
            lines.append(f"{x},{y},{1 if k % 2 == seat else 2}")
        lines.append("DONE")
        state = step(ruleset, state, move)
    said = talk(*lines, agent="champion", parameters={"preset": preset, "overline": None})
    answers = [notation.gomocup_action(ruleset, *square(line)) for line in said if line != "OK"]
    assert answers == expected
    assert len(set(answers)) > 5


def test_another_manager_plays_against_our_program(tmp_path):
    """PyGomo, written by others, moves the stones; the game is that of the two agents without it."""
    pygomo = pytest.importorskip("pygomo", reason="PyGomo is not installed: pip install pygomo-lib")
    expected, _ = moves_of(make_agent(GAME, "weak"), make_agent(GAME, "middle"))
    rival = make_agent(GAME, "weak")
    rival.reset(GOMOKU, 0, 0)
    state, moves = new_state(GOMOKU, 0), []
    brain = tmp_path / "pbrain-asobiba"
    brain.write_text(f"#!/bin/sh\nexec {sys.executable} -m asobiba.cli engine gogo --agent middle\n", encoding="utf-8")
    brain.chmod(0o755)
    with pygomo.EngineClient(str(brain)) as engine:
        assert engine.start(15, timeout=60)
        while not is_over(state) and len(moves) < 60:
            moves.append(int(rival.act(state, action_mask(GOMOKU, state))))
            state = step(GOMOKU, state, moves[-1])
            if not is_over(state):
                answer = engine.turn(notation.point_name(GOMOKU, moves[-1]), timeout=20)
                moves.append(notation.text_to_action(GOMOKU, state, answer.move.to_algebraic()))
                state = step(GOMOKU, state, moves[-1])
    assert moves == expected
