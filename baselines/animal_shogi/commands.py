"""Commands of animal shogi: `pruning`, `tune`, `tutorial`, `strength`, `listing`, `browser`, and those around the table of exact values."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from asobiba.baselines.animal_shogi import table_commands
from asobiba.progress import progress_bar

app = typer.Typer(help="Animal shogi: search, evaluation, exact values.", no_args_is_help=True)
app.registered_commands += table_commands.app.registered_commands


def _rules(legal_check: bool = False):
    from asobiba.core import game

    return game("animal_shogi").ruleset(legal_check=legal_check)


@app.command()
def pruning(depth: Annotated[int, typer.Option(help="Plies.", min=2, max=12)] = 7) -> None:
    """Measures what each step of pruning saves, at the same depth on the same positions."""
    from rich.console import Console
    from rich.table import Table

    from asobiba.baselines.animal_shogi.pruning import step_count, steps

    table = Table(title=f"Pruning, depth {depth}")
    for name in ("step", "positions visited", "of minimax", "seconds", "million/s", "value as minimax", "move as good"):
        table.add_column(name, justify="left" if name == "step" else "right")
    first = 0
    with progress_bar(counted=True) as bar:
        task = bar.add_task("searching", total=step_count())
        for row in steps(_rules(), depth):
            first = first or row.nodes
            speed = row.nodes / row.seconds / 1e6
            table.add_row(
                row.name,
                f"{row.nodes:,}",
                f"{row.nodes / first:.4%}",
                f"{row.seconds:.3f}",
                f"{speed:.1f}",
                f"{row.equal} of {row.positions}",
                f"{row.same_move_value} of {row.positions}",
            )
            bar.advance(task)
    Console().print(table)


@app.command()
def tune(
    games: Annotated[int, typer.Option(help="Games of self-play to fit the weights to.", min=20)] = 8000,
    match: Annotated[int, typer.Option(help="Games of the fitted weights against the defaults.", min=2)] = 1000,
    depth: Annotated[int, typer.Option(help="Plies of both searches.", min=1, max=10)] = 3,
    seed: Annotated[int, typer.Option(help="Of the random openings.", min=0)] = 0,
) -> None:
    """Fits the evaluation's weights to self-play and plays them against the defaults."""
    from rich.console import Console
    from rich.table import Table

    from asobiba.baselines.animal_shogi import tuning
    from asobiba.baselines.animal_shogi.search_rules import TERMS, WEIGHTS

    ruleset = _rules()
    with progress_bar(counted=True) as bar:
        task = bar.add_task("self-play", total=games // 2 * 2)
        weights = tuning.fit(ruleset, games, depth, seed=seed, progress=lambda n: bar.advance(task, n))
        task = bar.add_task("match", total=match)
        gain = tuning.measure(ruleset, weights, match, depth, progress=lambda n: bar.advance(task, n))
    table = Table(title=f"Weights fitted by {games:,} games of self-play at depth {depth}")
    for name in ("term", "default", "fitted", "what it counts"):
        table.add_column(name, justify="right" if name in ("default", "fitted") else "left")
    for name, (weight, text) in TERMS.items():
        table.add_row(name, str(weight), str(weights.get(name, WEIGHTS[name])), text)
    console = Console()
    console.print(table)
    low, high = (gain.elo(gain.score + sign * 1.96 * gain.error) for sign in (-1, 1))
    console.print(
        f"Fitted against default: {gain.wins} won, {gain.draws} drawn, {gain.losses} lost: {gain.score:.1%}, "
        f"{gain.elo(gain.score):+.0f} Elo (95 %: {low:+.0f} to {high:+.0f})"
    )


@app.command()
def tutorial(
    games: Annotated[int, typer.Option(help="Games a cell, even.", min=2)] = 400,
    positions: Annotated[
        int, typer.Option(help="Positions of the exact values, won and drawn ones each.", min=1)
    ] = 2000,
    agent: Annotated[
        list[str] | None, typer.Option("-a", "--agent", help="More agents and policies to hold to the exact values.")
    ] = None,
    output: Annotated[Path, typer.Option(help="The Markdown page.")] = Path("animal_shogi-tutorial.md"),
) -> None:
    """Measures the tutorial's ideas one by one, and agents against the exact values (which need `asobiba solve animal_shogi`)."""
    from asobiba.baselines.animal_shogi.tutorial_page import JUDGED, write_page

    command = f"asobiba animal_shogi tutorial --games {games} --positions {positions}"
    command += "".join(f" -a {name}" for name in agent or ())
    with progress_bar() as bar:
        task = bar.add_task("measuring", total=None)
        agents = (*JUDGED, *(agent or ()))
        write_page(output, command, games, positions, agents, lambda what: bar.update(task, description=what))
    typer.echo(f"Written to {output}")


@app.command()
def strength(
    agents: Annotated[list[str], typer.Argument(help="Agents, and policies such as sb3:FILE.")],
    positions: Annotated[int, typer.Option(help="Won and drawn positions each.", min=1)] = 2000,
    games: Annotated[int, typer.Option(help="Own games against each of two opponents, even.", min=2)] = 100,
) -> None:
    """The share of an agent's moves that keep the exact value. Needs `asobiba solve animal_shogi`."""
    from asobiba.baselines.animal_shogi.solver.table import ValueTable
    from asobiba.baselines.animal_shogi.tutorial_page import strength_table

    typer.echo(strength_table(ValueTable.open(None), _rules(), agents, positions, games, lambda what: None).markdown())


@app.command()
def listing(
    position: Annotated[str, typer.Argument(help="SFEN, such as 'gle/1c1/1C1/ELG b -'.")] = "gle/1c1/1C1/ELG b -",
) -> None:
    """The board and the numbered legal moves, as the Japanese console version prints them."""
    from asobiba.core import AsobibaError
    from asobiba.envs.animal_shogi.notation import console_text, text_to_state

    ruleset = _rules()
    try:
        typer.echo(console_text(ruleset, text_to_state(ruleset, position)))
    except AsobibaError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(2) from None


@app.command()
def browser(
    agent: Annotated[
        str, typer.Option(help="Who plays against you, as `asobiba agents` lists it.")
    ] = "alpha_beta:seconds=1",
    seat: Annotated[int, typer.Option(help="Your seat: 0 moves first, 1 second, -1 both.", min=-1, max=1)] = 0,
    port: Annotated[int, typer.Option(help="Port of the local page; 0 takes a free one.", min=0, max=65535)] = 8000,
    position: Annotated[str, typer.Option(help="Where to begin, as SFEN.")] = "",
    ponder: Annotated[bool, typer.Option(help="The agent thinks while you do.")] = True,
) -> None:
    """Plays against an agent on a page of the local browser."""
    from asobiba.targets.playground.local import serve

    serve(_rules(), agent, seat, port=port, position=position or None, ponder=ponder)
