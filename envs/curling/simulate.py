"""Plays a shot on a position outside any game, for players and tools."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from asobiba.core import GameParameterError, IllegalAction, Ruleset, compiled, kernel
from asobiba.core.laws import close_step
from asobiba.core.random import seed_record
from asobiba.core.record import SAMPLER
from asobiba.core.states import as_seed, is_over
from asobiba.envs.curling import motion, rules, shots, simulation
from asobiba.envs.curling.simulators import RADIUS

_FASTEST = 1000.0


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.floating, np.integer)) and not isinstance(value, bool)


def _require_spin(spin: Any) -> None:
    if isinstance(spin, bool) or not _is_number(spin) or spin not in (1, -1):
        raise GameParameterError(f"spin is {spin!r}, but must be 1 (counter-clockwise) or -1 (clockwise)")


def _require_position(state: Any) -> None:
    """Raises `GameParameterError` for values that the kernels could not use as indices."""
    names = getattr(getattr(state, "dtype", None), "names", None) or ()
    if not {"stones", "in_play", "shot"} <= set(names):
        raise GameParameterError(f"state is {state!r}, but must be a state or view of curling")
    if not 0 <= int(state["shot"]) < simulation.STONES:
        raise GameParameterError(f"shot is {int(state['shot'])}, but must be a number from 0 to 15")
    if (state["in_play"] > 1).any() or not (np.abs(state["stones"]) < 100.0).all():
        raise GameParameterError("stones of the state lie nowhere: expected finite places, and 0 or 1 in in_play")


@dataclass(frozen=True)
class Shot:
    """A delivery: velocity in m/s (x to the thrower's right, y in the direction of play) and spin (+1 counter-clockwise).

    Raises:
        GameParameterError: for a velocity that is no finite number below 1000 m/s, or another spin.
    """

    vx: float
    vy: float
    spin: int

    def __post_init__(self) -> None:
        for name in ("vx", "vy"):
            value = getattr(self, name)
            if not _is_number(value) or not abs(value) < _FASTEST:
                raise GameParameterError(f"{name} is {value!r}, but must be a finite number of m/s, below {_FASTEST:g}")
        _require_spin(self.spin)

    @classmethod
    def draw(cls, ruleset: Ruleset, x: float, y: float, spin: int = 1) -> Shot:
        """The shot that stops at (x, y), m from the tee.

        Raises:
            GameParameterError: for a point off the sheet (which goes on behind the house, for hard shots), or another spin.
        """
        return cls._to(ruleset, x, y, spin, 0.0)

    @classmethod
    def hit(cls, ruleset: Ruleset, x: float, y: float, spin: int = 1, speed: float = 3.0) -> Shot:
        """The shot that passes (x, y) with `speed` (m/s) left. Raises the errors of `draw`, and for a speed beyond 0 to
        25 m/s.
        """
        return cls._to(ruleset, x, y, spin, speed)

    @classmethod
    def _to(cls, ruleset: Ruleset, x: float, y: float, spin: int, speed: float) -> Shot:
        p = ruleset.params[0]
        _require_spin(spin)
        side = p["side"] + RADIUS
        numbers = _is_number(x) and _is_number(y) and math.isfinite(x) and math.isfinite(y)
        if not (numbers and -p["release"] < y <= p["far"] and abs(x) <= side):
            raise GameParameterError(
                f"the target ({x!r}, {y!r}) is off the sheet: x must lie from {-side:g} to {side:g} m, y from "
                f"{-p['release']:g} (the release) to {p['far']:g} m from the tee"
            )
        if not _is_number(speed) or not 0.0 <= speed <= 25.0:
            raise GameParameterError(f"the speed left at the target is {speed!r}, but must lie from 0 to 25 m/s")
        vx, vy = _aim(int(p["model"]), float(p["release"]), float(x), float(y), float(spin), float(speed))
        return cls(vx, vy, spin)


@compiled()
def _aim(model, release, x, y, spin, speed):
    return shots.hit_shot(model, release, x, y, spin, speed)


@compiled()
def _run(params, stones, in_play, before, before_in, shot, vx, vy, spin, noisy, sampler, trace):
    p = params[0]
    if noisy:
        vx, vy = rules.with_noise(sampler[0], p, vx, vy, spin)
    foul, traced = rules.throw(p, stones, in_play, before, before_in, shot, (vx, vy, spin), trace)
    return foul, traced, vx, vy, rules.end_score(p, stones, in_play)


@compiled()
def _sample(model, stretches, times, places):
    # One row a stretch: launch's row is put together again and evaluated.
    m = np.zeros((16, 16))
    for n in range(stretches.shape[0]):
        i = int(stretches[n, 0])
        m[i, motion.T0] = stretches[n, 1]
        for k in range(1, 7):
            m[i, k] = stretches[n, 2 + k]
        for a in range(times.shape[0]):
            t = times[a]
            if t >= stretches[n, 1] and t <= stretches[n, 2]:
                x, y, _, _ = motion.at_time(model, m, i, t)
                places[a, i, 0], places[a, i, 1] = x, y


@dataclass(frozen=True)
class Result:
    """The outcome of a shot.

    Args:
        stones, in_play: `(16, 2)` float64 m and `(16,)` uint8 afterwards.
        foul: whether it broke the free guard zone and was taken back.
        score: points of the end if it stopped now, positive for the team that threw first in it.
        velocity: vx, vy as thrown, noise included.
        seconds: until all stones stood still.
    """

    stones: np.ndarray
    in_play: np.ndarray
    foul: bool
    score: int
    velocity: tuple[float, float]
    seconds: float
    _model: int
    _stretches: np.ndarray
    _start: np.ndarray

    def trajectories(self, times: np.ndarray) -> np.ndarray:
        """Places of all stones at times (s since delivery): `(len(times), 16, 2)` float64 m, NaN while out of play.

        A stone that leaves the sheet is NaN from then on. The shot is shown as it ran even if it was a foul.
        """
        times = np.ascontiguousarray(times, float)
        places = np.full((len(times), 16, 2), np.nan)
        for i in range(16):
            mine = self._stretches[self._stretches[:, 0] == i]
            begin = mine[0, 1] if len(mine) else np.inf
            places[times < begin, i] = self._start[i]
            if len(mine) and not self._gone[i]:
                places[times > mine[-1, 2], i] = self._ends[i]
        _sample(self._model, self._stretches, times, places)
        return places

    @property
    def _ends(self) -> np.ndarray:
        ends = np.zeros((16, 2))
        for row in self._stretches:
            at = np.full((1, 16, 2), np.nan)
            _sample(self._model, row[None].copy(), np.array([row[2]]), at)
            ends[int(row[0])] = at[0, int(row[0])]
        return ends

    @property
    def _gone(self) -> np.ndarray:
        # A stone that stopped has no time left at the end of its last stretch; one that left the sheet has.
        gone = np.zeros(16, bool)
        for row in self._stretches:
            gone[int(row[0])] = row[3] - (row[2] - row[1]) > 1e-6
        return gone


def simulate(ruleset: Ruleset, state: np.void, shot: Shot, *, seed: int | None = None) -> Result:
    """Plays a shot on the position of `state`, which is not changed, under the rules of the free guard zone.

    Args:
        ruleset: gives the simulator, the sheet and the rules.
        state: a state or view; its next shot is delivered.
        shot: the delivery.
        seed: of the noise; `None` plays the shot exactly as given.

    Raises:
        GameParameterError: for anything but a shot, or an invalid position.
    """
    if not isinstance(shot, Shot):
        raise GameParameterError(f"shot is {shot!r}, but must be a Shot: Shot(vx, vy, spin), Shot.draw or Shot.hit")
    _require_position(state)
    stones, in_play = state["stones"].copy(), state["in_play"].copy()
    start = np.where(in_play[:, None] != 0, stones, np.nan)
    trace = np.zeros((128, simulation.TRACE_COLUMNS))
    sampler = np.zeros(1, SAMPLER)
    if seed is not None:
        seed_record(sampler[0], as_seed(seed))
    foul, traced, vx, vy, score = _run(
        params=ruleset.params,
        stones=stones,
        in_play=in_play,
        before=np.zeros((16, 2)),
        before_in=np.zeros(16, np.uint8),
        shot=int(state["shot"]),
        vx=float(shot.vx),
        vy=float(shot.vy),
        spin=float(shot.spin),
        noisy=seed is not None,
        sampler=sampler,
        trace=trace,
    )
    stretches: Any = trace[:traced].copy()
    seconds = float(stretches[:, 2].max()) if traced else 0.0
    return Result(
        stones, in_play, bool(foul), int(score), (vx, vy), seconds, int(ruleset.params["model"][0]), stretches, start
    )


@kernel
def begin_delivery(s, p, vx, vy, spin, exact):
    """Begins a step and records the intended shot; returns the velocity thrown, which is the same if it is `exact`."""
    s.rewards[0], s.rewards[1] = 0.0, 0.0
    if exact:
        s.asked[0], s.asked[1], s.asked[2] = vx, vy, spin
        return vx, vy
    return rules.ask(s, p, vx, vy, spin)


@compiled()
def _deliver(states, params, vx, vy, spin, exact):
    s, p = states[0], params[0]
    vx, vy = begin_delivery(s, p, vx, vy, spin, exact)
    rules.deliver(s, p, vx, vy, spin)
    close_step(s, p)


def deliver(ruleset: Ruleset, state: np.void, shot: Shot, *, exact: bool = False) -> np.void:
    """The state after a delivery of exactly this velocity, not rounded to an action, for hosts and record readers.

    Args:
        exact: play the shot as given instead of drawing the noise from the state's generator.

    Raises:
        IllegalAction: if the game is over. GameParameterError: for an invalid position.
    """
    _require_position(state)
    if is_over(state):
        raise IllegalAction(f"the game of {ruleset!r} is over; no shot can be played")
    states = ruleset.zeros()
    states[0] = state
    _deliver(states, ruleset.params, float(shot.vx), float(shot.vy), float(shot.spin), exact)
    return states[0]
