"""Digital Curling 4: our client and our host over loopback, and requests that are refused."""

from __future__ import annotations

import base64
import http.client
import json
import math
import os
import re
import socket
import subprocess
import sys
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from test_curling_protocols import FCV1, SECONDS, Draws, Timed, check_record
from typer.testing import CliRunner

from asobiba.arena.secret import Secret
from asobiba.baselines.curling import commands, dc3, dc4, dc4_messages
from asobiba.baselines.curling.doubles.hosting import DoublesAgentSeat
from asobiba.baselines.curling.hosting import AgentSeat, ProtocolError
from asobiba.core import game, make_agent
from asobiba.envs.curling.doubles import rules as doubles

DOUBLES = game("curling_doubles").ruleset(ends=2, pattern=3, noise="none")
SHOT = {"translational_velocity": 2.4, "angular_velocity": -math.pi / 2, "shot_angle": math.pi / 2}


def asked(server, method, path, body=None, user="rogue", headers=None):
    """Status and content of the answer to a request."""
    connection = http.client.HTTPConnection(*server.address, timeout=30)
    told = {"Authorization": "Basic " + base64.b64encode(f"{user}:x".encode()).decode()} if user else {}
    text = body if body is None or isinstance(body, (str, bytes)) else json.dumps(body)
    connection.request(method, path, text, told | (headers or {}))
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read())


def joined(server, team="team0", user="rogue", **config):
    path = f"/store-team-config?match_id={server.match_id}&expected_match_team_name={team}"
    return asked(server, "POST", path, {"team_name": user, "use_default_config": True} | config, user)


def thrown(server, shot, user="rogue"):
    return asked(server, "POST", f"/shots?match_id={server.match_id}", shot, user)


def test_a_game_between_two_clients():
    server, timed = dc4.Dc4Server(port=0), Timed()
    with ThreadPoolExecutor(3) as pool:
        record = pool.submit(dc4.host, FCV1, server, None, 4, SECONDS)
        given = {"match_id": server.match_id, "team": "team1"}
        one = pool.submit(dc4.play, server.address, timed, user="one", name="one", **given)
        while not server.seats:
            time.sleep(0.01)
        two = pool.submit(dc4.play, server.address, Draws(), user="two", name="two", **given)  # gets team0
        record = record.result()
        winners = [one.result(), two.result()]
    assert (record.log.first, record.log.second) == ("two", "one")
    assert record.reason == "score"
    check_record(FCV1, record)
    assert len(timed.told) == len(record.log.shots) // 2
    assert timed.told[0] == SECONDS
    assert winners == 2 * [None if record.winner is None else f"team{record.winner}"]


@pytest.mark.slow
def test_a_client_with_an_empty_cache_keeps_its_clock(tmp_path):
    """As for the other servers: a new process compiles everything before the server waits for it."""
    server, records = dc4.Dc4Server(port=0, clients=1), []
    # A daemon, which does not wait for a client that failed.
    host = threading.Thread(
        target=lambda: records.append(dc4.host(FCV1, server, AgentSeat(Draws()), 1, 12.0)), daemon=True
    )
    host.start()
    command = ["play-dc4", "curling", "ayumu:clock=true", server.match_id, "--port", str(server.address[1])]
    environment = {**os.environ, "ASOBIBA_CACHE_DIR": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}
    client = subprocess.Popen([sys.executable, "-m", "asobiba.cli", *command], env=environment)
    try:
        assert client.wait(580) == 0
    finally:
        client.kill()
    host.join(60)
    (record,) = records
    assert record.reason == "score", record.note


def test_clients_see_the_game_that_the_host_plays():
    """A game of the same agents without a connection is equal, since they answer what they see."""
    server = dc4.Dc4Server(port=0, clients=1)
    with ThreadPoolExecutor(1) as pool:
        heard = pool.submit(dc4.play, server.address, Draws(), server.match_id, "team0", noise=(0.0, 0.0))
        record = dc4.host(FCV1, server, AgentSeat(Draws()), 4, 0.0)
        heard.result()
    alone = dc3.host(FCV1, [AgentSeat(Draws()), AgentSeat(Draws())], 4, 0.0, trajectories=False)
    for found, wanted in zip(record.log.shots, alone.log.shots, strict=True):
        assert (found.run.vx, found.run.vy, found.run.spin) == pytest.approx(
            (wanted.run.vx, wanted.run.vy, wanted.run.spin)
        )


@pytest.fixture
def playing():
    """A server on which `rogue` is team0 against an agent of ours, and is to throw."""
    server = dc4.Dc4Server(port=0, clients=1)
    with ThreadPoolExecutor(1) as pool:
        assert joined(server) == (200, "team0")
        record = pool.submit(dc4.host, FCV1, server, AgentSeat(Draws()), 1, 3.0)
        while not server.seats[0].asked:
            time.sleep(0.01)
        yield server
        record = record.result()
    assert (record.winner, record.reason) == (1, "time_limit")
    check_record(FCV1, record)


def test_refused_requests_cost_time_only(playing):
    path = f"/shots?match_id={playing.match_id}"
    for shot in (
        {},
        [],
        3,
        {**SHOT, "angular_velocity": 0},
        {**SHOT, "shot_angle": "up"},
        {**SHOT, "translational_velocity": 1e400},
    ):
        assert thrown(playing, shot)[0] == 422
    for text in ("{", "[" * 50_000, '{"translational_velocity": NaN, "angular_velocity": 1, "shot_angle": 1}', b"\xff"):
        assert asked(playing, "POST", path, text)[0] == 422
    assert asked(playing, "POST", path, None, headers={"Content-Length": "1_000"})[0] == 413
    assert asked(playing, "POST", path, None, headers={"Content-Length": "9999999"})[0] == 413
    assert asked(playing, "POST", path, SHOT, user=None)[0] == 401
    assert asked(playing, "POST", path, SHOT, headers={"Authorization": "Basic ?"})[0] == 401
    assert thrown(playing, SHOT, user="stranger")[0] == 401
    assert asked(playing, "POST", "/shots?match_id=another", SHOT)[0] == 404
    assert asked(playing, "POST", f"/matches?match_id={playing.match_id}", {})[0] == 404
    assert asked(playing, "GET", "/matches/another/stream")[0] == 404
    assert joined(playing, "team1", "late")[0] == 409
    setup = f"/matches/{playing.match_id}/end-setup?request=center_house"
    assert asked(playing, "POST", setup)[0] == 400  # four-person curling has none
    socket.create_connection(playing.address).close()
    assert thrown(playing, SHOT) == (200, {"status": "ok"})


def test_a_team_is_asked_for_by_its_name():
    server = dc4.Dc4Server(port=0)
    for config in ({"team_name": 3}, {"team_name": "a\u202eb"}, {"team_name": "a" * 201}):
        assert joined(server, **config)[0] == 422
    assert joined(server, team="red")[0] == 422
    assert joined(server) == (200, "team0")
    assert joined(server) == (200, "team0")  # the same client again
    number = uuid.UUID(server.match_id).int  # as the organisers' Python client writes it
    path = f"/store-team-config?match_id={number}&expected_match_team_name=team0"
    assert asked(server, "POST", path, {"team_name": "rogue"}) == (200, "team0")
    assert joined(server, "team0", "other", team_name="rogue") == (200, "team1")
    assert [seat.name for seat in server.seats.values()] == ["rogue", "rogue-2"]
    server.close()


def test_a_client_tells_what_a_server_refuses():
    server = dc4.Dc4Server(port=0)
    with pytest.raises(ProtocolError, match="404"):
        dc4.play(server.address, Draws(), "another")
    server.close()
    with pytest.raises(ProtocolError, match="refused"):
        dc4.play(server.address, Draws(), server.match_id)


def test_the_commands_play_a_game_and_tell_the_secret(tmp_path, monkeypatch):
    log, servers = tmp_path / "game.dcl", []
    kept = dc4.Dc4Server
    monkeypatch.setattr(dc4, "Dc4Server", lambda *given: servers.append(kept("127.0.0.1", 0, *given[2:])) or servers[0])
    with ThreadPoolExecutor(1) as pool:
        hosted = pool.submit(
            CliRunner().invoke, commands.app, ["host-dc4", "--against", "tee_draw", "--ends", "1", "--log", str(log)]
        )
        while not servers:
            time.sleep(0.01)
        dc4.play(servers[0].address, Draws(), servers[0].match_id)
        done = hosted.result()
    assert done.exit_code == 0, done.output
    secret = Secret.of_text(re.search(r"--secret ([0-9a-f]{32})", done.output)[1])
    assert done.output.index(secret.commitment) < done.output.index("waiting")
    assert log.is_file()
    with pytest.raises(ValueError, match="fcv1"):
        dc4.host(game("curling").ruleset(), servers[0])


def heard_by(client):
    """The states that a client hears, and a client's `events` that notes them."""
    states, events = [], client.events

    def noted(self, path):
        for state in events(self, path):
            states.append(state)
            yield state

    return states, noted


def test_a_client_hears_the_end_of_every_end_and_goes_on(monkeypatch):
    """As on the official server: the final position with nobody to throw, then the next end; a column for extra ends."""
    states, noted = heard_by(dc4._Connection)
    monkeypatch.setattr(dc4._Connection, "events", noted)
    server, ruleset = dc4.Dc4Server(port=0, clients=1), game("curling").ruleset(simulator="fcv1", ends=2, noise="none")
    with ThreadPoolExecutor(1) as pool:
        winner = pool.submit(dc4.play, server.address, Draws(), server.match_id)
        record = dc4.host(ruleset, server, AgentSeat(Draws()), 4, 0.0)
        assert winner.result() == f"team{record.winner}"
    ends = [state for state in states if state["total_shot_number"] == 16]
    assert [state["end_number"] for state in ends] == list(range(len(record.log.scores)))
    assert all(state["next_shot_team"] is None and state["team_shot_number"] == 8 for state in ends)
    assert all(len(state["score"]["team0"]) == 3 for state in states)
    assert states[-1] == ends[-1]
    first = {(at["x"], at["y"]) for at in ends[0]["stone_coordinate"]["data"]["team0"]} - {(0.0, 0.0)}
    assert first
    assert states[1]["last_move"]["angular_velocity"] == math.pi / 2 * record.log.shots[0].run.spin


def test_mixed_doubles_between_a_client_and_an_agent(monkeypatch):
    """The client tells from the match what is played, places its stones, and sees the game that the host plays."""
    states, noted = heard_by(dc4._Connection)
    monkeypatch.setattr(dc4._Connection, "events", noted)
    server, played = dc4.Dc4Server(port=0, clients=1), game("curling_doubles")
    with ThreadPoolExecutor(1) as pool:
        client = make_agent(played, "rule_based:trials=3")
        winner = pool.submit(dc4.play, server.address, client, server.match_id, "team1", noise=(0.0, 0.0))
        record = dc4.host(DOUBLES, server, DoublesAgentSeat(make_agent(played, "tee_draw")), 4, SECONDS)
        assert winner.result() == f"team{record.winner}"
    assert record.reason == "score"
    assert len(record.log.shots) == 10 * len(record.log.scores)
    assert {state["mixed_doubles_settings"]["positioned_stones_pattern"] for state in states} == {3}
    due = [state for state in states if state["total_shot_number"] is None and not state["winner_team"]]
    assert due[0]["mixed_doubles_settings"]["end_setup_team"] == "team1"
    begun = [state for state in states if state["total_shot_number"] == 0]
    assert len(begun) == len(record.log.scores)
    for state in begun:
        sheet = state["stone_coordinate"]["data"]
        assert all(len(places) == 6 for places in sheet.values())
        places = sorted((team[0]["x"], team[0]["y"]) for team in sheet.values())
        power = [
            end for end in state["mixed_doubles_settings"]["power_play_end"].values() if end == state["end_number"]
        ]
        assert power or places == [(0.0, pytest.approx(34.145)), (0.0, pytest.approx(38.87))]


def test_placements_come_when_they_are_due_and_from_whom():
    server = dc4.Dc4Server(port=0)
    setup = f"/matches/{server.match_id}/end-setup?match_id={server.match_id}&request="
    with ThreadPoolExecutor(1) as pool:
        record = pool.submit(dc4.host, DOUBLES, server, None, 1, 2.0)
        status, match = asked(server, "GET", f"/matches/{server.match_id}", user=None)
        assert (status, match["game_mode"], match["applied_rule"], match["standard_end_count"]) == (
            200,
            "mixed_doubles",
            2,
            2,
        )
        assert joined(server, "team0", "four", player3={"player_name": "third"})[0] == 400
        assert joined(server, "team0", "one", player3=None) == (200, "team0")
        assert joined(server, "team1", "two") == (200, "team1")
        while not server.seats[1].asked:
            time.sleep(0.01)
        assert asked(server, "POST", setup + "center_house", user="one")[0] == 409
        assert asked(server, "POST", setup + "left", user="two")[0] == 422
        assert thrown(server, SHOT, "two")[0] == 409
        assert asked(server, "POST", setup + "center_guard", user="two")[0] == 200
        while not server.seats[1].asked:  # its own stone is the guard: it throws first
            time.sleep(0.01)
        assert asked(server, "POST", setup + "center_guard", user="two")[0] == 409
        record = record.result()
    assert (record.winner, record.reason) == (0, "time_limit")


def test_the_match_tells_its_rule():
    for guards, code in (("removal", 0), ("no_tick", 1)):
        ruleset = game("curling").ruleset(simulator="fcv1", guards=guards)
        message = dc4_messages.match_message("m", ruleset, 219.0, 21.9)
        assert message["applied_rule"] == code
        assert dc4_messages.ruleset_of(message, dc4.NOISE).params["guard_rule"] == ruleset.params["guard_rule"]
    message = dc4_messages.match_message("m", DOUBLES, 219.0, 21.9)
    found = dc4_messages.ruleset_of({**message, "game_mode": "mix_doubles"}, (0.0, 0.0))
    assert found.params["positioned"].tolist() == DOUBLES.params["positioned"].tolist()
    with pytest.raises(ProtocolError, match="simulator"):
        dc4_messages.ruleset_of({"simulator": {"simulator_name": "fcv2"}}, dc4.NOISE)
    with pytest.raises(ProtocolError, match="cannot be read"):
        dc4_messages.ruleset_of({"applied_rule": 7}, dc4.NOISE)


def test_a_view_of_mixed_doubles_has_its_rows():
    state = {
        "end_number": 1, "total_shot_number": 3, "next_shot_team": "team0", "score": {"team0": [0, 0, 0], "team1": [2, 0, 0]},
        "stone_coordinate": {"data": {
            "team0": [{"x": 0.0, "y": 38.87}, {"x": 0.5, "y": 37.0}],
            "team1": [{"x": 0.0, "y": 35.35}, {"x": 0.0, "y": 0.0}, {"x": -0.5, "y": 36.0}],
        }},
        "mixed_doubles_settings": {"end_setup_team": "team0", "power_play_end": {"team0": None, "team1": 0}},
    }  # fmt: skip
    view = dc4_messages.view_of(DOUBLES, state, "team0")
    assert (int(view["hammer"]), int(view["shot"]), int(view["decider"])) == (0, doubles.FIRST_SHOT + 3, 0)
    assert np.flatnonzero(view["in_play"]).tolist() == [4, 5, 7, 8]
    assert view["power_end"].tolist() == [-1, 0]
    with pytest.raises(ProtocolError, match="cannot be read"):
        dc4_messages.view_of(DOUBLES, {**state, "mixed_doubles_settings": None}, "team0")


def test_the_command_hosts_mixed_doubles_and_no_tick(monkeypatch):
    servers, kept = [], dc4.Dc4Server
    monkeypatch.setattr(
        dc4, "Dc4Server", lambda *given: servers.append(kept("127.0.0.1", 0, *given[2:])) or servers[-1]
    )
    for options, agent, code in ((["--doubles", "--pattern", "2"], "tee_draw", 2), (["--no-tick"], "tee_draw", 1)):
        with ThreadPoolExecutor(1) as pool:
            words = ["host-dc4", "--against", "tee_draw", "--ends", "1", *options]
            hosted = pool.submit(CliRunner().invoke, commands.app, words)
            while not servers:
                time.sleep(0.01)
            server = servers.pop()
            assert dc4.match_of(server.address, server.match_id)["applied_rule"] == code
            given = ["play-dc4", agent, server.match_id, "--port", str(server.address[1])]
            done = CliRunner().invoke(commands.app, given)
            assert done.exit_code == 0, done.output
            assert "winner: team" in done.output
            assert hosted.result().exit_code == 0
    refused = CliRunner().invoke(commands.app, ["host-dc4", "--doubles", "--no-tick"])
    assert refused.exit_code == 2
