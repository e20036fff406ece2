"""State fields, observation channels and parameter record of the games, from their parameters."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces

from asobiba.core import GameParameterError, Layout, Ruleset
from asobiba.envs.mini4wd.car import CAR_FIELDS, load_car, randomisation
from asobiba.envs.mini4wd.course import COLUMNS, MAX_LANES, MAX_PIECES, Course
from asobiba.envs.mini4wd.course_source import load_course
from asobiba.envs.mini4wd.fields import Field, choice
from asobiba.envs.mini4wd.profile import (
    ACTION_DELAY,
    CONTROL_MS,
    LATENCY,
    PULSES_PER_TURN,
    SENSOR_FIELDS,
    Profile,
    load_profile,
)
from asobiba.envs.mini4wd.sensors import FRAME

ACTIONS = ("duty_mode", "duty")
TRACE_CELLS = 128
"""Cells of a lap in which a state keeps the last speed, for pictures."""
PAR_SPEED = 3.0
"""m/s; the finish reward is the time at this speed over the time needed."""
BOUND = 64.0
"""Bound of every entry of the observation in its unit."""
LEVELS: tuple[tuple[float, float], ...] = (
    (0.0, -0.75),
    (0.0, -0.25),
    (-1.0, 0.5),
    (-0.5, 0.5),
    *((step / 10, 0.5) for step in range(1, 11)),
)
"""Discrete actions as (duty, mode) pairs: free, brake, reverse in full and by half, then duty 0.1 to 1.0."""

MOST_UNDER_WAY = 32
"""Most commands that may be on their way to a car."""

_LAPS = Field("laps", "", 1, 100, 3, "laps", integer=True)
_SAMPLE = Field("sample_ms", "ms", 1, 50, 5, "between two telemetry frames", integer=True)
_WINDOW = Field("window", "", 1, 64, 4, "samples in the observed window", integer=True)
_LATENCY = Field("latency_ms", "ms", 0, 200, 5, "from a sample until the host has it")
_SECONDS = Field("max_seconds", "s", 1, 60, 30, "longest run")
_STAND = Field("stand_seconds", "s", 0.1, 60, 3, "a car that has moved may stand for so long")
_HISTORY = Field("history", "", 1, 16, 2, "last actions in the observation", integer=True)


def _car_state(players: int, window: int, ring: int, history: int, commands: int) -> list[tuple]:
    def each(dtype: Any, *names: str) -> list[tuple]:
        return [(name, dtype, (players,)) for name in names]

    return [
        # The simulator's state.
        *each(np.float64, "u", "v", "w", "z", "vz", "y", "vy", "pitch", "pitch_rate", "roll", "roll_rate"),
        *each(np.float64, "charge", "energy", "current", "bus", "duty", "turned", "still"),
        *each(np.float64, "knock_z", "knock_z_left", "knock_y", "knock_y_left", "smooth", "progress", "finish_time"),
        *each(np.float64, "reversed", "low", "idle", "driven", "silence", "phase", "edge", "seen_edge", "measured"),
        *each(np.int32, "piece", "lane", "lap", "kind", "launch", "mode", "tick", "ring_at", "cause", "under_way"),
        *each(np.int32, "mark", "pulses", "seen_pulses"),
        *each(np.uint8, "airborne"),
        ("acts_at", np.float64, (players, commands)),
        ("coming_duty", np.float64, (players, commands)),
        ("coming_mode", np.int32, (players, commands)),
        ("car", np.float64, (players, len(CAR_FIELDS))),
        ("sensor", np.float64, (players, len(SENSOR_FIELDS))),
        ("mix", np.float64, (players, 2, 3, 3)),
        ("bias", np.float64, (players, 6)),
        ("smoothed", np.float64, (players, 6)),
        ("ring", np.float32, (players, ring, FRAME)),
        ("cell_speed", np.float32, (players, TRACE_CELLS)),
        # The car's sensors.
        *each(np.float64, "clock"),
        ("imu", np.float32, (players, window, 6)),
        *each(np.float32, "voltage", "wheel_turns", "wheel_speed", "frame_age", "target"),
        ("actions", np.float32, (players, history, 2)),
    ]


INFO = {
    "progress": "progress",
    "speed": "v",
    "lap": "lap",
    "lane": "lane",
    "airborne": "airborne",
    "height": "z",
    "pitch": "pitch",
    "roll": "roll",
    "current": "current",
    "energy": "energy",
    "cause": "cause",
    "finish_time": "finish_time",
}
"""The simulator's state in `info` (height of the road on the road, of the wheels in flight): m, m/s, rad, A, J (drawn from the battery), s; `cause` indexes `physics.CAUSES`."""


def _channels(window: int, history: int, tachometer: bool, target: bool) -> dict[str, tuple[int, ...]]:
    channels: dict[str, tuple[int, ...]] = {
        "imu": (window, 6),
        "voltage": (1,),
        "duty": (1,),
        "mode": (1,),
        "time": (1,),
        "frame_age": (1,),
        "actions": (history, 2),
    }
    if tachometer:
        channels["wheel_speed"] = (1,)
    if target:
        channels["target"] = (1,)
    return channels


def _electronics(
    profile: Any, imu: Any, latency_ms: float | None, drop_rate: float | None
) -> tuple[Profile, np.ndarray]:
    """The profile, and its values with the changes that the game's parameters make."""
    found = load_profile(profile)
    changes = {} if drop_rate is None else {"drop_rate": drop_rate}
    if latency_ms is not None:
        changes["latency"] = _LATENCY.check(latency_ms, "mini4wd") / 1000
    return found, found.vector(imu, **changes)


def _require_tachometer(tachometer: Any, profile: str, sensor: np.ndarray) -> None:
    if not isinstance(tachometer, (bool, np.bool_)):
        raise GameParameterError(f"mini4wd: tachometer is {tachometer!r}, but must be true or false")
    if tachometer and not sensor[PULSES_PER_TURN]:
        raise GameParameterError(
            f"mini4wd: tachometer is true, but the car of profile {profile!r} has none (its pulses_per_turn is 0)"
        )


def _under_way(sensor: np.ndarray, ranges: np.ndarray, sample_ms: int, control_ms: int) -> tuple[int, int]:
    """The most samples that have not reached the host, and the most commands that have not reached the car."""
    longest, latency = (float(sensor[at] * ranges[len(CAR_FIELDS) + at, 1]) for at in (ACTION_DELAY, LATENCY))
    count = math.ceil(round(longest * 1000 / control_ms, 9)) + 1
    if count > MOST_UNDER_WAY:
        most = (MOST_UNDER_WAY - 1) * control_ms
        raise GameParameterError(
            f"mini4wd: action_delay is up to {longest * 1000:g} ms (the profile's times the largest factor of randomise), but at "
            f"control_ms={control_ms} it must not exceed {most} ms; shorten it or its range, or choose a longer control_ms"
        )
    return math.ceil(latency * 1000 / sample_ms), count


def _track_parameters(track: Course) -> dict[str, Any]:
    """The parameters of a course."""
    table = np.zeros((MAX_PIECES, MAX_LANES, len(COLUMNS)))
    table[: len(track.pieces), : track.lanes] = track.pieces
    return {
        "track": table,
        "pieces": np.int32(len(track.pieces)),
        "lanes": np.int32(track.lanes),
        "lap_length": np.float64(track.lap_length),
        "start_distance": np.float64(track.start_distance),
    }


def common_layout(
    rewards: Mapping[str, float],
    players: tuple[str, ...] = ("driver",),
    target: tuple[float, float] = (0.0, 0.0),
    levels: Sequence[tuple[float, float]] = (),
    second_car: Any = None,
    *,
    course: Any = "junior",
    car: Any = "stock",
    laps: int = 3,
    lane: int = -1,
    profile: Any = "atmega328p",
    control_ms: int | None = None,
    actions: str = "duty_mode",
    imu: Any = None,
    sample_ms: int | None = None,
    window: int = 4,
    latency_ms: float | None = None,
    drop_rate: float | None = None,
    history: int = 2,
    tachometer: bool = False,
    randomise: Any = "default",
    max_seconds: float = 30.0,
    stand_seconds: float = 3.0,
) -> Layout:
    """The layout of a game with one car per player; the games' documentation explains its parameters.

    Args:
        rewards: the reward's terms and their weights.
        players: the seats.
        target: nearest and farthest mark to stop at, m; 0 if the game has none.
        levels: the discrete actions, instead of `actions`.
        second_car: of a race; `None`: both are `car`.

    Raises:
        GameParameterError: naming the field, the value and the legal range.
    """
    where = "mini4wd"
    track = load_course(course)
    cars = [car, car if second_car is None else second_car][: len(players)]
    vectors = np.stack([load_car(car).vector for car in cars])
    laps = int(_LAPS.check(laps, where))
    electronics, sensor = _electronics(profile, imu, latency_ms, drop_rate)
    sample_ms = int(_SAMPLE.check(electronics.sample_ms if sample_ms is None else sample_ms, where))
    window, history = int(_WINDOW.check(window, where)), int(_HISTORY.check(history, where))
    control_ms = electronics.control_ms if control_ms is None else control_ms
    if control_ms not in CONTROL_MS:
        raise GameParameterError(f"{where}: control_ms is {control_ms!r}, but must be one of 10, 20, 50")
    lane = int(
        Field("lane", "", -1, track.lanes - 1, -1, "", integer=True).check(lane, f"{where} on course {track.name}")
    )
    weights = {
        f"{name}_weight": np.float64(Field(f"{name}_weight", "", 0, 2, 1, "").check(value, where))
        for name, value in rewards.items()
    }
    _require_tachometer(tachometer, electronics.name, sensor)
    size = 2 if choice(actions, ACTIONS, "actions", where) == "duty_mode" else 1
    ranges = randomisation(randomise)
    late, commands = _under_way(sensor, ranges, sample_ms, control_ms)
    terms = {f"reward_{name}": f"reward_{name}" for name in rewards}
    return Layout(
        state=[
            *_car_state(len(players), window, window + late, history, commands),
            *((field, np.float32, (len(players),)) for field in terms),
        ],
        actions=len(levels) or spaces.Box(-1.0, 1.0, (size,), np.float32),
        observation=_channels(window, history, bool(tachometer), target[1] > 0),
        observation_dtype=np.float32,
        observation_low=-BOUND,
        observation_high=BOUND,
        max_steps=round(_SECONDS.check(max_seconds, where) * 1000 / control_ms),
        players=players,
        info={**INFO, **terms},
        parameters={
            **_track_parameters(track),
            "car": vectors,
            "sensor": sensor,
            "ranges": ranges,
            "lane": np.int32(lane),
            "laps": np.int32(laps),
            "substeps": np.int32(control_ms),
            "control_step": np.float64(control_ms / 1000),
            "sample_every": np.int32(sample_ms),
            "tachometer": np.int32(bool(tachometer)),
            "stop_count": np.float64(_STAND.check(stand_seconds, where)),
            "par_time": np.float64(laps * track.lap_length / PAR_SPEED),
            "target_low": np.float64(target[0]),
            "target_high": np.float64(target[1]),
            **weights,
            **({"levels": np.array(levels)} if levels else {}),
        },
    )


def _takes(
    base: Callable[..., Layout], without: Sequence[str] = ()
) -> Callable[[Callable[..., Layout]], Callable[..., Layout]]:
    """Puts the keyword parameters of `base`, but those `without`, in the place of a function's `**shared`."""

    def decorate(function: Callable[..., Layout]) -> Callable[..., Layout]:
        shared = [
            p for n, p in inspect.signature(base).parameters.items() if p.kind is p.KEYWORD_ONLY and n not in without
        ]
        own = [p for p in inspect.signature(function).parameters.values() if p.kind is not p.VAR_KEYWORD]
        function.__signature__ = inspect.Signature([*shared, *own])  # type: ignore[attr-defined]
        return function

    return decorate


@_takes(common_layout)
def time_attack(
    *, progress_weight: float = 1.0, finish_weight: float = 1.0, course_out_weight: float = 1.0, **shared: Any
) -> Layout:
    rewards = {"progress": progress_weight, "finish": finish_weight, "course_out": course_out_weight}
    return common_layout(rewards, **shared)


@_takes(time_attack, without=["actions"])
def discrete(**shared: Any) -> Layout:
    return time_attack(levels=LEVELS, **shared)


@_takes(common_layout, without=["laps"])
def position(
    *,
    nearest: float = 3.0,
    farthest: float = 15.0,
    approach_weight: float = 1.0,
    stop_weight: float = 1.0,
    course_out_weight: float = 1.0,
    **shared: Any,
) -> Layout:
    low = Field("nearest", "m", 0.1, 60, 3, "").check(nearest, "mini4wd_position")
    high = Field("farthest", "m", low, 60, 15, "").check(farthest, "mini4wd_position")
    rewards = {"approach": approach_weight, "stop": stop_weight, "course_out": course_out_weight}
    return common_layout(rewards, target=(low, high), laps=1, **shared)


@_takes(common_layout)
def race(*, second_car: Any = None, **shared: Any) -> Layout:
    return common_layout({"result": 1.0}, ("first", "second"), second_car=second_car, **shared)


def parameter_records(ruleset: Ruleset, variants: Sequence[Mapping[str, Any]]) -> np.ndarray:
    """Parameter records for a batch in which every environment has its own course or car.

    Args:
        ruleset: the rules that the batch is made with.
        variants: for every environment the parameters that differ, such as `{"course": "random:7"}`.

    Returns:
        `(len(variants),)` records for `asobiba.api.Batch(..., params=...)`.

    Raises:
        GameParameterError: for parameters that make other state records (such as `window`).
    """
    records = []
    for variant in variants:
        other = ruleset.game.ruleset(**{**ruleset.parameters, **variant})
        if other.dtype != ruleset.dtype or other.params.dtype != ruleset.params.dtype:
            raise GameParameterError(f"{dict(variant)} makes other state records than {ruleset!r}; both must agree")
        records.append(other.params)
    return np.concatenate(records)


def control_ms_of(ruleset: Ruleset) -> int:
    """Length of a control step under these rules, ms."""
    return int(ruleset.params["substeps"][0])


def view_of_observation(ruleset: Ruleset, observation: np.ndarray) -> np.void:
    """The view of a single car made from its observation, for controllers that drive a real car.

    Args:
        ruleset: of a game with one car.
        observation: `(observation_size,)`, as its environments give it.
    """
    view = ruleset.zeros()
    parts = ruleset.channels(observation)
    view["clock"][0, 0] = parts["time"][0]
    for name in ("voltage", "frame_age", "wheel_speed", "target"):
        if name in parts:
            view[name][0, 0] = parts[name][0]
    for name in ("imu", "actions"):
        view[name][0, 0] = parts[name]
    return view[0]
