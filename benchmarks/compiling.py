"""Cost of a first environment on a machine where nothing was compiled before: processor seconds of its process.

`python benchmarks/compiling.py GAME aec|seat` is one such process: it makes the environment, plays two steps, and says
what that took, without what importing takes.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

from asobiba.core import game_names

INTERFACES = ("aec", "seat")


def first_environment(name: str, interface: str) -> float:
    """Processor seconds with an empty cache: `pettingzoo.make("aec", ...)`, or one seat against `random`."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, __file__, name, interface],
            env={**os.environ, "ASOBIBA_CACHE_DIR": folder, "ASOBIBA_QUIET": "1", "OMP_NUM_THREADS": "1"},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    return float(done.stdout)


def first_environments() -> dict[str, list[float]]:
    """Of every game, the seconds of each of `INTERFACES`."""
    return {name: [first_environment(name, interface) for interface in INTERFACES] for name in game_names()}


def _play(name: str, interface: str) -> None:
    import gymnasium
    import numba  # noqa: F401 - so that its import is not counted
    import pettingzoo

    import asobiba
    from asobiba.core import game

    begin = time.process_time()
    if interface == "aec":
        env = pettingzoo.make("aec", game(name).id)
        env.reset(seed=0)
        for agent in env.agent_iter(2):
            seen = env.last()[0]
            mask = seen.get("action_mask") if isinstance(seen, dict) else None
            space = env.action_space(agent)
            env.step(space.sample(mask) if mask is not None else space.sample())
    else:
        seat: gymnasium.Env = asobiba.make(name)
        _, info = seat.reset(seed=0)
        for _ in range(2):
            mask = info.get("action_mask")
            seen = seat.step(seat.action_space.sample(mask) if mask is not None else seat.action_space.sample())
            info = seen[4]
    print(time.process_time() - begin)


if __name__ == "__main__":
    _play(*sys.argv[1:])
