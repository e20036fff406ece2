"""The AIWolf platform's wire format: one JSON object a line over TCP, requests, replies, and the game log.

A server asks its clients; a client answers with one line, or not at all if the request needs no answer. This module
handles lines, packets and sentences, but no rules.

Source: the AIWolf project's platform (client and server of 2016 and of 0.6), and protocol 3.6 of 2019.
"""

from __future__ import annotations

import json
import re
import select
import socket
import time
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from asobiba.core.errors import AsobibaError

REQUESTS = (
    "NAME", "ROLE", "INITIALIZE", "DAILY_INITIALIZE", "DAILY_FINISH", "TALK", "WHISPER", "VOTE", "DIVINE", "GUARD",
    "ATTACK", "FINISH",
)  # fmt: skip
ANSWERED = frozenset(("NAME", "ROLE", "TALK", "WHISPER", "VOTE", "DIVINE", "GUARD", "ATTACK"))
"""The requests that want a reply."""
LONGEST_LINE = 1 << 16
"""Bytes of the longest reply that is read; utterances and choices need a few hundred."""
LONGEST_PACKET = 1 << 24
"""Bytes of the longest packet that a client of ours accepts."""
KEYS = ("request", "gameInfo", "gameSetting", "talkHistory", "whisperHistory")


class ClientError(AsobibaError, ConnectionError):
    """Raised for a peer that broke the protocol. `lost`: the connection is unusable."""

    def __init__(self, message: str, lost: bool = True):
        super().__init__(message)
        self.lost = lost


class LineSocket:
    """Lines over a socket, with a time limit for each and a limit of length."""

    def __init__(self, connection: socket.socket, longest: int = LONGEST_LINE):
        connection.setblocking(False)
        self._socket, self._longest, self._buffer = connection, longest, b""

    def close(self) -> None:
        self._socket.close()

    def send(self, line: str, seconds: float = 5.0) -> None:
        """Sends a line. Raises `ClientError` if the peer is gone or does not take it in time."""
        data, deadline = memoryview(line.encode() + b"\n"), time.monotonic() + seconds
        while data:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([], [self._socket], [], left)[1]:
                raise ClientError(f"it has not read what was sent to it for {seconds:g} s")
            try:
                data = data[self._socket.send(data) :]
            except OSError as error:
                raise ClientError(f"the connection broke: {error.strerror or error}") from None

    def receive(self, seconds: float | None) -> str:
        """The next line. Raises `ClientError` if none comes in time, or it is too long or no UTF-8."""
        deadline = None if seconds is None else time.monotonic() + seconds
        while b"\n" not in self._buffer:
            if len(self._buffer) > self._longest:
                raise ClientError(f"it sent a line of more than {self._longest} bytes")
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                raise ClientError(f"no reply within {seconds:g} s")
            if not select.select([self._socket], [], [], left)[0]:
                continue
            self._read()
        line, _, self._buffer = self._buffer.partition(b"\n")
        if len(line) > self._longest:
            raise ClientError(f"it sent a line of more than {self._longest} bytes")
        try:
            return line.decode().rstrip("\r")
        except UnicodeDecodeError:
            raise ClientError("it sent bytes that are no UTF-8", lost=False) from None

    def _read(self) -> None:
        try:
            found = self._socket.recv(LONGEST_LINE)
        except BlockingIOError:
            return
        except OSError as error:
            raise ClientError(f"the connection broke: {error.strerror or error}") from None
        if not found:
            raise ClientError("it closed the connection")
        self._buffer += found

    def drop_pending(self) -> int:
        """Discards unrequested input; returns the number of bytes. Raises `ClientError` on a dead peer."""
        while len(self._buffer) <= self._longest and select.select([self._socket], [], [], 0)[0]:
            self._read()
        if len(self._buffer) > self._longest:
            raise ClientError(f"it sent more than {self._longest} bytes without being asked")
        dropped, self._buffer = len(self._buffer), b""
        return dropped


def packet(
    request: str,
    game_info: Mapping[str, Any] | None = None,
    game_setting: Mapping[str, Any] | None = None,
    talk: Iterable[Mapping[str, Any]] | None = None,
    whisper: Iterable[Mapping[str, Any]] | None = None,
) -> str:
    """A request as one line of JSON; all five keys are always there."""
    if request not in REQUESTS:
        raise ValueError(f"{request!r} is not a request; expected one of {', '.join(REQUESTS)}")
    values = (
        request,
        game_info,
        game_setting,
        None if talk is None else list(talk),
        None if whisper is None else list(whisper),
    )
    return json.dumps(dict(zip(KEYS, values, strict=True)), ensure_ascii=False, separators=(",", ":"))


def read_packet(line: str) -> dict[str, Any]:
    """A request as a client reads it. Raises `ClientError` for any other line."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        raise ClientError(f"the server sent something that is not JSON: {line[:80]!r}") from None
    if not isinstance(found, dict) or found.get("request") not in REQUESTS:
        raise ClientError(f"the server sent something that is not a request: {line[:80]!r}")
    for key, kind in (("gameInfo", dict), ("gameSetting", dict), ("talkHistory", list), ("whisperHistory", list)):
        if found.get(key) is not None and not isinstance(found[key], kind):
            raise ClientError(f"the server sent a {key} that is not a {kind.__name__}: {str(found[key])[:80]!r}")
    return found


_TARGET = re.compile(r'\{"agentIdx":(-?[0-9]{1,9})\}')


def target_reply(agent: int | None) -> str:
    """The reply to VOTE, DIVINE, GUARD and ATTACK: an agent from 1, or nobody."""
    return "" if agent is None else f'{{"agentIdx":{agent}}}'


def read_target(line: str) -> int | None:
    """The agent that a reply names, `None` for nobody. Raises `ClientError` for a reply of another form."""
    text = line.strip()
    if text in ("", "null"):
        return None
    found = _TARGET.fullmatch(text)
    if found is None:
        raise ClientError(f'expected {{"agentIdx":N}}, not {text[:80]!r}', lost=False)
    number = int(found[1])
    return None if number < 0 else number


# Content.validate of the contest server, whose expressions are Java's: `\s`, `\d` and `\p{Upper}` are of ASCII, `.` is no line
# terminator, and `$` may stand before a last one.
_SUBJECT = r"(?:Agent\[(\d+)\]|ANY|)\s*"
_TARGET_AGENT = r"\s+(?:Agent\[(\d+)\]|ANY)"
_OPERANDS = r"\s+(\([^\n\r\x85\u2028\u2029]*\))"
_ENDS = r"[\x85\u2028\u2029]?\Z"


def _pattern(*parts: str) -> re.Pattern[str]:
    return re.compile("".join((_SUBJECT, *parts, _ENDS)), re.ASCII)


_REFERENCE = _pattern(r"(?:AGREE|DISAGREE)\s+([A-Z]+)\s+day(\d+)\s+ID:(\d+)")
_OF_ROLE = _pattern(r"(?:ESTIMATE|COMINGOUT)", _TARGET_AGENT, r"\s+([A-Z]+)")
_OF_SPECIES = _pattern(r"(?:DIVINED|IDENTIFIED)", _TARGET_AGENT, r"\s+([A-Z]+)")
_OF_AGENT = _pattern(r"(?:ATTACK|ATTACKED|DIVINATION|GUARD|GUARDED|VOTE|VOTED)", _TARGET_AGENT)
_TO_AGENT = _pattern(r"(?:REQUEST|INQUIRE)", _TARGET_AGENT, _OPERANDS)
_OPERATOR = _pattern(r"(BECAUSE|AND|OR|XOR|NOT|REQUEST)", _OPERANDS)
_ON_DAY = _pattern(r"DAY\s+(\d+)", _OPERANDS)
_KINDS = frozenset(("TALK", "WHISPER"))
_ROLE_NAMES = frozenset(("BODYGUARD", "FREEMASON", "MEDIUM", "POSSESSED", "SEER", "VILLAGER", "WEREWOLF", "FOX", "ANY"))
_SPECIES_NAMES = frozenset(("HUMAN", "WEREWOLF", "ANY"))
_LEAST_OPERANDS = {"AND": 0, "OR": 0, "BECAUSE": 2, "XOR": 2}
_BLANKS = "".join(map(chr, range(33)))
_DEEPEST = 200


def _fits(*numbers: str | None) -> bool:
    # Whether numbers fit into 32 bits; one that is not there does.
    return all(number is None or int(number.lstrip("0")[:11] or 0) < 1 << 31 for number in numbers)


def _operands(text: str) -> list[str]:
    # The text in the outermost parentheses; text beside them does not count.
    parts, depth, begin = [], 0, 0
    for k, letter in enumerate(text):
        if letter == "(":
            if depth == 0:
                begin = k + 1
            depth += 1
        elif letter == ")":
            depth -= 1
            if depth == 0:
                parts.append(text[begin:k])
    return parts


def is_sentence(text: str, depth: int = 0) -> bool:
    """Whether protocol 3.6 has this sentence, regardless of the agents and days it names.

    The verdicts are those of the contest server: AND and OR take any number of sentences, `Skip` and `Over` may stand inside
    others, and blanks may be doubled. A sentence that makes that server fail (BECAUSE with one operand) is none, nor is one
    nested deeper than 200.
    """
    text = text.strip(_BLANKS)
    if text in ("Skip", "Over"):
        return True
    if found := _REFERENCE.match(text):
        return found[2] in _KINDS and _fits(found[1], found[3], found[4])
    if found := _OF_ROLE.match(text):
        return found[3] in _ROLE_NAMES and _fits(found[1], found[2])
    if found := _OF_SPECIES.match(text):
        return found[3] in _SPECIES_NAMES and _fits(found[1], found[2])
    if found := _OF_AGENT.match(text):
        return _fits(found[1], found[2])
    if found := _TO_AGENT.match(text):
        numbers, least, inside = found.group(1, 2), 1, found[3]
    elif found := _OPERATOR.match(text):
        numbers, least, inside = (found[1],), _LEAST_OPERANDS.get(found[2], 1), found[3]
    elif found := _ON_DAY.match(text):
        numbers, least, inside = found.group(1, 2), 1, found[3]
    else:
        return False
    parts = _operands(inside)
    within = depth < _DEEPEST and len(parts) >= least and _fits(*numbers)
    return within and all(is_sentence(part, depth + 1) for part in parts)


class Messages(Protocol):
    """A connection to a client, as `LineSocket` and `asobiba.protocols.websocket.MessageSocket` are."""

    def close(self) -> None: ...

    def send(self, line: str, seconds: float = ..., /) -> None: ...

    def receive(self, seconds: float | None, /) -> str: ...

    def drop_pending(self) -> int: ...


class Peer:
    """A client as the server sees it: its connection, its name, and what went wrong with it.

    Args:
        connection: a socket for lines, or any other `Messages`.
        reply_seconds: how long a reply may take. A client that takes longer, hangs up or floods the line is dropped, as
            on the platform. A senseless reply is replaced, and the client stays.
    """

    def __init__(self, connection: socket.socket | Messages, address: str, reply_seconds: float):
        self.lines = LineSocket(connection) if isinstance(connection, socket.socket) else connection
        self.address, self.reply_seconds = address, reply_seconds
        self.name = address
        self.lost = False
        self.faults: list[str] = []

    def fault(self, reason: str, lost: bool) -> None:
        """Records a fault; `lost` ends the connection."""
        self.faults.append(reason)
        if lost and not self.lost:
            self.lost = True
            self.lines.close()

    def tell(self, line: str) -> bool:
        """Sends a message without a reply; returns `False` if the client is out."""
        if self.lost:
            return False
        try:
            self.lines.send(line)
        except ClientError as error:
            self.fault(str(error), lost=True)
        return not self.lost

    def ask(self, line: str) -> str | None:
        """Sends a request and returns the reply, or `None` if there is none that can be read."""
        if self.lost:
            return None
        try:
            if dropped := self.lines.drop_pending():
                self.fault(f"it sent {dropped} bytes out of turn", lost=False)
            self.lines.send(line)
            return self.lines.receive(self.reply_seconds)
        except ClientError as error:
            self.fault(str(error), error.lost)
            return None

    def close(self) -> None:
        if not self.lost:
            self.lost = True
            self.lines.close()
