"""The table of the controllers: made row by row, kept, and written as Markdown."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from asobiba.baselines.mini4wd.table import POINTS, Plan, Row, Stops, evaluate, evaluate_stops
from asobiba.pages import TextTable

STOPPERS = ("stop",)
"""The controllers of the position match's table."""
STOPS_SEED = 2_000_000


@dataclass
class Results:
    """Rows that are made, kept in a file of JSON lines, so that a long run can be interrupted and resumed.

    Args:
        plan: the runs to drive; rows of another plan in the file are ignored.
        runs: of the position match.
        path: the file; `None` keeps nothing.
    """

    plan: Plan
    runs: int
    path: Path | None = None
    rows: dict[str, Row] = field(default_factory=dict)
    stops: dict[tuple[str, bool], Stops] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.path is None or not self.path.exists():
            return
        for line in self.path.read_text(encoding="utf-8").splitlines():
            try:
                entry = json.loads(line)
                if entry.get("plan") == asdict(self.plan):
                    row = Row(**entry["row"])
                    self.rows[row.controller] = row
                elif entry.get("runs") == self.runs:
                    stops = Stops(**entry["stops"])
                    self.stops[stops.controller, stops.tachometer] = stops
            except (ValueError, KeyError, TypeError):
                continue  # a line that was cut off when the run was killed: its row is made again

    def drive(self, controller: str, progress: Callable[[int], None]) -> None:
        """Makes a controller's row, unless it is there; `progress` is called with numbers of courses."""
        if controller in self.rows:
            progress(self.plan.courses)
            return
        self.rows[controller] = row = evaluate(controller, self.plan, progress)
        self._keep({"plan": asdict(self.plan), "row": asdict(row)})

    def stop(self, controller: str, tachometer: bool, progress: Callable[[int], None]) -> None:
        """Makes a row of the position match, unless it is there; `progress` is called with numbers of runs."""
        if (controller, tachometer) in self.stops:
            progress(self.runs)
            return
        stops = evaluate_stops(controller, tachometer, self.runs, STOPS_SEED, progress)
        self.stops[controller, tachometer] = stops
        self._keep({"runs": self.runs, "stops": asdict(stops)})

    def _keep(self, entry: dict) -> None:
        if self.path is not None:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(entry) + "\n")


_CAUSES = ("lane changer", "landing", "corner", "stopped")


def laps_table(rows: Sequence[Row]) -> TextTable:
    """The controllers in order of their points."""
    columns = ("controller", "points", "lap, s", "m/s", "out", *_CAUSES, "time up", "J/m")
    ranked = sorted(rows, key=lambda row: -row.points)
    return TextTable(
        columns,
        [
            (
                r.controller, f"{r.points:.3f} ± {r.error:.3f}", f"{r.lap_time:.2f}", f"{r.speed:.2f}",
                f"{r.out:.1%}", *(f"{r.causes[name]:.1%}" for name in _CAUSES), f"{r.unfinished:.1%}", f"{r.energy:.2f}",
            )
            for r in ranked
        ],
        figures=True,
    )  # fmt: skip


def stops_table(stops: Sequence[Stops]) -> TextTable:
    """The table of stopping distances to the mark of the controllers of the position match."""
    columns = ("controller", "tachometer", "runs", "stopped", "mean, m", "median, m", "contest score, m")
    return TextTable(
        columns,
        [
            (
                s.controller, "yes" if s.tachometer else "no", f"{s.runs}", f"{s.stopped:.1%}", f"{s.mean:.3f}",
                f"{s.median:.3f}", f"{s.contest:.3f}",
            )
            for s in stops
        ],
        figures=True,
    )  # fmt: skip


def notes(plan: Plan) -> str:
    """Explanation of the figures of the laps."""
    last = plan.first + plan.courses - 1
    return (
        f"Courses random:{plan.first} to random:{last}, {plan.cars} cars each (nominal car `{plan.car}`, ranges "
        f"`{plan.randomise}`, seeds from {plan.seed}), three laps from rest, with tachometer. Points of a run, by which "
        f"the league ranks: {POINTS}; the mean of all runs and its standard error over the courses. Lap time and speed: "
        "runs that finished. Out: left the course, by cause, or stood still for 3 s. J/m: energy from the battery for "
        "each metre, all runs. `sequence` is the paper's 5 s on and 5 s off: it stands within the 5 s. The defaults of the controllers were tuned on random:0 to random:19. `localise` practises "
        "on each course before, 24 rounds of 12 other cars; `playback` is taught there by `shape` with the nominal car; "
        "`predict` knows the course, and with `identified=true`, as the upper reference, the very car of each run."
    )


def stops_notes() -> str:
    """Explanation of the figures of the position match."""
    return (
        "Junior Circuit, randomised stock cars, marks at 3 to 15 m: how far from the mark a car stands that has stopped. "
        "Contest score: of five runs the best and the worst are dropped, the other three averaged; the mean of all fives."
    )


def markdown(results: Results, command: str) -> str:
    """The page."""
    parts = [
        "# Mini 4WD: the controllers",
        f"Written by `{command}`.",
        "## Time attack on random courses",
        notes(results.plan),
        laps_table(list(results.rows.values())).markdown(),
    ]
    if results.stops:
        parts += ["## Position match", stops_notes(), stops_table(list(results.stops.values())).markdown()]
    return "\n\n".join(parts) + "\n"
