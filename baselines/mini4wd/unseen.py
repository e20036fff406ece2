"""Agents on a held-out set of courses and cars, declared in `unseen.yml`: results for every course."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from asobiba.baselines.mini4wd.compare import interval
from asobiba.baselines.mini4wd.sides import Setting, Side, simulated, through_the_link
from asobiba.core import GameParameterError

SET = Path(__file__).parent / "unseen.yml"
SIDES = ("simulator", "link")


@dataclass(frozen=True)
class HeldOut:
    """Courses and cars on which agents are measured.

    Args:
        courses: the named courses.
        generated: `first` and `count` of the courses `random:first` and following.
        cars: nominal cars; every run draws another one from the ranges `randomise`.
        runs: of each car on each course.
        seed: course number `c` has the seeds `seed + c * runs` and following, with every car.
    """

    courses: tuple[str, ...]
    generated: dict[str, int]
    cars: tuple[str, ...]
    randomise: str
    profile: str
    laps: int
    max_seconds: float
    runs: int
    seed: int

    @property
    def names(self) -> list[str]:
        """All courses."""
        first = self.generated["first"]
        return [*self.courses, *(f"random:{k}" for k in range(first, first + self.generated["count"]))]

    def setting(self, course: str, car: str) -> Setting:
        """Of the runs of a car on a course."""
        others = (("max_seconds", self.max_seconds),)
        return Setting(course, car, self.randomise, self.laps, self.profile, others)

    @property
    def cells(self) -> Iterator[tuple[str, str, int]]:
        """Course, car and first seed of all runs."""
        for number, course in enumerate(self.names):
            for car in self.cars:
                yield course, car, self.seed + number * self.runs


def held_out(path: Path = SET) -> HeldOut:
    """Reads a set.

    Raises:
        GameParameterError: for a file with other fields.
    """
    data = yaml.safe_load(path.read_text(encoding="utf-8"))
    try:
        fields: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in data.items()}
        return HeldOut(**fields)
    except TypeError as error:
        raise GameParameterError(f"{path} is no held-out set: {error}") from None


@dataclass
class Measured:
    """Seconds of all runs, kept in a file of JSON lines, so that a long measurement can be broken off and taken up again.

    Args:
        held: the set; lines of another one in the file are passed over.
        path: the file; `None` keeps nothing.
    """

    held: HeldOut
    path: Path | None = None
    seconds: dict[tuple[str, str, str, str], np.ndarray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._about = json.loads(json.dumps(asdict(self.held)))
        if self.path is None or not self.path.exists():
            return
        for line in self.path.read_text(encoding="utf-8").splitlines():
            try:
                about, key, times = json.loads(line)
            except ValueError:
                continue  # cut off when the run was killed: it is driven again
            if about == self._about:
                self.seconds[tuple(key)] = np.array([math.nan if t is None else t for t in times])

    def drive(self, agent: str, side: str, progress: Callable[[int], None] = lambda runs: None) -> None:
        """Drives what is not there yet; `progress` is called with numbers of runs."""
        run = simulated if side == SIDES[0] else through_the_link
        for course, car, seed in self.held.cells:
            key = (agent, side, course, car)
            if key not in self.seconds:
                times = run(agent, self.held.setting(course, car), self.held.runs, seed).seconds
                self.seconds[key] = times
                if self.path is not None:
                    told = [None if math.isnan(t) else float(t) for t in times]
                    with self.path.open("a", encoding="utf-8") as file:
                        file.write(json.dumps([self._about, key, told]) + "\n")
            progress(self.held.runs)

    def of(self, agent: str, side: str, course: str | None = None, car: str | None = None) -> np.ndarray:
        """Seconds of an agent's runs in the set's order, NaN where it did not finish."""
        chosen = [
            self.seconds[agent, side, one, other]
            for one, other, _ in self.held.cells
            if course in (None, one) and car in (None, other)
        ]
        return np.concatenate(chosen)


def _share(seconds: np.ndarray) -> str:
    share, low, high = Side(seconds).rate
    return f"{share:.1%} ({low:.1%} to {high:.1%})"


def _less(seconds: np.ndarray, last: np.ndarray) -> str:
    """By how much less time than the last agent it needs, in logarithms: a share of the same car's time on the same course."""
    both = np.isfinite(seconds) & np.isfinite(last)
    mean, half = interval(np.log(last[both] / seconds[both]))
    return f"{mean:+.1%} ± {half:.1%}"


def summary(measured: Measured, agents: Sequence[str], sides: Sequence[str]) -> list[list[str]]:
    """Rows: agent, side, car, runs, finished, faster than the last agent."""
    rows = []
    for agent in agents:
        for side in sides:
            for car in (None, *measured.held.cars):
                mine, last = measured.of(agent, side, car=car), measured.of(agents[-1], side, car=car)
                faster = "" if agent == agents[-1] else _less(mine, last)
                rows.append([agent, side, car or "all", str(len(mine)), _share(mine), faster])
    return rows


SUMMARY = ("agent", "side", "car", "runs", "finished", "faster than the last, same car")


def by_course(measured: Measured, agents: Sequence[str], side: str) -> list[list[str]]:
    """Rows: course, and of each agent how many of the runs finished, and their mean lap time in seconds."""
    rows = []
    for course in measured.held.names:
        cells = [course]
        for agent in agents:
            seconds = measured.of(agent, side, course)
            done = np.isfinite(seconds)
            lap = f", {seconds[done].mean() / measured.held.laps:.2f} s" if done.any() else ""
            cells.append(f"{done.sum()} of {len(seconds)}{lap}")
        rows.append(cells)
    return rows


def _table(heading: Sequence[str], rows: Sequence[Sequence[str]], left: int) -> list[str]:
    marks = ["---"] * left + ["--:"] * (len(heading) - left)
    return [f"| {' | '.join(heading)} |", f"|{'|'.join(marks)}|", *(f"| {' | '.join(row)} |" for row in rows)]


def page(measured: Measured, agents: Sequence[str], sides: Sequence[str], command: str) -> str:
    """The page as Markdown."""
    held = measured.held
    last = held.generated["first"] + held.generated["count"] - 1
    lines = [
        "# Mini 4WD: courses that nobody has seen",
        "",
        f"Written by `{command}`.",
        "",
        f"Courses {', '.join(held.courses)} and random:{held.generated['first']} to random:{last}; cars {', '.join(held.cars)}, each drawn "
        f"anew from the ranges `{held.randomise}`, {held.runs} of each on each course; {held.laps} laps from rest, {held.max_seconds:g} s at most, "
        f"profile `{held.profile}`, seeds from {held.seed} (`baselines/mini4wd/unseen.yml`). No policy is trained and no controller tuned "
        "on the generated courses. Simulator: the game; link: the hardware environment with the car's program. 95 % intervals "
        "(Wilson; normal). Faster: the mean logarithm of the last agent's time over this one's, of the cars that finish with both.",
        "",
        *_table(SUMMARY, summary(measured, agents, sides), 3),
    ]
    for side in sides:
        lines += ["", f"## Course by course: {side}", ""]
        lines.append(f"Runs that finished, of {held.runs * len(held.cars)}, and their mean lap.")
        lines += ["", *_table(("course", *agents), by_course(measured, agents, side), 1)]
    return "\n".join(lines) + "\n"


def with_section(text: str, measured: Measured, agents: Sequence[str], sides: Sequence[str], command: str) -> str:
    """A page's text with a section on further agents at its end, in the place of an older one."""
    held = measured.held
    lines = [
        f"{_MORE}{', '.join(agents)}",
        "",
        f"Added by `{command}`: the same runs.",
        "",
        *_table(SUMMARY, summary(measured, agents, sides), 3),
    ]
    runs = held.runs * len(held.cars)
    for side in sides:
        every = [
            sum(bool(np.isfinite(measured.of(agent, side, course)).all()) for course in held.names) for agent in agents
        ]
        told = ", ".join(f"`{agent}` {count}" for agent, count in zip(agents, every, strict=True))
        lines += [
            "",
            f"Courses, of {len(held.names)}, on which all {runs} runs finish ({side}): {told}. Finished runs and mean lap:",
            "",
        ]
        lines += _table(("course", *agents), by_course(measured, agents, side), 1)
    return text.partition(f"\n{_MORE}")[0].rstrip() + "\n\n" + "\n".join(lines) + "\n"


_MORE = "## Further agents: "


def measure(
    agents: Sequence[str], sides: Sequence[str], keep: Path | None, progress: Callable[[int], None], path: Path = SET
) -> Measured:
    """Drives agents over a set on both sides of the link, or on one."""
    measured = Measured(held_out(path), keep)
    for agent in agents:
        for side in sides:
            measured.drive(agent, side, progress)
    return measured


def runs_of(agents: Sequence[str], sides: Sequence[str], path: Path = SET) -> int:
    """The number of runs that `measure` makes."""
    held = held_out(path)
    return len(agents) * len(sides) * len(held.names) * len(held.cars) * held.runs
