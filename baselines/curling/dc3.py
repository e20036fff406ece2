"""The protocol of Digital Curling 3, version 1.0: one JSON object a line, over TCP; a port for each team.

    server: dc {version, game_id, date_time}                          client: dc_ok {name}
    server: is_ready {team, game {rule, setting, simulator, players}}  client: ready_ok {player_order}
    server: new_game {name}
    each shot, to both: update {next_team, state, last_move}          mover: move {shot: velocity, rotation | concede}
    at the end: update with state.game_result, game_over {}

Positions are in the shot frame: the release is (0, 0), the tee (0, 38.405). team0 throws first in the first end.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import math
import socket
import uuid
from datetime import UTC, datetime
from typing import Any

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
from asobiba.core.registry import game as find_game
from asobiba.envs.curling import rules
from asobiba.envs.curling.layout import is_cs2
from asobiba.envs.curling.simulate import Shot, simulate

PORTS = (10000, 10001)
TEAMS = ("team0", "team1")
ROTATIONS = {1: "ccw", -1: "cw"}
_GREETING = 10.0
_FRAME = 0.1
"""s between two frames of a trajectory."""


def read_message(messages: Messages, seconds: float | None, *wanted: str) -> dict[str, Any]:
    """The next message, which must be one of these commands.

    Raises:
        ProtocolError: for anything else; TimeoutError: after `seconds`.
    """
    text = messages.receive(seconds)
    try:
        found = json.loads(text, parse_constant=lambda word: math.nan)
    except (ValueError, RecursionError):
        raise ProtocolError(f"{text[:80]!r} is not JSON") from None
    if not isinstance(found, dict) or found.get("cmd") not in wanted:
        raise ProtocolError(f"{text[:80]!r} came; expected cmd {' or '.join(wanted)}")
    return found


def _setting(ruleset: Ruleset, seconds: float, extra: float) -> dict[str, Any]:
    p = ruleset.params[0]
    return {
        "max_end": int(p["ends"]),
        "sheet_width": 4.75,
        "five_rock_rule": int(p["guarded_shots"]) == 5,
        "thinking_time": dict.fromkeys(TEAMS, seconds),
        "extra_end_thinking_time": dict.fromkeys(TEAMS, extra),
    }


class Dc3Seat(Seat):
    """A client of Digital Curling 3, connected to us.

    Raises:
        ProtocolError: if the client does not answer as it must.
    """

    def __init__(self, connection: socket.socket, team: int, ruleset: Ruleset, seconds: float, extra: float = 0.0):
        self.messages = Messages(connection, b"\n")
        self.send(
            {
                "cmd": "dc",
                "version": {"major": 1, "minor": 0},
                "game_id": str(uuid.uuid4()),
                "date_time": datetime.now(UTC).isoformat(timespec="seconds"),
            }
        )
        name = self._expect("dc_ok").get("name")
        if not isinstance(name, str):
            raise ProtocolError(f"dc_ok has name {str(name)[:80]!r}; expected a text")
        self.name = plain_name(name)
        p = ruleset.params[0]
        player = {
            "type": "normal_dist", "max_speed": float(p["speed_limit"]), "seed": None,
            "stddev_speed": float(p["noise_first"]), "stddev_angle": float(p["noise_second"]),
        }  # fmt: skip
        self.send(
            {
                "cmd": "is_ready",
                "team": TEAMS[team],
                "game": {
                    "rule": "normal",
                    "setting": _setting(ruleset, seconds, extra),
                    "simulator": {"type": "fcv1", "seconds_per_frame": 0.001},
                    "players": {side: [player] * 4 for side in TEAMS},
                },
            }
        )
        order = self._expect("ready_ok").get("player_order")
        if not isinstance(order, list) or sorted(map(str, order)) != ["0", "1", "2", "3"]:
            raise ProtocolError(f"ready_ok has player_order {str(order)[:80]}; expected 0 to 3 in any order")

    def send(self, message: dict[str, Any]) -> None:
        """Sends a message."""
        self.messages.send(json.dumps(message))

    def _expect(self, command: str) -> dict[str, Any]:
        try:
            return read_message(self.messages, _GREETING, command)
        except TimeoutError:
            raise ProtocolError(f"no {command} came within {_GREETING:g} s") from None

    def ask(self, game: HostedGame, seat: int) -> Shot | None:
        return read_move(read_message(self.messages, game.limit(seat), "move"))


def read_move(message: dict[str, Any]) -> Shot | None:
    """The shot of a move message, or `None` for a concession.

    Raises:
        ProtocolError: for another move.
    """
    move = message.get("move")
    if isinstance(move, dict) and move.get("type") == "concede":
        return None
    try:
        if not isinstance(move, dict) or move["type"] != "shot":
            raise TypeError
        velocity, spin = move["velocity"], {"ccw": 1, "cw": -1}[move["rotation"]]
        vx, vy = velocity["x"], velocity["y"]
        if not all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in (vx, vy)):
            raise TypeError
        return Shot(float(vx), float(vy), spin)
    except (GameParameterError, KeyError, TypeError, OverflowError):
        raise ProtocolError(
            f"{json.dumps(move)[:120]} is no move; expected type shot with velocity x, y (m/s, below 1000) and rotation cw or "
            "ccw, or type concede"
        ) from None


def state_message(game: HostedGame) -> dict[str, Any]:
    """The state of a hosted game as `update` has it."""
    s, p = game.state, game.ruleset.params[0]
    ends, release = int(p["ends"]), float(p["release"])
    first = 1 - int(s["hammer"])
    stones: dict[str, list[Any]] = {team: [None] * 8 for team in TEAMS}
    for k in np.flatnonzero(s["in_play"]):
        x, y = s["stones"][k]
        place = {"position": {"x": float(x), "y": float(y) + release}, "angle": 0.0}
        stones[TEAMS[(first + int(k)) % 2]][int(k) // 2] = place
    played = int(s["end"])
    result = None
    if game.over:
        winner = game.record.winner
        reason = game.record.reason if game.record.reason != "protocol_error" else "concede"
        result = {"winner": None if winner is None else TEAMS[winner], "reason": "draw" if winner is None else reason}
    return {
        "end": played,
        "shot": int(s["shot"]),
        "hammer": None if game.over else TEAMS[int(s["hammer"])],
        "stones": stones,
        "scores": {
            team: [int(s["scores"][k, end]) if end < played else None for end in range(ends)]
            for k, team in enumerate(TEAMS)
        },
        "extra_end_score": {team: int(s["extra"][k]) if s["extra"].any() else None for k, team in enumerate(TEAMS)},
        "thinking_time_remaining": {team: max(game.remaining[k], 0.0) for k, team in enumerate(TEAMS)},
        "game_result": result,
    }


def trajectory_message(ruleset: Ruleset, before: np.void, shot: Shot) -> dict[str, Any]:
    """A shot's trajectory: frames a tenth of a second apart, each with what changed (`value` null: out of play)."""
    result = simulate(ruleset, before, shot)
    release, first = float(ruleset.params["release"][0]), 1 - int(before["hammer"])
    places = result.trajectories(np.arange(0.0, result.seconds + _FRAME, _FRAME))

    def stone(place: np.ndarray) -> dict[str, Any] | None:
        if np.isnan(place[0]):
            return None
        return {"position": {"x": float(place[0]), "y": float(place[1]) + release}, "angle": 0.0}

    def sheet(places: np.ndarray) -> dict[str, list[Any]]:
        found: dict[str, list[Any]] = {team: [None] * 8 for team in TEAMS}
        for k in range(16):
            found[TEAMS[(first + k) % 2]][k // 2] = stone(places[k])
        return found

    frames = []
    for old, new in itertools.pairwise(places):
        changed = np.flatnonzero(~((old == new) | (np.isnan(old) & np.isnan(new))).all(axis=1))
        frames.append(
            [{"team": TEAMS[(first + int(k)) % 2], "index": int(k) // 2, "value": stone(new[k])} for k in changed]
        )
    return {"start": sheet(places[0]), "finish": sheet(places[-1]), "seconds_per_frame": _FRAME, "frames": frames}


def _update(game: HostedGame, seats: list[Seat], trajectories: bool, before: np.void | None) -> None:
    last: dict[str, Any] | None = None
    if game.record.note:  # for the clients, a player who ran out of time or broke the protocol has conceded
        last = {"actual_move": {"type": "concede"}, "free_guard_zone_foul": False}
    elif before is not None:
        run = game.record.log.shots[-1].run
        last = {
            "actual_move": {"type": "shot", "velocity": {"x": run.vx, "y": run.vy}, "rotation": ROTATIONS[run.spin]},
            "free_guard_zone_foul": bool(game.state["foul"]),
        }
        if trajectories:
            last["trajectory"] = trajectory_message(game.ruleset, before, run)
    message = {
        "cmd": "update",
        "next_team": None if game.over else TEAMS[int(game.state["to_move"])],
        "state": state_message(game),
        "last_move": last,
    }
    _tell(seats, message)


def _tell(seats: list[Seat], message: dict[str, Any], quietly: bool = False) -> None:
    for number, seat in enumerate(seats):
        if isinstance(seat, Dc3Seat):
            try:
                seat.send(message)
            except ProtocolError as error:
                if not quietly:
                    raise Fault(number, "protocol_error", str(error)) from None


def host(
    ruleset: Ruleset,
    seats: list[Seat],
    seed: int = 0,
    seconds: float | None = None,
    extra_seconds: float = 21.9,
    trajectories: bool = True,
) -> HostedRecord:
    """Plays a game between two seats (`Dc3Seat`, or agents of our own) and returns its record.

    Args:
        ruleset: of `curling` with simulator fcv1.
        seconds: of each player for the game; `None`: the ruleset's; 0: unlimited. extra_seconds: for an extra end.
        trajectories: send the trajectory of every shot.

    Raises:
        GameParameterError: for other rules.
    """
    if is_cs2(ruleset) or ruleset.discrete:
        raise GameParameterError(f"Digital Curling 3 plays curling with simulator 'fcv1', not {ruleset!r}")
    limit = float(ruleset.params["thinking_time"][0]) if seconds is None else seconds
    game = HostedGame(ruleset, seed, limit, extra_seconds, names=(seats[0].name, seats[1].name))
    before: np.void | None = None
    for number, seat in enumerate(seats):
        seat.prepare(game, number)
    try:
        _tell(seats, {"cmd": "new_game", "name": {"team0": seats[0].name, "team1": seats[1].name}})
        while not game.over:
            for number, seat in enumerate(seats):
                if isinstance(seat, Dc3Seat) and seat.messages.pending():
                    raise Fault(number, "protocol_error", f"{game.names[number]} sent a message out of turn")
            _update(game, seats, trajectories, before)
            before = game.state
            game.turn(seats)
    except Fault as fault:
        game.end_by(fault)
    with contextlib.suppress(Fault):  # a disconnected client gets no more messages; the record stands
        _update(game, seats, trajectories, before)
    _tell(seats, {"cmd": "game_over"}, quietly=True)
    for seat in seats:
        if isinstance(seat, Dc3Seat):
            seat.messages.close()
    return game.record


def ruleset_of(setting: dict[str, Any], simulator: dict[str, Any], players: dict[str, Any], team: str) -> Ruleset:
    """The ruleset that an `is_ready` describes.

    Raises:
        ProtocolError: for rules that we do not play.
    """
    try:
        if simulator["type"] != "fcv1" or abs(float(setting["sheet_width"]) - 4.75) > 1e-9:
            raise ProtocolError(
                f"simulator {simulator['type']!r} on a sheet {setting['sheet_width']} m wide is not played here"
            )
        player = players[team][0]
        noise: Any = "none"
        if player.get("type") == "normal_dist":
            noise = (float(player["stddev_speed"]), float(player["stddev_angle"]))
        return find_game("curling").ruleset(
            simulator="fcv1", ends=int(setting["max_end"]) - earlier_ends(setting), noise=noise,
            guarded_shots=5 if setting["five_rock_rule"] else 4,
            thinking_time=float(setting["thinking_time"][team]),
        )  # fmt: skip
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
        raise ProtocolError(f"is_ready cannot be read: {error!r}") from None


def earlier_ends(setting: dict[str, Any]) -> int:
    """Ends that a game has beyond the ten of our boards: `max_end` may be as high as 255.

    They are taken for the board's first end: a player does not tell twelve ends left from ten.
    """
    return max(int(setting["max_end"]) - rules.ENDS, 0)


def _share_of_time(ruleset: Ruleset, state: dict[str, Any], earlier: int) -> float:
    """The share of the time left that belongs to the ends that the player sees."""
    seen = int(ruleset.params["ends"][0])
    left = seen + earlier - int(state["end"])
    return seen / left if left > seen else 1.0


def view_of_state(ruleset: Ruleset, state: dict[str, Any], next_team: str, earlier: int = 0) -> np.void:
    """The view record of an update's state.

    Args:
        earlier: ends that are counted into the board's first one (`earlier_ends`).

    Raises:
        ProtocolError: for a state of another form.
    """
    view = ruleset.zeros()[0]
    view["conceded"] = -1
    release = float(ruleset.params["release"][0])
    try:
        view["end"], view["shot"] = max(int(state["end"]) - earlier, 0), int(state["shot"])
        view["to_move"] = TEAMS.index(next_team)
        view["hammer"] = TEAMS.index(state["hammer"]) if state["hammer"] else 1
        first = 1 - int(view["hammer"])
        for side, team in enumerate(TEAMS):
            for n, stone in enumerate(state["stones"][team]):
                if stone is not None:
                    k = 2 * n + (0 if side == first else 1)
                    place = stone["position"]
                    view["stones"][k] = float(place["x"]), float(place["y"]) - release
                    view["in_play"][k] = 1
            for end, points in enumerate(state["scores"][team][: view["scores"].shape[1] + earlier]):
                view["scores"][side, max(end - earlier, 0)] += points or 0
            view["extra"][side] = (state["extra_end_score"] or {}).get(team) or 0
            view["total"][side] = view["scores"][side].sum() + view["extra"][side]
    except (KeyError, TypeError, ValueError, IndexError, OverflowError, AttributeError) as error:
        raise ProtocolError(f"the state of an update cannot be read: {error!r}") from None
    if not 0 <= int(view["shot"]) <= 15 or not np.isfinite(view["stones"]).all():
        raise ProtocolError(f"the state of an update makes no sense: shot {int(view['shot'])}")
    return view


def _time_left(state: dict[str, Any], team: str) -> float:
    try:
        seconds = float(state["thinking_time_remaining"][team])
    except (KeyError, TypeError, ValueError):
        seconds = math.nan
    if not 0.0 <= seconds < 1e9:
        raise ProtocolError("the state of an update has no thinking_time_remaining")
    return seconds


def play(address: tuple[str, int], agent: Agent, name: str = "asobiba", seed: int = 0) -> str | None:
    """Plays one game on a Digital Curling 3 server as its client.

    Returns:
        The winner, `team0` or `team1`, or `None` for a draw.

    Raises:
        ProtocolError: for what the protocol does not allow, or rules that we do not play.
    """
    warm_up(agent, find_game("curling").ruleset(simulator="fcv1"), 0, seed)  # before the server waits for us
    messages = Messages(socket.create_connection(address, timeout=10.0), b"\n")
    try:
        version = read_message(messages, _GREETING, "dc").get("version", {})
        if not isinstance(version, dict) or version.get("major") != 1:
            raise ProtocolError(f"the server speaks version {version}; expected 1.x")
        messages.send(json.dumps({"cmd": "dc_ok", "name": name}))
        ready = read_message(messages, None, "is_ready")
        team, game = ready.get("team"), ready.get("game")
        if team not in TEAMS or not isinstance(game, dict):
            raise ProtocolError(f"is_ready has team {team!r}")
        ruleset = ruleset_of(game.get("setting", {}), game.get("simulator", {}), game.get("players", {}), team)
        earlier = earlier_ends(game["setting"])
        warm_up(agent, ruleset, TEAMS.index(team), seed)  # ready is who has loaded everything for these rules
        messages.send(json.dumps({"cmd": "ready_ok", "player_order": [0, 1, 2, 3]}))
        winner: str | None = None
        while True:
            message = read_message(messages, None, "new_game", "update", "game_over")
            if message["cmd"] == "game_over":
                return winner
            if message["cmd"] == "new_game":
                continue
            state = message.get("state")
            if not isinstance(state, dict):
                raise ProtocolError("an update has no state")
            if state.get("game_result") is not None:
                winner = state["game_result"].get("winner")
            if message.get("next_team") != team:
                continue
            view = view_of_state(ruleset, state, team, earlier)
            tell_time(agent, _time_left(state, team) * _share_of_time(ruleset, state, earlier))
            shot = shot_of_action(ruleset, agent.act(view, np.zeros(0, np.int8)))
            move: dict[str, Any] = {"type": "concede"}
            if shot is not None:
                move = {"type": "shot", "velocity": {"x": shot.vx, "y": shot.vy}, "rotation": ROTATIONS[shot.spin]}
            messages.send(json.dumps({"cmd": "move", "move": move}))
    finally:
        messages.close()


def listen(ports: tuple[int, int] = PORTS, address: str = "127.0.0.1") -> tuple[socket.socket, socket.socket]:
    """Two listening sockets, team0's and team1's. Raises `GameParameterError` for a port that cannot be had."""
    found = []
    for port in ports:
        try:
            found.append(socket.create_server((address, port)))
        except OSError as error:
            for other in found:
                other.close()
            raise GameParameterError(f"port {port} cannot be listened on: {error}") from None
    return found[0], found[1]
