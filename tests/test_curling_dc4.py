"""Digital Curling 4: our client and our host over loopback, and requests that are refused."""

from __future__ import annotations

import base64
import http.client
import json
import math
import re
import socket
import time
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest
from test_curling_protocols import FCV1, SECONDS, Draws, Timed, check_record
from typer.testing import CliRunner

from asobiba.arena.secret import Secret
from asobiba.baselines.curling import commands, dc3, dc4
from asobiba.baselines.curling.hosting import AgentSeat, ProtocolError
from asobiba.core import game

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
    assert joined(playing, "team1", "late")[0] == 400
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
