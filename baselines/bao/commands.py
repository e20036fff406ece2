"""`asobiba bao loops`, `solve`, `prove`, `endgame`, `promela`, `first-plies`, `reproduce`, `strength`: the analysis of Bao."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from asobiba.progress import progress_bar

app = typer.Typer(help="The analysis of Bao: endless moves, repetitions, exact values.", no_args_is_help=True)

Holes = Annotated[int, typer.Option(help="Holes in a row, even.")]
Endless = Annotated[str, typer.Option(help="What an endless move is: illegal, loses or draws.")]


def _show(table) -> None:
    from rich.console import Console
    from rich.table import Table

    shown = Table(title=table.title)
    for column in table.columns:
        shown.add_column(column, overflow="fold")
    for row in table.rows:
        shown.add_row(*row)
    Console().print(shown)


def _database(holes: int, seeds: int, endless: str):
    """The database, with a progress bar over its boards while it is built."""
    from asobiba.baselines.bao.boards import board_count, tables
    from asobiba.baselines.bao.endgame import stored_database

    with progress_bar() as bar:
        task = bar.add_task(f"boards of up to {seeds} seeds", total=int(board_count(tables(holes, endless)[0], seeds)))
        return stored_database(holes, seeds, endless, lambda line: bar.advance(task, line["boards"]))


@app.command()
def loops(holes: Holes = 4, start: str = "alternate") -> None:
    """Every endless move that play from the start reaches, grouped into loops, and every repetition."""
    from asobiba.baselines.bao.graph import Graph
    from asobiba.baselines.bao.report import loops_table, repetitions_table

    graph = Graph(holes, start)
    typer.echo(
        f"{len(graph):,} positions, {len(graph.sources):,} moves, {len(graph.endless_moves()):,} of them endless"
    )
    _show(loops_table(graph))
    _show(repetitions_table(graph))


@app.command()
def conditions(
    ring: Annotated[int, typer.Option(help="Holes of the ring (both rows).")] = 8,
    seeds: Annotated[int, typer.Option(help="Most seeds.")] = 16,
) -> None:
    """Checks the paper's conditions for loops on every board of a ring."""
    from asobiba.baselines.bao.report import checked_conditions, conditions_table

    _show(conditions_table(checked_conditions({ring: seeds})))


@app.command()
def solve(holes: Holes = 4, start: str = "alternate") -> None:
    """Solves every reachable position under each treatment of endless moves and repetition."""
    from asobiba.baselines.bao.graph import Graph
    from asobiba.baselines.bao.report import solution_table

    _show(solution_table(Graph(holes, start)))


@app.command()
def enumerate_values(holes: Holes = 6, start: str = "alternate", endless: Endless = "illegal") -> None:
    """The start's value by retrograde analysis over all boards that play reaches."""
    from asobiba.baselines.bao.boards import board_rank, tables
    from asobiba.baselines.bao.endgame import build, high_of, low_of
    from asobiba.baselines.bao.reachable import reachable_boards
    from asobiba.core import GameParameterError
    from asobiba.envs.bao.layout import pack, starting_counts

    counts = starting_counts(holes, start)
    if counts is None:
        raise GameParameterError("a random start has no value of its own; give a board")
    with progress_bar() as bar:
        task = bar.add_task("reachable boards", total=sum(counts) + 1)
        wanted, reached = reachable_boards(holes, counts, lambda *_: bar.advance(task))
    with progress_bar() as bar:
        task = bar.add_task("values", total=sum(counts))
        database = build(holes, sum(counts), endless, lambda _: bar.advance(task), wanted)
    at = board_rank(tables(holes, endless)[0], *pack(counts))
    typer.echo(
        f"{reached:,} boards (the mover's row first), {len(database.open_at):,} open to repetition; the first player can "
        f"claim {low_of(database, at):+d} and be held to {high_of(database, at):+d}"
    )


@app.command()
def prove(
    holes: Holes = 8,
    start: str = "alternate",
    endless: Endless = "illegal",
    seeds: Annotated[int, typer.Option(help="Most seeds of the endgame database.")] = 12,
    table_bits: Annotated[
        int, typer.Option(help="The transposition table has 2 to this many entries of 24 bytes.")
    ] = 22,
    seconds: Annotated[float, typer.Option(help="Give up after this long.")] = 3600.0,
) -> None:
    """Narrows the value of a start from both sides until it is exact; repetition counts against the side that claims."""
    from asobiba.baselines.bao.proof import prove as narrow
    from asobiba.core import GameParameterError
    from asobiba.envs.bao.layout import starting_counts

    counts = starting_counts(holes, start)
    if counts is None:
        raise GameParameterError("a random start has no value of its own; give a board")
    database = _database(holes, seeds, endless)

    def line(step: dict) -> None:
        typer.echo(
            f"depth {step['depth']:3}  {step['low']:+d} to {step['high']:+d}  {step['nodes']:,} nodes  {step['seconds']:.1f} s"
        )

    bounds = narrow(holes, counts, database, seeds, endless, table_bits=table_bits, max_seconds=seconds, report=line)
    exact = f"exactly {bounds.low:+d}" if bounds.exact else f"between {bounds.low:+d} and {bounds.high:+d}, not closed"
    typer.echo(f"{holes}x2, endless moves {endless}: the first player's margin is {exact}")


@app.command()
def endgame(
    holes: Holes = 8,
    seeds: Annotated[int, typer.Option(help="Most seeds on the board.")] = 12,
    endless: Endless = "illegal",
) -> None:
    """Builds the endgame database of all boards of at most so many seeds in the cache folder, or checks the one there."""
    from asobiba.baselines.bao.endgame import database_facts, database_folder

    _database(holes, seeds, endless)
    facts = database_facts(holes, seeds, endless)
    typer.echo(
        f"{facts['boards']:,} boards ({facts['open']:,} open to repetition), built in {facts['seconds']} s with "
        f"{facts['threads']} threads; in {database_folder()}"
    )


@app.command()
def first_plies(
    holes: Holes = 8,
    start: str = "alternate",
    positions: Annotated[int, typer.Option(help="Most positions to keep (about 28 bytes each).")] = 5_000_000,
) -> None:
    """Finds the first endless move and repetition by exhaustive search of the first plies."""
    from asobiba.baselines.bao.frontier import explore
    from asobiba.baselines.bao.report import letters

    begin = time.perf_counter()
    found = explore(holes, start, positions)
    typer.echo(f"{sum(found.levels):,} positions, all within {found.depth} plies, {time.perf_counter() - begin:.0f} s")
    if found.endless:
        typer.echo(f"shortest endless move: ply {len(found.endless)}, {letters(found.endless)}")
    else:
        typer.echo(f"no endless move within {found.depth + 1} plies")
    if found.repetition and found.repetition_plies:
        proven = "shortest" if found.repetition_shortest else "found, perhaps not the shortest"
        first, again = found.repetition_plies
        typer.echo(
            f"repetition ({proven}): the position of ply {first} again at ply {again}, {letters(found.repetition)}"
        )
    else:
        typer.echo(f"no repetition within {found.depth} plies")


@app.command()
def promela(
    holes: Holes = 4,
    start: str = "alternate",
    output: Annotated[Path | None, typer.Option(help="File to write; printed where it is not given.")] = None,
) -> None:
    """Writes a Promela model with the paper's two specifications, for the model checker SPIN."""
    from asobiba.baselines.bao.promela import model

    text = model(holes, start)
    if output:
        output.write_text(text)
        typer.echo(f"{output}: spin -a {output.name} && gcc -O2 -o pan pan.c && ./pan -a -N turn_passes -m200000")
    else:
        typer.echo(text)


@app.command()
def claims(
    moves: Annotated[int, typer.Option(help="Random moves on each board.", min=1000)] = 6_720_000,
    seeds: Annotated[int, typer.Option(help="Most seeds on the ring of 8x2.", min=2, max=16)] = 12,
    output: Annotated[Path, typer.Option(help="Markdown file to write.")] = Path("bao-claims.md"),
) -> None:
    """Holds what the paper says of endless moves to measurement. Needs the programs spin and gcc."""
    from asobiba.baselines.bao.claims import write_page

    command = f"asobiba bao claims --moves {moves} --seeds {seeds}"
    with progress_bar() as bar:
        task = bar.add_task("working out", total=None)
        write_page(output, command, moves, seeds, lambda what: bar.update(task, description=what))
    typer.echo(f"{output} written")


@app.command()
def reproduce(
    output: Annotated[Path, typer.Option(help="Markdown file to write.")] = Path("docs/reproductions/bao.md"),
    seeds: Annotated[int, typer.Option(help="Most seeds of the 8x2 endgame database.")] = 12,
    positions: Annotated[int, typer.Option(help="Most positions of the first plies of 8x2.")] = 6_000_000,
    six: Annotated[bool, typer.Option(help="Also enumerate 6x2 (2 GB of memory, minutes).")] = True,
) -> None:
    """Works out everything that the documentation states about Bao and writes it down."""
    from asobiba.baselines.bao.reproduction import write

    with progress_bar() as bar:
        task = bar.add_task("reproducing", total=None)
        write(output, seeds, positions, six, lambda what: bar.update(task, description=what))
    typer.echo(f"{output} written")


@app.command()
def strength(
    agents: Annotated[list[str], typer.Argument(help="Agents, and policies such as sb3:FILE.")],
    holes: Annotated[int, typer.Option(help="Holes in a row, 4 or 6.")] = 4,
    positions: Annotated[int, typer.Option(help="Won and drawn positions each.", min=1)] = 2000,
    games: Annotated[int, typer.Option(help="Own games, even.", min=2)] = 400,
) -> None:
    """The share of an agent's moves that keep the exact value, on 4x2 and 6x2 (minutes and 2 GB at first)."""
    from asobiba.baselines.bao.strength import ExactValues, strength_table
    from asobiba.core import game

    with progress_bar() as bar:
        task = bar.add_task("exact values", total=None)
        values = ExactValues.of(game("bao").ruleset(holes=holes), lambda what: bar.update(task, description=what))
        table = strength_table(values, agents, positions, games, lambda what: bar.update(task, description=what))
    typer.echo(table.markdown())


@app.command()
def learn(
    teacher: Annotated[str, typer.Option(help="The search whose games it learns from.")] = "alpha_beta:depth=6",
    games: Annotated[int, typer.Option(min=20, help="Games of it against itself.")] = 40000,
    epochs: Annotated[int, typer.Option(min=1, help="Passes over their positions.")] = 16,
    seed: Annotated[int, typer.Option(min=0, help="Of the games and of the learning.")] = 0,
    workers: Annotated[int, typer.Option(min=1, help="Processes that play.")] = 2,
    output: Annotated[Path, typer.Option(help="The folder to write.")] = Path("runs/bao-evaluation"),
) -> None:
    """Learn the evaluation of alpha_beta_learned from games of a search."""
    from asobiba.baselines.bao.learning import LESSON
    from asobiba.baselines.search import rows_learning
    from asobiba.core import game

    rows_learning.learn(game("bao"), LESSON, teacher, games, output, epochs=epochs, seed=seed, workers=workers)


@app.command("learn-td")
def learn_td(
    rounds: Annotated[int, typer.Option(min=1, help="Rounds of games against itself.")] = 500,
    games: Annotated[int, typer.Option(min=1, help="Games of a round, in chunks of 50.")] = 3000,
    temperature: Annotated[float, typer.Option(min=0, help="Of the choice of moves, in points of a score.")] = 8.0,
    random: Annotated[float, typer.Option(min=0, max=1, help="How often a move is drawn from all.")] = 0.03,
    decay: Annotated[float, typer.Option(min=0, max=1, help="Lambda.")] = 0.8,
    evaluated: Annotated[int, typer.Option(min=2, help="Games against each opponent after every 50th round.")] = 200,
    seed: Annotated[int, typer.Option(min=0, help="Of the games and of the learning.")] = 0,
    workers: Annotated[int, typer.Option(min=1, help="Processes that play.")] = 2,
    output: Annotated[Path, typer.Option(help="The folder to write.")] = Path("runs/bao-td"),
) -> None:
    """Learn the values of td from its games against itself. Needs PyTorch, of the extra sb3."""
    from asobiba.baselines.bao.learning import COURSE
    from asobiba.baselines.search import temporal_difference as td
    from asobiba.core import game

    settings = td.Settings(
        rounds, games, openings=10, temperature=temperature, random=random, decay=decay, seed=seed, every=50
    )
    td.learn(game("bao"), COURSE, settings, output, workers=workers, evaluated=evaluated)
