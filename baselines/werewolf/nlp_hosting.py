"""Hosts clients of the contests in natural language: the table of `hosting`, with their packets, names and free speech.

The rules are those of the contest engine 0.6. Clients say what they like; others hear it verbatim, and our agents understand
the sentences of it that `language` knows.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from asobiba.baselines.werewolf.hosting import (
    _GREETING,
    LONGEST_UTTERANCE,
    HostedGame,
    Moment,
    admit,
    printable_name,
)
from asobiba.baselines.werewolf.language import Speech, Word
from asobiba.baselines.werewolf.packets import game_info
from asobiba.core import Ruleset, game
from asobiba.envs.werewolf.layout import (
    AGREE,
    COMINGOUT,
    DISAGREE,
    DIVINED,
    GUARDED,
    IDENTIFIED,
    ROLES,
    SKIP,
    TALK,
    VILLAGES,
    VOTING,
    WEREWOLF,
    WHISPER,
)
from asobiba.envs.werewolf.notation import agent_text, encode
from asobiba.protocols.aiwolf import ClientError, Peer
from asobiba.protocols.reception import Reception
from asobiba.protocols.websocket import accept_websocket

_FIRST = {act: k for k, act in enumerate((DIVINED, IDENTIFIED, GUARDED, COMINGOUT, VOTING))}
"""The kinds of sentences, the most telling first: the first one found in an utterance counts."""
_WITH_INFO_ALONE = ("VOTE", "DIVINE", "GUARD", "FINISH")


class SpokenTable(HostedGame):
    """One game between clients in natural language and our agents.

    Args:
        language: that our agents speak, "ja" or "en"; the other arguments are those of `HostedGame`.
        first_talk: whether the wolves whisper and everybody talks on day 0, as the contests' settings have it. The rules
            know no talk on that day: our agents say Over, and the record does not hold it.
    """

    def __init__(self, *arguments: Any, language: str, first_talk: bool = True):
        super().__init__(*arguments)
        self.first_talk = first_talk
        self._left: dict[int, tuple[int, int]] = {}
        self.speech = Speech([agent_text(seat) for seat in range(self.ruleset.num_players)], language)

    @cached_property
    def _setting(self) -> dict[str, Any]:
        p, players = self.ruleset.params[0], self.ruleset.num_players
        limits = [
            {"max_count": {"per_agent": int(p[most]), "per_day": int(p[turns])}, "max_length": {}, "max_skip": int(p["max_skip"])}
            for most, turns in (("max_talk", "max_turns"), ("max_whisper", "max_whisper_rounds"))
        ]  # fmt: skip
        ballots = {"max_count": 1 + int(p["revotes"]), "allow_self_vote": False}
        return {
            "agent_count": players,
            "role_num_map": dict(zip(ROLES, VILLAGES[players], strict=True)),
            "vote_visibility": True,
            "talk": limits[0],
            "whisper": limits[1],
            "vote": ballots,
            "attack_vote": {**ballots, "allow_no_target": False},
        }

    def _begin_day(self) -> None:
        super()._begin_day()
        if self.first_talk and int(self.table.state["day"]) == 0:
            wolves = np.flatnonzero(self.table.state["role"] == WEREWOLF)
            self._converse(WHISPER, wolves.tolist(), self._setting["whisper"])
            self._converse(TALK, range(self.ruleset.num_players), self._setting["talk"])

    def _converse(self, phase: int, seats: Sequence[int], limits: dict[str, Any]) -> None:
        """A session of talk or whispers before the rules' own: turns in one random order until nobody says anything."""
        if len(seats) < 2:
            return
        order = np.random.default_rng((self.match.game_seed, phase)).permutation(seats).tolist()
        most, skips = limits["max_count"]["per_agent"], limits["max_skip"]
        self._left = dict.fromkeys(order, (most, skips))
        moment = replace(Moment.of(self.table.state), phase=phase)
        for turn in range(limits["max_count"]["per_day"]):
            spoken = False
            for seat in order:
                if self._left[seat][0] > 0:
                    text = self._first_utterance(seat, phase, skips)
                    self._hear(replace(moment, turn=turn), seat, text)
                    spoken |= text != "Over"
            if not spoken:
                break
        self._left = {}
        self._earlier[phase] = len(self._talk if phase == TALK else self._whispers)

    def _first_utterance(self, seat: int, phase: int, most_skips: int) -> str:
        """A seat's first utterance on day 0; utterances and skips are counted as on the public server."""
        left, skips = self._left[seat]
        self._left[seat] = left - 1, skips
        player, text = self.players[seat], "Over"
        if isinstance(player, Peer):
            told = self._ask(seat, player, "TALK" if phase == TALK else "WHISPER")
            if told is None:
                return "Skip"  # a failure counts as no skip
            text = self._heard(seat, player, told[:LONGEST_UTTERANCE])
        if text == "Skip" and skips <= 0:
            text = "Over"
        skips = skips - 1 if text == "Skip" else skips if text == "Over" else most_skips
        self._left[seat] = 0 if text == "Over" else left - 1, skips
        return text

    def _packet(self, request: str, seat: int, peer: Peer) -> str:
        found: dict[str, Any] = {"request": request, "info": self._spoken_info(request, seat)}
        if request in ("INITIALIZE", "DAILY_INITIALIZE"):
            milliseconds = round(1000 * peer.reply_seconds)
            found["setting"] = {**self._setting, "timeout": {"action": milliseconds, "response": milliseconds}}
        elif request not in _WITH_INFO_ALONE:
            talk, whispers = self._news(seat, request)
            if request in ("TALK", "DAILY_FINISH"):
                found["talk_history"] = talk
            wolf = int(self.table.state["role"][seat]) == WEREWOLF
            if request in ("WHISPER", "ATTACK") or (request == "DAILY_FINISH" and wolf):
                found["whisper_history"] = whispers
        return json.dumps(found, ensure_ascii=False, separators=(",", ":"))

    def _news(self, seat: int, request: str = "") -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        # Talk and whispers since this seat was last told; neither counts as told where it is not sent.
        before = list(self._sent[seat])
        lists = [[self._line(line) for line in lines] for lines in super()._news(seat)]
        if request in ("WHISPER", "ATTACK"):
            self._sent[seat][0] = before[0]
        elif request == "TALK":
            self._sent[seat][1] = before[1]
        return lists[0], lists[1]

    def _line(self, line: dict[str, Any]) -> dict[str, Any]:
        text = line["text"]
        return {
            **line,
            "agent": self.speech.names[line["agent"] - 1],
            "text": text,
            "skip": text == "Skip",
            "over": text == "Over",
        }

    def _spoken_info(self, request: str, seat: int) -> dict[str, Any]:
        view = self.table.view(seat)
        told, names = game_info(self.ruleset, view, seat), ("", *self.speech.names)

        def judge(key: str) -> dict[str, Any] | None:
            found = told[key]
            return found and {
                "day": found["day"] - 1,
                "agent": names[found["agent"] if key == "divineResult" else found["target"]],
                "target": names[found["target"]],
                "result": found["result"],
            }

        def votes(key: str) -> list[dict[str, Any]]:
            return [{**vote, "agent": names[vote["agent"]], "target": names[vote["target"]]} for vote in told[key]]

        dead = told["lastDeadAgentList"]
        maybe = {
            "medium_result": judge("mediumResult"),
            "divine_result": judge("divineResult"),
            "executed_agent": names[told["executedAgent"]] if told["executedAgent"] > 0 else None,
            "attacked_agent": names[dead[0]] if dead else None,
            "vote_list": votes("voteList"),
            "attack_vote_list": votes("attackVoteList"),
        }
        info = {
            "game_id": str(self.match.seed),
            "day": told["day"],
            "agent": names[told["agent"]],
            **{key: value for key, value in maybe.items() if value},
            "status_map": {names[int(key)]: status for key, status in told["statusMap"].items()},
            "role_map": {names[int(key)]: role for key, role in told["roleMap"].items()},
        }
        if self._left and request in ("TALK", "WHISPER"):
            info["remain_count"], info["remain_skip"] = self._left[seat]
        elif request in ("TALK", "WHISPER"):
            prefix = "" if request == "TALK" else "whisper_"
            left, skips = int(view[f"{prefix}remaining"][seat]), int(view[f"{prefix}skips"][seat])
            info["remain_count"] = max(left - 1, 0)
            info["remain_skip"] = max(int(self.ruleset.params["max_skip"][0]) - skips, 0)
        return info

    def _pass_over(self, moment: Any, until: int) -> None:
        # The server in natural language says nothing for who has no utterances left.
        return

    def _text(self, view: np.void, seat: int, words: list[tuple[int, ...]]) -> str:
        return self.speech.say([Word(act, target - 1, value) for act, target, value in words]) if words else ""

    def _heard(self, seat: int, peer: Peer, text: str) -> str:
        text = " ".join(text.split())
        return "Skip" if text == "ForceSkip" or not text else text

    def _understood(self, seat: int, text: str) -> list[list[int]]:
        state = self.table.state
        said = state["said" if int(state["phase"]) == TALK else "whispered"]
        sentences = [
            sentence
            for sentence in self.speech.hear(seat, text)
            if sentence[0].act != SKIP
            and not any(word.act in (AGREE, DISAGREE) and not said[word.target] for word in sentence)
        ]
        sentences.sort(key=lambda sentence: _FIRST.get(sentence[0].act, len(_FIRST)))
        return [[int(encode(self.ruleset.seats, *word)) for word in sentence] for sentence in sentences]

    def _target(self, reply: str) -> int | None:
        if not reply.strip():
            return None
        seat = self.speech.target(reply)
        if seat is None:
            raise ClientError(f"expected the name of an agent, such as Agent[01], not {reply[:80]!r}", lost=False)
        return seat + 1


def receive_speakers(
    server: socket.socket, count: int, reply_seconds: float, tell: Callable[[str], Any] = print, token: str = ""
) -> Reception[Peer]:
    """Greets clients over WebSockets in the background until `count` have told their names.

    Args:
        server: a listening socket.
        count: number of clients wanted.
        reply_seconds: how long a reply may take in the game.
        tell: called for every client that came or was sent away.
        token: if not empty, clients must send it as `Authorization: Bearer TOKEN` or as `?token=TOKEN`.
    """

    def greet(connection: socket.socket, address: str) -> Peer:
        peer = Peer(accept_websocket(connection, _GREETING, token), address, _GREETING)
        name = peer.ask('{"request":"NAME"}')
        if name is None:
            raise ClientError(f"it told no name ({'; '.join(peer.faults)})")
        peer.name, peer.reply_seconds = printable_name(name.strip()), reply_seconds
        return peer

    return Reception(server, count, greet, tell, lambda peer, before: admit(peer, before, tell))


def village(players: int) -> Ruleset:
    """The rules of a table in natural language: 0.6, one after the other, four utterances a day as in the contests."""
    return game("werewolf").ruleset(players=players, rules="0.6", talk="turn", operators=True, max_talk=4)
