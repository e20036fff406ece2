"""The page on learning: the curves of PPO and SAC, and how well what was learned on many courses holds on others."""

from __future__ import annotations

import csv
import json
from pathlib import Path

from asobiba.baselines.mini4wd.generalise import Task
from asobiba.core import GameParameterError, MissingExtra


def read_curve(folder: Path) -> tuple[list[float], list[float]]:
    """Decisions and mean returns of the evaluations of a run (`curve.csv`, `run.json`), after those of the parts that it went on from
    (`part-1`, `part-2`, ..., each with its `curve.csv` and `practice.csv`).

    Raises:
        GameParameterError: if the folder holds none.
    """
    steps: list[float] = []
    returns: list[float] = []
    before = 0.0
    for part in (*sorted(folder.glob("part-*")), folder):
        path = part / "curve.csv"
        if not path.is_file():
            raise GameParameterError(f"{part} holds no curve.csv: it is no run folder")
        rows = _rows(path)
        steps += [before + float(row["steps"]) for row in rows]
        returns += [float(row["mean_return"]) for row in rows]
        if (part / "run.json").is_file():  # the evaluation after the last step
            run = json.loads((part / "run.json").read_text(encoding="utf-8"))
            steps.append(before + float(run["steps"]))
            returns.append(float(run["evaluation"][0]["mean_return"]))
        if part != folder:
            before += float(_rows(part / "practice.csv")[-1]["steps"])
    return steps, returns


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


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
        "mini4wd` and what its README says, 400 runs each, 1,600 after the last step. SAC: `asobiba mini4wd learn --algorithm sac --courses 0`, 50 runs each. A decision of SAC costs about "
        "ten times as much computing as one of PPO.", "", f"![mean return over decisions]({picture})", "",
        "| algorithm | decisions | best evaluation | last evaluation |", "|---|--:|--:|--:|",
    ]  # fmt: skip
    lines += [
        f"| {name} | {steps[-1]:,.0f} | {max(returns):.3f} | {returns[-1]:.3f} |"
        for name, (steps, returns) in curves.items()
    ]
    steps, _ = read_curve(general)
    scores = (general / "scores.md").read_text(encoding="utf-8")
    planned = Task().steps
    length = (
        f"stopped after {steps[-1]:,.0f} of {planned:,} decisions"
        if steps[-1] < planned
        else f"{steps[-1]:,.0f} decisions"
    )
    lines += [
        "", "## From 100 courses to others", "",
        f"`asobiba mini4wd learn` on the courses random:0 to random:99: PPO, {length}. "
        "Other courses: random:10000 to random:10099. Wide ranges and other cars were not trained with. Mean return and standard "
        "error; time: of those that finished.", "", scores.strip(), "",
    ]  # fmt: skip
    return "\n".join(lines)
