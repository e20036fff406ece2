"""The contests in natural language: what is said and understood, our clients on a recorded game of the public server, our host.

`data/aiwolf_nlp.json.xz` is a game of 13 that aiwolf-nlp-server (bf9809c, July 2025, its logic and wire unmodified, with its
shipped `default_13.yml`) played with clients of ours: for each client its packets and the answers; profiles are cut.
"""

from __future__ import annotations

import json
import lzma
import random
import socket
import threading
from functools import partial
from pathlib import Path

import pytest
from typer.testing import CliRunner

from asobiba.arena.secret import Secret
from asobiba.baselines.werewolf import basic, commands, hosting, nlp, nlp_hosting
from asobiba.baselines.werewolf.language import LANGUAGES, Speech, Word
from asobiba.core import GameParameterError
from asobiba.envs.werewolf.layout import (
    AGREE,
    AND,
    ATTACK,
    ATTACKED,
    BECAUSE,
    COMINGOUT,
    DAY,
    DISAGREE,
    DIVINATION,
    DIVINED,
    ESTIMATE,
    GUARD,
    GUARDED,
    HUMAN,
    IDENTIFIED,
    INQUIRE,
    NOT,
    OR,
    REQUEST,
    SEER,
    SKIP,
    VILLAGER,
    VOTED,
    VOTING,
    WEREWOLF,
    WOLF,
    XOR,
)
from asobiba.protocols.aiwolf import ANSWERED, ClientError, Peer

websockets = pytest.importorskip("websockets.sync.client")
RECORDED = json.loads(lzma.decompress((Path(__file__).parent / "data" / "aiwolf_nlp.json.xz").read_bytes()))
NAMES = {
    "numbered": [f"Agent[{k:02d}]" for k in range(1, 14)],
    "Japanese": ["ミナト", "タクミ", "ケンジ", "リュウジ", "ダイスケ"],
    "English": ["Minato", "Takumi", "Kenji", "Ryuji", "Daisuke"],
}


def sentences(players):
    """All simple sentences of player 0, and 200 composed ones."""
    simple = [(Word(COMINGOUT, -1, role),) for role in range(1, 7)] + [(Word(SKIP),)]
    for target in range(1, players):
        simple += [(Word(ESTIMATE, target, role),) for role in range(1, 7)]
        simple += [(Word(act, target, species),) for act in (DIVINED, IDENTIFIED) for species in (HUMAN, WOLF)]
        acts = (GUARDED, VOTING, ATTACK, AGREE, DISAGREE, DIVINATION, GUARD, VOTED, ATTACKED)
        simple += [(Word(act, target),) for act in acts]
    generator = random.Random(1)

    def composed(depth):
        if depth == 2:
            return generator.choice([s for s in simple if s[0].act != SKIP])
        act = generator.choice((REQUEST, INQUIRE, BECAUSE, NOT, AND, OR, XOR, DAY))
        target = generator.randrange(1, players) if act in (REQUEST, INQUIRE) else -1
        parts = [composed(depth + 1) for _ in range(2 if act in (BECAUSE, AND, OR, XOR) else 1)]
        return (Word(act, target, generator.randrange(12) if act == DAY else 0), *(w for part in parts for w in part))

    return simple + [composed(generator.randrange(2)) for _ in range(200)]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("names", NAMES)
def test_what_is_said_in_either_language_is_understood_as_it_was_meant(names, language):
    speech = Speech(NAMES[names], language)
    listener = Speech(NAMES[names], next(other for other in LANGUAGES if other != language))
    for sentence in sentences(len(speech.names)):
        assert listener.hear(0, speech.say(sentence)) == [sentence], speech.say(sentence)


HEARD = [
    ("こんにちは。よろしくお願いします。", []),
    ("僕は占い師だよ。昨日ミナトさんを占ったら人狼だった！", [Word(COMINGOUT, -1, SEER), Word(DIVINED, 0, WOLF)]),
    ("占い師COです", [Word(COMINGOUT, -1, SEER)]),
    ("タクミは人狼ではないと思います", []),
    ("占いの結果、タクミは人狼ではありませんでした。", [Word(DIVINED, 1, HUMAN)]),
    ("タクミさんが怪しいと思う。今日はタクミに投票するつもりです。", [Word(ESTIMATE, 1, WEREWOLF), Word(VOTING, 1)]),
    ("ケンジを吊りたい", [Word(VOTING, 2)]),
    ("タクミは誰を占いましたか？", []),
    ("占い師のミナトは人狼だと思います", [Word(ESTIMATE, 0, WEREWOLF)]),
    ("ミナトを信用します", [Word(ESTIMATE, 0, VILLAGER)]),
    ("今夜はケンジを護衛します", [Word(GUARD, 2)]),
    ("リュウジを噛もう", [Word(ATTACK, 3)]),
    ("I am the seer. I divined Takumi and he is not a werewolf.", [Word(COMINGOUT, -1, SEER), Word(DIVINED, 1, HUMAN)]),
    ("I'm a villager, and I don't trust Kenji.", []),
    ("I suspect Kenji! I'll vote for Kenji.", [Word(ESTIMATE, 2, WEREWOLF), Word(VOTING, 2)]),
    ("Who should we vote for?", []),
    ("We should execute Ryuji", [Word(VOTING, 3)]),
    ("I agree with Minato", [Word(AGREE, 0)]),
    ("I think Minato might be the seer", [Word(ESTIMATE, 0, SEER)]),
]


@pytest.mark.parametrize(("text", "wanted"), HEARD)
def test_usual_ways_to_say_it_are_understood_and_nothing_is_read_into_others(text, wanted):
    names = NAMES["English" if text.isascii() else "Japanese"]
    found = Speech(names, "en").hear(4, text)
    assert [words for sentence in found for words in sentence] == wanted


@pytest.fixture(scope="module")
def replayed():
    """Each client's game, fed with what the server sent, with our answers now."""
    found = []
    for seat, client in enumerate(RECORDED):
        playing = nlp.SpokenGame(basic(), seat, "ja")
        answers = [nlp.answer(playing, json.dumps(packet), f"asobiba{seat + 1}") for packet, _ in client]
        found.append((playing, answers))
    return found


def test_our_clients_answer_the_public_server(replayed):
    asked = set()
    for client, (playing, answers) in zip(RECORDED, replayed, strict=True):
        for (packet, _), answer in zip(client, answers, strict=True):
            request = packet["request"]
            asked.add(request)
            assert (answer is not None) == (request in ANSWERED)
            if request in ("VOTE", "DIVINE", "GUARD", "ATTACK"):
                assert packet["info"]["status_map"][answer] == "ALIVE"
                assert answer != packet["info"]["agent"]
            if request in ("TALK", "WHISPER"):
                assert answer in ("Over", "Skip") or playing.speech.hear(playing.seat, answer)
    assert asked >= {"NAME", "TALK", "WHISPER", "VOTE", "DIVINE", "GUARD", "ATTACK", "DAILY_FINISH"}


def test_what_the_server_told_stands_in_the_view(replayed):
    ends = {info["agent"]: info for client in RECORDED for packet, _ in client[-1:] for info in [packet["info"]]}
    said = {}
    for client in RECORDED:
        for packet, _ in client:
            for line in packet.get("talk_history") or ():
                said[line["day"], line["turn"], line["agent"]] = line["text"]
    assert sum("占い師です" in text for text in said.values()) == 2
    results = sum("占いの結果" in text for text in said.values())
    for playing, _ in replayed:
        state, names = playing._states[0], playing.speech.names
        claims = {(int(row[2]), int(row[3])) for row in state["talk"] if row[3] == COMINGOUT}
        wanted = {(names.index(who) + 1, COMINGOUT) for (_, _, who), text in said.items() if text.startswith("私は")}
        assert claims == wanted
        assert sum(row[3] == DIVINED for row in state["talk"]) == results
        me = ends[names[playing.seat]]
        dead = {name for name, status in client_status(playing.seat, names).items() if status == "DEAD"}
        assert {names[k] for k in range(13) if state["left"][k]} == dead
        assert me["agent"] == names[playing.seat]
        assert state["executed"][: int(state["day"])].astype(bool).tolist()[1:] == [True] * (int(state["day"]) - 1)


def client_status(seat, names):
    """The living, by the last packet but FINISH."""
    client = next(c for c in RECORDED if any(p.get("info", {}).get("agent") == names[seat] for p, _ in c))
    return [p["info"]["status_map"] for p, _ in client if p["request"] != "FINISH" and "info" in p][-1]


def talker(texts, heard):
    """A client that speaks `texts` in turn and votes for the first other living player."""

    def play(port):
        with websockets.connect(f"ws://127.0.0.1:{port}/ws?token=t", open_timeout=20) as connection:
            said = iter(texts)
            for message in connection:
                packet = json.loads(message)
                heard.append(packet)
                request, info = packet["request"], packet.get("info", {})
                if request == "NAME":
                    connection.send("talker1\n")
                elif request in ("TALK", "WHISPER"):
                    connection.send(next(said, "Over") + "\n")
                elif request in ANSWERED:
                    alive = [n for n, status in info["status_map"].items() if status == "ALIVE" and n != info["agent"]]
                    connection.send("nobody" if request == "VOTE" and info["day"] == 1 else alive[0])
                elif request == "FINISH":
                    return

    return play


@pytest.fixture(scope="module")
def hosted():
    """A hosted game of five: three clients of ours by WebSocket, one that talks freely, one of our agents at the table."""
    nlp.rehearse(basic())
    heard, results = [], []
    texts = ["おはようございます。", "Agent[02]が怪しいと思う。", "Skip"]
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        clients = [threading.Thread(target=talker(texts, heard), args=(port,))]
        join = partial(nlp.join, f"ws://127.0.0.1:{port}/ws", language="ja", token="t")
        clients += [threading.Thread(target=join, args=(basic(), f"ours{k}")) for k in range(3)]
        for client in clients:
            client.start()
        peers = nlp_hosting.receive_speakers(server, 4, 20.0, lambda text: None, "t").wait(30)
        hosting.play_set(
            nlp_hosting.village(5), peers, basic, "basic", 1, Secret.of_seed(2), lambda number, result: results.append(result),
            partial(nlp_hosting.SpokenTable, language="ja"),
        )  # fmt: skip
        for peer in peers:
            peer.close()
        for client in clients:
            client.join(20)
    return heard, results[0]


def test_the_host_lets_clients_say_what_they_like(hosted):
    heard, result = hosted
    assert result.record.reason == "rules"
    assert heard[-1]["request"] == "FINISH"
    assert len(heard[-1]["info"]["role_map"]) == 5
    assert any(",おはようございます。" in line for line in result.log)
    ((faults),) = result.faults.values()
    assert all("expected the name of an agent, such as Agent[01], not 'nobody'" in fault for fault in faults)
    me = heard[1]["info"]["agent"]
    lines = [line for packet in heard for line in packet.get("talk_history", ()) if line["agent"] != me]
    spoken = [line["text"] for line in lines if not line["skip"] and not line["over"]]
    assert spoken
    assert all(Speech(NAMES["numbered"][:5], "ja").hear(0, text) for text in spoken)
    assert [line["idx"] for packet in heard for line in packet.get("talk_history", ()) if line["day"] == 1] == sorted(
        {line["idx"] for packet in heard for line in packet.get("talk_history", ()) if line["day"] == 1}
    )


class Script:
    """A client's end of a connection in this process: it keeps what it hears, and answers by a function of the packet."""

    def __init__(self, answer):
        self.answer, self.heard = answer, []

    def send(self, line):
        self.heard.append(json.loads(line))

    def receive(self, seconds):
        return self.answer(self.heard[-1])

    def drop_pending(self):
        return 0

    def close(self):
        pass


def scripted_game(players, say, **options):
    """What each of `players` scripted clients hears in a game, and the game's log. `say(packet)` is their talk."""

    def answer(packet):
        if packet["request"] in ("TALK", "WHISPER"):
            return say(packet)
        info = packet["info"]
        return next(n for n, status in info["status_map"].items() if status == "ALIVE" and n != info["agent"])

    scripts = [Script(answer) for _ in range(players)]
    peers = [Peer(script, f"client{k}", 1.0) for k, script in enumerate(scripts)]
    names = [f"aiwolf:client{k}" for k in range(players)]
    arguments = (nlp_hosting.village(players), peers, names, 0, Secret.of_seed(3))
    log = nlp_hosting.SpokenTable(*arguments, language="ja", **options).play().log
    return [script.heard for script in scripts], log


def first_day(packets):
    """The role of a client, and the requests of day 0 with the utterances that are left to it in talk."""
    packets = [packet for packet in packets if packet.get("info", {}).get("day") == 0]
    role = packets[0]["info"]["role_map"][packets[0]["info"]["agent"]]
    # The public server's settings give a wolf four whispers a session, the rules 0.6 ten.
    left = [packet["info"].get("remain_count") if packet["request"] == "TALK" else None for packet in packets]
    return role, [(packet["request"], count) for packet, count in zip(packets, left, strict=True)]


def lines_of(packets, history):
    """Number, turn and text of the lines of day 0 that all clients together are told."""
    told = (line for client in packets for packet in client for line in packet.get(history) or ())
    return sorted({(line["idx"], line["turn"], line["text"]) for line in told if line["day"] == 0})


def test_day_0_of_the_host_is_that_of_the_recorded_game():
    heard, log = scripted_game(13, lambda packet: "Over")
    recorded = [[packet for packet, _ in client] for client in RECORDED]
    assert sorted(map(first_day, heard), key=repr) == sorted(map(first_day, recorded), key=repr)
    assert lines_of(heard, "talk_history") == lines_of(recorded, "talk_history") == [(k, 0, "Over") for k in range(13)]
    # Each session of whispers numbers its lines from 0; the recorded server tells a wolf only some of them.
    assert set(lines_of(recorded, "whisper_history")) <= set(lines_of(heard, "whisper_history"))
    said = [line.split(",")[1] for line in log if line.startswith("0,") and line.split(",")[1] in ("talk", "whisper")]
    assert said == ["whisper"] * 3 + ["talk"] * 13 + ["whisper"] * 3


def test_talk_of_day_0_has_the_settings_utterances_and_skips():
    heard, log = scripted_game(5, lambda packet: "Skip" if packet["info"]["agent"] == "Agent[02]" else "おはよう")
    talk = [line.split(",")[3:6] for line in log if line.startswith("0,talk,")]
    assert [turn for turn, _, _ in talk] == ["0"] * 5 + ["1"] * 5 + ["2"] * 5 + ["3"] * 4
    assert [text for _, agent, text in talk if agent == "2"] == ["Skip", "Skip", "Over"]
    left = [
        [p["info"]["remain_count"] for p in client if p["request"] == "TALK" and p["info"]["day"] == 0]
        for client in heard
    ]
    assert sorted(left) == [[3, 2, 1]] + [[3, 2, 1, 0]] * 4
    quiet, log = scripted_game(5, lambda packet: "Over", first_talk=False)
    assert not any(p["request"] == "TALK" for client in quiet for p in client if p.get("info", {}).get("day") == 0)
    assert not any(line.startswith("0,talk,") for line in log)


def fields(packets):
    """For each request the fields of its packets, in depth: those of all, and those of any."""
    always, ever = {}, {}
    for packet in packets:
        found = set(flat(packet))
        request = packet["request"]
        always[request] = always.get(request, found) & found
        ever[request] = ever.get(request, set()) | found
    return always, ever


def flat(value, path=""):
    if isinstance(value, dict) and not path.endswith(("_map",)):
        for key, inner in value.items():
            yield from flat(inner, f"{path}.{key}")
    elif isinstance(value, list) and value:
        yield from flat(value[0], f"{path}[]")
    elif value != []:
        yield f"{path}: {type(value).__name__}"


def test_the_hosts_packets_have_the_public_servers_fields(hosted):
    ours_always, ours_ever = fields(hosted[0])
    theirs_always, theirs_ever = fields([packet for client in RECORDED for packet, _ in client])
    anywhere = set().union(*theirs_ever.values())
    # They tell profiles and limit lengths; lists may be empty, and there may be no results or deaths to tell of.
    at_will = ("profile", "max_length", "history[]", "vote_list", "_agent:", "_result.")

    def fixed(found):
        return {field for field in found if not any(word in field for word in at_will)}

    for request in ours_ever:
        assert ours_ever[request] <= anywhere
        assert fixed(ours_ever[request]) <= theirs_ever[request], request
        assert fixed(theirs_always[request]) <= ours_always[request], request


def test_strangers_without_the_token_and_other_protocols_are_sent_away():
    told = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = server.getsockname()[:2]
        reception = nlp_hosting.receive_speakers(server, 1, 5.0, told.append, "secret")
        with socket.create_connection(address) as other:
            other.sendall(b"hello\r\n\r\n")
            other.recv(1000)
        with pytest.raises(ClientError, match="opens no WebSocket"):
            nlp.join(f"ws://127.0.0.1:{address[1]}/ws", basic(), "ours", "ja", token="wrong")
        assert reception.wait(2.0) == []
    assert any("it has another token" in text for text in told)
    assert any("it opened no WebSocket" in text for text in told)


def test_wrong_addresses_and_languages_are_refused_by_name():
    with pytest.raises(ClientError, match="is not an address of a WebSocket"):
        nlp.join("http://127.0.0.1/ws", basic(), "ours", "ja")
    with pytest.raises(GameParameterError, match="language is 'fr'; expected one of: ja, en"):
        nlp.join("ws://127.0.0.1/ws", basic(), "ours", "fr")
    done = CliRunner().invoke(commands.app, ["serve", "--players", "5", "--language", "fr"])
    assert done.exit_code == 1
    assert "expected one of: ja, en" in done.output


def test_the_commands_play_several_games_in_natural_language(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    words = [
        "serve",
        "--language",
        "en",
        "--players",
        "5",
        "--clients",
        "1",
        "--fill",
        "basic",
        "-n",
        "2",
        "--wait",
        "60",
    ]
    words += ["--reply", "20", "--port", str(port), "--seed", "1", "--log", str(tmp_path)]
    done = []
    serving = threading.Thread(target=lambda: done.append(CliRunner().invoke(commands.app, words)))
    serving.start()
    while serving.is_alive():
        try:
            assert nlp.join(f"ws://127.0.0.1:{port}/ws", basic(), "ours", "en", games=2) == 2
            break
        except ClientError as error:
            if "no server answers" not in str(error):
                raise
    serving.join(60)
    assert done[0].exit_code == 0, done[0].output
    logs = [path.read_text() for path in sorted(tmp_path.iterdir())]
    assert len(set(logs)) == 2
    assert all("aiwolf:ours" in log and "I am the seer." in log for log in logs)
