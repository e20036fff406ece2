"""Shared by both protocols of digital curling: bounded messages over a socket, the clock, a hosted game's record."""

from __future__ import annotations

import contextlib
import math
import select
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from asobiba.arena.match import agent_seed
from asobiba.baselines.curling.player import CurlingPlayer
from asobiba.core import Agent, AsobibaError, GameParameterError, Ruleset
from asobiba.core.states import is_over, new_state, view_of
from asobiba.envs.curling import rules
from asobiba.envs.curling.dcl import DclGame, DclShot, to_server
from asobiba.envs.curling.layout import is_cs2
from asobiba.envs.curling.simulate import Shot, deliver
from asobiba.protocols.reception import Reception

MESSAGE_LIMIT = 1 << 16
"""Bytes of the longest message that is read."""
_NOT_DELIVERED = 1.0
"""m/s, with which a stone goes 4 cm."""
_PATIENCE = 0.5
"""s that a closing connection waits for the other end."""


class ProtocolError(AsobibaError):
    """A message that the protocol does not allow at this time, or no message at all."""


def plain_name(name: str) -> str:
    """A client's name as it goes into the record, where it must stay within its line.

    Raises:
        ProtocolError: if it is long, or has characters that cannot be printed.
    """
    name = " ".join(name.split())
    if len(name) > 200 or not name.isprintable():
        raise ProtocolError(f"the name {name[:80]!r} is not one line of at most 200 characters that can be printed")
    return name


class Messages:
    """Messages on a socket that end with `end`.

    Args:
        connection: a connected socket; it is closed by `close`.
        end: the byte that ends a message.
    """

    def __init__(self, connection: socket.socket, end: bytes):
        self.connection, self.end = connection, end
        self._buffer = b""

    def send(self, text: str) -> None:
        """Sends a message. Raises `ProtocolError` if the other end does not read it."""
        try:
            self.connection.settimeout(10.0)
            self.connection.sendall(text.encode() + self.end)
        except OSError as error:
            raise ProtocolError(f"a message could not be sent: {error}") from None

    def pending(self) -> bool:
        """Whether there is unread input."""
        return bool(self._buffer) or bool(select.select([self.connection], [], [], 0)[0])

    def receive(self, seconds: float | None = None) -> str:
        """The next message.

        Raises:
            TimeoutError: after `seconds`.
            ProtocolError: for a message that is too long or no text, or a closed connection.
        """
        deadline = None if seconds is None else time.monotonic() + seconds
        while self.end not in self._buffer:
            if len(self._buffer) > MESSAGE_LIMIT:
                raise ProtocolError(f"a message is longer than {MESSAGE_LIMIT} bytes")
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                raise TimeoutError
            try:
                self.connection.settimeout(left)
                data = self.connection.recv(65536)
            except TimeoutError:
                raise TimeoutError from None
            except OSError as error:
                raise ProtocolError(f"the connection broke: {error}") from None
            if not data:
                raise ProtocolError("the connection was closed")
            self._buffer += data
        message, _, self._buffer = self._buffer.partition(self.end)
        if len(message) > MESSAGE_LIMIT:
            raise ProtocolError(f"a message is longer than {MESSAGE_LIMIT} bytes")
        try:
            return message.decode()
        except UnicodeDecodeError:
            raise ProtocolError("a message is not UTF-8") from None

    def close(self) -> None:
        """Closes the connection. Discards further input; unread bytes would destroy the last message sent."""
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_WR)
            self.connection.settimeout(_PATIENCE)
            for _ in range(64):
                if not self.connection.recv(65536):
                    break
        self.connection.close()


class Fault(AsobibaError):
    """A player's fault that ends a hosted game. `reason`: time_limit, concede or protocol_error."""

    def __init__(self, seat: int, reason: str, text: str):
        super().__init__(text)
        self.seat, self.reason = seat, reason


@dataclass
class HostedRecord:
    """Record of a hosted game: every shot that was played, and how it ended.

    Args:
        log: the shots and scores, ready for `asobiba.envs.curling.dcl.write`.
        winner: seat of the winner, `None` for a draw. reason: score, concede, time_limit or protocol_error.
        note: the offence. remarks: deliveries that were played otherwise than asked.
        final: the last state.
    """

    log: DclGame
    winner: int | None = None
    reason: str = "score"
    note: str = ""
    remarks: list[str] = field(default_factory=list)
    final: np.void | None = None


class Seat:
    """A player of a hosted game: a connection, or an agent of our own.

    Subclasses write `ask`, which returns a `Shot`, or `None` for a concession.
    """

    name = "player"

    def prepare(self, game: HostedGame, seat: int) -> None:
        """Called before the clocks start."""

    def ask(self, game: HostedGame, seat: int) -> Shot | None:
        raise NotImplementedError

    def ask_placement(self, game: HostedGame, seat: int) -> int:
        """The placement of the stones of an end of mixed doubles, by its number."""
        raise NotImplementedError


@dataclass
class HostedGame:
    """A game that a host keeps: state, clocks, record.

    Args:
        ruleset: continuous; its noise is drawn from `seed`, which players must not know.
        seconds: of each player for the game; 0: unlimited. extra_seconds: for each extra end, anew.
    """

    ruleset: Ruleset
    seed: int = 0
    seconds: float = 0.0
    extra_seconds: float = 0.0
    names: tuple[str, str] = ("first", "second")
    remaining: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.state = new_state(self.ruleset, self.seed)
        self.remaining = [self.seconds, self.seconds]
        p = self.ruleset.params[0]
        random = f"{p['noise_first']:g} {p['noise_second']:g}"
        self.record = HostedRecord(DclGame(self.names[0], self.names[1], random=random, ends=int(p["ends"])))

    @property
    def over(self) -> bool:
        return is_over(self.state) or bool(self.record.note) or self.record.reason != "score"

    def limit(self, seat: int) -> float | None:
        """Seconds that a player has left, or `None`."""
        return None if self.seconds == 0 else self.remaining[seat]

    def within_limits(self, shot: Shot) -> Shot:
        """The shot that is played for a delivery beyond the simulator's limit of speed; a remark tells of it.

        As the official servers do it: fcv1 cuts the speed to its limit, cs2 sets the velocity to zero, so that the stone stays
        at the release and is taken off.
        """
        p = self.ruleset.params[0]
        limit, where = float(p["speed_limit"]), f"end {int(self.state['end'])}, shot {int(self.state['shot'])}"
        name = self.names[int(self.state["to_move"])]
        if is_cs2(self.ruleset):
            if abs(shot.vy) <= limit:
                return shot
            self.record.remarks.append(
                f"{where}: {name} asked for {shot.vy:.2f} m/s forward, more than {limit:g}: not delivered"
            )
            return Shot(0.0, _NOT_DELIVERED, shot.spin)
        speed = math.hypot(shot.vx, shot.vy)
        if speed > limit:
            self.record.remarks.append(f"{where}: {name} asked for {speed:.2f} m/s, cut to {limit:g}")
        return shot

    def delivered(self, before: np.void, shot: Shot) -> np.void:
        """The state after a shot, with its noise."""
        return deliver(self.ruleset, before, shot)

    def play(self, shot: Shot) -> None:
        """Plays the mover's shot and keeps it."""
        before, seat = self.state, int(self.state["to_move"])
        end, number = int(before["end"]), int(before["shot"])
        self.state = self.delivered(before, self.within_limits(shot))
        vx, vy, spin = (float(value) for value in self.state["run"])
        position = to_server(before["stones"], before["in_play"])
        self.record.log.shots.append(DclShot(end, number, position, seat, shot, Shot(vx, vy, 1 if spin > 0 else -1)))
        if number == 15:
            scored = self.state["total"].astype(int) - before["total"].astype(int)
            self.record.log.scores.append(int(scored[0] - scored[1]))
            self.record.log.finals.append(to_server(self.state["last_stones"], self.state["last_in_play"]))
            ends = int(self.ruleset.params["ends"][0])
            if int(self.state["end"]) >= ends and not is_over(self.state):
                self.remaining = [self.extra_seconds, self.extra_seconds]
                if self.extra_seconds == 0:
                    self.seconds = 0.0
        self.record.final = self.state

    def turn(self, seats: list[Seat]) -> None:
        """Asks the mover, charges its clock, plays its shot; a fault ends the game for its culprit."""
        seat = int(self.state["to_move"])
        begin = time.monotonic()
        try:
            try:
                shot = seats[seat].ask(self, seat)
            except TimeoutError:
                raise Fault(seat, "time_limit", f"{self.names[seat]} ran out of time") from None
            except ProtocolError as error:
                raise Fault(seat, "protocol_error", f"{self.names[seat]}: {error}") from None
            if self.seconds > 0:
                self.remaining[seat] -= time.monotonic() - begin
                if self.remaining[seat] <= 0:
                    raise Fault(seat, "time_limit", f"{self.names[seat]} ran out of time")
            if shot is None:
                raise Fault(seat, "concede", f"{self.names[seat]} conceded")
            try:
                self.play(shot)
            except GameParameterError as error:
                raise Fault(seat, "protocol_error", f"{self.names[seat]}: {error}") from None
        except Fault as fault:
            self.end_by(fault)
            return
        if is_over(self.state):
            self.close()

    def end_by(self, fault: Fault) -> None:
        """The game is lost for the fault's culprit."""
        self.record.winner, self.record.reason, self.record.note = 1 - fault.seat, fault.reason, str(fault)
        self.close()

    def close(self) -> None:
        """Writes the final entries of the record."""
        total = (int(self.state["total"][0]), int(self.state["total"][1]))
        log = self.record.log
        log.total = total
        log.reason = "NORMAL" if self.record.reason == "score" else self.record.reason.upper()
        log.first_time, log.second_time = (max(int(1000 * left), 0) for left in self.remaining)
        if self.record.reason == "score":
            self.record.winner = None if total[0] == total[1] else int(total[1] > total[0])
        self.record.final = self.state


def receive(
    server: socket.socket, count: int, greet: Callable[[socket.socket], Seat], tell: Callable[[str], Any]
) -> Reception[Seat]:
    """Greets clients in the background until `count` have done what the protocol wants before a game.

    Others, such as a port scan or a name that cannot be printed, are sent away. A second client `a` is called `a-2`.
    """

    def admit(seat: Seat, before: Sequence[Seat]) -> None:
        taken, name, number = {other.name for other in before}, seat.name, 2
        while seat.name in taken:
            seat.name, number = f"{name}-{number}", number + 1
        tell(f"{seat.name} is there")

    return Reception(server, count, lambda connection, address: greet(connection), tell, admit)


class AgentSeat(Seat):
    """An agent of our own in a hosted game."""

    def __init__(self, agent: Agent, name: str = "asobiba"):
        self.agent, self.name = agent, name

    def prepare(self, game: HostedGame, seat: int) -> None:
        warm_up(self.agent, game.ruleset, seat, agent_seed(game.seed, seat))

    def ask(self, game: HostedGame, seat: int) -> Shot | None:
        tell_time(self.agent, game.remaining[seat] if game.seconds else 0.0)
        view = view_of(game.ruleset, game.state, seat)
        return shot_of_action(game.ruleset, self.agent.act(view, np.zeros(0, np.int8)))


def warm_up(agent: Agent, ruleset: Ruleset, seat: int, seed: int) -> None:
    """Begins a game with all that the agent compiles or loads in its first shots behind it.

    An empty cache costs ayumu most of a minute, which must not be taken from its clock: an extra end of Digital Curling 3 has
    21.9 s.
    """
    views = []
    for shot in (0, 9, 15):
        view = ruleset.zeros()[0]
        view["conceded"], view["to_move"], view["shot"], view["hammer"] = -1, seat, shot, (seat + shot + 1) % 2
        for k in range(shot):
            view["stones"][k], view["in_play"][k] = (0.4 * (k % 5) - 0.8, 0.9 - 0.5 * (k // 2)), 1
        views.append(view)
    agent.reset(ruleset, seat, seed)
    if isinstance(agent, CurlingPlayer):
        agent.warm_up(views)
    else:
        for view in views:
            agent.act(view, np.zeros(0, np.int8))
    agent.reset(ruleset, seat, seed)


def tell_time(agent: Agent, seconds: float) -> None:
    """Tells an agent with a method `time_left` its remaining time; 0: no limit."""
    listens = getattr(agent, "time_left", None)
    if listens is not None:
        listens(max(seconds, 1e-3) if seconds else 0.0)


def shot_of_action(ruleset: Ruleset, action: Any) -> Shot | None:
    """The delivery of an agent's action; `None`: it concedes."""
    p = ruleset.params[0]
    values = np.asarray(action, float)
    if int(p["concession"]) and values[-1] > rules.CONCEDES:
        return None
    vx, vy, spin = rules.velocity_of(p, values)
    return Shot(float(vx), float(vy), 1 if spin > 0 else -1)
