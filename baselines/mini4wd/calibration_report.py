"""Logs beside what an ensemble of cars predicts: lap times, and every reading."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from asobiba.core import GameParameterError, MissingExtra
from asobiba.envs.mini4wd.course_source import load_course
from asobiba.envs.mini4wd.hardware.calibrate import ERRORS, Posterior, Replay, Section
from asobiba.envs.mini4wd.hardware.monitor import HeadingMap

SHARE = 0.9
"""Of a prediction that its band holds."""
LAPS = ("log", "lap", "driven, s", "predicted, s", "5 to 95 %", "within")
READINGS = ("log", "reading", "unit", "rms off the middle", "half the band", "readings within")
UNITS = {"turns": "turns", "voltage": "V", "heading": "rad"}


def lap_times(heading: np.ndarray, times: np.ndarray, turned: HeadingMap) -> np.ndarray:
    """Seconds from lap to lap of a run, by its heading: from one pass of the course's half turn to the next.

    The place where the heading passes half of what a lap turns is in a curve, and the same in every lap.
    """
    so_far = np.maximum.accumulate(heading * turned.direction)
    laps = int((so_far[-1] - 0.5 * turned.lap_turn) // turned.lap_turn) + 1
    wanted = (np.arange(max(laps, 0)) + 0.5) * turned.lap_turn
    after = np.searchsorted(so_far, wanted)
    before = np.maximum(after - 1, 0)
    rise = np.maximum(so_far[after] - so_far[before], 1e-12)
    return np.diff(times[before] + (wanted - so_far[before]) / rise * (times[after] - times[before]))


@dataclass(frozen=True)
class Compared:
    """A log and its prediction.

    Args:
        name: of the log.
        driven: seconds of each lap, `(laps,)`, from one pass of the course's half turn to the next.
        predicted: the same of every member, `(members, laps)`, NaN where it has left the course.
        times, kinds, measured, shown: of every reading: s, index into `ERRORS`, recorded, and each member's `(members, readings)`.
    """

    name: str
    driven: np.ndarray
    predicted: np.ndarray
    times: np.ndarray
    kinds: np.ndarray
    measured: np.ndarray
    shown: np.ndarray

    def band(self, kind: int, draw: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Ends of the predicted band of a kind of reading, a reading's own error included."""
        shown = self.shown[:, self.kinds == kind]
        noise = list(ERRORS.values())[kind] * draw.standard_normal(shown.shape)
        low, high = np.quantile(shown + noise, [(1 - SHARE) / 2, (1 + SHARE) / 2], axis=0)
        return low, high


def compare_log(posterior: Posterior, section: Section, name: str, members: int = 100) -> Compared:
    """Drives members with a log's commands.

    Raises:
        GameParameterError: for a course whose curves cancel each other, in which the heading tells no laps.
    """
    replay = Replay(section, posterior.prior)
    run = section.run
    course = HeadingMap(load_course(run.parameters.get("course", "junior")))
    if course.lap_turn < 1.0:
        raise GameParameterError(
            f"a lap of {run.parameters.get('course')} turns by nothing: its laps cannot be told by the gyro"
        )
    driven = np.zeros(0) if section.stand else lap_times(run.heading, run.times, course)
    chosen = posterior.draws[np.linspace(0, len(posterior) - 1, min(members, len(posterior))).astype(int)]
    shown, laps = [], np.full((len(chosen), len(driven)), math.nan)
    for k, values in enumerate(chosen):
        shown.append(replay.shown(values))
        if not section.stand:
            rows = replay.rows(values)
            found = lap_times(rows[:, 1], 0.001 * (1 + np.arange(len(rows))), course)[: len(driven)]
            laps[k, : len(found)] = found
    return Compared(name, driven, laps, replay.times, replay.kinds, replay.measured, np.array(shown))


def lap_rows(compared: Sequence[Compared]) -> list[list[str]]:
    """Rows under `LAPS`."""
    rows = []
    for each in compared:
        for lap, seconds in enumerate(each.driven):
            done = each.predicted[np.isfinite(each.predicted[:, lap]), lap]
            if len(done) < 2:
                rows.append([each.name, str(lap + 1), f"{seconds:.3f}", "no car comes round", "", "no"])
                continue
            low, middle, high = np.quantile(done, [(1 - SHARE) / 2, 0.5, (1 + SHARE) / 2])
            within = "yes" if low <= seconds <= high else "no"
            rows.append(
                [each.name, str(lap + 1), f"{seconds:.3f}", f"{middle:.3f}", f"{low:.3f} to {high:.3f}", within]
            )
    return rows


def reading_rows(compared: Sequence[Compared], seed: int = 0) -> list[list[str]]:
    """Rows under `READINGS`."""
    rows = []
    for each in compared:
        draw = np.random.default_rng(seed)
        for kind, name in enumerate(ERRORS):
            here = each.kinds == kind
            if not here.any():
                continue
            low, high = each.band(kind, draw)
            measured = each.measured[here]
            off = measured - np.median(each.shown[:, here], axis=0)
            within = np.mean((low <= measured) & (measured <= high))
            rows.append([
                each.name, name, UNITS[name], f"{np.sqrt(np.mean(off**2)):.3g}", f"{np.mean(high - low) / 2:.3g}", f"{within:.0%}"
            ])  # fmt: skip
    return rows


def draw_bands(compared: Sequence[Compared], out: Path, seed: int = 0) -> None:
    """Draws voltage and heading of the logs over their bands, as SVG.

    Raises:
        MissingExtra: without matplotlib.
    """
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra("matplotlib", "render") from None
    shown = [(each, kind) for each in compared for kind in np.unique(each.kinds)]
    with rc_context({"svg.hashsalt": "asobiba"}):  # the same bytes every time
        figure = Figure(figsize=(8, 1.9 * len(shown)), layout="constrained")
        axes: Any = figure.subplots(len(shown), squeeze=False)[:, 0]
        for axis, (each, kind) in zip(axes, shown, strict=True):
            low, high = each.band(int(kind), np.random.default_rng(seed))
            here = each.kinds == kind
            axis.fill_between(each.times[here], low, high, alpha=0.4, lw=0, label="predicted, 5 to 95 %")
            axis.plot(each.times[here], each.measured[here], "k", lw=0.8, label="recorded")
            name = list(ERRORS)[kind]
            axis.set_ylabel(f"{name}, {UNITS[name]}" if name != "turns" else "turns of the wheel")
            axis.set_title(each.name, fontsize=9)
            axis.grid(alpha=0.3)
        axes[-1].set_xlabel("s")
        axes[0].legend(fontsize=8)
        figure.savefig(out, format="svg", metadata={"Date": None})
