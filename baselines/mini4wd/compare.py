"""Controllers and policies on the same cars: points, finishers, and the difference car by car."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import norm

from asobiba.baselines.mini4wd.sides import CONFIDENCE, wilson
from asobiba.baselines.mini4wd.table import POINTS, drive_all, points
from asobiba.core import Ruleset

COLUMNS = ("agent", "points", "finished", "points of those that finished", "more than the last, car by car")
_AT_ONCE = 100
"""Runs between two signs of progress."""


@dataclass(frozen=True)
class Driven:
    """Results of an agent on some cars.

    Args:
        agent: its text, such as `predict:margin=0.2`.
        points: of each run, `(n,)`; run `i` of two agents is driven with the same car.
        finished: whether each run reached the finish, `(n,)` bool.
    """

    agent: str
    points: np.ndarray
    finished: np.ndarray


def interval(values: np.ndarray) -> tuple[float, float]:
    """Mean and half its 95 % interval; NaN where there are too few values."""
    if len(values) < 2:
        return (float(values.mean()) if len(values) else math.nan, math.nan)
    return float(values.mean()), float(norm.ppf(0.5 + CONFIDENCE / 2) * values.std(ddof=1) / math.sqrt(len(values)))


def drive(agent: str, ruleset: Ruleset, cars: int, first: int, progress: Callable[[int], None]) -> Driven:
    """Drives `cars` cars, of the seeds from `first` on; `progress` is called with how many have just been driven.

    An agent that practises on the course does so before every hundredth car.
    """
    parts = []
    for begin in range(0, cars, _AT_ONCE):
        count = min(_AT_ONCE, cars - begin)
        parts.append(drive_all(agent, ruleset, count, first + begin))
        progress(count)
    finals = np.concatenate(parts)
    return Driven(agent, points(finals, ruleset, ruleset.params["lap_length"]), finals["finish_time"][:, 0] > 0)


def row(driven: Driven, last: Driven) -> list[str]:
    """A row of the table under `COLUMNS`: means with 95 % intervals, the share that finished with Wilson's."""

    def told(pair: tuple[float, float], sign: str = "") -> str:
        return f"{pair[0]:{sign}.3f} ± {pair[1]:.3f}"

    share, low, high = wilson(int(driven.finished.sum()), len(driven.finished))
    return [
        driven.agent, told(interval(driven.points)), f"{share:.1%} ({low:.1%} to {high:.1%})",
        told(interval(driven.points[driven.finished])),
        "" if driven is last else told(interval(driven.points - last.points), "+"),
    ]  # fmt: skip


def markdown(rows: Sequence[Sequence[str]], parameters: dict[str, Any], cars: int, first: int) -> str:
    """The table as Markdown, with what was driven."""
    given = ", ".join(f"{name} `{value}`" for name, value in parameters.items())
    return "\n".join(
        [
            f"| {' | '.join(COLUMNS)} |", f"|---|{'--:|' * (len(COLUMNS) - 1)}", *(f"| {' | '.join(r)} |" for r in rows), "",
            f"Points: {POINTS}. {cars:,} cars of the seeds {first} to {first + cars - 1}; {given}. 95 % intervals.", "",
        ]
    )  # fmt: skip
