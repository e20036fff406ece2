"""Hosts AIWolf clients: a table at which peers over TCP and our own agents sit side by side.

A reply that makes no sense is replaced as the platform does it, a client that is silent for too long, floods the line or
hangs up is out and replaced from then on, and the reason stands on record. The others' games go on.
"""

from __future__ import annotations

import contextlib
import hmac
import secrets
import socket
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from asobiba.arena.match import LiveGame, Match, MatchRecord, action_dtype, finished_record
from asobiba.arena.secret import Secret
from asobiba.baselines.werewolf.packets import GameLog, game_info, game_setting, is_contest
from asobiba.core import Agent, NotationError, Ruleset
from asobiba.envs.werewolf.layout import (
    ATTACK,
    BODYGUARD,
    DIVINATION,
    GUARD,
    HUMAN,
    SEER,
    TALK,
    VOTE,
    VOTING,
    WEREWOLF,
    WHISPER,
)
from asobiba.envs.werewolf.notation import decode, encode, parse_sentence, sentence_text
from asobiba.protocols.aiwolf import ClientError, Peer, is_sentence, packet, read_target
from asobiba.protocols.reception import Reception

_OVER, _SKIP, _NOTHING = 0, 1, -1
"""Action numbers; the last is none, for which the rules play something."""
_CHOICES = {SEER: ("DIVINE", DIVINATION), BODYGUARD: ("GUARD", GUARD)}
LONGEST_UTTERANCE = 1000
"""Letters of an utterance that are heard."""


@dataclass
class Hosted:
    """Result of a hosted game: its record, its log, and each seat's faults in words."""

    record: MatchRecord
    log: list[str]
    faults: dict[int, list[str]] = field(default_factory=dict)


def in_short(faults: Sequence[str], most: int = 4) -> str:
    """Faults as one line: each once, with how often it came, and of more than `most` kinds only how many they are."""
    kinds = Counter(faults)
    told = [text if times == 1 else f"{text} ({times} times)" for text, times in kinds.most_common(most)]
    others = len(faults) - sum(times for _, times in kinds.most_common(most))
    return "; ".join([*told, f"and {others} others"] if others else told)


@dataclass(frozen=True)
class Moment:
    """The present moment of a game: its phase, and in talk the turn, the speakers' order, and the next speaker."""

    phase: int
    day: int
    turn: int
    ballot: int
    order: tuple[int, ...]
    cursor: int
    skips: tuple[int, ...]

    @classmethod
    def of(cls, state: np.void) -> Moment:
        phase = int(state["phase"])
        turn = int(state["whisper_turn" if phase == WHISPER else "turn"])
        order = tuple(int(k) for k in state["order"] if k >= 0)
        skips = tuple(int(n) for n in state["whisper_skips" if phase == WHISPER else "skips"])
        return cls(phase, int(state["day"]), turn, int(state["ballot"]), order, int(state["cursor"]), skips)


class HostedGame:
    """One game between peers and agents.

    Args:
        ruleset: the game; with `talk="turn"` the requests come in the platform's order.
        players: a `Peer` or an `Agent` for each seat.
        names: their names in the record.
        number: of the deal.
        secret: from which the seeds of the game and of the agents follow.

    A sentence of a peer that the game's own tables cannot hold (another subject than the speaker, more operands) is heard
    by everybody; in the record, `DIVINATION` of somebody stands for it in the contest rules, and `Skip` in those of 2016.
    """

    def __init__(
        self, ruleset: Ruleset, players: Sequence[Peer | Agent], names: Sequence[str], number: int, secret: Secret
    ):
        self.ruleset, self.players, self.names = ruleset, list(players), tuple(names)
        self.match = secret.deal(Match.of(ruleset, self.names, number))
        self.table = LiveGame(ruleset)
        self.contest = is_contest(ruleset)
        self.log = GameLog(ruleset, self.names)
        self._talk: list[dict[str, Any]] = []
        self._whispers: list[dict[str, Any]] = []
        self._sent = {seat: [0, 0] for seat in range(len(self.players))}
        self._words: dict[int, list[int]] = {}
        self._said: dict[int, str] = {}
        self._beside: dict[int, list[tuple[str, int, int]]] = {}
        self._passed = 0
        self._finished_day = False
        self._earlier = {TALK: 0, WHISPER: 0}
        """Lines of today's earlier sessions: each session numbers its own from 0."""
        self._before = {seat: len(peer.faults) for seat, peer in self._peers()}

    def _peers(self) -> list[tuple[int, Peer]]:
        return [(seat, player) for seat, player in enumerate(self.players) if isinstance(player, Peer)]

    def play(self) -> Hosted:
        """Plays the game to its end."""
        table, count = self.table, self.ruleset.num_players
        self._begin()
        day, actions = -1, []
        returns, decisions, seconds = np.zeros(count), [0] * count, [0.0] * count
        while not table.over:
            if int(table.state["day"]) != day:
                day = int(table.state["day"])
                self._begin_day()
            if self.contest and not self._finished_day and (day == 0 or int(table.state["phase"]) != TALK):
                self._finish_day()
            action = np.zeros(self.ruleset.actions_shape, self.ruleset.action_dtype)
            self._said, before = {}, Moment.of(table.state)
            if before.phase in (TALK, WHISPER):
                self._pass_over(before, before.cursor)
            for seat in table.movers:
                started = time.perf_counter()
                action[seat] = self._choose(seat)
                seconds[seat] += time.perf_counter() - started
                decisions[seat] += 1
            actions.append(action)
            self._step(action)
            returns += table.states["rewards"][0][:count]
            self._follow(before)
        self._end()
        data = np.array(actions, action_dtype(self.ruleset)).tobytes()
        record = finished_record(
            self.match, self.ruleset, table.state, data, returns=returns, decisions=decisions, seconds=seconds
        )
        faults = {seat: peer.faults[self._before[seat] :] for seat, peer in self._peers()}
        if faults := {seat: found for seat, found in faults.items() if found}:
            told = "; ".join(f"agent {seat + 1}: {in_short(found)}" for seat, found in faults.items())
            record = replace(record, detail=told[:500])
        return Hosted(record, self.log.lines, faults)

    def _begin(self) -> None:
        match = self.match
        self.table.begin(match.game_seed)
        for seat, player in enumerate(self.players):
            if isinstance(player, Agent):
                player.begin(self.ruleset, (seat,), (match.agent_seed(seat),))
            else:
                player.tell(self._packet("INITIALIZE", seat, player))

    def _step(self, action: np.ndarray) -> None:
        self.table.play(action)

    def _end(self) -> None:
        self._talk, self._whispers = [], []
        for seat, peer in self._peers():
            peer.tell(self._packet("FINISH", seat, peer))
        self.log.status(self.table.state)
        self.log.result(self.table.state)

    def _info(self, seat: int) -> dict[str, Any]:
        view = self.table.view(seat)
        for name, day, value in self._beside.get(seat, ()):
            view[name][day] = value
        return game_info(self.ruleset, view, seat, self._talk, self._whispers)

    def _begin_day(self) -> None:
        self._talk, self._whispers, self._finished_day = [], [], False
        self._earlier = dict.fromkeys(self._earlier, 0)
        self._sent = {seat: [0, 0] for seat in self._sent}
        self.log.status(self.table.state)
        for seat, peer in self._peers():
            peer.tell(self._packet("DAILY_INITIALIZE", seat, peer))

    def _finish_day(self) -> None:
        self._finished_day = True
        for seat, peer in self._peers():
            peer.tell(self._packet("DAILY_FINISH", seat, peer))

    def _news(self, seat: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        # The talk since this seat was last told; whispers go to wolves only.
        talk, whispers = self._sent[seat]
        self._sent[seat] = [len(self._talk), len(self._whispers)]
        wolf = int(self.table.state["role"][seat]) == WEREWOLF
        return self._talk[talk:], self._whispers[whispers:] if wolf else []

    def _packet(self, request: str, seat: int, peer: Peer) -> str:
        if request in ("INITIALIZE", "DAILY_INITIALIZE", "FINISH"):
            told = request == "INITIALIZE" or (request == "DAILY_INITIALIZE" and not self.contest)
            return packet(request, self._info(seat), game_setting(self.ruleset, peer.reply_seconds) if told else None)
        # A client that may not have heard of an execution or a ballot is told everything, others the talk since.
        state = self.table.state
        revote = request == "VOTE" and int(state["ballot"]) > 0
        night = request in ("WHISPER", "DIVINE", "GUARD", "ATTACK") and int(state["executed"][int(state["day"])]) > 0
        if self.contest and (revote or night):
            return packet(request, self._info(seat))
        return packet(request, None, None, *self._news(seat))

    def _ask(self, seat: int, peer: Peer, request: str) -> str | None:
        return peer.ask(self._packet(request, seat, peer))

    def _choose(self, seat: int) -> int:
        player, table = self.players[seat], self.table
        talking = int(table.state["phase"]) in (TALK, WHISPER)
        if self._words.get(seat):
            return self._words[seat].pop(0)
        if isinstance(player, Agent):
            view = table.view(seat)
            action = int(player.act(view, table.legal(seat)))
            if talking:
                self._add_word(seat, view, action)
            return action
        return self._ask_talk(seat, player) if talking else self._ask_target(seat, player)

    def _add_word(self, seat: int, view: np.void, action: int) -> None:
        # The sentence of one of our own agents, when its last word is said.
        seats = self.ruleset.seats
        words = [tuple(int(x) for x in row) for row in view["draft"][seat][: int(view["words"][seat])]]
        act, target, value = (int(x) for x in decode(seats, action))
        with contextlib.suppress(IndexError):  # operands are missing
            self._said[seat] = self._text(view, seat, [*words, (act, target + 1, value)])

    def _text(self, view: np.void, seat: int, words: list[tuple[int, ...]]) -> str:
        # A sentence of one of our own agents, as everybody hears it.
        return sentence_text(self.ruleset, view, seat, words)

    def _ask_talk(self, seat: int, peer: Peer) -> int:
        state = self.table.state
        text = self._ask(seat, peer, "TALK" if int(state["phase"]) == TALK else "WHISPER")
        if not text:
            if self.contest:
                self._said[seat] = "Skip"
            return _NOTHING if text is None or not self.contest else _SKIP
        text = self._heard(seat, peer, text[:LONGEST_UTTERANCE])
        self._said[seat] = text
        if text in ("Over", "Skip"):
            return _OVER if text == "Over" else _SKIP
        legal = self.table.legal(seat)
        for first, *rest in self._understood(seat, text):
            if first not in (_OVER, _SKIP) and legal[first]:
                self._words[seat] = rest
                return first
        return self._stand_in(seat)

    def _heard(self, seat: int, peer: Peer, text: str) -> str:
        # What the others hear of a client's utterance.
        if self.contest and not is_sentence(text):
            peer.fault(f"it said {text[:80]!r}, which is not a sentence of the protocol", lost=False)
            return "Skip"
        return text

    def _understood(self, seat: int, text: str) -> list[list[int]]:
        # What it says, as the words of a sentence; of several sentences the first that is legal counts.
        try:
            return [parse_sentence(self.ruleset, self.table.state, seat, text)]
        except NotationError:
            return []

    def _stand_in(self, seat: int) -> int:
        # An action that counts as an utterance, for one that the tables cannot hold.
        if not self.contest:
            return _SKIP
        legal, seats = self.table.legal(seat), self.ruleset.seats
        found = (encode(seats, DIVINATION, target, 0) for target in range(self.ruleset.num_players))
        return next((int(action) for action in found if legal[action]), _SKIP)

    def _ask_target(self, seat: int, peer: Peer) -> int:
        state, seats = self.table.state, self.ruleset.seats
        role, vote = int(state["role"][seat]), int(state["phase"]) == VOTE
        request, act = _CHOICES.get(role, ("ATTACK", ATTACK)) if not vote else ("VOTE", VOTING)
        reply = self._ask(seat, peer, request)
        if reply is None:
            return _NOTHING
        try:
            target = self._target(reply)
        except ClientError as error:
            peer.fault(f"{request}: {error}", error.lost)
            return _NOTHING
        if target is None:
            return _NOTHING if vote else _SKIP
        known = 1 <= target <= self.ruleset.num_players
        if known and self.table.legal(seat)[action := encode(seats, act, target - 1, 0)]:
            return int(action)
        day = int(state["day"])
        if request == "DIVINE" and target == seat + 1:
            # The platform lets a seer look at himself and the bodyguard guard the dead; the rules have no use for it.
            self._beside.setdefault(seat, []).extend([("divine", day, target), ("divine_result", day, HUMAN)])
        elif request == "GUARD" and known and target != seat + 1:
            self._beside.setdefault(seat, []).append(("guard", day, target))
        else:
            peer.fault(f"{request}: it named agent {target}, who cannot be chosen", lost=False)
            return _NOTHING if vote else _SKIP
        return _SKIP

    def _target(self, reply: str) -> int | None:
        return read_target(reply)

    def _follow(self, before: Moment) -> None:
        # Enters the effects of a step into the lists of utterances and the log.
        state, day = self.table.state, before.day
        after = Moment.of(state)
        if before.phase in (TALK, WHISPER):
            self._hear_turn(before, after)
        elif before.phase == VOTE:
            self.log.votes(state, day, before.ballot)
            if self.contest and state["executed"][day]:
                self.log.execution(state, day)
        else:
            first = before.ballot == 0
            self.log.night(
                state, day, before.ballot, *(self._chosen(name, day) * first for name in ("divine", "guard"))
            )
        if after.day == day:
            return
        if not self.contest:
            self._finish_day()
            if state["executed"][day]:
                self.log.execution(state, day)
        self.log.attack(state, day)

    def _chosen(self, name: str, day: int) -> int:
        # The player that the seer looked at, or the bodyguard guarded, on a day.
        beside = (value for found in self._beside.values() for key, when, value in found if (key, when) == (name, day))
        return next(beside, int(self.table.state[name][day]))

    def _hear_turn(self, before: Moment, after: Moment) -> None:
        limit = int(self.ruleset.params["max_skip"][0])
        for seat, text in self._said.items():
            if self.contest and text == "Skip" and before.skips[seat] >= limit:
                text = "Over"
            self._hear(before, seat, text)
            self._passed = before.cursor + 1
        if (after.phase, after.turn, after.day) == (before.phase, before.turn, before.day):
            return
        self._pass_over(before, len(before.order))
        self._passed = 0
        turns = int(self.table.state["whisper_turn" if before.phase == WHISPER else "turn"])
        if after.phase != before.phase and turns == before.turn + 2:
            # A turn in which nobody had anything left to say.
            self._pass_over(replace(before, turn=before.turn + 1, order=after.order), len(after.order))
            self._passed = 0

    def _pass_over(self, moment: Moment, until: int) -> None:
        # A player without utterances left is not asked, and is heard to say Over.
        if not self.contest or not self.ruleset.params["one_by_one"][0]:
            return
        for seat in moment.order[self._passed : until]:
            self._hear(moment, seat, "Over")
        self._passed = max(self._passed, until)

    def _hear(self, moment: Moment, seat: int, text: str) -> None:
        lines = self._talk if moment.phase == TALK else self._whispers
        said: dict[str, Any] = {"idx": len(lines) - self._earlier[moment.phase], "day": moment.day, "agent": seat + 1}
        said |= {"turn": moment.turn, "text": text} if self.contest else {"content": text}
        lines.append(said)
        self.log.utterance("talk" if moment.phase == TALK else "whisper", said)


_GREETING = 5.0
"""s that a client has to tell its name."""


def printable_name(name: str) -> str:
    """A client's name as it may stand in a log and in a league."""
    return "".join(letter for letter in name[:40] if letter.isprintable() and letter not in ",:") or "?"


def admit(peer: Peer, before: Sequence[Peer], tell: Callable[[str], Any]) -> None:
    """Gives a client that was greeted a name of its own among those before it."""
    taken, name, number = {other.name for other in before}, peer.name, 2
    while peer.name in taken:
        peer.name, number = f"{name}-{number}", number + 1
    tell(f"{peer.address} is {peer.name!r}")


def receive_peers(
    server: socket.socket, count: int, reply_seconds: float, tell: Callable[[str], Any] = print, token: str = ""
) -> Reception[Peer]:
    """Greets clients in the background until `count` have told their names.

    Args:
        server: a listening socket.
        count: number of clients wanted.
        reply_seconds: how long a reply may take in the game.
        tell: called for every client that came or was sent away.
        token: if not empty, clients must give their name as `NAME:TOKEN`.

    Names are unique: a second client `a` is called `a-2`.
    """

    def greet(connection: socket.socket, address: str) -> Peer:
        peer = Peer(connection, address, _GREETING)
        answer = peer.ask(packet("NAME"))
        if answer is None:
            raise ClientError(f"it told no name ({'; '.join(peer.faults)})")
        name, _, told = answer.strip().rpartition(":")
        if token and not hmac.compare_digest(told.encode(), token.encode()):
            raise ClientError("it did not give its name as NAME:TOKEN with the token wanted")
        name = name if token else answer.strip()
        peer.name = printable_name(name)
        peer.reply_seconds = reply_seconds
        return peer

    return Reception(server, count, greet, tell, lambda peer, before: admit(peer, before, tell))


def play_set(
    ruleset: Ruleset,
    peers: Sequence[Peer],
    make_filler: Callable[[], Agent],
    filler: str,
    games: int,
    secret: Secret,
    done: Callable[[int, Hosted], Any],
    table: Callable[..., HostedGame] = HostedGame,
    begin: int = 0,
) -> None:
    """Plays `games` games of the same players; seats are drawn anew for each, and empty ones filled with our agents.

    All that is drawn follows from the secret, but for the numbers of the deals: a secret may serve for many sets.
    """
    first = secrets.randbelow(2**48) if secret.seed is None else 0
    generator = np.random.default_rng(secret.number("seats", first + begin))
    for number in range(begin, begin + games):
        seats = generator.permutation(ruleset.num_players)[: len(peers)]
        players: list[Peer | Agent] = [make_filler() for _ in range(ruleset.num_players)]
        names = [filler] * ruleset.num_players
        for seat, peer in zip(seats, peers, strict=True):
            players[int(seat)], names[int(seat)] = peer, f"aiwolf:{peer.name}"
        done(number, table(ruleset, players, names, first + number, secret).play())
