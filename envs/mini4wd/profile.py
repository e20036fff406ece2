"""Profiles: the sensors and commands of a car's electronics, in one file for all programs.

The simulator's kernels read the numbers of `SENSOR_FIELDS` (in the record's field `sensor`), the hardware environment the
codec, the axes and the rates, the car's program in Python the limits, the program in C++ the header that
`firmware_header` writes, system identification all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from asobiba.core import GameParameterError
from asobiba.envs.mini4wd.fields import Field, choice, read_fields, read_yaml, require_mapping

IMU_FIELDS = (
    Field("acc_range", "g", 1, 400, None, "saturates there"),
    Field("acc_step", "g", 1e-6, 1, None, "one count"),
    Field("acc_noise", "g", 0, 1, None, "white, rms per sample"),
    Field("acc_bias", "g", 0, 1, None, "greatest turn-on bias"),
    Field("acc_walk", "g/sqrt(s)", 0, 1, None, "random walk of the bias"),
    Field("gyro_range", "degrees/s", 0, 10000, None, "saturates there; 0: no gyro"),
    Field("gyro_step", "degrees/s", 1e-6, 100, None, "one count"),
    Field("gyro_noise", "degrees/s", 0, 100, None, "white, rms per sample"),
    Field("gyro_bias", "degrees/s", 0, 100, None, "greatest turn-on bias"),
    Field("gyro_walk", "degrees/s/sqrt(s)", 0, 10, None, "random walk of the bias"),
    Field("scale_error", "", 0, 0.2, None, "greatest relative error of an axis' scale"),
    Field("bandwidth", "Hz", 1, 1000, None, "of the low-pass filter"),
)
ELECTRONICS_FIELDS = (
    Field("mounting", "degrees", 0, 30, 2.0, "greatest mounting error about each axis"),
    Field("vibration", "g/(m/s)", 0, 2, 0.3, "acceleration rms per m/s before the low-pass filter"),
    Field("gyro_vibration", "(degrees/s)/(m/s)", 0, 100, 6.0, "the same of the gyro"),
    Field("roll_vibration", "(degrees/s)/(m/s)", 0, 200, 0.0, "what its roll axis has of it besides"),
    Field("voltage_noise", "V", 0, 1, 0.01, "rms of the measured battery voltage"),
    Field("latency", "s", 0, 0.2, None, "from a sample until the host has it, without the low-pass filter"),
    Field("drop_rate", "", 0, 0.9, 0.0, "share of frames that are lost"),
    Field("action_delay", "s", 0, 0.1, None, "from the beginning of a step until its command acts"),
    Field("command_loss", "", 0, 0.9, 0.0, "share of commands that are lost"),
    Field("link_timeout", "s", 0.05, 60, 0.2, "the car brakes after so long without a command"),
    Field("reverse_limit", "s", 0, 60, 0.1, "longest reverse pulse; then the car brakes until it is told something else"),
    Field("battery_limit", "V", 0, 5, 0.0, "the car brakes for good when its battery has been below this for 0.5 s"),
    Field("battery_grace", "s", 0, 60, 2.0, "after a standing start the battery may be below its limit for so long"),
    Field("maximum_duty", "", 0.05, 1, 1.0, "greatest duty that the car accepts"),
    Field("slow_decay", "", 0, 1, None, "1: the H-bridge shorts the motor between its pulses; 0: it leaves it free", integer=True),
    Field("bridge_resistance", "ohm", 0, 2, 0.28, "of the H-bridge as it drives: a high side and a low side"),
    Field("brake_resistance", "ohm", 0, 2, 0.28, "of the H-bridge as it shorts the motor: both low sides"),
    Field("dead_time", "s", 0, 1e-5, 5e-7, "by which the H-bridge shortens every pulse"),
    Field("pwm_frequency", "Hz", 50, 200_000, 20_000, "of the pulses"),
    Field("modes", "", 0, 1, 1, "1: brake and free are commands of their own; 0: the car knows a duty alone", integer=True),
    Field("pulses_per_turn", "", 0, 64, 0, "tachometer pulses per turn of a wheel; 0: no tachometer", integer=True),
    Field("tachometer_jitter", "s", 0, 0.01, 0.0, "rms error of the time of a pulse"),
    Field("tachometer_filter", "s", 0, 1, 0.0, "time constant of the low pass of the measured wheel speed"),
)  # fmt: skip
SENSOR_FIELDS = (*IMU_FIELDS, *ELECTRONICS_FIELDS)
SENSOR_NAMES = tuple(f.name for f in SENSOR_FIELDS)
(
    ACC_RANGE, ACC_STEP, ACC_NOISE, ACC_BIAS, ACC_WALK, GYRO_RANGE, GYRO_STEP, GYRO_NOISE, GYRO_BIAS, GYRO_WALK,
    SCALE_ERROR, BANDWIDTH, MOUNTING, VIBRATION, GYRO_VIBRATION, ROLL_VIBRATION, VOLTAGE_NOISE, LATENCY, DROP_RATE,
    ACTION_DELAY, COMMAND_LOSS, LINK_TIMEOUT, REVERSE_LIMIT, BATTERY_LIMIT, BATTERY_GRACE, MAXIMUM_DUTY, SLOW_DECAY, BRIDGE_R,
    BRAKE_R, DEAD_TIME, PWM_FREQUENCY, KNOWS_MODES,
    PULSES_PER_TURN, TACHOMETER_JITTER, TACHOMETER_FILTER,
) = range(len(SENSOR_FIELDS))  # fmt: skip

CONTROL_MS = (10, 20, 50)
BATTERY_LOW = 0.5
"""Time that the battery must be below the car's limit, s."""
STANDING = 1.0
"""A motor that has not been driven for so long starts a standing car, s; then the battery has its grace."""
_RATES = (
    Field("sample_ms", "ms", 1, 50, None, "between two telemetry frames", integer=True),
    Field("imu_hz", "Hz", 20, 1000, 200, "own rate of the inertial sensor"),
    Field("baud", "bit/s", 9600, 4_000_000, 115_200, "of the serial port", integer=True),
    Field("acknowledges", "", 0, 1, 0, "1: the car says which command it obeys", integer=True),
)
_TEXTS = ("name", "title", "codec", "axes", "imu", "base")


@cache
def imus() -> dict[str, dict[str, float]]:
    """The shipped inertial sensors: name -> `IMU_FIELDS`."""
    text = (files("asobiba.envs.mini4wd") / "parts" / "imus.yaml").read_text(encoding="utf-8")
    return {name: read_fields(values, IMU_FIELDS, f"sensor {name}") for name, values in yaml.safe_load(text).items()}


@dataclass(frozen=True)
class Profile:
    """The electronics of a car.

    Args:
        name, title: for files and for people.
        codec: the protocol that it speaks ("asobiba" or "aichip").
        axes: which of the sensor's axes point ahead, left and up, such as "+x-y-z".
        imu: the inertial sensor's name.
        control_ms: control period, ms: 10, 20 or 50.
        sample_ms: between two telemetry frames, ms.
        imu_hz: own rate of the inertial sensor, Hz.
        baud: of the serial port, bit/s.
        acknowledges: whether the car reports the command that it obeys.
        values: every field of `SENSOR_FIELDS`.
    """

    name: str
    title: str
    codec: str
    axes: str
    imu: str
    control_ms: int
    sample_ms: int
    imu_hz: float
    baud: int
    acknowledges: bool
    values: Mapping[str, float]

    def __hash__(self) -> int:
        return hash((self.name, tuple(self.values.items()), self.control_ms, self.sample_ms))

    def vector(self, imu: str | Mapping[str, Any] | None = None, **changes: float) -> np.ndarray:
        """The values in the order of `SENSOR_FIELDS`, `(len(SENSOR_FIELDS),)` float64.

        Args:
            imu: another inertial sensor, by name or as a mapping of fields.
            changes: values that differ.

        Raises:
            GameParameterError: naming the field, the value and the legal range.
        """
        values: dict[str, Any] = dict(self.values)
        if isinstance(imu, Mapping):
            values |= require_mapping(imu, "imu")
        elif imu is not None:
            values |= imus()[choice(imu, tuple(imus()), "imu", "mini4wd")]
        values |= changes
        checked = read_fields(values, SENSOR_FIELDS, f"profile {self.name}")
        return np.array([checked[name] for name in SENSOR_NAMES])


def load_profile(source: str | Path | Mapping[str, Any] | Profile) -> Profile:
    """Reads and checks a profile.

    Args:
        source: the name of a shipped profile, the path of a YAML file, or its contents. A file with `base` names
            what differs from another profile.

    Raises:
        GameParameterError: naming the field, the value and the legal range.
    """
    if isinstance(source, Profile):
        return source
    data, where = _flat(source)
    texts = {name: str(data.pop(name)) for name in _TEXTS if name in data and name != "imu"}
    imu = data.pop("imu", None)
    for name in ("codec", "axes"):
        if name not in texts:
            raise GameParameterError(f"{where}: {name} is missing")
    choice(texts["codec"], ("asobiba", "aichip"), "codec", where)
    if imu is None:
        raise GameParameterError(f"{where}: imu is missing; it must be one of {', '.join(imus())} or a mapping")
    sensor = (
        require_mapping(imu, where) if isinstance(imu, Mapping) else imus()[choice(imu, tuple(imus()), "imu", where)]
    )
    control_ms = data.pop("control_ms", None)
    if control_ms not in CONTROL_MS:
        raise GameParameterError(f"{where}: control_ms is {control_ms!r}, but must be one of 10, 20, 50")
    rates = read_fields({f.name: data.pop(f.name) for f in _RATES if f.name in data}, _RATES, where)
    values = read_fields({**sensor, **data}, SENSOR_FIELDS, where)
    return Profile(
        name=texts.get("name", "profile"), title=texts.get("title", texts.get("name", "profile")), codec=texts["codec"],
        axes=texts["axes"], imu=imu if isinstance(imu, str) else "imu", control_ms=int(control_ms),
        sample_ms=int(rates["sample_ms"]), imu_hz=rates["imu_hz"], baud=int(rates["baud"]), acknowledges=bool(rates["acknowledges"]), values=values,
    )  # fmt: skip


def _flat(source: str | Path | Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    data, where = read_yaml(source, "profiles", "profile")
    data = dict(data)
    if "base" in data:
        base, _ = _flat(data.pop("base"))
        data = {**base, **data}
    return data, where


def firmware_header(profile: Profile) -> str:
    """The header of `firmware/mini4wd` for this profile; `src/profile.h` is that of the ATmega328P."""
    v = profile.values
    rows = [
        ("uint32_t", "kBaud", profile.baud, "bits per second of the serial port"),
        ("uint8_t", "kTelemetryPeriodMs", profile.sample_ms, "between two telemetry frames"),
        ("uint16_t", "kImuHz", round(profile.imu_hz), "own rate of the inertial sensor"),
        ("uint16_t", "kImuBandwidthHz", round(v["bandwidth"]), "its low-pass filter"),
        ("uint8_t", "kLinkTimeoutMs", round(v["link_timeout"] * 1000), "without a valid command: short-brake"),
        ("uint8_t", "kReverseLimitMs", round(v["reverse_limit"] * 1000), "longest reverse pulse"),
        (
            "uint16_t",
            "kBatteryLimitMv",
            round(v["battery_limit"] * 1000),
            "below it for so long: short-brake for good",
        ),
        ("uint16_t", "kLowBatteryMs", round(BATTERY_LOW * 1000), "the battery may be below its limit for so long"),
        ("uint16_t", "kBatteryGraceMs", round(v["battery_grace"] * 1000), "after a standing start for so long besides"),
        ("uint16_t", "kStandingMs", round(STANDING * 1000), "a motor not driven for so long starts a standing car"),
        ("uint16_t", "kMaximumDuty", round(v["maximum_duty"] * 32767), "of 32767; lower it to clamp the car itself"),
        ("bool", "kSlowDecay", "true" if v["slow_decay"] else "false", "between pulses: short-brake, or free"),
        (
            "bool",
            "kAcknowledges",
            "true" if profile.acknowledges else "false",
            "whether telemetry says which command is obeyed",
        ),
    ]
    lines = [
        f"// What the profile {profile.name} says ({profile.title}).",
        f"// Written by `asobiba hil firmware-profile {profile.name}`; change the profile, not this file.",
        "#pragma once",
        "#include <stdint.h>",
        "",
        "namespace profile {",
        "",
        *(f"constexpr {kind} {name} = {value};  // {meaning}" for kind, name, value, meaning in rows),
        "",
        "}  // namespace profile",
    ]
    return "\n".join(lines) + "\n"
