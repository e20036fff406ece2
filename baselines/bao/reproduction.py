"""Works out the figures of the documentation page on Bao and writes them."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from asobiba.baselines.bao.boards import board_rank, tables
from asobiba.baselines.bao.endgame import build, database_facts, high_of, low_of, stored_database
from asobiba.baselines.bao.frontier import explore
from asobiba.baselines.bao.graph import Graph
from asobiba.baselines.bao.proof import prove
from asobiba.baselines.bao.reachable import reachable_boards
from asobiba.baselines.bao.report import (
    ENDLESS,
    checked_conditions,
    conditions_table,
    letters,
    loops_table,
    repetitions_table,
    replay,
    section,
    solution_table,
)
from asobiba.envs.bao import GAME
from asobiba.envs.bao.layout import pack, starting_counts
from asobiba.pages import TextTable, verdict_table

_RINGS = {3: 12, 4: 16, 5: 14, 6: 18, 7: 14, 8: 20, 9: 14, 10: 15, 12: 14}
"""Most seeds to which each ring's loops are enumerated."""

_INTRODUCTION = """# Bao: endless moves, repetitions, exact values

Written by `asobiba bao reproduce`; every figure here was computed by that command. The game and the questions are those of
Yasuhiro Inahata and Kazuko Takahashi, "Analysis of Cyclic Behavior of Board Game BAO and Its Verification Using Model
Checker" (in Japanese), Kwansei Gakuin University.

Sowing is injective, so that an endless move returns to the board and hole it began with; see `asobiba.envs.bao.rules`. A
margin is the seeds of the first player less those of the second at the end.
"""

_WORDS = """Loop, period, shift, the patterns and LOOP are explained on [the page of claims](bao-claims.md). LOOP speaks of an even
or odd number of seeds on the whole board. With rows of odd length (rings of 6 or 10 holes) those clauses contradict the
others; they are read here without the number of seeds, which changes nothing for rows of even length.
"""


def _conditions_summary(found) -> str:
    lines = []
    for ring in sorted({c.ring for c in found}):
        mine = [c for c in found if c.ring == ring]
        longer = sum(c.longer for c in mine)
        complete = "yes" if all(c.patterns_complete for c in mine) else "no"
        text = f"* ring {ring}, up to {max(c.seeds for c in mine)} seeds: period 0 only by the patterns: {complete}; "
        if ring % 2 == 0:
            text += f"LOOP met by {sum(c.longer_meeting for c in mine)} of {longer} longer loops; "
            text += (
                f"{sum(c.condition_loops for c in mine)} of {sum(c.condition_boards for c in mine)} LOOP boards loop; "
            )
        lines.append(text + f"period = shift + {ring + 1}k for {sum(c.shift_rule for c in mine)} of {longer}.")
    return "\n".join(lines) + "\n"


def _proof_rows(holes: int, seeds: int, start: str) -> tuple[list[tuple[str, ...]], dict[str, int | None]]:
    rows: list[tuple[str, ...]] = []
    values: dict[str, int | None] = {}
    counts = starting_counts(holes, start)
    assert counts is not None
    for endless in ENDLESS:
        database = stored_database(holes, seeds, endless)
        bounds = prove(holes, counts, database, seeds, endless, max_seconds=1800)
        values[endless] = bounds.low if bounds.exact else None
        steps = [f"depth {line['depth']}: {line['low']:+d} to {line['high']:+d}" for line in bounds.log]
        shown = [now for now, before in zip(steps, ["", *steps]) if now.split(": ")[1] != before.partition(": ")[2]]
        rows.append(
            (
                endless, f"{bounds.low:+d}", f"{bounds.high:+d}", "yes" if bounds.exact else "no", f"{bounds.nodes:,}",
                f"{bounds.seconds:.1f}", "; ".join(shown[-4:]),
            )
        )  # fmt: skip
    return rows, values


_PROOF_COLUMNS = ("endless moves", "lower bound", "upper bound", "meet", "nodes", "seconds", "last steps")


def _six_by_two(report: Callable[[str], None]) -> str:
    counts = starting_counts(6, "alternate")
    assert counts is not None
    report("6x2: reachable boards")
    wanted, reached = reachable_boards(6, counts)
    enumerated, rows = {}, []
    for endless in ENDLESS:
        report(f"6x2: values, endless moves {endless}")
        begin = time.perf_counter()
        database = build(6, sum(counts), endless, wanted=wanted)
        at = board_rank(tables(6, endless)[0], *pack(counts))
        low, high = int(low_of(database, at)), int(high_of(database, at))
        enumerated[endless] = low if low == high else None
        rows.append(
            (endless, f"{low:+d}", f"{high:+d}", f"{len(database.open_at):,}", f"{time.perf_counter() - begin:.0f}")
        )
        del database
    report("6x2: search")
    searched, values = _proof_rows(6, 8, "alternate")
    agree = "agree" if enumerated == values else "DISAGREE"
    columns = ("endless moves", "lower bound", "upper bound", "boards open to repetition", "seconds")
    return "\n".join(
        [
            "## 6x2\n",
            f"{reached:,} boards can be reached (the mover's row first). Enumeration and search {agree}.\n",
            section(TextTable(columns, rows, "6x2 by enumeration of every reachable board")),
            section(TextTable(_PROOF_COLUMNS, searched, "6x2 by search, with all boards of at most 8 seeds")),
        ]
    )


def _verdict(graph: Graph) -> TextTable:
    loops, repetitions = graph.loops(), len(graph.repetitions())
    earliest = min(len(each.line) for each in loops)
    rows = [
        (
            "4x2: 12 endless moves, found one by one by a model checker",
            f"{len(loops)} loops, by enumeration of every reachable position",
            "those of the paper are among them; the table of loops marks the others",
        ),
        (
            "4x2: the earliest endless move comes at the 8th move",
            f"at move {earliest}; the table of loops holds the lines, each replayed in the environment",
            "the model checker searches depth-first, and shows the first that it meets",
        ),
        (
            "4x2: five repetitions",
            f"{repetitions} strongly connected components",
            "comes out" if repetitions == 5 else "",
        ),
        (
            "LOOP is necessary and sufficient for n < 4, necessary beyond",
            "the table of conditions: *necessary* if every loop has a board that meets LOOP, *sufficient* if every board "
            "that meets it loops",
            "[the page of claims](bao-claims.md) judges it by the seeds that the start has; the paper itself shows a loop "
            "that does not meet it",
        ),
        (
            "8x2: one repetition, at plies 47 and 62",
            "a position is the board and the player to move",
            "an odd number of plies apart the player differs: the board alone came again",
        ),
    ]
    return verdict_table(rows)


def write(output: Path, seeds: int, positions: int, six: bool, report: Callable[[str], None]) -> None:
    """Works everything out and writes the Markdown page."""
    report("4x2")
    graph = Graph(4)
    loops = graph.loops()
    ruleset = GAME.ruleset(holes=4)
    assert all(replay(ruleset, each.line) for each in loops)
    moves = f"{len(graph):,} positions, {len(graph.sources):,} moves, {len(graph.endless_moves())} of them endless"
    parts = [_INTRODUCTION, _verdict(graph).markdown() + "\n", _WORDS, "## 4x2\n", f"{moves}.\n"]
    parts += [section(table(graph)) for table in (loops_table, repetitions_table, solution_table)]
    report("conditions")
    found = checked_conditions(_RINGS)
    parts += ["## The paper's conditions\n", _conditions_summary(found), section(conditions_table(found))]
    if six:
        parts.append(_six_by_two(report))
    report("8x2: endgame databases")
    parts.append("## 8x2\n")
    for endless in ENDLESS:
        stored_database(8, seeds, endless)
    facts = database_facts(8, seeds, "illegal")
    parts.append(
        f"Endgame database used here: all {facts['boards']:,} boards of at most {seeds} seeds, {facts['open']:,} of them open to "
        f"repetition; built in {facts['seconds']} s with {facts['threads']} threads.\n"
    )
    for start in ("alternate",):
        report(f"8x2: value of the {start} start")
        rows, _ = _proof_rows(8, seeds, start)
        parts.append(section(TextTable(_PROOF_COLUMNS, rows, f"8x2 by search: the {start} start")))
    report("8x2: first plies")
    first = explore(8, "alternate", positions)
    assert first.endless is not None
    assert replay(GAME.ruleset(), first.endless)
    parts.append(f"All {sum(first.levels):,} positions within {first.depth} plies of the start were looked at.\n")
    parts.append(f"* Shortest endless move: move {len(first.endless)}, `{letters(first.endless)}`.")
    if first.repetition and first.repetition_plies:
        begin, again = first.repetition_plies
        kind = "Shortest repetition" if first.repetition_shortest else "A repetition (perhaps not the shortest)"
        parts.append(
            f"* {kind}: the position after move {begin} stands again after move {again}, `{letters(first.repetition)}`."
        )
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text("\n".join(parts).rstrip() + "\n")
