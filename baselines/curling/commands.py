"""The commands of digital curling: `asobiba curling --help`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from asobiba.progress import progress_bar

app = typer.Typer(help="Digital curling: published matches, tables, the opening book, imitation.", no_args_is_help=True)


@app.command()
def reproduce(
    simulations: Annotated[int, typer.Option(min=1, help="A shot, for players that search.")] = 5000,
    seconds: Annotated[float, typer.Option(min=0, help="A shot instead, for players that search.")] = 0.0,
    games: Annotated[int, typer.Option(min=0, help="At most, a match; 0: 6 to 40.")] = 0,
    ends: Annotated[int, typer.Option(min=1, max=10, help="Of a game.")] = 4,
    workers: Annotated[int, typer.Option(min=1, help="Games at a time, a thread each.")] = 2,
    quick: Annotated[bool, typer.Option(help="50 simulations, 2 games, 2 ends: only to see that it works.")] = False,
    only: Annotated[str, typer.Option(help="Numbers of matches, from 0, separated by blanks.")] = "",
    openings: Annotated[int, typer.Option(min=0, help="Single ends for each opening, instead of matches.")] = 0,
    candidates: Annotated[
        int, typer.Option(min=0, help="Ends in which candidates are counted, instead of matches.")
    ] = 0,
    output: Annotated[Path | None, typer.Option(help="Write the page as Markdown to this file, too.")] = None,
) -> None:
    """The papers' matches, theirs beside ours, with intervals.

    Beside the page lies a record of its games (.json): a run that was stopped goes on from its last game, and other budgets
    become further rows of the page.
    """
    from rich.console import Console
    from rich.table import Table

    from asobiba.baselines.curling import reproduction as page

    if quick:
        simulations, seconds, games, ends = 50, 0.0, 2, 2
    file = output.with_suffix(".json") if output is not None else None
    record = page.load(file, ends) if file is not None else page.Record(ends)

    def keep() -> None:
        if file is not None and output is not None:
            output.parent.mkdir(parents=True, exist_ok=True)
            page.save(record, file)
            output.write_text(page.markdown(record, str(output)), encoding="utf-8")

    if candidates:
        record.candidates = page.candidate_counts(candidates)
    budget = f"seconds={seconds:g}" if seconds else f"simulations={simulations}"
    numbers = tuple(int(word) for word in only.split())
    with progress_bar() as bar:
        task = bar.add_task("games", total=None)
        for opening in page.play_openings(openings, record.openings):
            record.openings.append(opening)
            keep()
            bar.update(task, advance=1, description=f"opening of {opening.opener}, then {opening.rest}")
        for row in (
            page.play_all(budget, games, ends, numbers, record.played, workers) if not (openings or candidates) else ()
        ):
            record.played = page.merged([*record.played, row])
            keep()  # after every game: a run that is stopped leaves what it has played
            bar.update(task, advance=1, description=f"{row.match.one} : {row.match.two}")
    keep()
    table = Table(title="Digital curling: published and ours")
    for column in page.COLUMNS:
        table.add_column(column, overflow="fold")
    for row in record.played:
        table.add_row(*row.cells())
    Console().print(table)


@app.command()
def book(
    position: Annotated[str, typer.Argument(help="A position as text; none: only check the book.")] = "",
) -> None:
    """Checks the opening book, and shows what it plays in a position under each plan."""
    from asobiba.baselines.curling.opening import book as read
    from asobiba.baselines.curling.opening import key_of, line_of
    from asobiba.baselines.curling.plans import FIRST_PLANS, HAMMER_PLANS, Plan, plan_of
    from asobiba.core import game

    lines = sum(len(keys) for stones in read().values() for plans in stones.values() for keys in plans.values())
    typer.echo(f"{lines} lines, all of them readable")
    if not position:
        return
    ruleset = game("curling").ruleset()
    view = ruleset.notation.text_to_state(ruleset, position)
    typer.echo(f"key: {key_of(ruleset, view) or '(empty)'}; plan: {' '.join(map(str, plan_of(ruleset, view)))}")
    for name in HAMMER_PLANS if int(view["hammer"]) == int(view["to_move"]) else FIRST_PLANS:
        typer.echo(f"  {name:8} " + ", ".join(str(line_of(ruleset, view, Plan(name, risk))) for risk in range(4)))


@app.command()
def masks() -> None:
    """Computes Jiritsu-kun's take-out masks anew."""
    import numpy as np

    from asobiba.baselines.curling.masks import make, path_of
    from asobiba.core import game
    from asobiba.envs.curling.simulators import SIMULATORS

    for simulator in SIMULATORS:
        front, back = make(game("curling").ruleset(simulator=simulator).params)
        path_of(simulator).parent.mkdir(exist_ok=True)
        np.savez_compressed(path_of(simulator), front=front, back=back)
        typer.echo(f"wrote {path_of(simulator)}")


@app.command("win-table")
def make_win_table(
    player: Annotated[str, typer.Option(help="Who plays against itself.")] = "ayumu:simulations=1000",
    rounds: Annotated[int, typer.Option(min=1, help="Most rounds.")] = 8,
    count: Annotated[int, typer.Option("--ends", min=6, help="Ends a round.")] = 600,
    agree: Annotated[float, typer.Option(min=0, help="Stop when the table moves less than this.")] = 0.03,
    seed: int = 0,
) -> None:
    """Makes the searchers' win table from their own play, round by round until it agrees with itself."""
    import json

    from asobiba.baselines.curling.self_play import SITUATIONS, table_path
    from asobiba.baselines.curling.tuning import win_table_rounds

    done: list[dict] = []
    with progress_bar() as bar:
        task = bar.add_task("ends", total=count * rounds)
        for found in win_table_rounds(player, rounds, count, seed, lambda: bar.advance(task)):
            done.append(found)
            rows = ",\n".join("    " + json.dumps(row) for row in done)
            head = {"player": player, "seed": seed, "situations": SITUATIONS, "scores": list(range(-8, 9))}
            text = json.dumps(head)[:-1] + f', "rounds": [\n{rows}\n]}}\n'
            table_path().write_text(text, encoding="utf-8")
            typer.echo(f"round {len(done)}: the table moved by {found['moved']} at most")
            if len(done) > 1 and float(found["moved"]) < agree:
                break
    typer.echo(f"wrote {table_path()}")


@app.command()
def ends(
    players: Annotated[str, typer.Option(help="Who play against themselves, separated by blanks.")] = "",
    simulations: Annotated[int, typer.Option(min=1, help="A shot, for players that search.")] = 5000,
    count: Annotated[int, typer.Option("--ends", min=1, help="In each of the two situations.")] = 100,
    output: Annotated[Path | None, typer.Option(help="The page, as Markdown.")] = None,
) -> None:
    """Measure single ends: points with and without the hammer, steals, blanks, beside the published figures.

    Beside the page lies a record of its ends (.json): a run that was stopped goes on, and other budgets become further rows.
    """
    from asobiba.baselines.curling import ends as page

    record = output.with_suffix(".json") if output is not None else None
    rows = page.load(record) if record is not None else []
    with progress_bar() as bar:
        task = bar.add_task("ends", total=None)
        for row in page.play_all(players.split() or page.PLAYERS, simulations, count, rows):
            rows = page.merged([*rows, row])
            if record is not None and output is not None:
                page.save(rows, record)
                output.write_text(page.markdown(rows, str(output)), encoding="utf-8")
            bar.update(task, advance=1, description=row.player)
    if output is not None:  # where all ends are kept, too
        output.write_text(page.markdown(rows, str(output)), encoding="utf-8")
    typer.echo(page.markdown(rows, str(output)))


@app.command()
def fit(
    rounds: Annotated[int, typer.Option(min=1, help="Challengers.")] = 12,
    games: Annotated[int, typer.Option(min=2, help="Ends against each.")] = 60,
    seed: int = 0,
) -> None:
    """Looks for better weights of Jiritsu-kun's evaluation by random search over matches of one end, and keeps them if
    they score more than the first guess over four times as many fresh ends."""
    import json

    from asobiba.baselines.curling.jiritsu import Weights, weights_path
    from asobiba.baselines.curling.tuning import compare_weights, fit_weights

    weights = Weights()
    for found, line in fit_weights(rounds, games, seed):
        weights = found
        typer.echo(line)
    gain, half = compare_weights(weights, 4 * games, seed * 100_000 + 99_000)
    record = {
        "command": f"asobiba curling fit --rounds {rounds} --games {games} --seed {seed}",
        "weights": (weights if gain > 0 else Weights())._asdict(),
        "points an end against the first guess": [round(gain, 3), round(half, 3)],
        "ends": 4 * games,
    }
    weights_path().parent.mkdir(exist_ok=True)
    weights_path().write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    typer.echo(f"against the first guess {gain:+.2f} ± {half:.2f} points an end; wrote {weights_path()}")


@app.command()
def learn(
    simulator: Annotated[str, typer.Option(help="cs2 or fcv1.")] = "cs2",
    generations: Annotated[int, typer.Option(min=1, help="After the first one, which playouts play.")] = 20,
    ends: Annotated[int, typer.Option(min=100, help="Of a generation.")] = 6000,
    grid: Annotated[int, typer.Option(min=1, help="The search takes every GRID-th target.")] = 3,
    epochs: Annotated[int, typer.Option(min=1, help="Of the learning, in each generation.")] = 3,
    seed: Annotated[int, typer.Option(min=0, help="Of the ends and of the learning.")] = 0,
    workers: Annotated[int, typer.Option(min=1, help="Processes that play; they do not change the result.")] = 2,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The folder to write; none: runs/curling-evaluation-SIMULATOR."),
    ] = None,
    start: Annotated[
        Path | None,
        typer.Option(
            exists=True, dir_okay=False, help="Weights to begin with, instead of playouts: an evaluation.npz."
        ),
    ] = None,
) -> None:
    """Learn the evaluation of jiritsu_learned from ends of its search against itself.

    A stopped run resumes; with more generations, a finished one goes on.
    """
    from asobiba.baselines.curling import learning

    if simulator not in ("cs2", "fcv1"):
        raise typer.BadParameter(f"{simulator!r} is not a simulator; there are cs2 and fcv1", param_hint="--simulator")
    words = f"--simulator {simulator} --generations {generations} --ends {ends} --grid {grid} --epochs {epochs}"
    words += f" --seed {seed}" + (f" --start {start}" if start else "")
    folder = output or Path("runs") / f"curling-evaluation-{simulator}"
    with progress_bar(counted=True) as bar:
        task = bar.add_task("ends", total=(generations + 1) * ends)
        record = learning.learn(
            {"simulator": simulator}, folder, generations=generations, ends=ends, grid=grid, epochs=epochs, seed=seed,
            workers=workers, start=start, command=f"asobiba curling learn {words}",
            played=lambda count: bar.advance(task, count),
        )  # fmt: skip
    typer.echo(f"loss {record['loss']['tested']:.4f} in testing; written to {folder}")


@app.command("train-dis")
def train_dis(
    teacher: Annotated[str, typer.Option(help="Whose shots are learned.")] = "gccs:simulations=1000",
    against: Annotated[
        str, typer.Option(help="Whom it plays, separated by blanks.")
    ] = "gccs:simulations=1000 ayumu:simulations=1000 jiritsu_depth1 rule_based tee_draw kr_uct:simulations=1000",
    shots: Annotated[
        int, typer.Option(min=200, help="To throw. The last 1,920 judge; the published network learns from 14,080.")
    ] = 16_000,
    steps: Annotated[int, typer.Option(min=1, help="Steps of training.")] = 10_000,
    through: Annotated[int, typer.Option(min=0, help="Passes over all shots for the published network, instead.")] = 0,
    kinds: Annotated[str, typer.Option(help="Networks to train.")] = "mean mixture",
    data: Annotated[Path | None, typer.Option(help="Keep the shots here, and use them if they are there.")] = None,
    output: Annotated[Path | None, typer.Option(help="Folder of the networks; the package's own if not given.")] = None,
    ends: Annotated[int, typer.Option(min=1, max=10, help="Of a game.")] = 10,
    seed: int = 0,
) -> None:
    """Makes shots, trains the published network and the mixture version, and saves both with their curves."""
    import numpy as np

    from asobiba.baselines.curling.imitation import FEATURES, passes, path_of, save, train, with_one_spin
    from asobiba.baselines.curling.matches import shots_of
    from asobiba.core import game

    ruleset = game("curling").ruleset(ends=ends)
    if data is not None and data.exists():
        with np.load(data) as found:
            views, targets = found["views"], found["targets"]
    else:
        with progress_bar() as bar:
            task = bar.add_task("shots", total=shots)
            views, targets = shots_of(
                ruleset, teacher, against.split(), shots, seed, lambda n: bar.update(task, completed=n)
            )
        if data is not None:
            data.parent.mkdir(parents=True, exist_ok=True)
            np.savez_compressed(data, views=views, targets=targets)
    settled = with_one_spin(ruleset, views, targets)
    for kind in kinds.split():
        inputs = np.array([FEATURES[kind](view) for view in views])
        number = passes(through, len(views)) if through and kind == "mean" else steps
        curve: list[dict] = []
        weights, errors = train(inputs, settled, kind, number, seed, curve=curve)
        path = path_of(kind) if output is None else output / path_of(kind).name
        told = {"teacher": teacher, "against": against, "shots": len(views), "steps": number, "passes": through}
        told["spins settled"] = int((settled != targets).any(axis=1).sum())
        save(weights, path, {**told, **errors, "curve": curve})
        typer.echo(f"{kind}: {errors}; wrote {path}")


@app.command("train-sac")
def train_sac(
    output: Annotated[Path, typer.Option(help="Run folder.")],
    steps: Annotated[int, typer.Option(min=1, help="Decisions of the learner.")] = 150_000,
    every: Annotated[int, typer.Option(min=100, help="Decisions between two evaluations.")] = 10_000,
    seed: int = 0,
) -> None:
    """SAC on single ends of the continuous game: what `asobiba train curling` does with PPO."""
    from asobiba.baselines.curling.sac import learn

    command = f"asobiba train curling-sac --steps {steps} --every {every} --seed {seed}"
    learn(output, steps, every, seed, typer.echo, command)


@app.command("draw-curves")
def draw_curves(
    runs: Annotated[list[str], typer.Argument(help="Runs, such as PPO=FOLDER SAC=FOLDER.")],
    output: Annotated[Path, typer.Option(help="The picture, an .svg file.")],
) -> None:
    """The learning curves of several runs in one picture."""
    from asobiba.baselines.curling.sac import draw_curves as draw

    draw({name: Path(folder) for name, _, folder in (run.partition("=") for run in runs)}, output)


@app.command("one-end")
def one_end(
    player: Annotated[str, typer.Argument(help="An agent of the discrete game.")] = "ppo",
    against: Annotated[str, typer.Option(help="Opponents, separated by blanks.")] = "tee_draw rule_based",
    ends: Annotated[int, typer.Option(min=2, help="Against each, half of them with the hammer.")] = 4000,
    seed: int = 12345,
) -> None:
    """Measures a player over games of one end, as in policies/README.md; a blank end counts one half."""
    from rich.console import Console
    from rich.table import Table

    from asobiba.baselines.curling.matches import over_single_ends

    table = Table(title=f"{player} over single ends")
    for column in ("opponent", "score, 95 % interval", "without the hammer", "with it", "ends"):
        table.add_column(column)
    for opponent in against.split():
        both = over_single_ends(player, opponent, ends, seed)
        without, with_it = both.seats
        interval = f"{both.score:.1%} ({100 * both.low:.1f} to {100 * both.high:.1f})"
        table.add_row(opponent, interval, f"{without.score:.1%}", f"{with_it.score:.1%}", f"{both.games:,}")
    Console().print(table)


Player = Annotated[str, typer.Argument(help="An agent, such as ayumu:clock=true.")]
Against = Annotated[str, typer.Option(help="Who plays here against one client; without it two clients are awaited.")]
Log = Annotated[Path | None, typer.Option(help="Write the game log (.dcl) here.")]


@app.command("play-dc3")
def play_dc3(
    agent: Player,
    host: Annotated[str, typer.Option(help="The server.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The team's port.")] = 10000,
    name: str = "asobiba",
    seed: int = 0,
) -> None:
    """Plays a game on a Digital Curling 3 server."""
    from asobiba.baselines.curling.dc3 import play
    from asobiba.core import game, make_agent

    winner = play((host, port), make_agent(game("curling"), agent), name, seed)
    typer.echo(f"winner: {winner or 'nobody, a draw'}")


@app.command("play-cs2")
def play_cs2(
    agent: Player,
    host: Annotated[str, typer.Option(help="The server.")] = "127.0.0.1",
    port: int = 9876,
    name: str = "asobiba",
    ends: Annotated[int, typer.Option(min=1, max=10)] = 10,
    noise: Annotated[str, typer.Option(help="What the server uses: uec, gat or none.")] = "uec",
    seed: int = 0,
) -> None:
    """Plays a game on a server of the cs2 text protocol."""
    from asobiba.baselines.curling.cs2 import play
    from asobiba.core import game, make_agent

    ruleset = game("curling").ruleset(ends=ends, noise=noise)
    typer.echo(play((host, port), make_agent(game("curling"), agent), ruleset, name, seed=seed))


Noise = Annotated[tuple[float, float], typer.Option(help="Standard deviations of speed (m/s) and angle (rad).")]
_NOISE = (0.0076, 0.0018)  # dc4.NOISE: the organisers' standard player


@app.command("play-dc4")
def play_dc4(
    agent: Player,
    match: Annotated[str, typer.Argument(help="The id of the match.")],
    team: Annotated[str, typer.Option(help="The wanted team, team0 or team1.")] = "team0",
    host: Annotated[str, typer.Option(help="The server.")] = "127.0.0.1",
    port: int = 5000,
    user: str = "asobiba",
    password_file: Annotated[
        Path | None, typer.Option(help="A file that holds the password.  [default: $ASOBIBA_DC4_PASSWORD]")
    ] = None,
    name: str = "asobiba",
    noise: Noise = _NOISE,
    seed: int = 0,
) -> None:
    """Plays a game on a Digital Curling 4 server: of curling, or of mixed doubles with an agent of `curling_doubles`."""
    import os

    from asobiba.baselines.curling.dc4 import match_of, play
    from asobiba.baselines.curling.dc4_messages import is_doubles_match
    from asobiba.core import game, make_agent

    password = os.environ.get("ASOBIBA_DC4_PASSWORD", "")
    if password_file is not None:
        password = password_file.read_text(encoding="utf-8").strip()
    doubles = is_doubles_match(match_of((host, port), match))
    player = make_agent(game("curling_doubles" if doubles else "curling"), agent)
    winner = play((host, port), player, match, team, user=user, password=password, name=name, seed=seed, noise=noise)
    typer.echo(f"winner: {winner or 'nobody, a draw'}")


HostSeed = Annotated[
    int | None,
    typer.Option(min=0, help="Play with noise that clients may foresee.  [default: a secret that is told at the end]"),
]


@app.command("host-dc3")
def host_dc3(
    against: Against = "",
    first_port: Annotated[int, typer.Option(help="Port of team0; team1 has the next one.")] = 10000,
    ends: Annotated[int, typer.Option(min=1, max=10)] = 10,
    seconds: Annotated[float, typer.Option(min=0, help="Of each player; 0: unlimited.")] = 219.0,
    extra_seconds: Annotated[float, typer.Option(min=0, help="For an extra end.")] = 21.9,
    address: Annotated[str, typer.Option(help="Where to listen.")] = "127.0.0.1",
    log: Log = None,
    seed: HostSeed = None,
) -> None:
    """Hosts a game for Digital Curling 3 clients: team0's client on the first port, team1's on the next."""
    from asobiba.arena.secret import Secret
    from asobiba.baselines.curling.dc3 import Dc3Seat, host, listen
    from asobiba.baselines.curling.hosting import AgentSeat, receive
    from asobiba.core import game, make_agent

    secret = Secret.chosen(seed)
    typer.echo(secret.announced)
    ruleset = game("curling").ruleset(simulator="fcv1", ends=ends, thinking_time=seconds)
    doors = listen((first_port, first_port + 1), address)
    receptions = []
    for team, door in enumerate(doors[:1] if against else doors):
        typer.echo(f"waiting for team{team} on port {first_port + team}")
        greet = partial(Dc3Seat, team=team, ruleset=ruleset, seconds=seconds, extra=extra_seconds)
        receptions.append(receive(door, 1, greet, typer.echo))
    seats = [seat for reception in receptions for seat in reception.wait()]
    for door in doors:
        door.close()
    if against:
        seats.append(AgentSeat(make_agent(game("curling"), against), against))
    _report(host(ruleset, seats, secret.number("game"), seconds, extra_seconds), log)
    typer.echo(secret.told)


@app.command("host-dc4")
def host_dc4(
    against: Against = "",
    port: int = 5000,
    ends: Annotated[int, typer.Option(min=1, max=10)] = 10,
    seconds: Annotated[float, typer.Option(min=0, help="Of each player; 0: unlimited.")] = 219.0,
    extra_seconds: Annotated[float, typer.Option(min=0, help="For an extra end.")] = 21.9,
    noise: Noise = _NOISE,
    no_tick: Annotated[
        bool, typer.Option("--no-tick", help="Guards on the centre line may not be moved off it.")
    ] = False,
    doubles: Annotated[
        bool, typer.Option("--doubles", help="Mixed doubles, against an agent of curling_doubles.")
    ] = False,
    pattern: Annotated[int, typer.Option(min=0, max=5, help="Place of the guard in mixed doubles.")] = 0,
    address: Annotated[str, typer.Option(help="Where to listen.")] = "127.0.0.1",
    log: Log = None,
    seed: HostSeed = None,
) -> None:
    """Hosts a game for Digital Curling 4 clients, each with a user name of its own."""
    from asobiba.arena.secret import Secret
    from asobiba.baselines.curling.dc4 import Dc4Server, host
    from asobiba.baselines.curling.doubles.hosting import DoublesAgentSeat
    from asobiba.baselines.curling.hosting import AgentSeat
    from asobiba.core import game, make_agent

    if doubles and no_tick:
        raise typer.BadParameter("--no-tick belongs to four-person curling, not to --doubles")

    secret = Secret.chosen(seed)
    typer.echo(secret.announced)
    played, seat = game("curling_doubles" if doubles else "curling"), DoublesAgentSeat if doubles else AgentSeat
    rules = {"pattern": pattern} if doubles else {"simulator": "fcv1", "guards": "no_tick" if no_tick else "removal"}
    ruleset = played.ruleset(ends=ends, noise=noise, thinking_time=seconds, **rules)
    own = seat(make_agent(played, against), against) if against else None
    server = Dc4Server(address, port, 1 if against else 2, typer.echo)
    typer.echo(f"waiting on port {server.address[1]} for the clients of match {server.match_id}")
    _report(host(ruleset, server, own, secret.number("game"), seconds, extra_seconds), log)
    typer.echo(secret.told)


@app.command("host-cs2")
def host_cs2(
    against: Against = "",
    port: int = 9876,
    ends: Annotated[int, typer.Option(min=1, max=10)] = 10,
    noise: Annotated[str, typer.Option(help="uec, gat or none.")] = "uec",
    seconds: Annotated[float, typer.Option(min=0, help="Of each player; 0: unlimited.")] = 438.0,
    address: Annotated[str, typer.Option(help="Where to listen.")] = "127.0.0.1",
    log: Log = None,
    seed: HostSeed = None,
) -> None:
    """Hosts a game for clients of the cs2 text protocol; who is logged in first throws first."""
    from asobiba.arena.secret import Secret
    from asobiba.baselines.curling.cs2 import Cs2Seat, host
    from asobiba.baselines.curling.dc3 import listen
    from asobiba.baselines.curling.hosting import AgentSeat, receive
    from asobiba.core import game, make_agent

    secret = Secret.chosen(seed)
    typer.echo(secret.announced)
    ruleset = game("curling").ruleset(ends=ends, noise=noise, thinking_time=seconds)
    door, spare = listen((port, 0), address)
    spare.close()
    typer.echo(f"waiting on port {port}")
    seats = receive(door, 1 if against else 2, Cs2Seat, typer.echo).wait()
    door.close()
    if against:
        seats.append(AgentSeat(make_agent(game("curling"), against), against))
    _report(host(ruleset, seats, secret.number("game"), seconds), log)
    typer.echo(secret.told)


def _report(record, log: Path | None) -> None:
    from asobiba.envs.curling.dcl import write

    names = record.log.first, record.log.second
    winner = "a draw" if record.winner is None else f"{names[record.winner]} won"
    typer.echo("\n".join([*record.remarks, f"{winner} ({record.reason}) {record.log.total} {record.note}"]))
    if log is not None:
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(write(record.log), encoding="utf-8")
