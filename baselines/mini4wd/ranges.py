"""The controllers with the nominal car, with one owner's cars, and with everybody's."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from asobiba.baselines.mini4wd.table import POINTS, drive_all, points
from asobiba.envs.mini4wd import GAME

RANGES = ("none", "default", "wide")
TUNED = {"course": "junior_hill", "car": "dash", "tachometer": True}
"""The league's course and car."""


@dataclass(frozen=True)
class Cell:
    """Mean points of some runs, its standard error, and the share that finished."""

    points: float
    error: float
    finished: float


def measure(controller: str, randomise: str, runs: int, seed: int) -> Cell:
    """An agent's runs with cars (and sensors) drawn from a set of ranges; seeds from `seed` on."""
    ruleset = GAME.ruleset(**TUNED, randomise=randomise)
    finals = drive_all(controller, ruleset, runs, seed)
    found = points(finals, ruleset, ruleset.params["lap_length"])
    return Cell(
        float(found.mean()), float(found.std(ddof=1) / math.sqrt(runs)), float(np.mean(finals["finish_time"][:, 0] > 0))
    )


def page(
    controllers: Sequence[str], runs: int, seed: int, command: str, progress: Callable[[int], None] = lambda cells: None
) -> str:
    """The table as Markdown; `progress` is called with 1 after every cell."""
    rows = []
    for controller in controllers:
        cells = []
        for randomise in RANGES:
            cells.append(measure(controller, randomise, runs, seed))
            progress(1)
        rows.append((controller, cells))
    rows.sort(key=lambda entry: -entry[1][1].points)
    lines = [
        "# Mini 4WD: nominal, default and wide ranges",
        "",
        f"Written by `{command}`.",
        "",
        f"Course `{TUNED['course']}`, car `{TUNED['car']}`, three laps, with tachometer; {runs} runs a cell, seeds from {seed}. "
        "Ranges `none`: the nominal car, whose sensors alone differ; `default`: one owner's cars; `wide`: everything that "
        f"hobbyists race (`envs/mini4wd/parts/ranges.yaml`). Points of a run: {POINTS}; mean and standard error; share finished.",
        "",
        f"| controller | {' | '.join(f'{name}, points | finished' for name in RANGES)} |",
        f"|---|{'--:|' * (2 * len(RANGES))}",
    ]
    for controller, cells in rows:
        figures = " | ".join(f"{c.points:.3f} ± {c.error:.3f} | {c.finished:.0%}" for c in cells)
        lines.append(f"| {controller} | {figures} |")
    return "\n".join(lines) + "\n"
