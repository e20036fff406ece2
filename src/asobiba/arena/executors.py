"""Executors of matches: processes of this machine, or Ray. The records do not depend on the executor."""

from __future__ import annotations

import os
import time
import weakref
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from multiprocessing.connection import wait
from typing import Any, Protocol

from asobiba.arena.costs import Past, Workload
from asobiba.arena.match import CRASH, Match, MatchRecord
from asobiba.arena.trust import NOBODY, Trust, contained
from asobiba.arena.worker import Terms, Unit, Worker, WorkerError
from asobiba.core import game
from asobiba.protocols.sandbox import Sandbox
from asobiba.protocols.scratch import sweep
from asobiba.protocols.stopwatch import own_share

TIME_LIMIT = 10.0
"""Seconds that an agent may take for a move, unless told otherwise."""
WARM_UP = 120.0
"""Seconds of processor time that an agent may take, once per process, to compile what it needs before its time counts."""

_POLL = 0.05
_AT_LEAST = 20.0
FRUITLESS_DEATHS = 5


def available_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Source(Protocol):
    """A source of units: a `Workload`, or a list of units that were made elsewhere."""

    def take(self) -> Unit | None: ...
    def finished(self, unit: Unit) -> None: ...
    def again(self, units: Iterable[Unit]) -> None: ...
    def played(self, unit: Unit, records: Sequence[MatchRecord], seconds: float) -> None: ...
    def __bool__(self) -> bool: ...


class UnitList:
    """Units in the order in which they are given."""

    def __init__(self, units: Iterable[Unit]):
        self._units = deque(units)

    def __bool__(self) -> bool:
        return bool(self._units)

    def take(self) -> Unit | None:
        return self._units.popleft() if self._units else None

    def finished(self, unit: Unit) -> None:
        pass

    def again(self, units: Iterable[Unit]) -> None:
        self._units.extend(units)

    def played(self, unit: Unit, records: Sequence[MatchRecord], seconds: float) -> None:
        pass


class Executor(ABC):
    """Plays matches, in any order and place.

    Args:
        jobs: number of workers that play at the same time.
        terms: time limits, trust and containment.
    """

    def __init__(
        self,
        jobs: int | None,
        time_limit: float | None = TIME_LIMIT,
        warm_up: float = WARM_UP,
        trust: Trust = NOBODY,
        containment: Sandbox | None = None,
    ):
        if jobs is not None and jobs < 1:
            raise ValueError(f"jobs must be at least 1, not {jobs}")
        if time_limit is not None and not time_limit > 0:
            raise ValueError(f"the time limit must be positive, not {time_limit}")
        sweep()
        self.terms = Terms(time_limit, warm_up, trust, containment or Sandbox())
        self.compiling: Callable[[list[str]], None] = lambda agents: None
        """Told which agents must be compiled before games begin."""
        self.kernels: set[str] = set()
        """Agents that were checked and play in lockstep."""

    def hide(self, place: str) -> None:
        """Hides this file or folder from contained agents."""
        beside = [place, f"{place}-wal", f"{place}-shm"]
        hidden = tuple(os.path.abspath(path) for path in beside)
        self.terms = replace(self.terms, containment=replace(self.terms.containment, hidden=hidden))

    @abstractmethod
    def play(
        self,
        matches: Sequence[Match],
        until: float | None = None,
        before: Mapping[tuple[str, ...], Past] | None = None,
    ) -> Iterator[list[MatchRecord]]:
        """Plays the matches and yields their records as they come.

        Args:
            matches: the matches to play.
            until: stop at this time of `time.monotonic()`, but not sooner than 20 s, or half of the time that there was,
                after the first record, which compiling may delay; games in progress are then discarded.
            before: figures of pairings (the agents of their seats, sorted) that have played already.

        Raises:
            WorkerError: if processes die while no agent is thinking.
        """

    def workload(self, matches: Sequence[Match], jobs: int, before: Mapping[tuple[str, ...], Past] | None) -> Workload:
        """The matches as units, after a message on what must be compiled."""
        work = Workload(matches, jobs, before, self.terms.trust, self.kernels)
        if work.compiling:
            self.compiling(work.compiling)
        return work

    def check(self, matches: Sequence[Match]) -> None:
        """Builds the agent of each match's first seat in a worker and begins a game with it.

        Raises:
            RefusedAgent: if one cannot play.
        """
        self._check(matches, available_cores()).close()

    def _check(self, matches: Sequence[Match], jobs: int) -> WorkerPool:
        """The pool that has checked them; its workers are idle."""
        pool = WorkerPool(UnitList([Unit((match,), "check") for match in matches]), jobs, self._terms(jobs))
        try:
            for _ in pool.run():
                pass
        except BaseException:
            pool.close()
            raise
        self.kernels |= pool.kernels
        self._remember(pool)
        return pool

    def _remember(self, pool: WorkerPool) -> None:
        """An agent that has overstepped its warm-up once gets no other one in the next round."""
        self.terms = replace(self.terms, suspects=self.terms.suspects | pool.terms.suspects)

    def _terms(self, jobs: int) -> Terms:
        return replace(self.terms, threads=own_share(jobs, available_cores()))


class LocalExecutor(Executor):
    """A pool of processes on this machine. The processes stay alive between units, since their imports and compiled
    code cost seconds, and end with the executor; processes of contained agents end with their games.

    Args:
        jobs: number of processes; `None`: one per core.
        time_limit: seconds per move; `None`: no limit.
        warm_up: seconds of processor time that an agent may take once per process before its time counts.
        trust: agents that need no containment.
        containment: of the other agents; `None` for the strongest that works here.
    """

    def __init__(self, jobs: int | None = None, *arguments: Any, **options: Any):
        super().__init__(jobs, *arguments, **options)
        self.jobs = jobs or available_cores()
        self._waiting: list[Worker] = []
        weakref.finalize(self, _end, self._waiting)

    def check(self, matches: Sequence[Match]) -> None:
        self._waiting += self._check(matches, self.jobs).workers

    def play(
        self,
        matches: Sequence[Match],
        until: float | None = None,
        before: Mapping[tuple[str, ...], Past] | None = None,
    ) -> Iterator[list[MatchRecord]]:
        strangers = {(match.game, text) for match in matches for text in match.seats}
        keep = not any(contained(game(name), text, self.terms.trust) for name, text in strangers)
        return self._play(self.workload(matches, self.jobs, before), until, keep)

    def _play(self, work: Source, until: float | None, keep: bool) -> Iterator[list[MatchRecord]]:
        terms = self._terms(self.jobs)
        ready = [worker for worker in self._waiting if _alike(worker.terms, terms) and worker.process.is_alive()][
            : self.jobs
        ]
        others = [worker for worker in self._waiting if worker not in ready]
        self._waiting.clear()
        _end(others)
        pool = WorkerPool(work, self.jobs, terms, ready)
        try:
            yield from pool.run(until)
            if keep:
                self._waiting += [worker for worker in pool.workers if worker.unit is None]
                pool.workers = [worker for worker in pool.workers if worker.unit is not None]
        finally:
            self._remember(pool)
            pool.close()


def _alike(ours: Terms, theirs: Terms) -> bool:
    """Whether workers with the one terms may play under the other; suspects are passed with each unit."""
    return replace(ours, suspects=frozenset()) == replace(theirs, suspects=frozenset())


def _end(workers: list[Worker]) -> None:
    while workers:
        workers.pop().kill()


class WorkerPool:
    """Workers and their units; to be closed when nothing is left to play.

    Args:
        work: the source of units.
        jobs: how many workers at most.
        terms: of the workers that it starts.
        workers: idle workers to use first.
    """

    def __init__(self, work: Source, jobs: int, terms: Terms, workers: Iterable[Worker] = ()):
        self.work, self.jobs, self.terms = work, jobs, terms
        self.workers = list(workers)
        self.kernels: set[str] = set()
        self.deaths = 0

    def run(self, until: float | None = None) -> Iterator[list[MatchRecord]]:
        """Plays until nothing is left or the time is up."""
        playing = False
        least = 0.0 if until is None else min(_AT_LEAST, (until - time.monotonic()) / 2)
        while self.work or any(worker.unit for worker in self.workers):
            if until is not None and playing and time.monotonic() > until:
                return
            self._employ()
            ready = set(wait([worker.connection for worker in self.workers], _POLL))
            for worker in list(self.workers):
                for records in self._attend(worker, worker.connection in ready):
                    if until is not None and not playing:
                        until = max(until, time.monotonic() + least)
                    playing = True
                    yield records

    def close(self) -> None:
        """Ends the workers."""
        _end(self.workers)

    def _employ(self) -> None:
        """Gives idle workers something to do, and starts workers while there is more."""
        for worker in self.workers:
            if worker.unit is None:
                unit = self.work.take()
                if unit is None:
                    return
                worker.give(unit, self.terms.suspects)
        while len(self.workers) < self.jobs:
            unit = self.work.take()
            if unit is None:
                return
            self.workers.append(Worker(self.terms))
            self.workers[-1].give(unit, self.terms.suspects)

    def _suspect(self, agents: frozenset[str]) -> None:
        if not agents <= self.terms.suspects:
            self.terms = replace(self.terms, suspects=self.terms.suspects | agents)

    def _attend(self, worker: Worker, speaks: bool) -> Iterator[list[MatchRecord]]:
        reason = None
        if speaks:
            unit = worker.unit
            try:
                message = worker.receive()
            except EOFError:
                reason = CRASH
            else:
                self.deaths = 0
                self._suspect(worker.late)
                if message is None:
                    if worker.finished is not None:
                        self.work.finished(worker.finished)
                        if worker.finished.kind == "check" and worker.kernel:
                            self.kernels.add(worker.finished.matches[0].seats[0])
                    self.work.again(worker.again)
                else:
                    records, seconds = message
                    if unit is not None:
                        self.work.played(unit, records, seconds)
                    if records:
                        yield records
        else:
            reason = worker.overdue
        if reason is not None:
            yield from self._bury(worker, reason)

    def _bury(self, worker: Worker, reason: str) -> Iterator[list[MatchRecord]]:
        unit = worker.unit
        self.workers.remove(worker)
        worker.kill()
        if worker.suspect is not None and reason != CRASH:
            self._suspect(frozenset({worker.suspect}))
        self.deaths = 0 if worker.was_thinking and reason != "stopped" else self.deaths + 1
        if self.deaths == FRUITLESS_DEATHS:
            raise WorkerError(
                f"{self.deaths} worker processes in a row ended with exit code {worker.process.exitcode} though "
                "no agent was thinking; is the machine short of memory?"
            )
        records, again = worker.verdict(reason)
        if unit is not None:
            self.work.finished(unit)
        self.work.again(again)
        if records:
            yield records
