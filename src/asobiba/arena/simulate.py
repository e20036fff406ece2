"""Speed at which a schedule finds the true order: simulated agents of known strength, up to a hundred thousand of them.

Strengths are normal, in Elo; who wins is drawn from the logistic model, without draws. After every round, ratings are
fitted to all games so far, and compared with the truth by Spearman's rank correlation. The thinned schedule is that of
Hanakawa, Tominaga (see `asobiba.arena.wwg`): newcomers meet reference agents of known rating, then opponents spread evenly
over the ratings, and defend themselves against later newcomers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from asobiba.arena.ratings import ELO
from asobiba.core import AsobibaError

PRIOR = 400.0
"""Standard deviation of the prior on a fitted rating, in Elo."""
REFERENCES = 10
OPPONENTS = 100
_DAYS = 20


@dataclass(frozen=True)
class Point:
    """A point of the curve: games per agent, and the rank correlation of the ratings with the truth, over the agents
    that have entered so far (in the thinned schedule they enter on successive days).
    """

    games: float
    correlation: float


class _Field:
    """Simulated agents, and the games that they have played."""

    def __init__(self, agents: int, seed: int, spread: float):
        self.generator = np.random.default_rng(seed)
        self.truth = self.generator.normal(0, spread, agents)
        self.ratings = np.zeros(agents)
        self.points = np.zeros(agents)
        self._first = [np.zeros(0, np.int32)]
        self._second = [np.zeros(0, np.int32)]
        self._won = [np.zeros(0, bool)]
        self.games = 0
        self.present = np.arange(agents)
        """Agents that have come so far."""

    def __len__(self) -> int:
        return len(self.truth)

    def play(self, first: np.ndarray, second: np.ndarray) -> None:
        """One game of each pair."""
        gap = self.truth[first] - self.truth[second]
        won = self.generator.random(len(first)) < 1 / (1 + np.exp(-gap / ELO))
        self._first.append(first.astype(np.int32))
        self._second.append(second.astype(np.int32))
        self._won.append(won)
        self.points += np.bincount(np.where(won, first, second), minlength=len(self))
        self.games += len(first)

    def fit(self, steps: int = 30) -> None:
        """Ratings that fit all games so far, by damped Newton steps on the diagonal from where they stand."""
        a, b, won = (np.concatenate(part) for part in (self._first, self._second, self._won))
        self._first, self._second, self._won = [a], [b], [won]
        n, x = len(self), self.ratings / ELO
        precision = (ELO / PRIOR) ** 2
        for _ in range(steps):
            p = 1 / (1 + np.exp(x[b] - x[a]))
            slope = won - p
            gradient = np.bincount(a, slope, n) - np.bincount(b, slope, n) - precision * x
            weight = p * (1 - p)
            curvature = np.bincount(a, weight, n) + np.bincount(b, weight, n) + precision
            step = 0.7 * gradient / curvature
            x = x + step
            if np.abs(step).max() < 1e-3:
                break
        self.ratings = (x - x.mean()) * ELO

    def correlation(self) -> float:
        """Spearman's rank correlation of the ratings with the truth, of the agents that have come so far."""
        from scipy.stats import spearmanr

        some = self.present
        if np.ptp(self.ratings[some]) == 0:
            return 0.0
        return float(spearmanr(self.ratings[some], self.truth[some]).statistic)

    @property
    def games_each(self) -> float:
        """Games that an agent that has come so far has played, in the mean."""
        return 2 * self.games / len(self.present)


def _everybody(field: _Field, budget: int) -> Iterator[None]:
    """Round robin: rounds of the circle method, in random order."""
    n = len(field) + len(field) % 2
    ring = field.generator.permutation(n)
    for turn in field.generator.permutation(n - 1):
        turned = np.concatenate([ring[:1], np.roll(ring[1:], turn)])
        first, second = turned[: n // 2], turned[n // 2 :][::-1]
        real = (first < len(field)) & (second < len(field))
        field.play(first[real], second[real])
        yield


def _swiss(field: _Field, budget: int) -> Iterator[None]:
    """Neighbours in the order of points meet, equal points in random order."""
    while True:
        order = np.lexsort((field.generator.random(len(field)), -field.points))
        pairs = len(field) // 2
        field.play(order[: 2 * pairs : 2], order[1 : 2 * pairs : 2])
        yield


def _gauntlet(field: _Field, budget: int) -> Iterator[None]:
    """Everybody meets the same few reference agents, spread evenly over the strengths."""
    order = np.argsort(field.truth)
    some = order[np.linspace(0, len(order) - 1, min(REFERENCES, len(order))).astype(int)]
    others = np.setdiff1d(np.arange(len(field)), some)
    while True:
        for reference in some:
            field.play(others, np.full(len(others), reference))
            yield


def _thinned(field: _Field, budget: int) -> Iterator[None]:
    """Reference agents first, then opponents spread evenly over the ratings, then defence against newcomers."""
    n = len(field)
    order = np.argsort(field.truth)
    references = order[np.linspace(0, n - 1, min(REFERENCES, n)).astype(int)]
    newcomers = field.generator.permutation(np.setdiff1d(np.arange(n), references))
    first, second = (side.ravel() for side in np.meshgrid(references, references))
    for _ in range(4):
        field.play(first[first < second], second[first < second])
    # Each agent plays those that it meets on entering and those that enter later: budget games on average.
    opponents = min(OPPONENTS, max(1, (budget - REFERENCES) // 2), n - 1)
    field.present = present = references
    for day in np.array_split(newcomers, min(_DAYS, max(1, len(newcomers)))):
        for reference in references:
            field.play(day, np.full(len(day), reference))
        field.fit(10)
        pool = present if len(present) > opponents else np.concatenate([present, day])
        ranked = pool[np.argsort(field.ratings[pool])]
        # Every newcomer has its own grid over the ratings, shifted at random, so that no agent defends against all.
        lowest, highest = field.ratings[ranked[0]], field.ratings[ranked[-1]]
        for k in range(opponents):
            target = lowest + (highest - lowest) * (k + field.generator.random(len(day))) / opponents
            place = np.clip(np.searchsorted(field.ratings[ranked], target), 0, len(ranked) - 1)
            met = ranked[place] != day
            field.play(day[met], ranked[place][met])
        field.present = present = np.concatenate([present, day])
        yield
    while True:  # what remains of the games are further matches of the same kind
        ranked = np.argsort(field.ratings)
        span = field.ratings[ranked[0]], field.ratings[ranked[-1]]
        target = field.generator.uniform(*span, n)
        place = np.clip(np.searchsorted(field.ratings[ranked], target), 0, n - 1)
        everybody = np.arange(n)
        met = ranked[place] != everybody
        field.play(everybody[met], ranked[place][met])
        yield


SCHEDULES: dict[str, Callable[[_Field, int], Iterator[None]]] = {
    "round_robin": _everybody,
    "swiss": _swiss,
    "gauntlet": _gauntlet,
    "thinned": _thinned,
}


def simulate(
    agents: int, schedule: str, games: int = 100, seed: int = 0, spread: float = 300.0, points: int = 12
) -> list[Point]:
    """Plays a schedule among simulated agents.

    Args:
        agents: how many, 2 to 100,000.
        schedule: one of `SCHEDULES`.
        games: that an agent plays in the mean, at the end.
        seed: of everything.
        spread: standard deviation of the strengths, in Elo.
        points: how often ratings are fitted and compared, at games that grow geometrically.

    Raises:
        AsobibaError: for another schedule, or a number of agents out of range.
    """
    if schedule not in SCHEDULES:
        raise AsobibaError(f"no schedule is called {schedule!r}; there are: {', '.join(SCHEDULES)}")
    if not 2 <= agents <= 100_000:
        raise AsobibaError(f"2 to 100,000 agents can be simulated, not {agents}")
    field = _Field(agents, seed, spread)
    wanted = iter(np.unique(np.geomspace(min(2, games), games, points)).tolist())
    target, found = next(wanted), []
    rounds = SCHEDULES[schedule](field, games)
    for _ in rounds:
        reached = field.games_each
        if reached < target:
            continue
        field.fit()
        found.append(Point(reached, field.correlation()))
        while target is not None and target <= reached:
            target = next(wanted, None)
        if target is None:
            break
    else:
        field.fit()
        found.append(Point(field.games_each, field.correlation()))
    return found


def plot(curves: dict[str, list[Point]], path: str, title: str) -> None:
    """Draws correlation against games, one line a schedule. Needs matplotlib (the extra `render`)."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 4.2), layout="constrained")
    axes = figure.add_subplot()
    for name, points in curves.items():
        axes.plot([p.games for p in points], [p.correlation for p in points], marker="o", label=name.replace("_", " "))
    axes.set_xscale("log")
    axes.set_xlabel("games per agent")
    axes.set_ylabel("rank correlation with the truth")
    axes.set_title(title)
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path)
