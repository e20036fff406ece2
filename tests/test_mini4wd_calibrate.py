"""Calibration: the smoother against an exact posterior, the stand, hidden cars through the wizard, and the report."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import yaml
from mini4wd_rig import build_firmware
from typer.testing import CliRunner

from asobiba.baselines.mini4wd.calibration import Calibrated, predicted_times, prior_draws, spread
from asobiba.baselines.mini4wd.calibration_page import Trial, Tried, page, try_car
from asobiba.baselines.mini4wd.calibration_report import lap_times
from asobiba.baselines.mini4wd.hidden import hidden_car, settings
from asobiba.cli import app
from asobiba.core import GameParameterError
from asobiba.envs.mini4wd import GAME
from asobiba.envs.mini4wd.car import load_car, randomisation
from asobiba.envs.mini4wd.course_source import load_course
from asobiba.envs.mini4wd.hardware.calibrate import (
    GENTLER,
    STEPS,
    CalibrationError,
    Posterior,
    Prior,
    _assimilated,
    calibrate,
    load_posterior,
)
from asobiba.envs.mini4wd.hardware.codec import Drive, DriveMode
from asobiba.envs.mini4wd.hardware.monitor import HeadingMap
from asobiba.envs.mini4wd.hardware.stand import LiftableBody
from asobiba.envs.mini4wd.profile import load_profile


def run(*arguments, **more):
    return CliRunner().invoke(app, ["hil", *map(str, arguments)], **more)


def test_the_smoother_finds_the_posterior_of_a_linear_model():
    # y = G z + noise with a standard normal prior: covariance (I + G'G / r2)^-1, mean covariance G'y / r2.
    draw = np.random.default_rng(1)
    slope, error = draw.normal(size=(40, 3)), 2.0
    truth = np.array([0.7, -1.2, 0.4])
    measured = slope @ truth + error * draw.standard_normal(40)
    covariance = np.linalg.inv(np.eye(3) + slope.T @ slope / error**2)
    mean = covariance @ slope.T @ measured / error**2
    z = draw.standard_normal((4000, 3))
    weights = GENTLER ** -np.arange(STEPS)
    for enlarged in weights * np.sum(1.0 / weights):
        z = _assimilated(z, z @ slope.T, measured, np.full(40, error), enlarged, draw)
    assert z.mean(axis=0) == pytest.approx(mean, abs=0.03)
    assert np.cov(z.T) == pytest.approx(covariance, abs=0.01)


def test_a_lifted_car_turns_as_fast_as_its_motor_does_without_load():
    car, profile = load_car("dash"), load_profile("atmega328p")
    body = LiftableBody(0, None, course="junior", car="dash", profile="atmega328p", randomise="none", lane=0)
    body.lifted = True
    body.advance(4.0, Drive(DriveMode.FORWARD, 1.0))
    v = car.values
    idle = v["no_load_current"]
    resistance = (
        v["resistance"] + v["battery_resistance"] + v["wiring_resistance"] + profile.values["bridge_resistance"]
    )
    supply = v["voltage"] - v["voltage_drop"] * float(body.states["charge"][0, 0])
    turns = (supply - idle * resistance) / v["torque_constant"] / v["gear_ratio"] / (2 * math.pi)  # of the wheel, 1/s
    assert float(body.states["w"][0, 0]) / (math.pi * v["tyre_diameter"]) == pytest.approx(turns, rel=0.01)
    assert body.progress == 0.0


def test_laps_are_timed_by_the_heading():
    course = HeadingMap(load_course("junior"))
    times = np.linspace(0.0, 12.0, 1201)
    heading = course.direction * course.lap_turn * (0.01 * times**2 + 0.2 * times)  # quicker and quicker
    passes = [-10 + math.sqrt(100 + 100 * (k + 0.5)) for k in range(4)]
    assert lap_times(heading, times, course) == pytest.approx(
        np.diff(passes)[: len(lap_times(heading, times, course))], abs=1e-3
    )


@pytest.fixture(scope="module")
def calibrated(tmp_path_factory):
    """The folder of a small calibration of a hidden car through the command, and what it printed."""
    folder = tmp_path_factory.mktemp("calibration")
    result = run(
        "calibrate",
        "sim",
        "--out",
        folder,
        "--hidden",
        "warm",
        "--members",
        40,
        "--drivers",
        "constant:duty=0.6",
        "--yes",
    )
    assert result.exit_code == 0, result.output
    return folder, result.output


def narrowed_around(name, folder):
    """The posterior in a folder, whose intervals of what the runs reveal must be narrow and near the hidden car's values."""
    posterior, hidden = load_posterior(folder / "posterior.yaml"), hidden_car(name)
    for unknown in ("torque_constant", "no_load_current", "battery_resistance", "voltage"):
        low, high = posterior.interval(unknown)
        before = np.diff(posterior.prior.bounds[unknown])[0]
        assert high - low < 0.6 * before, unknown  # a uniform prior's 90 % are 0.9 of it
        margin = 0.5 * (high - low)
        assert low - margin <= hidden.value(unknown) <= high + margin, unknown
    return posterior


def test_the_wizard_goes_from_the_table_to_the_posterior(calibrated):
    folder, output = calibrated
    for words in (
        "Put the car on level ground",
        "Put the car on a stand",
        "Put the car on the start of junior, in lane 1",
    ):
        assert words in output
    posterior = narrowed_around("warm", folder)
    assert len(posterior) == 40
    # Domain randomisation takes the ranges, and holds every draw; others than the unknowns keep theirs.
    data = yaml.safe_load((folder / "ranges.yaml").read_text())
    assert data["fence_clearance"] == [0.85, 1.15]
    ruleset = GAME.ruleset(
        car=str(folder / "car.yaml"),
        profile=str(folder / "profile.yaml"),
        randomise=str(folder / "ranges.yaml"),
        tachometer=True,
    )
    car, _ = posterior.member(posterior.best)
    assert ruleset.params["car"][0, 0] == pytest.approx(car.vector, rel=1e-5)  # the file has six digits
    assert np.array_equal(ruleset.params["ranges"][0], randomisation(data))
    low, high = data["torque_constant"]
    assert low * car.values["torque_constant"] == pytest.approx(posterior.column("torque_constant").min(), rel=1e-5)
    assert high > 1 > low


@pytest.mark.slow
def test_the_wizard_calibrates_a_car_that_the_emulated_chip_drives(calibrated, tmp_path):
    """The compiled program on the chip gives what its twin in Python gives: intervals that meet, of every unknown."""
    firmware, _ = build_firmware(tmp_path / "build")
    out = tmp_path / "out"
    result = run(
        "calibrate", "chip", "--build", firmware.parent, "--out", out, "--hidden", "warm", "--members", 40, "--drivers",
        "constant:duty=0.6", "--yes",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "lost 0.0% of" in result.output
    mine, twin = narrowed_around("warm", out), load_posterior(calibrated[0] / "posterior.yaml")
    assert mine.prior.names == twin.prior.names
    for name in mine.prior.names:
        (low, high), (from_, to) = mine.interval(name), twin.interval(name)
        assert low <= to, name
        assert high >= from_, name


def test_a_calibrated_car_predicts_laps_better(calibrated):
    folder, _ = calibrated
    posterior = load_posterior(folder / "posterior.yaml")
    before, after = prior_draws(posterior.prior, 40), posterior
    known = load_car("dash"), load_profile("atmega328p")
    widths = []
    for draws in (before, after):
        cars = [draws.member(k) for k in range(40)]
        times = predicted_times("constant:duty=0.7", cars, known, "junior", lane=0)
        widths.append(np.subtract(*np.nanquantile(times, [0.95, 0.05])))
    assert widths[1] < 0.4 * widths[0]
    with pytest.raises(GameParameterError, match="no controller"):
        predicted_times("random", cars, known, "junior")
    assert spread(np.array([9.0, np.nan]), 3) == "1 of 2 finish"


def test_a_report_compares_logs_with_the_prediction(calibrated, tmp_path):
    folder, _ = calibrated
    result = run(
        "report", folder / "posterior.yaml", folder / "laps.jsonl", "--members", 20, "--picture", tmp_path / "bands.svg"
    )
    assert result.exit_code == 0, result.output
    assert "laps.jsonl" in result.output
    assert (tmp_path / "bands.svg").read_text().count('<g id="axes_') == 3
    assert run("report", folder / "posterior.yaml", folder / "bench.jsonl", "--bench", "--members", 20).exit_code == 0
    nothing = run("report", folder / "car.yaml", folder / "laps.jsonl")
    assert nothing.exit_code == 1
    assert "holds no posterior" in nothing.output


def test_questions_are_asked_and_answered(tmp_path):
    # Mass and diameter typed, Enter for every step; too great a duty: the car leaves the course, and goes slower.
    result = run(
        "calibrate", "sim", "--out", tmp_path, "--car", "dash", "--members", 30, "--laps", 1, "--no-bench", "--drivers",
        "constant:duty=0.5", input="\n".join(["", "151.5", "26.1", *[""] * 8]),
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "Weigh the car with its batteries, g" in result.output
    prior = load_posterior(tmp_path / "posterior.yaml").prior
    assert prior.bounds["mass"] == pytest.approx((0.1505, 0.1525))
    assert prior.bounds["tyre_diameter"] == pytest.approx((0.0260, 0.0262))


def test_what_cannot_be_calibrated_is_named(tmp_path):
    result = run("calibrate", "/dev/ttyUSB9", "--out", tmp_path, "--hidden", "warm", "--yes", "--no-dead-man")
    assert result.exit_code == 1
    assert "is a simulated car" in result.output
    assert run("calibrate", "sim", "--out", tmp_path, "--hidden", "ghost", "--yes").exit_code == 1
    prior = Prior.of("dash", "atmega328p", settings()["prior"])
    with pytest.raises(CalibrationError, match="nothing to calibrate from"):
        calibrate([], prior)
    with pytest.raises(GameParameterError, match="'wings' is none of"):
        Prior.of("dash", "atmega328p", {"wings": [0.5, 2.0]})
    Posterior(prior, prior.values(np.zeros((3, len(prior.names)))), 1).save(tmp_path / "posterior.yaml")
    data = yaml.safe_load((tmp_path / "posterior.yaml").read_text())
    for change, words in (
        ({"best": 3}, "there are 3 draws"),
        ({"draws": [[1.0]]}, "rows of"),
        ({"version": 2}, "no posterior"),
    ):
        (tmp_path / "other.yaml").write_text(yaml.safe_dump(data | change))
        with pytest.raises(CalibrationError, match=words):
            load_posterior(tmp_path / "other.yaml")


def tried_car(name, course, driven, after, laps):
    """A hidden car of one trial, predicted at 2 s before, with `predict`'s laps by file, small margin, and both again calibrated."""
    posterior = prior_draws(Prior.of("dash", "atmega328p", settings()["prior"]), 5)
    trial = Trial(name, course, "shape", np.array(driven), np.array([2.0, 2.0]), np.array(after))
    helped = [(text, 5, lap) for text, lap in zip("abcd", laps, strict=True)]
    link: Any = None  # the page does not show it
    found = Calibrated(link, posterior.prior, posterior, (), 0.7)
    return Tried(name, found, hidden_car(name), [trial], [(0.4, 5, 3.0), (1.0, 5, 2.0)], helped)


def test_the_page_says_what_is_left_out_and_which_car_is_predicted_how_well():
    nan = math.nan
    cars = [
        tried_car("warm", "junior", [3.0, nan], [3.1, 3.1], [3.0, 2.9, 2.7, 2.6]),
        tried_car("worn", "junior_hill", [4.0, 4.0], [3.5, 3.5], [3.0, 2.9, 2.7, 2.6]),
        tried_car("fresh", "junior_hill", [nan, nan], [nan, nan], [3.0, 2.9, 2.7, 2.6]),
    ]
    text = page(cars, "laps.svg", "a command")
    for line in (
        "lap: 1.50 s before, 0.30 s after (2 pairs",
        "`warm`: 1.00 s before, 0.10 s after",
        "`worn`: 2.00 s before, 0.50 s after",
        "1 of the pairs are on `junior`, the calibration's own course: 1.00 s before, 0.10 s after; the other 1: 2.00 s",
        "Left out, of 3 pairs: 1, of which no run came round",
        "In 1 of them no calibrated car",
        "the calibration gains `predict` no less than a smaller margin",
    ):
        assert line in text
    slower = [tried_car(each.name, "junior", [3.0], [3.1, 3.1], [3.0, 2.8, 3.1, 2.8]) for each in cars]
    assert "gains -0.100 s (-0.10, -0.10, -0.10) a lap" in page(slower, "laps.svg", "a command")
    assert "a smaller margin gains `predict` more than" in page(slower, "laps.svg", "a command")


@pytest.mark.slow
def test_hidden_cars_drive_as_predicted(tmp_path, capsys):
    tried = [try_car(name, tmp_path, lambda text: None) for name in ("warm", "worn")]
    with capsys.disabled():
        print("\n" + page(tried, "laps.svg", "a test"))
    trials = [trial for each in tried for trial in each.trials]
    errors = [np.nanmean([trial.error(getattr(trial, name)) for trial in trials]) for name in ("before", "after")]
    assert errors[1] < 0.4 * errors[0]
    for each in tried:
        names = [name for name in each.found.prior.names if name != "gyro_scale"]
        inside = sum(
            low <= each.hidden.value(n) <= high for n in names for low, high in [each.found.posterior.interval(n)]
        )
        assert inside >= 0.75 * len(names)
