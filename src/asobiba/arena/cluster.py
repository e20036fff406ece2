"""Runs a league on several machines, through Ray."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from asobiba.arena.costs import Past
from asobiba.arena.executors import FRUITLESS_DEATHS, Executor, Source, UnitList, WorkerPool
from asobiba.arena.match import Match, MatchRecord
from asobiba.arena.worker import Terms, Unit, WorkerError
from asobiba.core import MissingExtra

_POLL = 0.05


def _imported() -> Any:
    try:
        import ray
    except ImportError:
        raise MissingExtra("ray", "ray") from None
    return ray


class Actors:
    """Ray actors that are given units one by one. One that is lost is replaced, and its unit is given again.

    Args:
        actor_class: of the actors; its `play(unit, ...)` returns a result.
        arguments: of its constructor.
        count: how many; `None`: one per CPU of the cluster.
        address: of a running cluster; `None` starts or finds a local one (Ray reads `RAY_ADDRESS`).

    Raises:
        MissingExtra: without Ray.
        WorkerError: if there is no such cluster.
    """

    def __init__(self, actor_class: type, arguments: Sequence[Any], count: int | None, address: str | None = None):
        ray = _imported()
        if not ray.is_initialized():
            try:
                ray.init(address=address, log_to_driver=False, include_dashboard=False, configure_logging=False)
            except ConnectionError as error:
                raise WorkerError(f"no Ray cluster at {address!r}: {error}") from None
        self._ray = ray
        self.count = count or max(1, int(ray.cluster_resources().get("CPU", 1)))
        remote: Any = ray.remote(num_cpus=1)(actor_class)
        self._start: Callable[[], Any] = lambda: remote.remote(*arguments)
        self._actors: list[Any] = []
        self._coming: dict[Any, Any] = {}
        """Those that have not said yet that they run, under their answer."""

    def run(self, work: Source, most: int, until: float | None = None, shared: Any = None) -> Iterator[tuple[Any, Any]]:
        """Yields units and their results, in the order in which they come.

        Args:
            work: the source of units.
            most: so many actors at most.
            until: stop at this time of `time.monotonic()`.
            shared: what every call of `play` gets beside its unit, sent once to each machine.

        Raises:
            WorkerError: if actors are lost again and again.
        """
        ray, lost = self._ray, 0
        common = [] if shared is None else [ray.put(shared)]
        coming = self._coming
        idle = [actor for actor in self._actors if actor not in coming.values()]
        while len(self._actors) < min(self.count, most):
            self._begin()
        busy: dict[Any, tuple[Any, Any]] = {}
        while work or busy:
            if until is not None and time.monotonic() > until:
                return
            while idle and (unit := work.take()) is not None:
                actor = idle.pop()
                busy[actor.play.remote(unit, *common)] = (actor, unit)
            done, _ = ray.wait([*busy, *coming], timeout=_POLL)
            for reference in done:
                # An actor gets its first unit when it runs: a smaller cluster may have no place for it any more.
                actor, unit = (coming.pop(reference), None) if reference in coming else busy.pop(reference)
                try:
                    result = ray.get(reference)
                except ray.exceptions.RayActorError as error:  # a machine is lost: its games are played elsewhere
                    lost += 1
                    if lost == FRUITLESS_DEATHS:
                        raise WorkerError(f"{lost} Ray actors in a row were lost: {error}") from None
                    self._actors.remove(actor)
                    self._begin()
                    if unit is not None:
                        work.again([unit])
                else:
                    idle.append(actor)
                    if unit is not None:
                        lost = 0
                        yield unit, result
                if unit is not None:
                    work.finished(unit)

    def _begin(self) -> None:
        actor = self._start()
        self._actors.append(actor)
        self._coming[actor.__ray_ready__.remote()] = actor

    def close(self) -> None:
        """Ends the actors."""
        self._coming.clear()
        while self._actors:
            self._ray.kill(self._actors.pop())


class RayExecutor(Executor):
    """Plays on several machines through Ray: every actor runs a process, as `LocalExecutor` does. Needs the extra
    `ray`.

    Args:
        jobs: how many actors; `None`: one per CPU of the cluster.
        address: of a running cluster; `None` starts or finds a local one (Ray reads `RAY_ADDRESS`).
        arguments, options: as for `LocalExecutor`.
    """

    def __init__(self, jobs: int | None = None, *arguments: Any, address: str | None = None, **options: Any):
        super().__init__(jobs, *arguments, **options)
        _imported()
        self.jobs, self.address = jobs, address

    def play(
        self,
        matches: Sequence[Match],
        until: float | None = None,
        before: Mapping[tuple[str, ...], Past] | None = None,
    ) -> Iterator[list[MatchRecord]]:
        actors = Actors(_RayPlayer, [self.terms], self.jobs, self.address)
        work = self.workload(matches, actors.count, before)
        try:
            for unit, played in actors.run(work, len(matches), until):
                for records, seconds in played:
                    work.played(unit, records, seconds)
                    if records:
                        yield records
        finally:
            actors.close()


class _RayPlayer:
    """The actor: agents think in a process below it, which it can kill, and which it keeps from unit to unit."""

    def __init__(self, terms: Terms):
        self._source = _Once()
        self._pool = WorkerPool(self._source, 1, terms)

    def play(self, unit: Unit) -> list[tuple[list[MatchRecord], float]]:
        """Returns the records of the unit, and the seconds that they took."""
        self._source.again([unit])
        for records in self._pool.run():
            self._source.records.append(records)
        return self._source.collect()


class _Once(UnitList):
    """Units in play, and their results."""

    def __init__(self) -> None:
        super().__init__(())
        self.records: list[list[MatchRecord]] = []
        self._seconds = 0.0

    def played(self, unit: Unit, records: Sequence[MatchRecord], seconds: float) -> None:
        self._seconds += seconds

    def collect(self) -> list[tuple[list[MatchRecord], float]]:
        """All records and the seconds since the last call."""
        found = [record for records in self.records for record in records]
        seconds, self.records, self._seconds = self._seconds, [], 0.0
        return [(found, seconds)]
