"""What the same bytes everywhere cost: simulators with the core's elementary functions, and with the C library's.

Each case is a process of its own, which steps a batch whenever it is told to: `python benchmarks/arithmetic.py CASE own|library`.
"""

from __future__ import annotations

import math
import subprocess
import sys

from timing import Burst

GAMES = {
    "curling, cs2": ("curling", {}),
    "curling, fcv1": ("curling", {"simulator": "fcv1"}),
    "mini4wd": ("mini4wd", {}),
    "mini4wd_race": ("mini4wd_race", {}),
}
BATCH = 1024


def burst(case: str, whose: str) -> Burst:
    """Steps of a batch of a game, with functions of the core (`own`) or of the C library (`library`)."""
    process = subprocess.Popen(
        [sys.executable, __file__, case, whose], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    write, read = process.stdin, process.stdout

    def step() -> int:
        write.write("\n")
        write.flush()
        return int(read.readline())

    return step


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


def main(case: str, whose: str) -> None:
    if whose == "library":
        use_library()
    from asobiba import game
    from asobiba.api import Batch

    name, parameters = GAMES[case]
    batch = Batch(game(name).ruleset(**parameters), BATCH, threads=1)
    batch.reset(seed=1)
    for _ in sys.stdin:
        batch.step(batch.sample_actions())
        print(BATCH, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
