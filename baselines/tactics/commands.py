"""`asobiba tactics label`, `derive-labels`, `reproduce`, `generate`, `learn`, `learn-td`: fuzzy sets, the round robin, maps,
learning."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Annotated

import typer

from asobiba.progress import progress_bar

app = typer.Typer(help="Turn-based tactics: labels for F-UCT, the round robin, maps, learning.", no_args_is_help=True)

MapName = Annotated[str, typer.Option("--map", help="A shipped map, a .tbsmap file, all or generated.")]
Size = Annotated[int, typer.Option(help="The board: 8, 10 or 14; 0 is the smallest that holds the map.")]


def _paired(keys: str, values: str, what: str) -> dict[int, int]:
    """Two lists of whole numbers, such as 8,10 and 800,60, as a dictionary."""
    try:
        return dict(zip(map(int, keys.split(",")), map(int, values.split(",")), strict=True))
    except ValueError:
        raise typer.BadParameter(f"{what}: {keys!r} and {values!r} are not two lists of as many numbers") from None


@app.command()
def label(
    folder: Annotated[Path, typer.Argument(help="Where the judgements and the fuzzy sets of them are kept.")],
    count: Annotated[int, typer.Option(min=1, help="Positions to judge.")] = 20,
    map: MapName = "all",
    size: Size = 0,
    seed: Annotated[int, typer.Option(min=0, help="Of the positions.")] = 0,
    distance: Annotated[
        float | None, typer.Option(min=0, help="Standard distance.  [default: from the samples]")
    ] = None,
) -> None:
    """Shows positions and unit actions and asks whether they are good; then makes fuzzy sets of all judgements so far.

    Answer y or n, s to skip, q to stop. `asobiba match tactics f_uct:labels=FOLDER m_uct` plays with them.
    """
    from asobiba.baselines.tactics.labelling import SAMPLES, Positions, Sample, append_sample, read_samples, write_sets
    from asobiba.core import game
    from asobiba.core.states import step
    from asobiba.envs.tactics.maps import SIDES
    from asobiba.envs.tactics.notation import LEGEND, action_to_text, board_text
    from asobiba.envs.tactics.orders import end_of_turn, order_of
    from asobiba.envs.tactics.units import NAMES

    ruleset = game("tactics").ruleset(map=map, size=size)
    positions = Positions(ruleset, seed)
    samples = read_samples(folder) if (folder / SAMPLES).exists() else []
    known = {(sample.kind, sample.vector.tobytes()) for sample in samples}
    judged, asked = 0, 0
    typer.echo(LEGEND)
    for number in itertools.count():
        state = positions.draw(number)
        action = positions.action(state)
        if action >= end_of_turn(ruleset, state):
            continue
        side = int(state["to_move"])
        kind = int(state["kind"][side, order_of(ruleset, state, action).unit])
        vector = positions.vector(state, action)
        if (kind, vector.tobytes()) in known:
            continue
        asked += 1
        after = board_text(ruleset, step(ruleset, state, action))
        typer.echo(f"\n{asked} of {count}\n\n{board_text(ruleset, state)}")
        typer.echo(f"\n{SIDES[side]}'s {NAMES[kind]}, {action_to_text(ruleset, state, action)}, leads to\n\n{after}\n")
        answer = ""
        while answer not in ("y", "n", "s", "q"):
            try:
                answer = (
                    typer.prompt(f"Is this good for {SIDES[side]}? [y/n/s/q]", prompt_suffix=" ").strip().lower()[:1]
                )
            except typer.Abort:  # the end of the input, or Ctrl-C: what was judged so far counts
                answer = "q"
                typer.echo()
        if answer == "q":
            break
        if answer in ("y", "n"):
            append_sample(folder, Sample(kind, vector, answer == "y"))
            judged += 1
        if asked == count:
            break
    if (folder / SAMPLES).exists():
        samples = read_samples(folder)
        write_sets(samples, folder, {"by": "a person's judgement (asobiba tactics label)"}, distance)
        typer.echo(f"{judged} judgements now, {len(samples)} in all; fuzzy sets: {folder}")


@app.command("derive-labels")
def derive_labels(
    folder: Annotated[Path, typer.Argument(help="Where the fuzzy sets are written.")],
    positions: Annotated[str, typer.Option(help="Positions to search on each board.")] = "800,60",
    sizes: Annotated[str, typer.Option(help="The boards.")] = "8,10",
    simulations: Annotated[int, typer.Option(min=100, help="Playouts of each of the two searches.")] = 6000,
    most: Annotated[int, typer.Option(min=1, help="Samples of a unit type and judgement that are kept.")] = 400,
    distance: Annotated[
        float | None, typer.Option(min=0, help="Standard distance.  [default: what orders actions best]")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the positions.")] = 1,
) -> None:
    """Makes fuzzy sets where no person sat down: deep search judges the actions, and how well the sets order the actions
    of fresh positions."""
    from asobiba.baselines.tactics.labelling import derive_everywhere, write_derived

    boards = _paired(sizes, positions, "--sizes and --positions")
    fresh = {size: -(-number // 4) for size, number in boards.items()}
    with progress_bar(counted=True) as bar:
        task = bar.add_task("searching", total=sum(boards.values()) + sum(fresh.values()))
        samples = derive_everywhere(boards, simulations, seed, lambda: bar.advance(task, 1))
        others = derive_everywhere(fresh, simulations, seed + 1, lambda: bar.advance(task, 1))
    command = (
        f"asobiba tactics derive-labels FOLDER --positions {positions} --sizes {sizes} --simulations {simulations} "
        f"--most {most} --seed {seed}" + ("" if distance is None else f" --distance {distance:g}")
    )
    order = write_derived(samples, others, folder, command, most, distance, seed)
    typer.echo(f"{len(samples)} actions judged; fuzzy sets: {folder}")
    typer.echo(f"On {order.positions} fresh positions: rank correlation {order.correlation}, best is good {order.top}")


@app.command()
def reproduce(
    output: Annotated[Path, typer.Option("--output", "-o", help="The page.")] = Path("docs/reproductions/tactics.md"),
    games: Annotated[Path, typer.Option(help="Keeps the games, so that a run that was stopped goes on.")] = Path(
        "docs/reproductions/tactics.jsonl"
    ),
    budgets: Annotated[str, typer.Option(help="Playouts of an action.")] = "100,1000,5000",
    rounds: Annotated[
        str, typer.Option(help="Times that each pair meets on each map with each colour, for each budget.")
    ] = "4,2,1",
    sizes: Annotated[str, typer.Option(help="Boards whose maps are played.")] = "8,10,14",
    tuning: Annotated[int, typer.Option(min=0, help="Rounds in which uct_plus meets itself with changes.")] = 2,
    peers: Annotated[int, typer.Option(min=0, help="Rounds in which uct_plus meets all others at equal time.")] = 4,
    minutes: Annotated[float | None, typer.Option(min=0.01, help="Stop after this time, with what there is.")] = None,
) -> None:
    """The round robin on all maps with colours swapped, at several budgets, and what the fuzzy priors save."""
    from asobiba.baselines.tactics import meetings, parking, reproduction
    from asobiba.envs.tactics.maps import SIZES

    wanted = _paired(budgets, rounds, "--budgets and --rounds")
    boards = [size for size in SIZES if str(size) in sizes.split(",")]
    if len(boards) != len(sizes.split(",")):
        raise typer.BadParameter(f"--sizes: {sizes!r} is not a list of boards; they are {', '.join(map(str, SIZES))}")
    parts = meetings.planned(wanted, boards)
    if tuning:
        parts.append(meetings.tuning_meetings(tuning))
    if peers:
        parts.append(meetings.peer_meetings(peers, boards))
    total = sum(map(len, parts))
    with progress_bar(counted=True) as bar:
        task = bar.add_task("games", total=total + parking.planned())
        try:
            results = meetings.play_all(parts, games, minutes, lambda n: bar.advance(task, n))
        except ValueError as error:
            raise typer.BadParameter(f"--games: {error}") from None
        watched = parking.watch_all(lambda n: bar.advance(task, n))
    output.parent.mkdir(parents=True, exist_ok=True)
    shown = watched, output.with_name(f"{output.stem}-parked.svg")
    text = reproduction.page(results, meetings.peer_times() if peers else {}, shown)
    output.write_text(text, encoding="utf-8")
    typer.echo(f"{len(results)} games of {total}; the page: {output}")


@app.command()
def generate(
    output: Annotated[Path, typer.Argument(help="A .tbsmap file.")],
    seed: Annotated[int, typer.Option(min=0)] = 0,
    width: Annotated[int, typer.Option()] = 8,
    height: Annotated[int, typer.Option()] = 8,
    units: Annotated[int, typer.Option(help="Of a side.")] = 6,
) -> None:
    """Writes a random map on which both colours stand alike."""
    from asobiba.envs.tactics.generator import generate_map
    from asobiba.envs.tactics.maps import write_map

    if output.suffix != ".tbsmap":  # the game reads no other
        raise typer.BadParameter(f"{output} is not a .tbsmap file: call it {output}.tbsmap, say")
    output.write_text(write_map(generate_map(seed, width, height, units)), encoding="utf-8")
    typer.echo(f"Written: {output}; play it with: asobiba match tactics m_uct f_uct --param map={output}")


@app.command()
def learn(
    teacher: Annotated[str, typer.Option(help="The search whose games it learns from.")] = "uct_plus:simulations=150",
    games: Annotated[int, typer.Option(min=20, help="Games of it against itself.")] = 12000,
    epochs: Annotated[int, typer.Option(min=1, help="Passes over their positions.")] = 8,
    seed: Annotated[int, typer.Option(min=0, help="Of the games and of the learning.")] = 0,
    workers: Annotated[int, typer.Option(min=1, help="Processes that play.")] = 2,
    output: Annotated[Path, typer.Option(help="The folder to write.")] = Path("runs/tactics-evaluation"),
) -> None:
    """Learn the evaluation of uct_learned from games of a search."""
    from asobiba.baselines.search import rows_learning
    from asobiba.baselines.tactics.learning import LESSON
    from asobiba.core import game

    rows_learning.learn(game("tactics"), LESSON, teacher, games, output, epochs=epochs, seed=seed, workers=workers)


@app.command("learn-td")
def learn_td(
    rounds: Annotated[int, typer.Option(min=1, help="Rounds of games against itself.")] = 100,
    games: Annotated[int, typer.Option(min=1, help="Games of a round, in chunks of 50.")] = 2000,
    temperature: Annotated[float, typer.Option(min=0, help="Of the choice of actions, in points of a score.")] = 8.0,
    random: Annotated[float, typer.Option(min=0, max=1, help="How often an action is drawn from all.")] = 0.02,
    decay: Annotated[float, typer.Option(min=0, max=1, help="Lambda.")] = 0.8,
    evaluated: Annotated[int, typer.Option(min=2, help="Games against each opponent after every tenth round.")] = 200,
    seed: Annotated[int, typer.Option(min=0, help="Of the games and of the learning.")] = 0,
    workers: Annotated[int, typer.Option(min=1, help="Processes that play.")] = 2,
    output: Annotated[Path, typer.Option(help="The folder to write.")] = Path("runs/tactics-td"),
) -> None:
    """Learn the values of td from its games against itself. Needs PyTorch, of the extra sb3."""
    from asobiba.baselines.search import temporal_difference as td
    from asobiba.baselines.tactics.learning import COURSE
    from asobiba.core import game

    settings = td.Settings(rounds, games, temperature=temperature, random=random, decay=decay, seed=seed)
    td.learn(game("tactics"), COURSE, settings, output, workers=workers, evaluated=evaluated)
