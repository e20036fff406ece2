"""State fields, observation and parameter record of the games, from their parameters."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from gymnasium import spaces

from asobiba.core import GameParameterError, Layout, Ruleset, compiled
from asobiba.envs.curling import rules
from asobiba.envs.curling.shots import draw_shot, hit_shot
from asobiba.envs.curling.simulators import CS2, NOISES, SIMULATORS, Simulator
from asobiba.envs.curling.win_table import win_table

GUARDS = ("none", "removal", "no_tick")
ACTIONS = ("velocity", "target")
REWARDS = ("win", "score", "win_probability")
TARGET_SIDE = 2.2
"""m; targets of the action "target" lie between this far left and right."""
TARGET_X = tuple(round(-1.8 + 0.3 * k, 1) for k in range(13))
TARGET_Y = (-4.2, -3.2, -2.4, -1.4, -0.7, 0.0, 0.7, 1.4)
"""m from the tee; the targets of the discrete game."""
WEIGHTS = ("draw", "soft", "firm", "hard")
"""Weights of the discrete game: stop at the target, or pass it with one of the speeds `Simulator.weights`."""
SPINS = (1, -1)
"""Counter-clockwise, clockwise."""


@compiled()
def _fill_shots(model, release, x, y, speeds, out):
    k = 0
    for a in range(x.shape[0]):
        for b in range(y.shape[0]):
            for w in range(speeds.shape[0]):
                for spin in (1.0, -1.0):
                    if speeds[w] == 0.0:
                        vx, vy = draw_shot(model, release, x[a], y[b], spin)
                    else:
                        vx, vy = hit_shot(model, release, x[a], y[b], spin, speeds[w])
                    out[k, 0], out[k, 1], out[k, 2] = vx, vy, spin
                    k += 1


def discrete_shots(simulator: Simulator) -> np.ndarray:
    """The shots of the discrete game, `(n, 3)` float64: vx, vy (m/s), spin; weights and spins vary fastest."""
    speeds = np.array([0.0, *simulator.weights])
    out = np.zeros((len(TARGET_X) * len(TARGET_Y) * len(WEIGHTS) * len(SPINS), 3))
    _fill_shots(simulator.model, simulator.release, np.array(TARGET_X), np.array(TARGET_Y), speeds, out)
    return out


def _one_of(value: Any, choices: tuple[str, ...], name: str) -> int:
    if value not in choices:
        raise GameParameterError(f"curling: {name} is {value!r}, but must be one of {', '.join(choices)}")
    return choices.index(value)


def _whole(value: Any, low: int, high: int, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not low <= value <= high:
        raise GameParameterError(f"curling: {name} is {value!r}, but must be a whole number from {low} to {high}")
    return int(value)


def _yes(value: Any, name: str) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise GameParameterError(f"curling: {name} is {value!r}, but must be true or false")
    return bool(value)


def noise_of(noise: Any, simulator: str) -> tuple[float, float]:
    """The two standard deviations of the parameter `noise` for a simulator."""
    if noise is None:
        return SIMULATORS[simulator].noise
    if noise == "none":
        return 0.0, 0.0
    if isinstance(noise, str):
        if noise not in NOISES:
            raise GameParameterError(
                f"curling: noise is {noise!r}, but must be one of none, {', '.join(NOISES)}, or two numbers"
            )
        which, values = NOISES[noise]
        if which != simulator:
            raise GameParameterError(f"curling: noise {noise!r} belongs to simulator {which!r}, not to {simulator!r}")
        return values
    try:
        first, second = (float(value) for value in noise)
    except (TypeError, ValueError):
        raise GameParameterError(f"curling: noise is {noise!r}, but must be a name or two numbers") from None
    if not (0 <= first <= 5 and 0 <= second <= 5):
        raise GameParameterError(f"curling: noise is {noise!r}, but both numbers must lie from 0 to 5")
    return first, second


def _state() -> list[tuple]:
    return [
        ("stones", np.float64, (16, 2)),
        ("in_play", np.uint8, (16,)),
        ("end", np.int16),
        ("shot", np.uint8),
        ("hammer", np.uint8),
        ("foul", np.uint8),
        ("conceded", np.int8),
        ("total", np.int16, (2,)),
        ("scores", np.int8, (2, rules.ENDS)),
        ("extra", np.int16, (2,)),
        ("asked", np.float64, (3,)),
        ("run", np.float64, (3,)),
        ("before", np.float64, (16, 2)),
        ("last_stones", np.float64, (16, 2)),
        ("before_in_play", np.uint8, (16,)),
        ("last_in_play", np.uint8, (16,)),
    ]


def _sheet(sim: Simulator) -> dict[str, np.float64]:
    """The parameters of a simulator: measures of the sheet and speeds."""
    names = (
        "release", "hog", "back", "side", "score", "fgz_house", "fgz_tee", "spin", "lateral", "slowest", "fastest",
        "speed_limit", "far",
    )  # fmt: skip
    return {name: np.float64(getattr(sim, name)) for name in names}


def _seconds(thinking_time: Any) -> float:
    if isinstance(thinking_time, bool) or not isinstance(thinking_time, (int, float)) or not 0 <= thinking_time <= 1e6:
        raise GameParameterError(f"curling: thinking_time is {thinking_time!r}, but must be seconds from 0 to 1000000")
    return thinking_time


def common_layout(
    discrete: bool = False,
    *,
    simulator: str = "cs2",
    ends: int | None = None,
    noise: Any = None,
    guards: str = "removal",
    guarded_shots: int | None = None,
    extra_ends: int | None = None,
    hammer: str = "second",
    first_end: int = 0,
    lead: int = 0,
    stop_after: int = 0,
    actions: str = "velocity",
    reward: str = "win",
    concession: bool = False,
    image: bool = False,
    thinking_time: float | None = None,
) -> Layout:
    """The layout of a game of curling; the package's documentation explains its parameters.

    Raises:
        GameParameterError: naming the parameter, the value and the legal range.
    """
    _one_of(simulator, tuple(SIMULATORS), "simulator")
    sim = SIMULATORS[simulator]
    ends = sim.ends if ends is None else _whole(ends, 1, rules.ENDS, "ends")
    extra = sim.extra_ends if extra_ends is None else extra_ends
    extra = _whole(extra, 0, rules.MOST_ENDS - rules.ENDS, "extra_ends")
    guarded = sim.guards if guarded_shots is None else _whole(guarded_shots, 0, 16, "guarded_shots")
    first_end = _whole(first_end, 0, ends - 1, "first_end")
    stop_after = _whole(stop_after, 0, rules.MOST_ENDS, "stop_after")
    lead = _whole(lead, -20, 20, "lead")
    seconds = _seconds(sim.thinking if thinking_time is None else thinking_time)
    first_noise, second_noise = noise_of(noise, simulator)
    kind = _one_of(reward, REWARDS, "reward")
    by_target = _one_of(actions, ACTIONS, "actions")
    conceding = _yes(concession, "concession")
    last = ends + extra if stop_after == 0 else min(first_end + stop_after, ends + extra)
    channels: dict[str, tuple[int, ...]] = {
        "stones": (2, 8, 4), "shot": (16,), "end": (1,), "ends_left": (1,), "score": (1,), "hammer": (1,),
    }  # fmt: skip
    if _yes(image, "image"):
        channels["image"] = (rules.PLANES, rules.ROWS, rules.COLUMNS)
    parameters = {
        "model": np.int32(sim.model),
        "ends": np.int32(ends),
        "extra_ends": np.int32(extra),
        "first_end": np.int32(first_end),
        "last_end": np.int32(last),
        "first_hammer": np.int32(_one_of(hammer, ("first", "second"), "hammer")),
        "lead": np.int32(lead),
        "guard_rule": np.int32(_one_of(guards, GUARDS, "guards")),
        "guarded_shots": np.int32(guarded),
        "reward_kind": np.int32(kind),
        "by_target": np.int32(by_target),
        "concession": np.int32(conceding),
        "image": np.int32(image),
        "all_checked": np.int32(sim.all_checked),
        **_sheet(sim),
        "target_side": np.float64(TARGET_SIDE),
        "noise_first": np.float64(first_noise),
        "noise_second": np.float64(second_noise),
        "thinking_time": np.float64(seconds),
        "weights": np.array(sim.weights),
        "win_table": win_table(rules.ENDS),
    }  # fmt: skip
    space: int | spaces.Box = spaces.Box(-1.0, 1.0, (4 if conceding else 3,), np.float32)
    if discrete:
        parameters["shots"] = partial(discrete_shots, sim)
        space = len(TARGET_X) * len(TARGET_Y) * len(WEIGHTS) * len(SPINS) + conceding
    most = float(last - first_end)
    return Layout(
        state=_state(),
        actions=space,
        observation=channels,
        observation_dtype=np.float32,
        observation_low=-1.0,
        observation_high=1.0,
        max_steps=16 * (last - first_end),
        parameters=parameters,
        return_range=(-most, most) if kind == rules.SCORE else None,
        chance=first_noise > 0 or second_noise > 0,
    )


def _takes(without: tuple[str, ...] = (), **defaults: Any) -> Callable[[Callable[..., Layout]], Callable[..., Layout]]:
    """Gives a function the keyword parameters of `common_layout`, but those `without`, with some other defaults."""

    def decorate(function: Callable[..., Layout]) -> Callable[..., Layout]:
        shared = [
            p.replace(default=defaults.get(n, p.default))
            for n, p in inspect.signature(common_layout).parameters.items()
            if p.kind is p.KEYWORD_ONLY and n not in without
        ]
        function.__signature__ = inspect.Signature(shared)  # type: ignore[attr-defined]
        return function

    return decorate


@_takes()
def game(**parameters: Any) -> Layout:
    """Curling with continuous actions."""
    return common_layout(**parameters)


@_takes(without=("actions",))
def discrete(**parameters: Any) -> Layout:
    """Curling with a finite choice of shots."""
    return common_layout(discrete=True, **parameters)


@_takes(first_end=9, stop_after=1, reward="win_probability")
def one_end(**parameters: Any) -> Layout:
    """One end from a given situation."""
    return common_layout(**{"first_end": 9, "stop_after": 1, "reward": "win_probability", **parameters})


def simulator_of(ruleset: Ruleset) -> Simulator:
    """The simulator that a ruleset plays on."""
    return next(sim for sim in SIMULATORS.values() if sim.model == int(ruleset.params["model"][0]))


def is_cs2(ruleset: Ruleset) -> bool:
    """Whether a ruleset plays on cs2."""
    return int(ruleset.params["model"][0]) == CS2
