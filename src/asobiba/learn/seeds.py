"""One configuration trained from several seeds, side by side, and what the runs have in common.

A score of several runs is the interquartile mean of the runs' scores, with a percentile bootstrap interval over the runs: R.
Agarwal and others, "Deep Reinforcement Learning at the Edge of the Statistical Precipice", NeurIPS 2021 (its library
rliable computes the same). Few runs give wide intervals, and those of fewer than three say little.
"""

from __future__ import annotations

import csv
import json
import multiprocessing
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import trim_mean

from asobiba.core.game import Game

_RESAMPLES = 2000


def interquartile_mean(values: Sequence[float], seed: int = 0) -> tuple[float, float, float]:
    """The mean of the middle half of these values, and its 95 % interval by the bootstrap over them.

    >>> interquartile_mean([0.0, 0.4, 0.6, 1.0])[0]
    0.5
    """
    found = np.asarray(values, float)
    drawn = np.random.Generator(np.random.Philox(seed)).integers(len(found), size=(_RESAMPLES, len(found)))
    low, high = np.percentile(trim_mean(found[drawn], 0.25, axis=1), [2.5, 97.5])
    return float(trim_mean(found, 0.25)), float(low), float(high)


def train_seeds(
    game: Game,
    config: dict[str, Any],
    folder: Path,
    count: int,
    command: str,
    say: Callable[[str], None],
    trust: bool,
    track: Sequence[str] = (),
) -> Path:
    """Trains from the seeds `config["seed"]` and following, in `folder/seed-N`, and writes `folder/seeds.csv`.

    As many runs as there are cores go on at once; finished ones are kept, stopped ones resume.
    """
    numbers = [config["seed"] + k for k in range(count)]
    jobs = [
        (game.name, {**config, "seed": number}, folder / f"seed-{number}", command, trust, track) for number in numbers
    ]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(count, len(os.sched_getaffinity(0))), mp_context=context) as workers:
        for number, line in zip(numbers, workers.map(_train_one, jobs), strict=True):
            say(f"seed {number}: {line}")
    return summarise_seeds(folder)


def _train_one(job: tuple[str, dict[str, Any], Path, str, bool, Sequence[str]]) -> str:
    from asobiba.core import game
    from asobiba.learn.training import train

    name, config, folder, command, trust, track = job
    results = train(game(name), config, folder, progress=False, command=command, trust=trust, track=track)
    return ", ".join(
        f"{r.score:.3f} against {r.opponent}" if r.opponent != "-" else f"{r.mean_return:.3f}" for r in results
    )


def summarise_seeds(folder: str | Path) -> Path:
    """Writes `seeds.csv`: per step and opponent the interquartile mean over the finished runs of score and mean return."""
    folder = Path(folder)
    found: dict[tuple[int, str], list[tuple[float, float]]] = {}
    for file in sorted(folder.glob("seed-*/run.json")):
        record = json.loads(file.read_text(encoding="utf-8"))
        with (file.parent / "curve.csv").open(encoding="utf-8", newline="") as lines:
            rows = [*csv.DictReader(lines), *({"steps": record["steps"], **row} for row in record["evaluation"])]
        for row in rows:
            key = int(row["steps"]), row["opponent"]
            found.setdefault(key, []).append((float(row["score"]), float(row["mean_return"])))
    path = folder / "seeds.csv"
    with path.open("w", encoding="utf-8", newline="") as table:
        writer = csv.writer(table, lineterminator="\n")
        writer.writerow(
            ["steps", "opponent", "runs", "score", "low", "high", "mean_return", "return_low", "return_high"]
        )
        for (steps, opponent), values in sorted(found.items()):
            scores, returns = zip(*values, strict=True)
            figures = [*interquartile_mean(scores), *interquartile_mean(returns)]
            writer.writerow([steps, opponent, len(values), *(f"{figure:.4f}" for figure in figures)])
    return path


def draw_seeds(folder: str | Path) -> Path:
    """Draws `seeds.svg` from `seeds.csv`. Needs the extra `render`.

    Raises:
        MissingExtra: if matplotlib is not installed.
    """
    from asobiba.core.errors import MissingExtra

    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra("matplotlib", "render") from None
    folder = Path(folder)
    with (folder / "seeds.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    figure = Figure(figsize=(5.5, 3.2), layout="constrained")
    axes = figure.subplots()
    for opponent in dict.fromkeys(row["opponent"] for row in rows):
        own = [row for row in rows if row["opponent"] == opponent]
        names = ("mean_return", "return_low", "return_high") if opponent == "-" else ("score", "low", "high")
        steps, middle, low, high = ([float(row[name]) for row in own] for name in ("steps", *names))
        (line,) = axes.plot(steps, middle, marker=".", label=opponent)
        axes.fill_between(steps, low, high, color=line.get_color(), alpha=0.2)
    axes.set(title="interquartile mean over the runs", xlabel="decisions")
    axes.legend(loc="lower right")
    path = folder / "seeds.svg"
    with matplotlib.rc_context({"svg.hashsalt": "asobiba", "svg.fonttype": "none"}):
        figure.savefig(path, metadata={"Date": None})
    return path
