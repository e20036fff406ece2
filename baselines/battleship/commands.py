"""`asobiba reproduce battleship`: the tables of the battleship paper, replayed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from asobiba.arena.commands import Parameters, Trusted
from asobiba.progress import progress_bar

app = typer.Typer(help="Battleship: the published tables, replayed.", no_args_is_help=True)


@app.callback()
def _group() -> None:
    """Battleship: the published tables, replayed."""


@app.command()
def reproduce(
    full: Annotated[bool, typer.Option("--full", help="100,000 games a cell, as the paper; else 2,000.")] = False,
    games: Annotated[int | None, typer.Option(min=2, help="Games a cell, instead.")] = None,
    table: Annotated[
        list[str] | None,
        typer.Option(
            help="Only this table, in the place of the file's own: 'table 1' to 'table 5', 'figure 6', 'largest first'."
        ),
    ] = None,
    output: Annotated[Path, typer.Option(help="The Markdown file to write.")] = Path("battleship-reproduction.md"),
    keep: Annotated[
        Path | None, typer.Option(help="Where finished cells are kept; a run that was broken off goes on from there.")
    ] = None,
) -> None:
    """Replay the paper's tables: attack and placement strategies, paper beside measured."""
    from rich.console import Console
    from rich.table import Table

    from asobiba.baselines.battleship.published import TABLES, cells
    from asobiba.baselines.battleship.reproduction import Results, markdown, play_all, report, with_tables
    from asobiba.core import GameParameterError

    tables = tuple(table or TABLES)
    for name in tables:
        if name not in TABLES:
            raise GameParameterError(f"there is no {name!r}; choose from {', '.join(TABLES)}")
    number = games or (100_000 if full else 2_000)
    if keep is None and full:
        keep = output.with_suffix(".jsonl")
    for path in (output, keep):
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
    results = Results(keep, number)
    console = Console()
    with progress_bar(counted=True) as bar:
        wanted = list(cells(tables))
        done = sum(number for cell in wanted if cell.key in results.duels)
        task = bar.add_task("games", total=number * len(wanted), completed=done)
        play_all(results, lambda cell, n: bar.update(task, advance=n, description=cell.key), tables)
    found = report(results, tables)
    for played in found:
        shown = Table(title=played.title)
        for column in played.columns:
            shown.add_column(column)
        for row in played.rows:
            shown.add_row(*row)
        console.print(shown)
    command = "asobiba reproduce battleship" + (" --full" if full else f" --games {number}" if games else "")
    if table is None:
        text = markdown(results, command)
    else:
        text = with_tables(output.read_text(encoding="utf-8"), found, number)
    output.write_text(text, encoding="utf-8")
    console.print(f"Written to {output}")


@app.command()
def readings(
    games: Annotated[int, typer.Option(min=100, help="Games a cell, even.")] = 10_000,
    output: Annotated[Path, typer.Option(help="The Markdown file to write.")] = Path("battleship-readings.md"),
) -> None:
    """Other readings of the placements, and models of the opponent. Reads docs/reproductions/battleship.md."""
    from asobiba.baselines.battleship.readings_page import write_page

    with progress_bar() as bar:
        task = bar.add_task("playing", total=None)
        command = f"asobiba battleship readings --games {games}"
        write_page(output, command, games, lambda what: bar.update(task, description=what))
    typer.echo(f"Written to {output}")


@app.command()
def hide(
    against: Annotated[
        list[str] | None, typer.Option(help="A compiled attack, once or more; else the best answers to the placement.")
    ] = None,
    steps: Annotated[int, typer.Option(min=2, help="Steps of learning.")] = 20,
    games: Annotated[int, typer.Option(min=100, help="Games a step.")] = 1_500,
    output: Annotated[Path, typer.Option(help="The placement to write; its curve stands beside it.")] = Path(
        "equilibrium.json"
    ),
) -> None:
    """Learn a placement, against the best answers to it or against attacks, which share the games of a step.

    Against answers, the last half of the steps is averaged. A run that was broken off goes on from OUTPUT's .jsonl.
    """
    from asobiba.baselines.battleship import equilibrium as hiding
    from asobiba.core import game, make_agent

    ruleset = game("battleship_attack").ruleset()
    keep = output.with_suffix(".jsonl")
    keep.parent.mkdir(parents=True, exist_ok=True)
    fixed = [make_agent(ruleset.game, name) for name in against or ()]
    rates = [hiding.FAST] * steps if fixed else hiding.falling(hiding.SLOWLY, steps)
    write = hiding.keeping(ruleset, keep)
    with progress_bar() as bar:
        task = bar.add_task("learning", total=None)

        def tell(step: hiding.Step) -> None:
            write(step)
            bar.update(task, description=f"{step.shots:.2f} shots")

        done = hiding.kept_steps(ruleset, keep)
        answer = (lambda _: fixed) if fixed else (lambda found: [hiding.searcher(found)])
        learned = hiding.learn(ruleset, answer, rates, games, 1_000, done, tell)
    found = learned[-1].after if fixed else hiding.mean_of([step.hiding for step in learned[len(learned) // 2 :]])
    output.write_text(json.dumps(hiding.stored(ruleset, found), indent=1) + "\n", encoding="utf-8")
    rows = [f"{number},{games},{step.shots:.4f},{step.half:.4f}" for number, step in enumerate(learned)]
    curve = output.with_suffix(".csv")
    curve.write_text("\n".join(["step,games,shots,half_width", *rows]) + "\n", encoding="utf-8")
    typer.echo(f"Written to {output} and {curve}")


@app.command()
def equilibrium(
    games: Annotated[int, typer.Option(min=20, help="Games a cell.")] = 1_000,
    slow: Annotated[int, typer.Option(min=0, help="Games of a cell of mp_exact; 0: without it.")] = 100,
    step: Annotated[int, typer.Option(min=100, help="Games of a step of a placement's training.")] = 2_000,
    steps: Annotated[int, typer.Option(min=1, help="Steps of a placement's training.")] = 10,
    fleets: Annotated[int, typer.Option(min=250, help="Fleets that are sifted for the worst one.")] = 2_000,
    output: Annotated[Path, typer.Option(help="The Markdown file to write.")] = Path("battleship-equilibrium.md"),
    keep: Annotated[
        Path | None, typer.Option(help="Where finished figures are kept; a run that was broken off goes on from there.")
    ] = None,
) -> None:
    """Who exploits whom in hiding and searching: attacks against placements, and answers trained against both."""
    from time import perf_counter

    from asobiba.baselines.battleship.equilibrium_page import Effort, Kept, Measuring, write_page
    from asobiba.pages import in_hours

    begun = perf_counter()
    with progress_bar() as bar:
        task = bar.add_task("measuring", total=None)
        effort = Effort(games, slow, step, steps, fleets)
        kept = Kept(keep or output.with_suffix(".jsonl"))
        measuring = Measuring(kept, effort, lambda what: bar.update(task, description=what))
        options = f"--games {games} --slow {slow} --step {step} --steps {steps} --fleets {fleets}"
        write_page(output, f"asobiba battleship equilibrium {options}", measuring)
    typer.echo(f"Written to {output} in {in_hours(perf_counter() - begun)}")


@app.command()
def shots(
    agents: Annotated[list[str], typer.Argument(help="Attacks, such as mp_exact or belief.")],
    games: Annotated[int, typer.Option(min=10, help="Games of each.")] = 200,
    placement: Annotated[str, typer.Option(help="The placement of the fleets.")] = "r",
    seed: Annotated[int, typer.Option(min=0, help="Of the fleets and the agents.")] = 0,
    trust: Trusted = None,
) -> None:
    """Mean shots that agents need to clear the board, with 95 % intervals; all of them shoot at the same fleets.

    Example: asobiba battleship shots mp_exact belief mp --games 400
    """
    from rich.console import Console
    from rich.table import Table

    from asobiba.arena.trust import Trust, make_player
    from asobiba.baselines.battleship.clearing import draw, shots_to_clear
    from asobiba.baselines.battleship.equilibrium_page import mean_and_half
    from asobiba.core import game

    ruleset = game("battleship_attack").ruleset()
    fleets = draw(ruleset, placement, games, 2 * seed + 1)
    table = Table(title=f"shots to clear, placement {placement}, {games} games")
    for column in ("agent", "mean", "95 % interval", "median", "least", "most"):
        table.add_column(column, justify="left" if column == "agent" else "right")
    for name in agents:
        agent = make_player(ruleset.game, name, Trust.of(trust))
        try:
            found = shots_to_clear(ruleset, agent, fleets, (2 * seed + 1) << 32)
        finally:
            agent.close()
        mean, half, _ = mean_and_half(found)
        spread = (sorted(found.tolist())[games // 2], found.min(), found.max())
        table.add_row(name, f"{mean:.2f}", f"{mean - half:.2f} to {mean + half:.2f}", *map(str, spread))
    Console().print(table)


@app.command()
def hiding(
    agents: Annotated[
        list[str] | None, typer.Argument(help="Compiled agents, and policies that shoot by their answers alone.")
    ] = None,
    param: Parameters = None,
    trust: Trusted = None,
) -> None:
    """Computes exactly, on a small board, the equilibrium of hiding and searching, and what fleets agents need most shots for.

    Example: asobiba battleship hiding rnb cb -p height=3 -p width=3 -p 'fleet=[3,2]'
    """
    import numpy as np
    from rich.console import Console
    from rich.table import Table

    from asobiba.arena.commands import ruleset_of
    from asobiba.arena.trust import Trust, make_player
    from asobiba.baselines.battleship.exact_clearing import SmallBoard

    ruleset = ruleset_of("battleship", param)
    board = SmallBoard(ruleset)
    even, found = board.search(np.ones(len(board.fleets))), board.equilibrium()
    table = Table(title=f"shots to clear, {len(board.fleets)} fleets")
    for column in ("searcher", "uniform fleets", "its worst fleet", "exploitability"):
        table.add_column(column, justify="left" if column == "searcher" else "right")
    table.add_row(
        "best against uniform fleets",
        f"{even.mean:.4f}",
        f"{even.shots.max():.4f}",
        f"{even.shots.max() - found.low:.4f}",
    )
    table.add_row("equilibrium", "", f"{found.high:.4f}", f"{found.high - found.low:.4f}")
    for name in agents or ():
        agent = make_player(ruleset.game, name, Trust.of(trust))
        try:
            needed = board.shots_of(agent)
        finally:
            agent.close()
        table.add_row(name, f"{needed.mean():.4f}", f"{needed.max():.4f}", f"{needed.max() - found.low:.4f}")
    Console().print(table)


@app.command("exploitability")
def exact(
    agents: Annotated[
        list[str], typer.Argument(help="Compiled agents, and policies that shoot by their answers alone.")
    ],
    param: Parameters = None,
    trust: Trusted = None,
) -> None:
    """Computes exactly, on a small board, what the best answer to an agent wins.

    Example: asobiba exploitability battleship rnb cb -p height=3 -p width=3 -p 'fleet=[2]'
    """
    from rich.console import Console
    from rich.table import Table

    from asobiba.arena.commands import ruleset_of
    from asobiba.arena.trust import Trust, make_player
    from asobiba.baselines.battleship.exploiting import exploitability

    ruleset = ruleset_of("battleship", param)
    table = Table(title="the best answer wins, per cent")
    for column in ("agent", "as first", "as second", "exploitability"):
        table.add_column(column, justify="left" if column == "agent" else "right")
    for name in agents:
        agent = make_player(ruleset.game, name, Trust.of(trust))
        try:
            found = exploitability(ruleset, agent)
        finally:
            agent.close()
        table.add_row(name, f"{100 * found.first:.1f}", f"{100 * found.second:.1f}", f"{found.value:.3f}")
    Console().print(table)
