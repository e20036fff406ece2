"""Search for the planner's numbers (`planner.LEARNED`) over generated courses and drawn cars: the cross-entropy method.

R. Y. Rubinstein, "The Cross-Entropy Method for Combinatorial and Continuous Optimization", Methodology and Computing in
Applied Probability 1, 1999. In every generation all candidates drive the same courses, cars and seeds, which are drawn anew
for the next one.
"""

from __future__ import annotations

import csv
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from asobiba.baselines.mini4wd.compare import interval
from asobiba.baselines.mini4wd.controllers import Controller, blank_sensors, run_many
from asobiba.baselines.mini4wd.planner import FILE, LEARNED, settings_of
from asobiba.baselines.mini4wd.policies import PLAN
from asobiba.baselines.mini4wd.sides import wilson
from asobiba.core import GameParameterError, Ruleset, make_agent
from asobiba.envs.mini4wd import GAME
from asobiba.envs.mini4wd.hardware.calibrate import Posterior

SETTINGS = Path(__file__).parent / "search.yml"
STATE = "state.json"
CURVE = ("generation", "seconds", "loss", "left", *LEARNED, *(f"{name}_spread" for name in LEARNED))


def names_of(courses: dict[str, int]) -> list[str]:
    """The courses `random:first` and following, `count` of them."""
    return [f"random:{k}" for k in range(courses["first"], courses["first"] + courses["count"])]


@dataclass
class Field:
    """Courses and cars: a parameter record, and one of the nominal car's model, for each pair."""

    ruleset: Ruleset
    params: np.ndarray
    models: np.ndarray
    decisions: int = 0
    """Control steps that have been driven on it."""

    @classmethod
    def of(cls, pairs: Sequence[tuple[str, str]], settings: dict[str, Any]) -> Field:
        """The field of these courses and cars."""
        shared = {name: settings[name] for name in ("randomise", "profile", "laps")}
        rules = [GAME.ruleset(course=c, car=car, tachometer=True, max_seconds=60.0, **shared) for c, car in pairs]
        return cls(
            rules[0], np.concatenate([r.params for r in rules]), np.concatenate([blank_sensors(r) for r in rules])
        )

    @classmethod
    def drawn(cls, courses: Sequence[str], posterior: Posterior, settings: dict[str, Any]) -> Field:
        """These courses with the cars of a posterior in turn; the model is the best of them."""
        shared = {"laps": settings["laps"], "tachometer": True, "max_seconds": 60.0, "randomise": "none"}
        car, profile = posterior.member(posterior.best)
        rules = [GAME.ruleset(course=c, car=car, profile=profile, **shared) for c in courses]
        models = np.concatenate([blank_sensors(r) for r in rules])
        params = np.concatenate([r.params for r in rules])
        for k in range(len(courses)):
            own, electronics = posterior.member(k % len(posterior))
            params["car"][k, 0], params["sensor"][k] = own.vector, electronics.vector()
        return cls(rules[0], params, models)

    def drive(self, controller: Controller, which: np.ndarray, seeds: np.ndarray) -> np.ndarray:
        """Seconds of runs on the pairs `which`, `(n,)`, NaN where a car did not finish."""
        finals = run_many(
            self.ruleset, np.repeat(controller.memory(), len(which)), seeds, params=self.params, models=self.models, course=which
        )  # fmt: skip
        self.decisions += int(finals["steps"].sum())
        seconds = finals["finish_time"][:, 0]
        return np.where(seconds > 0, seconds, np.nan)

    def loss(self, seconds: np.ndarray, which: np.ndarray, left: float) -> float:
        """Mean logarithm of the time over that at 3 m/s; `left` for a run that did not finish."""
        share = np.log(seconds / self.params["par_time"][which])
        return float(np.where(np.isfinite(share), share, left).mean())


def planner_of(values: np.ndarray) -> Controller:
    """The planner with numbers in the order of `LEARNED`, `(7,)`."""
    return Controller(PLAN, settings_of(dict(zip(LEARNED, values.tolist(), strict=True))), "plan_cem")


def load_settings(path: Path = SETTINGS, **changes: Any) -> dict[str, Any]:
    """Settings of a search, with changes; the held-out courses are refused.

    Raises:
        GameParameterError: for a setting that does not exist, or a held-out course among those of the search.
    """
    from asobiba.baselines.mini4wd.unseen import held_out

    settings = yaml.safe_load(path.read_text(encoding="utf-8"))
    if unknown := set(changes) - set(settings):
        raise GameParameterError(f"{path.name} has no {sorted(unknown)}; it has {', '.join(settings)}")
    settings |= changes
    kept = set(held_out().names)
    for about in (settings, settings["validation"]):
        if both := kept & set(names_of(about["courses"])):
            raise GameParameterError(
                f"{sorted(both)[0]} is of the held-out set, on which nothing may be trained or tuned"
            )
    return settings


class Search:
    """A search in a folder, which a search that was broken off is taken up from.

    Args:
        settings: see `search.yml`.
        folder: receives `config.yml`, `curve.csv`, `learned.json`, `run.json`, and until the end `state.json`.
        posterior: of a calibration (`envs.mini4wd.hardware.calibrate`): the cars are its own.

    Raises:
        GameParameterError: if the folder holds a finished search or one with other settings.
    """

    def __init__(self, settings: dict[str, Any], folder: Path, posterior: Posterior | None = None):
        text = yaml.safe_dump(settings, sort_keys=False)
        config = folder / "config.yml"
        if (folder / "run.json").exists() or (config.exists() and config.read_text(encoding="utf-8") != text):
            raise GameParameterError(
                f"{folder} holds a search that is finished or has other settings; take another folder"
            )
        folder.mkdir(parents=True, exist_ok=True)
        config.write_text(text, encoding="utf-8")
        self.settings, self.folder, self._posterior = settings, folder, posterior
        self.field = self._field_of(settings["courses"])
        limits = np.array(list(LEARNED.values()))
        self._low, self._width = limits[:, 0], limits[:, 1] - limits[:, 0]
        start = np.array([settings["start"][name] for name in LEARNED])
        self.generation, self.seconds = 0, 0.0
        self.mean = (start - self._low) / self._width
        self.spread = np.full(len(LEARNED), float(settings["spread"]))
        if (folder / STATE).exists():
            kept = json.loads((folder / STATE).read_text(encoding="utf-8"))
            self.generation, self.seconds = kept["generation"], kept["seconds"]
            self.field.decisions = kept["steps"]
            self.mean, self.spread = np.array(kept["mean"]), np.array(kept["spread"])

    def _field_of(self, courses: dict[str, int]) -> Field:
        names, cars = names_of(courses), self.settings["cars"]
        if self._posterior is not None:
            return Field.drawn(names, self._posterior, self.settings)
        return Field.of([(name, cars[k % len(cars)]) for k, name in enumerate(names)], self.settings)

    def values(self, places: np.ndarray) -> np.ndarray:
        """Numbers of places within their ranges; places are in [0, 1]."""
        return self._low + self._width * np.clip(places, 0.0, 1.0)

    def step(self) -> dict[str, float]:
        """A generation; returns the row of the curve."""
        begun, about = time.process_time(), self.settings
        draw = np.random.Generator(np.random.Philox([about["seed"], self.generation]))
        which = draw.integers(0, len(self.field.params), about["runs"])
        seeds = draw.integers(0, 2**62, about["runs"])
        places = self.mean + self.spread * draw.standard_normal((about["candidates"], len(LEARNED)))
        places[0] = self.mean
        places = np.clip(places, 0.0, 1.0)
        driven = [self.field.drive(planner_of(self.values(place)), which, seeds) for place in places]
        losses = np.array([self.field.loss(seconds, which, about["left"]) for seconds in driven])
        told = dict(zip(CURVE[4:], [*self.values(self.mean), *(self._width * self.spread)], strict=True))
        best = places[np.argsort(losses, kind="stable")[: about["elite"]]]
        self.mean = 0.3 * self.mean + 0.7 * best.mean(0)
        self.spread = np.maximum(0.5 * self.spread + 0.5 * best.std(0), about["least_spread"])
        self.generation += 1
        self.seconds += time.process_time() - begun
        row = {
            "generation": self.generation, "seconds": self.seconds, "loss": losses[0],
            "left": float(np.isnan(driven[0]).mean()), **told,
        }  # fmt: skip
        self._keep(row)
        return row

    def _keep(self, row: dict[str, float]) -> None:
        kept = {
            "generation": self.generation, "seconds": self.seconds, "steps": self.field.decisions,
            "mean": self.mean.tolist(), "spread": self.spread.tolist(),
        }  # fmt: skip
        with (self.folder / "curve.csv").open("a", encoding="utf-8", newline="") as file:
            if file.tell() == 0:
                csv.writer(file, lineterminator="\n").writerow(CURVE)
            csv.writer(file, lineterminator="\n").writerow([f"{row[name]:.4g}" for name in CURVE])
        (self.folder / STATE).write_text(json.dumps(kept), encoding="utf-8")

    def validate(self, say: Callable[[str], None]) -> list[dict[str, Any]]:
        """The numbers that were found and those of the start on other courses, beside `predict`."""
        about = self.settings["validation"]
        field = self._field_of(about["courses"])
        which = np.arange(about["runs"]) % len(field.params)
        seeds = about["seed"] + np.arange(about["runs"])
        start = np.array([self.settings["start"][name] for name in LEARNED])
        predict = make_agent(GAME, "predict")
        assert isinstance(predict, Controller)
        drivers = {"predict": predict, "start": planner_of(start), "found": planner_of(self.values(self.mean))}
        base = field.drive(predict, which, seeds)
        rows = []
        for name, driver in drivers.items():
            seconds = base if name == "predict" else field.drive(driver, which, seeds)
            faster, half = interval(faster_by(seconds, base))
            finished = wilson(int(np.isfinite(seconds).sum()), len(seconds))
            rows.append(
                {
                    "driver": name, "runs": len(seconds), "finished": finished, "faster": [faster, half],
                    "loss": field.loss(seconds, which, self.settings["left"]),
                }
            )  # fmt: skip
            say(f"validation, {name}: {finished[0]:.1%} finish, {faster:+.2%} ± {half:.2%} faster than predict")
        return rows

    def finish(self, command: str, say: Callable[[str], None]) -> dict[str, Any]:
        """Writes the numbers and the record of the search; returns the record."""
        from asobiba.learn.training import versions

        values = self.values(self.mean)
        learned = {name: round(float(value), 4) for name, value in zip(LEARNED, values, strict=True)}
        (self.folder / FILE).write_text(json.dumps(learned, indent=1) + "\n", encoding="utf-8")
        about = self.settings
        record = {
            "command": command, "seed": about["seed"], "steps": self.field.decisions, "core_hours": round(self.seconds / 3600, 3),
            "parameters": len(LEARNED), "versions": versions(), "validation": self.validate(say),
        }  # fmt: skip
        (self.folder / "run.json").write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
        (self.folder / STATE).unlink(missing_ok=True)
        return record


def faster_by(seconds: np.ndarray, other: np.ndarray) -> np.ndarray:
    """By how much less time each run takes than the other's, in logarithms, of the runs that finish with both."""
    both = np.isfinite(seconds) & np.isfinite(other)
    return np.log(other[both] / seconds[both])


def search(
    settings: dict[str, Any],
    folder: Path,
    command: str,
    say: Callable[[str], None],
    posterior: Posterior | None = None,
) -> dict[str, Any]:
    """Searches to the end, or from where a search in this folder was broken off; returns the contents of `run.json`."""
    found = Search(settings, folder, posterior)
    while found.generation < settings["generations"]:
        row = found.step()
        say(
            f"generation {row['generation']}: loss of the mean {row['loss']:+.4f}, {row['left']:.1%} left the course; "
            + ", ".join(f"{name} {row[name]:.3g}" for name in LEARNED)
        )
    return found.finish(command, say)
