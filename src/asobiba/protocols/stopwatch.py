"""Thinking time by the clock, without the time in which a process was stopped or waited for a processor.

A stopped process (SIGSTOP, a suspended machine) cannot think, and one that is ready to run but has no processor does
not either; neither costs an agent its game.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from dataclasses import dataclass

TICK = 0.05
"""Seconds between two checks."""
_GAP = 0.25
"""A check that comes this many seconds late means that the process did not run."""
OUTSIDE_SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGKILL", "SIGTERM", "SIGHUP", "SIGINT", "SIGQUIT") if hasattr(signal, name)
)
"""Signals that end a process from outside; an agent's own faults end it by others."""


class Stopwatch:
    """Time that another process has thought, measured from outside every `TICK`.

    Args:
        pid: of the process that thinks; its children think for it.
    """

    def __init__(self, pid: int):
        self.seconds = 0.0
        self.stopped = 0.0
        self._pid = pid
        self._last = self._checked = time.monotonic()
        self._halted = False

    def look(self) -> None:
        """To be called every `TICK`: counts the time since the last call, unless one of the processes was stopped."""
        now = time.monotonic()
        passed, self._last = now - self._last, now
        if now - self._checked > _GAP / 2:
            self._halted, self._checked = is_stopped(self._pid), now
        if self._halted:
            self.stopped += passed
        else:
            self.stopped = 0.0
            self.seconds += passed if passed < _GAP + TICK else TICK


def is_stopped(pid: int) -> bool:
    """Whether a process, or one of its children, was stopped by a signal."""
    import psutil

    with contextlib.suppress(psutil.Error):
        process = psutil.Process(pid)
        return any(one.status() == psutil.STATUS_STOPPED for one in [process, *process.children(recursive=True)])
    return False


class Pauses:
    """Time in which this process could not run, measured by a thread that reads the clock every `TICK`.

    Args:
        thread: the native id of the thread whose waiting for a processor counts as a pause.
    """

    def __init__(self, thread: int | None = None):
        self._schedule = f"/proc/self/task/{thread or threading.get_native_id()}/schedstat"
        self._seen = _Look(*self._now())

    def _now(self) -> tuple[float, float, float]:
        """The time, the processor time, and how long the thread has waited for a processor, in seconds."""
        return time.monotonic(), time.process_time(), self._waiting()

    def _waiting(self) -> float:
        """Seconds that the thread has waited for a processor so far; 0 where the system does not tell."""
        try:
            with open(self._schedule, "rb") as file:
                return int(file.read().split()[1]) * 1e-9
        except (OSError, IndexError, ValueError):
            return 0.0

    def tick(self) -> tuple[float, float]:
        """To be called by one thread every `TICK`; returns the time of the tick, and the seconds of pauses up to it."""
        now, cpu, waited = self._now()
        # One assignment: other threads find either the last look or this one, never a part of each.
        self._seen = seen = _Look(now, cpu, waited, self._seen.total_at(now, cpu, waited))
        return now, seen.total

    @property
    def total(self) -> float:
        """Seconds so far, up to now."""
        seen = self._seen  # before the time is read: a tick in between must not take its pause away
        return seen.total_at(*self._now())


@dataclass(frozen=True)
class _Look:
    """What a tick has seen, and the pauses up to it."""

    time: float
    cpu: float
    waited: float
    total: float = 0.0

    def total_at(self, now: float, cpu: float, waited: float) -> float:
        """Seconds of pauses up to a later moment, which has had no tick of its own."""
        queue, passed = max(0.0, waited - self.waited), now - self.time
        if passed < _GAP + TICK:
            return self.total + queue
        return self.total + max(queue, passed - TICK - max(0.0, cpu - self.cpu))


def cpu_seconds(pid: int) -> float | None:
    """The processor time of another process, or `None` if it is gone."""
    import psutil

    with contextlib.suppress(psutil.Error):
        times = psutil.Process(pid).cpu_times()
        return times.user + times.system
    return None


def own_share(jobs: int, cores: int) -> int:
    """The threads that each of `jobs` processes may run, so that all of them use no more than `cores`."""
    return max(1, cores // max(jobs, 1))


def share_environment(threads: int) -> dict[str, str]:
    """Environment variables that limit a process to this many threads, which wait without spinning."""
    count = str(threads)
    names = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    return {name: min(count, os.environ.get(name, count), key=int) for name in names} | {
        "OMP_WAIT_POLICY": "passive",
        "KMP_BLOCKTIME": "0",
    }
