"""`asobiba hil calibrate`: the wizard, from a car on the table to an ensemble of cars, and what the ensemble predicts."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import yaml

from asobiba.baselines.mini4wd.controllers import Controller, blank_sensors, run_many
from asobiba.baselines.mini4wd.hidden import HiddenCar, settings
from asobiba.core import AsobibaError, GameParameterError, make_agent
from asobiba.envs.mini4wd import GAME
from asobiba.envs.mini4wd.car import Car, _parts, load_car
from asobiba.envs.mini4wd.hardware import stand
from asobiba.envs.mini4wd.hardware.calibrate import Posterior, Prior, Section, calibrate
from asobiba.envs.mini4wd.hardware.check import LinkReport, check_link
from asobiba.envs.mini4wd.hardware.codec import make_codec
from asobiba.envs.mini4wd.hardware.emulate import FIRMWARE
from asobiba.envs.mini4wd.hardware.emulation import EmulatedChip, EmulatedTransport
from asobiba.envs.mini4wd.hardware.env import HardwareEnv, parse_axes
from asobiba.envs.mini4wd.hardware.identify import action_at, read_run
from asobiba.envs.mini4wd.hardware.program import CarProgram, SimulatedTransport
from asobiba.envs.mini4wd.hardware.transport import Transport, VirtualClock
from asobiba.envs.mini4wd.profile import Profile, load_profile

SIMULATED = ("sim", "chip")
"""Ports without a car: the program in Python, and the compiled one on an emulated chip, both as fast as they will go."""
POSTERIOR, RANGES, CAR, PROFILE = "posterior.yaml", "ranges.yaml", "car.yaml", "profile.yaml"
BENCH, LAPS = "bench.jsonl", "laps.jsonl"
PHASES: tuple[tuple[float, float, float], ...] = (
    (1.5, 1.0, 0.0), (0.4, 0.0, -0.75), (1.2, 0.75, 0.0), (0.2, 0.0, -0.25), (1.0, 0.9, 0.0), (0.5, 0.4, 0.0),
    (0.8, 1.0, 0.0), (0.6, 0.0, -0.75), (0.9, 0.85, 0.0), (0.15, 0.0, -0.25),
)  # fmt: skip
"""Seconds, duty over the greatest and mode selector of the laps, again and again."""
LOWER = 0.85
"""A car that leaves the course drives again with so much of the duty."""
TRIES = 4
DRIVERS = ("constant:duty=0.5", "constant:duty=0.7", "predict")


class WizardStopped(AsobibaError, RuntimeError):
    """Raised when a step cannot be done."""


class Person(Protocol):
    """The person beside the car, who does by hand what the wizard cannot."""

    def number(self, question: str, default: float, unit: str) -> float:
        """A measured number."""

    def do(self, what: str) -> None:
        """Returns when it is done."""


@dataclass(frozen=True)
class Setup:
    """Settings of a calibration.

    Args:
        port: a serial port, or one of `SIMULATED`.
        out: folder for the logs and the results.
        course, lane: of the laps.
        car, profile: the files to begin with.
        codec, baud: of a serial port; by default the profile's.
        bench: whether the car is put on a stand.
        laps: to be driven.
        most: greatest duty on the course.
        members: of the ensemble.
        seed: of the ensemble, and of a simulated car's sensors.
        hidden: the simulated car; by default the one of the file.
        build: folder of the compiled program and the emulator, for the port "chip".
    """

    port: str
    out: Path
    course: str = "junior"
    lane: int = 1
    car: str = "stock"
    profile: str = "atmega328p"
    codec: str | None = None
    baud: int | None = None
    bench: bool = True
    laps: int = 2
    most: float = 0.7
    members: int = 200
    seed: int = 0
    hidden: HiddenCar | None = None
    build: Path = FIRMWARE
    stop_key: Callable[[], bool] | None = None


@dataclass(frozen=True)
class Calibrated:
    """Results of the wizard.

    Args:
        link: at rest.
        prior, posterior: before and after the runs.
        logs: of the runs.
        most: the duty with which the laps went well.
    """

    link: LinkReport
    prior: Prior
    posterior: Posterior
    logs: tuple[Path, ...]
    most: float


class _Rig:
    """The way to the car: a port, or a simulated car that can be lifted."""

    def __init__(self, setup: Setup, person: Person):
        self.setup, self.person = setup, person
        self.body: stand.LiftableBody | None = None
        if setup.port in SIMULATED:
            if setup.hidden is not None:
                self.body = setup.hidden.body(setup.course, setup.lane, setup.seed)
            else:
                self.body = stand.LiftableBody(
                    setup.seed, parse_axes(load_profile(setup.profile).axes), course=setup.course, car=setup.car, lane=setup.lane,
                    profile=setup.profile, randomise="none",
                )  # fmt: skip

    def _backend(self) -> str | Transport:
        if self.body is None:
            return self.setup.port
        if self.setup.port == "sim":
            program = CarProgram(make_codec(self.body.profile.codec), self.body, self.body.profile)
            return SimulatedTransport(program, VirtualClock(), seed=self.setup.seed)
        emulator, firmware = self.setup.build / "emulator", self.setup.build / "mini4wd.elf"
        if not (emulator.is_file() and firmware.is_file()):
            raise WizardStopped(
                f"{self.setup.build} lacks mini4wd.elf or emulator: make -C firmware/mini4wd all emulator"
            )
        return EmulatedTransport(EmulatedChip(emulator, firmware), self.body)

    def environment(self, what: str, log: Path | None, lifted: bool, laps: int, most: float) -> HardwareEnv:
        """The hardware environment; its reset asks the person to do `what`."""

        def place(message: str) -> None:
            self.person.do(what)
            if self.body is not None:
                self.body.lifted = lifted
                self.body.place(self.setup.seed)

        setup = self.setup
        tachometer = load_profile(setup.profile).values["pulses_per_turn"] > 0
        return HardwareEnv(
            self._backend(), codec=setup.codec, baudrate=setup.baud, log=str(log) if log else None, max_duty=most, place=place,
            course=setup.course, car=setup.car, profile=setup.profile, laps=laps, tachometer=tachometer, stop_key=setup.stop_key,
        )  # fmt: skip


def _run(env: HardwareEnv, plan: Callable[[float], tuple[float, float] | None]) -> dict[str, Any]:
    """Drives a plan to its end; the last step's `info`."""
    try:
        env.reset()
        period, steps = float(env.ruleset.params[0]["control_step"]), 0
        info: dict[str, Any] = {}
        while (action := plan(steps * period)) is not None and "cause" not in info:
            *_, info = env.step(list(action))
            steps += 1
        return info
    finally:
        env.close()


def _at_rest(rig: _Rig) -> LinkReport:
    env = rig.environment("Put the car on level ground. It stays braked.", None, False, 1, 1.0)
    try:
        env.link.open()
        env._place("")  # type: ignore[misc]
        return check_link(env.link, 3.0, env.profile.control_ms / 1000)
    finally:
        env.close()


def _drive_laps(rig: _Rig, log: Path, say: Callable[[str], None]) -> float:
    setup, most, whole = rig.setup, rig.setup.most, sum(length for length, *_ in PHASES)
    where = f"Put the car on the start of {setup.course}, in lane {setup.lane} (0 is the rightmost)."
    for turn in range(TRIES):
        env = rig.environment(where, log, False, setup.laps, 1.0)
        info = _run(env, lambda seconds, most=most: action_at(PHASES, seconds % whole, most))  # type: ignore[misc]
        if info.get("failed"):
            raise WizardStopped(f"the laps failed: {info['cause']}")
        cause = info.get("cause", "the run's time is over")
        out = cause != "finished" or (rig.body is not None and rig.body.cause != "running")
        if not out:
            return most
        if "stop key" in cause:
            raise WizardStopped("the stop key was pressed")
        say(f"after {info.get('progress', 0.0):.1f} m: {cause}; try {turn + 1} of {TRIES} at duty {most:.2f}")
        most *= LOWER
    raise WizardStopped(
        f"the car does not come round {setup.laps} times; begin with a smaller --most than {setup.most:g}"
    )


def _prior(setup: Setup, person: Person, battery: float) -> Prior:
    """The prior of the files, with what is weighed and measured."""
    about = settings()
    within = about["measured"]
    car = load_car(setup.car)
    true = setup.hidden.car.values if setup.hidden is not None else car.values  # what scales and calipers would say
    mass = person.number("Weigh the car with its batteries", 1000 * true["mass"], "g") / 1000
    tyre = person.number("Measure the diameter of a tyre", 1000 * true["tyre_diameter"], "mm") / 1000
    known = {
        "mass": (mass - within["mass"], mass + within["mass"]),
        "tyre_diameter": (tyre - within["tyre_diameter"], tyre + within["tyre_diameter"]),
        "voltage": (battery - within["voltage"], battery + within["voltage"]),
        "gyro_scale": (1 - within["gyro_scale"], 1 + within["gyro_scale"]),
    }
    return Prior.of(car, setup.profile, about["prior"], **known)


def run_wizard(setup: Setup, person: Person, say: Callable[[str], None]) -> Calibrated:
    """The steps from the car on the table to the files.

    Raises:
        WizardStopped: if a step cannot be done.
        AsobibaError: for a link, a log or settings that will not do.
    """
    setup.out.mkdir(parents=True, exist_ok=True)
    rig = _Rig(setup, person)
    say("Step 1 of 4: at rest")
    link = _at_rest(rig)
    say(
        f"battery {link.battery:.2f} V, gyro at rest {', '.join(f'{x:+.2f}' for x in link.rate_mean)} degrees/s, "
        f"lost {link.loss_rate:.1%} of {link.frames} frames"
        + (f", round trip {np.median(link.round_trips):.1f} ms" if len(link.round_trips) else "")
    )
    prior = _prior(setup, person, link.battery)
    sections, logs = [], []
    say(
        "Step 2 of 4: on the stand"
        if setup.bench
        else "Step 2 of 4: left out; motor and friction are told apart less well"
    )
    if setup.bench:
        env = rig.environment(
            "Put the car on a stand, its wheels free in the air, nothing near them: they will turn at full duty.",
            setup.out / BENCH, True, 100, 1.0,
        )  # fmt: skip
        info = _run(env, lambda seconds: action_at(stand.PHASES, seconds))
        if info.get("cause"):
            raise WizardStopped(f"the run on the stand ended early: {info['cause']}")
        logs.append(setup.out / BENCH)
        sections.append(Section(read_run(logs[-1]), setup.lane, stand=True))
    say(f"Step 3 of 4: {setup.laps} laps of {setup.course}")
    most = _drive_laps(rig, setup.out / LAPS, say)
    logs.append(setup.out / LAPS)
    sections.append(Section(read_run(logs[-1]), setup.lane))
    say(f"Step 4 of 4: {setup.members} cars, {len(prior.names)} unknowns each")
    posterior = calibrate(sections, prior, setup.members, setup.seed, say)
    found = Calibrated(link, prior, posterior, tuple(logs), most)
    _write(setup, found)
    return found


def _write(setup: Setup, found: Calibrated) -> None:
    about = {"course": setup.course, "lane": setup.lane, "logs": [log.name for log in found.logs], "seed": setup.seed}
    found.posterior.save(setup.out / POSTERIOR, about)
    car, profile = found.posterior.member(found.posterior.best)
    electronics = {n: float(profile.values[n]) for n in found.prior.names if n in profile.values}
    files = {
        CAR: {**car.as_data(), "name": f"{car.name}_calibrated"},
        PROFILE: {"base": setup.profile, "name": f"{profile.name}_calibrated", **electronics},
        RANGES: found.posterior.ranges(_parts("ranges")["default"]),
    }
    for name, data in files.items():
        (setup.out / name).write_text(yaml.safe_dump(data, sort_keys=False, allow_unicode=True), encoding="utf-8")


def prior_draws(prior: Prior, count: int, seed: int = 0) -> Posterior:
    """Cars drawn from a prior, in the form of a posterior."""
    z = np.random.default_rng(seed).standard_normal((count, len(prior.names)))
    return Posterior(prior, prior.values(z))


def members_of(posterior: Posterior, count: int) -> list[tuple[Car, Profile]]:
    """`count` of its cars, spread evenly over the draws."""
    return [posterior.member(k) for k in np.linspace(0, len(posterior) - 1, min(count, len(posterior))).astype(int)]


def predicted_times(
    controller: str, cars: Sequence[tuple[Car, Profile]], believed: tuple[Car, Profile], course: str, *, laps: int = 3,
    lane: int = -1, seed: int = 0,
) -> np.ndarray:  # fmt: skip
    """Seconds for all laps, NaN where it leaves the course, of a controller in each of these cars.

    Args:
        controller: the agent's text; where it knows a car, that is the `believed` one.
        lane: -1 draws it.

    Raises:
        GameParameterError: for an agent that is no controller.
    """
    agent = make_agent(GAME, controller)
    if not isinstance(agent, Controller):
        raise GameParameterError(
            f"{controller!r} is no controller whose laps can be predicted; take constant, shape, predict, ..."
        )
    shared = {
        "course": course,
        "laps": laps,
        "lane": lane,
        "randomise": "none",
        "tachometer": True,
        "max_seconds": 60.0,
    }
    ours = GAME.ruleset(car=believed[0], profile=believed[1], **shared)
    memory = agent.memory()
    agent.practise(ours, memory, seed)
    params = []
    for car, profile in cars:
        record = ours.params.copy()
        record["car"][0, 0], record["sensor"][0] = car.vector, profile.vector()
        params.append(record)
    finals = run_many(
        ours, np.repeat(memory, len(cars)), seed + np.arange(len(cars)), params=np.concatenate(params),
        models=np.repeat(blank_sensors(ours), len(cars)), course=np.arange(len(cars)),
    )  # fmt: skip
    times = finals["finish_time"][:, 0]
    return np.where(times > 0, times, np.nan)


def predictions(
    found: Calibrated, course: str, drivers: Sequence[str], laps: int = 3, count: int = 100
) -> list[tuple[str, str, str]]:
    """Of each driver what the prior and what the posterior predict."""
    prior = prior_draws(found.prior, count)
    known = load_car(found.prior.car), found.prior.profile
    best = found.posterior.member(found.posterior.best)
    return [
        (
            driver, spread(predicted_times(driver, members_of(prior, count), known, course, laps=laps), laps),
            spread(predicted_times(driver, members_of(found.posterior, count), best, course, laps=laps), laps),
        )
        for driver in drivers
    ]  # fmt: skip


def spread(seconds: np.ndarray, laps: int) -> str:
    """A distribution of lap times in words."""
    done = seconds[np.isfinite(seconds)] / laps
    if len(done) < 2:
        return f"{len(done)} of {len(seconds)} finish"
    low, middle, high = np.quantile(done, [0.05, 0.5, 0.95])
    return f"{middle:.2f} s ({low:.2f} to {high:.2f}), {len(done) / len(seconds):.0%} finish"


def interval_holds(seconds: np.ndarray, true: float) -> bool:
    """Whether a number lies within the middle 90 % of a prediction."""
    done = seconds[np.isfinite(seconds)]
    if len(done) < 2 or math.isnan(true):
        return False
    low, high = np.quantile(done, [0.05, 0.95])
    return bool(low <= true <= high)
