"""The protocol of Digital Curling 4: HTTP with Basic authentication, and a stream of server-sent events.

    GET  /matches/MATCH_ID                                      the match: rules, ends, times; without authentication
    POST /store-team-config?match_id=&expected_match_team_name=  {team_name, player1, ...}    -> "team0" or "team1"
    GET  /matches/MATCH_ID/stream                               events state_update, latest_state_update
    POST /shots?match_id=  {translational_velocity, angular_velocity, shot_angle}
    POST /matches/MATCH_ID/end-setup?request=                   mixed doubles: center_guard, center_house, pp_left, pp_right

The requests are those of the organisers' server and clients (github.com/digitalcurling: DigitalCurling4-Server,
DigitalCurling4-Python, DigitalCurling-Client-Cpp); `dc4_messages` has what they say. A client acts on
`latest_state_update`; `state_update` tells one that comes later what it has missed. team0 throws first in the first end; in
mixed doubles team1 decides there on the placement.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import http.client
import json
import math
import queue
import threading
import time
import urllib.parse
import uuid
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

from asobiba.baselines.curling.dc3 import TEAMS, earlier_ends
from asobiba.baselines.curling.dc4_messages import (
    MIXED_DOUBLES,
    REQUESTS,
    Refused,
    is_doubles,
    is_doubles_match,
    match_message,
    read_shot,
    ruleset_of,
    settings_of,
    shot_message,
    state_message,
    view_of,
)
from asobiba.baselines.curling.doubles.hosting import HostedDoubles
from asobiba.baselines.curling.hosting import (
    MESSAGE_LIMIT,
    HostedGame,
    HostedRecord,
    ProtocolError,
    Seat,
    plain_name,
    shot_of_action,
    tell_time,
    warm_up,
)
from asobiba.core import Agent, GameParameterError, Ruleset
from asobiba.envs.curling import rules
from asobiba.envs.curling.doubles.rules import placement_of
from asobiba.envs.curling.layout import is_cs2
from asobiba.envs.curling.simulate import Shot

PORT = 5000
NOISE = (0.0076, 0.0018)
"""Standard deviations of speed (m/s) and angle (rad) of the organisers' standard player."""
_REQUEST = 10.0
"""s within which a request must have come."""
_ALIVE = 5.0
"""s between two comments on a silent stream: the organisers' client gives up after 15."""
_ABSENCE = 60.0
"""s that a player without a stream is waited for."""
_TRIES = 5
SHOT, PLACEMENT = "a shot", "an end-setup"


class Dc4Seat(Seat):
    """A client of Digital Curling 4 at our host. Its requests come on the server's threads."""

    def __init__(self, name: str, credentials: str):
        self.name, self.credentials = name, credentials
        self.streams, self.asked = 0, ""
        self.answers: queue.Queue[Any] = queue.Queue(1)

    def ask(self, game: HostedGame, seat: int) -> Shot | None:
        return self._answer(game, seat, SHOT)

    def ask_placement(self, game: HostedGame, seat: int) -> int:
        return self._answer(game, seat, PLACEMENT)

    def _answer(self, game: HostedGame, seat: int, wanted: str) -> Any:
        limit = game.limit(seat)
        begin = present = time.monotonic()
        self.asked = wanted
        try:
            while True:
                try:
                    return self.answers.get(timeout=0.1)
                except queue.Empty:
                    now = time.monotonic()
                    if limit is not None and now - begin >= limit:
                        raise TimeoutError from None
                    present = now if self.streams else present
                    if now - present >= _ABSENCE:
                        raise ProtocolError(f"no stream for {_ABSENCE:g} s") from None
        finally:
            self.asked = ""

    def answer(self, kind: str, given: Any) -> None:
        """Takes a client's shot or placement. Raises `Refused` if the other is asked for, or nothing."""
        if self.asked != kind:
            due = (
                "a shot is due" if self.asked == SHOT else "an end-setup is due" if self.asked else "it is not its turn"
            )
            raise Refused(409, f"{self.name} sent {kind}, but {due}")
        self.asked = ""
        self.answers.put(given)


class Dc4Server:
    """The HTTP side of one match.

    Args:
        address, port: where to listen; port 0: any.
        clients: teams that are clients, one or two.
        tell: is called with a line when a client has come.

    Raises:
        GameParameterError: for a port that cannot be had.
    """

    def __init__(
        self,
        address: str = "127.0.0.1",
        port: int = PORT,
        clients: int = 2,
        tell: Callable[[str], Any] = lambda _: None,
    ):
        self.match_id = str(uuid.uuid4())
        self.seats: dict[int, Dc4Seat] = {}
        self._clients, self._tell = clients, tell
        self._told: dict[str, Any] | None = None
        self._states: list[str] = []
        self._over = False
        self.change = threading.Condition()
        server = self

        class Handler(_Handler):
            match = server

        try:
            self._http = ThreadingHTTPServer((address, port), Handler)
        except OSError as error:
            raise GameParameterError(f"port {port} cannot be listened on: {error}") from None
        self._http.daemon_threads = True
        self.address = self._http.server_address[:2]
        threading.Thread(target=self._http.serve_forever, daemon=True).start()

    def open(self, match: dict[str, Any]) -> None:
        """Tells of the match from now on."""
        with self.change:
            self._told = match
            self.change.notify_all()

    def match_data(self) -> dict[str, Any]:
        """The match, as soon as it is open. Raises `Refused` if it is not for a while."""
        with self.change:
            if not self.change.wait_for(lambda: self._told is not None, _ALIVE):
                raise Refused(404, "no match is open")
            return dict(self._told or {})

    def wait(self) -> dict[int, Dc4Seat]:
        """The seats of the clients by team, when all have come."""
        with self.change:
            self.change.wait_for(lambda: len(self.seats) == self._clients)
        return self.seats

    def admit(self, credentials: str, wanted: str, config: Any) -> str:
        """The team of a client. Raises `Refused`."""
        name = config.get("team_name") if isinstance(config, dict) else None
        if not isinstance(name, str):
            raise Refused(422, "team_name is missing; expected a text")
        doubles = (self._told or {}).get("game_mode") == MIXED_DOUBLES
        if doubles and any(config.get(f"player{k}") is not None for k in (3, 4)):
            raise Refused(400, "mixed doubles has two players: player3 and player4 must be left out")
        try:
            name = plain_name(name)
        except ProtocolError as error:
            raise Refused(422, str(error)) from None
        if wanted not in TEAMS:
            raise Refused(422, f"expected_match_team_name is {wanted[:20]!r}; expected team0 or team1")
        with self.change:
            for team, seat in self.seats.items():
                if seat.credentials == credentials:
                    return TEAMS[team]  # it came again
            if len(self.seats) == self._clients:
                raise Refused(409, "both teams are taken")
            team = TEAMS.index(wanted)
            team = 1 - team if team in self.seats else team
            name = f"{name}-2" if name in {seat.name for seat in self.seats.values()} else name
            self.seats[team] = Dc4Seat(name, credentials)
            self._tell(f"{name} is there as {TEAMS[team]}")
            self.change.notify_all()
        return TEAMS[team]

    def seat_of(self, credentials: str) -> Dc4Seat:
        """The seat of a client that has come. Raises `Refused`."""
        for seat in self.seats.values():
            if seat.credentials == credentials:
                return seat
        raise Refused(401, "unknown user: a team's first request is /store-team-config")

    def publish(self, state: dict[str, Any], over: bool = False) -> None:
        """Sends a state to all streams."""
        with self.change:
            self._states.append(json.dumps(state))
            self._over = over
            self.change.notify_all()

    def events(self) -> Iterator[tuple[str, str] | None]:
        """Events of a new stream, as they come; `None`: nothing has happened for a while."""
        with self.change:
            self.change.wait_for(lambda: self._states, _ALIVE)
            past, told = self._states[:-1], len(self._states)
        yield from (("state_update", state) for state in past)
        told = max(told - 1, 0)
        while True:
            new, over = self._after(told)
            yield from (("latest_state_update", state) for state in new) if new else (None,)
            told += len(new)
            if over and not new:
                return

    def _after(self, told: int) -> tuple[list[str], bool]:
        """The states after so many, and whether the match is over; waits a while for one."""
        with self.change:
            self.change.wait_for(lambda: len(self._states) > told or self._over, _ALIVE)
            return self._states[told:], self._over

    def close(self) -> None:
        """Ends the streams when they have told everything, or after a while."""
        deadline = time.monotonic() + 2.0
        while any(seat.streams for seat in self.seats.values()) and time.monotonic() < deadline:
            time.sleep(0.02)
        self._http.shutdown()
        self._http.server_close()


class _Handler(BaseHTTPRequestHandler):
    match: Dc4Server
    timeout = _REQUEST

    def log_message(self, format: str, *arguments: Any) -> None:
        pass

    def do_POST(self) -> None:
        self._answer(self._post)

    def do_GET(self) -> None:
        self._answer(self._get)

    def _answer(self, work: Callable[[str, dict[str, str]], Any]) -> None:
        try:
            url = urllib.parse.urlsplit(self.path)
            result = work(url.path, dict(urllib.parse.parse_qsl(url.query)))
            if result is not None:
                self._send(200, result)
        except Refused as refused:
            with contextlib.suppress(OSError):
                self._send(refused.status, {"detail": str(refused)})
        except (OSError, ValueError):
            self.close_connection = True

    def _send(self, status: int, content: Any) -> None:
        text = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        if status == 401:
            self.send_header("WWW-Authenticate", "Basic")
        self.end_headers()
        self.wfile.write(text)

    def _credentials(self) -> str:
        kind, _, encoded = self.headers.get("Authorization", "").partition(" ")
        try:
            text = base64.b64decode(encoded, validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            text = ""
        if kind.lower() != "basic" or ":" not in text:
            raise Refused(401, "Basic authentication is missing")
        return text

    def _body(self) -> Any:
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit() and len(length) < 8 and int(length) <= MESSAGE_LIMIT):
            raise Refused(413, f"Content-Length is {length[:20]!r}; expected at most {MESSAGE_LIMIT}")
        try:
            return json.loads(self.rfile.read(int(length)), parse_constant=lambda word: math.nan)
        except (ValueError, RecursionError):
            raise Refused(422, "the body is not JSON") from None

    def _post(self, path: str, query: dict[str, str]) -> Any:
        credentials = self._credentials()
        if path == f"/matches/{self.match.match_id}/end-setup":
            return self._end_setup(credentials, query.get("request", ""))
        # The organisers' Python client writes the id of its requests as a whole number.
        if query.get("match_id") not in (self.match.match_id, str(uuid.UUID(self.match.match_id).int)):
            raise Refused(404, "no such match")
        if path == "/store-team-config":
            return self.match.admit(credentials, query.get("expected_match_team_name", ""), self._body())
        if path != "/shots":
            raise Refused(404, f"nothing is posted to {path[:80]!r}")
        seat, shot = self.match.seat_of(credentials), read_shot(self._body())
        with self.match.change:
            seat.answer(SHOT, shot)
        return {"status": "ok"}

    def _end_setup(self, credentials: str, request: str) -> Any:
        seat = self.match.seat_of(credentials)
        if not is_doubles_match(self.match.match_data()):
            raise Refused(400, "an end-setup belongs to mixed doubles, and this is a match of four-person curling")
        if request not in REQUESTS:
            raise Refused(422, f"request is {request[:40]!r}; expected one of {', '.join(REQUESTS)}")
        with self.match.change:
            seat.answer(PLACEMENT, REQUESTS.index(request))
        return {"status": "ok"}

    def _get(self, path: str, query: dict[str, str]) -> Any:
        if path == f"/matches/{self.match.match_id}":
            return self.match.match_data()
        self._stream(path)
        return None

    def _stream(self, path: str) -> None:
        seat = self.match.seat_of(self._credentials())
        if path != f"/matches/{self.match.match_id}/stream":
            raise Refused(404, "no such match")
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        seat.streams += 1
        try:
            for event in self.match.events():
                self.wfile.write(b":\n\n" if event is None else f"event: {event[0]}\ndata: {event[1]}\n\n".encode())
        finally:
            seat.streams -= 1


def host(
    ruleset: Ruleset,
    server: Dc4Server,
    agent: Seat | None = None,
    seed: int = 0,
    seconds: float | None = None,
    extra_seconds: float = 21.9,
) -> HostedRecord:
    """Waits for a server's clients, plays the game and returns its record.

    Args:
        ruleset: of `curling` with simulator fcv1 and guards, or of `curling_doubles`.
        agent: of our own, in the seat that a single client leaves free.
        seconds: of each player for the game; `None`: the ruleset's; 0: unlimited. extra_seconds: for an extra end.

    Raises:
        GameParameterError: for other rules.
    """
    if is_cs2(ruleset) or ruleset.discrete or int(ruleset.params["guard_rule"][0]) == rules.NO_GUARDS:
        raise GameParameterError(
            f"Digital Curling 4 plays curling with simulator 'fcv1' and a rule of guards, and mixed doubles, not {ruleset!r}"
        )
    limit = float(ruleset.params["thinking_time"][0]) if seconds is None else seconds
    server.open(match_message(server.match_id, ruleset, limit, extra_seconds))
    found: dict[int, Seat] = dict(server.wait())
    if agent is not None:
        found[1 - next(iter(found))] = agent
    seats = [found[0], found[1]]
    kind = HostedDoubles if is_doubles(ruleset) else HostedGame
    game = kind(ruleset, seed, limit, extra_seconds, names=(seats[0].name, seats[1].name))
    for number, seat in enumerate(seats):
        seat.prepare(game, number)
    ended = None
    while not game.over:
        server.publish(state_message(game))
        before, ends = game.state, int(game.state["end"])
        game.turn(seats)
        ended = before if int(game.state["end"]) > ends else None
        if ended is not None and not game.over:
            server.publish(state_message(game, ended))
    server.publish(state_message(game, ended), over=True)
    server.close()
    return game.record


class _Connection:
    """Requests of a client, each with its own connection.

    Args:
        address: of the server. user, password: of Basic authentication.
    """

    def __init__(self, address: tuple[str, int], user: str, password: str):
        self._address = address
        self._headers = {"Authorization": "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()}

    def request(self, method: str, path: str, body: Any = None, timeout: float = _REQUEST) -> http.client.HTTPResponse:
        """The server's answer. Raises `ProtocolError` if it is not status 200."""
        connection = http.client.HTTPConnection(*self._address, timeout=timeout)
        text = None if body is None else json.dumps(body)
        headers = self._headers | ({} if body is None else {"Content-Type": "application/json"})
        try:
            connection.request(method, path, text, headers)
            answer = connection.getresponse()
        except (OSError, http.client.HTTPException) as error:
            raise ProtocolError(f"{method} {path.partition('?')[0]}: {error}") from None
        if answer.status != 200:
            raise Refused(answer.status, f"{method} {path.partition('?')[0]}: status {answer.status}, {_said(answer)}")
        return answer

    def events(self, path: str) -> Iterator[dict[str, Any]]:
        """The latest states of a stream, over several connections if they break.

        Raises:
            ProtocolError: if the stream cannot be had any more, or is not one of states.
        """
        failed = 0
        while failed < _TRIES:
            try:
                stream = self.request("GET", path, timeout=120.0)
                for kind, data in _events(stream):
                    if kind == "latest_state_update":
                        failed = 0
                        yield _state_of(data)
            except Refused:
                raise
            except (OSError, http.client.HTTPException, ProtocolError):
                pass
            failed += 1
            time.sleep(0.2 * failed)
        raise ProtocolError("the stream of states ended before the game")


def _said(answer: http.client.HTTPResponse) -> str:
    return answer.read(200).decode(errors="replace")


def _events(stream: http.client.HTTPResponse) -> Iterator[tuple[str, str]]:
    kind = "message"
    data: list[str] = []
    while line := stream.readline(MESSAGE_LIMIT + 1):
        if len(line) > MESSAGE_LIMIT:
            raise Refused(0, f"an event is longer than {MESSAGE_LIMIT} bytes")
        text = line.decode(errors="replace").rstrip("\r\n")
        name, _, value = text.partition(":")
        if not text:
            if data:
                yield kind, "\n".join(data)
            kind, data = "message", []
        elif name == "event":
            kind = value.strip()
        elif name == "data":
            data.append(value.removeprefix(" "))


def _state_of(text: str) -> dict[str, Any]:
    try:
        state = json.loads(text, parse_constant=lambda word: math.nan)
    except (ValueError, RecursionError):
        state = None
    if not isinstance(state, dict):
        raise Refused(0, f"an event's data is {text[:80]!r}; expected a JSON object")
    return state


def match_of(address: tuple[str, int], match_id: str) -> dict[str, Any]:
    """The match as the server tells it; empty where a server does not. Raises `ProtocolError` if there is no server."""
    server = _Connection(address, "", "")
    try:
        with server.request("GET", f"/matches/{urllib.parse.quote(match_id)}") as answer:
            found = json.loads(answer.read(MESSAGE_LIMIT))
    except (Refused, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def play(
    address: tuple[str, int],
    agent: Agent,
    match_id: str,
    team: str = "team0",
    user: str = "user",
    password: str = "",
    name: str = "asobiba",
    seed: int = 0,
    noise: tuple[float, float] = NOISE,
) -> str | None:
    """Plays one game on a Digital Curling 4 server as its client.

    Args:
        agent: of `curling`, or of `curling_doubles` where the match is one (`match_of`).
        team: the wanted one; the server may give the other.
        noise: of the players; the server does not tell it.

    Returns:
        The winner, `team0` or `team1`, or `None` for a draw.

    Raises:
        ProtocolError: for what the protocol does not allow.
    """
    match = match_of(address, match_id)
    earlier = earlier_ends({"max_end": match.get("standard_end_count", rules.ENDS)})
    ruleset = ruleset_of(match, noise, earlier)
    warm_up(agent, ruleset, 0, seed)  # before the server waits for us
    server = _Connection(address, user, password)
    player = {"max_velocity": 4.0, "shot_std_dev": noise[0], "angle_std_dev": noise[1]}
    config: dict[str, Any] = {"use_default_config": True, "team_name": name, "match_team_name": team}
    players = (1, 2) if is_doubles(ruleset) else (1, 2, 3, 4)
    config |= {f"player{k}": player | {"player_name": f"{name}-{k}"} for k in players}
    query = urllib.parse.urlencode({"match_id": match_id})
    path = f"/store-team-config?{query}&expected_match_team_name={team}"
    with server.request("POST", path, config) as answer:
        try:
            team = json.loads(answer.read(MESSAGE_LIMIT))
        except ValueError:
            team = ""
    if team not in TEAMS:
        raise ProtocolError(f"the server gave the team {str(team)[:40]!r}; expected team0 or team1")
    warm_up(agent, ruleset, TEAMS.index(team), seed)
    return _Player(server, ruleset, agent, match_id, team, earlier).play()


class _Player:
    """A client's game, after the greeting."""

    def __init__(
        self, server: _Connection, ruleset: Ruleset, agent: Agent, match_id: str, team: str, earlier: int
    ) -> None:
        self._server, self._ruleset, self._agent, self._team, self._earlier = server, ruleset, agent, team, earlier
        self._match = urllib.parse.quote(match_id)
        self._done: tuple[Any, Any] | None = None
        self._placed = -1

    def play(self) -> str | None:
        """Answers what is asked until there is a winner, which is returned, or `None` for a draw."""
        state: dict[str, Any] = {}
        try:
            for state in self._server.events(f"/matches/{self._match}/stream"):
                if state.get("winner_team"):
                    return state["winner_team"]
                if state.get("next_shot_team") == self._team:
                    self._throw(state)
                elif state.get("next_shot_team") is None and is_doubles(self._ruleset):
                    self._place(state)
        except Refused:
            raise
        except ProtocolError:
            if not _is_draw(state, int(self._ruleset.params["ends"][0]) + self._earlier):
                raise
        return None

    def _act(self, state: dict[str, Any]) -> Any:
        return self._agent.act(view_of(self._ruleset, state, self._team, self._earlier), np.zeros(0, np.int8))

    def _throw(self, state: dict[str, Any]) -> None:
        here = state.get("end_number"), state.get("total_shot_number")
        if here == self._done:
            return
        tell_time(self._agent, self._time_left(state))
        # The protocol has no concession: a stone that stops at once.
        shot = shot_of_action(self._ruleset, self._act(state)) or Shot(0.0, 1.0, 1)
        with self._server.request("POST", f"/shots?match_id={self._match}", shot_message(shot)) as answer:
            answer.read()
        self._done = here

    def _place(self, state: dict[str, Any]) -> None:
        end, settings = state.get("end_number"), settings_of(state) or {}
        # The final position of an end looks like the next end before its placement.
        if settings.get("end_setup_team") != self._team or not isinstance(end, int) or end <= self._placed:
            return
        placement = placement_of(self._act(state)[3])
        path = f"/matches/{self._match}/end-setup?match_id={self._match}&request={REQUESTS[placement]}"
        with self._server.request("POST", path) as answer:
            answer.read()
        self._placed = end

    def _time_left(self, state: dict[str, Any]) -> float:
        which = "second_team" if self._team == TEAMS[1] else "first_team"
        extra = (
            ""
            if int(state.get("end_number") or 0) < int(self._ruleset.params["ends"][0]) + self._earlier
            else "_extra_end"
        )
        left = state.get(f"{which}{extra}_remaining_time")
        return float(left) if isinstance(left, (int, float)) and 0 <= left < 1e9 else 0.0


def _is_draw(state: dict[str, Any], ends: int) -> bool:
    """Whether this may be the last state of a game: nobody is to throw after the last end, and the score is level."""
    score = state.get("score") or {}
    level = sum(score.get(TEAMS[0], [0])) == sum(score.get(TEAMS[1], [1]))
    return state.get("next_shot_team") is None and int(state.get("end_number") or 0) >= ends - 1 and level
