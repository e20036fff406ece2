"""Runs a league on several machines, through Ray."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from asobiba.arena.costs import Past
from asobiba.arena.executors import FRUITLESS_DEATHS, Executor, UnitList, WorkerPool
from asobiba.arena.match import Match, MatchRecord
from asobiba.arena.worker import Terms, Unit, WorkerError
from asobiba.core import MissingExtra

_POLL = 0.05


class RayExecutor(Executor):
    """Plays on several machines through Ray: every actor runs a process, as `LocalExecutor` does. Needs the extra
    `ray`.

    Args:
        jobs: how many actors; `None`: one per CPU of the cluster.
        address: of a running cluster; `None` starts or finds a local one (Ray reads `RAY_ADDRESS`).
        arguments, options: as for `LocalExecutor`.
    """

    def __init__(self, jobs: int | None = None, *arguments: Any, address: str | None = None, **options: Any):
        try:
            import ray
        except ImportError:
            raise MissingExtra("ray", "ray") from None
        super().__init__(jobs, *arguments, **options)
        self._ray, self.jobs, self.address = ray, jobs, address

    def play(
        self,
        matches: Sequence[Match],
        until: float | None = None,
        before: Mapping[tuple[str, ...], Past] | None = None,
    ) -> Iterator[list[MatchRecord]]:
        ray = self._ray
        if not ray.is_initialized():
            try:
                ray.init(address=self.address, log_to_driver=False, include_dashboard=False, configure_logging=False)
            except ConnectionError as error:
                raise WorkerError(f"no Ray cluster at {self.address!r}: {error}") from None
        jobs = self.jobs or max(1, int(ray.cluster_resources().get("CPU", 1)))
        work = self.workload(matches, jobs, before)
        actor_class = ray.remote(num_cpus=1)(_RayPlayer)
        actors = [actor_class.remote(self.terms) for _ in range(min(jobs, len(matches)))]
        idle = list(actors)
        busy: dict[Any, tuple[Any, Unit]] = {}
        lost = 0
        try:
            while work or busy:
                if until is not None and time.monotonic() > until:
                    return
                while idle and (unit := work.take()) is not None:
                    actor = idle.pop()
                    busy[actor.play.remote(unit)] = (actor, unit)
                done, _ = ray.wait(list(busy), timeout=_POLL) if busy else ([], [])
                for reference in done:
                    actor, unit = busy.pop(reference)
                    try:
                        played = ray.get(reference)
                    except ray.exceptions.RayActorError as error:  # a machine is lost: its games are played elsewhere
                        lost += 1
                        if lost == FRUITLESS_DEATHS:
                            raise WorkerError(f"{lost} Ray actors in a row were lost: {error}") from None
                        work.again([unit])
                        actors.remove(actor)
                        actor = actor_class.remote(self.terms)
                        actors.append(actor)
                    else:
                        lost = 0
                        for records, seconds in played:
                            work.played(unit, records, seconds)
                            if records:
                                yield records
                    work.finished(unit)
                    idle.append(actor)
        finally:
            for actor in actors:
                ray.kill(actor)


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
