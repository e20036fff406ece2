"""The pages of Bao that a command writes."""

from __future__ import annotations

from asobiba.pages import Page


def _figures() -> list:
    from asobiba.baselines.bao.graph import Graph
    from asobiba.baselines.bao.report import (
        checked_conditions,
        conditions_table,
        loops_table,
        repetitions_table,
        section,
    )
    from asobiba.baselines.bao.report import solution_table as solved

    graph = Graph(4)
    tables = [
        loops_table(graph),
        repetitions_table(graph),
        solved(graph),
        conditions_table(checked_conditions({8: 12})),
    ]
    return [section(table) for table in tables]


def _values() -> list:
    import hashlib

    from asobiba.baselines.bao.endgame import build

    found = []
    for endless in ("illegal", "loses", "draws"):
        database = build(6, 10, endless)
        found.append([endless, hashlib.sha256(database.values.tobytes()).hexdigest(), len(database.open_at)])
    return found


PAGES = (
    Page("docs/reproductions/bao.md", "asobiba reproduce bao", ("asobiba.baselines.bao.reproduction",), probe=_figures),
    Page(
        "docs/reproductions/bao-claims.md",
        "asobiba bao claims --output docs/reproductions/bao-claims.md",
        ("asobiba.baselines.bao.claims",),
    ),
    Page("docs/reproductions/bao-endgame.md", "asobiba bao endgame", ("asobiba.baselines.bao.endgame",), probe=_values),
)
