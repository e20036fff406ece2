"""Search for hyperparameters with Optuna: a study in a SQLite file, which goes on where it was stopped."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from asobiba.arena.evaluation import Evaluation
from asobiba.core.errors import MissingExtra
from asobiba.core.game import Game
from asobiba.learn.algorithms import ALGORITHMS
from asobiba.learn.config import load_config
from asobiba.learn.training import train

_CHECKS = 5
"""Evaluations of a trial, after each of which it may be given up."""


def suggest(trial: Any, algorithm: str) -> dict[str, Any]:
    """Values of one trial, as a configuration has them; those of `learner` are arguments of the learner's class."""
    learner: dict[str, Any] = {
        "learning_rate": trial.suggest_float("learning_rate", 1e-5, 3e-3, log=True),
        "gamma": 1 - trial.suggest_float("discount", 1e-4, 0.1, log=True),
        "batch_size": trial.suggest_categorical("batch_size", [128, 256, 512, 1024, 2048]),
    }
    if ALGORITHMS[algorithm].off_policy:
        learner["gradient_steps"] = trial.suggest_int("gradient_steps", 1, 16, log=True)
        width = trial.suggest_categorical("width", [64, 128, 256])
        return {"learner": learner, "policy_kwargs": {"net_arch": [width, width]}}
    learner["n_steps"] = trial.suggest_categorical("n_steps", [16, 32, 64, 128, 256])
    learner["n_epochs"] = trial.suggest_int("n_epochs", 1, 10)
    learner["gae_lambda"] = 1 - trial.suggest_float("trace", 0.005, 0.2, log=True)
    learner["ent_coef"] = trial.suggest_float("ent_coef", 1e-5, 0.1, log=True)
    learner["clip_range"] = trial.suggest_categorical("clip_range", [0.1, 0.2, 0.3])
    return {"learner": learner}


def tune(
    game: Game,
    folder: str | Path,
    *,
    trials: int,
    config: str | Path | None = None,
    algorithm: str | None = None,
    changes: dict[str, Any] | None = None,
    say: Callable[[str], None] = print,
) -> Path:
    """Tries hyperparameters until the study has so many finished trials, and writes the best as `best.yml`.

    A trial is a training; its value is the mean score (of one player: the mean return) against the opponents of the
    evaluation. Trials below the median of the earlier ones at the same step are given up.

    Args:
        game: the game.
        folder: holds `study.db`, `best.yml`, and the run folder of the best trial.
        trials: in all, those of earlier calls included.
        config, algorithm, changes: as `asobiba.learn.config.load_config` takes them; equal in all calls.
        say: shows a line.

    Returns:
        `best.yml`, for `asobiba train --config`.

    Raises:
        MissingExtra: if Optuna is not installed.
    """
    try:
        import optuna
    except ImportError:
        raise MissingExtra("optuna", "tune") from None
    folder, changes = Path(folder), changes or {}
    base = load_config(game, config, algorithm=algorithm, **changes)
    folder.mkdir(parents=True, exist_ok=True)
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(
        storage=f"sqlite:///{(folder / 'study.db').resolve()}", study_name=f"{game.id} {base['algorithm']}",
        direction="maximize", load_if_exists=True, pruner=optuna.pruners.MedianPruner(n_startup_trials=4),
    )  # fmt: skip
    finished = optuna.trial.TrialState.COMPLETE, optuna.trial.TrialState.PRUNED
    for stopped in study.get_trials(states=[optuna.trial.TrialState.RUNNING]):  # of an earlier call
        study.tell(stopped.number, state=optuna.trial.TrialState.FAIL)
        study.enqueue_trial(stopped.params)
    while (number := len(study.get_trials(states=finished))) < trials:
        # Drawn anew for each trial, so that a study that was stopped goes on as if it had not been.
        study.sampler = optuna.samplers.TPESampler(seed=base["seed"] + number, n_startup_trials=8)
        trial = study.ask()
        say(_tried(study, trial, _try(game, base, folder, trial, (config, changes))))
        path = _write_best(study, folder, base)
    return path


def _try(game: Game, base: dict[str, Any], folder: Path, trial: Any, given: tuple[Any, dict[str, Any]]) -> float | None:
    """The value of a trial; `None` if it was given up."""
    import optuna

    config, changes = given
    values = suggest(trial, base["algorithm"])
    evaluation = {**base["evaluation"], "every": max(1, base["total_steps"] // _CHECKS)}
    run = load_config(
        game, config, algorithm=base["algorithm"], **_merged({**changes, "evaluation": evaluation}, values)
    )
    run["learner"] = {**run["learner"], "batch_size": _fitting(run, base)}

    def watch(steps: int, results: Sequence[Evaluation]) -> None:
        trial.report(value_of(results), steps)
        if trial.should_prune():
            raise optuna.TrialPruned

    place = folder / f"trial-{trial.number}"
    shutil.rmtree(place, ignore_errors=True)
    try:
        return value_of(train(game, run, place, progress=False, watch=watch))
    except optuna.TrialPruned:
        shutil.rmtree(place, ignore_errors=True)
        return None


def _merged(changes: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
    return {**changes, **{name: {**changes.get(name, {}), **value} for name, value in values.items()}}


def _fitting(run: dict[str, Any], base: dict[str, Any]) -> int:
    # Minibatches of PPO are no larger than what a rollout holds.
    size = int(run["learner"]["batch_size"])
    return size if ALGORITHMS[base["algorithm"]].off_policy else min(size, run["num_envs"] * run["learner"]["n_steps"])


def value_of(results: Sequence[Evaluation]) -> float:
    """The objective of a study: the mean score, or the mean return of one player."""
    return float(np.mean([r.mean_return if r.opponent == "-" else r.score for r in results]))


def _tried(study: Any, trial: Any, value: float | None) -> str:
    import optuna

    if value is None:
        study.tell(trial, state=optuna.trial.TrialState.PRUNED)
        return f"trial {trial.number}: given up"
    study.tell(trial, value)
    return f"trial {trial.number}: {value:.3f}, the best so far {study.best_value:.3f}"


def _write_best(study: Any, folder: Path, base: dict[str, Any]) -> Path:
    """Writes `best.yml` from the best trial's `config.yml`; other trials' folders are removed."""
    path = folder / "best.yml"
    if not any(trial.value is not None and trial.state.name == "COMPLETE" for trial in study.trials):
        return path
    best = study.best_trial
    config = folder / f"trial-{best.number}" / "config.yml"
    if config.is_file():
        found = yaml.safe_load(config.read_text(encoding="utf-8"))
        found["evaluation"] = base["evaluation"]
        path.write_text(
            f"# Trial {best.number}: {best.value:.4f}\n{yaml.safe_dump(found, sort_keys=False)}", encoding="utf-8"
        )
    for other in folder.glob("trial-*"):
        if other != config.parent:
            shutil.rmtree(other)
    return path
