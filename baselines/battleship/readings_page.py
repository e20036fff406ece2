"""The page of battleship's open readings and of the paper's future work, beside the page of its tables."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

from asobiba.baselines.battleship.readings import (
    ORDERS,
    draw_fleets,
    duel,
    learning_attack,
    learning_placement,
    play_fleets,
)
from asobiba.core import Ruleset, game
from asobiba.pages import Opening, TextTable

TABLES_PAGE = Path("docs/reproductions/battleship.md")
_SOURCE = 'Source: "Evaluation of Attacking and Placing Strategies in a Classic Battleship Game" (in Japanese).'
_WORDS = (
    ("`r`", "shoots at any cell where a ship may still lie"),
    ("`rnb`", "the same, and around a hit until the ship is sunk"),
    ("`cb`", "searches on a checkerboard whose squares become smaller, and shoots around hits"),
    ("`mp:x=70`", "as `cb`, and from 70 undetermined cells and 4 ships on at the cell that most of the possible placements cover"),
    ("`la`", "as `mp`, looking two misses ahead"),
    ("R, ED1, ED2, PKxXy", "placements: anywhere; on the edge; within two cells of it; all ships but the smallest in a rectangle of x by y"),
    ("SP", "the same, touching forbidden"),
    ("whole fleet drawn again; ship drawn again", "readings of *placed at random*: where two ships clash, all of them are drawn anew (the reading of "
     "our agents, under which all fleets are equally likely), or the last one alone, in the order of the sizes"),
)  # fmt: skip
_INTERLEAVED = (
    ("rnb - rnb: wins of the first", 51.12), ("rnb - rnb: hit rate of the first", 31.41),
    ("rnb - rnb: hit rate of the second", 31.43), ("rnb - r: hit rate of the first", 30.91), ("rnb - r: hit rate of the second", 18.15),
)  # fmt: skip
"""Cells of Table 1 whose print shows two rows one over the other, as far as they can be told apart."""


def _share(points: float, games: int) -> str:
    share = points / games
    return f"{100 * share:.1f} ± {196 * math.sqrt(share * (1 - share) / games):.1f}"


def orders_table(ruleset: Ruleset, games: int) -> TextTable:
    """Tables 2, 3 and 4 by how fleets are drawn."""
    rows = []
    pairs = (
        ("pk2x10", "r", "Table 3: R and PK2x10 nearly equal, R below"), ("ed2", "r", "Table 3: ED2 above R"), ("ed1", "ed2", "Table 3: ED1 above ED2"),
        ("pk2x10", "pk4x6", "Table 2: 2x10 best"), ("rsp", "r", "Table 4: below 50"), ("ed1sp", "ed1", "Table 4: above 50"),
        ("ed2sp", "ed2", "Table 4: below 50"), ("pksp2x10", "pk2x10", "Table 4: below 50"),
    )  # fmt: skip
    for seed, (one, other, paper) in enumerate(pairs):
        cells = [_share(*duel(ruleset, (one, k), (other, k), games, 1 + seed)) for k in ORDERS.values()]
        rows.append((f"{one} against {other}", paper, *cells))
    return TextTable(
        ("placements", "the paper", *ORDERS),
        rows,
        "Other readings of the placements",
        f"Wins in percent under `mp:x=70` on both sides, {games:,} games a cell, half from each seat, ± the 95 % interval.",
    )


def _figures(page: str) -> dict[str, float]:
    """Measured figures of Table 1, by what they are, from the page of the tables."""
    section = page.partition("## Table 1:")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| ([^|]+) \| [^|]+ \| ([\d.]+) \| ([\d.]+) to ([\d.]+) \|", section, re.MULTILINE)
    return {what: float(measured) for what, measured, *_ in rows}


def counts(page: str) -> tuple[int, int]:
    """Cells of Table 1 that agree, and that do not."""
    section = page.partition("## Table 1:")[2].partition("\n## ")[0]
    return section.count("| yes |"), section.count("| no |")


def interleaved_table(page: str) -> TextTable:
    """The cells that were held to be illegible."""
    ours = _figures(page)
    rows = [
        (what, f"about {paper:.2f}", f"{ours[what]:.2f}", f"{ours[what] - paper:+.2f}") for what, paper in _INTERLEAVED
    ]
    return TextTable(
        ("", "paper", "ours", "difference"),
        rows,
        "Table 1: two rows printed over each other",
        "The page of the tables has dashes there. The digits of both rows can be told apart, not all of them with certainty.",
    )


def learners_tables(ruleset: Ruleset, games: int) -> list[TextTable]:
    """Models of the opponent: an attack that learns a placement, a placement that learns an attack."""
    rounds, attack = 4, []
    for placement in ("r", "ed1", "ed2", "pk2x10", "ed1sp"):
        fleets = draw_fleets(ruleset, placement, games, 0, 7), draw_fleets(ruleset, "r", games, 0, 8)
        plain = play_fleets(ruleset, (fleets[1], fleets[0]), 9 << 20)
        first = float((plain.winners == 0).mean())
        learned = learning_attack(ruleset, placement, games, rounds, 11)
        attack.append((placement, _share(first * games, games), *(_share(wins * games, games) for wins in learned)))
    placing = learning_placement(ruleset, games, rounds, 50, 13)
    placed = [(f"{k}", _share(wins * games, games), f"{late:.2f}") for k, (wins, late) in enumerate(placing, 1)]
    return [
        TextTable(
            ("placement of the opponent", "`mp:x=70` instead", *(f"after {k * games:,} games" for k in range(rounds))),
            attack,
            "An attack that learns a placement",
            "Wins in percent of an attack that searches where the opponent's ships stood most often in earlier games, and shoots around hits, "
            f"as the first player against `mp:x=70`; {games:,} games a cell. Before it has seen any game it searches at random but always in the "
            "same order. A fleet is known at a game's end.",
        ),
        TextTable(
            ("round", "wins", "mean number of the shot that hits"),
            placed,
            "A placement that learns an attack",
            "Wins in percent, as the first player, of a placement that takes of 50 random fleets the one whose cells the opponent shot at latest "
            f"in earlier games; both sides shoot as `mp:x=70`, the opponent places at random; {games:,} games a round, in the first of which "
            "nothing is known.",
        ),
    ]


_BOUNDS = """## How many shots an optimal attack needs

Audinot, Bonnet and Viennot, "Optimal Strategies against a Random Opponent in Battleship" (Game Programming Workshop 2014), compute the
least mean number of shots against uniform random fleets exactly on small boards, where greedy play is not always optimal, and bound it on
10x10. Their bounds were not at hand as figures. From below: no attack needs fewer shots than cells, 17, and none can tell the
{fleets:,} fleets (like ships alike: half of {ordered:,}) apart with fewer than {entropy:.1f} answers of the at most {answers} kinds that a shot may
get; the two together, cell by cell, give 24.09 (proved by the program mayflower, github.com/Canon-Regularis/mayflower). From above:
shooting where most placements lie, with exact counting, needs 44.37 (44.25 to 44.49, 20,000 games of the same program); on small boards
it is at most 0.16 shots from the optimum there. Between 24.09 and 44.37 nothing is known to us."""


def write_page(output: Path, command: str, games: int, tell: Callable[[str], None]) -> None:
    """Plays and writes the page. The page of the tables must lie in the repository."""
    begun, ruleset = perf_counter(), game("battleship").ruleset()
    page = TABLES_PAGE.read_text(encoding="utf-8")
    yes, no = counts(page)
    tell("readings")
    readings = orders_table(ruleset, games)
    tell("learners")
    learners = learners_tables(ruleset, games)
    ordered = 30_093_975_536
    bounds = _BOUNDS.format(
        fleets=ordered // 2, ordered=ordered, entropy=math.log(ordered / 2) / math.log(7), answers=7
    )
    parts = [_opening(command, perf_counter() - begun, (yes, no), readings, learners).markdown(), readings.markdown()]
    parts += [interleaved_table(page).markdown(), *(t.markdown() for t in learners), bounds]
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def _opening(
    command: str, seconds: float, agrees: tuple[int, int], readings: TextTable, learners: list[TextTable]
) -> Opening:
    found = {row[0]: row[2:] for row in readings.rows}
    last = {row[0]: (row[1], row[-1]) for row in learners[0].rows}
    verdict = (
        ("Table 1: attack strategies", f"{agrees[0]} figures of [the tables](battleship.md) agree, {agrees[1]} do not; the order of the strategies is "
         "the paper's", "CB and MP hit 0.4 points less often than printed; the checkerboard's order is in a figure that is lost. "
         "`largest_first=true` brings 0.15 of them"),
        ("Table 2: 2x10 is the best rectangle", f"4x6 is; 2x10 against 4x6: {', '.join(found['pk2x10 against pk4x6'])} by reading",
         "how a fleet is drawn does not turn it" if all(float(c.split()[0]) < 51 for c in found["pk2x10 against pk4x6"]) else
         "a reading turns it"),
        ("Table 3: R, PK2x10, ED2, ED1, from the worst to the best", f"PK2x10 against R: {', '.join(found['pk2x10 against r'])} by reading; the others as printed",
         "the text calls R and PK2x10 nearly equal; in the mean over all four, ours stand the other way round (45.75 and 47.17 as the first)"),
        ("Table 4: under MP70 of the SP placements ED1SP alone wins", f"RSP {', '.join(found['rsp against r'])}; ED2SP {', '.join(found['ed2sp against ed2'])}; "
         f"PKSP {', '.join(found['pksp2x10 against pk2x10'])}; ED1SP {', '.join(found['ed1sp against ed1'])}",
         "ED1SP gains most, as there; that the others lose does not come out by any reading of the drawing. Counting placements in the target "
         "phase too was tried in another program: RSP 51.3, ED1SP 54.0, ED2SP 50.6, PKSP 50.2, each ± 0.9; nor does `largest_first` turn it"),
        ("Table 5: under RNB all SP placements win", "they do, but PKSP as the second player, who is behind by the move", "comes out"),
        ("Future work: models of the opponent", f"an attack that learns ED1 wins {last['ed1'][1]} of its games against MP70, where MP70 itself wins {last['ed1'][0]}; "
         f"a placement that learns MP70 wins {learners[1].rows[-1][1]}, at random {learners[1].rows[0][1]}", "the paper has no figure"),
        ("Future work: counting faster", "all 30,093,975,536 fleets are counted exactly at every shot (`mp_exact`)", "done: `asobiba match battleship mp_exact mp`"),
    )  # fmt: skip
    return Opening("Battleship: readings, and models of the opponent", _SOURCE, command, seconds, verdict, _WORDS)
