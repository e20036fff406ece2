"""The page in the browser, through HTTP as a browser speaks it."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request

import numpy as np
import pytest
from arena_tools import ENVIRONMENT

from asobiba.arena import browser
from asobiba.arena.browser import PageGame, PageServer, _Handler
from asobiba.core import Agent, GameParameterError, IllegalAction, game
from asobiba.core.states import action_mask

RULES = game("animal_shogi").ruleset()


@pytest.fixture
def served():
    servers = []

    def start(*args, **kwargs):
        server = PageServer(PageGame(*args, **kwargs))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return server

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()
        server.table.close()


def ask(server, path, body=None, **headers):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(server.url + path, data, headers)
    with urllib.request.urlopen(request) as answer:
        return answer.read().decode()


def refused(server, path, body=None, **headers):
    with pytest.raises(urllib.error.HTTPError) as caught:
        ask(server, path, body, **headers)
    with caught.value as answer:
        return answer.code, json.loads(answer.read())["error"]


def test_a_game_is_played_on_the_page(served):
    server = served(RULES, "alpha_beta:depth=3", 0)
    assert "<svg" not in ask(server, "")
    shown = json.loads(ask(server, "state"))
    assert shown["svg"].startswith("<svg")
    assert {move["text"] for move in shown["moves"]} == {"B3B2", "B4A3", "B4C3", "C4C3"}
    assert next(m["path"] for m in shown["moves"] if m["text"] == "B3B2") == ["B3", "B2"]
    plies = 0
    while not shown["over"] and plies < 20:
        ask(server, "play", {"action": shown["moves"][0]["action"], "ply": shown["ply"]})
        server.table.wait()
        shown = json.loads(ask(server, "state"))
        plies += 1
        assert len(shown["record"]) == shown["ply"]
    assert shown["ply"] >= 2
    back = json.loads(ask(server, "undo", {}))
    assert back["ply"] < shown["ply"]
    assert json.loads(ask(server, "new", {}))["ply"] == 0


def test_what_the_page_asks_wrongly_is_refused(served):
    server = served(RULES, "random", 0)
    assert "may not play" in refused(server, "play", {"action": 0})[1]
    assert "move 1, the page showed move 4" in refused(server, "play", {"action": 16, "ply": 3})[1]
    assert refused(server, "play", {})[0] == 400
    assert refused(server, "play", [1])[0] == 400
    assert refused(server, "elsewhere")[0] == 404
    assert refused(server, "elsewhere", {})[0] == 404
    assert refused(server, "state", Origin="http://elsewhere.example")[0] == 403
    assert refused(server, "state", Host="elsewhere.example")[0] == 403


def test_the_agent_may_begin_and_ponders_meanwhile(served):
    server = served(RULES, "alpha_beta:depth=4", 1)
    server.table.wait()
    shown = json.loads(ask(server, "state"))
    assert shown["ply"] == 1
    assert "your move" in shown["status"]
    agent = server.table._agents[0]
    server.table.close()
    assert agent.pondered.nodes > 0


def test_both_seats_and_a_position():
    table = PageGame(RULES, "random", -1, position="2l/L2/3/3 b 2C2E2G")
    moves = {move["text"]: move["action"] for move in table.describe()["moves"]}
    table.play(moves["A2A1"])
    shown = table.describe()
    assert shown["over"]
    assert shown["status"] == "The game is over: first +1, second -1"
    with pytest.raises(IllegalAction, match="over"):
        table.play(0)


class Broken(Agent):
    name = "broken"

    def reset(self, ruleset, seat, seed):
        pass

    def act(self, view, legal):
        raise RuntimeError("no idea")


def test_an_agent_that_fails_is_named():
    table = PageGame(RULES, Broken(), 0)
    table.play(16)
    table.wait()
    assert table.describe()["note"] == "broken failed: RuntimeError: no idea"


class Silent(Agent):
    """Never answers, until it is told to."""

    name = "silent"

    def __init__(self):
        self.released = threading.Event()

    def reset(self, ruleset, seat, seed):
        pass

    def act(self, view, legal):
        self.released.wait(60)
        return int(np.flatnonzero(legal)[0])


def test_a_new_game_and_a_move_taken_back_do_not_wait_for_an_agent_that_never_answers(monkeypatch, served):
    made = []

    def make(game, text):
        made.append(Silent())
        return made[-1]

    monkeypatch.setattr(browser, "_PATIENCE", 0.1)
    server = served(RULES, "silent", 0, build=make)
    for path in ("undo", "new"):
        ask(server, "play", {"action": 16})
        assert json.loads(ask(server, "state"))["thinking"]
        shown = json.loads(ask(server, path, {}))
        assert (shown["ply"], shown["thinking"], len(shown["moves"]) > 0) == (0, False, True)
    assert len(made) == 3
    for agent in made:
        agent.released.set()
    ask(server, "play", {"action": 16})
    server.table.wait()
    assert json.loads(ask(server, "state"))["ply"] == 2  # what the others chose too late is not played


def test_an_agent_given_as_such_is_not_left_alone(monkeypatch):
    monkeypatch.setattr(browser, "_PATIENCE", 0.1)
    agent = Silent()
    table = PageGame(RULES, agent, 0)
    table.play(16)
    with pytest.raises(IllegalAction, match="silent is still thinking"):
        table.undo()
    agent.released.set()
    table.wait()
    table.undo()
    assert table.describe()["ply"] == 0


@pytest.mark.parametrize("length", ["1_000", "-1", "+5", "\u0661", "99999999999999999999", "1e3", "10 10"])
def test_a_content_length_that_is_no_number_is_refused(served, length):
    server = served(RULES, "random", 0)
    with socket.create_connection(server.server_address) as connection:
        head = f"POST /new HTTP/1.1\r\nHost: 127.0.0.1:{server.server_address[1]}\r\nContent-Length: {length}\r\n\r\n"
        connection.sendall(head.encode("latin-1", "replace"))
        connection.settimeout(10)
        answer = connection.makefile("rb").readline()
    assert b" 400 " in answer


def test_play_serves_the_page_of_any_game(tmp_path):
    command = "from asobiba.cli import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", command, "play", "toy_nim", "--browser", "--port", "0", "--seed", "3"],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **ENVIRONMENT, "BROWSER": "true"},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background jobs ignore it
    )
    try:
        assert process.stdout is not None
        url = re.search(r"http://127\.0\.0\.1:\d+/", process.stdout.readline())
        assert url is not None
        with urllib.request.urlopen(url[0] + "state") as answer:
            shown = json.loads(answer.read())
        assert shown["svg"].startswith("<svg")
        assert shown["moves"]
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0


def test_continuous_moves_are_written(served):
    server = served(game("curling_end").ruleset(), "random", 0)
    shown = json.loads(ask(server, "state"))
    assert "3 numbers" in shown["write"]
    assert [field["name"] for field in shown["controls"]["fields"]] == ["weight", "x, m", "y, m", "spin"]
    assert shown["moves"] == []
    assert shown["svg"].startswith("<svg")
    code, error = refused(server, "play", {"text": "one two three", "ply": 0})
    assert code == 400
    assert "one two three" in error
    assert refused(server, "play", {"text": "1 2", "ply": 0})[0] == 400
    ask(server, "play", {"text": "0.05, -0.4 1", "ply": 0})
    server.table.wait()
    shown = json.loads(ask(server, "state"))
    assert shown["ply"] == 2
    assert shown["record"][0] == "vx 0.1550 vy 28.3130 ccw"
    ask(server, "play", {"text": "draw 0.5 -0.25 cw", "ply": 2})
    server.table.wait()
    target = server.table.past[2][1]
    assert json.loads(ask(server, "state"))["record"][2].endswith(" cw")
    assert target[2] == -1


def test_a_race_is_driven_with_actions_that_are_kept(served):
    server = served(game("mini4wd_race").ruleset(), "constant:duty=0.5", 0)
    shown = json.loads(ask(server, "state"))
    assert shown["status"] == "You are first: your move"
    assert shown["controls"]["seconds"] == 0.02
    assert "class='car'" in shown["svg"]  # who drives sees the cars
    ask(server, "play", {"text": "drive +0.60", "ply": 0, "times": 25})
    server.table.wait()
    shown = json.loads(ask(server, "state"))
    assert shown["ply"] == 25
    assert shown["record"] == ["drive +0.60, 25 times"]
    for _, action in server.table.past:
        assert action[:, 0] == pytest.approx([0.6, 0.5])
    assert refused(server, "play", {"text": "drive +1.20", "ply": 25})[0] == 400
    assert refused(server, "play", {"text": "brake", "ply": 25, "times": 0})[0] == 400
    assert json.loads(ask(server, "undo", {}))["ply"] == 0


def test_the_village_acts_beside_the_person(served):
    ruleset = game("werewolf").ruleset(players=5)
    server = served(ruleset, "random", 2, seed=4)
    assert not json.loads(ask(server, "state"))["undo"]
    assert "hidden information" in refused(server, "undo", {})[1]
    table, steps = server.table, 0
    while True:
        table.wait()
        shown = json.loads(ask(server, "state"))
        if shown["over"]:
            break
        assert not shown["thinking"], shown["note"]
        assert shown["moves"], "who is asked has a choice"
        view = table._view(2)
        for move in shown["moves"]:
            assert ruleset.notation.text_to_action(ruleset, view, move["text"]) == move["action"]
        steps += 1
        ask(server, "play", {"text": shown["moves"][steps % len(shown["moves"])]["text"], "ply": shown["ply"]})
    for before, action in table.past:
        assert action.shape == ruleset.actions_shape
        masks = action_mask(ruleset, before)
        assert all(masks[k, action[k]] for k in ruleset.actors(before))
    assert sum(2 in ruleset.actors(before) for before, _ in table.past) == steps
    assert re.match(r"The game is over: the (villagers|werewolves) win; you, the \w+, (win|lose)", shown["status"])


def test_an_agent_among_several_that_fails_is_named():
    table = PageGame(game("mini4wd_race").ruleset(), Broken(), 1)
    table.play("free")
    table.wait()
    shown = table.describe()
    assert shown["note"] == "broken failed: RuntimeError: no idea"
    assert (shown["ply"], shown["thinking"]) == (0, False)


@pytest.mark.parametrize("name", ["bao", "battleship", "battleship_attack", "tactics", "tactics_steps"])
def test_moves_are_clicked_on_the_picture(name):
    ruleset = game(name).ruleset()
    table = PageGame(ruleset, "random", -1, seed=1)
    for _ in range(12):
        shown = table.describe()
        moves = [move for move in shown["moves"] if move["path"]]
        assert len(moves) >= len(shown["moves"]) - 2  # `end` and `wait` have buttons alone
        paths = [tuple(move["path"]) for move in moves]
        assert len(set(paths)) == len(paths)
        drawn = re.findall("data-name='([^']*)'", shown["svg"])
        assert {name for path in paths for name in path} <= {*shown["targets"], *drawn}
        longer = [(a, b) for a in paths for b in paths if a != b and b[: len(a)] == a]
        assert not longer, "one move ends where another goes on"
        table.play(moves[len(moves) // 2]["action"])


def test_impossible_tables():
    with pytest.raises(GameParameterError, match="played from one seat"):
        PageGame(game("mini4wd_race").ruleset(), "random", -1)
    with pytest.raises(GameParameterError, match="seat is from -1"):
        PageGame(RULES, "random", 2)
    server = PageServer(PageGame(RULES, "random"))
    with pytest.raises(GameParameterError, match="port 0 takes a free one"):
        PageServer(PageGame(RULES, "random"), server.server_address[1])
    server.server_close()


def raw(server, body, length=None, path="/play"):
    """The code and the JSON that a body gets, sent as it is."""
    with socket.create_connection(server.server_address, 30) as connection:
        head = f"POST {path} HTTP/1.0\r\nHost: 127.0.0.1:{server.server_address[1]}\r\n"
        connection.sendall(head.encode() + f"Content-Length: {length or len(body)}\r\n\r\n".encode() + body)
        answer = b""
        while part := connection.recv(65536):
            answer += part
    head, _, content = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(content)


def test_bodies_that_are_too_large_too_deep_or_no_numbers_are_refused(served, capsys):
    server = served(RULES, "random", -1)
    for body, length in (
        (b"[" * 9000, None),
        (b'{"action": ' * 900, None),
        (b'{"action": Infinity}', None),
        (b'{"action": NaN, "ply": 0}', None),
        (b'{"action": 1e400}', None),
        (b'{"action": true}', None),
        (b'{"action": "' + b"9" * 5000 + b'"}', None),
        (b"\xff\xfe", None),
        (b"{}", 10**9),
        (b"[1]", None),
        (b"{}", None),
    ):
        code, answer = raw(server, body, length)
        assert code == 400, body[:20]
        assert answer["error"]
    assert "Traceback" not in capsys.readouterr().err
    assert json.loads(ask(server, "state"))["ply"] == 0


def test_many_tabs_at_once_are_all_served(served):
    server = served(RULES, "random", -1)
    answers = []

    def tab():
        for path in ("/new", "/undo", "/new"):
            answers.append(raw(server, b"{}", path=path)[0])

    threads = [threading.Thread(target=tab) for _ in range(60)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [200] * 180


def test_a_connection_that_says_nothing_is_closed(served, monkeypatch):
    monkeypatch.setattr(_Handler, "timeout", 0.2)
    server = served(RULES, "random", -1)
    with socket.create_connection(server.server_address, 30) as connection:
        assert connection.recv(10) == b""
