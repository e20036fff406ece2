"""Commands around the table of exact values: `solve`, `analyse`, `reproduce`, `engine`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from asobiba.progress import progress_bar

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import TaskID

    from asobiba.baselines.animal_shogi.solver.published import Line

app = typer.Typer(help="Animal shogi: exact values and the USI protocol.")
TableOption = Annotated[Path | None, typer.Option("--table", help="The file of the table, instead of the usual one.")]
PAGE = "docs/reproductions/animal_shogi.md"


def _console() -> Console:
    from rich.console import Console

    return Console()


class _Bars:
    """A progress bar per phase, with the time left."""

    def __init__(self) -> None:
        self._tasks: dict[str, TaskID] = {}
        self.progress = progress_bar()

    def __call__(self, phase: str, done: int, total: int) -> None:
        if phase not in self._tasks:
            self._tasks[phase] = self.progress.add_task(phase, total=total)
        self.progress.update(self._tasks[phase], completed=done, total=total)


@app.command()
def solve(
    table: TableOption = None,
    threads: Annotated[int | None, typer.Option(help="How many threads; all cores by default.")] = None,
    again: Annotated[bool, typer.Option("--again", help="Solve even if there is a sound table.")] = False,
    pieces: Annotated[
        int | None, typer.Option(help="Only the sub-games with at most so many pieces besides the lions (0 to 6).")
    ] = None,
) -> None:
    """Solve the whole game: minutes on two cores, about 1 GB of memory, 155 MB on disk. Goes on where it was stopped."""
    import numba

    from asobiba.baselines.animal_shogi.solver.published import comparison
    from asobiba.baselines.animal_shogi.solver.solve import counts_path, solve_game, solve_small
    from asobiba.baselines.animal_shogi.solver.table import TableError, TableMissing, ValueTable, table_path

    console = _console()
    if threads is not None:
        most = numba.config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]
        if not 1 <= threads <= most:
            raise typer.BadParameter(f"--threads is 1 to {most} on this machine, not {threads}")
        numba.set_num_threads(threads)
    file = table_path(table)
    if pieces is not None:
        if not 0 <= pieces <= 6:
            raise typer.BadParameter(f"--pieces is 0 to 6, not {pieces}")
        if table is None:
            raise typer.BadParameter("--pieces needs --table: the usual file is that of the whole game")
        solve_small(file, pieces)
        console.print(f"Wrote {file} ({file.stat().st_size:,} bytes).")
        return
    if not again and file.is_file() and counts_path(file).is_file():
        try:
            ValueTable.open(file, checksum=True)
            console.print(f"{file} is there and sound; --again solves it anew.")
            return
        except (TableError, TableMissing) as error:
            console.print(str(error))
    started, processor = time.perf_counter(), time.process_time()
    bars = _Bars()
    with bars.progress:
        counted = solve_game(file, progress=bars)
    elapsed, used = time.perf_counter() - started, time.process_time() - processor
    console.print(
        f"Solved in {elapsed:.0f} s ({used:.0f} s of processor time). Wrote {file} ({file.stat().st_size:,} bytes)."
    )
    console.print(_comparison_table(comparison(counted, _measured(file))))


@app.command()
def reproduce(
    table: TableOption = None,
    output: Annotated[Path, typer.Option(help="The page to write.")] = Path(PAGE),
) -> None:
    """Write the published analysis beside ours, line by line. Needs the table."""
    import json

    from asobiba.baselines.animal_shogi.pages import FIGURES
    from asobiba.baselines.animal_shogi.solver.published import as_markdown, comparison
    from asobiba.baselines.animal_shogi.solver.solve import counts_path
    from asobiba.baselines.animal_shogi.solver.table import TableMissing

    console, counts = _console(), counts_path(table)
    try:
        counted = json.loads(counts.read_text())
    except OSError:
        raise TableMissing(f"no counts at {counts}. Make them with: asobiba solve animal_shogi --again") from None
    measured = _measured(table)
    console.print(_comparison_table(comparison(counted, measured)))
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(as_markdown(counted, measured), encoding="utf-8")
    figures = output.with_suffix(Path(FIGURES).suffix)
    figures.write_text(json.dumps({"counted": counted, "measured": measured}) + "\n", encoding="utf-8")
    console.print(f"Wrote {output} and {figures}.")


def _measured(table: Path | None) -> dict:
    from asobiba.baselines.animal_shogi.solver.published import measure
    from asobiba.baselines.animal_shogi.solver.table import ValueTable
    from asobiba.envs.animal_shogi import GAME

    return measure(ValueTable.open(table), GAME.ruleset())


def _comparison_table(lines: list[Line]):
    from rich.table import Table

    shown = Table("", "published", "ours", "", "remark")
    for line in lines:
        shown.add_row(line.name, line.published, line.ours, "equal" if line.agrees else "differs", line.remark)
    return shown


@app.command()
def analyse(
    position: Annotated[
        str, typer.Argument(help="SFEN, such as 'gle/1c1/1C1/ELG b - 1', or startpos, the default.")
    ] = "startpos",
    table: TableOption = None,
    line: Annotated[int, typer.Option(help="How many plies of perfect play to print.")] = 12,
) -> None:
    """Value and distance of a position, of all its moves, and the line of perfect play."""
    from rich.table import Table

    from asobiba.baselines.animal_shogi.analysis import analyse_position, perfect_line
    from asobiba.baselines.animal_shogi.solver.table import ValueTable
    from asobiba.core.states import new_state
    from asobiba.envs.animal_shogi import GAME

    console, ruleset = _console(), GAME.ruleset()
    values = ValueTable.open(table)
    notation = ruleset.notation
    start = position.strip() in ("", "startpos")
    state = new_state(ruleset, 0) if start else notation.text_to_state(ruleset, position)
    found = analyse_position(values, ruleset, state)
    console.print(notation.board_text(ruleset, state), markup=False, highlight=False)
    console.print(f"\nFor the player to move: {found.text}")
    if not found.moves:
        console.print("The game is over.")
        return
    shown = Table("move", "", "USI", "value", "keeps the value")
    for move in found.moves:
        keeps = "yes" if move.outcome == found.outcome else "no"
        shown.add_row(move.name, move.japanese, move.usi, move.text, keeps)
    console.print(shown)
    if line > 0:
        console.print("Perfect play: " + " ".join(perfect_line(values, ruleset, state, line)), highlight=False)


@app.command()
def engine(
    agent: Annotated[str, typer.Option(help="The agent behind it.")] = "alpha_beta:seconds=1",
) -> None:
    """Speak USI on standard input and output, with any agent behind it."""
    from asobiba.envs.animal_shogi import GAME
    from asobiba.protocols.usi import serve

    raise typer.Exit(serve(GAME, agent))
