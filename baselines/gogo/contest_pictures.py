"""The pictures of the contest's page. They need matplotlib (the extra `render`)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from asobiba.baselines.gogo import REFERENCES
from asobiba.baselines.gogo.contest import DAYS, Contest
from asobiba.baselines.gogo.years import Final
from asobiba.core import MissingExtra


def _plt():
    try:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
    except ImportError:
        raise MissingExtra("matplotlib", "render") from None
    plt.rcParams.update({"svg.hashsalt": "asobiba", "font.size": 9})
    return plt


def _save(figure, path: Path, plt) -> None:
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def draw_bars(contest: Contest, path: Path) -> None:
    """The range of each strategy's daily WWG over its day of submission, and the references day by day."""
    plt, table = _plt(), np.array(contest.daily)
    figure, axes = plt.subplots(figsize=(8, 4.5))
    for k in range(contest.references, len(contest.strategies)):
        known = table[:, k][~np.isnan(table[:, k])]
        axes.plot([contest.day[k]] * 2, [known.min(), known.max()], color="#9db4c8", linewidth=1)
        axes.plot(contest.day[k], known[-1], ".", color="#1f4e79", markersize=3)
    for k, name in enumerate(REFERENCES):
        axes.plot(range(1, DAYS + 1), table[:, k], linewidth=1.5, label=name)
    axes.set(xlabel="day of submission", ylabel="WWG", ylim=(0, 1))
    axes.legend(fontsize=7, loc="upper left")
    _save(figure, path, plt)


def draw_candles(contest: Contest, path: Path) -> None:
    """The charts of two students, the best and one in the middle, as they stood after each week."""
    plt, table = _plt(), np.array(contest.daily)
    last = table[-1]
    students = sorted(set(contest.student.tolist()) - {-1}, key=lambda s: -np.nanmax(last[contest.student == s]))
    weeks = DAYS // 7
    figure, grid = plt.subplots(2, weeks, figsize=(2.4 * weeks, 5), sharex=True, sharey=True)
    for line, student in zip(grid, (students[0], students[len(students) // 2])):
        for week, axes in enumerate(line, 1):
            until = table[: 7 * week]
            rows = np.flatnonzero((contest.student == student) & (contest.day <= 7 * week))
            for k in rows.tolist():
                known = until[:, k][~np.isnan(until[:, k])]
                axes.plot([contest.day[k]] * 2, [known.min(), known.max()], color="#555", linewidth=1)
                axes.bar(
                    contest.day[k], abs(known[-1] - known[0]), bottom=min(known[0], known[-1]), width=1.2,
                    color="#ffffff" if known[-1] >= known[0] else "#333333", edgecolor="#333333", zorder=2,
                )  # fmt: skip
            axes.plot(contest.day[rows], until[-1][rows], color="#b3261e", linewidth=1)
            axes.set(title=f"student {student}, week {week}", xlim=(0, DAYS + 1), ylim=(0, 1))
    _save(figure, path, plt)


def draw_finals(finals: Sequence[Final], path: Path) -> None:
    """WWG over SWG of each year's final contest."""
    plt = _plt()
    figure, grid = plt.subplots(1, len(finals), figsize=(2.6 * len(finals), 2.8), sharey=True, squeeze=False)
    for year, (axes, final) in enumerate(zip(grid[0], finals)):
        axes.plot([0, 1], [0, 1], color="#999", linewidth=1)
        axes.plot(final.simple, final.weighted, ".", markersize=4)
        axes.set(title=f"year {year}: rho {final.rho:.3f}", xlabel="SWG", xlim=(0, 1), ylim=(0, 1))
    grid[0][0].set(ylabel="WWG")
    _save(figure, path, plt)
