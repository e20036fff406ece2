"""The contests in natural language (since 2024): JSON over a WebSocket, and our agents as their clients.

Packets have the keys of the server aiwolf-nlp-server (AIWolf project): `request`, `info`, `setting`, `talk_history` and
`whisper_history`, and players are called by names. They are turned into those of the platform (`asobiba.protocols.aiwolf`),
which `RemoteGame` plays from; sentences are spoken and understood as in `language`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from asobiba.baselines.werewolf.joining import RemoteGame, rehearse, reply_to
from asobiba.baselines.werewolf.language import Speech, Word
from asobiba.core import Agent
from asobiba.envs.werewolf.layout import AGREE, DISAGREE, MOST_TALK, SKIP, WHISPER
from asobiba.envs.werewolf.notation import encode
from asobiba.protocols.aiwolf import LONGEST_PACKET, REQUESTS, ClientError, read_target
from asobiba.protocols.websocket import open_websocket

KEYS = {"info": dict, "setting": dict, "talk_history": list, "whisper_history": list}


def read_packet(text: str) -> dict[str, Any]:
    """A packet as a client reads it. Raises `ClientError` for any other text."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise ClientError(f"the server sent something that is not JSON: {text[:80]!r}") from None
    if not isinstance(found, dict) or found.get("request") not in REQUESTS:
        raise ClientError(f"the server sent something that is not a request: {text[:80]!r}")
    for key, kind in KEYS.items():
        if found.get(key) is not None and not isinstance(found[key], kind):
            raise ClientError(f"the server sent a {key} that is not a {kind.__name__}: {str(found[key])[:80]!r}")
    return found


class SpokenGame(RemoteGame):
    """One game on a server in natural language.

    Args:
        agent: plays the seat that the server gives.
        seed: of the agent.
        language: that it speaks, "ja" or "en".
    """

    def __init__(self, agent: Agent, seed: int, language: str):
        super().__init__(agent, seed)
        self._language = language
        self.speech: Speech | None = None
        self._living: set[str] = set()
        self._lines = [0, 0]
        self._left: dict[str, int] = {}
        self._most = MOST_TALK

    def platform_packet(self, found: dict[str, Any]) -> dict[str, Any]:
        """A packet (`read_packet`) as the platform would have sent it; texts stay as they were spoken."""
        request, setting = found["request"], found.get("setting")
        info: dict[str, Any] = found.get("info") or {}
        if request == "INITIALIZE":
            names = sorted(info["status_map"])  # as the server has them, if they are numbered
            self.speech = Speech(names, self._language)
            if setting:
                most = setting.get("talk", {}).get("max_count", {}).get("per_agent")
                self._most = min(max(int(most or MOST_TALK), 1), MOST_TALK)
        if request in ("DAILY_INITIALIZE", "INITIALIZE"):
            self._lines = [0, 0]
            self._living = {name for name, status in info["status_map"].items() if status == "ALIVE"}
        packet: dict[str, Any] = {"request": request}
        if info:
            packet["gameInfo"] = self._game_info(info)
            self._left = {key: int(info[key]) for key in ("remain_count", "remain_skip") if info.get(key) is not None}
        if setting is not None:
            packet["gameSetting"] = {"playerNum": int(setting["agent_count"]), "maxSkip": 2, "maxTalk": self._most}
        packet["talkHistory"] = self._history(found.get("talk_history"), 0)
        packet["whisperHistory"] = self._history(found.get("whisper_history"), 1)
        return packet

    def _called(self, name: str) -> int:
        # Of an agent, from 1.
        assert self.speech is not None
        if name not in self.speech.names:
            raise ClientError(f"the server speaks of {name!r}, who does not play")
        return self.speech.names.index(name) + 1

    def _game_info(self, info: dict[str, Any]) -> dict[str, Any]:
        def agent(name: Any) -> int:
            return -1 if name is None else self._called(name)

        def judge(found: Any) -> Any:
            return found and {"target": self._called(found["target"]), "result": found["result"]}

        # Who was executed today is not told, but is dead before the night.
        gone = [name for name, status in info["status_map"].items() if status == "DEAD" and name in self._living]
        return {
            "day": int(info["day"]),
            "agent": self._called(info["agent"]),
            "statusMap": {self._called(name): status for name, status in info["status_map"].items()},
            "roleMap": {self._called(name): role for name, role in info["role_map"].items()},
            "divineResult": judge(info.get("divine_result")),
            "mediumResult": judge(info.get("medium_result")),
            "executedAgent": agent(info.get("executed_agent")),
            "latestExecutedAgent": self._called(gone[0]) if len(gone) == 1 else -1,
            "lastDeadAgentList": [self._called(info["attacked_agent"])] if info.get("attacked_agent") else [],
            "voteList": [
                {"agent": self._called(vote["agent"]), "target": self._called(vote["target"])}
                for vote in info.get("vote_list") or ()
            ],
        }

    def _history(self, lines: list[Any] | None, kind: int) -> list[dict[str, Any]]:
        # Only what was not told before comes; a day may have several rounds of whispers, each counted from 0.
        found = []
        for line in lines or ():
            text = "Skip" if line.get("skip") else "Over" if line.get("over") else str(line["text"])
            found.append({
                "idx": self._lines[kind], "day": int(line["day"]), "turn": int(line.get("turn") or 0),
                "agent": self._called(line["agent"]), "text": text,
            })  # fmt: skip
            self._lines[kind] += 1
        return found

    def learn(self, info: dict[str, Any]) -> None:
        new = int(info["day"]) != self._day
        super().learn(info)
        if new:
            for name in ("remaining", "whisper_remaining"):
                self._states[0][name][: self.ruleset.num_players] = self._most

    def _understood(self, speaker: int, text: str) -> list[list[int]]:
        if text in ("Over", "Skip"):
            return super()._understood(speaker, text)
        assert self.speech is not None
        state = self._states[0]
        said = state["whispered" if int(state["phase"]) == WHISPER else "said"]
        found = []
        for sentence in self.speech.hear(speaker, text):
            unheard = any(word.act in (AGREE, DISAGREE) and not said[word.target] for word in sentence)
            if sentence[0].act != SKIP and not unheard:
                found.append([int(encode(self.ruleset.seats, *word)) for word in sentence])
        return found

    def _said(self, act: int, target: int, value: int) -> str:
        # Where keeping silent would end the own day, something is said that says nothing.
        assert self.speech is not None
        if act == SKIP and self._left.get("remain_skip", 1) > 0:
            return "Skip"
        return self.speech.say([Word(act, target, value)])


def answer(current: SpokenGame, text: str, name: str) -> str | None:
    """Our answer to a server's packet; `None` where it wants none.

    Raises:
        ClientError: for a packet that makes no sense.
    """
    found = read_packet(text)
    request = found["request"]
    if request == "NAME":
        return name
    try:
        if request == "FINISH":
            return None
        packet = current.platform_packet(found)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ClientError(f"the server's {request} cannot be understood: {error!r}") from None
    reply = reply_to(current, packet, name, "none")
    if reply is None or request in ("TALK", "WHISPER"):
        return reply
    target, speech = read_target(reply), current.speech
    return "" if target is None or speech is None else speech.names[target - 1]


def join(
    url: str,
    agent: Agent,
    name: str,
    language: str,
    games: int = 1,
    seed: int = 0,
    token: str = "",
    finished: Callable[[int], Any] | None = None,
) -> int:
    """Plays `agent` on a server in natural language, one connection a game. Returns the number of games.

    Args:
        url: of the server, `ws://HOST:PORT/ws`.
        agent: plays the seats that the server gives.
        name: what to call ourselves; servers take what stands before a number at its end for the team.
        language: "ja" or "en".
        games: to play.
        seed: of the agent; every game has the next.
        token: of the server, if it wants one.
        finished: called after every game with the number of games.

    Raises:
        ClientError: if the server cannot be reached, does not keep to the protocol, or hangs up in the middle of a game.
        GameParameterError: if the agent does not play on servers, or for another language.
    """
    Speech((), language)
    rehearse(agent)
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    for number in range(games):
        messages = open_websocket(url, 10.0, LONGEST_PACKET, headers)
        current, over = SpokenGame(agent, seed + number, language), False
        try:
            while not over:
                text = messages.receive(None)
                reply = answer(current, text, name)
                if reply is not None:
                    messages.send(reply)
                over = read_packet(text)["request"] == "FINISH"
        except ClientError as error:
            if current.begun:
                raise ClientError(f"the game was broken off: {error}") from None
            raise
        finally:
            messages.close()
        if finished is not None:
            finished(number + 1)
    return games
