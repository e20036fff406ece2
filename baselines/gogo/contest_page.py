"""The page of the contest: the paper's examples and its four checks on simulated years, its figures, its future work."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr

from asobiba.arena.simulate import simulate
from asobiba.arena.wwg import weighted_degree
from asobiba.baselines.gogo import REFERENCES
from asobiba.baselines.gogo.contest import DAYS, Checks, check, rescheduled
from asobiba.baselines.gogo.contest_pictures import draw_bars, draw_candles, draw_finals
from asobiba.baselines.gogo.published import (
    TABLE_3,
    TABLE_4,
    TABLE_5,
    table_3_points,
    table_4_points,
    table_5_points,
)
from asobiba.baselines.gogo.years import KINDS, Final, Lift, Year, agreement, final_contest, king_makers
from asobiba.pages import Opening, TextTable

COUNT = 9
"""King-makers, as in the paper's Table 5 (b)."""
PLACES = (0.1, 0.3, 0.5, 0.7, 0.9)
"""Ranks of the king-makers' friend, as shares from the top."""
SCHEDULES = ((5, 10), (5, 30), (5, 60), (10, 10), (10, 30), (10, 60), (10, 100))
_SOURCE = (
    'Naoki Hanakawa and Hiroyuki Tominaga, "Support and Practices in an Applied Java Programming Exercise with Board Game '
    'Strategy and a Contest Style - Refinement of Ranking by Weighted Winning Degree as Rating Index" (in Japanese).'
)
_WORDS = (
    ("match", "two games with swapped sides: 4 points for two wins, 0 for two losses; at one win each, 3 for who captured "
     "more stones, 1 for who captured fewer, 2 each for the same"),
    ("SWG", "simple winning degree: points over four times the number of opponents"),
    ("WWG", "weighted winning degree: the same with points weighed by the opponents' WWG, found by iteration from 1"),
    ("king-maker", "a strategy handed in to lift another, its *friend*, by losing to it"),
    ("reference", "a strategy that the course hands in itself: `prototype`, `weak`, `middle`, `strong`, `champion` "
     "(agents of this project), and, to make ten, five of a contest of another seed, evenly spread over its ranks"),
    ("year", "a simulated contest: students whose rule files change every few days, the best so far with values changed, "
     "rules dropped or taken over from a reference; its strategies' full round robin is played too, and every "
     "schedule's matches are taken from that"),
    ("5 + 60, 10 + 100", "a thinned schedule: a new strategy meets so many references, and on its first night so many "
     "strategies of the days before, evenly spread over their WWG; the paper prints 10 and 100"),
    ("candle", "a strategy's WWG: the body goes from its first value to its present one (white: rising, black: falling), the "
     "line from its least to its greatest"),
)  # fmt: skip


def write_page(years: Sequence[Year], output: Path, command: str, seconds: float) -> str:
    """Writes the page and its pictures beside it; returns its text."""
    pictures = [output.with_name(f"{output.stem}_{name}.svg") for name in ("bars", "candles", "finals")]
    finals = [final_contest(year) for year in years]
    draw_bars(years[0].contest, pictures[0])
    draw_candles(years[0].contest, pictures[1])
    draw_finals(finals, pictures[2])
    checks = [(check(year.contest), check(year.smaller)) for year in years]
    lifts = {kind: [_lifts(year, kind) for year in years] for kind in KINDS}
    opening = Opening(
        "Gogo: the contest and its rating replayed", _SOURCE, command, seconds, _verdict(checks, finals, lifts), _WORDS
    )
    contest = years[0].contest
    games = sum(len(year.full) * (len(year.full) - 1) for year in years)
    what = (
        f"{len(years)} years of {len(set(contest.student.tolist()) - {-1})} students who hand in "
        f"{len(contest.strategies) - contest.references} strategies over {DAYS} days, beside {contest.references} references; "
        f"{games:,} games in the round robins. The students are rule files that are mutated where people would think, so the "
        "paper's own numbers are not expected, only what it says of its rating."
    )
    parts = [
        opening.markdown(),
        f"## The simulated contests\n\n{what}",
        _examples().markdown(),
        _king_makers(years, lifts).markdown(),
        _schedules(checks, years).markdown(),
        _finals(finals).markdown(),
        f"![WWG over SWG in the final contests, with the line of equal values]({pictures[2].name})",
        _needed(years).markdown(),
        f"![Each strategy at its day of submission: the range of its daily WWG, and its last value]({pictures[0].name})",
        "## The students' charts, week by week\n\nThe paper's extended score charts (its figures 9 and 10), of the first year's best "
        "student and of one in the middle: candles as they stood at the end of each week. The line joins the values of that "
        f"time.\n\n![Candles after weeks 1 to 5]({pictures[1].name})",
        _missing(),
    ]
    text = "\n\n".join(parts) + "\n"
    output.write_text(text, encoding="utf-8")
    return text


def _lifts(year: Year, kind: str) -> list[tuple[Lift, Lift]]:
    """The lifts in the full round robin and in the thinned contest, for a friend at each of `PLACES`."""
    everybody = ~np.eye(len(year.full), dtype=bool)
    found = []
    for place in PLACES:
        pair = []
        for points, played in ((year.full, everybody), (year.contest.points, year.contest.played)):
            order = np.argsort(-weighted_degree(points, played), kind="stable")
            pair.append(king_makers(points, played, int(order[int(place * len(order))]), COUNT, kind))
        found.append((pair[0], pair[1]))
    return found


def _range(values: Sequence[float], digits: int = 0) -> str:
    low, high = f"{min(values):.{digits}f}", f"{max(values):.{digits}f}"
    return low if low == high else f"{low} to {high}"


def _verdict(checks: Sequence[tuple[Checks, Checks]], finals: Sequence[Final], lifts) -> list[tuple[str, str, str]]:
    paper = [lift for kind in KINDS[:2] for year in lifts[kind] for lift in year]
    passed = [[full.passed[k] for full, _ in paper] for k in range(2)]
    thinned = [[thin.passed[k] for _, thin in paper] for k in range(2)]
    shrinking = all(c.spans[k] > c.spans[k + 1] for pair in checks for c in pair for k in range(len(c.spans) - 1))
    convex = sum(final.bend[1] > 0 for final in finals)
    above = sum(final.rho > 0.99 for final in finals)
    return [
        ("Convergence: in final contests WWG is at rest after about 3 iterations, in Table 3 after 6",
         f"to 0.001 after {_range([f.steps[0] for f in finals])} iterations in the finals, ranks at rest after "
         f"{_range([f.steps[1] for f in finals])}", "comes out"),
        ("Validity: king-makers do not lift their friend above those who beat him (Table 5)",
         f"full round robin: their friend passes {_range(passed[0])} of those who beat him under WWG, {_range(passed[1])} "
         f"under SWG; thinned contest: {_range(thinned[0])} and {_range(thinned[1])}",
         "comes out with the paper's king-makers, nearly without exception; SWG lets him pass more. King-makers who copy the "
         "strategy below their friend lift him further under WWG, since they take points from some above him too. The printed "
         "Table 5 (a) lacks the points between B4 and the king-makers; with those of the text the friend is rated below all "
         "who beat him, so that the claim is truer than its table"),
        ("Separation: in final contests Spearman's rho of WWG and SWG is above 0.99, and the curve is a bow, convex downwards",
         f"rho {_range([f.rho for f in finals], 4)}, above 0.99 in {above} of {len(finals)} years; convex in {convex} of "
         f"{len(finals)} (95 %)",
         "the bow comes out. " + ("" if above == len(finals) else "Rho is a little lower: our students' best strategies are "
         "nearer to each other than people's, so that neighbours change places")),
        ("Stability: the range of a strategy's daily WWG becomes smaller from week to week",
         "it does, in every year and under both schedules" if shrinking else "it does, with exceptions (below)",
         "comes out"),
        ("Table 3, Table 4, Table 5", "Table 3 and Table 5 (b) to the last digit but one unit; Table 4 for two steps",
         "from the third step on D's printed value does not follow from the formula; the others follow from the printed one of D. "
         "Table 5 (a) comes out with its blank"),
        ("Future work: how the number of matches acts on WWG", "measured (below)", "the paper has no figure"),
        ("Future work: comparison over years by the references", "not done", "no strategies of several years are published"),
    ]  # fmt: skip


def _examples() -> TextTable:
    rows = []
    for name, points, printed in (("3", table_3_points(), TABLE_3), ("4", table_4_points(), TABLE_4)):
        gaps = [np.abs(weighted_degree(points, steps=k) - row).max() for k, row in printed.items()]
        good = sum(bool(gap < 1e-3) for gap in gaps)
        rows.append((f"Table {name}", f"{good} of {len(gaps)} steps", f"{max(gaps):.4f}", ""))
    for count, letter in ((4, "a"), (9, "b")):
        for as_printed in (True, False) if count == 4 else (True,):
            names, points = table_5_points(count, as_printed)
            found = weighted_degree(points)
            gaps = [abs(value - TABLE_5[count][name]) for name, value in zip(names, found)]
            good = sum(bool(gap < 1e-3) for gap in gaps)
            passed = [f"B{k}" for k in range(5) if found[names.index(f"B{k}")] < found[0]]
            rows.append((
                f"Table 5 ({letter})" + ("" if as_printed else " with the points of the text"),
                f"{good} of {len(gaps)} values", f"{max(gaps):.4f}",
                f"A is above {', '.join(passed)}" if passed else "A is below B0 to B4, who beat him",
            ))  # fmt: skip
    return TextTable(
        ("", "within 0.001 of the print", "greatest difference", "A and those who beat him"),
        rows,
        "The paper's examples",
    )


def _king_makers(years: Sequence[Year], lifts) -> TextTable:
    rows = []
    meaning = {
        "paper": "as Table 5: lose to all above the friend, beat every other one below",
        "all below": "lose to all above, beat all below",
        "copy": "the results of the strategy below the friend",
    }
    for where, which in (("round robin", 0), ("10 + 100", 1)):
        for kind in KINDS:
            some = [pair[which] for year in lifts[kind] for pair in year]
            cells = []
            for degree in range(2):
                for values in ([x.gained[degree] for x in some], [x.passed[degree] for x in some]):
                    cells.append(f"{np.mean(values):.2f} ({min(values)} to {max(values)})")
            rows.append((meaning[kind], where, *cells))
    places = ", ".join(f"{100 * place:.0f}" for place in PLACES)
    return TextTable(
        (
            "king-makers",
            "table",
            "ranks gained, WWG",
            "passes of who beat him, WWG",
            "ranks gained, SWG",
            "passes, SWG",
        ),
        rows,
        "King-makers",
        f"{COUNT} king-makers for a friend who stands {places} % from the top, in {len(years)} years: the mean of "
        f"{len(years) * len(PLACES)} cases, and their range. All lose to the friend, beat those of their own who came later, and meet "
        "whom he meets. *Passes*: those rated above him before, who beat him in their match, and are below him after.",
    )


def _schedules(checks: Sequence[tuple[Checks, Checks]], years: Sequence[Year]) -> TextTable:
    rows = []
    for number, (pair, year) in enumerate(zip(checks, years)):
        for name, found, contest in zip(("10 + 100", "5 + 60"), pair, (year.contest, year.smaller)):
            near = agreement(contest, year.full)
            order = [
                1 + int((contest.daily[-1] > contest.daily[-1][k]).sum()) for k in range(len(REFERENCES))
            ]  # ranks of the course's references
            rows.append((
                f"{number}", name, f"{contest.games:,}", f"{found.steps} / {found.steps_ranks}", f"{found.rho:.4f}",
                ", ".join(f"{span:.3f}" for span in found.spans), f"{near.weighted:.4f}", ", ".join(map(str, order)),
            ))  # fmt: skip
    return TextTable(
        ("year", "schedule", "games", "iterations: to 0.001 / of ranks", "rho of WWG and SWG", "range of WWG by week",
         "rho with the round robin", f"ranks of {', '.join(REFERENCES)}"),
        rows,
        "The preliminary contest: convergence, separation, stability",
    )  # fmt: skip


def _finals(finals: Sequence[Final]) -> TextTable:
    rows = [
        (
            f"{k}", f"{len(f.simple)}", f"{f.steps[0]} / {f.steps[1]}", f"{f.rho:.4f}",
            f"{f.bend[0]:+.2f} ({f.bend[1]:+.2f} to {f.bend[2]:+.2f})", f"{f.slopes[0]:.2f}", f"{f.slopes[1]:.2f}",
        )
        for k, f in enumerate(finals)
    ]  # fmt: skip
    return TextTable(
        ("year", "strategies", "iterations: to 0.001 / of ranks", "rho", "bend (95 %)", "slope, lowest third",
         "slope, middle third"),
        rows,
        "The final contests (figures 4 and 6)",
        "Each student's best strategy by the preliminary WWG, everybody against everybody. *bend*: the quadratic term of WWG over "
        "SWG, with its interval by a bootstrap over the strategies; above 0 the curve is convex. *slope*: WWG that a point of SWG "
        "brings; below 1 at the bottom, where the match against oneself draws the WWG together, as the paper says.",
    )  # fmt: skip


def _needed(years: Sequence[Year]) -> TextTable:
    rows = []
    for references, entry in SCHEDULES:
        some = [agreement(rescheduled(year.contest, year.full, references, entry), year.full) for year in years]
        matches = float(np.mean([a.matches for a in some]))
        truth = [
            simulate(len(years[0].full), schedule, max(2, round(2 * matches)), seed=0, points=2)[-1].correlation
            for schedule in ("thinned", "round_robin")
        ]
        rows.append((
            f"{references} + {entry}", f"{matches:.0f}", f"{np.mean([a.weighted for a in some]):.4f}",
            f"{np.mean([a.simple for a in some]):.4f}", f"{np.mean([a.error for a in some]):.3f}",
            f"{truth[0]:.3f}", f"{truth[1]:.3f}",
        ))  # fmt: skip
    halves = [_half_against_half(year) for year in years]
    return TextTable(
        ("schedule", "matches each", "rho, WWG", "rho, SWG", "error of WWG", "simulated, thinned", "simulated, round robin"),
        rows,
        "How many matches a rating needs",
        "The paper's future work. *rho*: Spearman's correlation of the rating with the WWG of the full round robin, over the students' "
        f"strategies, mean of {len(years)} years; *error*: mean distance of the WWG from it. *simulated*: `asobiba league simulate`, as many "
        f"agents ({len(years[0].full)}) of known strength (normal, standard deviation 300 Elo) and as many games; rho of the fitted Elo "
        "with the truth, which a game's luck keeps down. Two halves of a round robin, each strategy with a random half of the "
        f"opponents, agree by rho {np.mean(halves):.4f}.",
    )  # fmt: skip


def _half_against_half(year: Year) -> float:
    """Spearman's rho between the WWG of two random halves of the round robin."""
    n = len(year.full)
    coin = np.triu(np.random.default_rng(0).random((n, n)) < 0.5, 1)
    half = coin | coin.T
    other = ~half & ~np.eye(n, dtype=bool)
    some = np.arange(year.contest.references, n)
    return float(spearmanr(*(weighted_degree(year.full, part)[some] for part in (half, other))).statistic)


def _missing() -> str:
    return (
        "## What is missing\n\nComparison of strategies over several years by the references, the other future work of the paper, needs the "
        "course's strategies of those years, which are not published; our years differ in nothing but their seed. The paper's "
        "contests have some 1,000 strategies, ours 300, so that 100 opponents are a larger part of all. The values of its figures 4, "
        "6, 7 and 10 are not printed as numbers, so that only what the text says of them is compared."
    )
