"""Potential of a car's run, for training: the rest of the distance, and the finish at a fair speed from here."""

from __future__ import annotations

import numpy as np

from asobiba.core import Ruleset

SPEED = 3.8
"""m/s at which the rest of a run is taken to go on: what the best controllers drive on the mean."""


class Promise:
    """The remaining return of a run that continues at `SPEED`. Every loss of time lowers it at once, and leaving the
    course loses all of it.

    Args:
        ruleset: of the time attack.
    """

    def __init__(self, ruleset: Ruleset):
        p = ruleset.params[0]
        self._whole = float(p["laps"] * p["lap_length"])
        self._progress, self._finish = float(p["progress_weight"]), float(p["finish_weight"] * p["par_time"])

    def __call__(self, states: np.ndarray) -> np.ndarray:
        """State records `(n,)` to returns `(n,)`."""
        left = self._whole - states["progress"][:, 0]
        return self._progress * left / self._whole + self._finish / (states["clock"][:, 0] + left / SPEED)
