"""A picture of a learner's scores against the members of its pool. Needs the extra `render`."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np

from asobiba.core.errors import MissingExtra


def payoff_matrix(folder: str | Path) -> tuple[list[int], list[str], np.ndarray]:
    """The table `pool.csv` of a run folder as a matrix.

    Returns:
        The steps of the rows (rounds, in learning by search), the names of the columns, and the scores `(steps, members)`: of
        the learner after so many steps, in the games of its training; NaN where they did not meet.
    """
    with (Path(folder) / "pool.csv").open(encoding="utf-8", newline="") as file:
        table = csv.DictReader(file)
        rows, unit = list(table), (table.fieldnames or ["steps"])[0]
    steps = sorted({int(row[unit]) for row in rows})
    names = list(dict.fromkeys(row["opponent"] for row in rows))
    names = sorted([n for n in names if n.isdigit()], key=int) + [n for n in names if not n.isdigit()]
    scores = np.full((len(steps), len(names)), np.nan)
    for row in rows:
        scores[steps.index(int(row[unit])), names.index(row["opponent"])] = float(row["score"])
    return steps, names, scores


def payoff_figure(folder: str | Path) -> Any:
    """`payoff_matrix` as a figure of matplotlib.

    Raises:
        MissingExtra: if matplotlib is not installed.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra("matplotlib", "render") from None
    steps, names, scores = payoff_matrix(folder)
    figure = Figure(figsize=(5 + 0.25 * len(names), 2.5 + 0.25 * len(steps)), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    shown = axes.imshow(scores, vmin=0, vmax=1, cmap="RdBu", aspect="auto")
    axes.set_xticks(range(len(names)), names, rotation=90)
    axes.set_yticks(range(len(steps)), [f"{number:,}" for number in steps])
    axes.set(xlabel="member of the pool", ylabel="learner's steps", title="score in the games of the training")
    figure.colorbar(shown)
    return figure


def draw_payoff(folder: str | Path) -> Path | None:
    """Draws `payoff.svg`; `None` for a run without a pool, or one whose pool was never told a result.

    Raises:
        MissingExtra: if matplotlib is not installed.
    """
    table, path = Path(folder) / "pool.csv", Path(folder) / "payoff.svg"
    if not table.exists() or len(table.read_text(encoding="utf-8").splitlines()) < 2:
        return None
    import matplotlib

    figure = payoff_figure(folder)
    with matplotlib.rc_context({"svg.hashsalt": "asobiba", "svg.fonttype": "none"}):
        figure.savefig(path, metadata={"Date": None})
    return path
