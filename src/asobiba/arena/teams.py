"""Ratings for games of more than two seats, and of teams: OpenSkill's Plackett-Luce model (Weng, Lin, "A Bayesian
Approximation Method for Online Ranking", JMLR 12, 2011), through the library `openskill`."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist

import numpy as np

from asobiba.arena.ratings import Rating, agent_names, ranked
from asobiba.arena.results import Result, Results

MOST_MATCHES = 20_000
"""The most matches that the model takes, one after another; of more, it takes this many at even distances."""


def plackett_luce(results: Sequence[Result], level: float = 0.95, seed: int = 0) -> list[Rating]:
    """Ratings by OpenSkill: `mu`, with the interval of its normal belief; members of a team are rated together.

    The matches are taken in random order, since an agent's strength does not depend on when it played.

    Args:
        results: of games of two or more players.
        level: of the intervals.
        seed: of the order.
    """
    from openskill.models import PlackettLuce

    found = Results.of(results)
    names = agent_names(found)
    if not names:
        return []
    rows = np.random.default_rng(seed).permutation(len(found))
    rows = rows[np.linspace(0, len(rows) - 1, min(len(rows), MOST_MATCHES)).astype(int)]
    model = PlackettLuce()
    beliefs = {k: model.rating(name=name) for k, name in enumerate(found.agents)}
    values = found.values
    for row in rows:
        sides: dict[int, list[int]] = {}
        for seat, team in enumerate(found.teams[row].tolist()):
            sides.setdefault(team, []).append(seat)
        if len(sides) < 2:
            continue
        members = [[int(found.seats[row, seat]) for seat in seats] for seats in sides.values()]
        scores = [float(values[row, seats[0]]) for seats in sides.values()]
        rated = model.rate([[beliefs[k] for k in side] for side in members], scores=scores)
        fresh: dict[int, list] = {}
        for side, beliefs_of_side in zip(members, rated):
            for k, belief in zip(side, beliefs_of_side):
                fresh.setdefault(k, []).append(belief)
        for k, several in fresh.items():  # an agent on several seats learns from all of them
            mu = sum(b.mu for b in several) / len(several)
            beliefs[k] = model.rating(mu=mu, sigma=min(b.sigma for b in several), name=found.agents[k])
    order = [found.agents.index(name) for name in names]
    mu = np.array([beliefs[k].mu for k in order])
    sigma = np.array([beliefs[k].sigma for k in order])
    z = NormalDist().inv_cdf(0.5 + level / 2)
    tied = np.abs(mu[:, None] - mu[None, :]) <= z * np.hypot(sigma[:, None], sigma[None, :])
    return ranked(names, mu, mu - z * sigma, mu + z * sigma, tied)
