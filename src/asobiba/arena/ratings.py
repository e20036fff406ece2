"""Ratings: functions from a table of results to a table of ratings, each with its confidence interval.

Bradley, Terry, "Rank Analysis of Incomplete Block Designs", Biometrika 39, 1952; Davidson, "On Extending the
Bradley-Terry Model to Accommodate Ties in Paired Comparison Experiments", JASA 65, 1970; Davidson, Beaver, "On
Extending the Bradley-Terry Model to Incorporate Within-Pair Order Effects", Biometrics 33, 1977.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from scipy.optimize import minimize

from asobiba.arena.groups import Groups
from asobiba.arena.results import Result, Results

ELO = 400 / math.log(10)
"""Elo points per unit of log-strength."""
PRIOR_ELO = 1000.0
"""Standard deviation of the normal prior on a strength, in Elo; it keeps the rating of an agent that won every game
finite."""
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
    other way round, `draws` level. A match of more players counts for every two of its seats in different teams."""

    agents: tuple[str, ...]
    wins: np.ndarray
    losses: np.ndarray
    draws: np.ndarray


def agent_names(results: Sequence[Result]) -> tuple[str, ...]:
    """All agents in the results, sorted."""
    found = Results.of(results)
    return tuple(found.agents[k] for k in np.unique(found.seats))


def outcomes(results: Sequence[Result], agents: Sequence[str] | None = None) -> Outcomes:
    """Counts how often each player finished above each other."""
    found = Results.of(results)
    names = tuple(agents or agent_names(found))
    index = {name: k for k, name in enumerate(names)}
    place = np.array([index.get(name, -1) for name in found.agents] or [0], np.int64)
    counts = np.zeros((3, len(names) * len(names)))
    for a, b, rows, sign in found.pairs():
        cells = place[found.seats[rows, a]] * len(names) + place[found.seats[rows, b]]
        for k, outcome in enumerate((1, -1, 0)):
            counts[k] += np.bincount(cells[sign == outcome], minlength=counts.shape[1])
    wins, losses, draws = counts.reshape(3, len(names), len(names))
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
        found = Results.of(results)
        groups = Groups.of(found)
        generator = np.random.Generator(np.random.Philox(seed))
        drawn = (groups.rows(groups.resample(generator)) for _ in range(resamples))
        samples = np.array([fit_davidson(outcomes(found.take(rows), names)).strengths for rows in drawn])
        covariance = np.atleast_2d(np.cov(samples.T * ELO))
    z = NormalDist().inv_cdf(0.5 + level / 2)
    width = z * np.sqrt(np.diag(covariance))
    variance = np.diag(covariance)
    apart = np.sqrt(np.maximum(variance[:, None] + variance[None, :] - 2 * covariance, 0.0))
    tied = np.abs(values[:, None] - values[None, :]) <= z * apart
    shift = values[names.index(ANCHOR)] if ANCHOR in names else 0.0
    return ranked(names, values - shift, values - width - shift, values + width - shift, tied)


def ranked(
    names: Sequence[str], values: np.ndarray, low: np.ndarray, high: np.ndarray, tied: np.ndarray
) -> list[Rating]:
    # The last digits differ from machine to machine: agents that they alone tell apart are in the order of their names.
    order = sorted(range(len(names)), key=lambda k: (-round(float(values[k]), 6), names[k]))
    return [
        Rating(
            names[k], float(values[k]), float(low[k]), float(high[k]), rank,
            tuple(names[m] for m in order if m != k and tied[k, m]),
        )
        for rank, k in enumerate(order, 1)
    ]  # fmt: skip


def mean_return(results: Sequence[Result], level: float = 0.95) -> list[Rating]:
    """Ratings by the mean of the returns, with Student's interval: for games of one player."""
    from scipy.stats import t

    found = Results.of(results)
    names = agent_names(found)
    who, values = found.seats.ravel(), found.returns.ravel()
    games = np.bincount(who, minlength=len(found.agents)).astype(float)
    means = np.bincount(who, values, len(found.agents)) / np.maximum(games, 1)
    squares = np.bincount(who, (values - means[who]) ** 2, len(found.agents))
    present = games > 0
    games, means, squares = games[present], means[present], squares[present]
    errors = np.where(games > 1, np.sqrt(squares / np.maximum(games - 1, 1) / games), math.inf)
    widths = t.ppf(0.5 + level / 2, np.maximum(games - 1, 1)) * errors
    z = NormalDist().inv_cdf(0.5 + level / 2)
    tied = np.abs(means[:, None] - means[None, :]) <= z * np.hypot(errors[:, None], errors[None, :])
    return ranked(names, means, means - widths, means + widths, tied)


def wilson(wins: float, games: int, level: float = 0.95) -> tuple[float, float]:
    """Wilson's confidence interval of a proportion (draws may count half)."""
    if games == 0:
        return 0.0, 1.0
    z = NormalDist().inv_cdf(0.5 + level / 2)
    p, shrink = wins / games, 1 + z * z / games
    centre = (p + z * z / (2 * games)) / shrink
    half = z * math.sqrt(p * (1 - p) / games + z * z / (4 * games * games)) / shrink
    return 0.0 if wins == 0 else max(0.0, centre - half), 1.0 if wins == games else min(1.0, centre + half)
