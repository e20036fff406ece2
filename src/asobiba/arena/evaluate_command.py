"""`asobiba evaluate GAME AGENT ...`."""

from __future__ import annotations

import csv
import json
from dataclasses import asdict
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any

import typer

from asobiba.arena.commands import Parameters, Trusted


def evaluate(
    game: Annotated[str, typer.Argument(help="The game, as `asobiba games` lists it.")],
    agents: Annotated[list[str], typer.Argument(help="One agent, or several, which then all meet each other.")],
    against: Annotated[
        list[str] | None, typer.Option("--against", "-a", help="Opponent of a single agent; may be given again.")
    ] = None,
    games: Annotated[int, typer.Option("--games", "-n", min=2, help="Games of each pair of agents.")] = 400,
    openings: Annotated[
        int | None,
        typer.Option(
            min=0, help="Random plies before the first move.  [default: 4 where nothing else varies the games]"
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of openings, games and agents.")] = 0,
    param: Parameters = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Also write the results here: .json, .csv, or .svg and .png (the matrix)."),
    ] = None,
    trust: Trusted = None,
) -> None:
    """Measures agents against each other in games that differ, every opening from both sides.

    The table tells how many of the games were different ones; intervals come from those.
    Example: asobiba evaluate GAME random -a random -n 100
    """
    from rich.console import Console
    from rich.table import Table

    from asobiba.arena import evaluation
    from asobiba.arena.commands import ruleset_of
    from asobiba.arena.league import league_agents
    from asobiba.arena.trust import Trust, make_player
    from asobiba.core import AsobibaError
    from asobiba.progress import progress_bar

    ruleset = ruleset_of(game, param)
    evaluation.require_two_players(ruleset)
    plies = evaluation.opening_plies(ruleset, openings)
    names = list(dict.fromkeys(agents))
    single = len(names) == 1
    if against and not single:
        raise AsobibaError("--against is for one agent; several agents meet each other")
    others = (against or [name for name in league_agents(ruleset.game) if name != names[0]]) if single else []
    built = {name: make_player(ruleset.game, name, Trust.of(trust)) for name in dict.fromkeys([*names, *others])}
    pairs = [(names[0], other) for other in others] if single else list(combinations(names, 2))
    results = []
    try:
        with progress_bar() as bar:
            for one, other in pairs:
                task = bar.add_task(f"{one} - {other}", total=games)
                both = (one, built[one]), (other, built[other])
                tell = partial(_advance, bar, task)
                results.append(evaluation.evaluate(ruleset, *both, games, seed, plies, tell))
    finally:
        for agent in built.values():
            agent.close()
    console = Console()
    table = Table(title=f"{ruleset.game.title}: openings of {plies} random plies, seed {seed}")
    for column in (
        "agent",
        "opponent",
        "games",
        "different",
        "score",
        "95 % interval",
        *ruleset.players,
        "steps",
        "ms",
    ):
        table.add_column(column, justify="left" if column in ("agent", "opponent") else "right")
    for r in results:
        table.add_row(
            r.agent, r.opponent, str(r.games), str(r.distinct), f"{100 * r.score:.1f}",
            f"{100 * r.low:.1f} to {100 * r.high:.1f}", *(f"{100 * seat:.1f}" for seat in r.seats), f"{r.length:.0f}",
            f"{r.milliseconds:.3g}",
        )  # fmt: skip
    console.print(table)
    if output is not None:
        _write(output, [*names, *(name for name in others if name not in names)], results)
        console.print(f"Written to {output}")


def _advance(bar: Any, task: Any, done: int) -> None:
    bar.update(task, completed=done)


def _write(path: Path, names: list[str], results: list) -> None:
    from asobiba.arena import evaluation
    from asobiba.core import AsobibaError

    rows = [asdict(result) for result in results]
    if path.suffix == ".json":
        path.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    elif path.suffix == ".csv":
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, [name for name in rows[0] if name != "seats"], lineterminator="\n")
            writer.writeheader()
            writer.writerows({k: v for k, v in row.items() if k != "seats"} for row in rows)
    elif path.suffix in (".svg", ".png", ".pdf"):
        evaluation.draw_matrix(names, results, path)
    else:
        raise AsobibaError(f"{path} ends in {path.suffix or 'nothing'}; expected .json, .csv, .svg, .png or .pdf")
