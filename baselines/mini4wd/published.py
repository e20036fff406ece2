"""Published figures of the mini 4WD, and ours beside them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from asobiba.core import compiled, make_agent, states
from asobiba.core.elementary import sincos
from asobiba.envs.mini4wd import GAME
from asobiba.envs.mini4wd.car import GRIP, ROLLER_OFFSET, TREAD, load_car
from asobiba.envs.mini4wd.course import KINDS
from asobiba.envs.mini4wd.course_source import load_course
from asobiba.envs.mini4wd.physics import CAUSES, GRAVITY, drive
from asobiba.envs.mini4wd.profile import LINK_TIMEOUT
from asobiba.envs.mini4wd.rules import reset
from asobiba.envs.mini4wd.simulate import SELECTORS, lap_run, simulate

_GAT = "GAT 2016"
_LAPS = "nomano.shiwaza.com, lap times on the Junior Circuit"
_MODEL = "linear motor model fitted to Tamiya's package data"
_JUMP = "ballistic flight, 12 degrees"
_TIP = "tipping limit at rollers 10 mm below the centre of gravity, tread 60-67 mm"


MEASURED, FITTED, FORMULA, OBSERVED = "measured", "fitted", "formula", "observed"
"""Kind of a published figure: measured by somebody; measured, and one of our parameters was fitted to it; a formula that our
model contains too, so that the row checks the program and not the world; or what a paper's author saw his car do."""


@dataclass(frozen=True)
class Figure:
    """A published figure and ours: `low` to `high` is the range in which ours must lie; `kind` as above.

    `lacks` says what the model lacks where ours is known to lie outside.
    """

    name: str
    unit: str
    published: str
    low: float
    high: float
    ours: float
    source: str
    kind: str = MEASURED
    lacks: str = ""

    @property
    def agrees(self) -> bool:
        """Whether ours lies in the range; a car that never did what is measured (NaN) does not agree."""
        return self.low <= self.ours <= self.high

    @property
    def range(self) -> str:
        """The range in words."""
        return f"at least {self.low:.3g}" if math.isinf(self.high) else f"{self.low:.3g}-{self.high:.3g}"


def lap_times() -> Iterator[Figure]:
    """Three laps of the Junior Circuit at full duty from rest: mean of the three lanes to start in."""
    for motor, seconds in (("normal", 7.0), ("torque_tuned", 5.8)):
        ours = np.mean(
            [lap_run(f"stock+{motor}", "junior", lane=lane, profile=_BARE).finish_time or math.nan for lane in range(3)]
        )
        yield Figure(f"three laps, {motor}", "s", f"{seconds}", 0.95 * seconds, 1.05 * seconds, float(ours), _LAPS)


def lane_changer_exits() -> Figure:
    """The number of three starts with Hyper-Dash at full duty that leave the course at the lane changer."""
    causes = [lap_run("stock+hyper_dash", "junior", lane=lane, profile=_BARE).cause for lane in range(3)]
    return Figure(
        "hyper_dash: out at the lane changer", "of 3 lanes", "every time", 3, 3, causes.count(CAUSES[1]), _LAPS
    )


def long_straight() -> dict:
    """A course with 20 m straights, to brake on."""
    return {
        "name": "long straight",
        "system": "junior",
        "segments": [
            "start", {"kind": "straight", "count": 35}, {"kind": "corner", "count": 4},
            {"kind": "straight", "count": 36}, {"kind": "corner", "count": 4},
        ],
    }  # fmt: skip


_REACT = 25
"""Steps from the foot of a hill within which it is seen: on it, or in the half second after."""
_PULSES = 6
"""Of 5 s on and 5 s off, as long as a run may be."""
_GRIP = 0.51 * GRAVITY
"""Greatest deceleration by the tyres, m/s2 (`car.BODY_FIELDS`): no brake stops the car faster."""
_BARE = {"base": "atmega328p", "bridge_resistance": 0.0, "brake_resistance": 0.0, "dead_time": 0.0}
"""Electronics that cost the motor nothing: the published lap times are those of cars with a switch."""
_FREE_OF_LIMITS = {**_BARE, "slow_decay": 0, "reverse_limit": 60}
"""Electronics that let the motor run as it is told besides, for what was measured or derived without them."""


def deceleration(motor: str, duty: float, selector: float) -> float:
    """Mean deceleration from 4 to 2.5 m/s on a straight, m/s2."""
    commands = np.full((400, 2), (1.0, SELECTORS["drive"]))
    course = load_course(long_straight())
    speed = simulate(f"stock+{motor}", course, commands, laps=1, control_ms=10, profile=_FREE_OF_LIMITS)["v"]
    commands[int(np.argmax(speed > 4.1)) :] = duty, selector
    speed = simulate(f"stock+{motor}", course, commands, laps=1, control_ms=10, profile=_FREE_OF_LIMITS)["v"]
    top = int(np.argmax(speed))
    first, last = (top + int(np.argmax(speed[top:] < v)) for v in (4.0, 2.5))
    return float((speed[first] - speed[last]) / ((last - first) * 0.01))


def decelerations() -> Iterator[Figure]:
    """Coasting, short-circuit brake and reverse."""
    for motor in ("normal", "torque_tuned"):
        yield Figure(
            f"coasting, {motor}",
            "m/s2",
            "0.8-2.1",
            0.8,
            2.1,
            deceleration(motor, 0.0, SELECTORS["free"]),
            _MODEL,
            FORMULA,
        )
        yield Figure(
            f"short brake, {motor}",
            "m/s2",
            "3.3-5.2",
            3.3,
            5.2,
            deceleration(motor, 0.0, SELECTORS["brake"]),
            _MODEL,
            FORMULA,
        )
        yield Figure(
            f"reverse, {motor}",
            "m/s2",
            "about 5.2 (grip)",
            4.94,
            5.46,
            deceleration(motor, -1.0, SELECTORS["drive"]),
            _MODEL,
            FORMULA,
        )


@compiled()
def _fly(states, params, speed, angle):
    s, p = states[0], params[0]
    reset(s, p)
    s.sensor[0, LINK_TIMEOUT] = 1e9  # coasts without a command
    s.airborne[0] = 1
    sine, cosine = sincos(angle)
    s.v[0] = speed * cosine
    s.vz[0] = speed * sine
    s.w[0] = speed
    s.pitch[0] = angle
    while s.airborne[0] != 0 and s.vz[0] <= speed * sine and s.cause[0] == 0 and s.knock_z[0] == 0.0:
        drive(s, p, 0, 1)
    return s.progress[0]


def jump_length(speed: float) -> float:
    """Length of a jump that leaves the road at 12 degrees and lands at the same height, m."""
    rules = GAME.ruleset(course=long_straight(), randomise="none", lane=1)
    return float(_fly(rules.zeros(), rules.params, speed, math.radians(12.0)))


def jumps() -> Iterator[Figure]:
    """Jump lengths at 3, 5 and 7 m/s; two per cent for the substep and the published rounding."""
    for speed, length in ((3.0, 0.37), (5.0, 1.04), (7.0, 2.03)):
        yield Figure(
            f"jump at {speed:g} m/s", "m", f"{length}", 0.98 * length, 1.02 * length, jump_length(speed), _JUMP, FORMULA
        )


@compiled()
def _circle(states, params, offset, tread, speed):
    s, p = states[0], params[0]
    reset(s, p)
    s.sensor[0, LINK_TIMEOUT] = 1e9  # coasts without a command
    s.car[0, ROLLER_OFFSET] = offset
    s.car[0, TREAD] = tread
    s.car[0, GRIP] = 0.0
    for _ in range(5000):
        s.v[0] = speed
        s.w[0] = speed
        drive(s, p, 0, 1)
        if s.cause[0] != 0:
            return True
    return False


def corner_limit(lane: int, tread: float, offset: float = 0.010) -> float:
    """Greatest steady speed of a car in a circle of junior corners, m/s. Lane 0 is the inner one, 1 the middle."""
    circle = {"name": "circle", "system": "junior", "segments": [{"kind": "start", "length": 0.05}, {"kind": "corner", "count": 4},
              {"kind": "straight", "length": 0.05}, {"kind": "corner", "count": 4}]}  # fmt: skip
    rules = GAME.ruleset(course=circle, randomise="none", lane=lane, max_seconds=60)
    low, high = 2.0, 8.0
    for _ in range(12):
        middle = 0.5 * (low + high)
        if _circle(rules.zeros(), rules.params, offset, tread, middle):
            high = middle
        else:
            low = middle
    return low


def corners() -> Iterator[Figure]:
    """Corner speeds at the climb limit for the ends of the range of treads."""
    for lane, radius, low, high in ((1, "0.54", 4.0, 4.2), (0, "0.42", 3.5, 3.7)):
        for tread in (0.060, 0.067):
            ours = corner_limit(lane, tread)
            yield Figure(
                f"corner limit, R {radius} m, tread {tread * 1000:g} mm",
                "m/s",
                f"{low}-{high}",
                low - 0.05,
                high + 0.05,
                ours,
                _TIP,
                FORMULA,
            )


def _speed(car: str, course: str | dict[str, Any], duties: np.ndarray, **parameters: Any) -> np.ndarray:
    return simulate(car, course, duties, **parameters)["v"]


def driven(controller: str, course: str, car: str) -> tuple[np.ndarray, np.ndarray]:
    """A controller's runs of a nominal car, one from each lane: duties `(n,)` and the states before them `(n,)`."""
    duties, passed = [], []
    for lane in range(load_course(course).lanes):
        ruleset = GAME.ruleset(randomise="none", lane=lane, tachometer=True, course=course, car=car)
        agent = make_agent(GAME, controller)
        agent.reset(ruleset, 0, lane)
        state = states.new_state(ruleset, lane)
        while not states.is_over(state):
            action = agent.act(states.view_of(ruleset, state, 0), np.zeros(0, np.int8))
            duties.append(float(action[0]))
            passed.append(state.copy())
            state = states.step(ruleset, state, action)
    return np.array(duties), np.array(passed)


def _begins(condition: np.ndarray) -> np.ndarray:
    """Indices at which a condition `(n,)` begins to hold."""
    return np.flatnonzero(condition & ~np.concatenate([[False], condition[:-1]]))


def controllers_at_work() -> Iterator[Figure]:
    """Whether the controllers that react to what they sense do so where the papers say: three runs each, one from each lane."""
    source = f"{_GAT}: Orihara"
    duties, passed = driven("pseudo_speed:duty=0.9", "junior_hill", "dash")
    speed, pulses = passed["v"][:, 0], _begins(duties < 0)
    taken = [float(speed[at] - speed[at : at + 6].min()) for at in pulses]
    for name, unit, published, low, high, ours in (
        ("reverse pulses a lap", "", "reverses once a certain speed is reached", 1.0, 8.0, len(pulses) / 9),
        ("speed as a pulse begins over the mean", "", "once a certain speed is reached", 1.02, 1.5, speed[pulses].mean() / speed.mean()),
        ("speed that a pulse of 60 ms takes", "m/s", "slows down", 0.1, 0.12 * _GRIP, np.mean(taken)),
    ):  # fmt: skip
        yield Figure(f"pseudo-speed, duty 0.9: {name}", unit, published, low, high, float(ours), source, OBSERVED)
    source, says = f"{_GAT}: Satose", "slows down on upward slopes"
    for car in ("stock", "dash"):
        duties, passed = driven("slope", "junior_hill", car)
        kinds, slow = passed["kind"][:, 0], _begins(duties < 0.75)
        hills = _begins(kinds == KINDS.index("slope_up"))
        seen = [bool(np.any((slow >= at) & (slow < at + _REACT))) for at in hills]
        yield Figure(
            f"slope control, {car}: share of the hills at which it slows down", "", says, 0.5, 1.0, float(np.mean(seen)),
            source, OBSERVED,
        )  # fmt: skip
        duties, _ = driven("slope", "home_oval", car)
        yield Figure(
            f"slope control, {car}: share of the time that it is slow on a course without slopes", "", says, 0.0, 0.25,
            float(np.mean(duties < 0.75)), source, OBSERVED,
        )  # fmt: skip


def _first(condition: np.ndarray) -> float:
    """Index at which a condition `(n,)` first holds, NaN if it never does."""
    return float(np.argmax(condition)) if np.any(condition) else math.nan


def on_and_off(car: Any) -> Iterator[Figure]:
    """Kozu's first test: 5 s on, 5 s off, again and again; its car stands in between, which does not end this run."""
    source = f"{_GAT}: Kozu"
    cycle = np.column_stack([np.repeat([1.0, 0.0], 250), np.repeat([SELECTORS["drive"], SELECTORS["free"]], 250)])
    log = simulate(
        car,
        "home_oval",
        np.tile(cycle, (_PULSES, 1)),
        laps=100,
        stand_seconds=60.0,
        max_seconds=60.0,
        profile=_FREE_OF_LIMITS,
    )
    whole = np.full(500 * _PULSES + 1, math.nan)  # a car that has left the course neither runs nor comes to a stop
    whole[: len(log["v"])] = log["v"]
    speed = whole[1:].reshape(_PULSES, 500)
    at_top = speed[:, 200:250].mean(1) / np.maximum(speed[:, 150:200].mean(1), 0.01)
    rolls = [_first(off < 0.1 * on) * 0.02 for on, off in zip(speed[:, 249], speed[:, 250:], strict=True)]
    fastest = 0.9 * float(speed[0, 249]) / _GRIP
    for name, unit, says, low, high, ours in (
        ("5 s on: mean speed at 4-5 s over that at 3-4 s, furthest from 1", "", "runs at its top speed", 0.98, 1.02, at_top[np.argmax(np.abs(at_top - 1))]),
        ("5 s off: until it rolls at a tenth of its speed, shortest (the tyres' grip would stop it in the range's low end)", "s", "gradually comes to a stop", 1.25 * fastest, 5.0, np.min(rolls)),
        ("5 s off: times that it stands at the end", f"of {_PULSES}", "comes to a stop", _PULSES, _PULSES, np.sum(speed[:, -1] < 0.02)),
    ):  # fmt: skip
        yield Figure(name, unit, says, low, high, float(ours), source, OBSERVED)


def downhill(car: Any) -> Figure:
    """Ratio of the speeds at the end and at the start of the way down, at half duty."""
    log = simulate(car, "junior_hill", np.full(1500, 0.5), lane=0, laps=1, profile=_FREE_OF_LIMITS)
    down = log["v"][log["kind"] == KINDS.index("slope_down")]
    gained = float(down[-1] / down[0]) if len(down) else math.nan  # a car that never came there has no figure
    return Figure(
        "speed at the foot of a downhill over that at its top", "", "cars gain speed downhill", 1.1, 2.0, gained,
        f"{_GAT}: Satose", OBSERVED,
    )  # fmt: skip


def observations(car: Any = "stock+torque_tuned", electronics: Any = "atmega328p") -> Iterator[Figure]:
    """Figures of the cars in the papers of GAT 2016 beside ours, of a car with these electronics (a profile).

    The ranges: a ratio that must be seen by a program lies well above 1; a deceleration lies below what the tyres hold.
    """
    yield from on_and_off(car)
    full, slow = (
        _speed(car, "home_oval", np.full(400, duty), laps=20, profile=_FREE_OF_LIMITS)[-100:].mean()
        for duty in (1.0, 0.2)
    )
    yield Figure(
        "2 ms on, 8 ms off: speed over that at full power", "", "runs, and slowly", 0.05, 0.33, float(slow / full),
        f"{_GAT}: Kozu", OBSERVED,
    )  # fmt: skip
    begin = np.full((60, 2), (1.0, SELECTORS["drive"]))
    lost = {}
    for name, duty, selector in (("motor off", 0.0, SELECTORS["free"]), ("reverse", -1.0, SELECTORS["drive"])):
        after = np.full((5, 2), (duty, selector))
        speed = _speed(car, long_straight(), np.concatenate([begin, after]), laps=1)
        lost[name] = float(speed[60] - speed[65])
    yield Figure(
        "speed lost in 100 ms, reversed over motor off", "", "cutting the motor alone is often too slow", 2.0, 6.5,
        lost["reverse"] / lost["motor off"], f"{_GAT}: Orihara", OBSERVED,
    )  # fmt: skip
    times = [
        simulate(load_car(car).with_values(voltage=volts), "junior", np.full(1500, 0.7), lane=0).finish_time or math.nan
        for volts in (2.8, 2.4)
    ]
    yield Figure(
        "a recording on worn cells: time over that on fresh ones", "", "wear makes it wrong", 1.05, 1.25, times[1] / times[0],
        f"{_GAT}: Harada", OBSERVED,
    )  # fmt: skip
    yield downhill(car)
    yield from sensed(car, electronics)


def sensed(car: Any, electronics: Any) -> Iterator[Figure]:
    """Whether a threshold on what the gyro says tells an upward slope from the flat, and a corner from a straight.

    A threshold tells two places apart if the readings do not overlap; at twice the reading it can lie well between them.
    """
    log = simulate(car, "junior_hill", np.full(3000, 0.6), lane=0, laps=3, profile=electronics)  # a lap in each lane
    kinds, moves, rate = log["kind"], log["v"] > 1, log["imu"][:, -1, 3:].astype(float)
    nose_up, yaw = -rate[:, 1], np.convolve(np.abs(rate[:, 2]), np.ones(3) / 3, "same")
    up, corner, straight = (kinds == KINDS.index(kind) for kind in ("slope_up", "corner", "straight"))
    hills = [_of(nose_up[at : at + _REACT], 1.0) for at in _begins(up)]
    quiet = np.convolve(~(corner | straight), np.ones(_REACT), "full")[: len(kinds)] == 0  # a car that lands shakes
    for name, says, ours, who in (
        ("greatest rate of the nose up on a hill, least of three, over that on the flat", "a threshold tells a climb", _of(np.array(hills), 0.0) / _of(nose_up[moves & quiet], 1.0), "Ghita"),
        ("filtered yaw rate: 5 % in corners over 95 % on straights", "tells the course's shape", _of(yaw[moves & corner], 0.05) / _of(yaw[moves & straight], 0.95), "Satomi"),
    ):  # fmt: skip
        yield Figure(name, "", says, 2.0, math.inf, float(ours), f"{_GAT}: {who}", OBSERVED)


def _of(values: np.ndarray, share: float) -> float:
    """A quantile, NaN of no values."""
    return float(np.quantile(values, share)) if len(values) else math.nan


_LOGS = "KobaTaii/mini4wd-env-recg, 28 frames of six logs"
_LACKS = {
    "its scatter": "On straights ours agrees, so what is missing shakes the car in curves: the model knows an impact at a curve's entry "
    "and then a smooth fence, without joints. About a dozen of the frames are of curves (as the mean's range tells), too few to fit "
    "such shaking to."
}
_CURVE, _STRAIGHT = 4.0, 2.0
"""Yaw rates, rad/s: faster than the first means a curve, slower than the second a straight."""


def ai_chip_logs() -> Iterator[Figure]:
    """Log of a running AI chip at full duty, beside the car `alkaline` read through the profile `rt_ai_chip`.

    Published: mean or spread of the frames that were read, and the range in which 95 % of bootstrap samples of them lie.
    """
    profile = {"base": "rt_ai_chip", "drop_rate": 0.0, "command_loss": 0.0}
    duties = np.ones(600)
    frames = []
    for lane, seed in itertools.product(range(3), range(30)):  # the sensor is mounted in another way in each
        log = simulate("alkaline", "junior_hill", duties, profile=profile, laps=100, window=1, lane=lane, seed=seed)
        volts = log["voltage"][60:, None]
        frames.append(np.concatenate([log["imu"][60:, -1].astype(float), volts], axis=1))
    data = np.concatenate(frames)
    yaw = np.abs(data[:, 5])
    curve, straight = yaw > _CURVE, yaw < _STRAIGHT
    inward = data[curve, 1] * np.sign(data[curve, 5])
    # Least squares through zero: the acceleration is the radius times the square of the rate.
    radius = float((inward * yaw[curve] ** 2).sum() / (yaw[curve] ** 4).sum() * GRAVITY)
    for name, unit, published, low, high, ours, kind in (
        ("yaw rate in curves, mean", "rad/s", 5.66, 5.14, 6.17, yaw[curve].mean(), FITTED),
        ("acceleration towards the curve's centre, mean", "g", 1.60, 0.69, 2.51, inward.mean(), MEASURED),
        ("its scatter", "g", 1.64, 0.99, 2.11, inward.std(), MEASURED),
        ("radius that both say together", "m", 0.44, 0.23, 0.72, radius, MEASURED),
        ("acceleration ahead in curves, mean", "g", 0.07, -0.33, 0.47, data[curve, 0].mean(), MEASURED),
        ("acceleration ahead, scatter", "g", 0.58, 0.40, 0.73, data[:, 0].std(), FITTED),
        ("acceleration up, scatter", "g", 0.89, 0.63, 1.11, data[:, 2].std(), FITTED),
        ("lateral acceleration on straights, scatter", "g", 0.73, 0.40, 0.96, data[straight, 1].std(), MEASURED),
        ("roll rate, scatter", "rad/s", 0.77, 0.54, 0.98, data[:, 3].std(), FITTED),
        ("pitch rate, scatter", "rad/s", 1.56, 0.76, 2.21, data[:, 4].std(), MEASURED),
        ("bus voltage, mean", "V", 2.38, 2.36, 2.40, data[:, 6].mean(), FITTED),
    ):
        lacks = _LACKS.get(name, "")
        yield Figure(f"AI chip: {name}", unit, f"{published:.2f}", low, high, float(ours), _LOGS, kind, lacks)


def figures() -> Iterator[Figure]:
    """All figures, one by one."""
    yield from lap_times()
    yield lane_changer_exits()
    yield from ai_chip_logs()
    yield from decelerations()
    yield from jumps()
    yield from corners()
    yield from observations()
    yield from controllers_at_work()
