"""Winning degrees: the simple one (SWG) and the weighted one (WWG), for games of two players.

Hanakawa, Tominaga, "Support and Practices in an Applied Java Programming Exercise with Board Game Strategy and a Contest
Style - Refinement of Ranking by Weighted Winning Degree as Rating Index" (in Japanese).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from asobiba.arena.groups import Groups
from asobiba.arena.ratings import Rating, agent_names, ranked
from asobiba.arena.results import Result, Results

_MOST_STEPS = 10_000
_PATIENCE = 20
"""Number of steps in which the change must halve."""


@dataclass(frozen=True)
class _Points:
    """Counts of the matches of each pairing that gave its first agent 0 to 4 points: `(pairings, 5)`; `rows`, `columns`: the
    two agents; `groups`: seeds under which the pairing met, including incomplete ones.

    A match is two games with swapped seats: 4 points for two wins, 0 for two losses. At one win each the games'
    tie-breaker decides: 3 for more, 1 for less, 2 for equal (or without a tie-breaker). A draw counts half a game: with
    a win 3 points, with a loss 1.
    """

    rows: np.ndarray
    columns: np.ndarray
    counts: np.ndarray
    groups: np.ndarray

    @classmethod
    def of(cls, results: Results, place: np.ndarray) -> _Points:
        groups = Groups.of(results)
        if not len(groups) or results.seats.shape[1] != 2:
            empty = np.zeros(0, np.int64)
            return cls(empty, empty, np.zeros((0, 5), np.int64), empty)
        one = groups.members[groups.begin[:-1]]
        other = groups.members[np.minimum(groups.begin[:-1] + 1, len(groups.members) - 1)]
        seats = results.seats
        whole = (groups.begin[1:] - groups.begin[:-1] == 2) & (seats[one] == seats[other][:, ::-1]).all(1)
        differ = seats[one, 0] != seats[one, 1]
        first, second = seats[one].min(1), seats[one].max(1)
        score, margin = np.zeros(len(one)), np.zeros(len(one))
        for row in (one, other):
            seat = (seats[row, 0] != first).astype(int)
            score += np.where(results.winner[row] < 0, 0.5, results.winner[row] == seat)
            breaks = results.tie_break[row]
            gap = np.where(seat == 0, 1, -1) * (breaks[:, 0] - breaks[:, 1])
            margin += np.nan_to_num(gap)
        points = np.select([score == 0, score == 0.5, score == 1.5, score == 2], [0, 1, 3, 4], 2 + np.sign(margin))
        pairing, inverse = np.unique(groups.pairing[differ], return_inverse=True)
        inverse = inverse.reshape(-1)
        counted = whole[differ]
        cells = np.bincount(
            inverse[counted] * 5 + points[differ][counted].astype(np.int64), minlength=5 * len(pairing)
        ).reshape(-1, 5)
        begin = np.searchsorted(groups.pairing[differ], pairing)
        return cls(
            place[first[differ][begin]],
            place[second[differ][begin]],
            cells,
            np.bincount(inverse, minlength=len(pairing)),
        )

    def table(self, counts: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Mean points and numbers of matches, both `(n, n)`, of so many matches with 0 to 4 points."""
        points, matches = np.zeros((n, n)), np.zeros((n, n))
        played, gained = counts.sum(1), counts @ np.arange(5)
        points[self.rows, self.columns], points[self.columns, self.rows] = gained, 4 * played - gained
        matches[self.rows, self.columns] = matches[self.columns, self.rows] = played
        return np.divide(points, matches, out=np.zeros_like(points), where=matches > 0), matches

    def resample(self, generator: np.random.Generator) -> np.ndarray:
        """The counts of as many groups drawn with replacement within each pairing."""
        lacking = self.groups - self.counts.sum(1)
        shares = np.column_stack([self.counts, lacking]) / self.groups[:, None]
        return generator.multinomial(self.groups, shares)[:, :5]


def _places(results: Results, agents: Sequence[str]) -> np.ndarray:
    index = {name: k for k, name in enumerate(agents)}
    return np.array([index.get(name, -1) for name in results.agents], np.int64)


def points_table(results: Sequence[Result], agents: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Mean match points of row against column, and the number of matches: both `(n, n)`; for games of two players."""
    found = Results.of(results)
    points = _Points.of(found, _places(found, agents))
    return points.table(points.counts, len(agents))


def simple_degree(points: np.ndarray, played: np.ndarray | None = None) -> np.ndarray:
    """The simple winning degree (SWG): points over four times the number of opponents, `(n,)` from `(n, n)`."""
    met = _met(points, played)
    return np.where(met, points, 0.0).sum(1) / (4 * np.maximum(met.sum(1), 1))


def weighted_degree(
    points: np.ndarray, played: np.ndarray | None = None, steps: int | None = None, tolerance: float = 1e-12
) -> np.ndarray:
    """The weighted winning degree (WWG) of a table of points, `(n,)` from `(n, n)` values between 0 and 4.

    `W0 = 1; W(x) <- (0.5 + sum over i != x of W(i) * points[x, i] / 4) / (sum of all W)`: points won against the
    strong weigh more, and every agent draws against itself. The iteration ends when nothing changes by more than
    `tolerance`, or after `steps`.

    Args:
        played: `(n, n)`, the pairs that met (all, if not given). An agent's sums go over those that it met, and itself.
    """
    met = _met(points, played)
    others = np.where(met, points / 4, 0.0)
    everybody = met | np.eye(len(points), dtype=bool)

    def step(weights: np.ndarray) -> np.ndarray:
        return (0.5 + others @ weights) / (everybody @ weights)

    weights = np.ones(len(points))
    if steps is not None:
        for _ in range(steps):
            weights = step(weights)
        return weights
    least, damped = np.inf, False
    for count in range(1, _MOST_STEPS + 1):
        fresh = step(weights)
        change = np.abs(fresh - weights).max()
        # If agents have met few others, the steps may oscillate between two tables for ever; their mean is the fixed
        # point.
        if count % _PATIENCE == 0:
            damped, least = damped or change > least / 2, change
        weights = (weights + fresh) / 2 if damped else fresh
        if change < tolerance:
            break
    return weights


def _met(points: np.ndarray, played: np.ndarray | None) -> np.ndarray:
    off_diagonal = ~np.eye(len(points), dtype=bool)
    return off_diagonal if played is None else off_diagonal & (np.asarray(played) > 0)


def weighted_winning_degree(
    results: Sequence[Result], level: float = 0.95, seed: int = 0, resamples: int = 200
) -> list[Rating]:
    """Ratings by WWG (see `weighted_degree`), intervals by a bootstrap over matches; for games of two players."""
    found = Results.of(results)
    names = agent_names(found)
    if not names:
        return []
    points = _Points.of(found, _places(found, names))
    values = weighted_degree(*points.table(points.counts, len(names)))
    generator = np.random.Generator(np.random.Philox(seed))
    samples = np.array(
        [weighted_degree(*points.table(points.resample(generator), len(names))) for _ in range(resamples)]
    )
    tail = (1 - level) / 2
    low, high = np.quantile(samples, [tail, 1 - tail], axis=0)
    tied = np.eye(len(names), dtype=bool)
    for k in range(len(names)):
        gaps = np.quantile(samples[:, k, None] - samples, [tail, 1 - tail], axis=0)
        tied[k] = (gaps[0] <= 0) & (gaps[1] >= 0)
    return ranked(names, values, np.minimum(low, values), np.maximum(high, values), tied)
