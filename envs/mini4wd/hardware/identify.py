"""System identification: the car file's drive and drag parameters, fitted to a recorded run.

The recorded duties are driven once more in the simulator, on the course of the recording, and the parameters are chosen
so that three things agree, by least squares (SciPy): the heading that the gyro has turned through, which gives the
car's place on a known course; the battery's voltage under load; and, where there is one, the tachometer. The mean of
the gyro before the start is its zero, its scale is fitted along (a data sheet allows 3 % of error).

A run that tells the parameters apart accelerates at several duties, rolls freely, brakes, and lets the duty fall while it
rolls fast (which tells what the bridge does between its pulses): `excitation` is one. The report names what a run does
not reveal: parameters with wide intervals, and pairs of which only a combination is determined.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import least_squares

from asobiba.core import AsobibaError, GameParameterError
from asobiba.envs.mini4wd.car import CAR_FIELDS, CAR_NAMES, Car, load_car
from asobiba.envs.mini4wd.hardware.body import begin_body, motor_mode, run_body
from asobiba.envs.mini4wd.hardware.codec import DriveMode, Telemetry, make_codec
from asobiba.envs.mini4wd.hardware.env import parse_axes
from asobiba.envs.mini4wd.hardware.program import PROFILE_OF_CODEC
from asobiba.envs.mini4wd.hardware.runlog import read_log
from asobiba.envs.mini4wd.profile import SENSOR_FIELDS, SENSOR_NAMES, load_profile

PARAMETERS = (
    "torque_constant", "resistance", "no_load_current", "roller_drag", "voltage", "battery_resistance",
)  # fmt: skip
"""Parameters fitted by default. The wheels' rolling resistance acts as the motor's own friction (`no_load_current`) does and is
a tenth of it: one run cannot tell the two apart, so it keeps the car file's value."""
HEADING_NOISE, VOLTAGE_NOISE, DISTANCE_NOISE = 0.02, 0.005, 0.03
"""Weights of the residuals, rad, V and m: what a good sensor leaves; to the voltage's the profile's own noise is added."""
STARTS = 4
FINALISTS = 3
POLISHED, HOLLOW, AS_DEEP = 6, 0.01, 1.03
"""Fits from around the best one, how far around it (a share of each value), and up to what share of the least cost they count."""
NORMAL_95 = 1.96
WIDE, ALIKE = 0.3, 0.98
"""A parameter counts as not revealed if half its 95 % interval is more than this share of it, or two of them if their
correlation is beyond this."""
HORIZONS = (3.0, 5.0, 8.0, 12.0)
"""Cars that the fit begins with in every lane, how many of these fits are carried on, and the seconds of the run that it takes in, one after the other."""
_FIELDS = {field.name: field for field in (*CAR_FIELDS, *SENSOR_FIELDS)}
UNITS_OF_ADDED = {
    "speed_drag": 0.01, "rolling_resistance": 0.02, "gear_efficiency": 0.8, "mass": 0.15, "brake_friction": 0.3,
    "wiring_resistance": 0.05, "bridge_resistance": 0.1, "brake_resistance": 0.1, "dead_time": 5e-7,
}  # fmt: skip
"""Other parameters that can be fitted, with the step to use where the file has 0."""
ELECTRONICS = ("bridge_resistance", "brake_resistance", "dead_time")
"""Those of them that are the profile's. While it drives the bridge is in series with the winding: one run tells `resistance` and
`bridge_resistance` apart only by what the brake does."""
FITTABLE = (*PARAMETERS, *UNITS_OF_ADDED)
FACTOR = 3.0
"""A fitted value stays within this factor of the car file's, and within the field's legal range."""
PHASES: tuple[tuple[float, float, float], ...] = (
    (1.2, 0.8, 0.0), (0.6, 0.0, -0.75), (0.8, 0.6, 0.0), (0.3, 0.0, -0.25), (1.0, 0.9, 0.0), (0.8, 0.0, -0.75),
    (0.9, 0.5, 0.0), (0.4, 0.0, -0.25), (1.5, 0.7, 0.0), (1.0, 0.0, -0.75), (1.0, 1.0, 0.0), (0.5, 0.0, -0.75),
    (0.7, 0.7, 0.0), (0.2, 0.0, -0.25), (1.3, 0.9, 0.0), (1.0, 0.0, -0.75), (2.0, 0.6, 0.0), (1.0, 0.0, -0.75),
    (1.0, 1.0, 0.0), (0.8, 0.3, 0.0), (0.6, 0.9, 0.0), (0.8, 0.4, 0.0), (0.5, 0.0, -0.25),
)  # fmt: skip
"""Seconds, duty and mode selector (free -0.75, brake -0.25) of the identification run."""


class IdentificationError(AsobibaError, ValueError):
    """Raised for a log from which a car cannot be identified."""


def excitation(seconds: float, most: float = 1.0) -> tuple[float, float] | None:
    """The action of the identification run at this time, `None` when it is over. `most` scales the duties."""
    return action_at(PHASES, seconds, most)


def action_at(
    phases: Sequence[tuple[float, float, float]], seconds: float, most: float = 1.0
) -> tuple[float, float] | None:
    """The action of phases (seconds, duty, mode selector) at this time, `None` when they are over. `most` scales the duties."""
    for length, duty, selector in phases:
        if seconds < length:
            return duty * most, selector
        seconds -= length
    return None


@dataclass(frozen=True)
class Run:
    """A recorded run, as the fit needs it.

    `times` of the frames since the start in s, `heading` in rad, `voltage` in V, `distance` of the wheels in m (`None`
    without a tachometer), and millisecond by millisecond `duties` and `modes`. `edges` `(k, 2)`: times of the tachometer's pulses
    that the frames tell, in s, and how many turns they are after the first; `None` where the car does not time its pulses.
    """

    times: np.ndarray
    heading: np.ndarray
    voltage: np.ndarray
    distance: np.ndarray | None
    duties: np.ndarray
    modes: np.ndarray
    parameters: dict[str, Any]
    edges: np.ndarray | None = None


@dataclass(frozen=True)
class Identification:
    """Result of a fit: the car, what was fitted of its profile, the values that the fit `began` with, each fitted value with its standard error, and the residuals' rms before and after.

    `errors` are standard errors (infinite where the run does not depend on a value), in which the residuals of one quantity count
    as as many independent ones as their correlation from frame to frame leaves, and which include how far apart about equally
    good fits lie; `intervals` are 95 % of it, within the legal range. `hidden` says of each parameter that the run does
    not reveal why. `decay_costs` are the costs of the fit with a bridge that leaves the motor free between its pulses (0)
    and with one that shorts it (1); with many fitted values they differ by less than the cost is rough, and say little.
    """

    car: Car
    electronics: dict[str, float]
    began: dict[str, float]
    values: dict[str, float]
    errors: dict[str, float]
    intervals: dict[str, tuple[float, float]]
    hidden: dict[str, str]
    decay_costs: dict[int, float]
    before: dict[str, float]
    after: dict[str, float]
    lane: int
    gyro_scale: float
    seconds: float


def read_run(path: str | Path) -> Run:
    """The last episode of a log.

    Raises:
        LogError: for a file that is no log.
        IdentificationError: if it holds no episode in which the car drives.
    """
    header, entries = read_log(path)
    settings = header["settings"]
    codec = make_codec(settings["codec"])
    profile = load_profile(settings["parameters"].get("profile", PROFILE_OF_CODEC[codec.name]))
    matrix = parse_axes(settings["axes"] or profile.axes)
    before: list[Telemetry] = []
    during: list[Telemetry] = []
    for entry in entries:
        if "reset" in entry:
            before, during = (during or before)[-round(1000 / profile.sample_ms) :], []
        elif entry.get("b") and "r" in entry:
            during += [m for m in codec.read(bytes.fromhex(entry["b"])) if isinstance(m, Telemetry)]
        elif entry.get("i", {}).get("end_reason"):
            break
    if len(before) < 5 or len(during) < 50 or not any(f.drive.mode == DriveMode.FORWARD for f in during):
        raise IdentificationError(
            f"{str(path)!r} holds {len(during)} frames of a run after {len(before)} at rest, and the car must drive in "
            "it; record one with: asobiba hil record PORT LOG"
        )
    frames = [before[-1], *during]
    clock = np.array([f.car_time for f in frames])
    times = np.concatenate([[0.0], np.cumsum(np.mod(np.diff(clock), 2**32 / 1e6))])
    rates = np.array([(matrix @ np.array(f.rate))[2] for f in frames])
    zero = np.mean([(matrix @ np.array(f.rate))[2] for f in before])
    yaw = np.radians(rates - zero)
    heading = np.concatenate([[0.0], np.cumsum(0.5 * (yaw[1:] + yaw[:-1]) * np.diff(times))])
    distance = edges = None
    if settings["parameters"].get("tachometer") and frames[0].pulses is not None:
        pulses = np.cumsum([0, *(((b.pulses or 0) - (a.pulses or 0)) & 0xFFFF for a, b in itertools.pairwise(frames))])
        distance = pulses / profile.values["pulses_per_turn"]  # turns, but for where the wheel began
        ages = [f.pulse_age for f in frames]
        new = [k for k in np.flatnonzero(np.diff(pulses)) + 1 if ages[k] is not None]
        if len(new) > 1:
            edges = np.column_stack([[times[k] - ages[k] for k in new], distance[new] - distance[new[0]]])
    duties, modes = _timeline(frames, times)
    volts = np.array([f.battery for f in frames])
    return Run(times, heading, volts, distance, duties, modes, settings["parameters"], edges)


def _timeline(frames: Sequence[Telemetry], times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    # The command that the motor obeyed in every millisecond: a frame says how old the command is that it reports.
    count = math.ceil(times[-1] * 1000)
    duties, modes = np.zeros(count), np.zeros(count, np.int64)
    current, at = frames[0].drive, 0
    for before, after, frame in zip(times[:-1], times[1:], frames[1:], strict=True):
        switch = after if frame.age is None else max(after - frame.age, before)
        if frame.drive == current or frame.age is None or after - frame.age < before:
            switch = after if frame.drive == current else before
        for end, drive in ((switch, current), (after, frame.drive)):
            stop = min(round(end * 1000), count)
            duties[at:stop], modes[at:stop] = drive.signed, motor_mode(drive)
            at = max(at, stop)
        current = frame.drive
    duties[at:], modes[at:] = current.signed, motor_mode(current)
    return duties, modes


class _Model:
    """Drives a run's duties in the simulator with other values of the car."""

    def __init__(self, run: Run, car: Car, names: Sequence[str], lane: int, slow_decay: int | None = None):
        from asobiba.envs.mini4wd import GAME

        self.lane = lane
        profile = load_profile(run.parameters.get("profile", GAME.parameters["profile"]))
        if slow_decay is not None:
            profile = replace(profile, values={**profile.values, "slow_decay": float(slow_decay)})
        self.slow_decay = int(profile.values["slow_decay"])
        self.noise = {
            "heading (rad)": HEADING_NOISE,
            "voltage (V)": math.hypot(VOLTAGE_NOISE, profile.values["voltage_noise"]),
            "distance (m)": DISTANCE_NOISE,
        }
        course = run.parameters.get("course", GAME.parameters["course"])
        self.ruleset = GAME.ruleset(
            course=course, car=car.as_data(), lane=lane, randomise="none", sample_ms=50, laps=100,
            profile=profile,
        )  # fmt: skip
        self.run, self.names = run, list(names)
        self.weights: dict[str, float] = {}
        known = {**profile.values, **car.values}
        self.nominal = np.array([known[name] for name in names])
        self.scale = np.array([known[name] or UNITS_OF_ADDED[name] for name in names])
        least = [1.0 + (_FIELDS[n].low - v) / u for n, v, u in zip(names, self.nominal, self.scale, strict=True)]
        most = [1.0 + (_FIELDS[n].high - v) / u for n, v, u in zip(names, self.nominal, self.scale, strict=True)]
        self.low = np.maximum([*least, 0.0], 1.0 / FACTOR)
        self.low[:-1][self.nominal == 0.0] = np.array(least)[self.nominal == 0.0]
        self.high = np.minimum([*most, FACTOR], FACTOR)
        self.of_car = np.array([name not in ELECTRONICS for name in names])
        self.columns = [CAR_NAMES.index(n) for n in names if n not in ELECTRONICS]
        self.sensor_columns = [SENSOR_NAMES.index(n) for n in names if n in ELECTRONICS]
        self.states, self.blank = self.ruleset.zeros(), self.ruleset.zeros()
        self.out = np.empty((len(run.duties), 4))
        self.tyre = car.values["tyre_diameter"]

    def values(self, x: np.ndarray) -> np.ndarray:
        """The car's values at a point of the fit: 1 is the car file's, and the last entry is the gyro's scale."""
        return self.nominal + (x[:-1] - 1.0) * self.scale

    def simulate(self, values: np.ndarray, horizon: float = math.inf) -> np.ndarray:
        count = min(len(self.out), math.ceil(horizon * 1000)) if horizon < math.inf else len(self.out)
        self.states[:] = self.blank
        begin_body(self.states, self.ruleset.params, np.uint64(0))
        self.states["car"][0, 0, self.columns] = values[self.of_car]
        self.states["sensor"][0, 0, self.sensor_columns] = values[~self.of_car]
        if "voltage" in self.names:
            self.states["bus"][0, 0] = values[self.names.index("voltage")]
        out = self.out[:count]
        done = run_body(self.states, self.ruleset.params, self.run.duties, self.run.modes, out)
        if done < count:  # out of the course: it stays where it is, which costs enough
            out[done:] = out[max(done - 1, 0)]
        at = np.maximum(np.rint(self.run.times * 1000).astype(int) - 1, 0)
        return out[np.minimum(at, count - 1)]

    def residuals(self, x: np.ndarray, horizon: float = math.inf) -> dict[str, np.ndarray]:
        rows = self.simulate(self.values(x), horizon)
        parts = {"heading (rad)": x[-1] * self.run.heading - rows[:, 1], "voltage (V)": self.run.voltage - rows[:, 2]}
        if self.run.distance is not None:
            off = self.run.distance * math.pi * self.tyre - rows[:, 0]
            # The distance of the wheel from its mark at the start is not known; the whole run is off by it.
            parts["distance (m)"] = off - off[1 : max(np.searchsorted(self.run.times, horizon, side="right"), 2)].mean()
        return {name: part[1:] for name, part in parts.items()}  # the first frame is before the start

    def weighted(self, x: np.ndarray, horizon: float) -> np.ndarray:
        seen = self.run.times[1:] <= horizon
        parts = self.residuals(x, horizon)
        return np.concatenate(
            [part[seen] * self.weights.get(name, 1.0) / self.noise[name] for name, part in parts.items()]
        )

    def weigh(self, x: np.ndarray) -> None:
        """Lets each quantity count for what it is worth: residuals of neighbouring frames are alike, and n of them say as
        much as n (1 - r) / (1 + r) independent ones."""
        for name, part in self.residuals(x).items():
            off = part - part.mean()
            power = float(off @ off)
            alike = min(max(float(off[1:] @ off[:-1]) / power, 0.0), 0.995) if power > 0 else 0.0
            self.weights[name] = math.sqrt((1 - alike) / (1 + alike))


def _fit(model: _Model, begin: np.ndarray, horizon: float, difference: float) -> Any:
    return least_squares(
        model.weighted, np.clip(begin, model.low, model.high), diff_step=difference, loss="soft_l1", max_nfev=40,
        bounds=(model.low, model.high), args=(horizon,),
    )  # fmt: skip


def _covariance(model: _Model, fit: Any) -> np.ndarray:
    worth = sum(weight**2 for weight in model.weights.values()) * len(fit.fun) / len(model.weights)
    freedom = max(worth - len(fit.x), 1.0)
    spread = np.linalg.pinv(fit.jac.T @ fit.jac) * float((fit.fun**2).sum()) / freedom
    without = np.flatnonzero(~fit.jac.any(axis=0))  # the pseudo-inverse gives 0 for what no residual depends on
    spread[without, without] = math.inf
    return spread


def _hidden(model: _Model, x: np.ndarray, errors: np.ndarray, covariance: np.ndarray) -> dict[str, str]:
    found, names = {}, model.names
    for i, name in enumerate(names):
        if math.isinf(errors[i]):
            found[name] = "its interval is its whole range: the run does not depend on it"
        elif model.high[i] - x[i] < 1e-3 or (x[i] - model.low[i] < 1e-3 and model.nominal[i] > 0.0):
            found[name] = "the fit ends at the limit of what it may be: the run cannot tell it from something else"
        elif NORMAL_95 * errors[i] > WIDE * abs(x[i]):
            found[name] = f"its interval is ±{NORMAL_95 * errors[i] / abs(x[i]):.0%}: the run hardly depends on it"
    for i, j in itertools.combinations(range(len(names)), 2):
        if (
            0 < errors[i] < math.inf
            and 0 < errors[j] < math.inf
            and abs(covariance[i, j]) / (errors[i] * errors[j]) > ALIKE
        ):
            for one, other in ((i, j), (j, i)):
                found.setdefault(names[one], f"the run shows it only together with {names[other]}; measure one of them")
    return found


def _rough_fits(
    run: Run,
    nominal: Car,
    names: Sequence[str],
    lanes: Iterable[int],
    draw: np.random.Generator,
    say: Callable[[str], None],
) -> list[tuple[_Model, Any]]:
    """Fits of the run's first seconds, the best first: for each lane from several cars.

    A small error of the car is a large one of its place later on, and a heading stands still on straights: the fit
    begins with the first seconds and takes in the rest of the run step by step.
    """
    found = []
    for lane in lanes:
        model = _Model(run, nominal, names, lane)
        fits = []
        for k in range(STARTS):
            begin = np.exp(draw.normal(0.0, 0.2 if k else 0.0, len(names) + 1))
            begin[-1] = 1.0
            fits.append((model, _fit(model, begin, HORIZONS[0], 2e-2)))
        say(f"lane {lane}: cost of the first {HORIZONS[0]:g} s is {min(fit.cost for _, fit in fits):.1f}")
        found += fits
    return sorted(found, key=lambda entry: entry[1].cost)


def identify(
    log: str | Path | Run,
    car: Any,
    names: Sequence[str] = PARAMETERS,
    lane: int | None = None,
    progress: Callable[[str], None] | None = None,
) -> Identification:
    """Fits a car to a recorded run.

    Args:
        log: the path of the log, or a `Run`.
        car: the car file to begin with (`load_car`'s argument); what is not fitted keeps its values.
        names: the fields to fit, among `FITTABLE`.
        lane: the lane in which the car was put; `None` tries them all.
        progress: called with a line of text now and then.

    Raises:
        LogError, IdentificationError: for a log that will not do.
        GameParameterError: for a field that cannot be fitted.
    """
    for name in names:
        if name not in FITTABLE:
            raise GameParameterError(f"{name!r} cannot be fitted; what can: {', '.join(FITTABLE)}")
    run = log if isinstance(log, Run) else read_run(log)
    nominal = load_car(car)
    say = progress or (lambda text: None)
    from asobiba.envs.mini4wd.course_source import load_course

    lanes = range(load_course(run.parameters.get("course", "junior")).lanes) if lane is None else [lane]
    draw = np.random.default_rng(0)
    fits = []
    for model, fit in _rough_fits(run, nominal, names, lanes, draw, say)[:FINALISTS]:
        for horizon in (*(h for h in HORIZONS[1:] if h < run.times[-1]), math.inf):
            fit = _fit(model, fit.x, horizon, 1e-2)
        fit = _fit(model, fit.x, math.inf, 3e-3)
        say(f"lane {model.lane}: cost {fit.cost:.1f}")
        fits.append((model, fit))
    model, fit = min(fits, key=lambda entry: entry[1].cost)
    lane = model.lane
    # A car that takes off a millisecond later is another one: the cost is rough, and a fit ends in one of its hollows. How far
    # apart those lie that are about as deep is an error, too.
    model.weigh(fit.x)
    polished = [_fit(model, fit.x, math.inf, 3e-3)]
    for _ in range(POLISHED):
        begin = fit.x * np.exp(draw.normal(0.0, HOLLOW, len(fit.x)))
        polished.append(_fit(model, begin, math.inf, 3e-3))
    fit = min(polished, key=lambda each: each.cost)
    as_deep = [each.x - fit.x for each in polished if each is not fit and each.cost < AS_DEEP * fit.cost]
    say(f"lane {lane}: cost {fit.cost:.1f}, and {len(as_deep)} of {POLISHED} fits from around it nearly so")
    values = {name: float(v) for name, v in zip(names, model.values(fit.x), strict=True)}
    spread = _covariance(model, fit)
    if as_deep:
        spread += np.mean([np.outer(away, away) for away in as_deep], axis=0)
    relative = np.sqrt(np.maximum(np.diag(spread), 0.0))
    errors = relative[:-1] * model.scale
    # Both begin where the fit has ended: the cost is rough, and a fit from elsewhere would end in another hollow.
    decay_costs = {
        decay: float(_fit(_Model(run, nominal, names, lane, decay), fit.x, math.inf, 3e-3).cost) for decay in (0, 1)
    }

    def rms(x: np.ndarray) -> dict[str, float]:
        return {name: float(np.sqrt(np.mean(part**2))) for name, part in model.residuals(x).items()}

    return Identification(
        car=nominal.with_values(**{name: value for name, value in values.items() if name not in ELECTRONICS}),
        electronics={name: value for name, value in values.items() if name in ELECTRONICS},
        began={name: float(v) for name, v in zip(names, model.nominal, strict=True)},
        values=values,
        errors={name: float(e) for name, e in zip(names, errors, strict=True)},
        intervals={
            name: (
                max(values[name] - NORMAL_95 * float(e), _FIELDS[name].low),
                min(values[name] + NORMAL_95 * float(e), _FIELDS[name].high),
            )
            for name, e in zip(names, errors, strict=True)
        },
        hidden=_hidden(model, fit.x, relative[:-1], spread),
        decay_costs=decay_costs,
        before=rms(np.ones(len(names) + 1)),
        after=rms(fit.x),
        lane=lane,
        gyro_scale=float(1 / fit.x[-1]),
        seconds=float(run.times[-1]),
    )
