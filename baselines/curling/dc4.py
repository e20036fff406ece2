"""The protocol of Digital Curling 4: HTTP with Basic authentication, and a stream of server-sent events.

    POST /store-team-config?match_id=&expected_match_team_name=  {team_name, player1, ...}    -> "team0" or "team1"
    GET  /matches/MATCH_ID/stream                               events state_update, latest_state_update
    POST /shots?match_id=  {translational_velocity, angular_velocity, shot_angle}

The messages are those of the organisers' clients (github.com/digitalcurling: DigitalCurling4-Python, whose
DegitalCurlingIO.md describes them, and DigitalCurling-Client-Cpp). A client acts on `latest_state_update`;
`state_update` tells one that comes later what it has missed. team0 throws first in the first end. Positions are in the
shot frame, as in Digital Curling 3; a stone that is not in play is at (0, 0). A positive angular velocity is
clockwise. `total_shot_number` counts the shots of the end, `shot_number` half of them.
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

from asobiba.baselines.curling.dc3 import TEAMS, view_of_state
from asobiba.baselines.curling.dc3 import state_message as dc3_state
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
from asobiba.core.registry import game as find_game
from asobiba.envs.curling import rules
from asobiba.envs.curling.layout import is_cs2
from asobiba.envs.curling.simulate import Shot

PORT = 5000
NOISE = (0.0076, 0.0018)
"""Standard deviations of speed (m/s) and angle (rad) of the organisers' standard player."""
_SPIN = math.pi / 2
"""rad/s of every shot."""
_REQUEST = 10.0
"""s within which a request must have come."""
_ALIVE = 5.0
"""s between two comments on a silent stream: the organisers' client gives up after 15."""
_ABSENCE = 60.0
"""s that a player without a stream is waited for."""
_TRIES = 5


class Refused(ProtocolError):
    """A request that is answered with an error; `status`: of HTTP."""

    def __init__(self, status: int, text: str):
        super().__init__(text)
        self.status = status


class Dc4Seat(Seat):
    """A client of Digital Curling 4 at our host. Its requests come on the server's threads."""

    def __init__(self, name: str, credentials: str):
        self.name, self.credentials = name, credentials
        self.streams, self.asked = 0, False
        self.shots: queue.Queue[Shot] = queue.Queue(1)

    def ask(self, game: HostedGame, seat: int) -> Shot | None:
        limit = game.limit(seat)
        begin = present = time.monotonic()
        self.asked = True
        try:
            while True:
                try:
                    return self.shots.get(timeout=0.1)
                except queue.Empty:
                    now = time.monotonic()
                    if limit is not None and now - begin >= limit:
                        raise TimeoutError from None
                    present = now if self.streams else present
                    if now - present >= _ABSENCE:
                        raise ProtocolError(f"no stream for {_ABSENCE:g} s") from None
        finally:
            self.asked = False


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
                raise Refused(400, "both teams are taken")
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
        self._answer(self._stream)

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
        # The organisers' Python client writes the id of its requests as a whole number.
        if query.get("match_id") not in (self.match.match_id, str(uuid.UUID(self.match.match_id).int)):
            raise Refused(404, "no such match")
        if path == "/store-team-config":
            return self.match.admit(credentials, query.get("expected_match_team_name", ""), self._body())
        if path != "/shots":
            raise Refused(404, f"nothing is posted to {path[:80]!r}")
        seat, shot = self.match.seat_of(credentials), read_shot(self._body())
        with self.match.change:
            if not seat.asked:
                raise Refused(409, f"it is not the turn of {seat.name}")
            seat.asked = False
            seat.shots.put(shot)
        return {"status": "ok"}

    def _stream(self, path: str, query: dict[str, str]) -> None:
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


def read_shot(message: Any) -> Shot:
    """The shot of a POST to /shots. Raises `Refused` for anything else."""
    try:
        speed, turn, angle = (message[name] for name in ("translational_velocity", "angular_velocity", "shot_angle"))
        if not all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in (speed, turn, angle)) or turn == 0:
            raise TypeError
        return Shot(speed * math.cos(angle), speed * math.sin(angle), -1 if turn > 0 else 1)
    except (GameParameterError, KeyError, TypeError, ValueError, OverflowError):
        raise Refused(
            422,
            f"{json.dumps(message)[:120]} is not a shot; expected translational_velocity (m/s, below 1000), angular_velocity "
            "(rad/s, positive: clockwise, not 0) and shot_angle (rad, pi / 2: straight ahead)",
        ) from None


def shot_message(shot: Shot) -> dict[str, float]:
    """A shot as /shots takes it and `last_move` tells it."""
    return {
        "translational_velocity": math.hypot(shot.vx, shot.vy),
        "angular_velocity": -_SPIN * shot.spin,
        "shot_angle": math.atan2(shot.vy, shot.vx),
    }


def state_message(game: HostedGame) -> dict[str, Any]:
    """The state of a hosted game as an event has it."""
    state, shot = dc3_state(game), int(game.state["shot"])
    ends = int(game.ruleset.params["ends"][0])
    played = game.record.log.shots
    result = state["game_result"]
    left = [max(seconds, 0.0) for seconds in game.remaining]
    extra = int(game.state["end"]) >= ends
    scores = {team: [points or 0 for points in state["scores"][team]] for team in TEAMS}
    if extra:
        scores = {team: [*scores[team], int(game.state["extra"][k])] for k, team in enumerate(TEAMS)}
    stones = {
        team: [stone["position"] if stone else {"x": 0.0, "y": 0.0} for stone in state["stones"][team]]
        for team in TEAMS
    }
    return {
        "winner_team": None if result is None else result["winner"],
        "end_number": int(game.state["end"]),
        "shot_number": shot // 2,
        "total_shot_number": shot,
        "next_shot_team": None if game.over else TEAMS[int(game.state["to_move"])],
        "first_team_remaining_time": left[0],
        "second_team_remaining_time": left[1],
        "first_team_extra_end_remaining_time": left[0] if extra else game.extra_seconds,
        "second_team_extra_end_remaining_time": left[1] if extra else game.extra_seconds,
        "mix_doubles_settings": None,
        "last_move": shot_message(played[-1].run) if played else None,
        "stone_coordinate": {"data": stones},
        "score": scores,
    }


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
        ruleset: of `curling` with simulator fcv1.
        agent: of our own, in the seat that a single client leaves free.
        seconds: of each player for the game; `None`: the ruleset's; 0: unlimited. extra_seconds: for an extra end.

    Raises:
        GameParameterError: for other rules.
    """
    if is_cs2(ruleset) or ruleset.discrete:
        raise GameParameterError(f"Digital Curling 4 plays curling with simulator 'fcv1', not {ruleset!r}")
    found: dict[int, Seat] = dict(server.wait())
    if agent is not None:
        found[1 - next(iter(found))] = agent
    seats = [found[0], found[1]]
    limit = float(ruleset.params["thinking_time"][0]) if seconds is None else seconds
    game = HostedGame(ruleset, seed, limit, extra_seconds, names=(seats[0].name, seats[1].name))
    for number, seat in enumerate(seats):
        seat.prepare(game, number)
    while not game.over:
        server.publish(state_message(game))
        game.turn(seats)
    server.publish(state_message(game), over=True)
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


def view_of(ruleset: Ruleset, state: dict[str, Any], team: str, earlier: int = 0) -> np.void:
    """The view record of an event's state. Raises `ProtocolError` for a state of another form."""
    try:
        shot = int(state["total_shot_number"] or 0)
        first = TEAMS.index(team) if shot % 2 == 0 else 1 - TEAMS.index(team)
        ends = int(ruleset.params["ends"][0]) + earlier
        stones: dict[str, list[Any]] = {name: [] for name in TEAMS}
        if state["stone_coordinate"]:
            stones = {
                name: [{"position": at} if (at["x"], at["y"]) != (0.0, 0.0) else None for at in places]
                for name, places in state["stone_coordinate"]["data"].items()
            }
        scores = state["score"] or {name: [] for name in TEAMS}
        like = {
            "end": state["end_number"], "shot": shot, "hammer": TEAMS[1 - first], "stones": stones,
            "scores": {name: scores[name][:ends] for name in TEAMS},
            "extra_end_score": {name: sum(scores[name][ends:]) for name in TEAMS},
        }  # fmt: skip
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ProtocolError(f"an event's state cannot be read: {error!r}") from None
    return view_of_state(ruleset, like, team, earlier)


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
        team: the wanted one; the server may give the other.
        noise: of the players; the server does not tell it.

    Returns:
        The winner, `team0` or `team1`, or `None` for a draw.

    Raises:
        ProtocolError: for what the protocol does not allow.
    """
    ruleset = find_game("curling").ruleset(simulator="fcv1", noise=noise)
    warm_up(agent, ruleset, 0, seed)  # before the server waits for us
    server = _Connection(address, user, password)
    player = {"max_velocity": 4.0, "shot_std_dev": noise[0], "angle_std_dev": noise[1]}
    config: dict[str, Any] = {"use_default_config": True, "team_name": name, "match_team_name": team}
    config |= {f"player{k}": player | {"player_name": f"{name}-{k}"} for k in (1, 2, 3, 4)}
    query = urllib.parse.urlencode({"match_id": match_id})
    path = f"/store-team-config?{query}&expected_match_team_name={team}"
    with server.request("POST", path, config) as answer:
        try:
            team = json.loads(answer.read(MESSAGE_LIMIT))
        except ValueError:
            team = ""
    if team not in TEAMS:
        raise ProtocolError(f"the server gave the team {str(team)[:40]!r}; expected team0 or team1")
    number, earlier, begun, thrown = TEAMS.index(team), 0, False, None
    for state in server.events(f"/matches/{urllib.parse.quote(match_id)}/stream"):
        if state.get("winner_team") or (state.get("next_shot_team") is None and thrown is not None):
            return state.get("winner_team")
        if not begun:
            ends = len((state.get("score") or {}).get(team, [])) or rules.ENDS
            earlier = max(ends - rules.ENDS, 0)
            ruleset = find_game("curling").ruleset(simulator="fcv1", noise=noise, ends=ends - earlier)
            warm_up(agent, ruleset, number, seed)
            begun = True
        here = state.get("end_number"), state.get("total_shot_number")
        if state.get("next_shot_team") != team or here == thrown:
            continue
        left = state.get("second_team_remaining_time" if number else "first_team_remaining_time")
        tell_time(agent, float(left) if isinstance(left, (int, float)) and 0 <= left < 1e9 else 0.0)
        shot = shot_of_action(ruleset, agent.act(view_of(ruleset, state, team, earlier), np.zeros(0, np.int8)))
        shot = shot or Shot(0.0, 1.0, 1)  # the protocol has no concession: a stone that stops at once
        with server.request("POST", f"/shots?{query}", shot_message(shot)) as answer:
            answer.read()
        thrown = here
    return None
