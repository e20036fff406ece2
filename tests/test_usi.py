"""USI both ways: the engine that asobiba is, and external programs, well-behaved and not, as agents."""

from __future__ import annotations

import io
import os
import queue
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from asobiba.arena.match import Match
from asobiba.arena.playing import play_match
from asobiba.core import Agent, AsobibaError, game, make_agent
from asobiba.core.errors import GameParameterError
from asobiba.core.states import action_mask, is_over, legal_actions, new_state, step
from asobiba.protocols.process import EngineDied, EngineError, EngineProcess, EngineTimeout, split_command
from asobiba.protocols.sandbox import consent
from asobiba.protocols.usi import UsiServer, read_limits
from asobiba.protocols.usi_agent import Resigned, UsiAgent, load_agent

GAME = game("animal_shogi")
RULESET = GAME.ruleset()
MISBEHAVED = Path(__file__).with_name("usi_engines.py")
PATIENCE = 60
"""Seconds for what a busy machine may take long to begin, and a good program does at once."""
SERVE = "import sys; from asobiba.core import game; from asobiba.protocols.usi import serve; "
SERVE += "sys.exit(serve(game('animal_shogi'), sys.argv[1]))"


def program(manner: str) -> str:
    return f"'{sys.executable}' '{MISBEHAVED}' {manner}"


def usi_agent(manner: str, **settings) -> UsiAgent:
    usual = {"seconds": 0.1, "handshake": PATIENCE, "loading": PATIENCE, "grace": 0.5}
    return UsiAgent(program(manner), **{**usual, **settings})


@pytest.fixture
def agents():
    """Closes the agents that a test puts in."""
    opened: list[Agent] = []
    yield opened
    for agent in opened:
        agent.close()


def first_move(agent: UsiAgent) -> int:
    agent.reset(RULESET, 0, 1)
    state = new_state(RULESET, 0)
    return agent.act(state, action_mask(RULESET, state))


def play(first: Agent, second: Agent, moves: int = 1000) -> np.void:
    state = new_state(RULESET, 0)
    players = (first, second)
    for seat, agent in enumerate(players):
        agent.reset(RULESET, seat, 7)
    while not is_over(state) and moves:
        state = step(RULESET, state, players[int(state["to_move"])].act(state, action_mask(RULESET, state)))
        moves -= 1
    return state


# External programs as agents.


def test_a_program_plays_and_reports(agents):
    agents.append(usi_agent("good"))
    action = first_move(agents[0])
    assert RULESET.notation.action_to_usi(RULESET, new_state(RULESET, 0), action) == "2c2b"
    assert agents[0].engine_name == "test engine"
    assert agents[0].info == "info depth 1 score cp 5"


@pytest.mark.parametrize(
    ("manner", "error", "message"),
    [
        ("silent", EngineTimeout, "usiok in 1 s; it wrote: a word on standard error"),
        ("exits", EngineDied, "exit status 3"),
        ("flood", EngineTimeout, "usiok"),
        ("endless", EngineTimeout, "usiok"),
        ("never_ready", EngineTimeout, "readyok"),
        ("crash", EngineDied, "(?s)exit status 1; it wrote: .*something broke"),
        ("slow", EngineTimeout, "bestmove"),
        ("flood_go", EngineTimeout, "bestmove"),
        ("nonsense", AsobibaError, "is not a move"),
        ("empty", EngineError, "expected bestmove and a move"),
        ("resign", Resigned, "resign"),
    ],
)
def test_misbehaviour_is_a_named_error_in_time(agents, manner, error, message):
    handshake = 1 if manner in ("silent", "flood", "endless") else PATIENCE
    agents.append(usi_agent(manner, handshake=handshake, loading=1 if manner == "never_ready" else PATIENCE))
    started = time.monotonic()
    with pytest.raises(error, match=message):
        first_move(agents[0])
    assert time.monotonic() - started < PATIENCE
    assert agents[0]._process is None


@pytest.mark.parametrize("manner", ["binary", "chatty", "waits"])
def test_noise_and_lateness_are_forgiven(agents, manner):
    agents.append(usi_agent(manner))
    assert first_move(agents[0]) in legal_actions(RULESET, new_state(RULESET, 0))


def test_an_illegal_move_is_left_to_the_rules(agents):
    agents.append(usi_agent("good"))
    agents[0].reset(RULESET, 0, 1)
    state = step(RULESET, new_state(RULESET, 0), 16)
    state = step(RULESET, state, int(legal_actions(RULESET, state)[0]))
    action = agents[0].act(state, action_mask(RULESET, state))
    assert action not in legal_actions(RULESET, state)


@pytest.mark.parametrize("manner", ["slow", "crash", "nonsense", "silent", "good"])
def test_a_match_against_a_bad_program_is_lost_by_it(agents, manner):
    text = f"usi:seconds=0.1 grace=0.5 handshake={1 if manner == 'silent' else PATIENCE} {program(manner)}"
    agents += [make_agent(GAME, text), make_agent(GAME, "random")]
    record = play_match(Match.of(RULESET, (text, "random"), 3), agents)
    assert record.culprit == 0
    assert record.returns == (-1, 1)
    assert record.detail


def test_a_program_that_died_is_started_anew_for_the_next_game(agents):
    agents.append(usi_agent("good"))
    first_move(agents[0])
    agents[0]._process.close()
    assert first_move(agents[0]) == 16


def test_the_next_program_does_not_lose_its_answers_to_the_last_ones_reader(monkeypatch):
    """A reader that is held between two reads, while its program is closed and the next one is started."""
    read, reached, go_on = os.read, threading.Event(), threading.Event()
    readers = []  # the thread that has read the first line; others, of programs of earlier tests, are let pass

    def slow(number, size):
        if threading.current_thread() in readers:
            reached.set()
            go_on.wait(10)
        data = read(number, size)
        if data.startswith(b"one"):
            readers.append(threading.current_thread())
        return data

    # Lines apart from each other and in one piece each (print may write a line's end by itself): where two threads read a
    # pipe, they get them in turn.
    loud = "import os, sys, time\nfor line in (b'one', b'two', b'three'): os.write(1, line + bytes([10])); time.sleep(0.05)\nsys.stdin.read()"
    with monkeypatch.context() as patched:
        patched.setattr(os, "read", slow)
        first = EngineProcess([sys.executable, "-c", loud], sandbox=None)
        assert first.read_line(time.monotonic() + 10) == "one"
        assert reached.wait(10)
        first.close()
    following = EngineProcess([sys.executable, "-c", loud], sandbox=None)
    go_on.set()
    assert [following.read_line(time.monotonic() + 10) for _ in range(3)] == ["one", "two", "three"]
    following.close()


def test_closing_kills_the_whole_process_tree(agents):
    with consent(True):  # a sandbox numbers processes anew, and ends them all
        agents.append(usi_agent("parent"))
    agents[0].reset(RULESET, 0, 1)
    process = agents[0]._process
    deadline = time.monotonic() + 10
    while "child" not in process.stderr_tail() and time.monotonic() < deadline:
        time.sleep(0.02)
    child = int(process.stderr_tail().split()[-1])
    os.kill(child, 0)
    agents[0].close()
    while time.monotonic() < deadline:
        try:
            # An orphan that nobody waits for stays as a zombie; it runs no more.
            if Path(f"/proc/{child}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z":
                break
            os.kill(child, 0)
        except (ProcessLookupError, FileNotFoundError):
            break
        time.sleep(0.02)
    else:
        pytest.fail("the child of the program still runs")
    assert not process.alive


def test_writing_to_a_program_that_does_not_read_has_a_deadline():
    process = EngineProcess(program("deaf"), sandbox=None)
    try:
        with pytest.raises(EngineTimeout, match="does not read its input"):
            process.send("x" * 10_000_000, timeout=0.3)
    finally:
        process.close()
    with pytest.raises(EngineDied):
        process.send("more")


def test_a_forgotten_program_is_killed():
    process = EngineProcess(program("good"), sandbox=None)
    pid = process._process
    del process
    assert pid.wait(10) is not None


def test_commands_that_cannot_be_started():
    with pytest.raises(EngineDied, match="cannot start '/no/such/program'"):
        EngineProcess("/no/such/program --x", sandbox=None)
    with pytest.raises(EngineError, match="no command"):
        split_command("  ")
    with pytest.raises(EngineError, match="cannot read the command"):
        split_command("'unclosed")


def test_loader_reads_settings_before_the_command():
    agent = load_agent(GAME, "seconds=0.5 nodes=100 ponder=true option.Hash=16 ./engine 'two words' depth=3")
    assert (agent.seconds, agent.nodes, agent.thinks_ahead, agent.options) == (0.5, 100, True, {"Hash": "16"})
    assert agent._words == ["./engine", "two words", "depth=3"]
    for text, message in (
        ("seconds=soon ./x", "a number"),
        ("ponder=maybe ./x", "true or false"),
        ("nodes=0 ./x", "at least 1"),
    ):
        with pytest.raises(GameParameterError, match=message):
            load_agent(GAME, text)
    with pytest.raises(EngineError, match="no command"):
        load_agent(GAME, "seconds=1")
    with pytest.raises(GameParameterError, match="more than 0"):
        UsiAgent("x", seconds=0)


def test_games_without_usi_are_refused(agents):
    agents.append(usi_agent("good"))
    other = game("toy_nim")
    with pytest.raises(EngineError, match="no USI notation"):
        agents[0].reset(other.ruleset(), 0, 1)
    with pytest.raises(AsobibaError, match="no USI notation"):
        UsiServer(other, "random")


# The engine.


class Conversation:
    """A server in this process, fed line by line."""

    def __init__(self, agent: str = "random"):
        self.lines: queue.Queue[str | None] = queue.Queue()
        self.said: queue.Queue[str] = queue.Queue()
        outer = self

        class Output(io.StringIO):
            def write(self, text: str) -> int:
                outer.said.put(text.rstrip("\n"))
                return len(text)

        self.server = UsiServer(GAME, agent, Output())
        self.status: list[int] = []
        self.thread = threading.Thread(
            target=lambda: self.status.append(self.server.run(iter(self.lines.get, None))), daemon=True
        )
        self.thread.start()

    def send(self, *lines: str) -> None:
        for line in lines:
            self.lines.put(line)

    def until(self, word: str, timeout: float = 60) -> list[str]:
        found = []
        while True:
            found.append(self.said.get(timeout=timeout))
            if found[-1].startswith(word):
                return found

    def quiet(self, seconds: float = 0.3) -> bool:
        try:
            self.said.get(timeout=seconds)
        except queue.Empty:
            return True
        return False

    def quit(self) -> int:
        self.send("quit")
        self.thread.join(30)
        return self.status[0]


class Thinker(Agent):
    """Thinks until it is stopped, or for ever if it cannot be."""

    def __init__(self, stoppable: bool):
        self.event = threading.Event()
        self.budget: dict = {}
        self.expected_reply = None
        if stoppable:
            self.stop = self.event.set

    def reset(self, ruleset, seat, seed):
        self.event.clear()

    def set_budget(self, **limits):
        self.budget = limits

    def act(self, view, legal):
        self.event.wait(120)
        self.event.clear()
        return int(np.flatnonzero(legal)[-1])


@pytest.fixture
def talk():
    conversation = Conversation()
    yield conversation
    conversation.send("quit")
    conversation.thread.join(30)


def test_a_conversation(talk):
    talk.send("usi")
    lines = talk.until("usiok")
    assert lines[0].startswith("id name asobiba animal_shogi")
    assert any(line.startswith("option name Agent type string") for line in lines)
    assert any(line.startswith("option name Rule_legal_check type check default false") for line in lines)
    talk.send("isready")
    assert talk.until("readyok") == ["readyok"]
    talk.send("usinewgame", "position startpos moves 2c2b", "go byoyomi 10000")
    answer = talk.until("bestmove")[-1].split()[1]
    state = step(RULESET, new_state(RULESET, 0), 16)
    assert RULESET.notation.text_to_action(RULESET, state, answer) in legal_actions(RULESET, state)
    talk.send("gameover win")
    assert talk.quit() == 0


def test_positions_by_sfen_and_over(talk):
    talk.send("isready", "position sfen gle/1c1/1C1/ELG b - 1 moves 2c2b 1a2b", "go nodes 10")
    assert "bestmove" in talk.until("bestmove")[-1]
    talk.send("position sfen 1L1/3/1l1/3 b 2E2G2C 1", "go")
    assert talk.until("bestmove")[-1] == "bestmove resign"


@pytest.mark.parametrize(
    "line",
    [
        "position",
        "position startpos moves 9z9z",
        "position startpos moves 2d2a",
        "position sfen nonsense",
        "position sfen",
        "setoption",
        "setoption name Seed value many",
        "setoption name Rule_history value -1",
        "setoption name Nothing value 1",
        "\x00\xff garbage",
        "go_to the moon",
        "_say hello",
        "x" * 100_000,
    ],
)
def test_garbage_is_answered_and_survived(talk, line):
    talk.send("isready", line)
    talk.until("readyok")
    assert talk.said.get(timeout=30).startswith("info string")
    talk.send("position startpos", "go byoyomi 5000")
    assert talk.until("bestmove")[-1].split()[1] in ("2c2b", "2d3c", "2d1c", "1d1c")


def test_garbage_after_go_counts_as_no_limit(talk):
    talk.send("isready", "go btime soon wtime", "stop")
    assert len(talk.until("bestmove")) >= 1
    talk.send("ponderhit", "stop", "", "   ", "isready")
    talk.until("readyok")


def test_an_agent_that_cannot_be_loaded_ends_the_engine():
    talk = Conversation()
    talk.send("setoption name Agent value no_such_agent", "isready")
    assert "no_such_agent" in talk.until("info string")[-1]
    talk.thread.join(30)
    assert talk.status == [1]


def test_options_change_agent_and_rules(talk):
    talk.send("setoption name Agent value first_legal", "setoption name Rule_legal_check value true", "isready", "go")
    assert talk.until("bestmove")[-1].startswith("bestmove")
    assert talk.server.ruleset.parameters["legal_check"] is True
    assert talk.server.agent_text == "first_legal"


@pytest.mark.parametrize("stoppable", [True, False])
def test_stop_always_brings_a_move(talk, stoppable):
    talk.send("isready")
    talk.until("readyok")
    talk.server._agent, talk.server._seat = Thinker(stoppable), None
    talk.send("go infinite")
    assert talk.quiet()
    talk.send("stop")
    lines = talk.until("bestmove", timeout=20)
    assert any("does not answer" in line for line in lines) is not stoppable
    talk.send("go byoyomi 5000")
    if stoppable:
        talk.send("stop")
    talk.until("bestmove", timeout=20)


def test_time_up_brings_a_move_from_an_agent_that_does_not_stop(talk):
    talk.send("isready")
    talk.until("readyok")
    talk.server._agent, talk.server._seat = Thinker(False), None
    started = time.monotonic()
    talk.send("go btime 0 wtime 0 byoyomi 400")
    assert any("does not answer" in line for line in talk.until("bestmove", timeout=20))
    assert time.monotonic() - started >= 0.3


def test_pondering_holds_the_move_back(talk):
    talk.send("isready")
    talk.until("readyok")
    talk.send("position startpos moves 2c2b 1a2b", "go ponder btime 0 wtime 0 byoyomi 100")
    assert talk.quiet()
    talk.send("ponderhit")
    talk.until("bestmove", timeout=20)
    talk.send("go ponder")
    assert talk.quiet()
    talk.send("stop")
    talk.until("bestmove", timeout=20)


def test_the_expected_reply_is_named(talk):
    talk.send("isready")
    talk.until("readyok")
    agent = make_agent(GAME, "first_legal")
    talk.server._agent, talk.server._seat = agent, None
    state = new_state(RULESET, 0)
    after = step(RULESET, state, int(legal_actions(RULESET, state)[0]))
    agent.expected_reply = int(legal_actions(RULESET, after)[0])
    talk.send("position startpos", "go nodes 1")
    assert " ponder " in talk.until("bestmove")[-1]


def go_limits(text: str, first_player: bool):
    return read_limits(text.split(), first_player)


def test_limits_are_read():
    seconds = go_limits("btime 60000 wtime 1000 byoyomi 1000", True)
    assert seconds.seconds == pytest.approx(2.9)
    assert seconds.hard == pytest.approx(60.95)
    assert go_limits("btime 60000 wtime 1000 byoyomi 1000", False).hard == pytest.approx(1.95)
    assert go_limits("movetime 500", True).seconds == pytest.approx(0.4)
    assert go_limits("nodes 1000", True).nodes == 1000
    assert go_limits("depth 5", True).seconds is None
    assert go_limits("infinite", True).hold
    tiny = go_limits("byoyomi 20", True)
    assert 0 < tiny.seconds < tiny.hard < 0.02
    assert go_limits("btime x depth", True).seconds is None


def test_the_engine_as_a_process_plays_itself_to_the_end(agents):
    """Both sides of the protocol against each other, over pipes, with moves and pondering."""
    command = f"'{sys.executable}' -c \"{SERVE}\" random"
    with consent(True):  # it imports this checkout
        agents += [UsiAgent(command, seconds=10, handshake=120, loading=120), make_agent(GAME, "random")]
    for seat in (0, 1):
        state = play(*(agents if seat == 0 else agents[::-1]))
        assert is_over(state)
        assert agents[0]._root == "startpos"
        assert len(agents[0]._moves) >= int(state["steps"]) - 1


def test_the_engine_survives_garbage_on_its_input():
    process = subprocess.run(
        [sys.executable, "-c", SERVE, "random"],
        input=b"\x00\xff\xfe\n" + b"position sfen \xe3\x81\n" + b"usi\ngo\n" + b"y" * 200_000 + b"\nquit\n",
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert process.returncode == 0, process.stderr.decode()
    assert b"usiok" in process.stdout
    assert b"bestmove" in process.stdout
