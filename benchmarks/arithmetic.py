"""The price of the same bytes everywhere: simulators with the core's elementary functions, and with the C library's.

Each of the two is a process of its own, which steps a batch whenever it is told to and says how much processor time that
took: `python benchmarks/arithmetic.py CASE own|library`. They take turns, so that a drift of the machine's speed hits both.
"""

from __future__ import annotations

import math
import statistics
import subprocess
import sys
import time

GAMES = {
    "curling, cs2": ("curling", {}),
    "curling, fcv1": ("curling", {"simulator": "fcv1"}),
    "mini4wd": ("mini4wd", {}),
    "mini4wd_race": ("mini4wd_race", {}),
}
BATCH, STEPS = 256, 25


def use_library() -> None:
    """Puts the C library's functions in the place of the core's, in this process, before any game is imported."""
    from asobiba.core import elementary, kernel

    for name, function in {
        "sin": lambda x: math.sin(x),
        "cos": lambda x: math.cos(x),
        "sincos": lambda x: (math.sin(x), math.cos(x)),
        "exp": lambda x: math.exp(x),
        "log": lambda x: math.log(x),
        "atan2": lambda y, x: math.atan2(y, x),
    }.items():
        setattr(elementary, name, kernel(function))


def serve(case: str, whose: str) -> None:
    """Steps a batch for every line that comes in; prints the seconds of processor time."""
    if whose == "library":
        use_library()
    from asobiba import game
    from asobiba.api import Batch

    name, parameters = GAMES[case]
    batch = Batch(game(name).ruleset(**parameters), BATCH, threads=1)
    batch.reset(seed=1)
    batch.step(batch.sample_actions())
    for _ in sys.stdin:
        start = time.process_time()
        for _ in range(STEPS):
            batch.step(batch.sample_actions())
        print(time.process_time() - start, flush=True)


def rates(case: str, rounds: int = 80) -> tuple[float, float, float]:
    """Median steps a second of processor time with the core's functions and with the library's; how much longer the first take."""
    command = [sys.executable, __file__, case]
    both = [
        subprocess.Popen([*command, whose], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for whose in ("own", "library")
    ]
    seconds: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for process, found in zip(both, seconds):
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write("\n")
            process.stdin.flush()
            found.append(float(process.stdout.readline()))
    for process in both:
        process.communicate()
    own, library = map(statistics.median, seconds)
    return BATCH * STEPS / own, BATCH * STEPS / library, own / library - 1


if __name__ == "__main__":
    serve(*sys.argv[1:])
