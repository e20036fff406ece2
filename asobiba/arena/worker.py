"""The process in which agents think: killed and replaced when one of them crashes it or oversteps its time.

The process tells through shared memory which seat thinks since when, and which actions the game took so far, so that
whoever watches it knows whom to blame and what was played when it has to be killed.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import wait
from typing import Any, Literal

import numpy as np

from asobiba.arena.lockstep import play_lockstep
from asobiba.arena.match import CRASH, TIME_OUT, Match, Record, Table, Thinking, killed_record, play_match
from asobiba.core import Agent, AsobibaError, make_agent

_STARTED, _ALLOWED, _SEAT, _INDEX, _NOTED, _WARMING, _CPU = range(7)
_LOG_BYTES = 1 << 20
_WALL_PER_CPU = 10
"""A warm-up may take this many seconds by the clock for every second of processor time that it is allowed."""
_context = multiprocessing.get_context("spawn")


class WorkerError(AsobibaError, RuntimeError):
    """A worker process that cannot do its work, for a reason that no agent is to blame for."""


@dataclass(frozen=True)
class Unit:
    """What a worker gets at a time. "batch": matches of equal seats between kernels, played in lockstep; "single": one
    after another; "warm": nothing is played, the seats' kernels are compiled and put into the disk cache."""

    matches: tuple[Match, ...]
    kind: Literal["batch", "single", "warm"]


class _SharedThinking(Thinking):
    def __init__(self, clock: Any, log: Any, limit: float | None, warm_up: float, suspects: frozenset[str]):
        super().__init__(limit)
        self._clock, self._log, self._warm_up = clock, memoryview(log).cast("B"), warm_up
        self._suspects = suspects

    def start(self, seat: int, agent: str, moves: int = 1) -> float | None:
        allowed = super().start(seat, agent, moves)
        self._begin(seat, allowed)
        return allowed

    def warm(self, seat: int, agent: str) -> None:
        """The agent at `seat` compiles what it needs, before its time counts."""
        if self.limit is None or agent in self._suspects:
            self._begin(seat, self.limit)
        else:
            self._begin(seat, _WALL_PER_CPU * max(self._warm_up, self.limit))
            self._clock[_WARMING] = time.process_time() + max(self._warm_up, self.limit)

    def _begin(self, seat: int, allowed: float | None) -> None:
        self._clock[_ALLOWED] = np.inf if allowed is None else allowed
        self._clock[_SEAT] = seat
        self._clock[_WARMING] = 0
        self._clock[_STARTED] = time.monotonic()

    def stop(self) -> None:
        self._clock[_STARTED] = 0.0

    def begin_match(self, index: int) -> None:
        self._clock[_NOTED] = 0
        self._clock[_INDEX] = index

    def note(self, action: bytes) -> None:
        begin = int(self._clock[_NOTED])
        if begin + len(action) <= len(self._log):
            self._log[begin : begin + len(action)] = action
            self._clock[_NOTED] = begin + len(action)


class _Player:
    """Plays units, keeping the agents that it has built."""

    def __init__(self, thinking: _SharedThinking):
        self.thinking = thinking
        self._agents: dict[tuple, Agent] = {}

    def play(self, unit: Unit) -> Iterator[list[Record]]:
        self.thinking.begin_match(0)
        if unit.kind == "warm":
            self._seated(unit.matches[0], "warm")
        elif unit.kind == "batch":
            agents: Any = self._seated(unit.matches[0], "batch")
            yield from play_lockstep(unit.matches, agents, self.thinking)
        else:
            for index, match in enumerate(unit.matches):
                self.thinking.begin_match(index)
                yield [self._single(match)]

    def _single(self, match: Match) -> Record:
        for seat in range(len(match.seats)):
            try:
                self._agent(match, seat, "single")
            except Exception as error:  # it could be built when the league began, but not here
                return killed_record(match, seat, CRASH, f"{type(error).__name__}: {error}", b"")
        return play_match(match, self._seated(match, "single"), self.thinking)

    def _seated(self, match: Match, kind: str) -> list[Agent]:
        return [self._agent(match, seat, kind) for seat in range(len(match.seats))]

    def _agent(self, match: Match, seat: int, kind: str) -> Agent:
        key = (match.game, match.parameters_text, match.seats[seat], seat, kind)
        if key not in self._agents:
            agent = make_agent(match.ruleset().game, match.seats[seat])
            self.thinking.warm(seat, match.seats[seat])
            try:
                _warm(match, agent, seat, kind)
            finally:
                self.thinking.stop()
            self._agents[key] = agent
        return self._agents[key]


def _warm(match: Match, agent: Agent, seat: int, kind: str) -> None:
    """One decision in the starting position, so that what is compiled or loaded late does not count as thinking."""
    with contextlib.suppress(Exception):  # a game will show it, and put it on record
        if kind == "single":
            ruleset = match.ruleset()
            table = Table(ruleset)
            table.begin(match.seed)
            mover = seat if ruleset.simultaneous else table.movers[0]
            agent.reset(ruleset, mover, match.seed)
            agent.act(table.view(mover), table.legal(mover))
        else:
            agents: Any = [agent] * len(match.seats)
            next(play_lockstep([match], agents, stop_after=1), None)


def _work(connection: Any, clock: Any, log: Any, limit: float | None, warm_up: float, suspects: frozenset[str]) -> None:
    """The main function of the process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _watch(clock)
    player = _Player(_SharedThinking(clock, log, limit, warm_up, suspects))
    while True:
        try:
            unit = connection.recv()
        except EOFError:
            return
        try:
            for records in player.play(unit):
                connection.send(records)
            connection.send(None)
        except BrokenPipeError:
            return
        except Exception as error:
            # Kernels may fail to compile; played singly, the games show which agent is to blame.
            connection.send(f"{type(error).__name__}: {error}" if unit.kind == "single" else False)


def _watch(clock: Any) -> None:
    """Tells the processor time; ends this process when its parent is gone, even while an agent thinks forever."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        while not wait([parent.sentinel], 0.2):
            clock[_CPU] = time.process_time()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


class Worker:
    """A worker process and the unit that it plays, seen from the process that started it.

    Args:
        limit: seconds per move, or `None`.
        warm_up: seconds of processor time that an agent may take once before its time counts.
        suspects: agents that have overstepped `warm_up` before, and get `limit` instead.
    """

    def __init__(self, limit: float | None, warm_up: float, suspects: Iterable[str] = ()):
        self.unit: Unit | None = None
        self._clock = _context.RawArray("d", 7)
        self._log = _context.RawArray("B", _LOG_BYTES)
        self._done: set[str] = set()
        self.again: list[Unit] = []
        self.connection, theirs = _context.Pipe()
        self.process = _context.Process(
            target=_work,
            args=(theirs, self._clock, self._log, limit, warm_up, frozenset(suspects)),
            daemon=True,
            name="asobiba-worker",
        )
        self.process.start()
        theirs.close()

    def give(self, unit: Unit) -> None:
        """Hands the unit to the process, which must be idle."""
        self.unit, self._done, self.again = unit, set(), []
        with contextlib.suppress(OSError):  # the process has died; `receive` tells
            self.connection.send(unit)

    def receive(self) -> list[Record] | None:
        """What the process has to say: records, or `None` when its unit is done (and `again` is to be played yet).

        Raises:
            EOFError: if the process has died.
            WorkerError: if something failed that no agent is to blame for.
        """
        try:
            message = self.connection.recv()
        except OSError:
            raise EOFError from None
        if isinstance(message, str):
            raise WorkerError(f"a worker process failed: {message}")
        if message is None or message is False:
            assert self.unit is not None
            unfinished = message is False and self.unit.kind == "batch"
            self.again = _units([m for m in self.unit.matches if m.key not in self._done]) if unfinished else []
            self.unit, message = None, None
        else:
            self._done |= {record.match.key for record in message}
        return message

    @property
    def overdue(self) -> bool:
        """Whether the agent that thinks has overstepped its time."""
        started, allowed, warm = self._clock[_STARTED], self._clock[_ALLOWED], self._clock[_WARMING]
        if started == 0:
            return False
        # On a busy machine compiling takes long by the clock, so that a warm-up is judged by its processor time.
        return time.monotonic() - started > allowed + 0.02 or 0 < warm < self._clock[_CPU]

    @property
    def suspect(self) -> str | None:
        """The agent that was warming up when the process ended."""
        if self.unit is None or not (self.was_thinking and self._clock[_WARMING]):
            return None
        return self.unit.matches[int(self._clock[_INDEX])].seats[int(self._clock[_SEAT])]

    def kill(self) -> None:
        self.process.kill()
        self.process.join()
        self.connection.close()

    def verdict(self, reason: str) -> tuple[list[Record], list[Unit]]:
        """After the end of the process: the record of the game that it died in, and what remains to be played."""
        unit, thinking = self.unit, self._clock[_STARTED] > 0
        if unit is None or unit.kind == "warm":
            return [], []
        rest = [match for match in unit.matches if match.key not in self._done]
        if unit.kind == "batch":  # games in lockstep share their time: played singly they show who is to blame
            return [], _units(rest)
        index = int(self._clock[_INDEX])
        match = unit.matches[index]
        if not thinking or match.key in self._done:
            return [], _units(rest)
        if reason == TIME_OUT:
            what = "compile what it needs" if self._clock[_WARMING] else "answer"
            seconds = time.monotonic() - self._clock[_STARTED]
            detail = f"did not {what} within {seconds:.3g} s and was stopped"
        else:
            detail = f"the process ended with exit code {self.process.exitcode}"
        log = bytes(memoryview(self._log).cast("B")[: int(self._clock[_NOTED])])
        record = killed_record(match, int(self._clock[_SEAT]), reason, detail, log)
        return [record], _units([m for m in rest if m is not match])

    @property
    def was_thinking(self) -> bool:
        """Whether an agent was thinking when the process ended."""
        return self._clock[_STARTED] > 0


def _units(matches: Sequence[Match]) -> list[Unit]:
    return [Unit(tuple(matches), "single")] if matches else []
