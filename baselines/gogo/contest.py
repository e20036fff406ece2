"""The course's contest replayed: a population of strategies submitted over five weeks, the thinned schedule, four checks.

Students' submissions are rule files that change: each student begins with the prototype and hands in, every few days, his
best strategy so far with some values changed, rules dropped, or rules taken over from the reference strategies. New
strategies first meet the fixed references, then opponents spread evenly over the ratings of those handed in before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.stats import spearmanr

from asobiba.api.seating import Seating
from asobiba.arena.wwg import simple_degree, weighted_degree
from asobiba.baselines.gogo import REFERENCES, STRATEGIES
from asobiba.baselines.gogo.rule_table import MEMORY, MOST_RULES, Strategy, load_strategy, rule_agent
from asobiba.core import KernelAgent, Ruleset

DAYS = 35
BATCH = 4096
Row = tuple[int, int, int, int, int]


@dataclass
class Contest:
    """Submissions and matches of a contest.

    `points[i, j]`: match points of i against j (0 to 4), `played[i, j]`: whether they have met. `day`: of submission;
    the references, which are the first, have day 0. `daily`: after each day, the WWG of those who were there (others are
    not-a-number).
    """

    strategies: list[Strategy]
    day: np.ndarray
    student: np.ndarray
    points: np.ndarray
    played: np.ndarray
    references: int
    daily: list[np.ndarray] = field(default_factory=list)
    games: int = 0


def mutated(strategy: Strategy, pool: list[Row], generator: np.random.Generator, name: str) -> Strategy:
    """A strategy as its author might change it: values, rules dropped, rules taken over from `pool`."""
    rows = []
    for row in strategy.rows:
        if generator.random() < 0.05 and len(strategy.rows) > 3:
            continue
        value = row[4]
        if generator.random() < 0.3:
            value = round(value * float(np.exp(generator.normal(0, 0.6))))
        rows.append((*row[:4], value))
    for _ in range(generator.integers(0, 4)):
        row = pool[generator.integers(len(pool))]
        known = {r[:4] for r in rows}
        if row[:4] not in known and len(rows) < MOST_RULES:
            rows.append(row)
    adds = strategy.adds or bool(generator.random() < 0.1)
    return Strategy(name, tuple(rows), adds, "")


def play_pairs(ruleset: Ruleset, strategies: list[Strategy], pairs: np.ndarray, seed: int) -> np.ndarray:
    """Match points `(n,)` of the first of each pair: two games, each side first once; captured stones decide a 1-1."""
    agents = [rule_agent(strategy) for strategy in strategies]
    points = np.zeros(len(pairs))
    for begin in range(0, len(pairs), BATCH // 2):
        some = pairs[begin : begin + BATCH // 2]
        seats = np.concatenate([some, some[:, ::-1]])
        wins, stones = _games(ruleset, agents, seats, seed + begin)
        n = len(some)
        score = wins[:n, 0] + wins[n:, 1]
        more = np.sign(stones[:n, 0] - stones[:n, 1] + stones[n:, 1] - stones[n:, 0])
        points[begin : begin + n] = np.where(score == 1, 2 + more, 2 * score)
    return points


class _Field(KernelAgent):
    """All strategies as one agent: game `k`, whose agents' seeds are `2 * k` and `2 * k + 1`, is played by row `k` of
    `seats`."""

    def __init__(self, agents: list[KernelAgent], seats: np.ndarray):
        first = agents[0]
        super().__init__(first.policy, MEMORY, name="field")
        self._tables = np.concatenate([agent.initial for agent in agents])
        self._seats = seats.ravel()

    def memories(self, seeds: np.ndarray, seats: np.ndarray | int, ruleset: Ruleset) -> np.ndarray:
        records = super().memories(seeds, seats, ruleset)
        chosen = self._tables[self._seats[np.asarray(seeds, np.int64) % len(self._seats)]]
        for name, *_ in MEMORY:
            records[name] = chosen[name]
        return records


def _games(ruleset: Ruleset, agents: list[KernelAgent], seats: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Plays one game a row of `seats`, all at once: what each seat won (1, 0 or a half), and stones captured."""
    count = len(seats)
    field_ = _Field(agents, seats)
    seating = Seating(ruleset, count, opponent=field_, seat=None, autoreset="disabled", threads=1)
    # Equal modulo the number of seats, so that the seed changes the draws but not who plays.
    agent_seeds = np.arange(2 * count, dtype=np.uint64).reshape(count, 2) + np.uint64(2 * count) * np.uint64(seed)
    seating.begin_games(agent_seeds[:, 0].copy(), agent_seeds)
    running = np.ones(count, bool)
    while running.any():
        for seat in (0, 1):
            turn = seating.acts(seat) & running
            if turn.any():
                seating.decide(seat, turn)
        seating.advance(running)
        states = seating.states
        running &= (states["terminated"] == 0) & (states["truncated"] == 0)
    wins = (np.sign(seating.states["rewards"]) + 1) / 2
    return wins, seating.states["captured"].astype(float)


def spread(ratings: np.ndarray, among: np.ndarray, count: int) -> np.ndarray:
    """`count` of the indices `among`, evenly spread over their ratings."""
    ranked = among[np.argsort(ratings[among])]
    return ranked[np.unique(np.linspace(0, len(ranked) - 1, min(count, len(ranked))).round().astype(int))]


def course_references() -> list[Strategy]:
    """The reference strategies of `strategies/`, weakest first."""
    return [load_strategy(STRATEGIES / f"{name}.yaml") for name in REFERENCES]


def run_contest(
    ruleset: Ruleset,
    students: int = 40,
    submissions: int = 240,
    entry: int = 40,
    seed: int = 0,
    report: Callable[[int], None] | None = None,
    more: Sequence[Strategy] = (),
) -> Contest:
    """Five weeks of submissions with the thinned schedule.

    Args:
        students, submissions: how many, in all; everybody hands in at random days.
        entry: opponents of a new strategy on its first night, besides the references.
        report: called after each day with the day.
        more: references besides the course's own.
    """
    generator = np.random.default_rng(seed)
    strategies = [*course_references(), *more]
    pool = [row for strategy in strategies for row in strategy.rows]
    best = [strategies[0]] * students
    rating = [-1.0] * students
    days = np.sort(generator.integers(1, DAYS + 1, submissions))
    contest = _begun(strategies, submissions)
    first = len(strategies)
    _meet(ruleset, contest, np.array([(i, j) for i in range(first) for j in range(i)]), seed)
    weights = _weights(contest)
    for day in range(1, DAYS + 1):
        present = len(contest.strategies)
        authors = generator.integers(0, students, int((days == day).sum()))
        for author in authors:
            name = f"s{author:02d}_{len(contest.strategies)}"
            contest.strategies.append(mutated(best[author], pool, generator, name))
        contest.day = np.append(contest.day, np.full(len(authors), day))
        contest.student = np.append(contest.student, authors)
        fresh = range(present, len(contest.strategies))
        pairs = _night(weights, fresh, first, first, entry)
        if pairs:
            _meet(ruleset, contest, np.array(pairs), seed + 100_000 * day)
        weights = _weights(contest)
        for new, author in zip(fresh, authors):
            if weights[new] >= rating[author]:
                best[author], rating[author] = contest.strategies[new], float(weights[new])
        _note_day(contest, weights)
        if report:
            report(day)
    return contest


def _begun(strategies: list[Strategy], submissions: int) -> Contest:
    first, total = len(strategies), len(strategies) + submissions
    return Contest(
        list(strategies),
        np.zeros(first, int),
        np.full(first, -1),
        np.zeros((total, total)),
        np.zeros((total, total), bool),
        first,
    )


def _night(weights: np.ndarray, fresh: range, first: int, references: int, entry: int) -> list[tuple[int, int]]:
    """The pairings after a day: each new strategy `references` of the `first` that are references, and `entry` of those
    handed in before, evenly spread over their ratings."""
    older = np.arange(first, fresh.start)
    pairs = [(new, old) for new in fresh for old in range(references)]
    for new in fresh:
        pairs += [(new, int(old)) for old in (spread(weights, older, entry) if len(older) else [])]
    return pairs


def _note_day(contest: Contest, weights: np.ndarray) -> None:
    total = len(contest.points)
    contest.daily.append(np.append(weights, np.full(total - len(weights), np.nan)))


def round_robin(ruleset: Ruleset, strategies: list[Strategy], seed: int) -> np.ndarray:
    """Match points `(n, n)` of everybody against everybody."""
    count = len(strategies)
    pairs = np.array([(i, j) for i in range(count) for j in range(i)])
    gained = play_pairs(ruleset, strategies, pairs, seed)
    points = np.zeros((count, count))
    points[pairs[:, 0], pairs[:, 1]], points[pairs[:, 1], pairs[:, 0]] = gained, 4 - gained
    return points


def rescheduled(contest: Contest, full: np.ndarray, references: int, entry: int) -> Contest:
    """The same strategies on the same days by another thinned schedule, their matches looked up in a full round robin.

    Args:
        full: `(n, n)` match points of everybody against everybody.
        references: how many of the references a new strategy meets.
        entry: how many others it meets on its first night.
    """
    first, total = contest.references, len(contest.strategies)
    again = _begun(contest.strategies[:first], total - first)
    again.strategies, again.day, again.student = contest.strategies, contest.day, contest.student

    def meet(pairs: Sequence[tuple[int, int]]) -> None:
        for i, j in pairs:
            again.points[i, j], again.points[j, i] = full[i, j], full[j, i]
            again.played[i, j] = again.played[j, i] = True
        again.games += 2 * len(pairs)

    meet([(i, j) for i in range(first) for j in range(i)])
    weights = weighted_degree(again.points[:first, :first], again.played[:first, :first])
    for day in range(1, DAYS + 1):
        days = np.flatnonzero(contest.day == day)
        fresh = range(days[0], days[-1] + 1) if len(days) else range(len(weights), len(weights))
        meet(_night(weights, fresh, first, references, entry))
        n = fresh.stop
        weights = weighted_degree(again.points[:n, :n], again.played[:n, :n])
        _note_day(again, weights)
    return again


def _meet(ruleset: Ruleset, contest: Contest, pairs: np.ndarray, seed: int) -> None:
    points = play_pairs(ruleset, contest.strategies, pairs, seed)
    for (i, j), gained in zip(pairs.tolist(), points):
        contest.points[i, j], contest.points[j, i] = gained, 4 - gained
        contest.played[i, j] = contest.played[j, i] = True
    contest.games += 2 * len(pairs)


def _weights(contest: Contest) -> np.ndarray:
    n = len(contest.strategies)
    return weighted_degree(contest.points[:n, :n], contest.played[:n, :n])


@dataclass(frozen=True)
class Checks:
    """Three of the paper's four checks of a rating; the fourth, validity, is in `king_makers`.

    `steps`: iterations until no WWG changes by more than 0.001, and until the ranks stay. `rho`: Spearman's correlation
    of WWG and SWG. `spans`: mean range of the daily WWG of strategies of each week.
    """

    steps: int
    steps_ranks: int
    rho: float
    spans: tuple[float, ...]


def convergence(points: np.ndarray, played: np.ndarray | None = None) -> tuple[int, int]:
    """Iterations until no WWG is further than 0.001 from its limit, and until no rank changes any more."""
    final = weighted_degree(points, played)
    order = np.argsort(np.argsort(final, kind="stable"))
    steps, ranks = 0, 0
    for k in range(1, 200):
        now = weighted_degree(points, played, steps=k)
        if np.abs(now - final).max() > 1e-3:
            steps = k
        if (np.argsort(np.argsort(now, kind="stable")) != order).any():
            ranks = k
    return steps + 1, ranks + 1


def check(contest: Contest) -> Checks:
    """Convergence, separation, stability."""
    points, played = contest.points, contest.played
    steps, ranks = convergence(points, played)
    spans = []
    table = np.array(contest.daily)
    for week in range(DAYS // 7):
        rows = [i for i, day in enumerate(contest.day) if 7 * week < day <= 7 * week + 7]
        ranges = [np.nanmax(table[:, i]) - np.nanmin(table[:, i]) for i in rows]
        spans.append(float(np.mean(ranges)) if ranges else float("nan"))
    rho = float(spearmanr(weighted_degree(points, played), simple_degree(points, played)).statistic)
    return Checks(steps, ranks, rho, tuple(spans))
