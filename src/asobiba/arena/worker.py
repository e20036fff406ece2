"""The process in which agents think; it is killed and replaced when an agent crashes it or oversteps its time.

Through shared memory the process reports which seat is thinking, since when, and the actions so far. So its parent
knows the culprit and the course of the game when it has to kill the process. It also gives signs of life: a process
that was stopped or killed from outside costs no agent a game; its games are played again.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import shutil
import signal
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import wait
from typing import Any

from asobiba.arena.match import CRASH, TIME_OUT, Match, MatchRecord
from asobiba.arena.player import (
    ALLOWED,
    BEAT,
    BEFORE,
    CPU,
    FIELDS,
    INDEX,
    MOST_STRIKES,
    NOTED,
    PAUSED,
    SEAT,
    STARTED,
    WARMING,
    Checked,
    Late,
    Player,
    SharedClock,
    Terms,
    Unit,
    containment_of,
)
from asobiba.arena.playing import killed_record
from asobiba.core import AsobibaError
from asobiba.core.answers import describe
from asobiba.core.cache import cache_folder
from asobiba.core.errors import RefusedAgent
from asobiba.protocols.process import STOPPED_SECONDS
from asobiba.protocols.scratch import scratch_folder
from asobiba.protocols.stopwatch import OUTSIDE_SIGNALS, TICK, cpu_seconds, is_stopped, share_environment

__all__ = ["RefusedAgent", "Terms", "Unit", "Worker", "WorkerError"]
_LOG_BYTES = 1 << 20
_STALE = 1.0
"""Seconds without a sign of life after which a process is looked at from outside."""
PASSWORDS = ("ASOBIBA_STORE", "PGPASSWORD")
"""Environment variables that may hold the store's password; workers do not need it."""
_context = multiprocessing.get_context("spawn")


class WorkerError(AsobibaError, RuntimeError):
    """Raised when a worker process cannot do its work through no fault of an agent."""


def _work(connection: Any, fields: Any, log: Any, terms: Terms) -> None:
    """The main function of the process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    clock = SharedClock(fields, log, terms)
    _watch(clock)
    _use_threads(terms.threads)
    player = Player(clock, terms)
    while True:
        try:
            unit, suspects = connection.recv()
        except EOFError:
            player.close()
            return
        player.suspect(suspects)
        started = time.monotonic()
        try:
            for found in player.play(unit):
                now = time.monotonic()
                connection.send((found, now - started))
                started = now
            connection.send(None)
        except BrokenPipeError:
            player.close()
            return
        except BaseException as error:
            # Kernels may fail to compile; played singly, the games show which agent is to blame.
            if unit.kind == "check":
                connection.send(_Refusal(str(error)))
            else:
                connection.send(describe(error) if unit.kind == "single" else False)


@dataclass(frozen=True)
class _Refusal:
    """The reason why an agent cannot play."""

    reason: str


def _use_threads(threads: int) -> None:
    import numba

    if threads < numba.config.NUMBA_NUM_THREADS:  # type: ignore[attr-defined]
        numba.set_num_threads(threads)


def _watch(clock: SharedClock) -> None:
    """Gives signs of life; ends this process when its parent is gone, even while an agent thinks forever."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        while not wait([parent.sentinel], TICK):
            clock.beat()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


class Worker:
    """A worker process and its unit, as seen by its parent."""

    def __init__(self, terms: Terms):
        self.unit: Unit | None = None
        self.terms = terms
        self._fields = _context.RawArray("d", FIELDS)
        self._log = _context.RawArray("B", _LOG_BYTES)
        self._done: set[str] = set()
        self._seen: tuple[float, float, float | None] | None = None
        self.again: list[Unit] = []
        self.finished: Unit | None = None
        self.late: frozenset[str] = frozenset()
        """Agents of programs that did not start in time."""
        self.kernel = False
        """Whether the agent that was checked last plays in lockstep."""
        self.connection, theirs = _context.Pipe()
        self.process = _context.Process(
            target=_work, args=(theirs, self._fields, self._log, terms), daemon=True, name="asobiba-worker"
        )
        # The files that the process and its agents leave behind are removed, however it ends.
        self._place = scratch_folder("worker")
        own = {"TMPDIR": str(self._place), "ASOBIBA_CACHE_DIR": str(cache_folder())}
        with _environment({**share_environment(terms.threads), **own, **dict.fromkeys(PASSWORDS)}):
            self.process.start()
        theirs.close()

    def give(self, unit: Unit, suspects: frozenset[str] = frozenset()) -> None:
        """Hands the unit to the process, which must be idle, with the agents that have overstepped their warm-up."""
        self.unit, self._done, self.again = unit, set(), []
        with contextlib.suppress(OSError):  # the process has died; `receive` tells
            self.connection.send((unit, suspects))

    def receive(self) -> tuple[list[MatchRecord], float] | None:
        """Returns the next message of the process: records and the seconds that they took, or `None` when its unit is
        done. The unit then stands in `finished`, matches still to be played in `again`.

        Raises:
            EOFError: if the process has died.
            WorkerError: for a failure that is no agent's fault.
            RefusedAgent: if the agent that was to be checked cannot play.
        """
        try:
            message = self.connection.recv()
        except OSError:
            raise EOFError from None
        if isinstance(message, str):
            raise WorkerError(f"a worker process failed: {message}")
        if isinstance(message, _Refusal):
            raise RefusedAgent(message.reason)
        if isinstance(message, tuple):
            found, seconds = message
            if isinstance(found, Checked):
                self.kernel = found.kernel
                return [], seconds
            if isinstance(found, Unit):
                self._done |= {match.key for match in found.matches}
                self.again.append(found)
                return [], seconds
            if isinstance(found, Late):
                self.late |= {found.agent}
                return [], seconds
            return self._asked_for(found), seconds
        assert self.unit is not None
        self.again += self._missing(self.unit, failed=message is False)
        self.finished, self.unit = self.unit, None
        return None

    def _asked_for(self, records: Sequence[MatchRecord]) -> list[MatchRecord]:
        """The records that were asked for and have not come before."""
        left = {match.key for match in self.unit.matches} - self._done if self.unit is not None else set()
        fresh = {record.match.key: record for record in records if record.match.key in left}
        self._done |= fresh.keys()
        return list(fresh.values())

    def _missing(self, unit: Unit, failed: bool) -> list[Unit]:
        """The part of a finished unit that must be played again.

        Raises:
            WorkerError: if matches are missing repeatedly.
        """
        rest = [match for match in unit.matches if match.key not in self._done]
        if unit.kind not in ("batch", "single") or not rest:
            return []
        if failed:
            return _units(rest)
        if unit.strikes + 1 >= MOST_STRIKES:
            names = ", ".join(dict.fromkeys(name for match in rest for name in match.seats))
            raise WorkerError(f"{len(rest)} games of {names} came back without a record {MOST_STRIKES} times")
        return [replace(one, strikes=unit.strikes + 1) for one in _units(rest)]

    @property
    def overdue(self) -> str | None:
        """The reason to end this process: `TIME_OUT` if the thinking agent has overstepped its time, "stopped" if
        something outside has stopped the process for long; else `None`.
        """
        started, beat = self._fields[STARTED], self._fields[BEAT]
        if self.unit is None or beat == 0:
            return None
        now = time.monotonic()
        if now - beat > _STALE:
            return self._silent(now, beat)
        self._seen = None
        if started == 0:
            return None
        thought = beat - started - (self._fields[PAUSED] - self._fields[BEFORE])
        allowed, warming = self._fields[ALLOWED], self._fields[WARMING]
        if self._fields[STARTED] != started:  # it has begun another move while this one was looked at
            return None
        # On a busy machine compiling takes long by the clock, so a warm-up is judged by its processor time.
        late = thought > allowed + TICK or 0 < warming < self._fields[CPU]
        return TIME_OUT if late else None

    def _silent(self, now: float, beat: float) -> str | None:
        """Handles a process without a sign of life: it is stopped, or an agent holds the interpreter."""
        pid = self.process.pid or 0
        if self._seen is None or self._seen[0] != beat:
            self._seen = (beat, now, cpu_seconds(pid))
            return None
        _, since, cpu = self._seen
        silent, latest = now - since, cpu_seconds(pid)
        if self._fields[STARTED] and cpu is not None and latest is not None and not is_stopped(pid):
            if latest - cpu > max(self._fields[ALLOWED], _STALE):
                return TIME_OUT
            if silent > self._fields[ALLOWED] + STOPPED_SECONDS:
                return "stopped"
            return None
        return "stopped" if silent > STOPPED_SECONDS else None

    @property
    def suspect(self) -> str | None:
        """The agent that was warming up when the process ended."""
        if self.unit is None or not (self.was_thinking and self._fields[WARMING]):
            return None
        return self.unit.matches[int(self._fields[INDEX])].seats[int(self._fields[SEAT])]

    def kill(self) -> None:
        """Ends the process and all that it has started."""
        with contextlib.suppress(Exception):
            import psutil

            for child in psutil.Process(self.process.pid).children(recursive=True):
                child.kill()
        self.process.kill()
        self.process.join()
        self.connection.close()
        shutil.rmtree(self._place, ignore_errors=True)

    def verdict(self, reason: str) -> tuple[list[MatchRecord], list[Unit]]:
        """After the end of the process: the record of the game that it died in, and what remains to be played.

        Args:
            reason: `CRASH`, `TIME_OUT`, or "stopped".
        """
        unit = self.unit
        if unit is None:
            return [], self.again
        rest = [match for match in unit.matches if match.key not in self._done]
        code = self.process.exitcode
        outside = reason == "stopped" or (reason == CRASH and code in [-number for number in OUTSIDE_SIGNALS])
        blamed = self.was_thinking and not (outside and unit.strikes + 1 < MOST_STRIKES)
        if unit.kind in ("warm", "check"):
            return [], [*self.again, *([] if blamed else [replace(unit, strikes=unit.strikes + 1)])]
        if unit.kind == "batch":  # games in lockstep share their time: played singly they show who is to blame
            left = _units(rest) if blamed else [replace(unit, matches=tuple(rest), strikes=unit.strikes + 1)]
            return [], [*self.again, *(left if rest else [])]
        match = unit.matches[int(self._fields[INDEX])]
        if not self.was_thinking or match.key in self._done:
            return [], [*self.again, *_units(rest)]
        others = _units([m for m in rest if m is not match])
        if not blamed:
            return [], [*self.again, Unit((match,), "single", strikes=unit.strikes + 1), *others]
        if reason == TIME_OUT:
            what = "compile what it needs" if self._fields[WARMING] else "answer"
            seconds = time.monotonic() - self._fields[STARTED]
            detail = f"did not {what} within {seconds:.3g} s and was stopped"
        elif outside:
            detail = f"the process was ended from outside {MOST_STRIKES} times while it thought"
        else:
            detail = f"the process ended with exit code {code}"
        log = bytes(memoryview(self._log).cast("B")[: int(self._fields[NOTED])])
        record = killed_record(match, int(self._fields[SEAT]), CRASH if outside else reason, detail, log)
        return [replace(record, contained=containment_of(match, self.terms))], [*self.again, *others]

    @property
    def was_thinking(self) -> bool:
        """Whether an agent was thinking when the process ended."""
        return self._fields[STARTED] > 0


@contextlib.contextmanager
def _environment(variables: Mapping[str, str | None]) -> Iterator[None]:
    """The environment that processes started inside inherit; without those that are `None`."""
    before = {name: os.environ.get(name) for name in variables}
    _set_environment(variables)
    try:
        yield
    finally:
        _set_environment(before)


def _set_environment(variables: Mapping[str, str | None]) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def _units(matches: Sequence[Match]) -> list[Unit]:
    return [Unit(tuple(matches), "single")] if matches else []
