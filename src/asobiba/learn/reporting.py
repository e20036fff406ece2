"""Progress of a training run, and its interruption."""

from __future__ import annotations

import math
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
from stable_baselines3.common.callbacks import BaseCallback

from asobiba.arena.evaluation import Evaluation
from asobiba.progress import training_bar

_LINE_EVERY = 10.0
"""Seconds between two plain lines, where there is no terminal."""


def short(number: float) -> str:
    """A count in at most five characters.

    >>> short(512), short(12345), short(1234567), short(20_000_000)
    ('512', '12.3k', '1.23M', '20.0M')
    """
    for size, unit in ((1e6, "M"), (1e3, "k")):
        if number >= 0.9995 * size:
            value = number / size
            return f"{value:.{2 if value < 9.995 else 1 if value < 99.95 else 0}f}{unit}"
    return f"{number:.0f}"


class Interrupted(Exception):
    """Raised when training was stopped between two rollouts, after its checkpoint was saved."""


class Report(BaseCallback):
    """Shows reward, scores against the opponents of the evaluation, speed and time left: as a bar, or in plain lines.

    Args:
        total: decisions of the whole run.
        say: shows a line where there is no terminal; `None` says nothing at all.
    """

    def __init__(self, total: int, say: Callable[[str], None] | None = None):
        super().__init__()
        self._total, self._say = total, say
        self._bar = training_bar()
        self._live = self._bar.console.is_terminal and say is not None
        self._task = self._bar.add_task("compiling", total=total)
        self._scores: list[Evaluation] = []
        self._best = ""
        self._best_value = -math.inf
        self._began: tuple[float, int] | None = None
        self._said = time.monotonic()

    def __enter__(self) -> Self:
        if self._live:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live:
            self._bar.stop()

    def evaluated(self, results: Sequence[Evaluation]) -> None:
        """The latest evaluation, to be shown from now on."""
        self._scores = list(results)
        alone = all(result.opponent == "-" for result in self._scores)
        value = float(np.mean([r.mean_return if alone else r.score for r in self._scores]))
        if value > self._best_value:
            self._best_value = value
            self._best = f"best {value:.3g}" if alone else f"best {100 * value:.0f} %"

    def describe(self) -> str:
        """The state of the training in one line."""
        parts = []
        episodes = self.model.ep_info_buffer
        if episodes:
            parts.append(f"reward {np.mean([episode['r'] for episode in episodes]):.3f}")
        for result in self._scores:
            if result.opponent == "-":
                parts.append(f"evaluation {result.mean_return:.3f}")
            else:
                parts.append(f"{result.opponent} {100 * result.score:.0f} %")
        if self._began is not None and self.num_timesteps > self._began[1]:
            speed = (self.num_timesteps - self._began[1]) / (time.monotonic() - self._began[0])
            parts.append(f"{speed:,.0f} steps/s")
        return "  ".join(parts) or "first games"

    def brief(self) -> str:
        """The state of the training in 45 columns: steps, speed, the best mean score of an evaluation so far."""
        parts = [f"{short(self.num_timesteps)} of {short(self._total)} steps"]
        if self._began is not None and self.num_timesteps > self._began[1]:
            speed = (self.num_timesteps - self._began[1]) / (time.monotonic() - self._began[0])
            parts.append(f"{short(speed)}/s")
        return "  ".join([*parts, self._best]).rstrip()[:45]

    def _left(self) -> str:
        if self._began is None or self.num_timesteps <= self._began[1]:
            return ""
        spent = time.monotonic() - self._began[0]
        seconds = spent / (self.num_timesteps - self._began[1]) * (self._total - self.num_timesteps)
        return f"  about {seconds:.0f} s left" if seconds < 120 else f"  about {seconds / 60:.0f} min left"

    def _on_rollout_start(self) -> None:
        if self._began is None and self.num_timesteps > self.model._num_timesteps_at_start:
            self._began = (time.monotonic(), self.num_timesteps)  # the time before it included compiling
        self._bar.update(self._task, completed=self.num_timesteps, description=self.brief())
        if not self._live and self._say is not None and time.monotonic() - self._said >= _LINE_EVERY:
            self._said = time.monotonic()
            self._say(f"{self.num_timesteps:,} of {self._total:,} steps  {self.describe()}{self._left()}")

    def _on_step(self) -> bool:
        return True


class StopOnInterrupt(BaseCallback):
    """Ctrl-C ends the training after the rollout in progress, when a checkpoint is whole; a second one at once.

    Args:
        save: saves the checkpoint.
    """

    def __init__(self, save: Callable[[Any], None]):
        super().__init__()
        self._save = save
        self._asked = False
        self._before: Any = None

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._interrupt)
        return self

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
            self._before = None

    def _interrupt(self, *_: object) -> None:
        if self._asked:
            raise KeyboardInterrupt
        self._asked = True
        print("\nStopping after these games; press Ctrl-C again to stop at once.", file=sys.stderr, flush=True)

    def _on_rollout_start(self) -> None:
        if self._asked:
            self._save(self.model)
            raise Interrupted

    def _on_training_end(self) -> None:
        self._asked = False

    def _on_step(self) -> bool:
        return True
