"""Ratings: functions from a table of results to a table of ratings, each with its confidence interval.

Bradley, Terry, "Rank Analysis of Incomplete Block Designs", Biometrika 39, 1952; Davidson, "On Extending the
Bradley-Terry Model to Accommodate Ties in Paired Comparison Experiments", JASA 65, 1970; Davidson, Beaver, "On
Extending the Bradley-Terry Model to Incorporate Within-Pair Order Effects", Biometrics 33, 1977.

WWG: Hanakawa, Tominaga, "Support and Practices in an Applied Java Programming Exercise with Board Game Strategy and a
Contest Style - Refinement of Ranking by Weighted Winning Degree as Rating Index" (in Japanese).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from scipy.optimize import minimize

from asobiba.arena.store import Result

ELO = 400 / math.log(10)
"""Elo points per unit of log-strength."""
PRIOR_ELO = 1000.0
"""Standard deviation of the normal prior on a strength, in Elo; it keeps the rating of an agent that won all finite."""
ANCHOR = "random"
"""The agent that stands at 0 where it plays."""


@dataclass(frozen=True)
class Rating:
    """One line of a ratings table.

    Args:
        agent: its name.
        value, low, high: the rating and its confidence interval.
        rank: 1 is best.
        tied_with: agents whose difference to this one is not significant at the same level.
    """

    agent: str
    value: float
    low: float
    high: float
    rank: int
    tied_with: tuple[str, ...] = ()


@dataclass(frozen=True)
class Outcomes:
    """Results as pairwise counts. `wins[i, j]`: how often agent i, seated before j, finished above it; `losses` the
    other way round, `draws` level. A match of more players counts for every two of its seats."""

    agents: tuple[str, ...]
    wins: np.ndarray
    losses: np.ndarray
    draws: np.ndarray


def agent_names(results: Sequence[Result]) -> tuple[str, ...]:
    """All agents in the results, sorted."""
    return tuple(sorted({name for result in results for name in result.seats}))


def outcomes(results: Sequence[Result], agents: Sequence[str] | None = None) -> Outcomes:
    """Counts who finished above whom."""
    names = tuple(agents or agent_names(results))
    index = {name: k for k, name in enumerate(names)}
    wins, losses, draws = (np.zeros((len(names), len(names))) for _ in range(3))
    for result in results:
        for a in range(len(result.seats)):
            for b in range(a + 1, len(result.seats)):
                i, j = index[result.seats[a]], index[result.seats[b]]
                if i != j:
                    gap = result.returns[a] - result.returns[b]
                    (draws if gap == 0 else wins if gap > 0 else losses)[i, j] += 1
    return Outcomes(names, wins, losses, draws)


@dataclass(frozen=True)
class DavidsonFit:
    """Strengths (log scale, mean 0), the log of the draw parameter, the first seat's advantage, and their covariance."""

    strengths: np.ndarray
    log_draws: float
    advantage: float
    covariance: np.ndarray


def fit_davidson(counts: Outcomes) -> DavidsonFit:
    """Maximum a posteriori fit of the Davidson model with order effect.

    With `d = strength_i - strength_j + advantage` for i seated before j, win, draw and loss are in proportion
    `exp(d / 2) : exp(log_draws) : exp(-d / 2)`.
    """
    n = len(counts.agents)
    i, j = np.nonzero(counts.wins + counts.losses + counts.draws)
    w, l, d = counts.wins[i, j], counts.losses[i, j], counts.draws[i, j]
    total = w + l + d
    has_draws = bool(d.sum())
    precision = (ELO / PRIOR_ELO) ** 2

    def probabilities(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        gap = x[i] - x[j] + x[n + 1]
        level = np.full(len(gap), x[n] if has_draws else -np.inf)
        logits = np.stack([gap / 2, level, -gap / 2])
        norm = np.logaddexp.reduce(logits, axis=0)
        return (*np.exp(logits - norm), np.where(total > 0, norm, 0.0))

    def loss(x: np.ndarray) -> tuple[float, np.ndarray]:
        p, q, r, norm = probabilities(x)
        gap = x[i] - x[j] + x[n + 1]
        value = -((w - l) * gap / 2 + d * (x[n] if has_draws else 0.0) - total * norm).sum()
        slope = -((w - l) / 2 - total * (p - r) / 2)
        gradient = np.zeros(n + 2)
        np.add.at(gradient, i, slope)
        np.add.at(gradient, j, -slope)
        gradient[n + 1] = slope.sum()
        gradient[n] = -(d - total * q).sum() if has_draws else 0.0
        gradient += precision * x
        return float(value + precision * (x**2).sum() / 2), gradient

    x = minimize(loss, np.zeros(n + 2), jac=True, method="BFGS", options={"gtol": 1e-6}).x
    for _ in range(20):  # Newton steps: the objective is convex
        hessian = _hessian(x, n, i, j, total, probabilities, has_draws, precision)
        step = np.linalg.solve(hessian, loss(x)[1])
        x = x - step
        if np.abs(step).max() < 1e-10:
            break
    covariance = np.linalg.inv(_hessian(x, n, i, j, total, probabilities, has_draws, precision))[:n, :n]
    centre = np.eye(n) - 1 / n
    return DavidsonFit(x[:n] - x[:n].mean(), float(x[n]), float(x[n + 1]), centre @ covariance @ centre)


def _hessian(x, n, i, j, total, probabilities, has_draws, precision) -> np.ndarray:
    p, q, r, _ = probabilities(x)
    hessian = np.eye(n + 2) * precision
    gap_gap = total * ((p + r) - (p - r) ** 2) / 4
    gap_draw = -total * q * (p - r) / 2
    draw_draw = total * q * (1 - q)
    for rows, sign in ((i, 1.0), (j, -1.0), (np.full(len(i), n + 1), 1.0)):
        for columns, other in ((i, 1.0), (j, -1.0), (np.full(len(i), n + 1), 1.0)):
            np.add.at(hessian, (rows, columns), sign * other * gap_gap)
        if has_draws:
            np.add.at(hessian, (rows, np.full(len(i), n)), sign * gap_draw)
            np.add.at(hessian, (np.full(len(i), n), rows), sign * gap_draw)
    if has_draws:
        hessian[n, n] += draw_draw.sum()
    return hessian


def bradley_terry(
    results: Sequence[Result], level: float = 0.95, interval: str = "fisher", seed: int = 0, resamples: int = 200
) -> list[Rating]:
    """Ratings on the Elo scale by a batch refit of the Davidson model; `random` stands at 0 where it plays.

    The interval is that of the strength against the mean of the field, so that an anchor that loses every game does
    not blur all others; ties are judged by the interval of each difference.

    Args:
        results: of games of two or more players.
        level: of the confidence interval.
        interval: "fisher" (curvature of the posterior), or "bootstrap" over groups of games under one seed.
        seed, resamples: of the bootstrap.
    """
    if interval not in ("fisher", "bootstrap"):
        raise ValueError(f"the interval is 'fisher' or 'bootstrap', not {interval!r}")
    names = agent_names(results)
    if not names:
        return []
    fit = fit_davidson(outcomes(results, names))
    values = fit.strengths * ELO
    covariance = fit.covariance * ELO**2
    if interval == "bootstrap":
        samples = np.array([fit_davidson(outcomes(s, names)).strengths for s in _resampled(results, seed, resamples)])
        covariance = np.atleast_2d(np.cov(samples.T * ELO))
    z = NormalDist().inv_cdf(0.5 + level / 2)
    width = z * np.sqrt(np.diag(covariance))
    variance = np.diag(covariance)
    apart = np.sqrt(np.maximum(variance[:, None] + variance[None, :] - 2 * covariance, 0.0))
    tied = np.abs(values[:, None] - values[None, :]) <= z * apart
    shift = values[names.index(ANCHOR)] if ANCHOR in names else 0.0
    return _ranked(names, values - shift, values - width - shift, values + width - shift, tied)


def _groups(results: Sequence[Result]) -> list[list[Result]]:
    """Results that belong together: the same agents under the same seed, seats swapped."""
    groups: dict[tuple, list[Result]] = {}
    for result in results:
        groups.setdefault((tuple(sorted(result.seats)), result.seed), []).append(result)
    return list(groups.values())


def _resampled(results: Sequence[Result], seed: int, resamples: int) -> list[list[Result]]:
    """Draws groups with replacement, within each pairing."""
    pairings: dict[tuple, list[list[Result]]] = {}
    for group in _groups(results):
        pairings.setdefault(tuple(sorted(group[0].seats)), []).append(group)
    generator = np.random.Generator(np.random.Philox(seed))
    samples = []
    for _ in range(resamples):
        drawn: list[Result] = []
        for members in pairings.values():
            for k in generator.integers(0, len(members), len(members)):
                drawn.extend(members[k])
        samples.append(drawn)
    return samples


def _ranked(
    names: Sequence[str], values: np.ndarray, low: np.ndarray, high: np.ndarray, tied: np.ndarray
) -> list[Rating]:
    order = sorted(range(len(names)), key=lambda k: (-values[k], names[k]))
    return [
        Rating(
            names[k], float(values[k]), float(low[k]), float(high[k]), rank,
            tuple(names[m] for m in order if m != k and tied[k, m]),
        )
        for rank, k in enumerate(order, 1)
    ]  # fmt: skip


def match_points(first: Result, second: Result, agent: str) -> int:
    """Points of `agent` in a match of two games with swapped seats: 4 for two wins, 0 for two losses.

    At one win each the games' tie-breaker decides: 3 for more, 1 for less, 2 for the same (or where the game has
    none). A draw counts half a game: with a win 3 points, with a loss 1.
    """
    score, tie_break = 0.0, 0.0
    for result in (first, second):
        seat = result.seats.index(agent)
        score += 0.5 if result.winner < 0 else float(result.winner == seat)
        if result.tie_break is not None:
            tie_break += result.tie_break[seat] - result.tie_break[1 - seat]
    if score == 1.0:
        return 2 + (tie_break > 0) - (tie_break < 0)
    return {0.0: 0, 0.5: 1, 1.5: 3, 2.0: 4}[score]


def points_table(results: Sequence[Result], agents: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Mean match points of row against column, and the number of matches: both `(n, n)`; for games of two players."""
    index = {name: k for k, name in enumerate(agents)}
    points, matches = np.zeros((len(agents), len(agents))), np.zeros((len(agents), len(agents)))
    for group in _groups(results):
        if len(group) != 2 or len(group[0].seats) != 2 or group[0].seats == group[1].seats:
            continue
        a, b = group[0].seats
        if a == b:
            continue
        i, j = index[a], index[b]
        gained = match_points(group[0], group[1], a)
        points[i, j] += gained
        points[j, i] += 4 - gained
        matches[i, j] += 1
        matches[j, i] += 1
    return np.divide(points, matches, out=np.zeros_like(points), where=matches > 0), matches


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
        played: `(n, n)`, which pairs met (all, if not given). An agent's sums go over those that it met, and itself.
    """
    met = _met(points, played)
    others = np.where(met, points / 4, 0.0)
    weights = np.ones(len(points))
    everybody = met | np.eye(len(points), dtype=bool)
    for _ in range(steps if steps is not None else 10_000):
        fresh = (0.5 + others @ weights) / (everybody @ weights)
        change = np.abs(fresh - weights).max()
        weights = fresh
        if steps is None and change < tolerance:
            break
    return weights


def _met(points: np.ndarray, played: np.ndarray | None) -> np.ndarray:
    off_diagonal = ~np.eye(len(points), dtype=bool)
    return off_diagonal if played is None else off_diagonal & (np.asarray(played) > 0)


def weighted_winning_degree(
    results: Sequence[Result], level: float = 0.95, seed: int = 0, resamples: int = 200
) -> list[Rating]:
    """Ratings by WWG (see `weighted_degree`), intervals by a bootstrap over matches; for games of two players."""
    names = agent_names(results)
    if not names:
        return []
    values = weighted_degree(*points_table(results, names))
    samples = np.array([weighted_degree(*points_table(s, names)) for s in _resampled(results, seed, resamples)])
    tail = (1 - level) / 2
    low, high = np.quantile(samples, [tail, 1 - tail], axis=0)
    gaps = np.quantile(samples[:, :, None] - samples[:, None, :], [tail, 1 - tail], axis=0)
    return _ranked(names, values, np.minimum(low, values), np.maximum(high, values), (gaps[0] <= 0) & (gaps[1] >= 0))


def mean_return(results: Sequence[Result], level: float = 0.95) -> list[Rating]:
    """Ratings by the mean of the returns, with Student's interval: for games of one player."""
    from scipy.stats import t

    names = agent_names(results)
    gained: dict[str, list[float]] = {name: [] for name in names}
    for result in results:
        for name, value in zip(result.seats, result.returns):
            gained[name].append(value)
    means = np.array([np.mean(gained[name]) for name in names])
    errors = np.array([np.std(v, ddof=1) / math.sqrt(len(v)) if len(v) > 1 else math.inf for v in gained.values()])
    widths = np.array([t.ppf(0.5 + level / 2, max(len(v) - 1, 1)) for v in gained.values()]) * errors
    z = NormalDist().inv_cdf(0.5 + level / 2)
    tied = np.abs(means[:, None] - means[None, :]) <= z * np.hypot(errors[:, None], errors[None, :])
    return _ranked(names, means, means - widths, means + widths, tied)


def wilson(wins: float, games: int, level: float = 0.95) -> tuple[float, float]:
    """Wilson's confidence interval of a proportion (draws may count half)."""
    if games == 0:
        return 0.0, 1.0
    z = NormalDist().inv_cdf(0.5 + level / 2)
    p, shrink = wins / games, 1 + z * z / games
    centre = (p + z * z / (2 * games)) / shrink
    half = z * math.sqrt(p * (1 - p) / games + z * z / (4 * games * games)) / shrink
    return 0.0 if wins == 0 else max(0.0, centre - half), 1.0 if wins == games else min(1.0, centre + half)
