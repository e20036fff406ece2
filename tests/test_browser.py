"""The page in the browser, through HTTP as a browser speaks it."""

from __future__ import annotations

import json
import threading
import urllib.error
import urllib.request

import pytest

from asobiba.core import Agent, GameParameterError, IllegalAction, game
from asobiba.protocols.browser import PageServer, Table

RULES = game("animal_shogi").ruleset()


@pytest.fixture
def served():
    servers = []

    def start(*args, **kwargs):
        server = PageServer(Table(*args, **kwargs))
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
    table = Table(RULES, "random", -1, position="2l/L2/3/3 b 2C2E2G")
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
    table = Table(RULES, Broken(), 0)
    table.play(16)
    table.wait()
    assert table.describe()["note"] == "broken failed: RuntimeError: no idea"


def test_impossible_tables():
    with pytest.raises(GameParameterError, match="seat is from -1"):
        Table(RULES, "random", 2)
    server = PageServer(Table(RULES, "random"))
    with pytest.raises(GameParameterError, match="port 0 takes a free one"):
        PageServer(Table(RULES, "random"), server.server_address[1])
    server.server_close()
