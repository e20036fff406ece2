"""Messages of Digital Curling 4: matches, states, shots and placements, both ways.

Names and values are those of the server (github.com/digitalcurling/DigitalCurling4-Server). Positions are in the shot frame, as
in Digital Curling 3; a stone that is not in play is at (0, 0). In a request a positive angular velocity is clockwise; in
`last_move`, which tells of the shot as thrown, it is counter-clockwise. `total_shot_number` counts the shots of the end.

After the last shot of an end the server tells its final position, with nobody to throw, then the beginning of the next
end. In mixed doubles nobody is to throw there either, and `total_shot_number` is null in both: `end_setup_team` is to post
an end-setup. A team has six stones there, the positioned one first.
"""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from asobiba.baselines.curling.dc3 import TEAMS, view_of_state
from asobiba.baselines.curling.hosting import HostedGame, ProtocolError
from asobiba.core import GameParameterError, Ruleset
from asobiba.core.registry import game as find_game
from asobiba.envs.curling import rules
from asobiba.envs.curling.doubles import rules as doubles
from asobiba.envs.curling.simulate import Shot

STANDARD, MIXED_DOUBLES = "standard", "mixed_doubles"
REQUESTS = ("center_guard", "center_house", "pp_left", "pp_right")
"""The server's words for `doubles.PLACEMENTS`."""
FGZ_RULE, NO_TICK_RULE, MODIFIED_FGZ_RULE = range(3)
"""The server's codes of the rules that protect stones (`applied_rule`)."""
_RULES = {rules.REMOVAL: FGZ_RULE, rules.NO_TICK: NO_TICK_RULE, rules.EVERY_STONE: MODIFIED_FGZ_RULE}
_GUARDS = {FGZ_RULE: "removal", NO_TICK_RULE: "no_tick"}
_SPIN = math.pi / 2
"""rad/s of every shot."""


class Refused(ProtocolError):
    """A request that is answered with an error; `status`: of HTTP."""

    def __init__(self, status: int, text: str):
        super().__init__(text)
        self.status = status


def is_doubles(ruleset: Ruleset) -> bool:
    """Whether a ruleset is one of mixed doubles."""
    return ruleset.game.rules is doubles


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
    """A shot as /shots takes it."""
    return {
        "translational_velocity": math.hypot(shot.vx, shot.vy),
        "angular_velocity": -_SPIN * shot.spin,
        "shot_angle": math.atan2(shot.vy, shot.vx),
    }


def match_message(match_id: str, ruleset: Ruleset, seconds: float, extra_seconds: float) -> dict[str, Any]:
    """A match as GET /matches/MATCH_ID tells it; of the server's fields those that a player can use."""
    p, settings = ruleset.params[0], None
    if is_doubles(ruleset):
        settings = {"positioned_stones_pattern": int(ruleset.parameters["pattern"])}
    return {
        "match_id": match_id,
        "game_mode": MIXED_DOUBLES if settings else STANDARD,
        "applied_rule": _RULES[int(p["guard_rule"])],
        "standard_end_count": int(p["ends"]),
        "time_limit": seconds,
        "extra_end_time_limit": extra_seconds,
        "simulator": {"simulator_name": "fcv1"},
        "mixed_doubles_settings": settings,
    }


def _sheet(game: HostedGame, stones: np.ndarray, in_play: np.ndarray, first: int) -> dict[str, list[dict[str, float]]]:
    begin, count = (doubles.POSITIONED, doubles.STONES_EACH) if is_doubles(game.ruleset) else (0, rules.STONES_EACH)
    release = float(game.ruleset.params["release"][0])
    found = {team: [{"x": 0.0, "y": 0.0} for _ in range(count)] for team in TEAMS}
    for k in map(int, np.flatnonzero(in_play)):
        place = {"x": float(stones[k, 0]), "y": float(stones[k, 1]) + release}
        found[TEAMS[(first + k) % 2]][(k - begin) // 2] = place
    return found


def _scores(game: HostedGame) -> dict[str, list[int]]:
    """A column for each end, and one for extra ends."""
    s, ends = game.state, int(game.ruleset.params["ends"][0])
    return {team: [*map(int, s["scores"][k, :ends]), int(s["extra"][k])] for k, team in enumerate(TEAMS)}


def _settings(game: HostedGame, decider: int) -> dict[str, Any] | None:
    if not is_doubles(game.ruleset):
        return None
    used = [int(end) for end in game.state["power_end"]]
    return {
        "end_setup_team": TEAMS[decider],
        "positioned_stones_pattern": int(game.ruleset.parameters["pattern"]),
        "power_play_end": {team: used[k] if used[k] >= 0 else None for k, team in enumerate(TEAMS)},
    }


def state_message(game: HostedGame, ended: np.void | None = None) -> dict[str, Any]:
    """The state of a hosted game as an event has it.

    Args:
        ended: the state before the last shot of an end: tells the end's final position instead of the next end.
    """
    s, played = game.state, game.record.log.shots
    now = s if ended is None else ended
    prefix = "" if ended is None else "last_"
    begin = doubles.FIRST_SHOT if is_doubles(game.ruleset) else 0
    shot: int | None = int(s["shot"]) - begin if ended is None else 16 - begin
    if begin and (ended is not None or int(s["shot"]) == 0):
        shot = None
    extra = int(now["end"]) >= int(game.ruleset.params["ends"][0])
    left = [max(seconds, 0.0) for seconds in game.remaining]
    nobody = game.over or ended is not None or shot is None
    last_move = None
    if played:
        last_move = shot_message(played[-1].run)
        last_move["angular_velocity"] *= -1.0
    winner = game.record.winner if game.over else None
    settings, half = _settings(game, int(now["decider"]) if begin else 0), None if shot is None else shot // 2
    return {
        "winner_team": None if winner is None else TEAMS[winner],
        "first_team_name": game.names[0],
        "second_team_name": game.names[1],
        "end_number": int(now["end"]),
        "team_shot_number": half,
        "total_shot_number": shot,
        "next_shot_team": None if nobody else TEAMS[int(s["to_move"])],
        "first_team_remaining_time": left[0],
        "second_team_remaining_time": left[1],
        "first_team_extra_end_remaining_time": left[0] if extra else game.extra_seconds,
        "second_team_extra_end_remaining_time": left[1] if extra else game.extra_seconds,
        "mixed_doubles_settings": settings,
        "last_move": last_move,
        "stone_coordinate": {"data": _sheet(game, s[prefix + "stones"], s[prefix + "in_play"], 1 - int(now["hammer"]))},
        "score": _scores(game),
        # Earlier versions of the server, and clients of their time, have these names.
        "shot_number": half,
        "mix_doubles_settings": settings,
    }


def settings_of(state: dict[str, Any]) -> dict[str, Any] | None:
    """The settings of mixed doubles in a state; `None`: there are none."""
    found = state.get("mixed_doubles_settings") or state.get("mix_doubles_settings")
    return found if isinstance(found, dict) else None


def ruleset_of(match: dict[str, Any], noise: tuple[float, float], earlier: int = 0) -> Ruleset:
    """The ruleset of a match as the server tells it. Raises `ProtocolError` for rules that we do not play.

    Args:
        earlier: ends that are counted into the board's first one (`dc3.earlier_ends`).
    """
    try:
        ends = int(match.get("standard_end_count", rules.ENDS)) - earlier
        simulator = (match.get("simulator") or {}).get("simulator_name", "fcv1")
        if simulator != "fcv1":
            raise ProtocolError(f"simulator {simulator!r} is not played here, only 'fcv1'")
        if is_doubles_match(match):
            pattern = int((settings_of(match) or {}).get("positioned_stones_pattern", 0))
            return find_game("curling_doubles").ruleset(noise=noise, ends=ends, pattern=pattern)
        guards = _GUARDS[match.get("applied_rule", FGZ_RULE)]
        return find_game("curling").ruleset(simulator="fcv1", noise=noise, ends=ends, guards=guards)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ProtocolError(f"the match cannot be read: {error!r}") from None


def is_doubles_match(match: dict[str, Any]) -> bool:
    """Whether a match as the server tells it is one of mixed doubles."""
    return match.get("game_mode") in (MIXED_DOUBLES, "mix_doubles")


def view_of(ruleset: Ruleset, state: dict[str, Any], team: str, earlier: int = 0) -> np.void:
    """The view record of an event's state, for the team that is to throw or to place. Raises `ProtocolError` for a state of
    another form.
    """
    try:
        shot = int(state["total_shot_number"] or 0)
        first = TEAMS.index(team) if shot % 2 == 0 else 1 - TEAMS.index(team)
        ends = int(ruleset.params["ends"][0]) + earlier
        stones: dict[str, list[Any]] = {name: [] for name in TEAMS}
        before = [None] * (doubles.POSITIONED // 2) if is_doubles(ruleset) else []
        if state["stone_coordinate"]:
            stones = {
                name: [*before, *({"position": at} if (at["x"], at["y"]) != (0.0, 0.0) else None for at in places)]
                for name, places in state["stone_coordinate"]["data"].items()
            }
        scores = state["score"] or {name: [] for name in TEAMS}
        if is_doubles(ruleset):
            shot = 0 if state["total_shot_number"] is None else shot + doubles.FIRST_SHOT
        like = {
            "end": state["end_number"], "shot": shot, "hammer": TEAMS[1 - first], "stones": stones,
            "scores": {name: scores[name][:ends] for name in TEAMS},
            "extra_end_score": {name: sum(scores[name][ends:]) for name in TEAMS},
        }  # fmt: skip
        view = view_of_state(ruleset, like, team, earlier)
        if is_doubles(ruleset):
            settings = settings_of(state) or {}
            view["decider"] = TEAMS.index(settings["end_setup_team"])
            for side, name in enumerate(TEAMS):
                used = settings["power_play_end"][name]
                view["power_end"][side] = -1 if used is None else max(int(used) - earlier, 0)
        return view
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise ProtocolError(f"an event's state cannot be read: {error!r}") from None
