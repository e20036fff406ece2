"""Measures battleship's exact counting: time and memory for the empty board, and whole games of `mp_exact`.

    python benchmarks/battleship_counting.py --games 1000

Times are of one core; the processor time tells more than the clock on a busy machine.
"""

from __future__ import annotations

import argparse
import math
import resource
import statistics
import time
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from asobiba.baselines.battleship.counting import count_placements
from asobiba.core import Ruleset, game, make_agent
from asobiba.core.states import action_mask, new_state, step, view_of


class Span(NamedTuple):
    """Seconds by the clock and of processor time."""

    clock: float
    processor: float


class Stopwatch:
    """Times the body of a `with`."""

    def __enter__(self) -> Stopwatch:
        self._clock, self._processor = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        self.span = Span(time.perf_counter() - self._clock, time.process_time() - self._processor)


def peak_memory() -> float:
    """The most memory this process has held, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def count_empty_board(rounds: int) -> tuple[int, list[Span], float, float]:
    """The number of fleets, the times of the counts, and the peak memory (MB) before and after them."""
    ruleset = game("battleship_attack").ruleset()
    view = new_state(ruleset, 0)
    total = count_placements(ruleset, view).total
    before, spans = peak_memory(), []
    for _ in range(rounds):
        with Stopwatch() as watch:
            count_placements(ruleset, view)
        spans.append(watch.span)
    return total, spans, before, peak_memory()


def play(ruleset: Ruleset, name: str, games: int, progress: Progress) -> tuple[np.ndarray, list[Span]]:
    """Shots of every game `(games,)`, and the time of every decision."""
    agent, shots, spans = make_agent(ruleset.game, name), [], []
    agent.reset(ruleset, 0, 0)
    first = new_state(ruleset, 0)
    agent.act(view_of(ruleset, first, 0), action_mask(ruleset, first))  # compiles
    for seed in progress.track(range(games), description=name):
        state = new_state(ruleset, seed)
        agent.reset(ruleset, 0, seed)
        while not state["terminated"]:
            view, mask = view_of(ruleset, state, 0), action_mask(ruleset, state)
            with Stopwatch() as watch:
                action = agent.act(view, mask)
            spans.append(watch.span)
            state = step(ruleset, state, action)
        shots.append(int(state["shots"][0]))
    return np.array(shots), spans


def milliseconds(values: list[float]) -> str:
    """Median, 99th percentile, largest and mean."""
    figures = (statistics.median(values), np.percentile(values, 99), max(values), statistics.fmean(values))
    return " | ".join(f"{1000 * figure:.3g}" for figure in figures)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", type=int, default=100, help="games of the one-sided game (default 100)")
    parser.add_argument("--rounds", type=int, default=7, help="counts of the empty board (default 7)")
    parser.add_argument("--agent", default="mp_exact", help="who plays (default mp_exact)")
    arguments = parser.parse_args()
    console = Console()
    total, spans, before, after = count_empty_board(arguments.rounds)
    console.print(f"Empty board: {total:,} fleets with like ships told apart")
    for name, values in (("clock", [s.clock for s in spans]), ("processor", [s.processor for s in spans])):
        console.print(f"  {name}: median {statistics.median(values):.3f} s, least {min(values):.3f} s")
    console.print(f"  peak memory of the process {after:.0f} MB, of this by counting again {after - before:.0f} MB")
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        shots, spans = play(game("battleship_attack").ruleset(), arguments.agent, arguments.games, progress)
    half = 1.96 * shots.std(ddof=1) / math.sqrt(len(shots))
    console.print(f"{arguments.agent}, {len(shots)} games, {len(spans):,} decisions")
    console.print("  ms a decision (median | 99 % | largest | mean)")
    console.print(f"    clock: {milliseconds([s.clock for s in spans])}")
    console.print(f"    processor: {milliseconds([s.processor for s in spans])}")
    console.print(
        f"  shots to sink the fleet: mean {shots.mean():.2f} ± {half:.2f} (95 %), standard deviation "
        f"{shots.std(ddof=1):.2f}, median {np.median(shots):.0f}, {shots.min()} to {shots.max()}"
    )
    console.print(f"  peak memory of the process {peak_memory():.0f} MB")


if __name__ == "__main__":
    main()
