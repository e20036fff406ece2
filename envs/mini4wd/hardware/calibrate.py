"""Calibration: from recorded runs to an ensemble of cars that explain them, by an ensemble smoother.

Each member is a car with its electronics. All are driven with the recorded commands, on the stand and on the course; what they
would have shown (turns of the wheel, voltage under load, heading) is compared with what was recorded, and the members
are moved by their correlation with it, in several steps with enlarged errors (ES-MDA). A first pass says how far from the
records even the best members stay: a real car is none of the model's. The second pass, from the beginning again, takes that misfit, and its
correlation from reading to reading, for error, so that what the model lacks does not make the ensemble too sure.

Source: A. A. Emerick and A. C. Reynolds, "Ensemble smoother with multiple data assimilation", Computers & Geosciences 55
(2013), 3-15.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from scipy.special import ndtr, ndtri

from asobiba.core import AsobibaError, GameParameterError
from asobiba.envs.mini4wd.car import CAR_NAMES, Car, load_car
from asobiba.envs.mini4wd.hardware.body import begin_body, run_body
from asobiba.envs.mini4wd.hardware.identify import ELECTRONICS, Run
from asobiba.envs.mini4wd.hardware.stand import run_stand
from asobiba.envs.mini4wd.profile import SENSOR_NAMES, Profile, load_profile

FORMAT, VERSION = "asobiba-mini4wd-posterior", 1
GYRO = "gyro_scale"
"""A nuisance: what the gyro reads over what it turned."""
STEPS, GENTLER = 8, 2.5
"""Steps of each pass, and by how much each enlarges the errors' squares less than the one before."""
EVERY = {"stand": 0.05, "laps": 0.1}
"""Between two readings that are compared, s."""
ERRORS = {"turns": 0.03, "voltage": 0.01, "heading": 0.03}
"""Least standard errors of a reading: turns of the wheel, V, rad."""
MOST_ALIKE = 0.95


class CalibrationError(AsobibaError, ValueError):
    """Raised for runs from which nothing can be learned, and for files that hold no posterior."""


@dataclass(frozen=True)
class Prior:
    """Knowledge before any measurement: the nominal car, its electronics, and the bounds of each unknown (uniform)."""

    car: Car
    profile: Profile
    bounds: Mapping[str, tuple[float, float]]

    @classmethod
    def of(cls, car: Any, profile: Any, factors: Mapping[str, Sequence[float]], **known: tuple[float, float]) -> Prior:
        """The prior of a car file: `factors` of its values, and absolute bounds of what has been `known` by measuring.

        Raises:
            GameParameterError: for a name that is none of car or electronics.
        """
        own, electronics = load_car(car), load_profile(profile)
        values = {**electronics.values, **own.values, GYRO: 1.0}
        for name in (*factors, *known):
            if name not in values:
                raise GameParameterError(
                    f"{name!r} is none of the car's values nor of its electronics: {', '.join(values)}"
                )
        bounds = {
            name: (values[name] * low, values[name] * high) for name, (low, high) in factors.items() if values[name]
        }
        return cls(own, electronics, {**bounds, **known})

    @property
    def names(self) -> tuple[str, ...]:
        """The unknowns."""
        return tuple(self.bounds)

    def values(self, z: np.ndarray) -> np.ndarray:
        """Standard normal numbers `(n, unknowns)` as values between the bounds."""
        low, high = np.array(list(self.bounds.values())).T
        return low + (high - low) * ndtr(z)

    def normal(self, values: np.ndarray) -> np.ndarray:
        """The inverse of `values`."""
        low, high = np.array(list(self.bounds.values())).T
        return ndtri(np.clip((values - low) / (high - low), 1e-6, 1 - 1e-6))


@dataclass(frozen=True)
class Posterior:
    """Cars that explain the runs: `draws` `(n, unknowns)` of the prior's unknowns, in the order of its names.

    `best` is the draw that explains them best. (The medians of all unknowns together are none that does: what goes with what is in
    the draws.)
    """

    prior: Prior
    draws: np.ndarray
    best: int = 0

    def __len__(self) -> int:
        return len(self.draws)

    def column(self, name: str) -> np.ndarray:
        """All draws of an unknown."""
        return self.draws[:, self.prior.names.index(name)]

    def interval(self, name: str, share: float = 0.9) -> tuple[float, float]:
        """Between these lies that share of an unknown's draws."""
        low, high = np.quantile(self.column(name), [(1 - share) / 2, (1 + share) / 2])
        return float(low), float(high)

    def _made(self, values: Mapping[str, float]) -> tuple[Car, Profile]:
        own = {name: float(value) for name, value in values.items() if name in CAR_NAMES}
        other = {name: float(value) for name, value in values.items() if name in SENSOR_NAMES}
        profile = replace(self.prior.profile, values={**self.prior.profile.values, **other})
        return self.prior.car.with_values(**own), profile

    def member(self, k: int) -> tuple[Car, Profile]:
        """The car of draw `k`, and its electronics."""
        return self._made(dict(zip(self.prior.names, self.draws[k], strict=True)))

    def ranges(self, others: Mapping[str, Sequence[float]]) -> dict[str, list[float]]:
        """Ranges for `randomise` around the best car, as factors: those of the draws, and `others` for what was not asked.

        They hold each unknown by itself; the draws also know what goes with what.
        """
        car, profile = self.member(self.best)
        nominal = {**profile.values, **car.values}
        found = {name: list(map(float, ends)) for name, ends in others.items()}
        for name in self.prior.names:
            if nominal.get(name):
                column = self.column(name) / nominal[name]
                found[name] = [float(column.min()), float(column.max())]
        return found

    def save(self, path: str | Path, about: Mapping[str, Any] | None = None) -> None:
        """Writes the draws with the prior, and `about`: where they come from."""
        data = {
            "format": FORMAT, "version": VERSION, **(about or {}), "car": self.prior.car.as_data(),
            "profile": {
                "base": self.prior.profile.name, **{n: self.prior.profile.values[n] for n in self.prior.names if n in SENSOR_NAMES}
            },
            "prior": {name: [float(low), float(high)] for name, (low, high) in self.prior.bounds.items()},
            "best": self.best,
            "draws": [[float(f"{value:.6g}") for value in row] for row in self.draws],
        }  # fmt: skip
        Path(path).write_text(yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=1000), encoding="utf-8")


def load_posterior(path: str | Path) -> Posterior:
    """Reads a file of `Posterior.save`.

    Raises:
        CalibrationError: if there is none, or it holds no posterior.
    """
    try:
        data = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
        if not isinstance(data, dict) or data.get("format") != FORMAT or data.get("version") != VERSION:
            raise CalibrationError(f"{path} holds no posterior: it must say format {FORMAT}, version {VERSION}")
        bounds = {str(name): (float(low), float(high)) for name, (low, high) in data["prior"].items()}
        draws = np.array(data["draws"], float)
        if draws.ndim != 2 or draws.shape[1] != len(bounds) or not np.isfinite(draws).all():
            raise CalibrationError(f"{path}: its draws must be rows of {len(bounds)} numbers")
        if not 0 <= int(data["best"]) < len(draws):
            raise CalibrationError(f"{path}: best is {data['best']!r}, but there are {len(draws)} draws")
        return Posterior(Prior(load_car(data["car"]), load_profile(data["profile"]), bounds), draws, int(data["best"]))
    except OSError as error:
        raise CalibrationError(f"the posterior {str(path)!r} cannot be read: {error}") from None
    except (yaml.YAMLError, KeyError, TypeError, ValueError) as error:
        if isinstance(error, AsobibaError):
            raise
        raise CalibrationError(f"{path} holds no posterior: {error!r}") from None


@dataclass(frozen=True)
class Section:
    """A recorded run, on the stand or on the course, and the lane that it began in."""

    run: Run
    lane: int = 0
    stand: bool = False

    @property
    def kind(self) -> str:
        """ "stand" or "laps"."""
        return "stand" if self.stand else "laps"


class Replay:
    """Drives members with a section's commands, and says what they would have shown."""

    def __init__(self, section: Section, prior: Prior):
        from asobiba.envs.mini4wd import GAME

        self.section, self.prior = section, prior
        run = section.run
        self.ruleset = GAME.ruleset(
            course=run.parameters.get("course", "junior"), car=prior.car.as_data(), lane=section.lane, randomise="none",
            sample_ms=50, laps=100, profile=prior.profile,
        )  # fmt: skip
        self._states, self._blank = self.ruleset.zeros(), self.ruleset.zeros()
        self._out = np.empty((len(run.duties), 4))
        names = list(prior.names)
        self._car = [(names.index(n), CAR_NAMES.index(n)) for n in names if n in CAR_NAMES]
        self._sensor = [(names.index(n), SENSOR_NAMES.index(n)) for n in names if n in ELECTRONICS]
        self._gyro = names.index(GYRO) if GYRO in names else None
        self._tyre = CAR_NAMES.index("tyre_diameter")
        step = EVERY[section.kind]
        self._bins = np.floor(run.times[1:] / step).astype(int)
        self._kinds, self.measured, self.times = self._readings()

    def _binned(self, values: np.ndarray) -> np.ndarray:
        """Means of a frame's values, `(frames,)`, over each reading."""
        counts = np.bincount(self._bins)
        return np.bincount(self._bins, values)[counts > 0] / counts[counts > 0]

    def _readings(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        run = self.section.run
        times = self._binned(run.times[1:])
        parts, when = {"voltage": self._binned(run.voltage[1:])}, [times]
        if run.edges is not None:
            parts["turns"] = run.edges[1:, 1]
            when.append(run.edges[1:, 0])
        if not self.section.stand:
            parts["heading"] = self._binned(run.heading[1:])
            when.append(times)
        if "turns" not in parts and self.section.stand:
            raise CalibrationError("a run on the stand tells nothing without a tachometer that times its pulses")
        kinds = np.concatenate([np.full(len(part), list(ERRORS).index(name)) for name, part in parts.items()])
        return kinds, np.concatenate(list(parts.values())), np.concatenate(when)

    @property
    def kinds(self) -> np.ndarray:
        """Of each reading, the index into `ERRORS`."""
        return self._kinds

    def rows(self, values: np.ndarray) -> np.ndarray:
        """`body.run_body`'s rows of a member's run, ms by ms; beyond its end it stays where it left the course."""
        run = self.section.run
        self._states[:] = self._blank
        begin_body(self._states, self.ruleset.params, np.uint64(0))
        state = self._states[0]
        for at, column in self._car:
            state["car"][0, column] = values[at]
        for at, column in self._sensor:
            state["sensor"][0, column] = values[at]
        drive = run_stand if self.section.stand else run_body
        done = drive(self._states, self.ruleset.params, run.duties, run.modes, self._out)
        if done < len(self._out):
            self._out[done:] = self._out[max(done - 1, 0)]
        return self._out

    def shown(self, values: np.ndarray) -> np.ndarray:
        """Predicted measurements of a member, in the order of `measured`."""
        run, rows = self.section.run, self.rows(values)
        last = len(rows) - 1
        at = np.clip(np.rint(run.times[1:] * 1000).astype(int) - 1, 0, last)
        parts = [self._binned(rows[at, 2])]
        if run.edges is not None:
            turns = rows[:, 0] / (math.pi * float(self._states["car"][0, 0, self._tyre]))
            found = np.interp(run.edges[:, 0] * 1000 - 1, np.arange(len(rows)), turns)
            parts.append(found[1:] - found[0])
        if not self.section.stand:
            scale = 1.0 if self._gyro is None else values[self._gyro]
            parts.append(self._binned(scale * rows[at, 1]))
        return np.concatenate(parts)


def _errors(replays: Sequence[Replay], shown: np.ndarray, *, independent: bool) -> np.ndarray:
    """Standard error of every reading: the misfit of the members' median, not less than the least ones.

    Where the misfits are not taken for `independent`, their correlation from reading to reading makes each worth less.
    """
    found = []
    first = 0
    for replay in replays:
        size = len(replay.measured)
        errors = np.array(list(ERRORS.values()))[replay.kinds]
        off = replay.measured - np.median(shown[:, first : first + size], axis=0)
        for kind in np.unique(replay.kinds):
            here = replay.kinds == kind
            part = off[here]
            away = part - part.mean()
            power = float(away @ away)
            alike = min(max(float(away[1:] @ away[:-1]) / power, 0.0), MOST_ALIKE) if power > 0 else 0.0
            worth = 1.0 if independent else math.sqrt((1 + alike) / (1 - alike))
            errors[here] = np.maximum(errors[here], float(np.sqrt(np.mean(part**2)))) * worth
        found.append(errors)
        first += size
    return np.concatenate(found)


def _assimilated(
    z: np.ndarray,
    shown: np.ndarray,
    measured: np.ndarray,
    errors: np.ndarray,
    enlarged: float,
    draw: np.random.Generator,
) -> np.ndarray:
    """One step of the smoother: members `(n, unknowns)` moved by what they showed, `(n, readings)`."""
    scaled = (shown - shown.mean(axis=0)) / errors / math.sqrt(len(z) - 1)
    noise = math.sqrt(enlarged) * draw.standard_normal(shown.shape)
    off = (measured - shown) / errors + noise
    left, sizes, right = np.linalg.svd(scaled, full_matrices=False)
    kept = sizes > 1e-3 * sizes[0]
    left, sizes, right = left[:, kept], sizes[kept], right[kept]
    # C_zd (C_dd + enlarged I)^-1 in the space of the members' own differences.
    moves = off @ right.T * (sizes / (sizes**2 + enlarged))
    anomalies = (z - z.mean(axis=0)) / math.sqrt(len(z) - 1)
    return z + moves @ (left.T @ anomalies)


def calibrate(
    sections: Sequence[Section],
    prior: Prior,
    members: int = 200,
    seed: int = 0,
    progress: Callable[[str], None] = lambda text: None,
) -> Posterior:
    """Cars that explain recorded runs.

    Args:
        sections: the runs.
        prior: what is known before.
        members: of the ensemble.
        seed: of its draws.
        progress: called with a line of text after every step.

    Raises:
        CalibrationError: for no runs, or fewer members than unknowns.
    """
    if not sections:
        raise CalibrationError("nothing to calibrate from: give at least one recorded run")
    if members < 2 * len(prior.names):
        raise CalibrationError(
            f"{members} members cannot tell {len(prior.names)} unknowns apart; take at least {2 * len(prior.names)}"
        )
    draw = np.random.default_rng(seed)
    replays = [Replay(section, prior) for section in sections]
    measured = np.concatenate([replay.measured for replay in replays])
    start = draw.standard_normal((members, len(prior.names)))

    def show(z: np.ndarray) -> np.ndarray:
        return np.array([np.concatenate([replay.shown(row) for replay in replays]) for row in prior.values(z)])

    weights = GENTLER ** -np.arange(STEPS)
    enlarged = weights * np.sum(1.0 / weights)
    errors = np.zeros(len(measured))
    for turn in ("first", "second"):
        z = start
        for step in range(STEPS):
            shown = show(z)
            if turn == "first":
                errors = _errors(replays, shown, independent=True)
            off = np.sqrt(np.mean(((measured - np.median(shown, axis=0)) / errors) ** 2))
            progress(f"{turn} pass, step {step + 1} of {STEPS}: the middle car is off by {off:.2f} standard errors")
            z = _assimilated(z, shown, measured, errors, 1.0 if turn == "first" else enlarged[step], draw)
        shown = show(z)
        errors = _errors(replays, shown, independent=False)
    best = int(np.argmin(np.sum(((measured - shown) / errors) ** 2, axis=1)))
    return Posterior(prior, prior.values(z), best)
