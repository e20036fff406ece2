"""The AIWolf wire format by itself: lines, packets, replies and sentences, and peers that misbehave."""

import json
import socket
import threading

import pytest
from werewolf_sentences import VERDICTS, digest, sentences

from asobiba.protocols.aiwolf import KEYS, ClientError, LineSocket, Peer, is_sentence, packet, read_packet, read_target


def pair(seconds=2.0):
    ours, theirs = socket.socketpair()
    return Peer(ours, "test", seconds), theirs


def test_every_packet_has_all_keys_and_is_one_line():
    line = packet("TALK", talk=[{"text": "a\nb"}])
    assert tuple(json.loads(line)) == KEYS
    assert "\n" not in line
    assert read_packet(line)["talkHistory"] == [{"text": "a\nb"}]


@pytest.mark.parametrize("line", ["", "[]", "{}", '{"request":"DANCE"}', '{"request":"TALK","gameInfo":3}', "[" * 9999])
def test_what_is_no_request_is_refused(line):
    with pytest.raises(ClientError):
        read_packet(line)


@pytest.mark.parametrize(
    ("line", "agent"), [('{"agentIdx":3}', 3), ("", None), ('{"agentIdx":-1}', None), ("null", None)]
)
def test_targets_are_read_as_the_platform_reads_them(line, agent):
    assert read_target(line) == agent


@pytest.mark.parametrize("line", ['{"agentIdx": 3}', "3", '{"agentIdx":"3"}', '{"agentIdx":99999999999999}', "{}"])
def test_other_targets_are_faults_that_do_not_end_the_connection(line):
    with pytest.raises(ClientError) as caught:
        read_target(line)
    assert not caught.value.lost


@pytest.mark.parametrize(
    "text",
    [
        "Over",
        "Skip",
        "ESTIMATE Agent[03] SEER",
        "Agent[02] VOTE Agent[05]",
        "ANY DIVINED Agent[03] ANY",
        "REQUEST Agent[01] (VOTE Agent[02])",
        "BECAUSE (DAY 1 (Agent[04] DIVINED Agent[02] WEREWOLF)) (VOTE Agent[02])",
        "AND (VOTE Agent[01]) (NOT (VOTE Agent[02])) (OR (VOTE ANY) (GUARD ANY))",
        "AGREE TALK day1 ID:3",
        "AND (VOTE Agent[01])",
        "NOT (Over)",
        "VOTE  Agent[01]",
    ],
)
def test_sentences_of_the_protocol_are_known(text):
    assert is_sentence(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hello",
        "VOTE",
        "VOTE 3",
        "NOT(VOTED Agent[01])",
        "NOT (VOTE Agent[01]",
        "NOT " * 50 + "()",
        "BECAUSE (VOTE ANY)",
        "VOTE Agent[2147483648]",
        "NOT (" * 10_000 + "Skip" + ")" * 10_000,
    ],
)
def test_other_text_is_no_sentence(text):
    assert not is_sentence(text)


def test_thirty_thousand_sentences_have_the_official_servers_verdicts():
    head, *lines = VERDICTS.read_text().splitlines()
    assert digest() in head
    verdicts = "".join(lines)
    wrong = [text for text, verdict in zip(sentences(), verdicts, strict=True) if is_sentence(text) != (verdict == "1")]
    assert wrong == []
    assert min(verdicts.count(verdict) for verdict in "01x") > 400


def test_a_silent_client_is_out_after_its_time():
    peer, theirs = pair(0.05)
    assert peer.ask("{}") is None
    assert peer.lost
    assert "no reply within" in peer.faults[0]
    assert peer.ask("{}") is None
    theirs.close()


def test_a_client_that_dribbles_bytes_is_out_after_its_time():
    peer, theirs = pair(0.2)
    stop = threading.Event()

    def dribble():
        while not stop.wait(0.02):
            try:
                theirs.send(b"a")
            except OSError:
                return

    thread = threading.Thread(target=dribble)
    thread.start()
    assert peer.ask("{}") is None
    stop.set()
    thread.join()
    assert peer.lost


def test_ten_megabytes_without_an_end_of_line_are_not_kept():
    peer, theirs = pair(5.0)

    def flood():
        try:
            theirs.sendall(b"x" * 10_000_000)
        except OSError:
            return

    thread = threading.Thread(target=flood)
    thread.start()
    assert peer.ask("{}") is None
    thread.join()
    assert peer.lost
    assert "more than 65536 bytes" in peer.faults[0]


def test_bytes_that_are_no_text_are_a_fault_and_the_next_reply_is_read():
    peer, theirs = pair()
    lines = LineSocket(theirs)
    answers = [b"\xff\xfe\n", b"Over\n"]

    def client():
        for answer in answers:
            lines.receive(5.0)
            theirs.send(answer)

    thread = threading.Thread(target=client)
    thread.start()
    assert peer.ask("{}") is None
    assert not peer.lost
    assert peer.ask("{}") == "Over"
    thread.join()
    assert peer.faults == ["it sent bytes that are no UTF-8"]


def test_replies_out_of_turn_are_dropped_and_on_record():
    peer, theirs = pair()
    theirs.send(b"early\nearlier\n")
    lines = LineSocket(theirs)

    def client():
        lines.receive(5.0)
        theirs.send(b"Skip\n")

    thread = threading.Thread(target=client)
    thread.start()
    assert peer.ask("{}") == "Skip"
    thread.join()
    assert peer.faults == ["it sent 14 bytes out of turn"]


def test_a_client_that_hangs_up_is_out():
    peer, theirs = pair()
    theirs.close()
    assert peer.ask("{}") is None
    assert peer.lost
