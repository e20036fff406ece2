"""Bao's rules for a search with a network: a board that the endgame database holds ends the line with its exact result.

The parameter record is that of `search_endgame.with_database`.
"""

from __future__ import annotations

import numpy as np

from asobiba.baselines.bao.search_endgame import known_result
from asobiba.core import kernel
from asobiba.envs.bao import rules
from asobiba.envs.bao.rules import RUNNING, finish, legal, observe, reset

__all__ = ["legal", "observe", "reset", "step"]

_plain_step = rules.step


@kernel
def step(s, p, action):
    """One move, and the end of the game if its result is then known."""
    _plain_step(s, p, action)
    if s.terminated != 0:
        return
    side = np.int64(s.to_move)
    result = known_result(p, s, side)
    if result != 0:
        finish(s, -1 if result == 2 else (1 - side if result > 0 else side), RUNNING)
