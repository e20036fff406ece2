"""`asobiba hil calibrate`, `report` and `calibration-page`: from a car on the table to what it will drive."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

app = typer.Typer()


class _Terminal:
    """Asks a person at the terminal; with `yes` takes every default and asks nothing."""

    def __init__(self, yes: bool, answers: dict[str, float | None], wait: Callable[[str], None] | None):
        self._yes, self._answers, self._wait = yes, answers, wait

    def number(self, question: str, default: float, unit: str) -> float:
        """A flag's number, the default with `yes`, or what is typed."""
        given = self._answers.get(unit)
        if given is not None or self._yes:
            value = default if given is None else given
            typer.echo(f"{question}: {value:g} {unit}")
            return value
        return float(typer.prompt(f"{question}, {unit}", default=round(default, 3), type=float))

    def do(self, what: str) -> None:
        """Says it, and waits for Enter, or for the dead-man key of a car that will drive."""
        typer.echo(f"> {what}")
        if self._yes:
            return
        if self._wait is not None:
            self._wait(what)
        else:
            typer.prompt("Enter when it is done", default="", show_default=False)


@contextlib.contextmanager
def _person(
    port: str, yes: bool, held: bool | None, answers: dict[str, float | None]
) -> Iterator[tuple[_Terminal, Callable[[], bool] | None]]:
    """The terminal that is asked, and the stop key; a real car has a dead-man key as in `hil record`."""
    from asobiba.baselines.mini4wd.calibration import SIMULATED
    from asobiba.baselines.mini4wd.person import dead_man_of
    from asobiba.envs.mini4wd.hardware.keys import Keys

    if port in SIMULATED:
        yield _Terminal(yes, answers, None), None
        return
    # The scales come first: the stop key takes the terminal.
    given = {unit: _typed(question, value, yes) for question, unit, value in _questions(answers)}
    with Keys() as keys:
        dead_man = dead_man_of(port, keys, held)
        wait = None if yes and dead_man is None else _waiting(keys, dead_man)
        yield _Terminal(wait is None, given, wait), dead_man or keys


def _questions(answers: dict[str, float | None]) -> list[tuple[str, str, float | None]]:
    return [
        ("Weigh the car with its batteries", "g", answers["g"]),
        ("Measure the diameter of a tyre", "mm", answers["mm"]),
    ]


def _typed(question: str, value: float | None, yes: bool) -> float | None:
    if value is not None or yes:
        return value
    typed = typer.prompt(f"{question} (Enter: as in the car's file)", default=0.0, show_default=False, type=float)
    return typed or None


def _waiting(keys: Any, dead_man: Any) -> Callable[[str], None]:
    from asobiba.baselines.mini4wd.person import ask_by_key, wait_for

    if dead_man is None:
        return ask_by_key(keys)
    return lambda what: wait_for(dead_man)


@app.command()
def calibrate(
    port: Annotated[
        str,
        typer.Argument(
            help="Serial port, or a car without a car: `sim` (program in Python), `chip` (on an emulated chip)."
        ),
    ],
    out: Annotated[Path, typer.Option(help="Folder for logs, posterior.yaml, car.yaml, profile.yaml, ranges.yaml.")],
    course: Annotated[str, typer.Option(help="The course of the laps.")] = "junior",
    lane: Annotated[int, typer.Option(help="The lane in which they begin, 0 the rightmost.", min=0)] = 1,
    car: Annotated[str, typer.Option(help="The car file to begin with.")] = "stock",
    profile: Annotated[str, typer.Option(help="The car's electronics.")] = "atmega328p",
    codec: Annotated[str | None, typer.Option(help="asobiba or aichip; by default the profile's.")] = None,
    baud: Annotated[int | None, typer.Option(help="Bits per second; by default the profile's.", min=1)] = None,
    mass: Annotated[float | None, typer.Option(help="Of the car with batteries, g; asked for if not given.")] = None,
    tyre: Annotated[float | None, typer.Option(help="Diameter of the tyres, mm; asked for if not given.")] = None,
    bench: Annotated[bool, typer.Option(help="Measure on a stand first.")] = True,
    laps: Annotated[int, typer.Option(help="Laps.", min=1, max=20)] = 2,
    most: Annotated[float, typer.Option(help="Greatest duty on the course.", min=0.1, max=1.0)] = 0.7,
    members: Annotated[int, typer.Option(help="Cars of the ensemble.", min=30, max=5000)] = 200,
    seed: Annotated[int, typer.Option(help="Of the ensemble, and of a simulated car's sensors.", min=0)] = 0,
    hidden: Annotated[str, typer.Option(help="With sim or chip: a true car that the wizard does not know.")] = "",
    drivers: Annotated[str, typer.Option(help="Controllers whose laps are predicted, separated by blanks.")] = "",
    build: Annotated[Path | None, typer.Option(help="Folder of mini4wd.elf and emulator, for `chip`.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Ask nothing: every step is prepared already.")] = False,
    held: Annotated[bool | None, typer.Option("--dead-man/--no-dead-man", help="As in `hil record`.")] = None,
) -> None:
    """A wizard: at rest, on a stand, and two laps; gives cars that explain all of it, and predicts lap times.

    Each step says what to do with the car. posterior.yaml has the cars, ranges.yaml is for `-p randomise=`, car.yaml and profile.yaml
    are the car that explains the runs best.
    """
    from rich.console import Console
    from rich.table import Table

    from asobiba.baselines.mini4wd.calibration import DRIVERS, Setup, predictions, run_wizard
    from asobiba.baselines.mini4wd.hidden import hidden_car, require_simulated
    from asobiba.core import AsobibaError
    from asobiba.envs.mini4wd.hardware.emulate import FIRMWARE

    console = Console(width=max(Console().width, 100))
    try:
        require_simulated(port, hidden)
        true = hidden_car(hidden) if hidden else None
        with _person(port, yes, held, {"g": mass, "mm": tyre}) as (person, stop):
            setup = Setup(
                port, out, course, lane, car=true.believed if true else car,
                profile=true.electronics_believed if true else profile, codec=codec, baud=baud, bench=bench, laps=laps, most=most,
                members=members, seed=seed, hidden=true, build=build or FIRMWARE, stop_key=stop,
            )  # fmt: skip
            found = run_wizard(setup, person, typer.echo)
        table = Table(title=f"{len(found.posterior)} cars that explain the runs")
        for column in ("unknown", "before", "after (90 %)", *(("true",) if true else ())):
            table.add_column(column, justify="left" if column == "unknown" else "right")
        for name, (low, high) in found.prior.bounds.items():
            after = " to ".join(f"{x:.4g}" for x in found.posterior.interval(name))
            told = [] if true is None else ["" if name == "gyro_scale" else f"{true.value(name):.4g}"]
            table.add_row(name, f"{low:.4g} to {high:.4g}", after, *told)
        console.print(table)
        table = Table(title=f"lap times predicted on {course}, three laps: median (5 to 95 %)")
        for column in ("driver", "before", "after"):
            table.add_column(column)
        for row in predictions(found, course, drivers.split() or DRIVERS):
            table.add_row(*row)
        console.print(table)
    except (AsobibaError, ValueError) as error:
        typer.secho(str(error), fg="red", err=True)
        raise typer.Exit(1) from None
    typer.echo(
        f"written to {out}. Train with it: asobiba train mini4wd -p car={out}/car.yaml -p profile={out}/profile.yaml -p "
        f"randomise={out}/ranges.yaml. Drive, then compare: asobiba hil drive PORT constant:duty=0.5 --log run.jsonl; asobiba hil "
        f"report {out}/posterior.yaml run.jsonl"
    )


@app.command()
def report(
    posterior: Annotated[Path, typer.Argument(help="A posterior.yaml of `hil calibrate`.")],
    logs: Annotated[list[Path], typer.Argument(help="Logs of `hil drive`, `hil record` or `hil calibrate`.")],
    lane: Annotated[int, typer.Option(help="The lane in which they began.", min=0)] = 1,
    members: Annotated[int, typer.Option(help="Cars to drive.", min=10)] = 100,
    bench: Annotated[bool, typer.Option("--bench", help="They were recorded on the stand.")] = False,
    picture: Annotated[Path | None, typer.Option(help="Draw the readings over their bands, as SVG.")] = None,
) -> None:
    """Logs beside what the calibrated cars do by the same commands: lap times, turns, voltage, heading."""
    from rich.console import Console
    from rich.table import Table

    from asobiba.baselines.mini4wd.calibration_report import (
        LAPS,
        READINGS,
        compare_log,
        draw_bands,
        lap_rows,
        reading_rows,
    )
    from asobiba.core import AsobibaError
    from asobiba.envs.mini4wd.hardware.calibrate import Section, load_posterior
    from asobiba.envs.mini4wd.hardware.identify import read_run

    console = Console(width=max(Console().width, 100))
    try:
        known = load_posterior(posterior)
        compared = [compare_log(known, Section(read_run(log), lane, bench), log.name, members) for log in logs]
        for title, columns, rows in (
            ("laps, from one pass of the course's half turn to the next", LAPS, lap_rows(compared)),
            ("readings", READINGS, reading_rows(compared)),
        ):
            table = Table(title=title)
            for column in columns:
                table.add_column(column)
            for row in rows:
                table.add_row(*row)
            if rows:
                console.print(table)
        if picture is not None:
            draw_bands(compared, picture)
            console.print(f"drawn: {picture}")
    except (AsobibaError, ValueError) as error:
        typer.secho(str(error), fg="red", err=True)
        raise typer.Exit(1) from None


@app.command("calibration-page")
def calibration_page(
    output: Annotated[Path, typer.Option(help="The Markdown file; its picture lies beside it as SVG.")],
    folder: Annotated[Path, typer.Option(help="Where logs and posteriors are written.")] = Path("runs/calibration"),
    cars: Annotated[str, typer.Option(help="Hidden cars, separated by blanks; by default all.")] = "",
) -> None:
    """Calibrates hidden cars, drives them, and writes the page that compares what was predicted with it."""
    from asobiba.baselines.mini4wd.calibration_page import draw_laps, page, try_car
    from asobiba.baselines.mini4wd.hidden import settings

    tried = [try_car(name, folder, typer.echo) for name in cars.split() or settings()["hidden"]]
    picture = output.with_suffix(".svg")
    output.parent.mkdir(parents=True, exist_ok=True)
    draw_laps(tried, picture)
    command = f"asobiba hil calibration-page --output {output}" + (f" --cars {cars!r}" if cars else "")
    output.write_text(page(tried, picture.name, command), encoding="utf-8")
    typer.echo(f"wrote {output} and {picture}")
