"""The page on learning: the curves of PPO and SAC, and the generalisation from many courses to others."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import yaml

from asobiba.baselines.mini4wd.generalise import Task
from asobiba.core import GameParameterError, MissingExtra


def read_curve(folder: Path) -> tuple[list[float], list[float]]:
    """Decisions and mean returns of the evaluations of a run (`curve.csv`, and `run.json` for the one after the last step). What a
    teacher has shown before (`imitation.csv`) counts as decisions too.

    Raises:
        GameParameterError: if the folder holds none.
    """
    if not (folder / "curve.csv").is_file():
        raise GameParameterError(f"{folder} holds no curve.csv: it is no run folder")
    rows = _rows(folder / "curve.csv")
    shown = shown_decisions(folder)
    steps, returns = ([float(row[name]) for row in rows] for name in ("steps", "mean_return"))
    if (folder / "run.json").is_file():
        run = json.loads((folder / "run.json").read_text(encoding="utf-8"))
        steps.append(float(run["steps"]))
        returns.append(float(run["evaluation"][0]["mean_return"]))
    return [shown + step for step in steps], returns


def shown_decisions(folder: Path) -> int:
    """Number of decisions that a teacher has shown before a run; 0 without one."""
    path = folder / "imitation.csv"
    return int(_rows(path)[-1]["decisions"]) if path.is_file() else 0


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


def game_of(folder: Path) -> str:
    """The game and its version that a run was trained in (`config.yml`), such as `mini4wd-v1`.

    Raises:
        GameParameterError: if the folder does not say.
    """
    path = folder / "config.yml"
    config = yaml.safe_load(path.read_text(encoding="utf-8")) if path.is_file() else {}
    if "game" not in config:
        raise GameParameterError(f"{path} must say the game that the run was trained in")
    return str(config["game"]).rpartition("/")[2]


def curves_of(ppo: Path, sac: Path) -> dict[str, tuple[list[float], list[float]]]:
    """The curves of the page: name -> decisions and mean returns. The folder of PPO's run holds, in `untaught`, one without a
    teacher."""
    return {"PPO after a teacher": read_curve(ppo), "PPO alone": read_curve(ppo / "untaught"), "SAC": read_curve(sac)}


def page(ppo: Path, sac: Path, general: Path, picture: str, command: str) -> str:
    """The page as Markdown.

    Args:
        ppo, sac: run folders on the league's course.
        general: run folder on many courses; its `scores.md` is shown.
        picture: the curves' file beside the page.
    """
    curves = curves_of(ppo, sac)
    games_of = (game_of(ppo), game_of(ppo / "untaught"), game_of(sac))
    config = yaml.safe_load((ppo / "config.yml").read_text(encoding="utf-8"))
    games, teacher = config["evaluation"]["games"], config["imitation"]["teacher"]
    lines = [
        "# Mini 4WD: learning", "", f"Written by `{command}`.", "", "## PPO and SAC on the league's course", "",
        "Course `junior_hill`, car `dash`, another car in every run, three laps; evaluations without noise. PPO after a teacher: "
        f"`asobiba train mini4wd`; the network first learns from {shown_decisions(ppo):,} decisions that `{teacher}` shows, then "
        f"drives by itself; {games // 4:,} runs each, {games:,} after the last step. PPO alone: without teacher and shaped rewards, "
        "in the four parts that its README names; 100 to 400 runs each. SAC: `asobiba mini4wd learn --algorithm sac --courses 0`, 50 "
        "runs each. A decision of SAC costs about ten times as much computing as one of PPO. Each was trained and evaluated in the version of "
        "the game that its row names; in a later one the cars drive otherwise, so that returns of different versions do not compare.", "",
        f"![mean return over decisions]({picture})", "", "| algorithm | game | decisions | best evaluation | last evaluation |",
        "|---|---|--:|--:|--:|",
    ]  # fmt: skip
    lines += [
        f"| {name} | {game} | {steps[-1]:,.0f} | {max(returns):.3f} | {returns[-1]:.3f} |"
        for game, (name, (steps, returns)) in zip(games_of, curves.items(), strict=True)
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
        f"`asobiba mini4wd learn` on the courses random:0 to random:99, in `{game_of(general)}`: PPO, {length}. "
        "Other courses: random:10000 to random:10099. Wide ranges and other cars were not trained with. Mean return and standard "
        "error; time: of those that finished.", "", scores.strip(), "",
    ]  # fmt: skip
    return "\n".join(lines)
