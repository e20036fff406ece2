"""Time attack with discrete levels of duty: the rules of `rules` with other actions."""

from __future__ import annotations

from asobiba.core import kernel
from asobiba.envs.mini4wd.rules import hide, observe, resample, reset, run_on, valid

__all__ = ["hide", "legal", "observe", "resample", "reset", "step", "valid"]


@kernel
def legal(s, p, mask):
    for a in range(mask.shape[0]):
        mask[a] = 1


@kernel
def step(s, p, action):
    run_on(s, p, p.levels[action, 0], p.levels[action, 1])
