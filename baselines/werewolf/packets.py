"""Packets that the platform sends a player, made from a view of the game, and the game log.

`game_info` and `game_setting` have the keys of the chosen generation of the platform; a view holds exactly what its seat
is told, so nothing is looked up elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from asobiba.core import Ruleset
from asobiba.envs.werewolf.layout import BODYGUARD, MEDIUM, ROLES, SEER, SPECIES, VILLAGES, WEREWOLF

OLD_KEYS = (
    "day", "agent", "mediumResult", "divineResult", "executedAgent", "attackedAgent", "guardedAgent", "voteList",
    "attackVoteList", "talkList", "whisperList", "statusMap", "roleMap",
)  # fmt: skip
"""The keys of the game information of 2016."""


def is_contest(ruleset: Ruleset) -> bool:
    """Whether the rules are those of the contests since 2020."""
    return bool(ruleset.params["contest"][0])


def _agent(number: Any) -> int:
    return int(number) if int(number) > 0 else -1


def _judge(day: int, agent: int, target: Any, result: Any) -> dict[str, Any] | None:
    if not int(target):
        return None
    return {"day": day, "agent": agent, "target": int(target), "result": SPECIES[int(result) - 1]}


def _votes(day: int, rows: np.ndarray) -> list[dict[str, int]]:
    return [{"day": day, "agent": k + 1, "target": int(target)} for k, target in enumerate(rows) if target]


def _last_votes(day: int, ballots: np.ndarray) -> list[dict[str, int]]:
    # Everybody alive votes in every ballot: an empty one was not held.
    return _votes(day, ballots[1] if ballots[1].any() else ballots[0])


def _died_before(view: np.void, day: int, night: bool) -> np.ndarray:
    """The dead at the beginning of a day, or (`night`) after its execution. Players from 1; entry 0 is nobody."""
    dead = np.zeros(len(view["left"]) + 1, bool)
    dead[view["executed"][: day + night]] = True
    dead[view["victim"][:day]] = True
    return dead


def _attacked_again(ruleset: Ruleset, view: np.void, day: int) -> bool:
    # Whether the wolves' first ballot of a night that is over was tied, so that another was held.
    if not ruleset.params["revotes"][0] or not view["executed"][day]:
        return False
    dead = _died_before(view, day, night=True)
    named = np.bincount(view["attack_votes"][day, 0], minlength=len(dead))
    counts = [
        1 + int(named[k + 1]) for k in range(ruleset.num_players) if view["role"][k] != WEREWOLF and not dead[k + 1]
    ]
    return counts.count(max(counts)) > 1


def _attack_votes(ruleset: Ruleset, view: np.void, day: int) -> list[dict[str, int]]:
    # The ballots that counted in a night that is over: 2016 takes back those of a wolf who was executed that day.
    found = _votes(day, view["attack_votes"][day, int(_attacked_again(ruleset, view, day))])
    wolves = [k for k in range(ruleset.num_players) if view["role"][k] == WEREWOLF]
    if all(view["left"][k] for k in wolves):
        return found  # there was no attack
    return [vote for vote in found if vote["agent"] != int(view["executed"][day])]


def status_map(ruleset: Ruleset, view: np.void) -> dict[str, str]:
    """`{"1": "ALIVE", ...}`."""
    return {str(k + 1): "DEAD" if view["left"][k] else "ALIVE" for k in range(ruleset.num_players)}


def game_info(
    ruleset: Ruleset,
    view: np.void,
    seat: int,
    talk: Sequence[Mapping[str, Any]] = (),
    whispers: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """The game information that the platform sends to a seat, from its view and the day's utterances."""
    contest, players = is_contest(ruleset), ruleset.num_players
    day, me, over = int(view["day"]), seat + 1, bool(view["terminated"])
    role, last = int(view["role"][seat]), int(view["day"]) - 1
    wolf = role == WEREWOLF
    past, now = last >= 0, day < len(view["executed"])
    shown = view["attack"] if contest else view["victim"]
    present = ~_died_before(view, day, night=False)[1:]
    info: dict[str, Any] = {
        "day": day,
        "agent": me,
        "mediumResult": _judge(day, me, view["executed"][last], view["medium_result"][last])
        if past and role == MEDIUM
        else None,
        "divineResult": _judge(day, me, view["divine"][last], view["divine_result"][last])
        if past and role == SEER
        else None,
        "executedAgent": _agent(view["executed"][last]) if past else -1,
        "latestExecutedAgent": _agent(view["executed"][day]) if now else -1,
        "attackedAgent": _agent(shown[last]) if past and (wolf or not contest) else -1,
        "cursedFox": -1,
        "guardedAgent": _agent(view["guard"][last]) if past and role == BODYGUARD else -1,
        "voteList": _last_votes(last, view["votes"][last]) if past else [],
        "latestVoteList": _last_votes(day, view["votes"][day]) if contest and now else [],
        "attackVoteList": _attack_votes(ruleset, view, last) if past and wolf else [],
        "latestAttackVoteList": _votes(day, view["attack_votes"][day, 0]) if contest and wolf and now else [],
        "talkList": list(talk),
        "whisperList": list(whispers) if wolf else [],
        "statusMap": status_map(ruleset, view),
        "roleMap": {
            str(k + 1): ROLES[int(view["role"][k]) - 1]
            for k in range(players)
            if view["role"][k] and (over or k == seat or (wolf and view["role"][k] == WEREWOLF))
        },
        "remainTalkMap": {str(k + 1): int(view["remaining"][k]) for k in range(players) if present[k]},
        "remainWhisperMap": {
            str(k + 1): int(view["whisper_remaining"][k])
            for k in range(players)
            if wolf and view["role"][k] == WEREWOLF and present[k]
        },
        "lastDeadAgentList": [int(view["victim"][last])] if past and view["victim"][last] else [],
        "existingRoleList": sorted(name for name, n in zip(ROLES, VILLAGES[players], strict=True) if n),
    }
    return info if contest else {key: info[key] for key in OLD_KEYS}


def game_setting(ruleset: Ruleset, reply_seconds: float) -> dict[str, Any]:
    """The game settings as the platform sends them; but the seed, which deals the roles, is not told."""
    p, players = ruleset.params[0], ruleset.num_players
    roles = dict(zip(ROLES, VILLAGES[players], strict=True))
    others = ("FREEMASON", "FOX", "ANY") if is_contest(ruleset) else ("FREEMASON",)
    numbers = {name: roles.get(name, 0) for name in sorted((*ROLES, *others))}
    if not is_contest(ruleset):
        return {
            "roleNumMap": numbers,
            "maxTalk": int(p["max_talk"]),
            "enableNoAttack": False,
            "voteVisible": True,
            "votableInFirstDay": False,
            "randomSeed": 0,
            "playerNum": players,
        }
    return {
        "enableNoAttack": False,
        "enableNoExecution": False,
        "enableRoleRequest": False,
        "maxAttackRevote": int(p["revotes"]),
        "maxRevote": int(p["revotes"]),
        "maxSkip": int(p["max_skip"]),
        "maxTalk": int(p["max_talk"]),
        "maxTalkTurn": int(p["max_turns"]),
        "maxWhisper": int(p["max_whisper"]),
        "maxWhisperTurn": int(p["max_whisper_rounds"]),
        "playerNum": players,
        "randomSeed": 0,
        "roleNumMap": numbers,
        "talkOnFirstDay": False,
        "timeLimit": round(1000 * reply_seconds),
        "validateUtterance": True,
        "votableInFirstDay": False,
        "voteVisible": True,
        "whisperBeforeRevote": False,
    }


class GameLog:
    """The platform's game log: lines of comma-separated values, in the order in which its engine writes them."""

    def __init__(self, ruleset: Ruleset, names: Sequence[str]):
        self._ruleset, self._names, self._contest = ruleset, tuple(names), is_contest(ruleset)
        self._night = 0
        self.lines: list[str] = []

    def status(self, state: np.void) -> None:
        """Everybody's role, fate and name, as a day begins."""
        for k, name in enumerate(self._names):
            fate = "DEAD" if state["left"][k] else "ALIVE"
            self._add(int(state["day"]), "status", k + 1, ROLES[int(state["role"][k]) - 1], fate, name)

    def utterance(self, kind: str, said: Mapping[str, Any]) -> None:
        """A line of talk or of whispers (`kind`)."""
        turn = (said["turn"],) if self._contest else ()
        text = said["text"] if self._contest else said["content"]
        self._add(said["day"], kind, said["idx"], *turn, said["agent"], text)

    def votes(self, state: np.void, day: int, ballot: int) -> None:
        """A ballot of the village, as soon as it is given."""
        for row in _votes(day, state["votes"][day, ballot]):
            self._add(day, "vote", row["agent"], row["target"])

    def execution(self, state: np.void, day: int) -> None:
        """The executed player."""
        gone = int(state["executed"][day])
        self._add(day, "execute", gone, ROLES[int(state["role"][gone - 1]) - 1])
        self._night = len(self.lines)

    def night(self, state: np.void, day: int, ballot: int, divined: int, guarded: int) -> None:
        """The choices of seer, bodyguard and wolves at night; in a second ballot of the wolves, theirs alone.

        The contest engine asks the seer before the wolves whisper, this game after it.
        """
        roles = state["role"]
        if divined:
            seer = int(np.flatnonzero(roles == SEER)[0]) + 1
            result = SPECIES[int(roles[divined - 1] == WEREWOLF)]
            at = self._night if self._contest and day > 0 else len(self.lines)
            self._add(day, "divine", seer, divined, result, at=at)
        if guarded:
            bodyguard = int(np.flatnonzero(roles == BODYGUARD)[0]) + 1
            self._add(day, "guard", bodyguard, guarded, ROLES[int(roles[guarded - 1]) - 1])
        for row in _votes(day, state["attack_votes"][day, ballot]):
            self._add(day, "attackVote", row["agent"], row["target"])

    def attack(self, state: np.void, day: int) -> None:
        """The player that the wolves attacked, and whether he died. Nothing on day 0 and after the last wolf's execution."""
        players = len(self._names)
        if day > 0 and (~state["left"][:players].astype(bool) & (state["role"][:players] == WEREWOLF)).any():
            self._add(day, "attack", _agent(state["attack"][day]), str(bool(state["victim"][day])).lower())

    def result(self, state: np.void) -> None:
        """The living humans and wolves, and who won."""
        alive = state["left"][: len(self._names)] == 0
        wolf = state["role"][: len(self._names)] == WEREWOLF
        wolves = int((alive & wolf).sum())
        self._add(int(state["day"]), "result", int(alive.sum()) - wolves, wolves, "WEREWOLF" if wolves else "VILLAGER")

    def _add(self, *values: Any, at: int | None = None) -> None:
        line = ",".join(str(value).replace("\n", " ") for value in values)
        self.lines.insert(len(self.lines) if at is None else at, line)
