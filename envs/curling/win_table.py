"""Win probability by ends left and lead: dynamic programming over the scores of an end."""

from __future__ import annotations

import numpy as np

END_SCORES = (
    0.00025, 0.001, 0.004, 0.016, 0.05, 0.09, 0.25, 0.5, 0.05, 0.22, 0.07, 0.02, 0.007, 0.0007, 7e-5, 7e-6, 7e-7,
)  # fmt: skip
"""Unnormalised frequencies of an end's scores from -8 to 8 for the side that throws first: the prior of the program
Ayumu."""
EXTRA_END_FIRST = 0.219
"""Win probability of the team that throws first in an extra end: Ayumu's."""
LEAD = 20
"""Greater leads count as this."""


def win_table(
    ends: int, scores: tuple[float, ...] | np.ndarray = END_SCORES, extra_first: float = EXTRA_END_FIRST
) -> np.ndarray:
    """Win probability of the team that throws first in the next end, `(ends + 1, 2 * LEAD + 1)` float64.

    Row: ends left; column: lead of that player plus `LEAD`.

    Args:
        ends: rows to fill.
        scores: weights of the scores -8 to 8 of the team that throws first; `(17,)`, or `(ends + 1, 2 * LEAD + 1, 17)` where
            they depend on the situation.
        extra_first: the win probability of the team that throws first when all ends are played and the score is tied.
    """
    weights = np.broadcast_to(np.asarray(scores, float), (ends + 1, 2 * LEAD + 1, 17))
    total = np.cumsum(weights, axis=2)[:, :, -1:]  # one after the other: NumPy's sum is in another order elsewhere
    weights = weights / total
    table = np.zeros((ends + 1, 2 * LEAD + 1))
    table[0, LEAD + 1 :] = 1.0
    table[0, LEAD] = extra_first
    leads = np.arange(-LEAD, LEAD + 1)
    for left in range(1, ends + 1):
        for points in range(-8, 9):
            after = np.clip(leads + points, -LEAD, LEAD)
            won = table[left - 1, after + LEAD] if points >= 0 else 1.0 - table[left - 1, -after + LEAD]
            table[left] += weights[left, :, points + 8] * won
    return table
