"""The learning curve of a run as a picture. Needs the extra `render`."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from asobiba.core.errors import MissingExtra

_TEXTS = {"opponent", "simulations"}


def draw_curve(folder: str | Path) -> Path:
    """Draws `curve.svg` from the `curve.csv` of a run folder and its `practice.csv`, or its `learning.csv`.

    On the left the mean return of the last 100 training games, or the losses of learning by search; on the right the score
    against each opponent of the evaluation with its 95 % interval.

    Raises:
        MissingExtra: if matplotlib is not installed.
        FileNotFoundError: if the folder holds no run.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra("matplotlib", "render") from None
    folder = Path(folder)
    scores, by_search = _read(folder / "curve.csv"), (folder / "learning.csv").exists()
    unit, label = ("round", "rounds") if by_search else ("steps", "decisions")
    figure = Figure(figsize=(11 if by_search else 9, 3.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    if by_search:
        _draw_losses(left, _read(folder / "learning.csv"))
    else:
        practice = _read(folder / "practice.csv")
        left.plot([row["steps"] for row in practice], [row["mean_return"] for row in practice], linewidth=0.8)
        left.set(title="training games", xlabel=label, ylabel="mean return")
    for name in dict.fromkeys(pairing(row) for row in scores):
        rows = [row for row in scores if pairing(row) == name]
        steps = [row[unit] for row in rows]
        (line,) = right.plot(steps, [row["score"] for row in rows], marker=".", label=name)
        right.fill_between(
            steps, [row["low"] for row in rows], [row["high"] for row in rows], color=line.get_color(), alpha=0.2
        )
    right.axhline(0.5, color="grey", linewidth=0.8, linestyle=":")
    right.set(title="evaluation, best action", xlabel=label, ylabel="score")
    if by_search:  # two lines or more for each opponent: beside the picture
        figure.legend(*right.get_legend_handles_labels(), loc="outside right center")
    elif right.get_legend_handles_labels()[1]:
        right.legend(loc="lower right")
    path = folder / "curve.svg"
    # Without the date and with fixed ids, the same run gives the same file.
    import matplotlib

    with matplotlib.rc_context({"svg.hashsalt": "asobiba", "svg.fonttype": "none"}):
        figure.savefig(path, metadata={"Date": None})
    return path


def _draw_losses(axes: Any, rows: list[dict]) -> None:
    for name in ("policy", "value"):
        axes.plot([row["round"] for row in rows], [row[f"{name}_loss"] for row in rows], linewidth=0.8, label=name)
    axes.set(title="learning", xlabel="rounds", ylabel="loss")
    axes.legend(loc="upper right")


def pairing(row: dict[str, Any]) -> str:
    """The opponent of a row of scores and, in learning by search, how the network played."""
    if "simulations" not in row:
        return str(row["opponent"])
    searched = int(row["simulations"])
    return f"{row['opponent']}, {f'{searched} simulations' if searched else 'the network alone'}"


def _read(path: Path) -> list[dict]:
    with path.open(encoding="utf-8", newline="") as file:
        return [{k: v if k in _TEXTS else float(v) for k, v in row.items()} for row in csv.DictReader(file)]
