"""The same controllers on both sides: in the simulated game, and through the hardware environment and a car's real codec.

On the second side the simulator's physics is a body without any link: commands and telemetry pass the codec's bytes and
the car's program (in Python, or the compiled one on an emulated chip), with the delays and losses of the profile. Whether
and when a run has finished is judged by the physics on both sides.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import norm

from asobiba.baselines.mini4wd.controllers import Controller, run_many
from asobiba.core import Agent, make_agent
from asobiba.core import states as one
from asobiba.envs.mini4wd import GAME
from asobiba.envs.mini4wd.hardware.body import SimulatedBody
from asobiba.envs.mini4wd.hardware.env import HardwareEnv
from asobiba.envs.mini4wd.hardware.transport import Transport, VirtualClock
from asobiba.envs.mini4wd.layout import view_of_observation

_NO_MASK = np.zeros(0, np.int8)
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Side:
    """What a controller did on one side: for each run the seconds for all laps, NaN where it did not finish."""

    seconds: np.ndarray

    @property
    def runs(self) -> int:
        """How many."""
        return len(self.seconds)

    @property
    def finished(self) -> int:
        """How many reached the finish."""
        return int(np.isfinite(self.seconds).sum())

    @property
    def rate(self) -> tuple[float, float, float]:
        """Share of runs that finished, and its 95 % interval (Wilson)."""
        return wilson(self.finished, self.runs)

    @property
    def time(self) -> tuple[float, float]:
        """Mean seconds of the runs that finished, and half its 95 % interval."""
        done = self.seconds[np.isfinite(self.seconds)]
        if len(done) < 2:
            return (float(done.mean()) if len(done) else math.nan, math.nan)
        return float(done.mean()), float(norm.ppf(0.5 + CONFIDENCE / 2) * done.std(ddof=1) / math.sqrt(len(done)))


def wilson(hits: int, runs: int) -> tuple[float, float, float]:
    """A share and its 95 % interval (Wilson 1927)."""
    z = float(norm.ppf(0.5 + CONFIDENCE / 2))
    share = hits / runs
    middle = (share + z * z / (2 * runs)) / (1 + z * z / runs)
    half = z / (1 + z * z / runs) * math.sqrt(share * (1 - share) / runs + z * z / (4 * runs * runs))
    return share, max(middle - half, 0.0), min(middle + half, 1.0)


def agree(first: Side, second: Side) -> bool:
    """Whether the sides' finishing rates and times are within their intervals of each other."""
    _, low_first, high_first = first.rate
    _, low_second, high_second = second.rate
    rates = low_first <= high_second and low_second <= high_first
    mean_first, half_first = first.time
    mean_second, half_second = second.time
    if not all(map(math.isfinite, (half_first, half_second))):
        return rates
    return rates and abs(mean_first - mean_second) <= half_first + half_second


@dataclass(frozen=True)
class Setting:
    """What is driven.

    Args:
        course, car, randomise, laps: as in the game; the car is drawn anew for every run.
        profile: the car's electronics.
        others: more parameters of the game, such as `window`, for a policy that was trained with them.
    """

    course: str = "junior_hill"
    car: str = "dash"
    randomise: str = "default"
    laps: int = 3
    profile: str = "atmega328p"
    others: tuple[tuple[str, Any], ...] = ()

    @property
    def parameters(self) -> dict[str, Any]:
        """Of the game."""
        return {
            "course": self.course, "car": self.car, "randomise": self.randomise, "profile": self.profile,
            "tachometer": self.profile != "rt_ai_chip", **dict(self.others),
        }  # fmt: skip


def simulated(controller: str, setting: Setting, runs: int, seed: int = 0) -> Side:
    """Runs of a controller in the simulated game; seeds from `seed` on."""
    ruleset = GAME.ruleset(**setting.parameters, laps=setting.laps)
    agent = make_agent(GAME, controller)
    if isinstance(agent, Controller):
        memory = agent.memory()
        agent.practise(ruleset, memory, seed)
        states = run_many(ruleset, np.repeat(memory, runs), seed + np.arange(runs))
        times = states["finish_time"][:, 0]
    else:
        times = np.zeros(runs)
        for k in range(runs):
            agent.reset(ruleset, 0, seed + k)
            state = one.new_state(ruleset, seed + k)
            while not one.is_over(state):
                state = one.step(ruleset, state, agent.act(one.view_of(ruleset, state, 0), _NO_MASK))
            times[k] = state["finish_time"][0]
    return Side(np.where(times > 0, times, np.nan))


def through_the_link(
    controller: str,
    setting: Setting,
    runs: int,
    seed: int = 0,
    join: Callable[[SimulatedBody], Transport] | None = None,
    progress: Callable[[int], None] = lambda runs: None,
) -> Side:
    """Runs of a controller in the hardware environment.

    Args:
        seed: of the first run's car; another is drawn for each.
        join: the way to a car with this body; by default the car's program in Python, in its real codec.
        progress: called with 1 after every run.
    """
    parameters = {**setting.parameters, "laps": setting.laps + 2}  # the end is judged here, not by the car's sensors
    if join is None:
        env = HardwareEnv("sim", clock=VirtualClock(), **parameters)
        body = env._body
    else:
        body = SimulatedBody(**setting.parameters)
        env = HardwareEnv(join(body), place=lambda message: None, **parameters)
    agent = make_agent(GAME, controller)
    agent.reset(env.ruleset, 0, seed)
    fresh = _prepared(agent)
    whole = setting.laps * float(env.ruleset.params["lap_length"][0])
    seconds = np.full(runs, np.nan)
    try:
        for k in range(runs):
            if join is not None:
                body.place(seed + k)
            fresh()
            observation, _ = env.reset(seed=seed + k)
            begun, before, over = env.link.transport.now(), 0.0, False
            while not over and body.cause == "running":
                action = agent.act(view_of_observation(env.ruleset, observation), _NO_MASK)
                before = body.progress
                observation, *_, terminated, truncated, _ = env.step(action)
                over = terminated or truncated
                if body.progress >= whole:
                    share = (body.progress - whole) / max(body.progress - before, 1e-9)
                    period = float(env.ruleset.params["control_step"][0])
                    seconds[k] = env.link.transport.now() - begun - share * period
                    break
            env.link.brake()
            progress(1)
    finally:
        env.close()
    return Side(seconds)


def _prepared(agent: Agent) -> Callable[[], None]:
    """A function that sets a prepared agent back to its beginning, without its practice all over again."""
    if not isinstance(agent, Controller):
        return lambda: agent.reset(agent._ruleset, 0, 0)  # type: ignore[attr-defined]
    memory = agent._memory.copy()

    def fresh() -> None:
        agent._memory[:] = memory

    return fresh


HEADING = (
    "controller",
    "runs",
    "finished, simulator",
    "finished, link",
    "time, simulator, s",
    "time, link, s",
    "agree",
)


def row(controller: str, first: Side, second: Side) -> tuple[str, ...]:
    """A row of the table."""

    def rate(side: Side) -> str:
        share, low, high = side.rate
        return f"{share:.0%} ({low:.0%} to {high:.0%})"

    def time(side: Side) -> str:
        mean, half = side.time
        return f"{mean:.2f} ± {half:.2f}"

    return (
        controller, str(second.runs), rate(first), rate(second), time(first), time(second),
        "yes" if agree(first, second) else "no",
    )  # fmt: skip


def page(rows: Sequence[tuple[str, ...]], setting: Setting, command: str) -> str:
    """The table as Markdown."""
    lines = [
        "# Mini 4WD: the controllers on both sides",
        "",
        f"Written by `{command}`.",
        "",
        f"Course `{setting.course}`, nominal car `{setting.car}`, ranges `{setting.randomise}`, {setting.laps} laps from rest, "
        f"profile `{setting.profile}`. Simulator: the game `mini4wd`. Link: `asobiba/Mini4WDHardware-v1`, the same physics "
        "behind the car's program and its codec, bytes, delays and losses included. Each run has another car. Shares and means "
        "with their 95 % intervals (Wilson; normal); the sides agree where the intervals of both overlap.",
        "",
        f"| {' | '.join(HEADING)} |",
        f"|---|{'--:|' * (len(HEADING) - 1)}",
        *(f"| {' | '.join(cells)} |" for cells in rows),
    ]
    return "\n".join(lines) + "\n"
