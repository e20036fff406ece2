"""Plays one of our agents on an AIWolf server: packets in, a view of the game, the agent's action out as a reply."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

import numpy as np

from asobiba.core import Agent, NotationError, Ruleset, compiled, game
from asobiba.core.states import action_mask
from asobiba.envs.werewolf.layout import MOST_TALK, NIGHT, ROLES, SPECIES, TALK, VOTE, WHISPER
from asobiba.envs.werewolf.notation import decode, parse_sentence, sentence_text
from asobiba.envs.werewolf.sentences import add_word, publish
from asobiba.protocols.aiwolf import LONGEST_PACKET, ClientError, LineSocket, read_packet, target_reply


@compiled()
def _hear(states, params, player, words, turn):
    # A complete sentence of a player enters the tables.
    s, p = states[0], params[0]
    s.words[player] = 0
    if s.phase == WHISPER:
        s.whisper_turn = turn
    else:
        s.turn = turn
    for k in range(words.shape[0]):
        add_word(s, player, words[k])
    publish(s, p, player)
    for w in range(s.words[player]):
        for c in range(3):
            s.draft[player, w, c] = 0
    s.words[player] = 0


class RemoteGame:
    """One game on a server, as our agent sees it.

    Args:
        agent: plays the seat that the server gives.
        seed: of the agent.
    """

    def __init__(self, agent: Agent, seed: int):
        self.agent, self.seed = agent, seed
        self._ruleset: Ruleset | None = None

    @property
    def ruleset(self) -> Ruleset:
        if self._ruleset is None:
            raise ClientError("the server asked before it sent INITIALIZE")
        return self._ruleset

    @property
    def begun(self) -> bool:
        """Whether the server has sent INITIALIZE."""
        return self._ruleset is not None

    def initialize(self, info: dict[str, Any], setting: dict[str, Any]) -> None:
        """Begins a new game."""
        players = int(setting.get("playerNum") or len(info.get("statusMap") or ()))
        rules = "0.6" if "maxSkip" in setting or "existingRoleList" in info else "2016"
        self._ruleset = game("werewolf").ruleset(players=players, rules=rules, talk="turn", operators=rules == "0.6")
        self._states = self._ruleset.zeros()
        self.seat = int(info["agent"]) - 1
        if not 0 <= self.seat < players:
            raise ClientError(f"the server says that we are agent {info['agent']} of {players}")
        state = self._states[0]
        state["left"][players:] = 1
        state["team"][:] = -1
        self._heard = [0, 0]
        self._day = -1
        self.agent.begin(self._ruleset, (self.seat,), (self.seed,))
        self.learn(info)

    def _seat_of(self, key: Any) -> int:
        number = int(key)
        if not 1 <= number <= self.ruleset.num_players:
            raise ClientError(f"the server speaks of agent {number}; there are {self.ruleset.num_players}")
        return number - 1

    def learn(self, info: dict[str, Any]) -> None:
        """Puts game information into the view."""
        state, day = self._states[0], int(info["day"])
        if not 0 <= day <= len(state["executed"]):
            raise ClientError(f"the server speaks of day {day}")
        if day != self._day:
            self._day, self._heard = day, [0, 0]
            for name in ("said", "whispered", "declared", "over", "whisper_over", "skips", "whisper_skips", "turn"):
                state[name] = 0
            state["remaining"][: self.ruleset.num_players] = MOST_TALK
            state["whisper_remaining"][: self.ruleset.num_players] = MOST_TALK
        state["day"] = day
        for key, status in (info.get("statusMap") or {}).items():
            state["left"][self._seat_of(key)] = status == "DEAD"
        for key, role in (info.get("roleMap") or {}).items():
            if role in ROLES:
                state["role"][self._seat_of(key)] = ROLES.index(role) + 1
                state["team"][self._seat_of(key)] = ROLES.index(role) >= 4
        last = day - 1
        if last >= 0:
            for key, field in (("executedAgent", "executed"), ("guardedAgent", "guard")):
                state[field][last] = self._number(info.get(key))
            dead = info.get("lastDeadAgentList")
            victim = info.get("attackedAgent") if dead is None else (dead[0] if dead else None)
            state["victim"][last] = self._number(victim)
            for key, field in (("divineResult", "divine"), ("mediumResult", "medium")):
                judge = info.get(key)
                if judge and judge.get("result") in SPECIES:
                    species = SPECIES.index(judge["result"]) + 1
                    state[f"{field}_result"][last] = species
                    if field == "divine":
                        state["divine"][last] = self._number(judge.get("target"))
            for vote in info.get("voteList") or ():
                state["votes"][last, 0, self._seat_of(vote["agent"])] = self._number(vote["target"])
        if day < len(state["executed"]) and self._number(info.get("latestExecutedAgent")):
            state["executed"][day] = self._number(info["latestExecutedAgent"])
        self.listen(info.get("talkList"), info.get("whisperList"))

    def _number(self, agent: Any) -> int:
        return self._seat_of(agent) + 1 if isinstance(agent, int) and agent > 0 else 0

    def listen(self, talk: list[Any] | None, whispers: list[Any] | None) -> None:
        """Puts new utterances into the view; sentences that the game does not have are passed over."""
        state = self._states[0]
        for index, (lines, phase) in enumerate(((talk, TALK), (whispers, WHISPER))):
            for line in lines or ():
                if int(line["day"]) != self._day or int(line["idx"]) < self._heard[index]:
                    continue
                self._heard[index] = int(line["idx"]) + 1
                speaker = self._seat_of(line["agent"])
                state["phase"] = phase
                rows, table = ("talk_rows", "talk") if phase == TALK else ("whisper_rows", "whispers")
                turn = min(int(line.get("turn", line["idx"])), 100)
                for words in self._understood(speaker, str(line.get("text", line.get("content", "")))):
                    if int(state[rows]) + len(words) <= len(state[table]):  # else more than any game holds
                        _hear(self._states, self.ruleset.params, speaker, np.array(words, np.int64), turn)

    def _understood(self, speaker: int, text: str) -> list[list[int]]:
        # The sentences of an utterance, each as the actions that say it.
        try:
            return [parse_sentence(self.ruleset, self._states[0], speaker, text)]
        except NotationError:
            return []

    def answer(self, request: str) -> str:
        """The agent's reply to a request."""
        state, seat = self._states[0], self.seat
        state["phase"] = {"TALK": TALK, "WHISPER": WHISPER, "VOTE": VOTE}.get(request, NIGHT)
        state["acting"] = 0
        state["acting"][seat] = 1
        state["to_move"] = -1
        legal = action_mask(self.ruleset, state)[seat]
        view = state.copy()
        view["to_move"] = seat
        action = int(self.agent.act(view, legal))
        if not 0 <= action < len(legal) or not legal[action]:
            return "Over" if request in ("TALK", "WHISPER") else target_reply(None)
        act, target, value = (int(x) for x in decode(self.ruleset.seats, action))
        if request in ("TALK", "WHISPER"):
            return self._said(act, target, value)
        if action < 2:
            return target_reply(None)
        if request in ("DIVINE", "GUARD"):
            state["divine" if request == "DIVINE" else "guard"][self._day] = target + 1
        return target_reply(target + 1)

    def _said(self, act: int, target: int, value: int) -> str:
        return sentence_text(self.ruleset, self._states[0], self.seat, [(act, target + 1, value)])


def rehearse(agent: Agent) -> None:
    """Has an agent answer once in either generation, so that all is compiled before a server counts the seconds.

    Raises:
        GameParameterError: if the agent plays neither.
    """
    heard = {"idx": 0, "day": 1, "turn": 0, "agent": 2, "text": "COMINGOUT Agent[02] SEER"}
    known = {"agent": 1, "day": 1, "statusMap": dict.fromkeys("12345", "ALIVE"), "roleMap": {"1": "VILLAGER"}}
    for setting in ({"playerNum": 5}, {"playerNum": 5, "maxSkip": 2}):
        rehearsal = RemoteGame(agent, 0)
        rehearsal.initialize({**known, "talkList": [heard]}, setting)
        rehearsal.answer("TALK")


def join(
    host: str,
    port: int,
    agent: Agent,
    name: str,
    role: str = "none",
    games: int | None = None,
    seed: int = 0,
    finished: Callable[[int], Any] | None = None,
) -> int:
    """Plays `agent` on a server until it hangs up, or for `games` games. Returns the number of games.

    Raises:
        ClientError: if the server cannot be reached, does not keep to the protocol, or hangs up in the middle of a game.
        GameParameterError: if the agent does not play on servers.
    """
    rehearse(agent)
    try:
        connection = socket.create_connection((host, port), timeout=10)
    except OSError as error:
        raise ClientError(f"no server answers at {host}:{port}: {error}") from None
    lines = LineSocket(connection, LONGEST_PACKET)
    played, current = 0, RemoteGame(agent, seed)
    try:
        while games is None or played < games:
            try:
                line = lines.receive(None)
            except ClientError:
                if current.begun:
                    raise ClientError(
                        "the server hung up in the middle of a game: it may have found us too slow"
                    ) from None
                break  # the set is over
            found = read_packet(line)
            request = found["request"]
            reply = reply_to(current, found, name, role)
            if reply is not None:
                lines.send(reply)
            if request == "FINISH":
                played += 1
                current = RemoteGame(agent, seed + played)
                if finished is not None:
                    finished(played)
    finally:
        lines.close()
    return played


def reply_to(current: RemoteGame, found: dict[str, Any], name: str, role: str) -> str | None:
    """Our answer to a packet (`read_packet`) of a server; `None` where it wants no answer.

    Raises:
        ClientError: for a packet that makes no sense.
    """
    try:
        return _reply_to(current, found, name, role)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
        raise ClientError(f"the server's {found['request']} cannot be understood: {error!r}") from None


def _reply_to(current: RemoteGame, found: dict[str, Any], name: str, role: str) -> str | None:
    request = found["request"]
    if request == "NAME":
        return name
    if request == "ROLE":
        return role
    if request == "INITIALIZE":
        current.initialize(found["gameInfo"], found.get("gameSetting") or {})
        return None
    if found.get("gameInfo") and request != "FINISH":
        current.learn(found["gameInfo"])
    current.listen(found.get("talkHistory"), found.get("whisperHistory"))
    if request in ("DAILY_INITIALIZE", "DAILY_FINISH", "FINISH"):
        return None
    return current.answer(request)
