"""`asobiba engine gogo`, `asobiba reproduce gogo`, `asobiba gogo wins`, and its like."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from asobiba.progress import progress_bar

app = typer.Typer(help="Gogo: the Gomocup protocol, the course's contest replayed.", no_args_is_help=True)


@app.command()
def engine(
    agent: Annotated[
        str,
        typer.Option(
            help="The agent behind it. alpha_beta:seconds=1,threads=2,ponder=True searches in two threads, and in the opponent's time."
        ),
    ] = "alpha_beta:seconds=1",
    preset: Annotated[
        str | None, typer.Option(help="Rules for managers that know them, such as gogo; else what INFO rule names.")
    ] = None,
) -> None:
    """Speak the Gomocup protocol on standard input and output, with any agent behind it."""
    from asobiba.core import game
    from asobiba.protocols.gomocup import serve

    serve(game("gogo"), agent, {} if preset is None else {"preset": preset, "overline": None})


@app.command()
def reproduce(
    years: Annotated[int, typer.Option(min=1, help="Contests, each of another seed.")] = 1,
    students: Annotated[int, typer.Option(min=2, help="Students.")] = 40,
    submissions: Annotated[int, typer.Option(min=35, help="Strategies handed in over five weeks.")] = 150,
    entry: Annotated[int, typer.Option(min=2, help="Opponents of a new strategy on its first night.")] = 100,
    seed: Annotated[int, typer.Option(min=0, help="Of the first year.")] = 0,
    output: Annotated[Path, typer.Option(help="The Markdown page; pictures are written beside it.")] = Path(
        "gogo-reproduction.md"
    ),
    keep: Annotated[
        Path | None, typer.Option(help="A folder for years that are played, so that a long run can be taken up again.")
    ] = None,
) -> None:
    """Replay the course's contest: years of strategies and their round robins, the paper's four checks, its tables."""
    from asobiba.baselines.gogo.contest_page import write_page
    from asobiba.baselines.gogo.years import Size, kept_year, play_year
    from asobiba.core import game

    output.parent.mkdir(parents=True, exist_ok=True)
    ruleset, size, played = game("gogo").ruleset(), Size(students, submissions, entry), []
    with progress_bar() as bar:
        task = bar.add_task("years", total=years)

        def play(number: int):
            return play_year(ruleset, size, number, lambda text: bar.update(task, description=text))

        for number in range(seed, seed + years):
            name = f"{students}-{submissions}-{entry}-{number}.pickle"
            played.append(play(number) if keep is None else kept_year(keep / name, partial(play, number)))
            bar.advance(task)
    command = f"asobiba reproduce gogo --years {years} --students {students} --submissions {submissions} --entry {entry} --seed {seed}"
    print(write_page(played, output, command, sum(year.seconds for year in played)))
    print(f"Written to {output}")


@app.command()
def wins(
    games: Annotated[int, typer.Option(min=1, help="Games of references to look for wins in.")] = 200,
    most: Annotated[int, typer.Option(min=1, help="Positions to keep.")] = 60,
    output: Annotated[Path, typer.Option(help="The file to write.")] = Path("wins.txt"),
) -> None:
    """Collect positions with a forced win of five plies and more, each verified by proof search."""
    from asobiba.baselines.gogo.proof import collect, write_wins
    from asobiba.core import game

    found = collect(game("gogo").ruleset(), games, most)
    output.write_text(write_wins(found), encoding="utf-8")
    print(f"{len(found)} positions written to {output}")


@app.command()
def engines(
    rapfi: Annotated[Path | None, typer.Option(exists=True, dir_okay=False, help="Rapfi's executable.")] = None,
    mammel: Annotated[
        Path | None,
        typer.Option(exists=True, dir_okay=False, help="examples/mammel/player.py, with its library built."),
    ] = None,
    engine: Annotated[
        list[str],
        typer.Option(help="Our engine, alpha_beta or alpha_beta_learned, with settings; may be given more than once."),
    ] = ["alpha_beta"],  # noqa: B006 - typer reads it only
    games: Annotated[int, typer.Option(min=2, help="Games against each, half of them from each side.")] = 20,
    only: Annotated[str, typer.Option(help="Play only where the program's name contains this.")] = "",
    keep: Annotated[
        bool,
        typer.Option("--keep", help="Keep the matches in the record beside the page (.json), and play the others."),
    ] = False,
    output: Annotated[Path, typer.Option("--output", "-o", help="The page to write.")] = Path("gogo-engines.md"),
) -> None:
    """Play an alpha-beta engine against Rapfi (gomoku) and Mark Mammel's player (Pente), which you have built."""
    from asobiba.baselines.gogo.engines import load, meetings, page, play, save

    planned = meetings(rapfi, mammel, engine, only)
    if not planned:
        raise typer.BadParameter(
            "name a program: --rapfi, --mammel or both. docs/reproductions/gogo-engines.md builds them"
        )
    output.parent.mkdir(parents=True, exist_ok=True)
    record = output.with_suffix(".json")
    rows = {row.key: row for row in load(record)} if keep else {}
    wanted = [meeting for meeting in planned if (meeting.program, meeting.engine) not in rows]
    with progress_bar(counted=True) as bar:
        task = bar.add_task("games", total=games * len(wanted))
        for number, meeting in enumerate(wanted):

            def report(played: int, before: int = number * games, name: str = meeting.program) -> None:
                bar.update(task, completed=before + played, description=name)

            row = play(meeting, games, report)
            rows[row.key] = row
            save(rows.values(), record)
    output.write_text(page(rows.values()), encoding="utf-8")
    print(f"Written to {output}")


@app.command()
def prove(
    position: Annotated[str, typer.Argument(help="A position in one line, a diagram, or moves such as 'g7 h8'.")],
    preset: Annotated[str, typer.Option(help="Of the rules.")] = "gogo",
    board_size: Annotated[int | None, typer.Option(help="Lines of the board, if not the preset's.")] = None,
    most: Annotated[int, typer.Option(min=1, help="Positions of one search.")] = 100_000,
    quiet: Annotated[int, typer.Option(min=0, help="First moves of the attacker that need not threaten.")] = 0,
    output: Annotated[Path, typer.Option("--output", "-o", help="The certificate, as JSON.")] = Path("win.json"),
) -> None:
    """Prove a forced win of the player to move, and write a certificate that `examples/check_gogo_win.py` checks."""
    import json

    from asobiba.baselines.gogo.certificate import Prover
    from asobiba.core import AsobibaError, game
    from asobiba.envs.gogo.notation import text_to_state

    try:
        ruleset = game("gogo").ruleset(preset=preset, board_size=board_size)
        certificate = Prover(ruleset, most=most, quiet=quiet).prove(text_to_state(ruleset, position))
    except AsobibaError as error:
        typer.echo(f"Error: {error}", err=True)
        raise typer.Exit(1) from None
    output.write_text(json.dumps(certificate), encoding="utf-8")
    typer.echo(f"{certificate['nodes'][-1][0]} wins; {len(certificate['nodes'])} nodes written to {output}")


@app.command()
def small_boards(
    free: Annotated[int, typer.Option(min=1, help="First moves of the attacker that need not threaten.")] = 2,
    most: Annotated[int, typer.Option(min=1, help="Positions of one search.")] = 1_000_000,
    output: Annotated[Path, typer.Option("--output", "-o", help="The page.")] = Path("gogo-small-boards.md"),
) -> None:
    """Look for forced wins from the empty boards of 7, 8 and 9 lines, and write the page."""
    from asobiba.baselines.gogo.small_boards import bounds, page

    with progress_bar() as bar:
        task = bar.add_task("searches", total=None)
        found = bounds(free, most, lambda text: bar.update(task, description=text))
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(page(found, f"asobiba gogo small-boards --free {free} --most {most}"), encoding="utf-8")
    typer.echo(f"Written to {output}")


@app.command()
def learn(
    preset: Annotated[str, typer.Option(help="Of the rules: gogo, pente or gomoku.")] = "gogo",
    teacher: Annotated[str, typer.Option(help="The search whose games it learns from.")] = "alpha_beta:nodes=100",
    games: Annotated[int, typer.Option(min=20, help="Games of it against itself.")] = 20000,
    epochs: Annotated[int, typer.Option(min=1, help="Passes over their positions.")] = 12,
    seed: Annotated[int, typer.Option(min=0, help="Of the games and of the learning.")] = 0,
    workers: Annotated[int, typer.Option(min=1, help="Processes that play.")] = 2,
    output: Annotated[Path, typer.Option(help="The folder to write.")] = Path("runs/gogo-evaluation"),
) -> None:
    """Learn the evaluation of alpha_beta_learned for a preset from games of a search."""
    from asobiba.baselines.gogo.evaluation import PRESETS
    from asobiba.baselines.gogo.learning import lesson
    from asobiba.baselines.search import rows_learning
    from asobiba.core import game

    if preset not in PRESETS:
        raise typer.BadParameter(f"the preset is one of {', '.join(PRESETS)}, not {preset!r}")
    rows_learning.learn(
        game("gogo"), lesson(preset), teacher, games, output,
        epochs=epochs, seed=seed, workers=workers, options=f"--preset {preset} ",
    )  # fmt: skip
