"""Further commands of `asobiba league`: test, submit, swiss, simulate, cycles, skill, references."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from asobiba.arena.commands import (
    ExecutorName,
    GameName,
    Jobs,
    Parameters,
    PublicSeed,
    RayAddress,
    StorePlace,
    TimeLimit,
    Trusted,
    Wide,
    league,
    make_runner,
    open_store,
    ruleset_of,
    stored_results,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from asobiba.arena.match import Match, MatchRecord


@league.command("test")
def league_test(
    game: GameName,
    a: Annotated[str, typer.Argument(help="The agent that is claimed to be better.")],
    b: Annotated[str, typer.Argument(help="The agent that it is compared with.")],
    elo0: Annotated[float, typer.Option(help="Elo difference A - B under the first hypothesis.")] = 0.0,
    elo1: Annotated[float, typer.Option(help="Elo difference A - B under the second hypothesis.")] = 20.0,
    alpha: Annotated[
        float, typer.Option(help="Probability of accepting the second hypothesis when the first is true.")
    ] = 0.05,
    beta: Annotated[
        float, typer.Option(help="Probability of accepting the first hypothesis when the second is true.")
    ] = 0.05,
    games: Annotated[int, typer.Option("--games", "-n", min=2, help="Most games that are played.")] = 20_000,
    seed: PublicSeed = None,
    param: Parameters = None,
    jobs: Jobs = None,
    time_limit: TimeLimit = 10.0,
    trust: Trusted = None,
) -> None:
    """Is A better than B? Plays pairs of games until it is decided (a sequential probability ratio test)."""
    from asobiba.arena.league import check_agents
    from asobiba.arena.secret import Secret
    from asobiba.arena.sequential import SequentialTest, run_test

    ruleset = ruleset_of(game, param)
    runner = make_runner("local", jobs, time_limit, None, trust)
    check_agents(ruleset, [a, b], runner)
    test, secret = SequentialTest(elo0, elo1, alpha, beta), Secret.chosen(seed)
    for _ in run_test(ruleset, [a, b], runner, test, games, secret):
        low, high = test.bounds
        print(
            f"{test.games} games: {a} scores {100 * test.score:.1f} %, ratio {test.ratio:.2f} "
            f"({low:.2f} to {high:.2f})",
            file=sys.stderr,
            flush=True,
        )
    pairs = ", ".join(f"{k / 2:g}: {n}" for k, n in enumerate(test.pairs))
    if test.accepted is None:
        print(f"Undecided after {test.games} games: {a} scores {100 * test.score:.1f} % against {b}.")
    else:
        print(f"Accepted after {test.games} games: {a} stands about {test.accepted:g} Elo above {b}.")
    print(f"Points of the pairs, 0 to 2: {pairs}")
    print(secret.told)


@league.command("submit")
def league_submit(
    game: GameName,
    file: Annotated[str, typer.Argument(help="A strategy (.py, .yaml), a policy (.safetensors, .zip), or a program.")],
    games: Annotated[
        int, typer.Option("--games", "-n", min=2, help="Games against each opponent; seats are swapped.")
    ] = 20,
    opponents: Annotated[
        int, typer.Option(min=0, help="Number of opponents from the league, after the reference agents.")
    ] = 100,
    seed: PublicSeed = None,
    param: Parameters = None,
    store: StorePlace = None,
    jobs: Jobs = None,
    time_limit: TimeLimit = 10.0,
    trust: Trusted = None,
    executor: ExecutorName = "local",
    ray_address: RayAddress = None,
) -> None:
    """Submits an agent: checks it, plays it against the reference agents and shows its place."""
    from asobiba.arena.secret import Secret
    from asobiba.arena.standings import shown_names
    from asobiba.arena.submit import agent_text, submit
    from asobiba.arena.terminal import Progress, print_standings

    ruleset = ruleset_of(game, param)
    runner = make_runner(executor, jobs, time_limit, ray_address, trust)
    text = agent_text(file, Path("runs") / "league" / "submissions" / ruleset.game.name, ruleset.game)
    bars: dict[str, tuple[Progress, list[int]]] = {}

    def report(title: str, total: int, records: list) -> None:
        progress, done = bars.setdefault(title, (Progress(total, f"{shown_names([text])[text]} {title}"), [0]))
        done[0] += len(records)
        progress.show(done[0])

    with open_store(ruleset, store, create=True) as kept:
        secret = None if seed is None else Secret.of_seed(seed)
        entry = submit(ruleset, text, kept, runner, games, opponents, secret, report)
        print_standings(entry.table)
        name = shown_names([line.agent for line in entry.table.lines])[entry.agent]
        print(f"{name} takes place {entry.place} of {entry.of}. It plays as {entry.agent}. Results: {kept.place}")


@league.command("swiss")
def league_swiss(
    game: GameName,
    agents: Annotated[
        str | None, typer.Option(help="Play only these agents: one quoted text, separated by spaces.")
    ] = None,
    rounds: Annotated[int, typer.Option(min=1, help="Number of rounds.")] = 5,
    games: Annotated[int, typer.Option("--games", "-n", min=2, help="Games of each pairing; seats are swapped.")] = 10,
    seed: PublicSeed = None,
    param: Parameters = None,
    store: StorePlace = None,
    jobs: Jobs = None,
    time_limit: TimeLimit = 10.0,
    trust: Trusted = None,
    wide: Wide = False,
) -> None:
    """Plays a Swiss tournament: agents of similar score meet in each round. It resumes where it stopped."""
    from asobiba.arena.league import check_agents, league_agents, play_missing
    from asobiba.arena.secret import Secret
    from asobiba.arena.standings import standings
    from asobiba.arena.swiss import play_swiss
    from asobiba.arena.terminal import print_standings

    ruleset = ruleset_of(game, param)
    names = agents.split() if agents is not None else league_agents(ruleset.game)
    runner = make_runner("local", jobs, time_limit, None, trust)
    check_agents(ruleset, names, runner)
    secret = None if seed is None else Secret.of_seed(seed)
    with open_store(ruleset, store, create=True) as kept:

        def play(matches: list[Match]) -> Iterator[list[MatchRecord]]:
            return play_missing(ruleset, matches, kept, runner, secret=secret)

        for number, points in enumerate(play_swiss(ruleset, names, rounds, games, seed, play, kept), 1):
            best = ", ".join(f"{name} {points[name]:g}" for name in sorted(points, key=lambda n: -points[n])[:3])
            print(f"Round {number} of {rounds}: {best}", file=sys.stderr)
        print_standings(standings(ruleset, stored_results(ruleset, kept)), wide)


@league.command("simulate")
def league_simulate(
    agents: Annotated[int, typer.Option(min=2, max=100_000, help="Number of simulated agents.")] = 1000,
    games: Annotated[int, typer.Option("--games", "-n", min=2, help="Mean number of games of each agent.")] = 100,
    schedule: Annotated[list[str] | None, typer.Option(help="Simulate only this schedule; may be repeated.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the simulation.")] = 0,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Picture to write: .svg, .png or .pdf.")] = None,
) -> None:
    """Compares schedules on simulated agents: rank correlation with the true order, by games played."""
    from rich.table import Table

    from asobiba.arena.lists import console
    from asobiba.arena.simulate import SCHEDULES, plot, simulate

    curves = {name: simulate(agents, name, games, seed) for name in schedule or SCHEDULES}
    table = Table("schedule", "games per agent", "rank correlation", title=f"{agents} simulated agents, seed {seed}")
    for name, points in curves.items():
        for point in points:
            table.add_row(name, f"{point.games:.1f}", f"{point.correlation:.4f}")
    console().print(table)
    if output is not None:
        output.parent.mkdir(parents=True, exist_ok=True)
        plot(curves, str(output), f"{agents} agents")
        print(f"Written: {output}")


@league.command("cycles")
def league_cycles(game: GameName, param: Parameters = None, store: StorePlace = None) -> None:
    """Shows cycles, in which each agent beats the next, and the alpha-Rank of the league."""
    from asobiba.arena.cycles import find_cycles
    from asobiba.core.answers import printable

    ruleset = ruleset_of(game, param)
    with open_store(ruleset, store, create=False) as kept:
        found = find_cycles(stored_results(ruleset, kept))
    print("alpha-Rank:")
    for share, name in sorted(zip(found.shares, found.agents), reverse=True)[:20]:
        print(f"  {100 * share:5.1f} %  {printable(name)}")
    print(f"{len(found.triples)} significant cycles of three")
    for names, (ab, bc, ca) in found.triples[:20]:
        a, b, c = map(printable, names)
        print(f"  {a} beats {b} ({100 * ab:.0f} %), {b} beats {c} ({100 * bc:.0f} %), {c} beats {a} ({100 * ca:.0f} %)")


@league.command("skill")
def league_skill(game: GameName, param: Parameters = None, store: StorePlace = None) -> None:
    """Rates agents with OpenSkill, for games of more than two seats and of teams."""
    from rich.table import Table

    from asobiba.arena.lists import console, plain
    from asobiba.arena.teams import plackett_luce

    ruleset = ruleset_of(game, param)
    with open_store(ruleset, store, create=False) as kept:
        ratings = plackett_luce(stored_results(ruleset, kept))
    table = Table("#", "agent", "mu", "±", title=plain(f"{ruleset!r}: OpenSkill (Plackett-Luce)"))
    for rating in ratings:
        table.add_row(str(rating.rank), plain(rating.agent), f"{rating.value:.2f}", f"{rating.high - rating.value:.2f}")
    console().print(table)


@league.command("references")
def league_references(game: GameName) -> None:
    """Lists the reference agents of a game: three levels in five classes."""
    from asobiba.arena.references import references

    ruleset = ruleset_of(game, None)
    for reference in references(ruleset.game):
        print(f"{reference.level:7} {reference.kind:10} {reference.agent}")
