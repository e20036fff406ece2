"""Hosts AIWolf clients: a table at which peers over TCP and our own agents sit side by side.

A reply that makes no sense is replaced as the platform does it, a client that is silent for too long, floods the line or
hangs up is out and replaced from then on, and the reason stands on record. The others' games go on.
"""

from __future__ import annotations

import secrets
import socket
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from asobiba.arena.match import Match, Record, Table, action_dtype, finished_record
from asobiba.arena.secret import Secret
from asobiba.baselines.werewolf.packets import GameLog, game_info, game_setting, is_contest
from asobiba.core import Agent, NotationError, Ruleset
from asobiba.envs.werewolf.layout import ATTACK, BODYGUARD, DIVINATION, GUARD, NIGHT, SEER, TALK, VOTE, VOTING, WHISPER
from asobiba.envs.werewolf.notation import decode, encode, parse_sentence, sentence_text
from asobiba.protocols.aiwolf import ClientError, Peer, is_sentence, packet, read_target

_OVER, _SKIP, _NOTHING = 0, 1, -1
"""Action numbers; the last is none, for which the rules play something."""


@dataclass
class Hosted:
    """Result of a hosted game: its record, its log, and each seat's faults in words."""

    record: Record
    log: list[str]
    faults: dict[int, list[str]] = field(default_factory=dict)


def in_short(faults: Sequence[str], most: int = 4) -> str:
    """Faults as one line: each once, with how often it came, and of more than `most` kinds only how many they are."""
    kinds = Counter(faults)
    told = [text if times == 1 else f"{text} ({times} times)" for text, times in kinds.most_common(most)]
    others = len(faults) - sum(times for _, times in kinds.most_common(most))
    return "; ".join([*told, f"and {others} others"] if others else told)


class HostedGame:
    """One game between peers and agents.

    Args:
        ruleset: the game; with `talk="turn"` the requests come in the platform's order.
        players: a `Peer` or an `Agent` for each seat.
        names: what they are called on record.
        number: of the deal.
        secret: that the seeds of the game and of the agents follow from.
    """

    def __init__(
        self, ruleset: Ruleset, players: Sequence[Peer | Agent], names: Sequence[str], number: int, secret: Secret
    ):
        self.ruleset, self.players, self.names = ruleset, list(players), tuple(names)
        self.match = secret.deal(Match.of(ruleset, self.names, number))
        self.table = Table(ruleset)
        self.contest = is_contest(ruleset)
        self.log = GameLog(ruleset, self.names)
        self._talk: list[dict[str, Any]] = []
        self._whispers: list[dict[str, Any]] = []
        self._sent = {seat: [0, 0] for seat in range(len(self.players))}
        self._words: dict[int, list[int]] = {}
        self._finished_day = False
        self._before = {seat: len(peer.faults) for seat, peer in self._peers()}

    def _peers(self) -> list[tuple[int, Peer]]:
        return [(seat, player) for seat, player in enumerate(self.players) if isinstance(player, Peer)]

    def play(self) -> Hosted:
        """Plays the game to its end."""
        table, count = self.table, self.ruleset.num_players
        match = self.match
        table.begin(match.game_seed)
        for seat, player in enumerate(self.players):
            if isinstance(player, Agent):
                player.begin(self.ruleset, (seat,), (match.agent_seed(seat),))
            else:
                setting = game_setting(self.ruleset, player.reply_seconds)
                player.tell(packet("INITIALIZE", self._info(seat), setting))
        day, actions = -1, []
        returns, decisions, seconds = np.zeros(count), [0] * count, [0.0] * count
        while not table.over:
            if int(table.state["day"]) != day:
                self._turn_day(day)
                day = int(table.state["day"])
            if self.contest and not self._finished_day and (day == 0 or int(table.state["phase"]) != TALK):
                self._finish_day()
            action = np.zeros(self.ruleset.actions_shape, self.ruleset.action_dtype)
            said: dict[int, str] = {}
            for seat in table.movers:
                started = time.perf_counter()
                action[seat] = self._choose(seat, said)
                seconds[seat] += time.perf_counter() - started
                decisions[seat] += 1
            actions.append(action)
            phase, turn = int(table.state["phase"]), int(table.state["turn"])
            table.play(action)
            returns += table.states["rewards"][0][:count]
            for seat, text in said.items():
                self._hear(phase, day, turn, seat, text)
        self._turn_day(day)
        for seat, peer in self._peers():
            peer.tell(packet("FINISH", self._info(seat)))
        self.log.status(table.state)
        self.log.result(table.state)
        faults = {seat: peer.faults[self._before[seat] :] for seat, peer in self._peers()}
        data = np.array(actions, action_dtype(self.ruleset)).tobytes()
        record = finished_record(match, self.ruleset, table.state, data, returns, decisions, seconds, {})
        if faults := {seat: found for seat, found in faults.items() if found}:
            told = "; ".join(f"agent {seat + 1}: {in_short(found)}" for seat, found in faults.items())
            record = replace(record, detail=told[:500])
        return Hosted(record, self.log.lines, faults)

    def _info(self, seat: int) -> dict[str, Any]:
        view = self.table.view(seat)
        return game_info(self.ruleset, view, seat, self._talk, self._whispers)

    def _turn_day(self, over: int) -> None:
        # The day `over` is done (if there was one), and the next begins.
        state = self.table.state
        if over >= 0:
            if not self.contest:
                self._finish_day()
            self.log.day_is_over(state, over)
        if self.table.over:
            return
        self._talk, self._whispers, self._finished_day = [], [], False
        self._sent = {seat: [0, 0] for seat in self._sent}
        self.log.status(state)
        for seat, peer in self._peers():
            peer.tell(packet("DAILY_INITIALIZE", self._info(seat)))

    def _finish_day(self) -> None:
        self._finished_day = True
        for seat, peer in self._peers():
            peer.tell(packet("DAILY_FINISH", None, None, *self._news(seat)))

    def _news(self, seat: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        # What was said since this seat was last told; whispers go to wolves only.
        talk, whispers = self._sent[seat]
        self._sent[seat] = [len(self._talk), len(self._whispers)]
        wolf = int(self.table.state["role"][seat]) == 6
        return self._talk[talk:], self._whispers[whispers:] if wolf else []

    def _choose(self, seat: int, said: dict[int, str]) -> int:
        player, table = self.players[seat], self.table
        phase = int(table.state["phase"])
        talking = phase in (TALK, WHISPER)
        if self._words.get(seat):
            return self._words[seat].pop(0)
        if isinstance(player, Agent):
            view = table.view(seat)
            action = int(player.act(view, table.legal(seat)))
            if talking:
                self._add_word(seat, view, action, said)
            return action
        return self._ask_talk(seat, player, said) if talking else self._ask_target(seat, player)

    def _add_word(self, seat: int, view: np.void, action: int, said: dict[int, str]) -> None:
        # The sentence of one of our own agents, when its last word is said.
        seats = self.ruleset.seats
        words = [tuple(int(x) for x in row) for row in view["draft"][seat][: int(view["words"][seat])]]
        act, target, value = (int(x) for x in decode(seats, action))
        try:
            said[seat] = sentence_text(self.ruleset, view, seat, [*words, (act, target + 1, value)])
        except IndexError:
            return  # operands are missing

    def _ask_talk(self, seat: int, peer: Peer, said: dict[int, str]) -> int:
        state = self.table.state
        request = "TALK" if int(state["phase"]) == TALK else "WHISPER"
        if self.contest and request == "WHISPER":
            line = packet(request, self._info(seat), None, *self._news(seat))
        else:
            line = packet(request, None, None, *self._news(seat))
        text = peer.ask(line)
        if text is None or not text.strip():
            return _NOTHING
        text = text.strip()[:1000]
        if self.contest and not is_sentence(text):
            peer.fault(f"it said {text[:80]!r}, which is no sentence of the protocol", lost=False)
            text = "Skip"
        said[seat] = text
        try:
            first, *rest = parse_sentence(self.ruleset, state, seat, text)
        except NotationError:
            return _SKIP  # the others hear the text; the game's own tables cannot hold it
        if not self.table.legal(seat)[first]:
            return _SKIP
        self._words[seat] = rest
        return first

    def _ask_target(self, seat: int, peer: Peer) -> int:
        state, seats = self.table.state, self.ruleset.seats
        role, phase = int(state["role"][seat]), int(state["phase"])
        if phase == VOTE:
            request, act = "VOTE", VOTING
        else:
            assert phase == NIGHT
            request, act = {SEER: ("DIVINE", DIVINATION), BODYGUARD: ("GUARD", GUARD)}.get(role, ("ATTACK", ATTACK))
        later = self.contest and (phase == NIGHT or int(state["ballot"]) > 0)
        line = packet(request, self._info(seat) if later else None, None, *self._news(seat))
        reply = peer.ask(line)
        if reply is None:
            return _NOTHING
        try:
            target = read_target(reply)
        except ClientError as error:
            peer.fault(f"{request}: {error}", error.lost)
            return _NOTHING
        if target is None:
            return _NOTHING if phase == VOTE else _SKIP
        action = encode(seats, act, target - 1, 0) if 1 <= target <= self.ruleset.num_players else _NOTHING
        if action < 0 or not self.table.legal(seat)[action]:
            peer.fault(f"{request}: it named agent {target}, who cannot be chosen", lost=False)
            return _NOTHING if phase == VOTE else _SKIP
        return int(action)

    def _hear(self, phase: int, day: int, turn: int, seat: int, text: str) -> None:
        lines = self._talk if phase == TALK else self._whispers
        said: dict[str, Any] = {"idx": len(lines), "day": day, "agent": seat + 1}
        said |= {"turn": turn, "text": text} if self.contest else {"content": text}
        lines.append(said)
        self.log.utterance("talk" if phase == TALK else "whisper", said)


def accept_peers(
    server: socket.socket, count: int, reply_seconds: float, wait: float, tell: Callable[[str], Any] = print
) -> list[Peer]:
    """Waits until `count` clients have connected and told their names, or `wait` seconds are over."""
    peers: list[Peer] = []
    deadline = time.monotonic() + wait
    while len(peers) < count and (left := deadline - time.monotonic()) > 0:
        server.settimeout(left)
        try:
            connection, address = server.accept()
        except TimeoutError:
            break
        peer = Peer(connection, f"{address[0]}:{address[1]}", reply_seconds)
        name = peer.ask(packet("NAME"))
        if name is None:
            tell(f"{peer.address} told no name and is sent away: {'; '.join(peer.faults)}")
            peer.close()
            continue
        peer.name = (
            "".join(letter for letter in name.strip()[:40] if letter.isprintable() and letter not in ",:") or "?"
        )
        tell(f"{peer.address} is {peer.name!r}")
        peers.append(peer)
    return peers


def play_set(
    ruleset: Ruleset,
    peers: Sequence[Peer],
    make_filler: Callable[[], Agent],
    filler: str,
    games: int,
    secret: Secret,
    done: Callable[[int, Hosted], Any],
) -> None:
    """Plays `games` games of the same players; seats are drawn anew for each, and empty ones filled with our agents.

    All that is drawn follows from the secret, but for the numbers of the deals: a secret may serve for many sets.
    """
    first = secrets.randbelow(2**48) if secret.seed is None else 0
    generator = np.random.default_rng(secret.number("seats", first))
    for number in range(games):
        seats = generator.permutation(ruleset.num_players)[: len(peers)]
        players: list[Peer | Agent] = [make_filler() for _ in range(ruleset.num_players)]
        names = [filler] * ruleset.num_players
        for seat, peer in zip(seats, peers, strict=True):
            players[int(seat)], names[int(seat)] = peer, f"aiwolf:{peer.name}"
        done(number, HostedGame(ruleset, players, names, first + number, secret).play())
