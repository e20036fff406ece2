"""`asobiba reproduce battleship`: the tables of the battleship paper, replayed."""

from __future__ import annotations

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
