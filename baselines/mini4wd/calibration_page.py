"""The page on calibration: hidden cars, calibrated and then driven; predicted against driven, before and after."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from asobiba.baselines.mini4wd.calibration import (
    CAR,
    PROFILE,
    Calibrated,
    Setup,
    interval_holds,
    members_of,
    predicted_times,
    prior_draws,
    run_wizard,
)
from asobiba.baselines.mini4wd.hidden import HiddenCar, hidden_car, settings
from asobiba.baselines.mini4wd.sides import Setting, through_the_link
from asobiba.core import MissingExtra
from asobiba.envs.mini4wd.car import load_car
from asobiba.envs.mini4wd.hardware.body import SimulatedBody
from asobiba.envs.mini4wd.hardware.codec import make_codec
from asobiba.envs.mini4wd.hardware.program import CarProgram, SimulatedTransport
from asobiba.envs.mini4wd.hardware.transport import VirtualClock
from asobiba.envs.mini4wd.profile import load_profile

SEED = 80_000
CALIBRATED_ON = Setup.course
"""The course of the calibration's laps."""


class _Obedient:
    """Nobody is asked: the simulated car is weighed and placed rightly."""

    def number(self, question: str, default: float, unit: str) -> float:
        return default

    def do(self, what: str) -> None:
        pass


@dataclass(frozen=True)
class Trial:
    """A driver on a course: seconds of a lap, driven `(runs,)`, and predicted `(members,)` before and after the calibration."""

    car: str
    course: str
    driver: str
    driven: np.ndarray
    before: np.ndarray
    after: np.ndarray

    @property
    def true(self) -> float:
        """Mean seconds of a lap that was driven; NaN if no run came round."""
        done = self.driven[np.isfinite(self.driven)]
        return float(done.mean()) if len(done) else math.nan

    def error(self, predicted: np.ndarray) -> float:
        """Distance between the middle of a prediction and the driven time, s."""
        done = predicted[np.isfinite(predicted)]
        return abs(float(np.median(done)) - self.true) if len(done) else math.nan


def driven_times(
    hidden: HiddenCar, controller: str, course: str, believed: tuple[str, str], laps: int, runs: int, seed: int
) -> np.ndarray:
    """Seconds for all laps of a hidden car that a controller drives through the link, NaN where it leaves the course."""

    def join(body: SimulatedBody) -> SimulatedTransport:
        return SimulatedTransport(CarProgram(make_codec(body.profile.codec), body, body.profile), VirtualClock())

    setting = Setting(course, believed[0], "none", laps, believed[1])
    return through_the_link(controller, setting, runs, seed, join, body=hidden.body(course, -1, seed)).seconds


def _tuned(found: Calibrated, about: dict[str, Any], after: bool, members: int) -> float:
    """The greatest duty with which a share of the draws comes round."""
    draws = found.posterior if after else prior_draws(found.prior, members)
    cars = members_of(draws, members)
    best = about["duties"][0]
    for duty in about["duties"]:
        times = predicted_times(f"constant:duty={duty}", cars, cars[0], about["course"])
        if np.isfinite(times).mean() >= about["share"]:
            best = duty
    return float(best)


@dataclass(frozen=True)
class Tried:
    """A hidden car, calibrated and driven.

    Args:
        tuned: before and after: the duty that was chosen, how many of the runs came round, and their mean lap, s.
        helped: `predict` on the trials' courses, knowing the car's file and knowing the calibrated car: the same two figures.
    """

    name: str
    found: Calibrated
    hidden: HiddenCar
    trials: list[Trial]
    tuned: list[tuple[float, int, float]]
    helped: list[tuple[str, int, float]]


def try_car(name: str, folder: Path, say: Callable[[str], None]) -> Tried:
    """Calibrates a hidden car by the wizard, predicts, and drives."""
    about = settings()["trials"]
    hidden = hidden_car(name)
    files = (hidden.believed, hidden.electronics_believed)
    setup = Setup("sim", folder / name, car=files[0], profile=files[1], hidden=hidden)
    found = run_wizard(setup, _Obedient(), say)
    laps, members, runs = about["laps"], about["members"], about["runs"]
    known = load_car(files[0]), load_profile(files[1])
    before, after = members_of(prior_draws(found.prior, members), members), members_of(found.posterior, members)
    trials = []
    for number, each in enumerate(about["drivers"]):
        driver, course = each["driver"], each["course"]
        driven = driven_times(hidden, driver, course, files, laps, runs, SEED + 100 * number) / laps
        # Where the controller knows a car, it is here the file's on both sides: what is predicted is what was driven.
        trials.append(Trial(
            name, course, driver, driven, predicted_times(driver, before, known, course, laps=laps) / laps,
            predicted_times(driver, after, known, course, laps=laps) / laps,
        ))  # fmt: skip
        say(f"{name}, {course}, {driver}: driven {trials[-1].true:.2f} s")
    tune, tuned = about["tuned"], []
    for known_better in (False, True):
        duty = _tuned(found, tune, known_better, members)
        seconds = driven_times(hidden, f"constant:duty={duty}", tune["course"], files, laps, tune["runs"], SEED + 5000)
        tuned.append((duty, *_summary(seconds / laps)))
    helped = []
    calibrated = str(setup.out / CAR), str(setup.out / PROFILE)
    for believed, title in ((files, "the car's file"), (calibrated, "the calibrated car")):
        for margin in ("", ":margin=0.3"):
            seconds = driven_times(
                hidden, f"predict{margin}", tune["course"], believed, laps, tune["runs"], SEED + 6000
            )
            helped.append((f"predict{margin}, knowing {title}", *_summary(seconds / laps)))
    return Tried(name, found, hidden, trials, tuned, helped)


def _summary(seconds: np.ndarray) -> tuple[int, float]:
    done = seconds[np.isfinite(seconds)]
    return len(done), float(done.mean()) if len(done) else math.nan


def _told(predicted: np.ndarray) -> str:
    done = predicted[np.isfinite(predicted)]
    if len(done) < 2:
        return "no car comes round"
    low, middle, high = np.quantile(done, [0.05, 0.5, 0.95])
    rest = "" if len(done) == len(predicted) else f", {len(done) / len(predicted):.0%} come round"
    return f"{middle:.2f} ({low:.2f} to {high:.2f}{rest})"


def _mean_errors(trials: list[Trial]) -> str:
    if not trials:
        return "no pair came round"
    before, after = ([t.error(getattr(t, name)) for t in trials] for name in ("before", "after"))
    return f"{np.nanmean(before):.2f} s before, {np.nanmean(after):.2f} s after"


def _errors(tried: list[Tried], trials: list[Trial]) -> list[str]:
    """Mean errors: of all pairs that came round, of each car, and on the calibration's own course; and the pairs left out."""
    out = [t for each in tried for t in each.trials if math.isnan(t.true)]
    alike = sum(np.isfinite(t.after).sum() < 2 for t in out)
    own, other = ([t for t in trials if (t.course == CALIBRATED_ON) is same] for same in (True, False))
    return [
        f"* Mean error of the predicted lap: {_mean_errors(trials)} ({len(trials)} pairs of car and driver).",
        *(f"  * `{each.name}`: {_mean_errors([t for t in trials if t.car == each.name])}." for each in tried),
        f"  * {len(own)} of the pairs are on `{CALIBRATED_ON}`, the calibration's own course: {_mean_errors(own)}; the other "
        f"{len(other)}: {_mean_errors(other)}.",
        f"* Left out, of {len(out) + len(trials)} pairs: {len(out)}, of which no run came round, so that there is no lap to predict. In "
        f"{alike} of them no calibrated car was predicted to come round either.",
    ]


def _worth(tried: list[Tried]) -> list[str]:
    """Whether `predict` gains by knowing the calibrated car, and by a smaller margin; on the average of the cars."""
    # In this order: with the car's file, its small margin, the calibrated car, its small margin.
    laps = np.array([[lap for _, _, lap in each.helped] for each in tried])
    calibrating, margin = laps[:, 0] - laps[:, 2], laps[:, 0] - laps[:, 1]
    gains = [f"{np.mean(each):+.3f} s ({', '.join(f'{x:+.2f}' for x in each)})" for each in (calibrating, margin)]
    verdict = (
        "So a smaller margin gains `predict` more than the calibration does"
        if np.mean(margin) > np.mean(calibrating)
        else "So the calibration gains `predict` no less than a smaller margin does"
    )
    return [
        f"By knowing the calibrated car instead of its file `predict` gains {gains[0]} a lap, by the smaller margin {gains[1]}: mean, and "
        f"{', '.join(each.name for each in tried)}. {verdict}; what a calibration tells is which constant duty will do, and what laps to expect."
    ]


def page(tried: list[Tried], picture: str, command: str) -> str:
    """The page as Markdown."""
    trials = [trial for each in tried for trial in each.trials if not math.isnan(trial.true)]
    held = [sum(interval_holds(getattr(t, name), t.true) for t in trials) for name in ("before", "after")]
    inside = total = 0
    for each in tried:
        for name in each.found.prior.names:
            if name != "gyro_scale":
                low, high = each.found.posterior.interval(name)
                inside += low <= each.hidden.value(name) <= high
                total += 1
    about = settings()
    lines = [
        "# Mini 4WD: calibration, predicted against driven", "", f"Written by `{command}`.", "",
        f"{len(tried)} simulated cars that their owner does not know, calibrated by `asobiba hil calibrate` (at rest, on a stand, two laps of "
        f"`{CALIBRATED_ON}`), then driven through the link by controllers that were not in the calibration, on that course and on others. "
        "Each has other values of motor, bridge and friction than its file, some also of battery or delays "
        "(`baselines/mini4wd/calibration.yml`); and each has what the model lacks: a winding whose resistance "
        f"grows as it warms, and tyres that creep under load. {about['trials']['runs']} runs of "
        f"{about['trials']['laps']} laps each; predicted: {about['trials']['members']} cars drawn before (from the prior) and after (from the "
        "posterior), in any lane; median and 5 to 95 %.", "",
        *_errors(tried, trials),
        f"* Driven laps within the predicted 5 to 95 %: {held[0]} of {len(trials)} before, {held[1]} of {len(trials)} after.",
        f"* True values within their 90 % interval: {inside} of {total}.", "", f"![predicted and driven laps]({picture})", "",
        "## Laps", "", "| car | course | driver | driven, s | predicted before, s | predicted after, s | within |", "|---|---|---|--:|--:|--:|---|",
    ]  # fmt: skip
    for each in tried:
        for t in each.trials:
            done = int(np.isfinite(t.driven).sum())
            driven = f"{t.true:.2f}" if done == len(t.driven) else f"{t.true:.2f}, {done} of {len(t.driven)} came round"
            within = "yes" if interval_holds(t.after, t.true) else "no"
            cells = (t.car, f"`{t.course}`", f"`{t.driver}`", driven, _told(t.before), _told(t.after), within)
            lines.append(f"| {' | '.join(cells)} |")
    tune = about["trials"]["tuned"]
    lines += [
        "", "## What it is good for", "",
        f"On `{tune['course']}`. Duty: the greatest with which {tune['share']:.0%} of the drawn cars come round, then driven {tune['runs']} times "
        "by the true car. `predict` with a model of the car's file, and of the calibrated car.", "",
        "| car | driver | came round | lap, s |", "|---|---|--:|--:|",
    ]  # fmt: skip
    for each in tried:
        for when, (duty, done, lap) in zip(("before", "after"), each.tuned, strict=True):
            lines.append(
                f"| {each.name} | constant duty {duty:g}, chosen from the cars {when} | {done} of {tune['runs']} | {lap:.2f} |"
            )
        lines += [f"| {each.name} | {text} | {done} of {tune['runs']} | {lap:.2f} |" for text, done, lap in each.helped]
    lines += ["", *_worth(tried), "", "## Unknowns", ""]
    lines += ["| car | unknown | before | after (90 %) | true |", "|---|---|--:|--:|--:|"]
    for each in tried:
        for name, (low, high) in each.found.prior.bounds.items():
            after = " to ".join(f"{x:.4g}" for x in each.found.posterior.interval(name))
            true = "" if name == "gyro_scale" else f"{each.hidden.value(name):.4g}"
            lines.append(f"| {each.name} | {name} | {low:.4g} to {high:.4g} | {after} | {true} |")
    return "\n".join(lines) + "\n"


def draw_laps(tried: list[Tried], out: Path) -> None:
    """Draws predicted and driven laps, as SVG.

    Raises:
        MissingExtra: without matplotlib.
    """
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra("matplotlib", "render") from None
    with rc_context({"svg.hashsalt": "asobiba"}):  # the same bytes every time
        figure = Figure(figsize=(8, 2.6 * len(tried)), layout="constrained")
        axes: Any = figure.subplots(len(tried), squeeze=False)[:, 0]
        for axis, each in zip(axes, tried, strict=True):
            at = np.arange(len(each.trials))
            for shift, name, colour in ((-0.12, "before", "tab:orange"), (0.12, "after", "tab:blue")):
                for k, trial in enumerate(each.trials):
                    predicted = getattr(trial, name)
                    done = predicted[np.isfinite(predicted)]
                    if len(done) < 2:
                        continue
                    low, middle, high = np.quantile(done, [0.05, 0.5, 0.95])
                    label = f"predicted {name}" if k == 0 else None
                    axis.errorbar(
                        k + shift,
                        middle,
                        [[middle - low], [high - middle]],
                        fmt="_",
                        color=colour,
                        capsize=3,
                        label=label,
                    )
            axis.plot(at, [t.true for t in each.trials], "kx", label="driven")
            axis.set_xticks(
                at, [f"{t.course}\n{t.driver.replace('constant:duty=', '')}" for t in each.trials], fontsize=7
            )
            axis.set_ylabel("lap, s")
            axis.set_title(each.name, fontsize=9)
            axis.grid(alpha=0.3)
        axes[0].legend(fontsize=8)
        figure.savefig(out, format="svg", metadata={"Date": None})
