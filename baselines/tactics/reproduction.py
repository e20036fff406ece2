"""The round robin of `asobiba reproduce tactics`: the results of all pairs at each budget, and what fuzzy priors save.

The literature gives no figures for comparison; its claims are that F-UCT was better than M-UCT, and M-UCT better than
the other programs of 2016.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from asobiba.arena.pairs import Score, score_of
from asobiba.baselines.tactics.agents import LABELS
from asobiba.baselines.tactics.meetings import (
    ALL,
    CHANGES,
    PEERS,
    RATIOS,
    SAVING_BUDGET,
    STRONGEST,
    TIMED_MAPS,
    TUNING_BUDGETS,
    VARIANTS,
    VARIANTS_BUDGET,
    Meeting,
    peers_on,
    with_budget,
)
from asobiba.baselines.tactics.parking import KINDS, PLAYOUTS, Watched, draw_stillest, share_still
from asobiba.envs.tactics.maps import SIDES, SIZES, shipped_maps
from asobiba.pages import verdict_table

FOREGONE, ENOUGH = 0.85, 20
"""Share of a map's games above which a side counts as winning whoever plays it; fewer games do not tell."""

CHECKED = 100
"""Kept games that are played again before others are added to them."""


def score(results: dict[Meeting, int], one: str, other: str) -> Score | None:
    """Result of `one` against `other`, or `None` where they have not met."""
    return score_of(
        (meeting.map, meeting.round, (1 + result if meeting.red == one else 1 - result) / 2)
        for meeting, result in results.items()
        if {meeting.red, meeting.blue} == {one, other}
    )


def _cell(found: Score | None) -> str:
    if found is None:
        return "-"
    low, high = found.interval()
    return f"{100 * found.share:.1f} ({100 * low:.0f} to {100 * high:.0f})"


def _span(numbers: list[int]) -> str:
    return str(numbers[0]) if min(numbers) == max(numbers) else f"{min(numbers)} to {max(numbers)}"


def _table(columns: list[str], rows: list[list[str]]) -> list[str]:
    return [f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}", *(f"| {' | '.join(row)} |" for row in rows)]


def _budgets(results: dict[Meeting, int]) -> list[int]:
    """The budgets at which `uct_plus` met others with as many playouts."""
    found = set()
    for meeting in results:
        number = meeting.red.removeprefix("uct_plus:simulations=")
        if number.isdigit() and meeting.blue in {with_budget(name, int(number)) for name in ALL if name != "uct_plus"}:
            found.add(int(number))
    return sorted(found)


def equal_ratio(results: dict[Meeting, int], kind: str) -> str:
    """Multiple of F-UCT's playouts that M-UCT needs for half of the points, interpolated between the measured ratios."""
    fuzzy = with_budget("f_uct" + kind, SAVING_BUDGET)
    points = []
    for ratio in (1, *RATIOS):
        found = score(results, fuzzy, with_budget("m_uct" + kind, ratio * SAVING_BUDGET))
        if found is not None:
            points.append((math.log2(ratio), found.share))
    if len(points) < 2:
        return "-"
    if points[0][1] <= 0.5:
        return "none: at equal playouts M-UCT is at least as strong"
    for (x, high), (next_x, low) in itertools.pairwise(points):
        if high >= 0.5 > low:
            return f"{2 ** (x + (next_x - x) * (high - 0.5) / (high - low)):.1f} times"
    return f"more than {2 ** points[-1][0]:.0f} times"


def _sets_section() -> list[str]:
    """Ranking quality of the shipped fuzzy sets, as found when they were made."""
    made = yaml.safe_load((LABELS / "made.yml").read_text(encoding="utf-8"))
    orders = made["fresh_positions"]
    rows = [
        [
            what,
            f"{order['correlation']:.2f}",
            f"{100 * order['area']:.0f}",
            f"{100 * order['top']:.0f}",
            f"{100 * order['chance']:.0f}",
        ]
        for what, order in orders.items()
    ]
    positions = next(iter(orders.values()))["positions"]
    return [
        "",
        "## What the fuzzy sets know",
        "",
        f"On {positions} positions that were not used for them: how memberships order the actions of a position beside",
        "the visits of a deep search.",
        "",
        *_table(
            ["samples", "rank correlation", "good before not good, %", "best is good, %", "good actions, %"],
            rows,
        ),
    ]


def _maps_section(results: dict[Meeting, int]) -> list[str]:
    """Red's share of the points on each map: every pair plays both colours."""
    groups = {f"{budget:,} playouts": {with_budget(name, budget) for name in ALL} for budget in _budgets(results)}
    groups["equal time"] = {STRONGEST, *(text for size in SIZES for text in peers_on(size).values())}
    rows, foregone = [], []
    for name in shipped_maps():
        cells, sides = [], set()
        for agents in groups.values():
            found = [r for m, r in results.items() if m.map == name and {m.red, m.blue} <= agents]
            cells.append(f"{50 + 50 * sum(found) / len(found):.0f} ({len(found)})" if found else "-")
            if len(found) >= ENOUGH:
                sides |= {SIDES[k] for k, wins in enumerate((1, -1)) if found.count(wins) > FOREGONE * len(found)}
        if any(cell != "-" for cell in cells):
            rows.append([name, *cells])
        foregone += [f"{name} ({side})" for side in sorted(sides)]
    most = f"over {100 * FOREGONE:.0f} % of the games at one of these budgets"
    said = [f"On none of them did one side win {most}."]
    if foregone:
        said = [
            "",
            f"On {', '.join(foregone)} the side in brackets",
            f"won {most}, whoever played it. Such a map says little about agents:",
            "nearly every pair is shared there, which draws their points towards 50 %.",
        ]
    return [
        "",
        "## Maps",
        "",
        f"Points of red, who moves first, in percent (games). {said[0]}".rstrip(),
        *said[1:],
        "",
        *_table(["map", *groups], rows),
    ]


def _peers_section(results: dict[Meeting, int], times: Mapping[str, list[float]]) -> list[str]:
    """`STRONGEST` against the others at equal time."""
    plain = {text: name for size in SIZES for name, text in peers_on(size).items()}
    renamed = {
        meeting._replace(red=plain.get(meeting.red, meeting.red), blue=plain.get(meeting.blue, meeting.blue)): result
        for meeting, result in results.items()
        if STRONGEST in (meeting.red, meeting.blue)
    }
    rows = []
    for peer, budgets in PEERS.items():
        found = score(renamed, STRONGEST, peer)
        if found is not None:
            verdict = found.verdict("uct_plus is stronger", "uct_plus is weaker")
            unit = budgets[0].partition("=")[0]
            numbers = " / ".join(f"{int(text.partition('=')[2]):,}" for text in budgets if text)
            rows.append(
                [peer, f"{numbers} {unit}".strip(), _times(times, peer), _cell(found), str(found.games), verdict]
            )
    if not rows:
        return []
    return [
        "",
        "## At equal time: uct_plus against each other agent",
        "",
        f"`{STRONGEST}` takes {_times(times, STRONGEST)} ms of one core for an action on boards of 8, 10 and 14",
        f"({', '.join(TIMED_MAPS)}); the others' budgets, one for each board, were chosen to take about as long. The times",
        "are of the machine that wrote this page. The trained policy plays on boards of 8 only.",
        "",
        *_table(["against", "budget of an action", "ms", "points of uct_plus", "games", ""], rows),
    ]


def _times(times: Mapping[str, list[float]], agent: str) -> str:
    return " / ".join(f"{ms:.1f}" for ms in times.get(agent, [])) or "-"


def _pairs_section(results: dict[Meeting, int]) -> list[str]:
    """Every pair at every budget."""
    names: list[Any] = list(ALL)
    lines: list[str] = []
    for budget in _budgets(results):
        texts = [with_budget(name, budget) for name in names]
        lines += ["", f"## {budget:,} playouts an action", ""]
        rows = []
        for name, text in zip(names, texts):
            rows.append([name, *("" if text == other else _cell(score(results, text, other)) for other in texts)])
        lines += _table(["", *names], rows)
        scores = [found for a, b in itertools.combinations(texts, 2) if (found := score(results, a, b))]
        many, where = (_span([getattr(found, of) for found in scores]) for of in ("games", "maps"))
        lines += ["", f"Games of a pair: {many}, on {where} of the maps."]
    return lines


def _claim_section(results: dict[Meeting, int]) -> list[str]:
    """F-UCT against M-UCT at equal playouts."""
    rows = []
    for budget in _budgets(results):
        for kind, what in (("", "as published"), ("_corrected", "corrected")):
            found = score(results, with_budget("f_uct" + kind, budget), with_budget("m_uct" + kind, budget))
            if found is not None:
                verdict = found.verdict("F-UCT is stronger", "M-UCT is stronger")
                rows.append([f"{budget:,}", what, _cell(found), str(found.games), str(found.maps), verdict])
    lines = ["", "## The claim: fuzzy priors, at equal playouts", ""]
    lines += _table(["playouts", "", "F-UCT against M-UCT", "games", "maps", ""], rows)
    return lines


def _savings_section(results: dict[Meeting, int]) -> list[str]:
    """F-UCT of few playouts against M-UCT of more."""
    rows = []
    for kind, what in (("", "as published"), ("_corrected", "corrected")):
        fuzzy = with_budget("f_uct" + kind, SAVING_BUDGET)
        cells = [
            _cell(score(results, fuzzy, with_budget("m_uct" + kind, ratio * SAVING_BUDGET))) for ratio in (1, *RATIOS)
        ]
        rows.append([what, *cells, equal_ratio(results, kind)])
    lines = ["", f"## What they save: F-UCT of {SAVING_BUDGET} playouts against M-UCT of more", ""]
    lines += _table(["", *(f"{ratio * SAVING_BUDGET}" for ratio in (1, *RATIOS)), "equally strong at"], rows)
    return lines


def _sign_section(results: dict[Meeting, int]) -> list[str]:
    """The corrected programs against the published ones."""
    rows = []
    for budget in _budgets(results):
        for kind in ("m_uct", "f_uct"):
            found = score(results, with_budget(f"{kind}_corrected", budget), with_budget(kind, budget))
            if found is not None:
                rows.append([f"{budget:,}", kind, _cell(found), str(found.games), str(found.maps)])
    lines = ["", "## What the sign is worth: corrected against as published", ""]
    lines += _table(["playouts", "", "points of the corrected one", "games", "maps"], rows)
    return lines


def _parking_section(games: Mapping[str, list[Watched]], picture: Path) -> list[str]:
    """The section on the effect of the wrong sign in play."""
    rows = []
    for kind, what in KINDS.items():
        cells = []
        for loser in (True, False):
            still, units = share_still(games[kind], loser)
            cells.append(f"{100 * still / max(units, 1):.1f} % ({still} of {units})")
        rows.append([what, str(len(games[kind])), *cells])
    return [
        "",
        "## The wrong sign at work: the loser parks",
        "",
        "In the published programs both sides of the tree maximise the root's value: a side expects its enemy to help it. Who is",
        "behind therefore sees no threat and waits in its corner. Units that neither moved nor attacked in a turn, in the second",
        f"half of decided games M-UCT against F-UCT ({PLAYOUTS} playouts, maps of the smallest board):",
        "",
        *_table(["", "games", "of the loser", "of the winner"], rows),
        *draw_stillest(games[""], picture),
    ]


def _variants_section(results: dict[Meeting, int]) -> list[str]:
    """Variants of the corrected M-UCT against itself, if any were played."""
    plain = with_budget("m_uct_corrected", VARIANTS_BUDGET)
    rows = [
        [v, _cell(found), str(found.games)]
        for v in VARIANTS
        if (found := score(results, f"{plain},variant={v}", plain))
    ]
    if not rows:
        return []
    lines = ["", f"## Variants of the corrected M-UCT against itself, {VARIANTS_BUDGET:,} playouts", ""]
    lines += _table(["", "points", "games"], rows)
    return lines


def _tuning_section(results: dict[Meeting, int]) -> list[str]:
    """uct_plus with one setting changed against itself, if that was played."""
    rows, better = [], []
    for change, what in CHANGES:
        found_at = [
            score(results, f"{plain},{change}", plain)
            for plain in (with_budget("uct_plus", budget) for budget in TUNING_BUDGETS)
        ]
        if any(found_at):
            games = "/".join(str(found.games if found else 0) for found in found_at)
            rows.append([f"`{change}`", what, *map(_cell, found_at), games])
            if any(found and found.verdict("better", "worse") == "better" for found in found_at):
                better.append(f"`{change}`")
    if not rows:
        return []
    lines = ["", "## The tuning of uct_plus: one setting changed, against itself", ""]
    lines += [f"Better beyond the interval: {', '.join(better) or 'none'}.", ""]
    lines += _table(["", "", *(f"{budget:,} playouts" for budget in TUNING_BUDGETS), "games"], rows)
    return lines


def _verdict_section(results: dict[Meeting, int]) -> list[str]:
    """The paper's claims, the results, and the reasons of the differences."""
    budget = max(_budgets(results), default=SAVING_BUDGET)

    def beside(one: str, other: str) -> str:
        return _cell(score(results, with_budget(one, budget), with_budget(other, budget)))

    rows = [
        (
            "M-UCT is strong",
            f"against max_act_eval, which does not search, {beside('m_uct', 'max_act_eval')} points in percent as published "
            f"and {beside('m_uct_corrected', 'max_act_eval')} corrected, at {budget:,} playouts",
            "it prints no figures; the table of all pairs has the others",
        ),
        (
            "F-UCT, with fuzzy priors, needs less search than M-UCT",
            f"equally strong with M-UCT's playouts at: as published {equal_ratio(results, '')}, corrected "
            f"{equal_ratio(results, '_corrected')}",
            "as published, the program reads the enemy's side with the wrong sign, and priors guide it to moves that it then "
            "judges wrongly; corrected, the claim is tested as it is meant",
        ),
        (
            "(the published program)",
            f"corrected against as published: M-UCT {beside('m_uct_corrected', 'm_uct')}, F-UCT "
            f"{beside('f_uct_corrected', 'f_uct')}",
            "the sign is an error of the program, not of the paper's text",
        ),
    ]
    return ["", verdict_table(rows).markdown()]


def page(
    results: dict[Meeting, int],
    times: Mapping[str, list[float]] | None = None,
    watched: tuple[Mapping[str, list[Watched]], Path] | None = None,
) -> str:
    """The results as Markdown.

    Args:
        results: of each meeting 1, 0 or -1, as `play_one` returns.
        times: `milliseconds` of `STRONGEST` and `PEERS` on `TIMED_MAPS`.
        watched: the games of `watch_all`, and the file of their picture, which is written.
    """
    lines = [
        "# Turn-based tactics: M-UCT and F-UCT",
        "",
        "Source: Muto and Nishino, GAT 2016 (in Japanese), whose claims are that M-UCT is strong and that F-UCT, which begins",
        "with fuzzy priors, needs less search; it prints no figures. Written by `asobiba reproduce tactics`: pairs meet on the",
        f"shipped maps, colours swapped; {len(results):,} games on {len({m.map for m in results})} maps.",
        "Points in percent of the row's agent against the column's, a draw counting half, with the 95 % interval from pairs",
        "of games (same map and round, colours swapped): Wilson's with the number of games divided by Kish's design effect and",
        "Student's quantile (`src/asobiba/arena/pairs.py`, with sources); a game without its counterpart stands for itself.",
        "The intervals are about these maps, not about others. The labels behind F-UCT's fuzzy sets were derived by deep search",
        "(`baselines/tactics/labels/made.yml`), before some maps were made fairer to the colours; the authors' own, made by a",
        "person, are not public. Corrected, the enemy is an enemy, and F-UCT follows the paper where its program does not:",
        "several nearest samples count, staying is no member of its own, and children of low membership, whom the program",
        "tries first, wait. Small maps were played first and more often, and the pairs that the claims are about before others;",
        "a dash stands where no game was.",
        *_verdict_section(results),
        *_sets_section(),
        *_maps_section(results),
        *_pairs_section(results),
        *_claim_section(results),
        *_savings_section(results),
        *_sign_section(results),
        *(_parking_section(*watched) if watched else []),
        *_peers_section(results, times or {}),
        *_variants_section(results),
        *_tuning_section(results),
    ]
    return "\n".join(lines) + "\n"
