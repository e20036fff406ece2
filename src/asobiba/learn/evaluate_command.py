"""`asobiba evaluate GAME AGENT ...`."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import combinations, permutations
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from asobiba.arena.commands import Parameters, Trusted

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from asobiba.arena.evaluation import Evaluation
    from asobiba.core import Agent, Ruleset
    from asobiba.learn.run_evaluation import Run


def evaluate(
    game: Annotated[
        str, typer.Argument(metavar="GAME_OR_RUN", help="The game, as `asobiba games` lists it, or a run folder.")
    ],
    agents: Annotated[
        list[str] | None,
        typer.Argument(help="One agent, or several, which then all meet each other; none for a run: its policy plays."),
    ] = None,
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
    exploit: Annotated[
        int | None,
        typer.Option(min=1, metavar="STEPS", help="Also train an exploiter against each agent, for so many decisions."),
    ] = None,
    record: Annotated[
        str | None, typer.Option(metavar="NAME", help="Write the games as Minari's data sets NAME-N/SEAT-v0.")
    ] = None,
    write: Annotated[
        bool, typer.Option("--write", help="Write the results into the run's run.json and README.md.")
    ] = False,
    trust: Trusted = None,
) -> None:
    """Measures agents against each other in games that differ, every opening from both sides.

    The table tells how many of the games were different ones; intervals come from those.
    A run of asobiba train is evaluated in its own game, against the opponents of its configuration or those of -a.
    Example: asobiba evaluate GAME random -a random -n 100
    """
    from asobiba.arena import evaluation
    from asobiba.arena.commands import ruleset_of
    from asobiba.arena.league import league_agents
    from asobiba.arena.trust import Trust, make_player
    from asobiba.progress import progress_bar

    run = _run(game, agents, param, write)
    if run is not None:
        agents = [f"sb3:{run.policy}"]
    ruleset = ruleset_of(game, param) if run is None else run.ruleset
    plies = ruleset.opened(openings).opening_plies
    alone, names = ruleset.num_players == 1, list(dict.fromkeys(agents or ()))
    single = len(names) == 1
    _check_opponents(ruleset, against, single)
    if run is not None and not alone:
        against = against or run.opponents
    single = single and not alone
    others = (against or [name for name in league_agents(ruleset.game) if name != names[0]]) if single else []
    built = {name: make_player(ruleset.game, name, Trust.of(trust)) for name in dict.fromkeys([*names, *others])}
    pairs = _pairs(ruleset, names, others if single else None)
    results, exploited = [], []
    try:
        with progress_bar() as bar:
            for number, (one, other) in enumerate(pairs):
                task = bar.add_task(f"{one} - {other}" if other else one, total=games)
                opponent = None if other is None else (other, built[other])
                tell = partial(_advance, bar, task)
                keep = None if record is None else partial(_record, f"{record}-{number}", one, seed)
                own = one, built[one]
                results.append(evaluation.evaluate(ruleset, own, opponent, games, seed, plies, tell, keep=keep))
            for name in names if exploit else ():
                report = partial(_advance, bar, bar.add_task(f"exploiter - {name}", total=exploit))
                settings = {"games": games, "seed": seed, "plies": plies, "report": report}
                exploited.append(_exploit(ruleset, (name, built[name]), exploit, settings))
    finally:
        _close(built.values())
    title = f"{ruleset.game.title}: {f'openings of {plies} random plies' if plies else 'no openings'}, seed {seed}"
    console = _show(title, ruleset, names, results, exploited)
    if output is not None:
        shown = [*names, *(name for name in others if name not in names)]
        _write(output, ruleset.opened(plies), seed, shown, results, exploited)
        console.print(f"Written to {output}")
    if run is not None and write:
        console.print(f"Written: {', '.join(_write_run(run, results, plies, seed))}")


def _write_run(run: Run, results: list[Evaluation], plies: int, seed: int) -> list[str]:
    from asobiba.learn.training import command_line

    return [str(path) for path in run.write([result.as_dict() for result in results], plies, seed, command_line())]


def _close(agents: Iterable[Agent]) -> None:
    for agent in agents:
        agent.close()


def _show(
    title: str, ruleset: Ruleset, names: list[str], results: list[Evaluation], exploited: list[Evaluation]
) -> Console:
    from rich.console import Console

    console = Console()
    for table in _tables(title, ruleset, results):
        console.print(table)
    for result in results:
        for name, lost in ((result.agent, result.forfeits), (result.opponent, result.opponent_forfeits)):
            if lost:
                console.print(
                    f"{name} lost {lost:,} of {result.games:,} games by an illegal action: an error of this agent"
                )
    for result in exploited:
        console.print(_bound(result))
    if len(names) > 2:
        console.print(_cross_table(names, results))
    return console


def _check_opponents(ruleset: Ruleset, against: list[str] | None, single: bool) -> None:
    from asobiba.core import AsobibaError

    if ruleset.num_players == 1 and against:
        raise AsobibaError(f"{ruleset.game.name} is played alone: it has no opponents")
    if against and not single:
        raise AsobibaError("--against is for one agent; several agents meet each other")


def _run(game: str, agents: list[str] | None, param: list[str] | None, write: bool) -> Run | None:
    """The run folder that the first argument names, where it stands alone."""
    from asobiba.core import AsobibaError
    from asobiba.learn.run_evaluation import Run, is_run

    if not agents and is_run(game):
        if param:
            raise AsobibaError("a run is evaluated with its own parameters; name the game and the agent for others")
        return Run(Path(game))
    if not agents:
        raise AsobibaError(f"name an agent; {game} is no run folder, whose policy would play")
    if write:
        raise AsobibaError("--write is for a run folder alone: asobiba evaluate RUN --write")
    return None


def _tables(title: str, ruleset: Ruleset, results: list[Evaluation]) -> Iterator[Table]:
    """The table of scores, then that of the play; both fit into 80 columns."""
    alone = ruleset.num_players == 1
    texts = ("agent",) if alone else ("agent", "opponent")
    told = [((r.agent,) if alone else (r.agent, r.opponent), r) for r in results]
    scores = ("games", "different", "return") if alone else ("games", "different", "score", "95 % interval")
    table = _columns(title, texts, scores)
    for names, r in told:
        share = (f"{100 * r.score:.1f}", f"{100 * r.low:.1f} to {100 * r.high:.1f}")
        table.add_row(*names, str(r.games), str(r.distinct), *((_mean(r),) if alone else share))
    yield table
    times = "ms" if alone else "ms\n(theirs)"
    table = _columns("", texts, (*(() if alone else (*ruleset.players, "return")), "illegal", "steps", times))
    for names, r in told:
        seats = () if alone else (*(f"{100 * seat.score:.1f}" for seat in r.seats), _mean(r))
        illegal = "" if r.illegal is None else f"{100 * r.illegal:.2f} %"
        theirs = "" if r.opponent_milliseconds is None else f"\n({r.opponent_milliseconds:.3g})"
        table.add_row(*names, *seats, illegal, f"{r.length:.1f}", f"{r.milliseconds:.3g}{theirs}")
    yield table


def _mean(result: Evaluation) -> str:
    return f"{result.mean_return:.3f} ± {result.return_half_width:.3f}"


def _columns(title: str, texts: tuple[str, ...], numbers: tuple[str, ...]) -> Table:
    from rich.table import Table

    table = Table(title=title)
    for column in texts:
        table.add_column(column)
    for column in numbers:
        table.add_column(column, justify="right", no_wrap=True)
    return table


def _cross_table(names: list[str], results: list[Evaluation]) -> Table:
    from rich.table import Table

    from asobiba.arena.evaluation import matrix

    table = Table(title="score of the row against the column, per cent")
    for column in ("", *names):
        table.add_column(column, justify="right" if column else "left")
    for name, row in zip(names, matrix(names, results), strict=True):
        table.add_row(name, *("" if value != value else f"{100 * value:.1f}" for value in row))
    return table


def _pairs(ruleset: Ruleset, names: list[str], others: list[str] | None) -> list[tuple[str, str | None]]:
    """The pairs that meet: one agent with each of `others`, or all agents with each other; none in a game of one player."""
    if ruleset.num_players == 1:
        return [(name, None) for name in names]
    if others is not None:
        return [(names[0], other) for other in others]
    # With more than two players, an agent among the others differs from the reverse.
    return [*(combinations(names, 2) if ruleset.num_players == 2 else permutations(names, 2))]


def _bound(r: Evaluation) -> str:
    score = f"{100 * r.score:.1f} ({100 * r.low:.1f} to {100 * r.high:.1f})"
    return (
        f"{r.agent} scores {score} against {r.opponent}, mean return {_mean(r)}: a lower bound on the best answer's, "
        "for this budget"
    )


def _exploit(ruleset: Ruleset, agent: tuple[str, Any], steps: int | None, settings: dict[str, Any]) -> Evaluation:
    from asobiba.core import AsobibaError
    from asobiba.core.errors import MissingExtra

    if ruleset.num_players == 1:
        raise AsobibaError(f"{ruleset.game.name} is played alone: there is nobody to exploit")
    try:
        from asobiba.learn.exploiting import exploit
    except ImportError as error:
        raise MissingExtra("stable-baselines3 with sb3-contrib", "sb3") from error
    return exploit(ruleset, agent, steps or 1, **settings)


def _record(name: str, agent: str, seed: int, ruleset: Ruleset, groups: Any) -> None:
    from asobiba.arena.recording import record_groups

    for written in record_groups(name, ruleset, groups, seed, agent):
        print(f"Written: {written}")


def _advance(bar: Any, task: Any, done: int) -> None:
    bar.update(task, completed=done)


def _write(
    path: Path,
    ruleset: Ruleset,
    seed: int,
    names: list[str],
    results: list[Evaluation],
    exploited: list[Evaluation],
) -> None:
    """Writes the results as the path's ending says; a matrix has no place for those of exploiters."""
    from asobiba.arena import evaluation
    from asobiba.arena.match import parameters_text
    from asobiba.core import AsobibaError

    rows = [result.as_dict() for result in results + exploited]
    if path.suffix == ".json":
        played = {"game": ruleset.game.id, "parameters": json.loads(parameters_text(ruleset.parameters)), "seed": seed}
        rows = [{**played, **row} for row in rows]
        path.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    elif path.suffix == ".csv":
        flat = [
            {
                **{k: v for k, v in row.items() if k != "seats"},
                **{f"{name}_{s['seat']}": s[name] for s in row["seats"] for name in ("score", "low", "high")},
            }
            for row in rows
        ]
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(flat[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(flat)
    elif path.suffix in (".svg", ".png", ".pdf"):
        evaluation.draw_matrix(names, results, path)
    else:
        raise AsobibaError(f"{path} ends in {path.suffix or 'nothing'}; expected .json, .csv, .svg, .png or .pdf")
