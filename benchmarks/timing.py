"""Runs benchmark cases side by side: short bursts in turn, so that a drift of the machine's speed hits all alike."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

Burst = Callable[[], int]
"""Runs some steps and returns how many."""


@dataclass
class Case:
    """One line of a table: `make` sets up and returns the burst to be timed.

    Raises `ImportError` from `make` where a peer is not installed; the line then says so.
    """

    name: str
    make: Callable[[], Burst]
    note: str = ""
    rates: list[float] = field(default_factory=list)
    missing: str = ""

    @property
    def rate(self) -> float:
        """Median steps per second over the rounds."""
        return statistics.median(self.rates) if self.rates else float("nan")


def measure(cases: list[Case], rounds: int, seconds: float) -> Iterator[Case]:
    """Times every case `rounds` times for about `seconds`, in turn; yields each case as its round ends."""
    bursts: dict[str, Burst] = {}
    for case in cases:
        try:
            bursts[case.name] = case.make()
            bursts[case.name]()  # compiles, fills caches
        except ImportError as error:
            case.missing = str(error)
    for _ in range(rounds):
        for case in cases:
            if case.missing:
                continue
            burst, steps, start = bursts[case.name], 0, time.perf_counter()
            while (elapsed := time.perf_counter() - start) < seconds:
                steps += burst()
            case.rates.append(steps / elapsed)
            yield case
