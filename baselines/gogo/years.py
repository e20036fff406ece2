"""Studies of the rating with full round robins of simulated contests: king-makers, final contests, number of matches
needed.

A *year* is a contest with all its strategies' round robin, of which other schedules are parts.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import numpy as np
from scipy.stats import spearmanr

from asobiba.arena.wwg import simple_degree, weighted_degree
from asobiba.baselines.gogo.contest import Contest, convergence, rescheduled, round_robin, run_contest, spread
from asobiba.baselines.gogo.rule_table import Strategy
from asobiba.core import Ruleset

PRINTED = (10, 100)
"""References and others that a new strategy meets, as the paper prints it."""
SMALLER = (5, 60)
_LAST_YEAR = 1_000_000
_ROUND_ROBIN = 50_000_000


@dataclass(frozen=True)
class Size:
    """The size of a contest: students, strategies that they hand in, others that a new strategy meets on its first
    night.
    """

    students: int = 40
    submissions: int = 300
    entry: int = PRINTED[1]


@dataclass
class Year:
    """A contest, the same with smaller nights, and the round robin of all its strategies: `full`, points `(n, n)`;
    `seconds` that it took."""

    contest: Contest
    smaller: Contest
    full: np.ndarray
    seconds: float


def last_years_strategies(ruleset: Ruleset, size: Size, seed: int) -> list[Strategy]:
    """Five strategies of a contest of another seed, evenly spread over its ranks: references as the course takes them."""
    contest = run_contest(ruleset, size.students, max(size.submissions // 3, 20), 20, _LAST_YEAR + seed)
    students = np.arange(contest.references, len(contest.strategies))
    return [contest.strategies[k] for k in spread(contest.daily[-1], students, PRINTED[0] - contest.references)]


def play_year(ruleset: Ruleset, size: Size, seed: int, tell: Callable[[str], None] = lambda text: None) -> Year:
    """A contest by the paper's schedule with ten references, then its full round robin."""
    begun = perf_counter()
    tell(f"year {seed}: last year")
    more = last_years_strategies(ruleset, size, seed)
    contest = run_contest(
        ruleset,
        size.students,
        size.submissions,
        size.entry,
        seed,
        lambda day: tell(f"year {seed}: day {day}"),
        more,
    )
    tell(f"year {seed}: everybody against everybody")
    full = round_robin(ruleset, contest.strategies, _ROUND_ROBIN + seed)
    printed = rescheduled(contest, full, contest.references, size.entry)
    return Year(printed, rescheduled(contest, full, SMALLER[0], SMALLER[1]), full, perf_counter() - begun)


def kept_year(keep: Path, play: Callable[[], Year]) -> Year:
    """The year in a file, or else the one that `play` gives, which is put there: so that a long run can be taken up again.

    The file is a pickle: it may come from nobody but this command.
    """
    if keep.is_file():
        return pickle.loads(keep.read_bytes())
    year = play()
    keep.parent.mkdir(parents=True, exist_ok=True)
    keep.write_bytes(pickle.dumps(year))
    return year


@dataclass(frozen=True)
class Lift:
    """The effect of king-makers on their friend's rank, under WWG and under SWG.

    `gained`: ranks among the others. `passed`: how many he passes of those who beat him and stood above him, who are
    `above`.
    """

    gained: tuple[int, int]
    passed: tuple[int, int]
    above: tuple[int, int]


KINDS = ("paper", "all below", "copy")


def king_makers(points: np.ndarray, played: np.ndarray, friend: int, count: int, kind: str) -> Lift:
    """The effect of `count` king-makers, who meet whom their friend has met, and each other.

    They all lose to their friend and beat those of their own who came later. Against the others, by kind:
    "paper" (Table 5): lose to all who are rated above the friend, beat every other one of those below, in turn;
    "all below": lose to all above, beat all below; "copy": the results of the strategy rated next below him.
    """
    n = len(points)
    final = weighted_degree(points, played)
    order = np.argsort(-final, kind="stable")
    place = int(np.flatnonzero(order == friend)[0])
    p = np.zeros((n + count, n + count))
    m = np.zeros((n + count, n + count), bool)
    p[:n, :n], m[:n, :n] = points, played
    for number, k in enumerate(range(n, n + count)):
        if kind == "copy":
            model = int(order[min(place + 1, n - 1)])
            met, won = played[model].copy(), points[model].copy()
        else:
            met, won = played[friend].copy(), np.zeros(n)
            below = order[place + 1 :]
            won[below if kind == "all below" else below[number % 2 :: 2]] = 4
        met[friend], won[friend] = True, 0
        p[k, :n], p[:n, k], m[k, :n], m[:n, k] = won, 4 - won, met, met
        p[k, k + 1 :], p[k + 1 :, k] = 4, 0
        m[k, n:] = m[n:, k] = True
        m[k, k] = False
    others = np.arange(n) != friend
    beaten = others & played[friend] & (points[friend] < 2)
    gained, passed, above = [], [], []
    for degree in (weighted_degree, simple_degree):
        before, after = degree(points, played), degree(p, m)[:n]
        higher, still = before > before[friend], after > after[friend]
        gained.append(int((higher & others).sum() - (still & others).sum()))
        passed.append(int((beaten & higher & ~still).sum()))
        above.append(int((beaten & higher).sum()))
    return Lift((gained[0], gained[1]), (passed[0], passed[1]), (above[0], above[1]))


@dataclass(frozen=True)
class Final:
    """A final contest: the students' best strategies, everybody against everybody.

    `simple`, `weighted`: SWG and WWG `(n,)`. `steps`: as `convergence`. `bend`: the quadratic term of WWG over SWG, with
    its 95 % interval by a bootstrap over strategies; above 0 the curve is convex. `slopes`: of WWG over SWG in the lowest
    third and in the middle third of the strategies.
    """

    simple: np.ndarray
    weighted: np.ndarray
    rho: float
    steps: tuple[int, int]
    bend: tuple[float, float, float]
    slopes: tuple[float, float]


def final_contest(year: Year, seed: int = 0) -> Final:
    """Every student chooses the strategy that has the highest WWG at the end of the preliminary contest."""
    last = year.contest.daily[-1]
    students = sorted(set(year.contest.student.tolist()) - {-1})
    chosen = [max(np.flatnonzero(year.contest.student == s).tolist(), key=lambda k: float(last[k])) for s in students]
    points = year.full[np.ix_(chosen, chosen)]
    simple, weighted = simple_degree(points), weighted_degree(points)
    generator = np.random.default_rng(seed)
    bends = [
        _fit(simple[some], weighted[some], 2)
        for some in (generator.integers(0, len(chosen), len(chosen)) for _ in range(1000))
    ]
    low, high = np.quantile(bends, [0.025, 0.975])
    order = np.argsort(simple)
    thirds = [order[: len(order) // 3], order[len(order) // 3 : 2 * len(order) // 3]]
    slopes = [_fit(simple[third], weighted[third], 1) for third in thirds]
    return Final(
        simple,
        weighted,
        float(spearmanr(simple, weighted).statistic),
        convergence(points),
        (_fit(simple, weighted, 2), float(low), float(high)),
        (slopes[0], slopes[1]),
    )


def _fit(x: np.ndarray, y: np.ndarray, degree: int) -> float:
    """The leading term of the least-squares polynomial of this degree."""
    return float(np.linalg.lstsq(np.vander(x, degree + 1), y, rcond=None)[0][0])


@dataclass(frozen=True)
class Agreement:
    """The agreement of a thinned schedule with the full round robin, over the students' strategies.

    `matches`: that a strategy has played in the mean. `weighted`, `simple`: Spearman's correlation of WWG and of SWG
    with the WWG of the full round robin. `error`: mean distance of the WWG from it.
    """

    matches: float
    weighted: float
    simple: float
    error: float


def agreement(contest: Contest, full: np.ndarray) -> Agreement:
    """The agreement of a contest with the round robin of its strategies."""
    some = np.arange(contest.references, len(full))
    truth = weighted_degree(full)[some]
    weighted = weighted_degree(contest.points, contest.played)[some]
    simple = simple_degree(contest.points, contest.played)[some]
    return Agreement(
        float(contest.played[some].sum(1).mean()),
        float(spearmanr(weighted, truth).statistic),
        float(spearmanr(simple, truth).statistic),
        float(np.abs(weighted - truth).mean()),
    )
