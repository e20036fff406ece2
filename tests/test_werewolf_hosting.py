"""Hosting and joining AIWolf games over loopback: our own client, and clients that behave badly."""

import json
import re
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from typer.testing import CliRunner

from asobiba import game
from asobiba.arena.commands import ruleset_of
from asobiba.arena.replay import check_record
from asobiba.arena.secret import Secret
from asobiba.arena.store import Store
from asobiba.baselines.werewolf import basic, commands
from asobiba.baselines.werewolf.hosting import in_short, play_set, receive_peers
from asobiba.baselines.werewolf.joining import RemoteGame, join, rehearse
from asobiba.protocols.aiwolf import ClientError

WEREWOLF = game("werewolf")
SECRET = Secret.of_seed(11)
REPLIES = {"TALK": "Over", "WHISPER": "Over", "VOTE": "", "DIVINE": "", "GUARD": "", "ATTACK": "", "ROLE": "none"}


def host(clients, rules="0.6", games=1, players=5, reply=5.0):
    """Hosts games for these client functions (each is called with host and port, in a thread); returns what came out."""
    ruleset = WEREWOLF.ruleset(players=players, rules=rules, talk="turn", operators=rules == "0.6")
    hosted = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = server.getsockname()[:2]
        threads = [threading.Thread(target=client, args=address) for client in clients]
        for thread in threads:
            thread.start()
        peers = receive_peers(server, len(clients), reply, lambda text: None).wait(20.0)
    play_set(ruleset, peers, basic, "basic", games, SECRET, lambda number, result: hosted.append(result))
    for peer in peers:
        peer.close()
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive()
    return hosted


class PlainClient:
    """A client written from the wire format alone. `answer(request, count)` may return bytes to be sent instead."""

    def __init__(self, answer=lambda request, count: None):
        self.answer, self.packets = answer, []

    def __call__(self, host, port):
        with socket.create_connection((host, port), timeout=20) as connection, connection.makefile("rb") as lines:
            for line in lines:
                packet = json.loads(line)
                self.packets.append(packet)
                request = packet["request"]
                if request == "NAME":
                    connection.sendall(b"plain\n")
                    continue
                reply = self.answer(request, sum(p["request"] == request for p in self.packets))
                if reply is None and request in REPLIES:
                    reply = REPLIES[request].encode() + b"\n"
                try:
                    if reply:
                        connection.sendall(reply)
                except OSError:
                    return
                if reply == b"":
                    return


def requests_of(client):
    return [packet["request"] for packet in client.packets]


@pytest.mark.parametrize("rules", ["2016", "0.6"])
def test_our_agents_play_over_the_wire_as_they_do_at_the_table(rules):
    joined = []
    rehearse(basic())  # compiles, which may take longer than the server waits for a client

    def client(host, port):
        joined.append(join(host, port, basic(), "ours", games=2))

    hosted = host([client], rules=rules, games=2)
    assert joined == [2]
    for result in hosted:
        assert result.faults == {}
        assert result.log[-1].split(",")[1] == "result"
        assert result.record.reason == "rules"
        assert "aiwolf:ours" in result.record.match.seats


@pytest.mark.parametrize("rules", ["2016", "0.6"])
def test_requests_come_in_the_platforms_order_with_its_keys(rules):
    client = PlainClient()
    host([client], rules=rules)
    found = requests_of(client)
    assert found[0] == "NAME"
    assert found[1] == "INITIALIZE"
    assert found[2] == "DAILY_INITIALIZE"
    assert found[-1] == "FINISH"
    if rules == "2016":
        assert "TALK" in found[3 : found.index("DAILY_FINISH")]
    else:
        assert found[3] == "DAILY_FINISH"
    begin = next(packet for packet in client.packets if packet["request"] == "INITIALIZE")
    assert begin["gameSetting"]["playerNum"] == 5
    assert len(begin["gameInfo"]["roleMap"]) == 1
    assert ("latestVoteList" in begin["gameInfo"]) == (rules == "0.6")
    end = client.packets[-1]["gameInfo"]
    assert len(end["roleMap"]) == 5
    me = str(begin["gameInfo"]["agent"])
    assert end["roleMap"][me] == begin["gameInfo"]["roleMap"][me]


def test_hosted_games_go_into_the_leagues_store(tmp_path):
    hosted = host([PlainClient()])
    store = Store(tmp_path / "league.sqlite")
    assert store.write([hosted[0].record], SECRET) == 1
    log = [line.split(",") for line in hosted[0].log]
    assert {line[1] for line in log} >= {"status", "talk", "vote", "divine", "execute", "result"}
    assert sum(line[1] == "status" and line[0] == "0" for line in log) == 5


@pytest.mark.parametrize("rules", ["2016", "0.6"])
def test_the_log_has_an_attack_of_every_night_with_wolves_and_of_no_other(rules):
    nights, last = 0, 0
    for result in host([PlainClient()], rules=rules, games=6):
        log = [line.split(",") for line in result.log]
        executed = {line[0]: line[3] for line in log if line[1] == "execute"}
        attacked = [line[0] for line in log if line[1] == "attack"]
        # One wolf among five: after its execution, the night is nobody's.
        assert attacked == [day for day, role in executed.items() if role != "WEREWOLF"]
        assert "0" not in executed
        nights, last = nights + len(attacked), last + ("WEREWOLF" in executed.values())
    assert min(nights, last) > 0


HOSTILE = {
    "no JSON": (lambda request, count: b"nonsense\n" if request == "VOTE" else None, "agentIdx", False),
    "a vote for itself": (
        lambda request, count: b'{"agentIdx":99}\n' if request == "VOTE" else None,
        "agent 99",
        False,
    ),
    "invalid UTF-8": (lambda request, count: b"\xff\xfe\n" if request == "TALK" else None, "UTF-8", False),
    "no sentence": (lambda request, count: b"VOTE nobody\n" if request == "TALK" else None, "not a sentence", False),
    "out of turn": (lambda request, count: b"Over\nOver\n" if request == "TALK" else None, "out of turn", False),
    "ten megabytes": (lambda request, count: b"x" * 10_000_000 if request == "TALK" else None, "65536", True),
    "hangs up": (lambda request, count: b"" if request == "TALK" else None, "closed", True),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_bad_client_is_replaced_and_the_others_play_on(name):
    answer, reason, out = HOSTILE[name]
    good = PlainClient()
    hosted = host([PlainClient(answer), good])
    faults = [fault for found in hosted[0].faults.values() for fault in found]
    assert any(reason in fault for fault in faults), faults
    assert len(hosted[0].faults) == 1
    assert hosted[0].record.reason == "rules"
    assert hosted[0].record.detail
    assert requests_of(good)[-1] == "FINISH"
    if out:
        assert len(faults) == 1


def test_a_silent_client_is_out_after_its_time_and_the_others_play_on():
    release = threading.Event()

    def answer(request, count):
        if request == "TALK":
            release.wait(20)
            return b""
        return None

    good = PlainClient()

    def finishing(host, port):
        good(host, port)
        release.set()

    hosted = host([PlainClient(answer), finishing], reply=0.3)
    release.set()
    faults = [fault for found in hosted[0].faults.values() for fault in found]
    assert faults == ["no reply within 0.3 s"]
    assert requests_of(good)[-1] == "FINISH"


def test_a_client_that_tells_no_name_is_sent_away():
    with socket.create_server(("127.0.0.1", 0)) as server:
        quiet = socket.create_connection(server.getsockname()[:2])
        quiet.shutdown(socket.SHUT_WR)
        told = []
        assert receive_peers(server, 1, 0.1, told.append).wait(1.0) == []
        quiet.close()
    assert "sent away: it told no name" in told[0]


def test_silent_connections_keep_no_honest_client_out():
    with socket.create_server(("127.0.0.1", 0), backlog=64) as server:
        address = server.getsockname()[:2]
        silent = [socket.create_connection(address) for _ in range(30)]
        client = threading.Thread(target=PlainClient(), args=address)
        client.start()
        peers = receive_peers(server, 1, 5.0, lambda text: None).wait(20.0)
        assert [peer.name for peer in peers] == ["plain"]
        for connection in [*silent, *peers]:
            connection.close()
        client.join(10)


def test_two_clients_of_the_same_name_are_told_apart_and_strangers_without_the_token_sent_away():
    told = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = server.getsockname()[:2]

        def client(answer):
            with socket.create_connection(address) as connection, connection.makefile("rb") as lines:
                lines.readline()
                connection.sendall(answer)
                lines.readline()

        reception = receive_peers(server, 2, 5.0, told.append, token="secret")
        names = [b"plain\n", b"plain:wrong\n", b"plain:secret\n", b"plain:secret\n"]
        threads = [threading.Thread(target=client, args=(answer,)) for answer in names]
        for thread in threads:
            thread.start()
        peers = reception.wait(20.0)
        assert sorted(peer.name for peer in peers) == ["plain", "plain-2"]
        for peer in peers:
            peer.close()
        for thread in threads:
            thread.join(10)
    assert "secret" not in "".join(told)


def test_joining_nobody_says_so():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(ClientError, match="no server answers"):
        join("127.0.0.1", port, basic(), "ours")


@pytest.mark.parametrize(
    "line", [b"nonsense\n", b'{"request":"TALK"}\n', b'{"request":"INITIALIZE","gameInfo":{"agent":9}}\n']
)
def test_a_server_that_talks_nonsense_is_left(line):
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve():
            connection, _ = server.accept()
            connection.sendall(line)
            connection.recv(100)
            connection.close()

        thread = threading.Thread(target=serve)
        thread.start()
        with pytest.raises(ClientError):
            join(*server.getsockname()[:2], basic(), "ours")
        thread.join(5)


def test_a_server_that_hangs_up_in_the_middle_of_a_game_is_told_of():
    beginning = {
        "request": "INITIALIZE",
        "gameInfo": {"agent": 1, "day": 0, "statusMap": dict.fromkeys("12345", "ALIVE"), "roleMap": {"1": "SEER"}},
        "gameSetting": {"playerNum": 5, "maxSkip": 2},
    }
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve():
            connection, _ = server.accept()
            connection.sendall(json.dumps(beginning).encode() + b"\n")
            connection.close()

        thread = threading.Thread(target=serve)
        thread.start()
        with pytest.raises(ClientError, match="in the middle of a game"):
            join(*server.getsockname()[:2], basic(), "ours")
        thread.join(5)


def test_a_server_that_says_more_than_any_game_holds_does_no_harm():
    playing = RemoteGame(basic(), 0)
    info = {"agent": 1, "day": 1, "statusMap": dict.fromkeys("12345", "ALIVE"), "roleMap": {"1": "SEER"}}
    playing.initialize(info, {"playerNum": 5, "maxSkip": 2})
    said = {"day": 1, "turn": 0, "agent": 2, "text": "VOTE Agent[03]"}
    playing.listen([{**said, "idx": k} for k in range(3000)], [])
    state = playing._states[0]
    assert int(state["talk_rows"]) == len(state["talk"])


def test_faults_are_told_once_each():
    assert in_short(["no reply within 1 s"]) == "no reply within 1 s"
    assert in_short(["a", "b", "a", *"cdef"]) == "a (2 times); b; c; d; and 2 others"


def asobiba(*arguments):
    """The command line in a process of its own."""
    program = Path(sys.executable).with_name("asobiba")
    return subprocess.Popen(
        [program, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def test_the_commands_serve_and_join_play_together_from_two_processes(tmp_path):
    serve = asobiba(
        "serve", "werewolf", "--players", 5, "--games", 2, "--port", 0, "--clients", 2, "--wait", 60, "--reply", 30,
        "--fill", "basic", "--log", tmp_path / "logs", "--store", tmp_path / "league.sqlite",
    )  # fmt: skip
    try:
        address = serve.stdout.readline()
        port = int(address.rsplit(":", 1)[1])
        stranger = threading.Thread(target=PlainClient(HOSTILE["hangs up"][0]), args=("127.0.0.1", port))
        stranger.start()
        join_ = asobiba("join", "werewolf", "--port", port, "--name", "ours")
        told, _ = serve.communicate(timeout=300)
        joined, _ = join_.communicate(timeout=60)
        stranger.join(20)
    finally:
        serve.kill()
    assert serve.returncode == 0, told
    assert join_.returncode == 0, joined
    assert "2 games played" in joined
    assert "closed" in told
    logs = [path.read_text().splitlines() for path in sorted((tmp_path / "logs").iterdir())]
    assert [lines[-1].split(",")[1] for lines in logs] == ["result", "result"]
    ruleset = ruleset_of("werewolf", ["players=5", "rules=0.6", "talk=turn", "operators=true"])
    with Store(tmp_path / "league.sqlite") as store:
        results = store.results(ruleset)
    assert len(results) == 2
    assert {"aiwolf:ours", "aiwolf:plain", "basic"} == set(results.agents)


def test_serve_says_who_is_missing_and_plays_only_if_told_to_fill():
    serve = asobiba("serve", "werewolf", "--players", 5, "--port", 0, "--wait", 1)
    said, _ = serve.communicate(timeout=300)
    assert serve.returncode == 1
    assert "5 of 5 clients are missing after 1 s; nobody came" in said
    assert "--fill basic" in said
    assert "game 1" not in said
    refused = asobiba("serve", "werewolf", "--players", 5, "--clients", 2)
    said, _ = refused.communicate(timeout=60)
    assert refused.returncode == 2
    assert "leave 3 of 5 seats empty" in " ".join(said.replace("│", " ").split())


def test_clients_are_not_told_the_seed_that_deals_the_roles():
    client = PlainClient()
    host([client])
    assert client.packets[1]["gameSetting"]["randomSeed"] == 0


def test_the_host_commits_to_a_secret_and_tells_it_at_the_end(tmp_path):
    store = tmp_path / "games.sqlite"
    words = [
        "serve",
        "--clients",
        "0",
        "--fill",
        "basic",
        "--players",
        "5",
        "-n",
        "2",
        "--port",
        "0",
        "--store",
        str(store),
    ]
    done = CliRunner().invoke(commands.app, words)
    assert done.exit_code == 0, done.output
    secret = Secret.of_text(re.search(r"--secret ([0-9a-f]{32})", done.output)[1])
    assert done.output.index(secret.commitment) < done.output.index("game 1:")
    with Store(store, create=False) as kept:
        for number in (1, 2):
            record = kept.record(number)
            assert record.match.seeds == secret.seeds(record.match)
            check_record(record)
    public = CliRunner().invoke(commands.app, [*words, "--seed", "3"])
    assert "The seeds are public: they follow from --seed 3" in public.output
