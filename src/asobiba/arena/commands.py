"""`asobiba match`, `asobiba league`, `asobiba replay`. They import their dependencies when they run."""

from __future__ import annotations

import contextlib
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from asobiba.arena.executors import Executor
    from asobiba.arena.results import Results
    from asobiba.arena.store import Store
    from asobiba.arena.trust import Trust
    from asobiba.core import Ruleset
    from asobiba.protocols.sandbox import Sandbox

GameName = Annotated[str, typer.Argument(help="The game, as listed by `asobiba games`.")]
Parameters = Annotated[
    list[str] | None,
    typer.Option("--param", "-p", metavar="KEY=VALUE", help="Set a parameter of the game; may be repeated."),
]
Jobs = Annotated[
    int | None, typer.Option("--jobs", "-j", min=1, help="Number of worker processes.  [default: one per core]")
]
TimeLimit = Annotated[
    float, typer.Option(min=0.001, metavar="SECONDS", help="An agent that takes longer for a move loses the game.")
]
ExecutorName = Annotated[
    str, typer.Option("--executor", help="Where games are played: local (processes on this machine) or ray.")
]
Wide = Annotated[bool, typer.Option("--wide", help="Show all columns and the cross table of scores.")]
Undamaged = Annotated[bool, typer.Option("--undamaged", help="Ignore matches that do not agree with their digests.")]
Trusted = Annotated[
    list[str] | None,
    typer.Option(
        "--trust",
        metavar="AGENT",
        help="Run the code of this agent without containment: its name, its full text, or 'all'. May be repeated.",
    ),
]
RayAddress = Annotated[str | None, typer.Option(help="Address of the Ray cluster.  [default: a local one]")]
StorePlace = Annotated[
    str | None,
    typer.Option(
        "--store",
        help="SQLite file, postgresql:// URL without a password, or @FILE that holds one.  [default: $ASOBIBA_STORE, or "
        "runs/league/GAME.sqlite]",
    ),
]
PublicSeed = Annotated[
    int | None,
    typer.Option(
        "--seed",
        min=0,
        help="Public seed: the games are the same every time, and anybody can predict their random numbers.  [default: a secret]",
    ),
]
PublishedSecret = Annotated[
    str | None,
    typer.Option("--secret", metavar="HEX", help="Published secret of an earlier run: plays its games again."),
]

_FAULTS = 200
_DEMO, _EXTENSION, _EXTENSIONS = 1.5, 0.5, 8  # minutes; how often they are prolonged at most

league = typer.Typer(no_args_is_help=True, help="Plays and shows the league of a game.")


def ruleset_of(game: str, parameters: list[str] | None) -> Ruleset:
    """The game with the parameters of the command line."""
    import yaml

    from asobiba.core import GameParameterError
    from asobiba.core import game as find
    from asobiba.core.yaml_text import read_yaml

    found = find(game)
    values: dict[str, Any] = {}
    for text in parameters or ():
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise GameParameterError(f"cannot read the parameter {text!r}: expected KEY=VALUE, such as size=9")
        key, value = key.strip(), value.strip()
        try:
            read = read_yaml(value)
        except yaml.YAMLError:
            read = value
        if isinstance(found.parameters.get(key), str) and isinstance(read, (int, float)):
            read = value  # text that looks like a number, such as rules=0.6
        values[key] = _tuples(read)
    return found.ruleset(**values)


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def make_runner(
    name: str, jobs: int | None, time_limit: float, address: str | None, trust: list[str] | None
) -> Executor:
    """Agents that play, on these terms."""
    from asobiba.arena.places import make_executor
    from asobiba.arena.trust import Trust

    options: dict[str, Any] = {"jobs": jobs, "time_limit": time_limit, "trust": Trust.of(trust)}
    if name == "ray":
        options["address"] = address
    found = make_executor(name, **options)
    found.compiling = _say_compiling
    return found


def say_containment(ruleset: Ruleset, agents: list[str], trust: Trust, containment: Sandbox) -> None:
    """Says which agents are contained and how, on the standard error stream."""
    from asobiba.arena.trust import contained

    inside = [text for text in dict.fromkeys(agents) if contained(ruleset.game, text, trust)]
    if not inside:
        return
    kind = containment.name
    print(f"Contained by {kind}: {', '.join(inside)} (--trust AGENT runs one without)", file=sys.stderr)
    if kind == "limits":
        print(
            "Neither bubblewrap nor Landlock works here: files and network are open to these agents. On Debian: "
            "apt-get install bubblewrap",
            file=sys.stderr,
        )


def _say_compiling(agents: list[str]) -> None:
    print(f"Compiling for {', '.join(agents)}: about {8 * len(agents)} s of processor time, this once", file=sys.stderr)


def open_store(ruleset: Ruleset, place: str | None, create: bool) -> Store:
    """The store of the league."""
    from asobiba.arena.store import Store, chosen_store

    store = Store(chosen_store(ruleset.game, place), create)
    store.require(ruleset)
    return store


def match(
    game: GameName,
    agents: Annotated[list[str], typer.Argument(help="One agent per seat.")],
    games: Annotated[
        int,
        typer.Option("--games", "-n", min=1, help="Number of games; seats are swapped between the games of a pair."),
    ] = 100,
    seed: PublicSeed = None,
    secret: PublishedSecret = None,
    param: Parameters = None,
    jobs: Jobs = None,
    time_limit: TimeLimit = 10.0,
    store: Annotated[str | None, typer.Option(help="Save the games in this league store.")] = None,
    executor: ExecutorName = "local",
    ray_address: RayAddress = None,
    trust: Trusted = None,
    wide: Wide = False,
) -> None:
    """Plays agents against each other and prints their scores with confidence intervals.

    Each deal is played with all seatings; with more than four seats, with as many seatings as seats. Example: asobiba match
    GAME random random -n 1000
    """
    from asobiba.arena.league import check_agents, play_series
    from asobiba.arena.person import setting_text
    from asobiba.arena.schedule import meetings
    from asobiba.arena.secret import Secret
    from asobiba.arena.standings import as_result, standings
    from asobiba.arena.submit import names_in_table
    from asobiba.arena.terminal import Progress, print_series
    from asobiba.core import AsobibaError

    ruleset = ruleset_of(game, param)
    if len(agents) != ruleset.num_players:
        raise AsobibaError(
            f"{ruleset.game.name} has {ruleset.num_players} seats: name an agent for each, not {len(agents)} "
            f"(asobiba agents {ruleset.game.name} lists them)"
        )
    given = None if seed is None and secret is None else Secret.chosen(seed, secret)
    runner = make_runner(executor, jobs, time_limit, ray_address, trust)
    if told := setting_text(ruleset):
        print(told)
    say_containment(ruleset, agents, runner.terms.trust, runner.terms.containment)
    check_agents(ruleset, agents, runner)
    names = names_in_table(ruleset, agents, runner.terms.trust)
    kept = open_store(ruleset, store, create=True) if store else None
    chosen = kept.secret(ruleset, given) if kept else given or Secret.draw()
    wanted = chosen.deal_all(meetings(ruleset, agents, games, chosen.seed))
    with Progress(len(wanted), f"{ruleset.game.title}: {' - '.join(names[text] for text in agents)}") as progress:

        def report(done: int, records: list) -> None:
            if kept:
                kept.write(records, chosen)
            progress.show(done)

        records = play_series(ruleset, wanted, runner, report)
    shown = [record.renamed(names) for record in records]
    table = standings(ruleset, [as_result(record) for record in shown])
    print_series(table, [names[text] for text in agents], shown, wide)
    if kept:
        kept.publish_secrets(ruleset)
        kept.close()
    print(chosen.told)


@league.command("run")
def league_run(
    game: GameName,
    agents: Annotated[
        str | None, typer.Option(help="Play only these agents: one quoted text, separated by spaces.")
    ] = None,
    agent: Annotated[
        list[str] | None, typer.Option("--agent", "-a", help="Add an agent, such as sb3:PATH; may be repeated.")
    ] = None,
    gauntlet: Annotated[
        list[str] | None, typer.Option(help="Only pairings with this agent are played; may be repeated.")
    ] = None,
    games: Annotated[int, typer.Option("--games", "-n", min=1, help="Games per pairing; seats are swapped.")] = 200,
    seed: PublicSeed = None,
    secret: PublishedSecret = None,
    minutes: Annotated[
        float | None, typer.Option(min=0.01, help="Stop after this time; the next call resumes.")
    ] = None,
    param: Parameters = None,
    store: StorePlace = None,
    jobs: Jobs = None,
    time_limit: TimeLimit = 10.0,
    executor: ExecutorName = "local",
    ray_address: RayAddress = None,
    trust: Trusted = None,
    wide: Wide = False,
    publish: Annotated[Path | None, typer.Option(help="Folder for README.md, results.csv and report.html.")] = None,
    demo: Annotated[bool, typer.Option("--demo", help="Play a two-minute league and write its report.")] = False,
) -> None:
    """Plays the missing matches of a league, then prints its table.

    It can be stopped at any time; the next call resumes. Adding agents or games plays only the new matches.

    The seeds of the games are derived from a secret, which the store keeps until the league is published.
    """
    from asobiba.arena.league import league_agents, run_league
    from asobiba.arena.ledger import seeds_note
    from asobiba.arena.secret import Secret
    from asobiba.arena.standings import standings
    from asobiba.arena.terminal import LeagueProgress, print_standings

    started = time.monotonic()
    ruleset = ruleset_of(game, param)
    given = None if seed is None and secret is None else Secret.chosen(seed, secret)
    names = agents.split() if agents is not None else league_agents(ruleset.game)
    names += [name for name in agent or () if name not in names]
    if demo:
        minutes = minutes or _DEMO
        publish = publish or Path("runs") / "league" / f"{ruleset.game.name}-demo"
    runner = make_runner(executor, jobs, time_limit, ray_address, trust)
    say_containment(ruleset, names, runner.terms.trust, runner.terms.containment)
    with open_store(ruleset, store, create=True) as kept:
        if kept.upgraded:
            print(f"The store was of an older format; a copy of it is {kept.upgraded}", file=sys.stderr)
        with LeagueProgress(ruleset, kept.results(ruleset)) as progress:
            until = None if minutes is None else started + 60 * minutes
            state = run_league(ruleset, names, kept, runner, games, given, gauntlet or (), until, progress.advance)
            # On a busy machine compiling alone may use up the time; a demo's table should have all agents.
            for _ in range(_EXTENSIONS):
                if not demo or not state.left or set(names) <= set(kept.results(ruleset).agents):
                    break
                until = time.monotonic() + 60 * _EXTENSION
                state = run_league(ruleset, names, kept, runner, games, given, gauntlet or (), until, progress.advance)
        results = kept.results(ruleset)
        print_standings(standings(ruleset, results, seeds=seeds_note(kept.secrets(ruleset))), wide)
        if state.left:
            print(f"{state.left} of {state.wanted} matches are left; the same command goes on with them.")
        print(f"Results: {kept.place}")
        if publish is not None and results:
            _publish(ruleset, kept, publish)


@league.command("take")
def league_take(
    game: GameName,
    folder: Annotated[Path, typer.Argument(help="Folder of the published league.")],
    again: Annotated[
        list[str] | None,
        typer.Option("--again", metavar="AGENT", help="Leave this agent's games to be played; may be repeated."),
    ] = None,
    param: Parameters = None,
    store: StorePlace = None,
    jobs: Jobs = None,
    time_limit: TimeLimit = 10.0,
    trust: Trusted = None,
) -> None:
    """Takes games of a published league into a store, so that `league run` plays only those of agents that have changed.

    A game of every seating is played again first and must come out the same.
    """
    from asobiba.arena.taking import compare_games, sampled, take_games
    from asobiba.arena.terminal import Progress

    ruleset = ruleset_of(game, param)
    runner = make_runner("local", jobs, time_limit, None, trust)
    file, compared = sampled(ruleset, folder, again or ())
    with Progress(len(compared), "Compared") as progress:
        compare_games(compared, runner, lambda done, _: progress.show(done))
    with open_store(ruleset, store, create=True) as kept:
        taken = take_games(file, again or (), kept)
    print(
        f"{taken} games of {folder} are in {kept.place}; {len(compared)} of them were played again and came out the same."
    )


@league.command("table")
def league_table(
    game: GameName,
    param: Parameters = None,
    store: StorePlace = None,
    form: Annotated[str, typer.Option("--format", "-f", help="Format: text, markdown, csv or json.")] = "text",
    level: Annotated[float, typer.Option(min=0.5, max=0.999, help="Level of the confidence intervals.")] = 0.95,
    wide: Wide = False,
    undamaged: Undamaged = False,
) -> None:
    """Prints the table of the league."""
    from asobiba.arena.ledger import seeds_note
    from asobiba.arena.standings import standings, to_csv, to_json, to_markdown
    from asobiba.arena.terminal import print_standings
    from asobiba.core import AsobibaError

    writers = {
        "text": lambda table: print_standings(table, wide),
        "markdown": to_markdown,
        "csv": to_csv,
        "json": to_json,
    }
    if form not in writers:
        raise AsobibaError(f"no format is called {form!r}; there are: {', '.join(writers)}")
    ruleset = ruleset_of(game, param)
    with open_store(ruleset, store, create=False) as kept:
        results, seeds = stored_results(ruleset, kept, undamaged), seeds_note(kept.secrets(ruleset))
        text = writers[form](standings(ruleset, results, level, seeds))
    if text is not None:
        print(text, end="")


def stored_results(ruleset: Ruleset, store: Store, undamaged: bool = False) -> Results:
    """The results under this ruleset, of which there must be some."""
    from asobiba.arena.store import StoreError

    results = store.results(ruleset, undamaged, contents=True)
    if not len(results):
        held = "; ".join(f"{g} v{v} {p}: {n} matches" for g, v, p, n in store.contents()) or "nothing"
        raise StoreError(f"{store.place} holds no results of {ruleset!r}. It holds: {held}")
    return results


def _publish(ruleset: Ruleset, store: Store, folder: Path, undamaged: bool = False) -> None:
    from asobiba.arena.publish import publish

    page = publish(ruleset, store, stored_results(ruleset, store, undamaged), folder)
    print(f"Report: {page.resolve()}")


@league.command("publish")
def league_publish(
    game: GameName,
    folder: Annotated[Path | None, typer.Argument(help="Folder to write to.  [default: leaderboards/GAME]")] = None,
    param: Parameters = None,
    store: StorePlace = None,
    undamaged: Undamaged = False,
) -> None:
    """Writes the league as README.md, results.csv, results.json and report.html, and its secret with it.

    Later games get a new secret.
    """
    ruleset = ruleset_of(game, param)
    with open_store(ruleset, store, create=False) as kept:
        stored_results(ruleset, kept, undamaged)
        ends = any(used.secret is None and used.commitment for used in kept.secrets(ruleset))
    with open_store(ruleset, store, create=ends) as kept:
        _publish(ruleset, kept, folder or Path("leaderboards") / ruleset.game.name, undamaged)


@league.command("close")
def league_close(game: GameName, param: Parameters = None, store: StorePlace = None) -> None:
    """Publishes the secret behind the games' seeds; later games get a new one."""
    from asobiba.arena.ledger import seeds_note

    ruleset = ruleset_of(game, param)
    with open_store(ruleset, store, create=False) as kept:
        stored_results(ruleset, kept, undamaged=True)
    with open_store(ruleset, store, create=True) as kept:
        kept.publish_secrets(ruleset)
        print(seeds_note(kept.secrets(ruleset)))


def _is_published(text: str) -> bool:
    """Whether a text names the folder or `records.xz` of a published league, and not a game."""
    return Path(text).exists() and ("/" in text or "\\" in text or text.endswith(".xz"))


@league.command("verify")
def league_verify(
    league: Annotated[
        str, typer.Argument(metavar="GAME|FOLDER", help="A game, or the folder or records.xz of a published league.")
    ],
    param: Parameters = None,
    store: StorePlace = None,
    sample: Annotated[int | None, typer.Option(min=1, help="Check a random sample of this size only.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the sample.")] = 0,
    jobs: Jobs = None,
) -> None:
    """Replays recorded matches and compares the results; exits with status 1 if one differs.

    Matches that were changed, deleted, added or moved are named without being played. Example: asobiba league verify
    leaderboards/GAME
    """
    from asobiba.arena.executors import available_cores
    from asobiba.arena.verify import verify_folder, verify_store
    from asobiba.core import AsobibaError
    from asobiba.progress import progress_bar

    path, published = Path(league), _is_published(league)
    if published and (store is not None or param):
        raise AsobibaError(f"{path} says itself what was played: give it without --store and --param")
    with contextlib.ExitStack() as stack:
        kept = None if published else stack.enter_context(open_store(ruleset_of(league, param), store, create=False))
        bar = stack.enter_context(progress_bar(counted=True))
        task = bar.add_task("matches", total=None)
        options: dict[str, Any] = {"sample": sample, "seed": seed, "jobs": jobs or available_cores()}
        options["report"] = lambda n, of: bar.update(task, completed=n, total=of)
        if kept is None:
            found = verify_folder(path, **options)
        else:
            found = verify_store(ruleset_of(league, param), kept, **options)
    for what, why in found.faults[:_FAULTS]:
        print(f"{what}: {why}")
    if len(found.faults) > _FAULTS:
        print(f"... and {len(found.faults) - _FAULTS} others")
    print(f"{found.checked} of {found.present} matches were played again: {len(found.faults)} do not agree")
    if found.faults:
        raise typer.Exit(1)


@league.command("learned")
def league_learned(
    write: Annotated[bool, typer.Option("--write", help="Write docs/learned.md and the table in README.md.")] = False,
) -> None:
    """Compares learned agents with classical ones, over all published leagues of the repository."""
    from asobiba.arena import learned

    if write:
        for path in learned.write(Path()):
            print(f"Written: {path}")
    else:
        print(learned.table(Path()).markdown())


@league.command("across")
def league_across(
    game: Annotated[str, typer.Argument(help="The game; leave it out with --write.")] = "",
    write: Annotated[
        bool, typer.Option("--write", help="Write the tables of the pages in docs/ that have one.")
    ] = False,
) -> None:
    """The agents of a game in all its published leagues of the repository, side by side."""
    from asobiba.arena import across

    if write:
        for path in across.write(Path()):
            print(f"Written: {path}")
    elif game:
        print(across.table(Path(), game).markdown())
    else:
        raise typer.BadParameter("name a game, such as mini4wd, or give --write")


@league.command("report")
def league_report(
    game: GameName,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write.  [default: runs/league/GAME.html]")
    ] = None,
    param: Parameters = None,
    store: StorePlace = None,
) -> None:
    """Writes the league as one self-contained HTML page."""
    from asobiba.arena.ledger import seeds_note
    from asobiba.arena.report import write_report
    from asobiba.arena.standings import standings

    ruleset = ruleset_of(game, param)
    with open_store(ruleset, store, create=False) as kept:
        results, seeds = stored_results(ruleset, kept), seeds_note(kept.secrets(ruleset))
        page = output or Path("runs") / "league" / f"{ruleset.game.name}.html"
        write_report(page, standings(ruleset, results, seeds=seeds), results, kept)
    print(f"Report: {page.resolve()}")


def replay(
    game: Annotated[
        str, typer.Argument(metavar="GAME|FOLDER", help="A game, or the folder or records.xz of a published league.")
    ],
    number: Annotated[str, typer.Argument(help="Number of the match in the store or folder, or its key in the store.")],
    store: StorePlace = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="File to write: .gif, .mp4, .svg (last position), .txt or .json."),
    ] = None,
    seat: Annotated[
        int | None, typer.Option(min=1, help="Show only what the player of this seat knew.  [default: everything]")
    ] = None,
    fps: Annotated[
        float | None, typer.Option(min=0.1, help="Frames per second of a film.  [default: the game's own]")
    ] = None,
) -> None:
    """Replays a recorded match as text, film or picture, or writes it as JSON for the JavaScript package."""
    import json

    from asobiba.arena.records_file import published_match
    from asobiba.arena.show import record_json, replay_text, save_film
    from asobiba.arena.store import Store, chosen_store
    from asobiba.core import AsobibaError
    from asobiba.core import game as find

    if _is_published(game):
        if store is not None:
            raise AsobibaError(f"{game} holds the matches itself: give it without --store")
        record = published_match(Path(game), number)
    else:
        found = find(game)
        with Store(chosen_store(found, store), create=False) as kept:
            record = kept.record(number)
        if record.match.game != found.name:
            raise AsobibaError(f"match {number} is one of {record.match.game}, not of {found.name}")
    seats = len(record.match.seats)
    if seat is not None and seat > seats:
        raise AsobibaError(f"{record.match.game} has {seats} seats, there is no seat {seat}")
    viewer = None if seat is None else seat - 1
    if output is None:
        print(replay_text(record, viewer))
    elif output.suffix == ".txt":
        output.write_text(replay_text(record, viewer) + "\n", encoding="utf-8")
    elif output.suffix == ".json":
        output.write_text(json.dumps(record_json(record)) + "\n", encoding="utf-8")
    else:
        save_film(output, record, viewer, fps)
    if output is not None:
        print(f"Written: {output}")
