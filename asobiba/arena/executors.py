"""Who plays the matches: processes of this machine, or Ray. The records do not depend on it."""

from __future__ import annotations

import os
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from multiprocessing.connection import wait
from typing import Any

from asobiba.arena.lockstep import plays_in_lockstep
from asobiba.arena.match import CRASH, TIME_OUT, Match, Record
from asobiba.arena.worker import Unit, Worker, WorkerError
from asobiba.core import AsobibaError, KernelAgent, MissingExtra, Ruleset, make_agent

TIME_LIMIT = 10.0
"""Seconds that an agent may take for a move, unless told otherwise."""
WARM_UP = 120.0
"""Seconds of processor time that an agent may take, once per process, to compile what it needs before its time counts."""

_POLL = 0.05
_ROUNDS = (0, 4, 16, 64, 192)
_LARGEST = 256
_SINGLES = 4
_AT_LEAST = 20.0
_FRUITLESS_DEATHS = 3


def available_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Executor(ABC):
    """Plays matches, in whatever order and place."""

    @abstractmethod
    def play(self, matches: Sequence[Match], until: float | None = None) -> Iterator[list[Record]]:
        """Plays the matches and yields their records as they come.

        Args:
            matches: what to play.
            until: stop at this time of `time.monotonic()`, but not sooner than 20 s after the first record, which
                compiling may delay; what is being played then is thrown away.

        Raises:
            WorkerError: if processes die though no agent was thinking.
        """


class LocalExecutor(Executor):
    """A pool of processes on this machine.

    Args:
        jobs: how many processes; `None`: one per core.
        time_limit: seconds per move; `None`: no limit.
        warm_up: seconds of processor time that an agent may take once per process before its time counts.
    """

    def __init__(self, jobs: int | None = None, time_limit: float | None = TIME_LIMIT, warm_up: float = WARM_UP):
        if jobs is not None and jobs < 1:
            raise ValueError(f"jobs must be at least 1, not {jobs}")
        if time_limit is not None and not time_limit > 0:
            raise ValueError(f"the time limit must be positive, not {time_limit}")
        self.jobs = jobs or available_cores()
        self.time_limit = time_limit
        self.warm_up = warm_up

    def play(self, matches: Sequence[Match], until: float | None = None) -> Iterator[list[Record]]:
        return self.play_units(plan(matches, self.jobs), until)

    def play_units(self, units: Iterable[Unit], until: float | None = None) -> Iterator[list[Record]]:
        """Plays units; see `play`."""
        waiting = deque(units)
        workers: list[Worker] = []
        suspects: set[str] = set()
        deaths, playing = 0, False
        try:
            while waiting or any(worker.unit for worker in workers):
                if until is not None and playing and time.monotonic() > until:
                    return
                while waiting and len(workers) < self.jobs:
                    workers.append(Worker(self.time_limit, self.warm_up, suspects))
                    workers[-1].give(waiting.popleft())
                ready = set(wait([worker.connection for worker in workers], _POLL))
                for worker in list(workers):
                    reason = None
                    if worker.connection in ready:
                        try:
                            records = worker.receive()
                            if records is not None:
                                if until is not None and not playing:
                                    until = max(until, time.monotonic() + _AT_LEAST)
                                deaths, playing = 0, True
                                yield records
                            else:
                                waiting.extendleft(worker.again)
                            if worker.unit is None and waiting:
                                worker.give(waiting.popleft())
                        except EOFError:
                            reason = CRASH
                    elif worker.overdue:
                        reason = TIME_OUT
                    if reason is None:
                        continue
                    workers.remove(worker)
                    worker.kill()
                    if worker.suspect is not None:
                        suspects.add(worker.suspect)
                    deaths = 0 if worker.was_thinking else deaths + 1
                    if deaths == _FRUITLESS_DEATHS:
                        raise WorkerError(
                            f"{deaths} worker processes in a row ended with exit code {worker.process.exitcode} though "
                            "no agent was thinking; is the machine short of memory?"
                        )
                    records, again = worker.verdict(reason)
                    waiting.extendleft(reversed(again))
                    if records:
                        playing = True
                        yield records
        finally:
            for worker in workers:
                worker.kill()


class RayExecutor(Executor):
    """Ray, for more machines: every actor runs a process of its own as `LocalExecutor` does. Needs the extra `ray`.

    Args:
        jobs: how many actors; `None`: one per CPU of the cluster.
        time_limit, warm_up: as for `LocalExecutor`.
        address: of a running cluster; `None` starts or finds a local one (Ray reads `RAY_ADDRESS`).
    """

    def __init__(
        self,
        jobs: int | None = None,
        time_limit: float | None = TIME_LIMIT,
        warm_up: float = WARM_UP,
        address: str | None = None,
    ):
        try:
            import ray
        except ImportError:
            raise MissingExtra("ray", "ray") from None
        if jobs is not None and jobs < 1:
            raise ValueError(f"jobs must be at least 1, not {jobs}")
        self._ray = ray
        self.time_limit, self.warm_up, self.address = time_limit, warm_up, address
        self.jobs = jobs

    def play(self, matches: Sequence[Match], until: float | None = None) -> Iterator[list[Record]]:
        ray = self._ray
        if not ray.is_initialized():
            try:
                ray.init(address=self.address, log_to_driver=False, include_dashboard=False, configure_logging=False)
            except ConnectionError as error:
                raise WorkerError(f"no Ray cluster at {self.address!r}: {error}") from None
        jobs = self.jobs or max(1, int(ray.cluster_resources().get("CPU", 1)))
        waiting = deque(plan(matches, jobs))
        actor_class = ray.remote(num_cpus=1)(_RayPlayer)
        idle = [actor_class.remote(self.time_limit, self.warm_up) for _ in range(min(jobs, len(waiting)))]
        busy: dict[Any, tuple[Any, Unit]] = {}
        deaths = 0
        try:
            while waiting or busy:
                if until is not None and time.monotonic() > until:
                    return
                while waiting and idle:
                    actor, unit = idle.pop(), waiting.popleft()
                    busy[actor.play.remote(unit)] = (actor, unit)
                done, _ = ray.wait(list(busy), timeout=_POLL)
                for reference in done:
                    actor, unit = busy.pop(reference)
                    try:
                        records = ray.get(reference)
                    except ray.exceptions.RayActorError as error:  # a machine is lost: its games are played elsewhere
                        deaths += 1
                        if deaths == _FRUITLESS_DEATHS:
                            raise WorkerError(f"{deaths} Ray actors in a row were lost: {error}") from None
                        waiting.appendleft(unit)
                        actor = actor_class.remote(self.time_limit, self.warm_up)
                    else:
                        deaths = 0
                        if records:
                            yield records
                    idle.append(actor)
        finally:
            for actor in [*idle, *(actor for actor, _ in busy.values())]:
                ray.kill(actor)


class _RayPlayer:
    """The actor: agents think in a process below it, which it can kill."""

    def __init__(self, time_limit: float | None, warm_up: float):
        self._executor = LocalExecutor(1, time_limit, warm_up)

    def play(self, unit: Unit) -> list[Record]:
        return [record for records in self._executor.play_units([unit]) for record in records]


EXECUTORS = {"local": LocalExecutor, "ray": RayExecutor}


def make_executor(name: str, **options: Any) -> Executor:
    """The executor of this name (`local` or `ray`).

    Raises:
        AsobibaError: for another name.
        MissingExtra: if it needs an extra that is not installed.
    """
    if name not in EXECUTORS:
        raise AsobibaError(f"no executor is called {name!r}; there are: {', '.join(EXECUTORS)}")
    return EXECUTORS[name](**options)


def plan(matches: Sequence[Match], jobs: int) -> list[Unit]:
    """Cuts matches into units: in rounds over all pairings, small ones first, so that every pairing has results early."""
    groups: dict[tuple, list[Match]] = {}
    for match in matches:
        groups.setdefault((match.game, match.parameters_text, match.seats), []).append(match)
    rounds: dict[int, list[Unit]] = {}
    warm: dict[tuple, Unit] = {}
    kinds: dict[tuple, str | None] = {}
    for members in groups.values():
        first = members[0]
        ruleset = first.ruleset()
        engines = [_engine(ruleset, first, seat, kinds) for seat in range(len(first.seats))]
        lockstep = None not in engines
        if lockstep:
            for text, engine in zip(first.seats, engines):
                alone = Match(first.game, first.version, first.parameters, (text,) * len(first.seats), 0)
                warm.setdefault((first.game, engine), Unit((alone,), "warm"))
        begin, number = 0, 0
        while begin < len(members):
            size = _width(number) if lockstep else _SINGLES
            size = max(1, min(size, -(-len(members) // jobs)))
            unit = Unit(tuple(members[begin : begin + size]), "batch" if lockstep else "single")
            rounds.setdefault(number, []).append(unit)
            begin, number = begin + size, number + 1
    units = [unit for number in sorted(rounds) for unit in rounds[number]]
    return [*warm.values(), *units]


def _width(number: int) -> int:
    return _ROUNDS[number + 1] - _ROUNDS[number] if number + 1 < len(_ROUNDS) else _LARGEST


def _engine(ruleset: Ruleset, match: Match, seat: int, known: dict[tuple, str | None]) -> str | None:
    """What has to be compiled for this agent to play in lockstep; equal for agents that differ in settings only.

    `None` for an agent that is no kernel.
    """
    key = (match.game, match.parameters_text, match.seats[seat])
    if key not in known:
        agent = make_agent(ruleset.game, match.seats[seat])
        known[key] = None
        if plays_in_lockstep(ruleset, [agent]):
            assert isinstance(agent, KernelAgent)
            policy = getattr(agent.policy, "py_func", agent.policy)
            known[key] = f"{policy.__module__}.{policy.__qualname__} {agent.memory_dtype} {ruleset.dtype}"
        agent.close()
    return known[key]
