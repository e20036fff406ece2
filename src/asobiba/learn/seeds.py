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
from asobiba.learn.curve import pairing

_RESAMPLES = 2000
_COLUMNS = {
    "steps": (("steps", "opponent"), ("score", "mean_return")),
    "round": (("round", "opponent", "simulations"), ("score",)),
}
"""What tells the rows of a curve apart, by its first column, and its figures."""
_BOUNDS = {"score": ("low", "high"), "mean_return": ("return_low", "return_high")}


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
    resume: bool = True,
) -> Path:
    """Trains from the seeds `config["seed"]` and following, in `folder/seed-N`, and writes `folder/seeds.csv`.

    As many runs as there are cores go on at once (by search, as there are cores for their threads); finished ones are
    kept, stopped ones resume, unless `resume` is off.

    Raises:
        RunFolderError: as `asobiba.learn.training.train`, before the first run begins.
    """
    from asobiba.learn.training import _require_free

    numbers = [config["seed"] + k for k in range(count)]
    settings = {"resume": resume, "trust": trust, "track": track}
    jobs = [(game.name, {**config, "seed": number}, folder / f"seed-{number}", command, settings) for number in numbers]
    for _, changed, own, *_ in jobs:
        _require_free(own, game, changed, resume)
    cores = len(os.sched_getaffinity(0))
    at_once = max(1, cores // config["threads"]) if config["algorithm"] == "gumbel_az" else cores
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(count, at_once), mp_context=context) as workers:
        for number, line in zip(numbers, workers.map(_train_one, jobs), strict=True):
            say(f"seed {number}: {line}")
    return summarise_seeds(folder)


def _train_one(job: tuple[str, dict[str, Any], Path, str, dict[str, Any]]) -> str:
    from asobiba.core import game
    from asobiba.learn import expert, training
    from asobiba.protocols.sandbox import consent

    name, config, folder, command, settings = job
    with consent(settings["trust"]):
        if config["algorithm"] == "gumbel_az":
            resume = settings["resume"]
            expert.train(game(name), config, folder, resume=resume, command=command, say=lambda _: None)
            record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
            return "; ".join(f"{row['score']:.3f} against {pairing(row)}" for row in record["evaluation"])
        results = training.train(game(name), config, folder, progress=False, command=command, **settings)
    return ", ".join(
        f"{r.score:.3f} against {r.opponent}" if r.opponent != "-" else f"{r.mean_return:.3f}" for r in results
    )


def summarise_seeds(folder: str | Path) -> Path:
    """Writes `seeds.csv`: the interquartile mean over the finished runs of score and mean return, per step and opponent; of
    runs by search that of the score, per round, opponent and number of simulations.
    """
    folder = Path(folder)
    found: dict[tuple[Any, ...], list[tuple[float, ...]]] = {}
    keys, figures = _COLUMNS["steps"]
    for file in sorted(folder.glob("seed-*/run.json")):
        record = json.loads(file.read_text(encoding="utf-8"))
        keys, figures = _COLUMNS["round" if record.get("algorithm") == "gumbel_az" else "steps"]
        with (file.parent / "curve.csv").open(encoding="utf-8", newline="") as lines:
            rows: list[dict[str, Any]] = list(csv.DictReader(lines))
        if keys[0] == "steps":  # a curve of rounds ends with the last evaluation
            rows += [{"steps": record["steps"], **row} for row in record["evaluation"]]
        for row in rows:
            key = tuple(row[name] if name == "opponent" else int(row[name]) for name in keys)
            found.setdefault(key, []).append(tuple(float(row[name]) for name in figures))
    path = folder / "seeds.csv"
    with path.open("w", encoding="utf-8", newline="") as table:
        writer = csv.writer(table, lineterminator="\n")
        writer.writerow([*keys, "runs", *(column for name in figures for column in (name, *_BOUNDS[name]))])
        for key, values in sorted(found.items()):
            means = [mean for column in zip(*values, strict=True) for mean in interquartile_mean(column)]
            writer.writerow([*key, len(values), *(f"{mean:.4f}" for mean in means)])
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
    unit = next(iter(rows[0]))
    for name in dict.fromkeys(pairing(row) for row in rows):
        own = [row for row in rows if pairing(row) == name]
        figure_name = "mean_return" if name == "-" else "score"
        columns = (unit, figure_name, *_BOUNDS[figure_name])
        steps, middle, low, high = ([float(row[column]) for row in own] for column in columns)
        (line,) = axes.plot(steps, middle, marker=".", label=name)
        axes.fill_between(steps, low, high, color=line.get_color(), alpha=0.2)
    axes.set(title="interquartile mean over the runs", xlabel="rounds" if unit == "round" else "decisions")
    axes.legend(loc="lower right")
    path = folder / "seeds.svg"
    with matplotlib.rc_context({"svg.hashsalt": "asobiba", "svg.fonttype": "none"}):
        figure.savefig(path, metadata={"Date": None})
    return path
