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
        self._total = 0.0
        self._last, self._cpu, self._waited = time.monotonic(), time.process_time(), self._waiting()

    def _waiting(self) -> float:
        """Seconds that the thread has waited for a processor so far; 0 where the system does not tell."""
        try:
            with open(self._schedule, "rb") as file:
                return int(file.read().split()[1]) * 1e-9
        except (OSError, IndexError, ValueError):
            return 0.0

    def tick(self) -> float:
        """To be called by one thread every `TICK`; returns the total."""
        now, cpu, waited = time.monotonic(), time.process_time(), self._waiting()
        total = self._total + self._pause(now, cpu, waited)
        self._last, self._cpu, self._waited, self._total = now, cpu, waited, total
        return total

    def _pause(self, now: float, cpu: float, waited: float) -> float:
        queue = max(0.0, waited - self._waited)
        passed = now - self._last
        if passed < _GAP + TICK:
            return queue
        return max(queue, passed - TICK - max(0.0, cpu - self._cpu))

    @property
    def total(self) -> float:
        """Seconds so far, up to now."""
        return self._total + self._pause(time.monotonic(), time.process_time(), self._waiting())


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
