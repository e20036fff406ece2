"""Two trainings at the same time, against one after the other: what processes that work side by side cost each other.

`python benchmarks/together.py` is one training: it says when it is ready, waits for a line, trains, and says how long
that took.
"""

from __future__ import annotations

import subprocess
import sys
import time

ENVIRONMENTS, STEPS, ROLLOUTS = 1024, 16, 6


class Training:
    """A process that trains when it is told to."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        self._hear("ready")

    def _hear(self, word: str) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line.startswith(word):
            raise RuntimeError(f"the training said {line!r} instead of {word!r}")
        return line

    def begin(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write("go\n")
        self._process.stdin.flush()

    def end(self) -> float:
        """Waits; the seconds that it took."""
        return float(self._hear("trained").split()[1])

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def together() -> tuple[float, float]:
    """Seconds of two trainings one after the other, and at the same time."""
    trainings = [Training(), Training()]
    try:
        apart = 0.0
        for training in trainings:
            training.begin()
            apart += training.end()
        begin = time.perf_counter()
        for training in trainings:
            training.begin()
        for training in trainings:
            training.end()
        return apart, time.perf_counter() - begin
    finally:
        for training in trainings:
            training.close()


def main() -> None:
    from sb3_contrib import MaskablePPO

    from asobiba.api.sb3 import SB3VecEnv

    env = SB3VecEnv("animal_shogi", num_envs=ENVIRONMENTS, opponent="random", seed=0)
    model = MaskablePPO("MlpPolicy", env, n_steps=STEPS, batch_size=4096, n_epochs=4, seed=0)
    model.learn(ENVIRONMENTS * STEPS)
    print("ready", flush=True)
    for _ in sys.stdin:
        begin = time.perf_counter()
        model.learn(ENVIRONMENTS * STEPS * ROLLOUTS)
        print("trained", time.perf_counter() - begin, flush=True)


if __name__ == "__main__":
    main()
