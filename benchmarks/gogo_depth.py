"""Depth that Gogo's alpha-beta reaches in a second of processor time, here and elsewhere: python benchmarks/gogo_depth.py OTHER

OTHER is the folder `src` of a checkout of the project, such as a git worktree of an older commit. The positions come from games
of today's engine; both search each of them in turn, in processes of their own, with empty tables. Depths are plies
of the last iteration that was finished; the engines prune differently, so that a depth is no measure of strength.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np


def games(preset: str, count: int) -> list[list[int]]:
    """The moves up to `count` positions in which no end is forced: 4 random plies and 4 to 23 of the engine, one a game."""
    from asobiba.core import make_agent
    from asobiba.core.states import action_mask, is_over, new_state, step
    from asobiba.envs.gogo import GAME

    ruleset, rng, found = GAME.ruleset(preset=preset), np.random.default_rng(0), []
    agent = make_agent(GAME, "alpha_beta:nodes=500")
    while len(found) < count:
        state, moves = new_state(ruleset, 0), []
        agent.reset(ruleset, 0, 0)
        wanted = 8 + len(found) % 20
        while len(moves) < wanted and not is_over(state):
            mask = action_mask(ruleset, state)
            move = int(rng.choice(np.flatnonzero(mask)) if len(moves) < 4 else agent.act(state, mask))
            if len(moves) >= 4 and agent.last.proven:
                break
            moves.append(move)
            state = step(ruleset, state, move)
        if len(moves) == wanted and not is_over(state):
            found.append(moves)
    return found


def stop_after(searcher, seconds: float, done: threading.Event) -> None:
    """Stops a search after so many seconds of this process's processor time, so that other work on the machine counts little."""
    begun = time.process_time()
    while time.process_time() - begun < seconds and not done.wait(0.002):
        pass
    searcher.stop()


def work() -> None:
    """Answers each line, a preset, seconds and moves, with depth, positions and whether an end is forced."""
    from asobiba.core import make_agent
    from asobiba.core.states import new_state, step
    from asobiba.envs.gogo import GAME

    for line in sys.stdin:
        preset, seconds, moves = json.loads(line)
        ruleset = GAME.ruleset(preset=preset)
        state = new_state(ruleset, 0)
        for move in moves:
            state = step(ruleset, state, move)
        agent = make_agent(GAME, "alpha_beta:depth=1")
        agent.reset(ruleset, 0, 0)
        done = threading.Event()
        threading.Thread(target=stop_after, args=(agent.searcher, seconds, done), daemon=True).start()
        last = agent.searcher.search(state, depth=60)
        done.set()
        print(json.dumps([last.depth, last.nodes, last.proven]), flush=True)


def worker(source: Path) -> subprocess.Popen:
    """A process that imports asobiba from this folder."""
    environment = os.environ | {"PYTHONPATH": str(source.resolve())}
    command = [sys.executable, __file__, "--work"]
    return subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def ask(process: subprocess.Popen, *question) -> list:
    """A worker's answer."""
    process.stdin.write(json.dumps(question) + "\n")
    process.stdin.flush()
    return json.loads(process.stdout.readline())


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("other", nargs="?", type=Path)
    parser.add_argument("--positions", type=int, default=40)
    parser.add_argument("--presets", nargs="+", default=["gogo", "gomoku", "pente"], help="Of the rules.")
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        work()
        return
    if given.other is None:
        parser.error("name the folder src of another checkout")
    workers = [worker(given.other), worker(Path(__file__).parents[1] / "src")]
    print(
        "| rules | positions | depth there | depth here | ratio | deeper here | less deep | positions a second there | here |"
    )
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|")
    for preset in given.presets:
        positions = games(preset, given.positions)
        for process in workers:
            ask(process, preset, 0.1, positions[0])  # compiles
        rows = [[ask(process, preset, given.seconds, moves) for process in workers] for moves in positions]
        kept = [(there, here) for there, here in rows if not there[2] and not here[2]]
        depths = np.array([(there[0], here[0]) for there, here in kept])
        there, here = depths.mean(axis=0)
        nodes = [statistics.mean(pair[k][1] for pair in kept) / given.seconds for k in (0, 1)]
        print(
            f"| {preset} | {len(kept)} | {there:.1f} | {here:.1f} | {here / there:.2f} | {(depths[:, 1] > depths[:, 0]).sum()} "
            f"| {(depths[:, 1] < depths[:, 0]).sum()} | {nodes[0]:,.0f} | {nodes[1]:,.0f} |",
            flush=True,
        )
    for process in workers:
        process.stdin.close()
        process.wait()


if __name__ == "__main__":
    main()
