"""`asobiba mini4wd reproduce`, `controllers`, `courses`, `draw-course`, `plot`, `teach`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(help="Mini 4WD: published figures, controllers, courses, recordings.", no_args_is_help=True)


def _progress():
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    return Progress(*columns, disable=not sys.stderr.isatty())


@app.command()
def reproduce(
    output: Annotated[Path | None, typer.Option(help="Write the table as Markdown to this file, too.")] = None,
) -> None:
    """Published figures beside ours; exit status 1 if one lies outside its range."""
    from rich.console import Console
    from rich.table import Table

    from asobiba.baselines.mini4wd.published import figures

    table = Table(title="Mini 4WD: published and ours")
    for column in ("figure", "unit", "published", "range", "ours", "agrees", "source"):
        table.add_column(column, overflow="fold")
    good = True
    lines = [
        "# Mini 4WD: published figures beside ours",
        "",
        f"Written by `asobiba reproduce mini4wd --output {output}`.",
        "",
    ]
    lines += ["| figure | unit | published | range | ours | agrees | source |", "|---|---|--:|--:|--:|---|---|"]
    with _progress() as bar:
        task = bar.add_task("running", total=16)
        for f in figures():
            cells = [f.name, f.unit, f.published, f"{f.low:.3g}-{f.high:.3g}", f"{f.ours:.3g}"]
            cells += ["yes" if f.agrees else "NO", f.source]
            table.add_row(*cells)
            lines.append(f"| {' | '.join(cells)} |")
            good &= f.agrees
            bar.advance(task)
    Console().print(table)
    if output is not None:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text("\n".join(lines) + "\n", encoding="utf-8")
    raise typer.Exit(0 if good else 1)


@app.command()
def controllers(
    courses: Annotated[int, typer.Option(min=1, help="Random courses.")] = 200,
    cars: Annotated[int, typer.Option(min=1, help="Randomised cars on each.")] = 20,
    car: Annotated[str, typer.Option(help="The nominal car.")] = "dash",
    randomise: Annotated[str, typer.Option(help="Ranges of the cars: none, default, wide, or a file.")] = "default",
    only: Annotated[str, typer.Option(help="Controllers, separated by blanks.")] = "",
    seed: Annotated[int, typer.Option(help="First seed of the cars.")] = 0,
) -> None:
    """Lap time, course-outs and energy of each controller over random courses and randomised cars."""
    from rich.console import Console
    from rich.table import Table

    from asobiba.baselines.mini4wd import CONTROLLERS
    from asobiba.baselines.mini4wd.table import POINTS, UPPER_REFERENCE, evaluate

    names = only.split() or [*(declaration.name for declaration in CONTROLLERS), UPPER_REFERENCE]
    rows = []
    with _progress() as bar:
        task = bar.add_task("running", total=courses * len(names))
        for name in names:
            bar.update(task, description=name)
            rows.append(
                evaluate(
                    name, [f"random:{k}" for k in range(courses)], cars, car=car, randomise=randomise, seed=seed,
                    progress=lambda: bar.advance(task),
                )
            )  # fmt: skip
    table = Table(title=f"{courses} random courses x {cars} cars ({car}, ranges: {randomise}), 3 laps from rest")
    for column in (
        "controller",
        "points",
        "lap, s",
        "m/s",
        "out",
        "lane changer",
        "landing",
        "corner",
        "stopped",
        "time up",
        "J/m",
    ):
        table.add_column(column, justify="left" if column == "controller" else "right")
    for r in sorted(rows, key=lambda row: -row.points):
        shares = [f"{r.causes[name]:.1%}" for name in ("lane changer", "landing", "corner", "stopped")]
        table.add_row(
            r.controller, f"{r.points:.3f} ± {r.error:.3f}", f"{r.lap_time:.2f}", f"{r.speed:.2f}", f"{r.out:.1%}", *shares,
            f"{r.unfinished:.1%}", f"{r.energy:.2f}",
        )  # fmt: skip
    console = Console(width=max(Console().width, 130))
    console.print(table)
    console.print(f"Points of a run: {POINTS}. Lap time and speed: runs that finished.")


@app.command()
def courses() -> None:
    """The shipped courses: lanes, parts, length of a lap."""
    from rich.console import Console
    from rich.table import Table

    from asobiba.envs.mini4wd.course import load_course
    from asobiba.envs.mini4wd.fields import shipped

    table = Table()
    for column in ("course", "title", "lanes", "parts", "lap, m"):
        table.add_column(column)
    for name in shipped("courses"):
        course = load_course(name)
        table.add_row(name, course.title, str(course.lanes), str(len(course.segments)), f"{course.lap_length:.2f}")
    Console().print(table)


@app.command("draw-course")
def draw_course(
    course: Annotated[str, typer.Argument(help="A shipped course, random:SEED or a YAML file.")],
    out: Annotated[Path, typer.Option(help="The SVG file.")] = Path("course.svg"),
) -> None:
    """Draws a course in plan and height profile."""
    from asobiba.envs.mini4wd.course import load_course
    from asobiba.envs.mini4wd.draw import course_svg

    out.write_text(course_svg(load_course(course)), encoding="utf-8")
    typer.echo(f"wrote {out}")


@app.command()
def plot(
    controller: Annotated[str, typer.Argument(help="A controller, such as slope:duty=0.8.")] = "constant",
    course: Annotated[str, typer.Option(help="A shipped course, random:SEED or a YAML file.")] = "junior",
    car: Annotated[str, typer.Option(help="A shipped car or a YAML file.")] = "stock",
    seed: Annotated[int, typer.Option(help="Seed of the run.")] = 0,
    out: Annotated[Path, typer.Option(help="The PNG, SVG or PDF file.")] = Path("run.png"),
) -> None:
    """Plots a run: speed, duty and the inertial sensor over the distance."""
    from asobiba.envs.mini4wd.plots import plot_run, run_of

    plot_run(run_of(controller, course=course, car=car, seed=seed)).savefig(out, dpi=120)
    typer.echo(f"wrote {out}")


@app.command()
def teach(
    out: Annotated[Path, typer.Option(help="Where the tape is saved; play it with playback:path=FILE.")],
    teacher: Annotated[str, typer.Option(help="Another controller, or `keyboard`.")] = "keyboard",
    course: Annotated[str, typer.Option(help="A shipped course, random:SEED or a YAML file.")] = "junior",
    car: Annotated[str, typer.Option(help="A shipped car or a YAML file.")] = "stock",
) -> None:
    """Records a run, driven by another controller or from the keyboard in real time."""
    from asobiba.baselines.mini4wd.keyboard import teach_by_keyboard
    from asobiba.baselines.mini4wd.learning import teach as teach_by_controller
    from asobiba.envs.mini4wd import GAME

    rules = GAME.ruleset(course=course, car=car, lane=0, tachometer=True)
    tape = teach_by_keyboard(rules) if teacher == "keyboard" else teach_by_controller(rules, teacher)
    tape.save(out)
    typer.echo(f"recorded {len(tape.rows)} steps of {tape.control_ms} ms in {out}")
