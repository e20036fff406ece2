"""The published analysis of animal shogi beside the solver's counts, line by line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from asobiba.baselines.animal_shogi.solver.index import WHOLE_GAME, all_numbers, open_numbers
from asobiba.baselines.animal_shogi.solver.table import ValueTable
from asobiba.baselines.animal_shogi.solver.unfolded import unfolded_distances
from asobiba.core import Ruleset
from asobiba.core.states import action_mask, new_state
from asobiba.pages import TextTable, verdict_table

TANAKA = (
    "Tetsuro Tanaka, \"An analysis of a board game 'Doubutsu Shogi'\" (in Japanese), IPSJ SIG Notes 2009-GI-22 No. 3, "
    "pp. 1-8"
)
PROGRAMS = "https://github.com/tanakat01/dobutsu"
CLAUSECKER = {3: "13,049,909", 5: "8,701,879"}
"""Positions by plies to the end that the generator of https://github.com/clausecker/dobutsu counts."""
OPENINGS = {"C3 giraffe": ("C4C3", -78), "C3 lion": ("B4C3", -78), "A3 lion": ("B4A3", -78), "B2 chick": ("B3B2", -76)}
"""The first moves, as text of the notation, and the published value: lost in so many plies."""


@dataclass(frozen=True)
class Line:
    """One published figure and ours."""

    name: str
    published: str
    ours: str
    remark: str = ""

    @property
    def agrees(self) -> bool:
        """Whether both are the same text."""
        return self.published == self.ours


def measure(table: ValueTable, ruleset: Ruleset) -> dict[str, Any]:
    """Figures that the comparison takes from the table itself, for JSON: values of the start and its moves, and counts.

    Args:
        table: the solved game.
        ruleset: animal shogi.
    """
    start = new_state(ruleset, 0)
    outcomes, plies = table.values(start["position"].reshape(1))
    after, distance = table.move_values(start["position"].reshape(1), action_mask(ruleset, start)[None])
    first = {}
    for name, (move, _) in OPENINGS.items():
        action = ruleset.notation.text_to_action(ruleset, start, move)
        # The published value of a move counts from the start, the move included.
        first[name] = _value(int(after[0, action]), int(distance[0, action]))
    return {
        "start": _value(int(outcomes[0]), int(plies[0])),
        "first": first,
        "folded": table.distances().tolist(),
        "unfolded": unfolded_distances(table).tolist(),
    }


def comparison(counted: Mapping[str, Any], measured: Mapping[str, Any]) -> list[Line]:
    """Every published figure beside ours.

    Args:
        counted: what `solve.solve_game` counted.
        measured: what `measure` found in the table.
    """
    of = counted.__getitem__
    mates = counted["mates"]
    by_plies = counted["by_plies"]
    folded, unfolded = measured["folded"], measured["unfolded"]
    lines = [
        Line("reachable positions", "246,803,167", _n(of("reachable"))),
        Line("of these not over", "99,485,568", _n(of("going_on"))),
        Line("won for the player to move", "56,474,473", _n(of("won"))),
        Line("lost", "40,328,395", _n(of("lost"))),
        Line("drawn", "2,682,700", _n(of("drawn"))),
        Line("the start, in plies", "lost in 78", measured["start"]),
    ]
    for name, (_, value) in OPENINGS.items():
        lines.append(Line(f"first move {name}", f"lost in {-value}", measured["first"][name]))
    return [
        *lines,
        Line("longest win, in plies", "173", str(len(by_plies) - 1)),
        Line(
            "positions with the longest win",
            "14",
            _n(int(folded[len(by_plies) - 1])),
            f"all legal positions, as in the table of clausecker/dobutsu; {by_plies[-1]} can be reached from the start",
        ),
        *(
            Line(
                f"clausecker/dobutsu: positions won in {plies}",
                figure,
                _n(int(unfolded[plies])),
                f"all legal positions, mirror images with both lions on the middle file counted as two; "
                f"{_n(int(folded[plies]))} with them folded",
            )
            for plies, figure in CLAUSECKER.items()
        ),
        Line("mean number of moves", "9.435", f"{of('branching'):.3f}", f"{_n(of('moves'))} moves in all"),
        Line("mean number of moves where won", "10.63", f"{of('branching_won'):.2f}"),
        Line("mean number of moves where drawn", "8.82", f"{of('branching_drawn'):.2f}"),
        Line("mean number of moves where lost", "7.81", f"{of('branching_lost'):.2f}"),
        Line("most moves", "38", str(of("most_moves"))),
        Line("positions with the most moves", "34", _n(of("positions_with_most_moves"))),
        Line("of these won", "34", _n(of("won_with_most_moves"))),
        Line("zugzwang (who is to move loses)", "21,839", _n(of("zugzwang")), "published as a lower bound"),
        Line("of these symmetric", "71", _n(of("zugzwang_symmetric"))),
        Line(
            "only a chick dropped on the far rank keeps the value",
            "68",
            _n(of("only_drops_won") + of("only_drops_drawn")),
            f"{of('only_drops_won')} won, {of('only_drops_drawn')} drawn; "
            f"in {of('only_drop_won') + of('only_drop_drawn')} of them a single such drop does",
        ),
        Line("mate problems", "17,213,997", _n(sum(mates))),
        Line("longest mate problem, in plies", "23", str(len(mates) - 1)),
    ]


def _n(number: int) -> str:
    return f"{number:,}"


def _value(outcome: int, plies: int) -> str:
    return "drawn" if outcome == 0 else f"{'won' if outcome > 0 else 'lost'} in {plies}"


def _verdict(lines: Sequence[Line]) -> TextTable:
    """The paper's main claims, of the lines that hold their figures."""
    by_name = {line.name: line for line in lines}
    claims = {
        "The second player wins; the first can hold out for 78 plies": ("the start, in plies",),
        "So many positions can be reached, and so many of them are not over": (
            "reachable positions",
            "of these not over",
        ),
        "Of those, so many are won for the player to move, lost, drawn": (
            "won for the player to move",
            "lost",
            "drawn",
        ),
        "The longest win takes 173 plies": ("longest win, in plies",),
    }
    rows = []
    for claim, names in claims.items():
        found = [by_name[name] for name in names if name in by_name]
        if not found:
            continue
        equal = all(line.agrees for line in found)
        rows.append((claim, ", ".join(line.ours for line in found), "comes out" if equal else "differs"))
    agreed = sum(line.agrees for line in lines)
    rows.append(
        ("All figures below", f"{agreed} of {len(lines)} are equal", "comes out" if agreed == len(lines) else "")
    )
    return verdict_table(rows)


def as_markdown(counted: Mapping[str, Any], measured: Mapping[str, Any]) -> str:
    """The comparison as a page; the arguments are those of `comparison`."""
    lines = comparison(counted, measured)
    rows = [f"| {x.name} | {x.published} | {x.ours} | {'yes' if x.agrees else 'no'} | {x.remark} |" for x in lines]
    agreed = sum(x.agrees for x in lines)
    table = counted["table"]
    return "\n".join(
        [
            "# Animal shogi: the published analysis reproduced",
            "",
            "Written by `asobiba reproduce animal_shogi` from the table that `asobiba solve animal_shogi` makes.",
            f"Published: {TANAKA}.",
            "",
            "Conventions of the analysis: mirror images are one position, and so are positions that differ in the colours",
            "only. The catching of a lion alone ends a game. A position is over where the player to move can catch the",
            "lion, or the opponent's lion stands on its goal rank and he cannot. Plies count up to the move that catches",
            "a lion, or that brings one's own lion safely to its goal rank.",
            "",
            _verdict(lines).markdown(),
            "",
            "## Figures",
            "",
            "| | published | ours | equal | |",
            "|---|---:|---:|---|---|",
            *rows,
            "",
            f"{agreed} of {len(lines)} lines are equal.",
            "",
            f"The positions that are over: the lion can be caught in {_n(counted['lion_can_be_caught'])}, a try has",
            f"succeeded in {_n(counted['try_has_succeeded'])}. Positions whose value does not follow from their moves:",
            f"{_n(counted['contradictions'])} (all {_n(counted['going_on'])} were checked). The numbering has",
            f"{_n(all_numbers(WHOLE_GAME))} numbers, {_n(open_numbers(WHOLE_GAME))} of them for placements of the lions in",
            f"which a game can go on. The table has {_n(table['bytes'])} bytes, SHA-256 of its data",
            f"`{table['sha256']}`.",
            "",
            "The table of clausecker/dobutsu counts all legal positions, reachable or not. It folds a position and its mirror",
            "image by the files of the lions alone, so that two images with both lions on the middle file are two entries;",
            "here they are one. Counted as there, the figures at 3 and 5 plies are equal, and so are the 14 positions of 173.",
            "",
            "Positions by plies to the end (odd: won for the player to move, even: lost):",
            "",
            "```",
            *_columns(counted["by_plies"]),
            "```",
            "",
            "Mate problems by plies. Every move of the winner gives check; after the last one every reply loses at once, to",
            "the catching of the lion or to a try. This reading gives the published number; readings in which only the",
            "catching counts, or in which the threat of a try is a check too, do not. (A note of 2026 beside the author's",
            f"programs, {PROGRAMS}, says that a fault in the mate analysis changes his results; the",
            "corrected ones were not at hand.)",
            "",
            "```",
            *[f"{k:4d} {n:12,}" for k, n in enumerate(counted["mates"]) if n],
            "```",
            "",
        ]
    )


def _columns(numbers: list[int], width: int = 6) -> list[str]:
    cells = [f"{k:4d} {n:10,}" for k, n in enumerate(numbers)]
    return ["  ".join(cells[k : k + width]) for k in range(0, len(cells), width)]
