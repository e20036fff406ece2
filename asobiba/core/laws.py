"""The laws that hold in every game, as kernels; the engine compiles them together with a game's rules.

An illegal action ends the game and costs its player `illegal_reward`; what he loses the others share in a zero-sum
game. A step after the end changes nothing. A game that reaches its longest length is truncated. The legal mask of a
finished game is all zero.
"""

from __future__ import annotations

import numpy as np

from asobiba.core.kernels import kernel
from asobiba.core.state import BY_RULES, ILLEGAL_ACTION, STEP_LIMIT

AUTORESET_DISABLED, AUTORESET_NEXT_STEP, AUTORESET_SAME_STEP = 0, 1, 2


@kernel
def is_over(s):
    """Whether the game of state `s` has ended, by its rules or by truncation."""
    return s.terminated != 0 or s.truncated != 0


@kernel
def forfeit_zero_sum(s, p, player, reason):
    """`player` loses: he gets `illegal_reward`, the others share what he loses."""
    others = s.rewards.shape[0] - 1
    for k in range(s.rewards.shape[0]):
        s.rewards[k] = p.illegal_reward if k == player else -p.illegal_reward / others
    s.terminated = 1
    s.end_reason = reason


@kernel
def forfeit_alone(s, p, player, reason):
    """`player` gets `illegal_reward`, the others nothing."""
    for k in range(s.rewards.shape[0]):
        s.rewards[k] = p.illegal_reward if k == player else 0.0
    s.terminated = 1
    s.end_reason = reason


@kernel
def offender_discrete(s, mask, action):
    """The player whose action is illegal (`mask` is the mover's), or -1."""
    if action < 0 or action >= mask.shape[0] or mask[action] == 0:
        return s.to_move
    return -1


@kernel
def offender_discrete_joint(s, mask, action):
    """The first player whose action of the joint action is illegal (`mask` has a row a player), or -1."""
    for k in range(action.shape[0]):
        if action[k] < 0 or action[k] >= mask.shape[1] or mask[k, action[k]] == 0:
            return k
    return -1


@kernel
def offender_continuous(s, mask, action):
    """The mover if his action holds a number that is not finite, else -1; bounds are clipped by the rules."""
    for k in range(action.shape[0]):
        if not (abs(action[k]) < 1e30):
            return max(s.to_move, 0)
    return -1


@kernel
def offender_continuous_joint(s, mask, action):
    """The first player whose action holds a number that is not finite, else -1."""
    for k in range(action.shape[0]):
        for j in range(action.shape[1]):
            if not (abs(action[k, j]) < 1e30):
                return k
    return -1


@kernel
def legal_unmasked(s, p, mask):
    """The mask kernel of a game whose actions are continuous: there is nothing to write."""


@kernel
def hide_nothing(s, p, player):
    """The hiding kernel of a game of perfect information."""


@kernel
def resample_nothing(s, p, player):
    """The resampling kernel of a game of perfect information: a view is the whole state."""


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
    """What an adaptor asks after every step, in one integer (see `SUMMARY_*`)."""
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
ILLEGAL = ILLEGAL_ACTION
