"""Experiment trackers that a training also writes to: `asobiba train --track NAME`.

Each is an output format of Stable-Baselines3's logger, so that it gets what TensorBoard gets. The number of a run is kept
in the run folder (`tracking.json`); a run that goes on goes on there too. Where a tracker sends its figures, the tracker's
own settings say (environment variables, or its files).
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import KVWriter

from asobiba.core.errors import AsobibaError, MissingExtra

PROJECT = "asobiba"
"""The project, or experiment, of all runs."""


class TrackerError(AsobibaError, ValueError):
    """Raised for a tracker that does not exist."""


def _numbers(values: dict[str, Any], excluded: dict[str, tuple[str, ...]], kind: str) -> dict[str, float]:
    """The numbers among the logger's values; what SB3 keeps from this kind of output is left out."""
    return {
        name: float(value)
        for name, value in values.items()
        if kind not in (excluded.get(name) or ()) and isinstance(value, (int, float, np.number))
    }


class Tracker(KVWriter):
    """A run at a tracker.

    Args:
        module: the tracker's package, imported.
        run: what the package calls this run, to go on with; `None`: a new one.
        name: shown for the run.
        config: the run's hyperparameters.
        folder: the run folder.
    """

    def __init__(self, module: Any, run: str | None, name: str, config: dict[str, Any], folder: Path):
        self.module, self.folder = module, folder
        self.run = self.begin(run, name, config)

    def begin(self, run: str | None, name: str, config: dict[str, Any]) -> str:
        """Begins the run, or goes on with it; the number to go on with next time."""
        raise NotImplementedError

    def log(self, numbers: dict[str, float], step: int) -> None:
        """Sends figures after so many decisions."""
        raise NotImplementedError

    def write(self, key_values: dict[str, Any], key_excluded: dict[str, tuple[str, ...]], step: int = 0) -> None:
        self.log(_numbers(key_values, key_excluded, "tensorboard"), step)


class Wandb(Tracker):
    """Weights & Biases; `WANDB_MODE=offline` keeps the run in the run folder until `wandb sync`."""

    def begin(self, run: str | None, name: str, config: dict[str, Any]) -> str:
        resume = {} if run is None else {"id": run, "resume": "allow"}
        self._run = self.module.init(project=PROJECT, name=name, config=config, dir=str(self.folder), **resume)
        return str(self._run.id)

    def log(self, numbers: dict[str, float], step: int) -> None:
        self._run.log(numbers, step=step)

    def close(self) -> None:
        self._run.finish()


class MLflow(Tracker):
    """MLflow; without `MLFLOW_TRACKING_URI` its own default, a database in the working directory."""

    def begin(self, run: str | None, name: str, config: dict[str, Any]) -> str:
        self._client = self.module.MlflowClient()
        if run is not None:
            self._client.update_run(run, status="RUNNING")
            return run
        found = self._client.get_experiment_by_name(PROJECT)
        experiment = found.experiment_id if found is not None else self._client.create_experiment(PROJECT)
        number = self._client.create_run(experiment, run_name=name).info.run_id
        for key, value in _flat(config):
            self._client.log_param(number, key, value)
        return str(number)

    def log(self, numbers: dict[str, float], step: int) -> None:
        for name, value in numbers.items():
            self._client.log_metric(self.run, _spelled(name), value, step=step)

    def close(self) -> None:
        self._client.set_terminated(self.run)


class Trackio(Tracker):
    """Trackio; the runs lie on this machine, `trackio show` shows them."""

    def begin(self, run: str | None, name: str, config: dict[str, Any]) -> str:
        name = run or name
        self._run = self.module.init(project=PROJECT, name=name, config=dict(_flat(config)), resume="allow")
        return name

    def log(self, numbers: dict[str, float], step: int) -> None:
        self._run.log(numbers, step=step)

    def close(self) -> None:
        self.module.finish()


def _flat(config: dict[str, Any], prefix: str = "") -> list[tuple[str, str | int | float]]:
    """Nested hyperparameters under dotted names."""
    found: list[tuple[str, str | int | float]] = []
    for name, value in config.items():
        if isinstance(value, dict):
            found += _flat(value, f"{prefix}{name}.")
        else:
            found.append((prefix + name, value if isinstance(value, (int, float)) else str(value)))
    return found


def _spelled(name: str) -> str:
    """A name as MLflow accepts it; the names of agents have colons, equals signs and commas."""
    return "".join(letter if letter.isalnum() or letter in "_-. /:" else "_" for letter in name)


@dataclass(frozen=True)
class _Kind:
    package: str
    extra: str
    tracker: type[Tracker]


TRACKERS = {
    "wandb": _Kind("wandb", "wandb", Wandb),
    "mlflow": _Kind("mlflow", "mlflow", MLflow),
    "trackio": _Kind("trackio", "trackio", Trackio),
}


def require_trackers(names: Sequence[str]) -> None:
    """Raises for trackers that do not exist or are not installed. `tensorboard` is written in any case.

    Raises:
        TrackerError: for an unknown name.
        MissingExtra: for a tracker that is not installed.
    """
    for name in names:
        if name == "tensorboard":
            continue
        if name not in TRACKERS:
            raise TrackerError(f"no tracker is called {name!r}; there are: tensorboard, {', '.join(TRACKERS)}")
        _module(name)


def _module(name: str) -> Any:
    kind = TRACKERS[name]
    try:
        return importlib.import_module(kind.package)
    except ImportError as error:
        raise MissingExtra(kind.package, kind.extra) from error


class Tracking(BaseCallback):
    """Adds trackers to the outputs of the learner's logger while it trains.

    Args:
        names: of `TRACKERS`, or `tensorboard`.
        config: the run's hyperparameters, the game under `game`.
        folder: the run folder; its name is the run's.
    """

    def __init__(self, names: Sequence[str], config: dict[str, Any], folder: Path):
        super().__init__()
        self._names = [name for name in dict.fromkeys(names) if name != "tensorboard"]
        self._config, self._folder = config, folder
        self._open: list[Tracker] = []

    def _on_training_start(self) -> None:
        file = self._folder / "tracking.json"
        known = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
        for name in self._names:
            kind = TRACKERS[name].tracker
            self._open.append(kind(_module(name), known.get(name), self._folder.name, self._config, self._folder))
            known[name] = self._open[-1].run
        if self._names:
            file.write_text(json.dumps(known, indent=2) + "\n", encoding="utf-8")
        self.logger.output_formats += self._open

    def close(self) -> None:
        """Ends the runs; also after an interruption."""
        if self._open:
            self.logger.output_formats = [one for one in self.logger.output_formats if one not in self._open]
        while self._open:
            self._open.pop().close()

    def _on_step(self) -> bool:
        return True
