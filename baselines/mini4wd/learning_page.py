"""The page on learning: the curves of PPO and SAC, and how well what was learned on many courses holds on others."""

from __future__ import annotations

import csv
from pathlib import Path

from asobiba.core import GameParameterError, MissingExtra


def read_curve(folder: Path) -> tuple[list[float], list[float]]:
    """Decisions and mean returns of the evaluations of a run's `curve.csv`.

    Raises:
        GameParameterError: if the folder holds none.
    """
    path = folder / "curve.csv"
    if not path.is_file():
        raise GameParameterError(f"{folder} holds no curve.csv: it is no run folder")
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return [float(row["steps"]) for row in rows], [float(row["mean_return"]) for row in rows]


def draw_curves(curves: dict[str, tuple[list[float], list[float]]], out: Path) -> None:
    """Draws mean return over decisions, a line for each algorithm, as SVG.

    Raises:
        MissingExtra: without matplotlib.
    """
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra("matplotlib", "render") from None
    with rc_context({"svg.hashsalt": "asobiba"}):  # the same bytes every time
        figure = Figure(figsize=(8, 4), layout="constrained")
        axis = figure.subplots()
        for name, (steps, returns) in curves.items():
            axis.plot(steps, returns, marker="o", ms=3, label=name)
        axis.set_xscale("symlog", linthresh=1e5)
        axis.set_xlabel("decisions")
        axis.set_ylabel("mean return, without noise")
        axis.grid(alpha=0.3)
        axis.legend(loc="lower right")
        figure.savefig(out, format="svg", metadata={"Date": None})


def page(ppo: Path, sac: Path, general: Path, picture: str, command: str) -> str:
    """The page as Markdown.

    Args:
        ppo, sac: run folders on the league's course.
        general: run folder on many courses; its `scores.md` is shown.
        picture: the curves' file beside the page.
    """
    curves = {"PPO": read_curve(ppo), "SAC": read_curve(sac)}
    lines = [
        "# Mini 4WD: learning", "", f"Written by `{command}`.", "", "## PPO and SAC on the league's course", "",
        "Course `junior_hill`, car `dash`, another car in every run, three laps; evaluations without noise. PPO: `asobiba train "
        "mini4wd`, 100 runs each. SAC: `asobiba mini4wd learn --algorithm sac --courses 0`, 50 runs each. A decision of SAC costs about "
        "ten times as much computing as one of PPO.", "", f"![mean return over decisions]({picture})", "",
        "| algorithm | decisions | best evaluation | last evaluation |", "|---|--:|--:|--:|",
    ]  # fmt: skip
    lines += [
        f"| {name} | {steps[-1]:,.0f} | {max(returns):.3f} | {returns[-1]:.3f} |"
        for name, (steps, returns) in curves.items()
    ]
    steps, _ = read_curve(general)
    scores = (general / "scores.md").read_text(encoding="utf-8")
    lines += [
        "", "## From 100 courses to others", "",
        f"`asobiba mini4wd learn` on the courses random:0 to random:99: PPO, evaluated last after {steps[-1]:,.0f} decisions. "
        "Other courses: random:10000 to random:10099. Wide ranges and other cars were not trained with. Mean return and standard "
        "error; time: of those that finished.", "", scores.strip(), "",
    ]  # fmt: skip
    return "\n".join(lines)
