"""Digital curling over sockets: both protocols between our own two ends, and what happens to clients that do not keep them."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from typer.testing import CliRunner

from asobiba.arena.secret import Secret
from asobiba.baselines.curling import commands, cs2, dc3
from asobiba.baselines.curling.hosting import AgentSeat, HostedGame, Messages, ProtocolError, receive
from asobiba.baselines.curling.player import CurlingPlayer
from asobiba.core import game
from asobiba.envs.curling import dcl
from asobiba.envs.curling.simulate import Shot

CS2 = game("curling").ruleset(ends=2)
FCV1 = game("curling").ruleset(simulator="fcv1", ends=1, extra_ends=1)
SECONDS = 600.0


class Draws(CurlingPlayer):
    """Draws to where few stones lie: a player without thought, but with a shot for every position."""

    def choose(self, view):
        k = int(view["shot"])
        shot = Shot.draw(self.ruleset, 0.9 * np.sin(k), 0.9 * np.cos(k), 1 if k % 3 else -1)
        return shot.vx, shot.vy, float(shot.spin)


class Timed(Draws):
    """`Draws` that notes how long it may still think."""

    def __init__(self):
        self.told = []

    def time_left(self, seconds):
        self.told.append(seconds)


def pair():
    """Two connected sockets: the host's end and the client's."""
    server = socket.create_server(("127.0.0.1", 0))
    client = socket.create_connection(server.getsockname())
    ours, _ = server.accept()
    server.close()
    return ours, client


def check_record(ruleset, record):
    """The log holds the whole game: it survives its file, and its shots lead to its scores."""
    text = dcl.write(record.log)
    back = dcl.read(text)
    assert dcl.write(back) == text
    states = dcl.replay(ruleset, record.log)
    assert states[-1]["stones"].tobytes() == record.final["stones"].tobytes()
    assert states[-1]["total"].tolist() == record.final["total"].tolist() == list(record.log.total)
    assert (back.scores, back.total, back.reason) == (record.log.scores, record.log.total, record.log.reason)
    assert len(back.finals) == len(back.scores) == sum(shot.number == 15 for shot in back.shots)
    for shot, before in zip(record.log.shots, states, strict=False):
        stones, in_play = dcl.from_server(shot.position)
        assert (in_play == before["in_play"]).all()
        assert np.abs(stones - before["stones"]).max() < 1e-9


def host_cs2(seats, **options):
    return cs2.host(CS2, seats, **{"seed": 3, "seconds": SECONDS, **options})


def test_a_game_of_the_text_protocol_between_two_clients():
    server, timed = socket.create_server(("127.0.0.1", 0)), Timed()
    with ThreadPoolExecutor(2) as pool:
        results = [
            pool.submit(cs2.play, server.getsockname(), agent, CS2, name=name)
            for agent, name in ((timed, "rules"), (Draws(), "draws"))
        ]
        seats = [cs2.Cs2Seat(server.accept()[0]) for _ in range(2)]
        record = host_cs2(seats)
        ends = dict(zip([seat.name for seat in seats], range(2), strict=True))
        heard = {name: future.result() for name, future in zip(("rules", "draws"), results, strict=True)}
    server.close()
    assert len(record.log.shots) == 32
    assert record.reason == "score"
    check_record(CS2, record)
    for name, seat in ends.items():
        wanted = "DRAW" if record.winner is None else "WIN" if record.winner == seat else "LOSE"
        assert heard[name] == wanted
    assert len(timed.told) == 16
    assert timed.told[0] == SECONDS
    assert sorted(timed.told, reverse=True) == timed.told


def test_a_game_of_digital_curling_3_between_two_clients_on_their_ports():
    doors, timed = dc3.listen((0, 0)), Timed()
    with ThreadPoolExecutor(2) as pool:
        heard = [
            pool.submit(dc3.play, door.getsockname(), agent, name)
            for door, agent, name in zip(doors, (Draws(), timed), ("one", "two"), strict=True)
        ]
        seats = [dc3.Dc3Seat(door.accept()[0], team, FCV1, SECONDS) for team, door in enumerate(doors)]
        record = dc3.host(FCV1, seats, seed=4, seconds=SECONDS, trajectories=False)
        winners = [future.result() for future in heard]
    for door in doors:
        door.close()
    assert (record.log.first, record.log.second) == ("one", "two")
    assert record.reason == "score"
    check_record(FCV1, record)
    assert len(timed.told) == len(record.log.shots) // 2
    assert timed.told[0] == SECONDS
    assert winners == 2 * [None if record.winner is None else f"team{record.winner}"]


class SlowAtFirst(Draws):
    """`Draws` whose first shot takes longer than a whole game may."""

    def __init__(self):
        self.shots = 0

    def choose(self, view):
        self.shots += 1
        if self.shots == 1:
            time.sleep(3.0)
        return super().choose(view)


@pytest.mark.parametrize("server", ["dc3", "cs2"])
def test_what_is_compiled_in_the_first_shot_is_not_taken_from_the_clock(server):
    """On both sides: a client before it is ready, and an agent of our own before the clocks start."""
    doors, agents = dc3.listen((0, 0)), (SlowAtFirst(), SlowAtFirst())
    ruleset = FCV1 if server == "dc3" else game("curling").ruleset(ends=1)
    with ThreadPoolExecutor(1) as pool:
        if server == "dc3":
            heard = pool.submit(dc3.play, doors[0].getsockname(), agents[0])
            seat = dc3.Dc3Seat(doors[0].accept()[0], 0, ruleset, 2.5)
            record = dc3.host(ruleset, [seat, AgentSeat(agents[1])], 1, 2.5, extra_seconds=2.5, trajectories=False)
        else:
            heard = pool.submit(cs2.play, doors[0].getsockname(), agents[0], ruleset)
            record = cs2.host(ruleset, [cs2.Cs2Seat(doors[0].accept()[0]), AgentSeat(agents[1])], 1, 2.5)
        heard.result()
    for door in doors:
        door.close()
    assert record.reason == "score", record.note


@pytest.mark.slow
@pytest.mark.parametrize("command", ["play-dc3 curling ayumu:clock=true", "play-cs2 curling gccs:clock=true"])
def test_a_client_with_an_empty_cache_keeps_its_clock(command, tmp_path):
    """A new process that has to compile everything, against a clock on which there is no time for that."""
    environment = {**os.environ, "ASOBIBA_CACHE_DIR": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}
    doors = dc3.listen((0, 0))
    port = doors[0].getsockname()[1]
    ends = [] if "dc3" in command else ["--ends", "1"]
    client = subprocess.Popen(
        [sys.executable, "-m", "asobiba.cli", *command.split(), "--port", str(port), *ends], env=environment
    )
    try:
        doors[0].settimeout(580)
        connection = doors[0].accept()[0]
        if "dc3" in command:
            record = dc3.host(FCV1, [dc3.Dc3Seat(connection, 0, FCV1, 12.0), AgentSeat(Draws())], 1, 12.0)
        else:
            record = cs2.host(game("curling").ruleset(ends=1), [cs2.Cs2Seat(connection), AgentSeat(Draws())], 1, 12.0)
        assert client.wait(60) == 0
    finally:
        client.kill()
        for door in doors:
            door.close()
    assert record.reason == "score", record.note


def test_a_game_of_twelve_ends_is_played_on_a_board_of_ten():
    """Digital Curling 3 allows it: what came before the last ten ends is counted into the first."""
    setting = {"max_end": 12, "sheet_width": 4.75, "five_rock_rule": True, "thinking_time": {"team0": 219.0}}
    player = {"type": "normal_dist", "max_speed": 4.0, "stddev_speed": 0.0076, "stddev_angle": 0.0018}
    ruleset = dc3.ruleset_of(setting, {"type": "fcv1"}, {"team0": [player] * 4}, "team0")
    earlier = dc3.earlier_ends(setting)
    assert (int(ruleset.params["ends"][0]), earlier) == (10, 2)
    state = {
        "end": 11, "shot": 3, "hammer": "team1", "stones": {"team0": [None] * 8, "team1": [None] * 8},
        "scores": {"team0": [1, 0, 2, 0, 1, 0, 0, 0, 0, 0, 3, None], "team1": [0, 1] + [0] * 9 + [None]},
        "extra_end_score": {"team0": None, "team1": None},
    }  # fmt: skip
    view = dc3.view_of_state(ruleset, state, "team1", earlier)
    assert (int(view["end"]), view["total"].tolist()) == (9, [7, 1])
    assert view["scores"].tolist() == [[3, 0, 1, 0, 0, 0, 0, 0, 3, 0], [1] + [0] * 9]
    state["end"] = 1
    assert int(dc3.view_of_state(ruleset, state, "team1", earlier)["end"]) == 0


def test_velocities_beyond_the_limit_are_played_as_the_official_servers_do():
    """fcv1 cuts the speed, cs2 does not deliver the stone; both are remarked."""
    for ruleset, shot in ((FCV1, Shot(0.1, 7.0, 1)), (CS2, Shot(0.1, 60.0, 1))):
        hosted = HostedGame(ruleset, 1)
        hosted.play(shot)
        (remark,) = hosted.record.remarks
        assert f"{shot.vy:.2f}" in remark
        run = hosted.record.log.shots[0].run
        assert hosted.record.log.shots[0].asked == shot
        assert np.hypot(run.vx, run.vy) < float(ruleset.params["speed_limit"][0]) + 0.1
        assert not hosted.state["in_play"].any()
        hosted.play(Shot.draw(ruleset, 0.0, 0.0, 1))
        assert len(hosted.record.remarks) == 1
        assert hosted.state["in_play"].sum() == 1


def test_a_game_of_digital_curling_3_between_a_client_and_our_agent():
    ours, theirs = pair()
    with ThreadPoolExecutor(1) as pool:
        heard = pool.submit(play_on, theirs, Draws())
        seat = dc3.Dc3Seat(ours, 1, FCV1, SECONDS)
        record = dc3.host(FCV1, [AgentSeat(Draws()), seat], seed=2, seconds=SECONDS)
        winner = heard.result()
    assert len(record.log.shots) in (16, 32)
    check_record(FCV1, record)
    assert winner == (None if record.winner is None else f"team{record.winner}")


def play_on(connection, agent, monkey=None):
    """`dc3.play` on a socket that is connected already."""
    relay = socket.create_server(("127.0.0.1", 0))
    far = []

    def forward(a, b):
        while data := _read(a):
            b.sendall(data)
        b.close()

    def accept():
        near, _ = relay.accept()
        far.append(near)
        threading.Thread(target=forward, args=(connection, near), daemon=True).start()
        forward(near, connection)

    threading.Thread(target=accept, daemon=True).start()
    try:
        return dc3.play(relay.getsockname(), agent)
    finally:
        relay.close()


def _read(connection):
    try:
        return connection.recv(65536)
    except OSError:
        return b""


def greet_cs2(client):
    messages = Messages(client, b"\0")
    assert messages.receive(60) == "CONNECTED"
    messages.send("LOGIN rogue -")
    assert messages.receive(60) == "LOGIN OK"
    assert messages.receive(60) == "ISREADY"
    messages.send("READYOK")
    return messages


def until(messages, word):
    while True:
        found = messages.receive(60)
        if found.startswith(word):
            return found


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("BESTSHOT nan -29.5 1", "protocol_error"),
        ("BESTSHOT 999999 -29.5 1", "protocol_error"),
        ("BESTSHOT 1e999 -29.5 1", "protocol_error"),
        ("BESTSHOT 0.9 -29.5 2", "protocol_error"),
        ("BESTSHOT 0.9 -29.5", "protocol_error"),
        ("BESTMOVE 0.9 -29.5 1", "protocol_error"),
        ("\x01\x02", "protocol_error"),
        ("A" * 200_000, "protocol_error"),
        ("CONCEDE", "concede"),
        ("CONSEED", "concede"),
        (None, "time_limit"),
        ("", "protocol_error"),
    ],
)
def test_wrong_late_and_oversized_answers_lose_the_text_game_and_the_record_stays_whole(answer, reason):
    ours, theirs = pair()

    def rogue():
        messages = greet_cs2(theirs)
        until(messages, "GO")
        messages.send("BESTSHOT 0.990740 -29.559770 1")
        until(messages, "GO")
        if answer is not None:
            messages.send(answer)
        try:
            return until(messages, "GAMEOVER")
        except ProtocolError:  # what was not read of an oversized message resets the connection
            return "GAMEOVER LOSE"

    with ThreadPoolExecutor(1) as pool:
        heard = pool.submit(rogue)
        seat = cs2.Cs2Seat(ours)
        seconds = 1.5 if answer is None else SECONDS
        record = host_cs2([seat, AgentSeat(Draws())], seconds=seconds)
        assert heard.result() == "GAMEOVER LOSE"
    assert record.winner == 1
    assert record.reason == reason
    assert record.note
    assert len(record.log.shots) == 2
    check_record(CS2, record)


def test_speaking_out_of_turn_loses_the_text_game():
    ours, theirs = pair()

    def rogue():
        messages = greet_cs2(theirs)
        until(messages, "GO")
        shot = "BESTSHOT 0.990740 -29.559770 1"
        messages.send(f"{shot}\0{shot}")  # in one packet: the second one is there while the other is to throw
        return until(messages, "GAMEOVER")

    with ThreadPoolExecutor(1) as pool:
        heard = pool.submit(rogue)
        record = host_cs2([cs2.Cs2Seat(ours), AgentSeat(Draws())])
        assert heard.result() == "GAMEOVER LOSE"
    assert (record.winner, record.reason) == (1, "protocol_error")
    assert "out of turn" in record.note
    check_record(CS2, record)


@pytest.mark.parametrize("greeting", ["HELLO", "LOGIN", "LOGIN a b c d e", "BESTSHOT 0 -29 1"])
def test_a_client_that_does_not_log_in_is_refused(greeting):
    ours, theirs = pair()
    messages = Messages(theirs, b"\0")
    messages.send(greeting)
    with pytest.raises(ProtocolError):
        cs2.Cs2Seat(ours)


def test_scans_silent_clients_and_bad_names_keep_nobody_out():
    told = []
    with socket.create_server(("127.0.0.1", 0), backlog=64) as door:
        address = door.getsockname()
        reception = receive(door, 2, cs2.Cs2Seat, told.append)
        socket.create_connection(address).close()
        silent = [socket.create_connection(address) for _ in range(20)]
        bad = socket.create_connection(address)
        bad.sendall("LOGIN \u202eevil -\0".encode())
        with ThreadPoolExecutor(2) as pool:
            clients = [pool.submit(greet_cs2, socket.create_connection(address)) for _ in range(2)]
            seats = reception.wait(20)
            connections = [client.result().connection for client in clients]
        assert sorted(seat.name for seat in seats) == ["rogue", "rogue-2"]
        for connection in [*silent, bad, *connections, *(seat.messages.connection for seat in seats)]:
            connection.close()
    assert any("sent away" in line for line in told)


SHOT = {"cmd": "move", "move": {"type": "shot", "velocity": {"x": 0.13, "y": 2.4}, "rotation": "ccw"}}


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ('{"cmd": "move"}', "protocol_error"),
        (
            '{"cmd": "move", "move": {"type": "shot", "velocity": {"x": NaN, "y": 2.4}, "rotation": "cw"}}',
            "protocol_error",
        ),
        (
            '{"cmd": "move", "move": {"type": "shot", "velocity": {"x": 0, "y": 1e400}, "rotation": "cw"}}',
            "protocol_error",
        ),
        (
            '{"cmd": "move", "move": {"type": "shot", "velocity": {"x": 0, "y": 2.4}, "rotation": "up"}}',
            "protocol_error",
        ),
        (
            '{"cmd": "move", "move": {"type": "shot", "velocity": {"x": 999999, "y": 2.4}, "rotation": "cw"}}',
            "protocol_error",
        ),
        (
            '{"cmd": "move", "move": {"type": "shot", "velocity": {"x": 0, "y": %s}, "rotation": "cw"}}' % ("9" * 400),
            "protocol_error",
        ),
        ('{"cmd": "ready_ok", "player_order": [0, 1, 2, 3]}', "protocol_error"),
        ("[" * 50_000, "protocol_error"),
        ("no json", "protocol_error"),
        ("A" * 200_000, "protocol_error"),
        ('{"cmd": "move", "move": {"type": "concede"}}', "concede"),
        (None, "time_limit"),
    ],
)
def test_wrong_and_late_answers_lose_the_digital_curling_3_game(answer, reason):
    ours, theirs = pair()

    def rogue():
        messages = Messages(theirs, b"\n")
        assert json.loads(messages.receive(60))["cmd"] == "dc"
        messages.send(json.dumps({"cmd": "dc_ok", "name": "rogue"}))
        ready = json.loads(messages.receive(60))
        assert (ready["cmd"], ready["team"]) == ("is_ready", "team0")
        messages.send(json.dumps({"cmd": "ready_ok", "player_order": [3, 1, 0, 2]}))
        assert json.loads(messages.receive(60))["cmd"] == "new_game"
        first = json.loads(messages.receive(60))
        assert first["last_move"] is None
        assert first["next_team"] == "team0"
        messages.send(json.dumps(SHOT))
        own = json.loads(messages.receive(60))
        assert own["last_move"]["actual_move"]["rotation"] == "ccw"
        assert len(own["last_move"]["trajectory"]["frames"]) > 200
        again = json.loads(messages.receive(60))
        assert again["next_team"] == "team0"
        if answer is not None:
            messages.send(answer)
        try:
            last = json.loads(messages.receive(60))
        except ProtocolError:  # what was not read of an oversized message resets the connection
            return {"winner": "team1"}
        assert last["next_team"] is None
        assert last["state"]["hammer"] is None  # as the official library has it once a game is over
        assert last["last_move"] == {"actual_move": {"type": "concede"}, "free_guard_zone_foul": False}
        assert min(last["state"]["thinking_time_remaining"].values()) >= 0
        assert json.loads(messages.receive(60)) == {"cmd": "game_over"}
        return last["state"]["game_result"]

    with ThreadPoolExecutor(1) as pool:
        heard = pool.submit(rogue)
        seconds = 2.0 if answer is None else SECONDS
        seat = dc3.Dc3Seat(ours, 0, FCV1, seconds)
        record = dc3.host(FCV1, [seat, AgentSeat(Draws())], seed=1, seconds=seconds)
        assert heard.result()["winner"] == "team1"
    assert (record.winner, record.reason) == (1, reason)
    assert len(record.log.shots) == 2
    check_record(FCV1, record)


def greet_dc3(client, name):
    messages = Messages(client, b"\n")
    assert json.loads(messages.receive(60))["cmd"] == "dc"
    messages.send(json.dumps({"cmd": "dc_ok", "name": name}))
    assert json.loads(messages.receive(60))["cmd"] == "is_ready"
    messages.send(json.dumps({"cmd": "ready_ok", "player_order": [0, 1, 2, 3]}))
    return messages


def test_speaking_out_of_turn_loses_the_digital_curling_3_game():
    ours, theirs = pair()

    def rogue():
        messages = greet_dc3(theirs, "rogue")
        assert json.loads(messages.receive(60))["cmd"] == "new_game"
        messages.send(json.dumps(SHOT))  # for the first shot, which is his
        messages.send(json.dumps(SHOT))  # once more, while the other is to throw
        while (found := json.loads(messages.receive(60)))["cmd"] != "game_over":
            last = found
        return last["state"]["game_result"]["winner"]

    with ThreadPoolExecutor(1) as pool:
        heard = pool.submit(rogue)
        seat = dc3.Dc3Seat(ours, 0, FCV1, SECONDS)
        record = dc3.host(FCV1, [seat, AgentSeat(Draws())], seed=1, seconds=SECONDS)
        assert heard.result() == "team1"
    assert (record.winner, record.reason) == (1, "protocol_error")
    assert "out of turn" in record.note
    check_record(FCV1, record)


@pytest.mark.parametrize("name", ["a\x1bb", "x" * 201, 7])
def test_a_name_that_would_break_the_record_is_refused(name):
    ours, theirs = pair()
    with ThreadPoolExecutor(1) as pool:
        pool.submit(greet_dc3, theirs, name)
        with pytest.raises(ProtocolError, match="name"):
            dc3.Dc3Seat(ours, 0, FCV1, SECONDS)
        ours.close()


def test_a_name_of_two_lines_becomes_one():
    ours, theirs = pair()
    with ThreadPoolExecutor(1) as pool:
        pool.submit(greet_dc3, theirs, " two\n[0000] lines ")
        seat = dc3.Dc3Seat(ours, 0, FCV1, SECONDS)
    assert seat.name == "two [0000] lines"
    assert dcl.read(dcl.write(dcl.DclGame(first=seat.name))).first == seat.name


def test_a_log_that_is_none_is_refused():
    for text in ("", "[0000]\nPOSITION=1 2\n", "[GameInfo]\n[0000]\nPOSITION=1 2 3\nSETSTATE=0 0 10 0\n", "\x00"):
        with pytest.raises(dcl.DclError):
            dcl.read(text)


def test_logs_of_the_official_servers_are_read():
    """As the servers wrote them: values repeat the message's name; two sections tell the total."""
    stones = " ".join(["2.375000 4.880000"] + ["0.000000 0.000000"] * 15)
    text = "\r\n".join(
        [
            "[GameInfo]", "First=GCCS", "FirstRemTime=219000", "Second=a=b", "SecondRemTime=218000", "Random=0.145000",
            "[0000]", f"POSITION=POSITION{' 0.000000' * 32}", "SETSTATE=SETSTATE 0 0 1 0",
            "BESTSHOT=BESTSHOT -0.990740 -29.559770 0", "RUNSHOT=RUNSHOT -0.950000 -29.600000 0",
            "[0016]", f"POSITION=POSITION {stones}", "SCORE=SCORE -1", "TOTALSCORE=TOTALSCORE 0 1",
            "[GameOverInfo]", "ENDSTATE=NORMAL", "WIN=a=b", "LOSE=GCCS", "TOTALSCORE=TOTALSCORE 0 1", "",
        ]
    )  # fmt: skip
    log = dcl.read(text)
    assert (log.first, log.second, log.first_time, log.random) == ("GCCS", "a=b", 219000, "0.145000")
    assert (log.scores, log.total, log.reason) == ([-1], (0, 1), "NORMAL")
    (shot,) = log.shots
    assert (shot.asked, shot.run) == (Shot(-0.99074, 29.55977, -1), Shot(-0.95, 29.6, -1))
    stones, in_play = dcl.from_server(log.finals[0])
    assert in_play.tolist() == [1] + [0] * 15
    assert stones[0].tolist() == [0.0, 0.0]
    log.shots[0].number = 15  # so that the end is over in the writer's eyes, too
    written = dcl.write(log).splitlines()
    assert [line for line in text.split("\r\n")[8:-1] if line not in written] == ["SETSTATE=SETSTATE 0 0 1 0"]


def test_rules_that_belong_to_another_server_are_refused():
    agents = [AgentSeat(Draws()), AgentSeat(Draws())]
    with pytest.raises(ValueError, match="cs2"):
        cs2.host(FCV1, agents)
    with pytest.raises(ValueError, match="fcv1"):
        dc3.host(CS2, agents)


@pytest.mark.parametrize("command", ["host-dc3", "host-cs2"])
def test_a_host_commits_to_its_noise_and_tells_the_secret_at_the_end(command, tmp_path, monkeypatch):
    """The shots of its log follow from the secret that it tells, whose SHA-256 it told before anybody came."""
    doors, seeds = dc3.listen((0, 0)), []
    monkeypatch.setattr(dc3, "listen", lambda ports, address="127.0.0.1": doors)
    module = dc3 if command == "host-dc3" else cs2
    usual = module.host
    monkeypatch.setattr(
        module, "host", lambda ruleset, seats, seed, *more: (seeds.append(seed), usual(ruleset, seats, seed, *more))[1]
    )
    address = doors[0].getsockname()
    log = tmp_path / "game.dcl"
    with ThreadPoolExecutor(1) as pool:
        if module is dc3:
            client = pool.submit(dc3.play, address, Draws(), "client")
        else:
            client = pool.submit(cs2.play, address, Draws(), CS2, "client")
        done = CliRunner().invoke(commands.app, [command, "--against", "tee_draw", "--ends", "1", "--log", str(log)])
        client.result()
    assert done.exit_code == 0, done.output
    secret = Secret.of_text(re.search(r"--secret ([0-9a-f]{32})", done.output)[1])
    assert done.output.index(secret.commitment) < done.output.index("waiting")
    assert seeds == [secret.number("game")]
    assert log.is_file()
