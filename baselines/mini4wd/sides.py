"""The same controllers on both sides: in the simulated game, and through the hardware environment and a car's real codec.

On the second side the simulator's physics is a body without any link: commands and telemetry pass the codec's bytes and
the car's program (in Python, or the compiled one on an emulated chip), with the delays and losses of the profile. Whether
and when a run has finished is judged by the physics on both sides.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import norm

from asobiba.baselines.mini4wd.controllers import Controller, SensingController
from asobiba.baselines.mini4wd.table import drive_all
from asobiba.core import Agent, Ruleset, make_agent
from asobiba.envs.mini4wd import GAME
from asobiba.envs.mini4wd.hardware.body import SimulatedBody
from asobiba.envs.mini4wd.hardware.env import HardwareEnv
from asobiba.envs.mini4wd.hardware.transport import Transport, VirtualClock
from asobiba.envs.mini4wd.layout import view_of_observation
from asobiba.envs.mini4wd.profile import load_profile

_NO_MASK = np.zeros(0, np.int8)
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Side:
    """Runs of a controller on one side: the seconds for all laps of each, NaN where it did not finish."""

    seconds: np.ndarray

    @property
    def runs(self) -> int:
        """Number of runs."""
        return len(self.seconds)

    @property
    def finished(self) -> int:
        """Number of runs that reached the finish."""
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
    """Runs to be driven.

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


def difference(first: Side, second: Side) -> tuple[float, float]:
    """Mean seconds by which the same cars take longer on the second side, and half its 95 % interval; NaN where fewer than
    two finished on both."""
    both = second.seconds - first.seconds
    return Side(both).time if np.isfinite(both).sum() > 1 else (math.nan, math.nan)


def drivers(setting: Setting) -> list[str]:
    """The agents that can drive such a car."""
    from asobiba.baselines.mini4wd import AGENTS, learned

    names = [declaration.name for declaration in AGENTS["mini4wd"]]
    blind = not setting.parameters["tachometer"]
    trained = {"ppo_junior_hill": learned.POLICY}
    return [
        n for n in names if not (n in ("localise", *trained) and blind) and (n not in trained or trained[n].exists())
    ]


def simulated(controller: str, setting: Setting, runs: int, seed: int = 0) -> Side:
    """Runs of a controller in the simulated game; seeds from `seed` on."""
    ruleset = GAME.ruleset(**setting.parameters, laps=setting.laps)
    times = drive_all(controller, ruleset, runs, seed)["finish_time"][:, 0]
    return Side(np.where(times > 0, times, np.nan))


def through_the_link(
    controller: str,
    setting: Setting,
    runs: int,
    seed: int = 0,
    join: Callable[[SimulatedBody], Transport] | None = None,
    progress: Callable[[int], None] = lambda runs: None,
    body: SimulatedBody | None = None,
) -> Side:
    """Runs of a controller in the hardware environment.

    Args:
        seed: of the first run's car; another is drawn for each.
        join: the way to a car with this body; by default the car's program in Python, in its real codec.
        progress: called with 1 after every run.
        body: with `join`, another car than the setting's, which the controller does not know.
    """
    parameters = {**setting.parameters, "laps": setting.laps + 2}  # the end is judged here, not by the car's sensors
    if join is None:
        env = HardwareEnv("sim", clock=VirtualClock(), **parameters)
        body = env._body
    else:
        body = SimulatedBody(**setting.parameters) if body is None else body
        env = HardwareEnv(join(body), place=lambda message: None, **parameters)
    agent = make_agent(GAME, controller)
    agent.reset(env.ruleset, 0, seed)
    fresh = _prepared(agent, env.ruleset, seed)
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


def _prepared(agent: Agent, ruleset: Ruleset, seed: int) -> Callable[[], None]:
    """A function that sets a prepared agent back to its beginning, without its practice all over again."""
    if isinstance(agent, SensingController) or not isinstance(agent, Controller):
        return lambda: agent.reset(ruleset, 0, seed)
    memory, replicas = agent._memory.copy(), agent._replicas.copy()

    def fresh() -> None:
        agent._memory[:] = memory
        agent._replicas[:] = replicas

    return fresh


class Kept:
    """The seconds of finished rows in a file of JSON lines, so that a long table can be broken off and taken up again.

    Args:
        setting, seed, runs: of the table; rows of another one in the file are passed over.
        path: the file; `None` keeps nothing.
    """

    def __init__(self, setting: Setting, seed: int, runs: int, path: Path | None):
        self._about = json.loads(json.dumps([asdict(setting), seed, runs]))
        self._path = path
        self.rows: dict[str, tuple[Side, Side]] = {}
        if path is None or not path.exists():
            return
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                about, controller, *sides = json.loads(line)
                if about == self._about:
                    first, second = (
                        Side(np.array([math.nan if t is None else t for t in side], float)) for side in sides
                    )
                    self.rows[controller] = first, second
            except (ValueError, TypeError):
                continue  # a line that was cut off when the run was killed

    def keep(self, controller: str, first: Side, second: Side) -> None:
        """Adds a row."""
        self.rows[controller] = first, second
        if self._path is not None:
            sides = [[None if math.isnan(t) else float(t) for t in side.seconds] for side in (first, second)]
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps([self._about, controller, *sides]) + "\n")


HEADING = (
    "controller",
    "runs",
    "finished, simulator",
    "finished, link",
    "time, simulator, s",
    "time, link, s",
    "same car, link longer by, s",
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

    longer = "{:+.3f} ± {:.3f}".format(*difference(first, second)) if first.runs == second.runs else ""
    return (
        controller, str(second.runs), rate(first), rate(second), time(first), time(second), longer,
        "yes" if agree(first, second) else "no",
    )  # fmt: skip


def page(tables: Sequence[tuple[Setting, Sequence[tuple[str, ...]]]], command: str) -> str:
    """The tables, one for each profile, as Markdown; the settings differ in their profile alone."""
    setting = tables[0][0]
    lines = [
        "# Mini 4WD: the controllers on both sides",
        "",
        f"Written by `{command}`.",
        "",
        f"Course `{setting.course}`, nominal car `{setting.car}`, ranges `{setting.randomise}`, {setting.laps} laps from rest. "
        "Simulator: the game `mini4wd`. Link: `asobiba/Mini4WDHardware-v1`, the same physics "
        "behind the car's program and its codec, bytes, delays and losses included. Each run has another car, the same ones on both "
        "sides; what the sensors' noise is in a run differs. Shares and means with their 95 % intervals (Wilson; normal); the "
        "sides agree where the intervals of both overlap. The last figure but one is a mean over the cars that finished on both. "
        "Controllers that need the tachometer do not drive the profile `rt_ai_chip`, which has none, and the trained policy no "
        "period but its own.",
    ]
    for each, rows in tables:
        profile = load_profile(each.profile)
        lines += [
            "",
            f"## Profile `{each.profile}`: {profile.title}",
            "",
            f"| {' | '.join(HEADING)} |",
            f"|---|{'--:|' * (len(HEADING) - 1)}",
            *(f"| {' | '.join(cells)} |" for cells in rows),
        ]
        if left_out := [name for name in drivers(each) if name not in {cells[0] for cells in rows}]:
            lines += ["", f"Not driven with this profile yet: {', '.join(left_out)}."]
    return "\n".join(lines) + "\n"
