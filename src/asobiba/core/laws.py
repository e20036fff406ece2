"""The laws common to all games, as kernels; the loops apply them around a game's rules.

An illegal action ends the game and gives its player `illegal_reward`; in a zero-sum game the others share his loss. (A
game may declare instead that its rules replace the action.) A step after the end changes nothing. A game that reaches
its longest length is truncated. The legal mask of a finished game is all zero.
"""

from __future__ import annotations

import numpy as np

from asobiba.core.kernels import kernel
from asobiba.core.record import BY_RULES, ILLEGAL_ACTION, STEP_LIMIT

DISABLED, NEXT_STEP, SAME_STEP = 0, 1, 2
"""The time of an episode's restart: on request, in the step after its end, in the step of its end."""


@kernel
def has_ended(s):
    """Whether the game of state `s` has ended, by its rules or by truncation."""
    return s.terminated != 0 or s.truncated != 0


@kernel
def forfeit(s, p, player, zero_sum):
    """`player`'s action was illegal: he gets `illegal_reward`, and in a zero-sum game the others share what he loses."""
    others = p.players - 1
    for k in range(p.players):
        shared = -p.illegal_reward / others if zero_sum else 0.0
        s.rewards[k] = p.illegal_reward if k == player else shared
    s.to_move = player
    s.terminated = 1
    s.end_reason = ILLEGAL_ACTION
    s.steps += 1


@kernel
def close_step(s, p):
    """Counts the step and truncates a game that has reached its longest length."""
    s.steps += 1
    if s.terminated != 0:
        if s.end_reason == 0:
            s.end_reason = BY_RULES
    elif s.steps >= p.max_steps:
        s.truncated = 1
        s.end_reason = STEP_LIMIT


@kernel
def summary(s):
    """Summary of a step for the adaptors, in one integer (see `SUMMARY_*`)."""
    rewarded = 0
    for k in range(s.rewards.shape[0]):
        if s.rewards[k] != 0:
            rewarded = 1
    return (
        (np.int64(s.to_move) + 1)
        | (np.int64(s.terminated) << 8)
        | (np.int64(s.truncated) << 9)
        | (rewarded << 10)
        | (np.int64(s.end_reason) << 16)
    )


SUMMARY_MOVER, SUMMARY_TERMINATED, SUMMARY_TRUNCATED, SUMMARY_REWARDED, SUMMARY_REASON_SHIFT = (
    0xFF,
    1 << 8,
    1 << 9,
    1 << 10,
    16,
)
SUMMARY_OVER = SUMMARY_TERMINATED | SUMMARY_TRUNCATED
