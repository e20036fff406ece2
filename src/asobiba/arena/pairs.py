"""Shares of points with intervals where games come in pairs: the same opening, map or round, colours swapped.

The two games of a pair are not independent: on a map that one colour wins whoever plays, each pair is shared, and
counting its games as two throws of a coin makes the interval too wide; where one agent wins both, too narrow. Those who
test chess engines count pairs by their five results for this reason (the "pentanomial" model, as in Stockfish's fishtest:
https://disservin.github.io/stockfish-docs/fishtest-wiki/Fishtest-mathematics.html).

Here a pair is a cluster of two games. A game without its counterpart is a cluster of one: its points count as any other
game's, the colour that it was played with is not made up for. The interval is Wilson's with the number of games divided
by the design effect (L. Kish, Survey Sampling, 1965), one of the two that C. Franco, R. J. A. Little, T. A. Louis and E.
V. Slud recommend ("Comparative study of confidence intervals for proportions in complex sample surveys", Journal of
Survey Statistics and Methodology 7, 2019, https://pmc.ncbi.nlm.nih.gov/articles/PMC6690503), with Student's quantile in
place of the normal one since the effect is estimated from so many clusters.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from scipy.stats import t

_GUARD = 2
"""As many clusters with the spread of independent games are added to those that were seen, so that a few equal pairs do
not make an interval of no width."""


@dataclass(frozen=True)
class Score:
    """Games of one agent against another, from its side.

    Args:
        pairs: its points (1 for a win, 0.5 for a draw) in each game of a pair; one number where the game with the
            colours swapped was not played.
        maps: on how many maps.
        repeats: how often each different pair was played on the mean. Pairs that repeat another, move by move, tell
            nothing new: intervals are those of so many times fewer.
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
            return 1.0  # nothing but wins or nothing but losses: they do not tell how pairs hang together
        squares = math.fsum((sum(pair) - len(pair) * self.share) ** 2 for pair in self.pairs)
        return (squares / self.repeats / alone + _GUARD) / self.freedom

    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the share: the shares from which the found one is not further than Student's quantile
        times the standard error that games of that share would have."""
        unit = float(t.ppf(0.975, self.freedom)) ** 2 * self.design_effect / self.games * self.repeats
        middle = (self.share + unit / 2) / (1 + unit)
        half = math.sqrt(unit * self.share * (1 - self.share) + unit * unit / 4) / (1 + unit)
        return max(0.0, min(middle - half, self.share)), min(1.0, max(middle + half, self.share))

    def verdict(self, higher: str, lower: str) -> str:
        """`higher` or `lower` where half of the points lies outside the interval."""
        low, high = self.interval()
        return higher if low > 0.5 else lower if high < 0.5 else "not decided"


def score_of(games: Iterable[tuple[str, object, float]]) -> Score | None:
    """The score of games, or `None` where there are none.

    Args:
        games: the map of each, what it has in common with its counterpart on this map (such as the round), and the
            points in it.
    """
    found: dict[tuple[str, object], list[float]] = {}
    for map_, common, points in games:
        found.setdefault((map_, common), []).append(points)
    return Score(tuple(map(tuple, found.values())), len({map_ for map_, _ in found})) if found else None
