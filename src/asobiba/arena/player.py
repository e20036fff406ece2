"""The work inside a worker process: it builds agents, plays, and reports through shared memory who is thinking since
when."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from asobiba.arena.match import CRASH, LiveGame, Match, MatchRecord
from asobiba.arena.playing import killed_record, play_lockstep, play_match, plays_in_lockstep
from asobiba.arena.referee import Clock, Undecided
from asobiba.arena.trust import NOBODY, Trust, contained, make_player
from asobiba.core import Agent, AsobibaError
from asobiba.core.answers import describe
from asobiba.protocols import sandbox
from asobiba.protocols.process import EngineDied, EngineMissing
from asobiba.protocols.sandbox import Sandbox
from asobiba.protocols.stopwatch import Pauses

FIELDS = 10
STARTED, ALLOWED, SEAT, INDEX, NOTED, WARMING, CPU, BEAT, PAUSED, BEFORE = range(FIELDS)
"""Fields of the shared clock: when the present thinking began and how long it may take, whose it is, in which match of
the unit; bytes in the log of actions; the processor time at which a warm-up is over; processor time, time and pauses at
the last sign of life; pauses before the present thinking."""
_WALL_PER_CPU = 3
"""A warm-up may take this many seconds by the clock for every second of processor time that it is allowed."""
MOST_STRIKES = 3
"""Number of attempts at a game whose end cannot be decided; after them the agent that was thinking each time gets the
blame."""


@dataclass(frozen=True)
class Unit:
    """Task of a worker.

    Args:
        matches: the matches to play.
        kind: "batch": matches of equal seats between compiled agents, played in lockstep; "single": one after another; "warm":
            nothing is played, the kernels of the first seat are compiled and put into the disk cache; "check": nothing
            is played, the agents are built, and begin a game.
        compiles: name of the kernel that a "warm" unit compiles.
        strikes: how often the first match has been played without a decision.
    """

    matches: tuple[Match, ...]
    kind: Literal["batch", "single", "warm", "check"]
    compiles: str = ""
    strikes: int = 0


@dataclass(frozen=True)
class Terms:
    """The terms under which workers play.

    Args:
        limit: seconds per move, or `None`.
        warm_up: seconds of processor time that an agent may take once before its time counts.
        trust: the agents that need no containment.
        containment: of the other agents.
        threads: number that each worker may use.
        suspects: agents that have overstepped `warm_up` before, and get `limit` instead.
    """

    limit: float | None
    warm_up: float
    trust: Trust = NOBODY
    containment: Sandbox = field(default_factory=Sandbox)
    threads: int = 1
    suspects: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Late:
    """An agent whose program did not start within its warm-up."""

    agent: str


@dataclass(frozen=True)
class Checked:
    """An agent that was built and began a game, and whether it plays in lockstep."""

    kernel: bool


class SharedClock(Clock):
    faults = (BaseException,)
    patience = True

    def __init__(self, fields: Any, log: Any, terms: Terms):
        super().__init__(terms.limit)
        self._fields, self._log, self._terms = fields, memoryview(log).cast("B"), terms
        self.pauses = Pauses()
        self.suspects = terms.suspects
        self._pid = os.getpid()

    def start(self, seat: int, agent: str, moves: int = 1, slack: float = 0.0) -> None:
        self._begin(seat, None if self.limit is None else moves * self.limit + slack)

    def warm(self, seat: int, agent: str) -> None:
        if self.limit is None or agent in self.suspects:
            self._begin(seat, self.limit)
        else:
            allowed = max(self._terms.warm_up, self.limit)
            self._begin(seat, _WALL_PER_CPU * allowed)
            self._fields[WARMING] = time.process_time() + allowed

    def _begin(self, seat: int, allowed: float | None) -> None:
        self._fields[ALLOWED] = np.inf if allowed is None else allowed
        self._fields[SEAT] = seat
        self._fields[WARMING] = 0
        self._fields[BEFORE] = self._before = self.pauses.total
        self._began = time.monotonic()
        self._fields[STARTED] = self._began

    def stop(self) -> float:
        if os.getpid() != self._pid:  # an agent has forked, and its child has returned here too
            os._exit(0)
        self._fields[STARTED] = 0.0
        passed = time.monotonic() - self._began
        # Looking at the pauses costs more than most moves take.
        return passed if self.limit is None or passed < self.limit / 2 else passed - (self.pauses.total - self._before)

    def begin_match(self, index: int) -> None:
        self._fields[NOTED] = 0
        self._fields[INDEX] = index

    def note(self, action: bytes) -> None:
        begin = int(self._fields[NOTED])
        if begin + len(action) <= len(self._log):
            self._log[begin : begin + len(action)] = action
            self._fields[NOTED] = begin + len(action)

    def beat(self) -> None:
        """A sign of life, every `TICK`."""
        now, paused = self.pauses.tick()
        self._fields[PAUSED] = paused
        self._fields[CPU] = time.process_time()
        self._fields[BEAT] = now  # last, and the time of the pauses: the process may be stopped between any two lines


class Player:
    """Plays units, keeping the agents that it has built."""

    def __init__(self, clock: SharedClock, terms: Terms):
        self.clock, self.terms = clock, terms
        self._agents: dict[tuple, Agent] = {}
        self._checked: dict[tuple, Agent] = {}
        """Agents that began a game and have not played yet."""
        self._told: frozenset[str] = terms.suspects

    def suspect(self, agents: frozenset[str]) -> None:
        """Notes agents that have overstepped their warm-up, here or elsewhere: their limit is now that of a move."""
        self.clock.suspects |= agents
        self._told |= agents

    def _late(self) -> Iterator[Late]:
        """Agents whose programs did not start in time, each reported once."""
        for agent in [*self._agents.values(), *self._checked.values()]:
            if getattr(agent, "started_late", False) and agent.name not in self._told:
                self.suspect(frozenset({agent.name}))
                yield Late(agent.name)

    def play(self, unit: Unit) -> Iterator[Any]:
        """Yields lists of records, `Unit`s to be played again, and `Late` agents."""
        for found in self._play(unit):
            yield found
            yield from self._late()

    def _play(self, unit: Unit) -> Iterator[Any]:
        self.clock.begin_match(0)
        if unit.kind == "warm":
            self._seat(unit.matches[0], 0, "warm")
        elif unit.kind == "check":
            yield Checked(self._check(unit.matches[0]))
        elif unit.kind == "batch":
            agents: Any = [self._seat(unit.matches[0], seat, "batch") for seat in range(len(unit.matches[0].seats))]
            yield from play_lockstep(unit.matches, agents, self.clock)
        else:
            for index, match in enumerate(unit.matches):
                self.clock.begin_match(index)
                yield self._single(match, unit.strikes if index == 0 else 0)

    def _single(self, match: Match, strikes: int) -> list[MatchRecord] | Unit:
        agents = []
        try:
            for seat in range(len(match.seats)):
                agents.append(self._seat(match, seat, "single"))
            record = play_match(match, agents, self.clock)
        except Undecided as error:
            if strikes + 1 < MOST_STRIKES:
                return Unit((match,), "single", strikes=strikes + 1)
            record = killed_record(match, error.seat, CRASH, f"{error.detail} ({MOST_STRIKES} times)", b"")
        except _NotBuilt as error:  # it could be built when the league began, but not here
            record = killed_record(match, len(agents), CRASH, str(error), b"")
        return [replace(record, contained=containment_of(match, self.terms))]

    def _seat(self, match: Match, seat: int, kind: str) -> Agent:
        text = match.seats[seat]
        key = (match.game, match.parameters_text, text, seat, kind)
        if key not in self._agents:
            self.clock.warm(seat, text)
            try:
                agent = self._build(match, text)
                _warm(match, agent, seat, kind)
            finally:
                self.clock.stop()
            self._agents[key] = agent
        agent = self._agents[key]
        if getattr(agent, "thinks_outside", False) and (text in self.clock.suspects):
            agent.started_late = True  # type: ignore[attr-defined]
        return agent

    def _build(self, match: Match, text: str) -> Agent:
        checked = self._checked.pop((match.game, match.parameters_text, text), None)
        if checked is not None:
            return checked
        inside = self.terms.containment if contained(match.ruleset().game, text, self.terms.trust) else None
        try:
            with sandbox.programs_in(inside):
                agent = make_player(match.ruleset().game, text, self.terms.trust)
        except BaseException as error:
            raise _NotBuilt(describe(error)) from error
        if getattr(agent, "thinks_outside", False):
            agent.limit = self.terms.limit  # type: ignore[attr-defined]
        return agent

    def _check(self, match: Match) -> bool:
        """Builds the agent of the first seat and begins a game with it; returns whether it plays in lockstep.

        Raises:
            AsobibaError, FileNotFoundError: if it cannot play this game at all. Other faults lose it its games.
        """
        self.clock.warm(0, match.seats[0])
        try:
            agent = self._build(match, match.seats[0])
            agent.reset(match.ruleset(), 0, 0)
            self._checked[match.game, match.parameters_text, match.seats[0]] = agent
            return plays_in_lockstep(match.ruleset(), [agent])
        except _NotBuilt as error:
            cause = error.__cause__
            if isinstance(cause, (AsobibaError, FileNotFoundError)):
                raise cause from None
        except EngineMissing:
            raise
        except EngineDied:
            pass
        except (AsobibaError, FileNotFoundError):
            raise
        except BaseException:  # its games will show it, and record it
            pass
        finally:
            self.clock.stop()
        return False

    def close(self) -> None:
        for agent in (*self._agents.values(), *self._checked.values()):
            with contextlib.suppress(Exception):
                agent.close()


class _NotBuilt(Exception):
    """An agent whose constructor failed."""


def containment_of(match: Match, terms: Terms) -> str:
    """The entry on record about the containment of a match's agents."""
    game = match.ruleset().game
    words = [terms.containment.name if contained(game, text, terms.trust) else "" for text in match.seats]
    return ",".join(words) if any(words) else ""


def _warm(match: Match, agent: Agent, seat: int, kind: str) -> None:
    """One decision in the starting position, so that late compiling or loading does not count as thinking."""
    with contextlib.suppress(BaseException):  # a game will show it, and put it on record
        if kind == "single":
            ruleset = match.ruleset()
            live = LiveGame(ruleset)
            live.begin(0)  # not the game that is to be played
            mover = seat if seat in live.movers else live.movers[0]
            agent.begin(ruleset, (mover,), (0,))
            agent.act(live.view(mover), live.legal(mover))
        else:
            agents: Any = [agent] * len(match.seats)
            next(play_lockstep([match], agents, stop_after=1), None)
