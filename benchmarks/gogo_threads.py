"""What a second thread saves Gogo's alpha-beta: python benchmarks/gogo_threads.py

For each position, the positions that the first thread visits until it has finished a depth, alone and beside a second thread
that shares its table. Both threads must go equally fast, on two cores of their own or none (the last column is 1 then);
the ratio is by how much a depth comes sooner. Two threads do not repeat themselves, so that the figures vary.
"""

from __future__ import annotations

import argparse

import numpy as np
from gogo_depth import games

from asobiba.baselines.search.alpha_beta import Searcher, SearchResult
from asobiba.core import Ruleset, make_agent
from asobiba.core.states import new_state, step
from asobiba.envs.gogo import GAME


def measure(ruleset: Ruleset, settings: dict, moves: list[int], depth: int) -> tuple[int, int, int] | None:
    """Positions alone, of the first of two threads, and of the second; `None` where an end is forced."""
    state = new_state(ruleset, 0)
    for move in moves:
        state = step(ruleset, state, move)
    alone = Searcher(ruleset, **settings).search(state, depth=depth)
    both, reached = Searcher(ruleset, threads=2, **settings), []

    def stop(found: SearchResult) -> None:
        if found.depth >= depth:
            reached.append(found.nodes)
            both.stop()

    found = both.search(state, seconds=600.0, on_depth=stop)
    return None if alone.proven or not reached else (alone.nodes, reached[0], found.nodes - reached[0])


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--positions", type=int, default=40)
    parser.add_argument("--presets", nargs="+", default=["gogo", "gomoku"], help="Of the rules.")
    parser.add_argument("--depth", type=int, default=9, help="Plies.")
    given = parser.parse_args()
    agent = make_agent(GAME, "alpha_beta:seconds=1")
    settings = {name: value for name, value in agent.settings.items() if name not in ("seconds", "threads")}
    print("| rules | positions | alone | first of two | ratio (95 %) | second by first |")
    print("|---|--:|--:|--:|--:|--:|")
    for preset in given.presets:
        ruleset = GAME.ruleset(preset=preset)
        rows = [measure(ruleset, settings, moves, given.depth) for moves in games(preset, given.positions)]
        counts = np.array([row for row in rows if row is not None], float)
        ratios = np.log(counts[:, 0] / counts[:, 1])
        margin = 1.96 * ratios.std(ddof=1) / len(ratios) ** 0.5
        low, middle, high = np.exp(ratios.mean() + margin * np.array([-1, 0, 1]))
        print(
            f"| {preset} | {len(counts)} | {counts[:, 0].mean():,.0f} | {counts[:, 1].mean():,.0f} "
            f"| {middle:.2f} ({low:.2f} to {high:.2f}) | {(counts[:, 2] / counts[:, 1]).mean():.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
