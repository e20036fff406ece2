"""`asobiba mini4wd ...`: published figures, controllers, both sides, learning, courses, recordings."""

from __future__ import annotations

import shlex
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from asobiba.progress import progress_bar

app = typer.Typer(help="Mini 4WD: published figures, controllers, courses, recordings.", no_args_is_help=True)


@app.command()
def reproduce(
    output: Annotated[Path | None, typer.Option(help="Write the table as Markdown to this file, too.")] = None,
) -> None:
    """Published figures beside ours; exit status 1 if one lies outside its range for no known reason."""
    from rich.console import Console
    from rich.table import Table

    from asobiba.baselines.mini4wd.published import figures

    table = Table(title="Mini 4WD: published and ours")
    for column in ("figure", "kind", "unit", "published", "range", "ours", "agrees", "source"):
        table.add_column(column, overflow="fold")
    good, lacking = True, []
    lines = [
        "# Mini 4WD: published figures beside ours",
        "",
        f"Written by `asobiba reproduce mini4wd --output {output}`.",
        "",
    ]
    lines += [
        "Kinds: *measured* by somebody; *fitted*: measured too, and a parameter of ours was fitted to it, so that the row shows what "
        "is left over; *formula*: our model contains the same formula, so the row checks the program and not "
        "the world; *observed*: what an author saw his car do, as a figure of ours with the range that the words allow.",
        "",
        "| figure | kind | unit | published | range | ours | agrees | source |",
        "|---|---|---|--:|--:|--:|---|---|",
    ]
    with progress_bar() as bar:
        task = bar.add_task("running", total=35)
        for f in figures():
            cells = [f.name, f.kind, f.unit, f.published, f.range, f"{f.ours:.3g}"]
            cells += ["yes" if f.agrees else "NO", f.source]
            table.add_row(*cells)
            lines.append(f"| {' | '.join(cells)} |")
            good &= f.agrees or bool(f.lacks)
            lacking += [] if f.agrees or not f.lacks else [f"* {f.name}: {f.ours:.3g} {f.unit}. {f.lacks}"]
            bar.advance(task)
    Console().print(table)
    if lacking:
        lines += ["", "What the model lacks where it lies outside:", "", *lacking]
        Console().print("\n".join(lines[-len(lacking) :]))
    if output is not None:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text("\n".join(lines) + "\n", encoding="utf-8")
    raise typer.Exit(0 if good else 1)


def _given(ctx: typer.Context) -> str:
    """The command line, without the option `keep`."""
    words = ["asobiba mini4wd", str(ctx.info_name)]
    for parameter in ctx.command.params:
        name = str(parameter.name)
        if name == "keep" or getattr(ctx.get_parameter_source(name), "name", "") != "COMMANDLINE":
            continue
        value = ctx.params[name]
        for one in value if isinstance(value, (list, tuple)) else [value]:
            option = "" if parameter.param_type_name == "argument" else f"--{name} "
            words.append(f"--{name}" if one is True else option + shlex.quote(str(one)))
    return " ".join(words)


@app.command()
def controllers(
    ctx: typer.Context,
    courses: Annotated[int, typer.Option(min=1, help="Random courses.")] = 200,
    first: Annotated[
        int, typer.Option(min=0, help="Seed of the first course; the defaults were tuned on 0-19.")
    ] = 1000,
    cars: Annotated[int, typer.Option(min=1, help="Randomised cars on each.")] = 20,
    car: Annotated[str, typer.Option(help="The nominal car.")] = "dash",
    randomise: Annotated[str, typer.Option(help="Ranges of the cars: none, default, wide, or a file.")] = "default",
    seed: Annotated[int, typer.Option(min=0, help="First seed of the cars.")] = 1_000_000,
    runs: Annotated[int, typer.Option(min=0, help="Runs of the position match; 0 leaves it out.")] = 1000,
    only: Annotated[str, typer.Option(help="Controllers, separated by blanks; the position match is left out.")] = "",
    output: Annotated[Path | None, typer.Option(help="Write the page as Markdown to this file, too.")] = None,
    keep: Annotated[
        Path | None, typer.Option(help="Where finished rows are kept; a run that was broken off goes on from there.")
    ] = None,
) -> None:
    """Lap time, course-outs, energy and points of each controller over random courses and randomised cars."""
    from rich.console import Console
    from rich.table import Table

    from asobiba.baselines.mini4wd import CONTROLLERS
    from asobiba.baselines.mini4wd.report import (
        STOPPERS,
        Results,
        laps_table,
        markdown,
        notes,
        stops_notes,
        stops_table,
    )
    from asobiba.baselines.mini4wd.table import UPPER_REFERENCE, Plan

    names = only.split() or [*(declaration.name for declaration in CONTROLLERS), UPPER_REFERENCE]
    stoppers = [] if only or not runs else [(name, tachometer) for name in STOPPERS for tachometer in (True, False)]
    for path in (output, keep):
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
    results = Results(Plan(courses, first, cars, car, randomise, seed), runs, keep)
    with progress_bar() as bar:
        for name in names:
            task = bar.add_task(name, total=courses)
            results.drive(name, partial(bar.advance, task))
        for name, tachometer in stoppers:
            task = bar.add_task(f"{name}, {'with' if tachometer else 'without'} tachometer", total=runs)
            results.stop(name, tachometer, partial(bar.advance, task))
    console = Console(width=max(Console().width, 130))
    results.rows = {name: results.rows[name] for name in names}
    shown = [("Time attack", laps_table(list(results.rows.values())), notes(results.plan))]
    if stoppers:
        results.stops = {key: results.stops[key] for key in stoppers}
        shown.append(("Position match", stops_table(list(results.stops.values())), stops_notes()))
    for title, content, text in shown:
        table = Table(title=title)
        for column in content.columns:
            table.add_column(column, justify="right" if column != "controller" else "left")
        for row in content.rows:
            table.add_row(*row)
        console.print(table)
        console.print(text.replace("`", ""))
    if output is not None:
        output.write_text(markdown(results, _given(ctx)), encoding="utf-8")
        console.print(f"Written to {output}")


@app.command()
def courses() -> None:
    """The shipped courses: lanes, parts, length of a lap."""
    from rich.console import Console
    from rich.table import Table

    from asobiba.envs.mini4wd.course_source import load_course
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
    from asobiba.envs.mini4wd.course_source import load_course
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
    from asobiba.core import AsobibaError
    from asobiba.envs.mini4wd.plots import plot_run, run_of

    figure = plot_run(run_of(controller, course=course, car=car, seed=seed))
    try:
        figure.savefig(out, dpi=120)
    except ValueError as error:
        raise AsobibaError(f"the plot cannot be written to {out}: {error}") from None
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


@app.command()
def sides(
    ctx: typer.Context,
    only: Annotated[str, typer.Option(help="Controllers, separated by blanks; by default all.")] = "",
    runs: Annotated[int, typer.Option(min=2, help="Runs of each controller on each side.")] = 50,
    course: Annotated[str, typer.Option(help="A shipped course, random:SEED or a YAML file.")] = "junior_hill",
    car: Annotated[str, typer.Option(help="The nominal car.")] = "dash",
    randomise: Annotated[str, typer.Option(help="Ranges of the cars: none, default, wide, or a file.")] = "default",
    profiles: Annotated[
        str, typer.Option(help="The cars' electronics, separated by blanks.")
    ] = "atmega328p esp32 rt_ai_chip",
    seed: Annotated[int, typer.Option(min=0, help="First seed of the cars, on both sides.")] = 9_000,
    output: Annotated[Path | None, typer.Option(help="Write the page as Markdown to this file, too.")] = None,
    keep: Annotated[
        Path | None, typer.Option(help="Where finished rows are kept; a run that was broken off goes on from there.")
    ] = None,
    finished: Annotated[
        bool, typer.Option("--finished", help="Only the rows that are kept already; drives nothing.")
    ] = False,
) -> None:
    """Every controller in the simulator and through the hardware environment; exit status 1 where the two disagree."""
    from rich.console import Console
    from rich.table import Table

    from asobiba.baselines.mini4wd.sides import (
        HEADING,
        Kept,
        Setting,
        agree,
        drivers,
        page,
        row,
        simulated,
        through_the_link,
    )

    for path in (output, keep):
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
    tables, good = [], True
    console = Console(width=140)
    for profile in profiles.split():
        setting = Setting(course, car, randomise, 3, profile)
        kept = Kept(setting, seed, runs, keep)
        rows = []
        table = Table(title=f"both sides, {profile}")
        for column in HEADING:
            table.add_column(column, justify="left" if column == "controller" else "right")
        with progress_bar() as bar:
            for name in only.split() or drivers(setting):
                if finished and name not in kept.rows:
                    continue
                task = bar.add_task(f"{name}, {profile}", total=2 * runs)
                if name not in kept.rows:
                    first = simulated(name, setting, runs, seed)
                    bar.advance(task, runs)
                    second = through_the_link(name, setting, runs, seed, progress=partial(bar.advance, task))
                    kept.keep(name, first, second)
                first, second = kept.rows[name]
                bar.update(task, completed=2 * runs)
                rows.append(row(name, first, second))
                table.add_row(*rows[-1])
                good &= agree(first, second)
        tables.append((setting, rows))
        console.print(table)
    if output is not None:
        output.write_text(page(tables, _given(ctx)), encoding="utf-8")
    raise typer.Exit(0 if good else 1)


@app.command()
def ranges(
    ctx: typer.Context,
    output: Annotated[Path, typer.Option(help="The Markdown file.")],
    only: Annotated[str, typer.Option(help="Controllers, separated by blanks; by default all.")] = "",
    runs: Annotated[int, typer.Option(min=2, help="Runs of each controller in each range.")] = 200,
    seed: Annotated[int, typer.Option(min=0, help="First seed of the cars.")] = 20_000,
) -> None:
    """Every controller with the nominal car, with one owner's cars (default) and with everybody's (wide)."""
    from asobiba.baselines.mini4wd.ranges import RANGES, page
    from asobiba.baselines.mini4wd.sides import Setting, drivers

    names = only.split() or drivers(Setting())
    with progress_bar() as bar:
        task = bar.add_task("ranges", total=len(names) * len(RANGES))
        text = page(names, runs, seed, _given(ctx), lambda n: bar.advance(task, n))
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(text, encoding="utf-8")
    typer.echo(text)


@app.command()
def compare(
    agents: Annotated[
        list[str],
        typer.Argument(help="Agents, such as ppo_junior_hill:path=FOLDER/policy.safetensors ppo_junior_hill predict."),
    ],
    cars: Annotated[int, typer.Option(min=2, help="Cars; every agent drives the same ones.")] = 1600,
    first: Annotated[int, typer.Option(min=0, help="Seed of the first car.")] = 30_000,
    course: Annotated[str, typer.Option(help="A shipped course, random:SEED or a YAML file.")] = "junior_hill",
    car: Annotated[str, typer.Option(help="The nominal car.")] = "dash",
    randomise: Annotated[str, typer.Option(help="Ranges of the cars: none, default, wide, or a file.")] = "default",
    output: Annotated[Path | None, typer.Option(help="Write the table as Markdown to this file, too.")] = None,
) -> None:
    """Points and finishers of agents on the same cars, each compared with the last one car by car."""
    from rich.console import Console
    from rich.table import Table

    from asobiba.baselines.mini4wd.compare import COLUMNS, drive, markdown, row
    from asobiba.envs.mini4wd import GAME

    parameters = {"course": course, "car": car, "randomise": randomise, "tachometer": True}
    ruleset = GAME.ruleset(**parameters)
    with progress_bar() as bar:
        task = bar.add_task("driving", total=len(agents) * cars)
        driven = [drive(agent, ruleset, cars, first, lambda n: bar.advance(task, n)) for agent in agents]
    rows = [row(each, driven[-1]) for each in driven]
    table = Table(title=f"{cars} cars of the seeds from {first}")
    for column in COLUMNS:
        table.add_column(column, justify="left" if column == "agent" else "right")
    for cells in rows:
        table.add_row(*cells)
    Console(width=140).print(table)
    if output is not None:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(markdown(rows, parameters, cars, first), encoding="utf-8")


@app.command()
def unseen(
    ctx: typer.Context,
    agents: Annotated[list[str], typer.Argument(help="Agents, such as ppo_junior_hill constant predict.")],
    side: Annotated[
        list[str] | None, typer.Option(help="simulator or link; both, if it is not given. Give it twice for both.")
    ] = None,
    held: Annotated[Path | None, typer.Option("--set", help="Another file than baselines/mini4wd/unseen.yml.")] = None,
    output: Annotated[Path | None, typer.Option(help="Write the page as Markdown to this file, too.")] = None,
    keep: Annotated[
        Path | None, typer.Option(help="Where finished courses are kept; a run that was broken off goes on from there.")
    ] = None,
    add: Annotated[
        bool, typer.Option("--add", help="Add a section to the file of --output, which must be there.")
    ] = False,
) -> None:
    """Agents on the held-out courses and cars, course by course, each compared with the last one."""
    from rich.console import Console
    from rich.table import Table

    from asobiba.baselines.mini4wd.unseen import SET, SIDES, SUMMARY, measure, page, runs_of, summary, with_section
    from asobiba.envs.mini4wd.fields import choice
    from asobiba.pages import unstamped

    if add and (output is None or not output.is_file()):
        raise typer.BadParameter("there must be a file --output to add to", param_hint="--add")

    sides = [choice(name, SIDES, "side", "mini4wd unseen") for name in side or SIDES]
    path = held or SET
    for each in (output, keep):
        if each is not None:
            each.parent.mkdir(parents=True, exist_ok=True)
    with progress_bar() as bar:
        task = bar.add_task("driving", total=runs_of(agents, sides, path))
        measured = measure(agents, sides, keep, partial(bar.advance, task), path)
    table = Table(title="courses that nobody has seen")
    for column in SUMMARY:
        table.add_column(column)
    for cells in summary(measured, agents, sides):
        table.add_row(*cells)
    Console(width=140).print(table)
    if output is not None:
        if add:
            text = with_section(unstamped(output.read_text(encoding="utf-8")), measured, agents, sides, _given(ctx))
        else:
            text = page(measured, agents, sides, _given(ctx))
        output.write_text(text, encoding="utf-8")


@app.command()
def learn(
    out: Annotated[Path, typer.Option(help="Folder of the run: curve.csv, policy.zip, scores.md.")],
    algorithm: Annotated[str, typer.Option(help="ppo or sac.")] = "ppo",
    courses: Annotated[int, typer.Option(min=0, help="Random courses to train on; 0: junior_hill alone.")] = 100,
    steps: Annotated[int, typer.Option(min=1, help="Decisions in all.")] = 5_000_000,
    every: Annotated[int, typer.Option(min=1, help="Evaluate after so many steps.")] = 500_000,
    runs: Annotated[int, typer.Option(min=2, help="Runs of an evaluation.")] = 100,
    seed: Annotated[int, typer.Option(min=0)] = 0,
) -> None:
    """Trains on many courses, and measures on others and with other cars (`asobiba train mini4wd` is the league's policy)."""
    from asobiba.baselines.mini4wd.generalise import Task
    from asobiba.baselines.mini4wd.generalise import learn as run
    from asobiba.baselines.mini4wd.generalise import table as scores_table

    scores = run(Task(algorithm, courses, steps, every=every, runs=runs, seed=seed), out, typer.echo)
    text = scores_table(scores)
    (out / "scores.md").write_text(text, encoding="utf-8")
    typer.echo(text)


@app.command()
def search(
    ctx: typer.Context,
    out: Annotated[Path, typer.Option(help="Folder of the search: learned.json, config.yml, curve.csv, run.json.")],
    generations: Annotated[int | None, typer.Option(min=1, help="By default as in search.yml.")] = None,
    runs: Annotated[int | None, typer.Option(min=1, help="Of each candidate; by default as in search.yml.")] = None,
    seed: Annotated[int, typer.Option(min=0)] = 0,
    posterior: Annotated[
        Path | None, typer.Option(help="A posterior.yaml of `asobiba hil calibrate`: search for that car alone.")
    ] = None,
) -> None:
    """Learns the planner's numbers over generated courses and drawn cars (search.yml); a search broken off goes on."""
    from asobiba.baselines.mini4wd.search import load_settings
    from asobiba.baselines.mini4wd.search import search as run
    from asobiba.envs.mini4wd.hardware.calibrate import load_posterior

    given: dict[str, Any] = {"generations": generations, "runs": runs}
    settings = load_settings(seed=seed, **{name: value for name, value in given.items() if value is not None})
    run(settings, out, _given(ctx), typer.echo, None if posterior is None else load_posterior(posterior))


@app.command("learning-page")
def learning_page(
    ctx: typer.Context,
    sac: Annotated[Path, typer.Option(help="Run folder of SAC on the league's course.")],
    general: Annotated[Path, typer.Option(help="Run folder on many courses.")],
    output: Annotated[Path, typer.Option(help="The Markdown file; the curves lie beside it as SVG.")],
    ppo: Annotated[Path, typer.Option(help="Run folder of PPO on the league's course.")] = Path(
        "baselines/mini4wd/policies"
    ),
) -> None:
    """Writes the page on learning from the folders of finished runs."""
    from asobiba.baselines.mini4wd.learning_page import curves_of, draw_curves, page

    picture = output.with_suffix(".svg")
    draw_curves(curves_of(ppo, sac), picture)
    output.write_text(page(ppo, sac, general, picture.name, _given(ctx)), encoding="utf-8")
    typer.echo(f"wrote {output} and {picture}")


@app.command()
def export(
    policy: Annotated[Path, typer.Argument(help="A policy that `asobiba train mini4wd` has saved.")],
    out: Annotated[
        Path, typer.Option(help="Folder for policy_weights.h; then: make -C firmware/mini4wd policy WEIGHTS=FOLDER")
    ],
) -> None:
    """Writes a trained policy as integers in plain C, for the car's chip."""
    from asobiba.baselines.mini4wd.export import export as write

    found = write(policy, out)
    typer.echo(f"{found.size} bytes of weights in {out / 'policy_weights.h'}")
