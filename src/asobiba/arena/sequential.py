"""Is A better than B? A sequential probability ratio test on pairs of games with swapped seats.

Wald, "Sequential Tests of Statistical Hypotheses", Annals of Mathematical Statistics 16, 1945, with the likelihood ratio
of the mean of the pairs' scores (five outcomes: 0, 1/4, 1/2, 3/4, 1), whose variance is estimated from them. Pairs share
their deal, so their two games are no independent ones, and the seats' advantage cancels.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from asobiba.arena.executors import Executor
from asobiba.arena.match import MatchRecord
from asobiba.arena.schedule import meetings, strangers
from asobiba.arena.secret import Secret
from asobiba.core import AsobibaError, Ruleset

LEAST_PAIRS = 20
"""Least number of pairs before a decision; with fewer, the variance of their scores is not known well enough."""


def expected_score(elo: float) -> float:
    """The score of an agent that stands so many Elo points above the other."""
    return 1 / (1 + 10 ** (-elo / 400))


@dataclass
class SequentialTest:
    """Counts pairs until one of two hypotheses is accepted: "A stands `elo0` above B" or "`elo1`".

    Args:
        elo0, elo1: the hypotheses, in Elo.
        alpha: the probability to accept `elo1` though `elo0` is true.
        beta: the probability of the opposite error.
    """

    elo0: float = 0.0
    elo1: float = 20.0
    alpha: float = 0.05
    beta: float = 0.05

    def __post_init__(self) -> None:
        if not self.elo0 < self.elo1:
            raise AsobibaError(f"elo0 must be less than elo1, not {self.elo0} and {self.elo1}")
        if not (0 < self.alpha < 0.5 and 0 < self.beta < 0.5):
            raise AsobibaError(f"alpha and beta lie between 0 and 0.5, not {self.alpha} and {self.beta}")
        self.pairs = [0] * 5

    def add(self, score: float) -> None:
        """Adds a pair in which A scored 0 to 1, with draws as one half."""
        self.pairs[round(4 * score)] += 1

    @property
    def games(self) -> int:
        """Games so far."""
        return 2 * sum(self.pairs)

    @property
    def score(self) -> float:
        """A's score so far."""
        total = sum(self.pairs)
        return sum(k * n for k, n in enumerate(self.pairs)) / (4 * total) if total else 0.5

    @property
    def ratio(self) -> float:
        """The logarithm of the likelihood ratio: large for `elo1`."""
        counts = [n + 1e-3 for n in self.pairs]  # an outcome that has not come yet is not impossible
        total = sum(counts)
        mean = sum(k / 4 * n for k, n in enumerate(counts)) / total
        variance = sum((k / 4 - mean) ** 2 * n for k, n in enumerate(counts)) / total
        s0, s1 = expected_score(self.elo0), expected_score(self.elo1)
        return total * (s1 - s0) * (2 * mean - s0 - s1) / (2 * max(variance, 1e-4))

    @property
    def bounds(self) -> tuple[float, float]:
        """Bounds at which `ratio` decides: for `elo0` below, for `elo1` above."""
        return math.log(self.beta / (1 - self.alpha)), math.log((1 - self.beta) / self.alpha)

    @property
    def accepted(self) -> float | None:
        """The hypothesis that is accepted, or `None` as long as more games are needed."""
        low, high = self.bounds
        if sum(self.pairs) < LEAST_PAIRS:
            return None
        return self.elo0 if self.ratio <= low else self.elo1 if self.ratio >= high else None


def pair_score(one: MatchRecord, other: MatchRecord, agent: str) -> float:
    """Score of `agent` in two games, 0 to 1."""
    total = 0.0
    for record in (one, other):
        mine = record.returns[record.match.seats.index(agent)]
        yours = record.returns[1 - record.match.seats.index(agent)]
        total += 0.5 * ((mine > yours) + (mine >= yours))
    return total / 2


def run_test(
    ruleset: Ruleset,
    agents: Sequence[str],
    executor: Executor,
    test: SequentialTest,
    most: int = 20_000,
    secret: Secret | None = None,
    batch: int = 64,
) -> Iterator[list[MatchRecord]]:
    """Plays pairs until the test is decided or `most` games are played; yields the records of each batch.

    Args:
        secret: from which the seeds follow; by default a new one.

    Raises:
        AsobibaError: if it is not a game of two players, or the agents are the same.
    """
    if ruleset.num_players != 2 or len(set(agents)) != 2:
        raise AsobibaError("a test is between two different agents in a game of two players")
    index, secret = 0, secret or Secret.draw()
    apart = strangers(ruleset.game, agents)
    while test.accepted is None and test.games < most:
        matches = secret.deal_all(meetings(ruleset, agents, batch, secret.seed, apart, first=index))
        index += batch // 2
        records = {r.match.key: r for found in executor.play(matches) for r in found}
        for one, other in zip(matches[::2], matches[1::2]):
            if one.key in records and other.key in records and test.accepted is None:
                test.add(pair_score(records[one.key], records[other.key], agents[0]))
        yield list(records.values())
        batch = min(2 * batch, 2048)
