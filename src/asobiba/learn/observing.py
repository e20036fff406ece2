"""Observations of records, without PyTorch."""

from __future__ import annotations

import numpy as np

from asobiba.core.game import Ruleset


def observe(ruleset: Ruleset, views: np.ndarray, seats: np.ndarray | None = None) -> np.ndarray:
    """Observations of the players at `seats` `(n,)`, or else of those to move, in each record `(n,)`: `(n, observation_size)`."""
    out = np.zeros((len(views), ruleset.observation_size), ruleset.observation_space.dtype)
    seats = np.maximum(views["to_move"], 0) if seats is None else seats.astype(np.int8)
    ruleset.engine.observe_all(np.ascontiguousarray(views), ruleset.params, seats, out)
    return out
