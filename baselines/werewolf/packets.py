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
    if day < 0 or not int(target):
        return None
    return {"day": day, "agent": agent, "target": int(target), "result": SPECIES[int(result) - 1]}


def _votes(day: int, ballots: np.ndarray) -> list[dict[str, int]]:
    rows = ballots[1] if ballots[1].any() else ballots[0]
    return [{"day": day, "agent": k + 1, "target": int(target)} for k, target in enumerate(rows) if target]


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
    past = last >= 0
    shown = view["attack"] if contest else view["victim"]
    dead = [int(x) for x in (view["victim"][last],) if past and x]
    today = day if day < len(view["executed"]) else last
    info: dict[str, Any] = {
        "day": day,
        "agent": me,
        "mediumResult": _judge(last, me, view["executed"][last], view["medium_result"][last])
        if role == MEDIUM
        else None,
        "divineResult": _judge(last, me, view["divine"][last], view["divine_result"][last]) if role == SEER else None,
        "executedAgent": _agent(view["executed"][last]) if past else -1,
        "latestExecutedAgent": _agent(view["executed"][today]),
        "attackedAgent": _agent(shown[last]) if past and (wolf or not contest) else -1,
        "cursedFox": -1,
        "guardedAgent": _agent(view["guard"][last]) if past and role == BODYGUARD else -1,
        "voteList": _votes(last, view["votes"][last]) if past else [],
        "latestVoteList": _votes(day, view["votes"][today]) if contest and today == day else [],
        "attackVoteList": _votes(last, view["attack_votes"][last]) if past and wolf else [],
        "latestAttackVoteList": _votes(day, view["attack_votes"][today]) if contest and wolf and today == day else [],
        "talkList": list(talk),
        "whisperList": list(whispers) if wolf else [],
        "statusMap": status_map(ruleset, view),
        "roleMap": {
            str(k + 1): ROLES[int(view["role"][k]) - 1]
            for k in range(players)
            if view["role"][k] and (over or k == seat or (wolf and view["role"][k] == WEREWOLF))
        },
        "remainTalkMap": {str(k + 1): int(view["remaining"][k]) for k in range(players) if not view["left"][k]},
        "remainWhisperMap": {
            str(k + 1): int(view["whisper_remaining"][k])
            for k in range(players)
            if wolf and view["role"][k] == WEREWOLF and not view["left"][k]
        },
        "lastDeadAgentList": dead,
        "existingRoleList": [name for name, n in zip(ROLES, VILLAGES[players], strict=True) if n],
    }
    return info if contest else {key: info[key] for key in OLD_KEYS}


def game_setting(ruleset: Ruleset, reply_seconds: float) -> dict[str, Any]:
    """The game settings as the platform sends them; but the seed, which deals the roles, is not told."""
    p, players = ruleset.params[0], ruleset.num_players
    roles = dict(zip(ROLES, VILLAGES[players], strict=True))
    numbers = {name: roles.get(name, 0) for name in sorted([*ROLES, "FREEMASON"])}
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
    """The platform's game log: lines of comma-separated values."""

    def __init__(self, ruleset: Ruleset, names: Sequence[str]):
        self._ruleset, self._names, self._contest = ruleset, tuple(names), is_contest(ruleset)
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

    def day_is_over(self, state: np.void, day: int) -> None:
        """Votes, choices of the night, execution and attack of a day."""
        roles = state["role"]
        for row in _votes(day, state["votes"][day]):
            self._add(day, "vote", row["agent"], row["target"])
        if state["divine"][day]:
            seer = int(np.flatnonzero(roles == SEER)[0]) + 1
            self._add(day, "divine", seer, int(state["divine"][day]), SPECIES[int(state["divine_result"][day]) - 1])
        if state["executed"][day]:
            gone = int(state["executed"][day])
            self._add(day, "execute", gone, ROLES[int(roles[gone - 1]) - 1])
        if state["guard"][day]:
            bodyguard = int(np.flatnonzero(roles == BODYGUARD)[0]) + 1
            target = int(state["guard"][day])
            self._add(day, "guard", bodyguard, target, ROLES[int(roles[target - 1]) - 1])
        for row in _votes(day, state["attack_votes"][day]):
            self._add(day, "attackVote", row["agent"], row["target"])
        if day > 0:
            victim = int(state["victim"][day])
            self._add(day, "attack", victim or -1, str(bool(victim)).lower())

    def result(self, state: np.void) -> None:
        """The living humans and wolves, and who won."""
        alive = state["left"][: len(self._names)] == 0
        wolf = state["role"][: len(self._names)] == WEREWOLF
        wolves = int((alive & wolf).sum())
        self._add(int(state["day"]), "result", int(alive.sum()) - wolves, wolves, "WEREWOLF" if wolves else "VILLAGER")

    def _add(self, *values: Any) -> None:
        self.lines.append(",".join(str(value).replace("\n", " ") for value in values))
