"""Recorded runs of other cars: reads them, computes their figures, makes profiles, and compares with the simulator.

Three kinds of files: the CSV that loggers of the RT AI chip write (one header line with `timestamp_ms,accX,...`), raw
43-byte frames of the AI chip, and this project's own run logs. The figures are those that a sensor model is made of: noise
and bias at rest, spread per axis while driving, how the car leans, how far the battery sags, and what lateral acceleration
goes with what yaw rate.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from asobiba.core import AsobibaError
from asobiba.envs.mini4wd.hardware.codec import AiChipCodec, DriveMode, Telemetry, make_codec
from asobiba.envs.mini4wd.hardware.env import parse_axes
from asobiba.envs.mini4wd.hardware.program import PROFILE_OF_CODEC
from asobiba.envs.mini4wd.hardware.runlog import FORMAT, read_log
from asobiba.envs.mini4wd.profile import load_profile
from asobiba.envs.mini4wd.simulate import SELECTORS

_COLUMNS = ("timestamp_ms", "accX", "accY", "accZ", "omegaX", "omegaY", "omegaZ", "duty", "V_Battery")
GRAVITY = 9.80665
TURNING = 2.0
"""A car that turns faster is in a curve, rad/s."""
FAST_TURN = (6.0, 7.0)
"""Yaw rates at which the lateral acceleration is quoted, rad/s."""
REST, STILL_TIME, STILL_ACCELERATION, STILL_RATE = 1.0, 0.4, 0.05, 0.1
"""A car stands if within `STILL_TIME`, s, its acceleration is spread by less than this, g, and its rate by less than that, rad/s;
the figures at rest come from its last `REST` seconds before it drives."""
RUNS = 8
"""Simulated runs that a recording is compared with."""
_SELECTORS = {DriveMode.BRAKE: SELECTORS["brake"], DriveMode.FREE: SELECTORS["free"]}


class ImportFailed(AsobibaError, ValueError):
    """A file that is not a recording of a car."""


@dataclass(frozen=True)
class Recording:
    """A recorded run in the car's axes (ahead, left, up).

    Args:
        times: of the frames, s, `(n,)`.
        acceleration: g, `(n, 3)`.
        rate: rad/s, `(n, 3)`.
        voltage: of the motor battery, V, `(n,)`.
        duty: -1 to 1, `(n,)`.
        selector: the mode in which the motor was driven, as an action selects it (`simulate.SELECTORS`), `(n,)`.
        doubled: share of the file's rows that only repeat the frame before.
        settings: the car's entries in a run log: the parameters of its environment, including its `profile`.
    """

    times: np.ndarray
    acceleration: np.ndarray
    rate: np.ndarray
    voltage: np.ndarray
    duty: np.ndarray
    selector: np.ndarray
    doubled: float
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.times)


def read_recording(path: str | Path, axes: str = "-y-x-z") -> Recording:
    """Reads a file of any of the three kinds.

    Args:
        axes: which of the sensor's axes point ahead, left and up (run logs say it themselves).

    Raises:
        ImportFailed: for a file that is none of them, or holds fewer than 20 frames.
    """
    path = Path(path)
    if not path.is_file():
        raise ImportFailed(f"there is no file {str(path)!r}")
    head = path.read_bytes()[:4096]
    if FORMAT.encode() in head:
        found = _run_log(path)
    elif AiChipCodec.MAGIC in head:
        found = _frames(AiChipCodec().read(path.read_bytes()), parse_axes(axes))
    elif head.lstrip().startswith(b"timestamp_ms"):
        found = _csv(path, parse_axes(axes))
    else:
        raise ImportFailed(
            f"{str(path)!r} is no CSV of an AI chip (its first line would begin with 'timestamp_ms'), holds no 43-byte "
            "frames, and is not a run log"
        )
    if len(found) < 20:
        raise ImportFailed(f"{str(path)!r} holds {len(found)} frames; at least 20 are needed")
    return found


def _csv(path: Path, matrix: np.ndarray) -> Recording:
    rows, total = [], 0
    with path.open(newline="", encoding="utf-8", errors="replace") as file:
        reader = csv.DictReader(file)
        names = [name.strip() for name in reader.fieldnames or ()]
        if missing := [name for name in _COLUMNS if name not in names]:
            raise ImportFailed(f"{str(path)!r} lacks the columns {', '.join(missing)}")
        before = None
        for entry in reader:
            try:
                row = [float(entry[name]) for name in _COLUMNS]
            except (TypeError, ValueError):
                continue  # a line that was cut off
            total += 1
            # The logger writes a row whether or not a frame has come: only a change of the sensors is a new one.
            if any(row[1:7]) and row[1:7] != before:
                before = row[1:7]
                rows.append(row)
    data = np.array(rows).reshape(-1, len(_COLUMNS))
    full = 100.0 if len(data) and np.abs(data[:, 7]).max() > 1.0 else 1.0  # per cent, or already a share
    return Recording(
        (data[:, 0] - data[0, 0]) / 1000 if len(data) else data[:, 0], data[:, 1:4] @ matrix.T, data[:, 4:7] @ matrix.T,
        data[:, 8], data[:, 7] / full, np.full(len(data), SELECTORS["drive"]), 1 - len(rows) / max(total, 1),
    )  # fmt: skip


def _frames(messages: list[Any], matrix: np.ndarray) -> Recording:
    frames = [m for m in messages if isinstance(m, Telemetry)]
    times = np.array([f.car_time for f in frames])
    return Recording(
        times - times[0] if len(times) else times,
        np.array([f.acceleration for f in frames]).reshape(-1, 3) @ matrix.T,
        np.radians(np.array([f.rate for f in frames]).reshape(-1, 3)) @ matrix.T,
        np.array([f.battery for f in frames]), np.array([f.drive.signed for f in frames]),
        np.array([_SELECTORS.get(f.drive.mode, SELECTORS["drive"]) for f in frames]), 0.0,
    )  # fmt: skip


def _run_log(path: Path) -> Recording:
    header, entries = read_log(path)
    settings = header["settings"]
    codec = make_codec(settings["codec"])
    parameters = {"profile": PROFILE_OF_CODEC[codec.name], **settings["parameters"]}
    messages: list[Any] = []
    for entry in entries:
        if entry.get("b") and "r" in entry:
            messages += codec.read(bytes.fromhex(entry["b"]))
    matrix = parse_axes(settings["axes"] or load_profile(parameters["profile"]).axes)
    return replace(_frames(messages, matrix), settings=parameters)


@dataclass(frozen=True)
class Figures:
    """Properties of a car's sensors found in a recording; `values` by name, in the unit that `UNITS` gives.

    NaN if the recording lacks the data.
    """

    frames: int
    seconds: float
    values: Mapping[str, float]


UNITS = {
    "frame spacing": "ms", "rest, acc noise": "g", "rest, gyro bias": "degrees/s", "rest, gyro noise": "degrees/s",
    "rest, pitch": "degrees", "rest, roll": "degrees", "drive, acc x": "g", "drive, acc y": "g", "drive, acc z": "g",
    "drive, gyro x": "rad/s", "drive, gyro y": "rad/s", "drive, gyro x, greatest": "rad/s",
    "lateral, low": "g", "lateral, mean": "g", "lateral, high": "g", "curve radius": "m",
    "rest voltage": "V", "sag": "V", "greatest sag": "V",
}  # fmt: skip
"""Figures and their units. Spreads are rms of what changes from frame to frame; lateral: at a yaw rate of 6 to 7 rad/s,
tenth percentile, mean and ninetieth; curve radius: lateral acceleration over the square of the yaw rate, median."""


def figures(recording: Recording) -> Figures:
    """The figures of a recording."""
    r = recording
    driven = np.abs(r.duty) > 0.02
    still = _standing(r, driven)
    nan = math.nan
    values = dict.fromkeys(UNITS, nan)
    spacing = np.diff(r.times)
    values["frame spacing"] = float(np.median(spacing[spacing > 0]) * 1000) if (spacing > 0).any() else nan
    zero = np.zeros(3)
    if still.sum() >= 10:
        mean, rate = r.acceleration[still].mean(axis=0), r.rate[still]
        zero = rate.mean(axis=0)
        values |= {
            "rest, acc noise": float(r.acceleration[still].std(axis=0).max()),
            "rest, gyro bias": float(np.degrees(np.abs(zero).max())),
            "rest, gyro noise": float(np.degrees(rate.std(axis=0).max())),
            "rest, pitch": float(np.degrees(np.arctan2(mean[0], mean[2]))),
            "rest, roll": float(np.degrees(np.arctan2(mean[1], mean[2]))),
            "rest voltage": float(np.median(r.voltage[still])),
        }
    if driven.sum() >= 20:
        together = driven[1:] & driven[:-1]
        change = np.diff(r.acceleration, axis=0)[together] / math.sqrt(2)
        turn = np.diff(r.rate, axis=0)[together] / math.sqrt(2)
        for j, axis in enumerate("xyz"):
            values[f"drive, acc {axis}"] = float(change[:, j].std())
        values["drive, gyro x"], values["drive, gyro y"] = float(turn[:, 0].std()), float(turn[:, 1].std())
        values["drive, gyro x, greatest"] = float(np.abs(r.rate[driven, 0] - zero[0]).max())
        if math.isfinite(values["rest voltage"]):
            low = values["rest voltage"] - r.voltage[driven]
            values["sag"], values["greatest sag"] = float(np.median(low)), float(low.max())
        yaw = np.abs(r.rate[:, 2] - zero[2])
        inward = r.acceleration[:, 1] * np.sign(r.rate[:, 2] - zero[2])
        curve = driven & (yaw > TURNING)
        if curve.sum() >= 5:
            values["curve radius"] = float(np.median(inward[curve] * GRAVITY / yaw[curve] ** 2))
        fast = driven & (yaw >= FAST_TURN[0]) & (yaw <= FAST_TURN[1])
        if fast.sum() >= 3:
            low10, high90 = np.percentile(inward[fast], (10, 90))
            values |= {
                "lateral, low": float(low10), "lateral, mean": float(inward[fast].mean()), "lateral, high": float(high90)
            }  # fmt: skip
    return Figures(len(r), float(r.times[-1]), values)


def _standing(r: Recording, driven: np.ndarray) -> np.ndarray:
    # In the last second before it is first driven a car stands, once it has been let go of: a rolling one would pass for noise
    # and tilt, and another place has another tilt.
    candidates = np.arange(len(r)) < (np.argmax(driven) if driven.any() else len(r))
    found = np.zeros(len(r), bool)
    for k in np.flatnonzero(candidates):
        near = (np.abs(r.times - r.times[k]) <= STILL_TIME / 2) & candidates
        if near.sum() >= 3:
            acceleration, rate = r.acceleration[near].std(axis=0).max(), r.rate[near].std(axis=0).max()
            found[k] = acceleration < STILL_ACCELERATION and rate < STILL_RATE
    return found & (r.times > r.times[found].max() - REST) if found.any() else found


@dataclass(frozen=True)
class Fitted:
    """A profile made from a recording.

    Args:
        data: what its YAML file holds (with `base`).
        battery: voltage and resistance for a car file; the resistance only where the current is known.
        before, after: figures of the simulator with the base profile and with this one, driven with the same duties.
    """

    data: dict[str, Any]
    battery: dict[str, float]
    measured: Figures
    before: Figures
    after: Figures


def fit_profile(
    recording: Recording, base: str, car: Any, course: str, name: str = "fitted", rounds: int = 6
) -> Fitted:
    """Fits noise, mounting and supply of a profile to a recording, by driving its duties in the simulator.

    Args:
        base: the profile to begin with.
        car, course: what was driven; the simulator's car is the nominal one.
        name: of the new profile.
        rounds: how often each spread is corrected by the ratio of the recording's figure to the simulator's.
    """
    measured = figures(recording)
    m = measured.values
    data: dict[str, Any] = {
        "base": base,
        "name": name,
        "title": f"{base}, fitted to a recording of {measured.seconds:.0f} s",
    }
    known = load_profile(base)
    for quantity, figure in (("acc_noise", "rest, acc noise"), ("gyro_noise", "rest, gyro noise")):
        if math.isfinite(m[figure]):
            data[quantity] = max(float(m[figure]), 1e-4)
    if math.isfinite(m["rest, gyro bias"]):
        data["gyro_bias"] = max(known.values["gyro_bias"], float(m["rest, gyro bias"]))
    tilts = [abs(m[f"rest, {way}"]) for way in ("pitch", "roll") if math.isfinite(m[f"rest, {way}"])]
    if tilts:
        data["mounting"] = min(max(max(tilts), 0.5), 30.0)
    values = {k: known.values[k] for k in ("vibration", "gyro_vibration", "roll_vibration")}
    before = _as_driven(recording, {"base": base}, car, course, {})
    battery: dict[str, float] = {}
    if math.isfinite(m["rest voltage"]):
        battery["voltage"] = float(m["rest voltage"])
    after = before
    most = {"vibration": 2.0, "gyro_vibration": 100.0, "roll_vibration": 200.0}
    for _ in range(rounds):
        after = _as_driven(recording, {**data, **values}, car, course, battery)
        a = after.values
        for quantity, axis in (("vibration", "drive, acc z"), ("gyro_vibration", "drive, gyro y")):
            if math.isfinite(m[axis]) and a[axis] > 0:
                values[quantity] = min(values[quantity] * m[axis] / a[axis], most[quantity])
        if math.isfinite(m["drive, gyro x"]) and a["drive, gyro x"] > 0:
            whole = (values["gyro_vibration"] + values["roll_vibration"]) * m["drive, gyro x"] / a["drive, gyro x"]
            values["roll_vibration"] = min(max(whole - values["gyro_vibration"], 0.0), most["roll_vibration"])
        if math.isfinite(m["sag"]) and a["sag"] > 0:
            cells, wiring = _nominal_resistances(car)
            whole = (battery.get("battery_resistance", cells) + wiring) * m["sag"] / a["sag"]
            battery["battery_resistance"] = float(min(max(whole - wiring, 0.005), 5.0))
    data |= {quantity: float(value) for quantity, value in values.items()}
    after = _as_driven(recording, data, car, course, battery)
    return Fitted(data, battery, measured, before, after)


def _nominal_resistances(car: Any) -> tuple[float, float]:
    # Of the cells, and of the wiring, which a run cannot tell from them.
    from asobiba.envs.mini4wd.car import load_car

    values = load_car(car).values
    return values["battery_resistance"], values["wiring_resistance"]


def _as_driven(
    recording: Recording, profile: Mapping[str, Any], car: Any, course: str, battery: Mapping[str, float]
) -> Figures:
    # Of several runs, for a few flights and landings make much of a spread, and frames catch them or not.
    runs = [figures(_driven_again(recording, profile, car, course, battery, seed)) for seed in range(RUNS)]
    values = {}
    for name in UNITS:
        found = [run.values[name] for run in runs if math.isfinite(run.values[name])]
        values[name] = float(np.mean(found)) if found else math.nan
    return Figures(runs[0].frames, runs[0].seconds, values)


def _driven_again(
    recording: Recording, profile: Mapping[str, Any], car: Any, course: str, battery: Mapping[str, float], seed: int
) -> Recording:
    # The recorded car's run in the simulator, seen through the profile: frames as far apart as the profile's, and first a
    # second at rest.
    from asobiba.envs.mini4wd.car import load_car
    from asobiba.envs.mini4wd.simulate import simulate

    electronics = load_profile(profile)
    step = electronics.control_ms / 1000
    frames = max(electronics.control_ms // electronics.sample_ms, 1)
    times = np.arange(0.0, max(float(recording.times[-1]), 2.0), step)
    at = np.clip(np.searchsorted(recording.times, times, side="right") - 1, 0, len(recording) - 1)
    commands = np.column_stack([np.clip(recording.duty[at], -1, 1), recording.selector[at]])
    rest = np.tile([0.0, SELECTORS["drive"]], (round(1.0 / step), 1))
    log = simulate(
        load_car(car).with_values(**battery), course, np.concatenate([rest, commands]), profile=electronics, laps=100, window=frames, seed=seed
    )  # fmt: skip
    n = len(log.commands)
    imu = log["imu"][1 : n + 1].reshape(-1, 6).astype(float)
    volts, duty, selector = (
        np.repeat(part, frames) for part in (log["voltage"][1 : n + 1].astype(float), *log.commands.T)
    )
    return Recording(np.arange(n * frames) * step / frames, imu[:, :3], imu[:, 3:], volts, duty, selector, 0.0)
