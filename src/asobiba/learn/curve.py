"""The learning curve of a run as a picture. Needs the extra `render`."""

from __future__ import annotations

import csv
from pathlib import Path

from asobiba.core.errors import MissingExtra


def draw_curve(folder: str | Path) -> Path:
    """Draws `curve.svg` from the `practice.csv` and `curve.csv` of a run folder.

    On the left the mean return of the last 100 training games, on the right the score against each opponent of the
    evaluation with its 95 % interval.

    Raises:
        MissingExtra: if matplotlib is not installed.
        FileNotFoundError: if the folder holds no run.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra("matplotlib", "render") from None
    folder = Path(folder)
    practice, scores = _read(folder / "practice.csv"), _read(folder / "curve.csv")
    figure = Figure(figsize=(9, 3.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.plot([row["steps"] for row in practice], [row["mean_return"] for row in practice], linewidth=0.8)
    left.set(title="training games", xlabel="decisions", ylabel="mean return")
    for opponent in dict.fromkeys(row["opponent"] for row in scores):
        rows = [row for row in scores if row["opponent"] == opponent]
        steps = [row["steps"] for row in rows]
        (line,) = right.plot(steps, [row["score"] for row in rows], marker=".", label=opponent)
        right.fill_between(
            steps, [row["low"] for row in rows], [row["high"] for row in rows], color=line.get_color(), alpha=0.2
        )
    right.axhline(0.5, color="grey", linewidth=0.8, linestyle=":")
    right.set(title="evaluation, best action", xlabel="decisions", ylabel="score")
    if right.get_legend_handles_labels()[1]:
        right.legend(loc="lower right")
    path = folder / "curve.svg"
    # Without the date and with fixed ids, the same run gives the same file.
    import matplotlib

    with matplotlib.rc_context({"svg.hashsalt": "asobiba", "svg.fonttype": "none"}):
        figure.savefig(path, metadata={"Date": None})
    return path


def _read(path: Path) -> list[dict]:
    with path.open(encoding="utf-8", newline="") as file:
        return [{k: v if k == "opponent" else float(v) for k, v in row.items()} for row in csv.DictReader(file)]
