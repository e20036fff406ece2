"""Shares of points, with intervals, for games in pairs: the same opening, map or round, with colours swapped.

The two games of a pair are not independent: on a map where one colour always wins, each pair is shared, and counting
its games as two coin flips makes the interval too wide; where one agent wins both, it makes it too narrow. Tests of
chess engines count pairs by their five results for this reason (the "pentanomial" model, as in Stockfish's fishtest:
https://disservin.github.io/stockfish-docs/fishtest-wiki/Fishtest-mathematics.html).

Here a pair is a cluster of two games. A game without its counterpart is a cluster of one: its points count like those
of any other game; its colour is not compensated for. The interval is Wilson's with the number of games divided by the
design effect (L. Kish, Survey Sampling, 1965), one of the two that C. Franco, R. J. A. Little, T. A. Louis and E. V.
Slud recommend ("Comparative study of confidence intervals for proportions in complex sample surveys", Journal of Survey
Statistics and Methodology 7, 2019, https://pmc.ncbi.nlm.nih.gov/articles/PMC6690503), with Student's quantile in place
of the normal one since the effect is estimated from so many clusters.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from scipy.stats import t

_GUARD = 2
"""Number of clusters with the spread of independent games that are added to the observed ones, so that a few equal
pairs do not give an interval of width zero."""


@dataclass(frozen=True)
class Score:
    """Games of one agent against another, from its side.

    Args:
        pairs: its points (1 for a win, 0.5 for a draw) in each game of a pair; one number where the game with the
            colours swapped was not played.
        maps: number of maps.
        repeats: how often each different pair was played on average. Pairs that repeat another, move by move, carry no
            information: intervals are those of that many times fewer pairs.
    """

    pairs: tuple[tuple[float, ...], ...]
    maps: int = 1
    repeats: float = 1.0

    @property
    def games(self) -> int:
        return sum(map(len, self.pairs))

    @property
    def points(self) -> float:
        return sum(map(sum, self.pairs))

    @property
    def share(self) -> float:
        return self.points / self.games

    @property
    def freedom(self) -> float:
        """Degrees of freedom of `design_effect`."""
        return len(self.pairs) / self.repeats - 1 + _GUARD

    @property
    def design_effect(self) -> float:
        """Ratio of the share's variance to that of as many independent games without draws."""
        alone = self.share * (1 - self.share) * self.games / len(self.pairs)
        if alone == 0:
            return 1.0  # only wins or only losses: they carry no information on the correlation within pairs
        squares = math.fsum((sum(pair) - len(pair) * self.share) ** 2 for pair in self.pairs)
        return (squares / self.repeats / alone + _GUARD) / self.freedom

    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the share: all shares whose distance from the observed one is at most Student's quantile
        times their own standard error.
        """
        unit = float(t.ppf(0.975, self.freedom)) ** 2 * self.design_effect / self.games * self.repeats
        middle = (self.share + unit / 2) / (1 + unit)
        half = math.sqrt(unit * self.share * (1 - self.share) + unit * unit / 4) / (1 + unit)
        return max(0.0, min(middle - half, self.share)), min(1.0, max(middle + half, self.share))

    def verdict(self, higher: str, lower: str) -> str:
        """`higher` or `lower` if half of the points lies outside the interval."""
        low, high = self.interval()
        return higher if low > 0.5 else lower if high < 0.5 else "not decided"


def score_of(games: Iterable[tuple[str, object, float]]) -> Score | None:
    """The score of games, or `None` where there are none.

    Args:
        games: the map of each, a key that it shares with its counterpart on this map (such as the round), and its
            points.
    """
    found: dict[tuple[str, object], list[float]] = {}
    for map_, common, points in games:
        found.setdefault((map_, common), []).append(points)
    return Score(tuple(map(tuple, found.values())), len({map_ for map_, _ in found})) if found else None
