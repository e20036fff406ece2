"""The text protocol of the cs2 servers: messages of words that end with a NUL byte, over TCP.

    server: CONNECTED                       client: LOGIN id password [name]
    server: LOGIN OK, ISREADY               client: READYOK
    server: NEWGAME first second
    each shot, to both: POSITION x0 y0 ... x15 y15, SETSTATE shot end ends mover
    to the mover: GO first_ms second_ms     client: BESTSHOT vx vy turn | CONCEDE
    to both: RUNSHOT vx vy turn; after sixteen shots POSITION, SETSTATE, SCORE points
    at the end: TOTALSCORE a b, GAMEOVER WIN | LOSE | DRAW

0 ms mean unlimited time. `CONCEED` and `CONSEED`, which other programs write, are read as CONCEDE.
"""

from __future__ import annotations

import socket
import time

import numpy as np

from asobiba.baselines.curling.hosting import (
    Fault,
    HostedGame,
    HostedRecord,
    Messages,
    ProtocolError,
    Seat,
    plain_name,
    shot_of_action,
    tell_time,
    warm_up,
)
from asobiba.core import Agent, GameParameterError, Ruleset
from asobiba.envs.curling.dcl import DclError, from_server, shot_from_server, shot_to_server, to_server
from asobiba.envs.curling.layout import is_cs2
from asobiba.envs.curling.simulate import Shot

PORT = 9876
_CONCEDE = ("CONCEDE", "CONCEED", "CONSEED")
_GREETING = 10.0
"""s that a client has for each message before the game."""


class Cs2Seat(Seat):
    """A client of the text protocol, connected to us.

    Raises:
        ProtocolError: if the client does not log in as it must.
    """

    def __init__(self, connection: socket.socket):
        self.messages = Messages(connection, b"\0")
        self.messages.send("CONNECTED")
        words = self._expect("LOGIN")
        if not 3 <= len(words) <= 4:
            raise ProtocolError(f"{' '.join(words)!r}: expected LOGIN id password [name]")
        self.name = plain_name(words[3] if len(words) == 4 else words[1])
        self.messages.send("LOGIN OK")
        self.messages.send("ISREADY")
        self._expect("READYOK")

    def _expect(self, word: str) -> list[str]:
        try:
            words = self.messages.receive(_GREETING).split()
        except TimeoutError:
            raise ProtocolError(f"no {word} came within {_GREETING:g} s") from None
        if not words or words[0] != word:
            raise ProtocolError(f"{' '.join(words)[:80]!r} came; expected {word}")
        return words

    def ask(self, game: HostedGame, seat: int) -> Shot | None:
        first, second = (int(1000 * left) if game.seconds else 0 for left in game.remaining)
        self.messages.send(f"GO {first} {second}")
        words = self.messages.receive(game.limit(seat)).split()
        if words and words[0] in _CONCEDE:
            return None
        if not words or words[0] != "BESTSHOT":
            raise ProtocolError(f"{' '.join(words)[:80]!r} came; expected BESTSHOT vx vy turn, or CONCEDE")
        try:
            return shot_from_server(words[1:])
        except DclError as error:
            raise ProtocolError(str(error)) from None


def _tell(seats: list[Seat], text: str) -> None:
    for number, seat in enumerate(seats):
        if isinstance(seat, Cs2Seat):
            try:
                seat.messages.send(text)
            except ProtocolError as error:
                raise Fault(number, "protocol_error", str(error)) from None


def _speak_out_of_turn(game: HostedGame, seats: list[Seat]) -> None:
    """Raises an error if a client that was not asked has sent anything."""
    for number, seat in enumerate(seats):
        if isinstance(seat, Cs2Seat) and seat.messages.pending():
            raise Fault(number, "protocol_error", f"{game.names[number]} sent a message out of turn")


def _state(game: HostedGame, seats: list[Seat]) -> None:
    s = game.state
    numbers = " ".join(f"{value:f}" for value in to_server(s["stones"], s["in_play"]))
    _tell(seats, f"POSITION {numbers}")
    ends = int(game.ruleset.params["ends"][0])
    _tell(seats, f"SETSTATE {int(s['shot'])} {int(s['end'])} {ends} {int(s['to_move'])}")


def host(ruleset: Ruleset, seats: list[Seat], seed: int = 0, seconds: float | None = None) -> HostedRecord:
    """Plays a game between two seats (`Cs2Seat`, or agents of our own) and returns its record.

    Args:
        ruleset: of `curling` with simulator cs2. seconds: of each player; `None`: the ruleset's; 0: unlimited.

    Raises:
        GameParameterError: for other rules.
    """
    if not is_cs2(ruleset) or ruleset.discrete:
        raise GameParameterError(f"the text protocol plays curling with simulator 'cs2', not {ruleset!r}")
    limit = float(ruleset.params["thinking_time"][0]) if seconds is None else seconds
    game = HostedGame(ruleset, seed, limit, names=(seats[0].name, seats[1].name))
    for number, seat in enumerate(seats):
        seat.prepare(game, number)
    try:
        _tell(seats, f"NEWGAME {seats[0].name} {seats[1].name}")
        while not game.over:
            _state(game, seats)
            _speak_out_of_turn(game, seats)
            scores = len(game.record.log.scores)
            game.turn(seats)
            if game.record.note:
                break
            _tell(seats, f"RUNSHOT {shot_to_server(game.record.log.shots[-1].run)}")
            if len(game.record.log.scores) > scores:
                _state(game, seats)
                _tell(seats, f"SCORE {game.record.log.scores[-1]}")
    except Fault as fault:
        game.end_by(fault)
    _farewell(game, seats)
    return game.record


def _farewell(game: HostedGame, seats: list[Seat]) -> None:
    record = game.record
    if record.reason == "time_limit" and record.winner is not None:
        _tell_quietly(seats, f"TIMEOUT {game.names[1 - record.winner]}")
    elif record.reason == "concede" and record.winner is not None:
        _tell_quietly(seats, f"CONCEDE {game.names[1 - record.winner]}")
    total = record.log.total or (0, 0)
    _tell_quietly(seats, f"TOTALSCORE {total[0]} {total[1]}")
    for number, seat in enumerate(seats):
        result = "DRAW" if record.winner is None else "WIN" if record.winner == number else "LOSE"
        _tell_quietly([seat], f"GAMEOVER {result}")
        if isinstance(seat, Cs2Seat):
            seat.messages.close()


def _tell_quietly(seats: list[Seat], text: str) -> None:
    for seat in seats:
        if isinstance(seat, Cs2Seat):
            try:
                seat.messages.send(text)
            except ProtocolError:
                continue  # the client has gone; the record stands


def play(
    address: tuple[str, int], agent: Agent, ruleset: Ruleset, name: str = "asobiba", password: str = "-", seed: int = 0
) -> str:
    """Plays one game on a server as its client. Returns WIN, LOSE or DRAW.

    Args:
        ruleset: the server's rules, which the protocol does not tell: simulator cs2, ends and noise.

    Raises:
        ProtocolError: for what the protocol does not allow.
    """
    warm_up(agent, ruleset, 0, seed)  # before the server waits for us
    messages = Messages(socket.create_connection(address, timeout=10.0), b"\0")
    view = ruleset.zeros()[0]
    view["conceded"] = -1
    seat = -1
    begun = time.monotonic()
    try:
        while True:
            words = messages.receive().split()
            if not words:
                raise ProtocolError("the server sent an empty message")
            match words[0]:
                case "CONNECTED":
                    messages.send(f"LOGIN {name} {password} {name}")
                case "ISREADY":
                    messages.send("READYOK")
                case "NEWGAME":
                    view["total"], view["scores"], seat = 0, 0, -1
                case "POSITION":
                    view["stones"], view["in_play"] = from_server(_numbers(words[1:], 32))
                case "SETSTATE":
                    shot, end, _, mover = (int(value) for value in _numbers(words[1:], 4))
                    if not 0 <= shot <= 15 or mover not in (0, 1):
                        raise ProtocolError(f"{' '.join(words)!r} is no state")
                    view["shot"], view["end"], view["to_move"] = shot, end, mover
                    view["hammer"] = (mover + shot + 1) % 2
                case "GO":
                    if seat < 0:
                        seat = int(view["to_move"])
                        agent.reset(ruleset, seat, seed)
                    tell_time(agent, _numbers(words[1:], 2)[seat] / 1000.0)
                    shot_meant = shot_of_action(ruleset, agent.act(view.copy(), np.zeros(0, np.int8)))
                    messages.send("CONCEDE" if shot_meant is None else f"BESTSHOT {shot_to_server(shot_meant)}")
                case "SCORE":
                    points = int(_numbers(words[1:], 1)[0])
                    ended = min(max(int(view["end"]) - 1, 0), view["scores"].shape[1] - 1)
                    side = 0 if points > 0 else 1
                    view["scores"][side, ended] += abs(points)
                    view["total"][side] += abs(points)
                case "GAMEOVER":
                    if len(words) != 2 or words[1] not in ("WIN", "LOSE", "DRAW"):
                        raise ProtocolError(f"{' '.join(words)!r}: expected GAMEOVER WIN, LOSE or DRAW")
                    return words[1]
                case "LOGIN" | "RUNSHOT" | "TOTALSCORE" | "TIMEOUT" | "CONCEDE" | "GAMEINFO" | "RANDOMSIZE":
                    continue
                case "DISCONNECT":
                    raise ProtocolError(f"the server broke off after {time.monotonic() - begun:.0f} s")
                case _:
                    raise ProtocolError(f"the server sent {' '.join(words)[:80]!r}")
    finally:
        messages.close()


def _numbers(words: list[str], count: int) -> list[float]:
    try:
        numbers = [float(word) for word in words]
    except ValueError:
        raise ProtocolError(f"{' '.join(words)[:80]!r}: expected {count} numbers") from None
    if len(numbers) != count:
        raise ProtocolError(f"{' '.join(words)[:80]!r}: expected {count} numbers, got {len(numbers)}")
    return numbers
