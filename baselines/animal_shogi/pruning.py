"""Effect of each step of pruning: the same positions searched to the same depth with one step more each time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from asobiba.baselines.search.alpha_beta import Searcher
from asobiba.core import Ruleset
from asobiba.envs.animal_shogi.notation import text_to_state

POSITIONS = (
    "gle/1c1/1C1/ELG b -",
    "g1e/1l1/3/ELG b Cc",
    "gle/3/1L1/E1G w Cc",
    "1le/g2/1CG/EL1 w c",
    "e1l/1g1/1L1/E1G b Cc",
)
"""The start and positions from the early and the middle game."""

_BARE = {
    "table": "off", "pvs": False, "ordering": False, "killers": False, "history": False, "quiescence": 0,
    "iterative": False, "fold_repetition": False,
}  # fmt: skip
_STEPS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("minimax (stops at decided positions)", {"alpha_beta": False}),
    ("alpha-beta", {"alpha_beta": True}),
    ("+ captures and tries first", {"ordering": True}),
    ("+ killer moves", {"killers": True}),
    ("+ history", {"history": True}),
    ("+ principal variation search", {"pvs": True}),
    ("+ iterative deepening, transposition table", {"iterative": True, "table": "equal"}),
    ("+ deeper table scores, repetition at once", {"table": "deeper", "fold_repetition": True}),
    ("+ forward pruning at +-1500", {"lower": -1500, "upper": 1500}),
    ("+ forward pruning at +-700", {"lower": -700, "upper": 700}),
    ("+ forward pruning at +-300", {"lower": -300, "upper": 300}),
)


@dataclass
class Row:
    """One step: positions visited and seconds over all positions, and how many values equal minimax's."""

    name: str
    nodes: int
    seconds: float
    equal: int
    same_move_value: int
    positions: int


def steps(ruleset: Ruleset, depth: int):
    """Yields a `Row` for each step; the settings add up."""
    states = [text_to_state(ruleset, text) for text in POSITIONS]
    settings: dict[str, Any] = dict(_BARE)
    exact: list[int] = []
    values: list[dict[int, int]] = []
    for name, change in _STEPS:
        settings.update(change)
        searcher = Searcher(ruleset, **settings)
        searcher.search(states[0], depth=2)
        searcher.clear()
        nodes, seconds, equal, same = 0, 0.0, 0, 0
        for k, state in enumerate(states):
            searcher.clear()
            found = searcher.search(state, depth=depth)
            nodes, seconds = nodes + found.nodes, seconds + found.seconds
            if len(exact) <= k:
                exact.append(found.score)
                values.append(searcher.values(state, depth))
            equal += found.score == exact[k]
            same += values[k][found.action] == exact[k]
        yield Row(name, nodes, seconds, equal, same, len(states))


def step_count() -> int:
    """Number of rows that `steps` yields."""
    return len(_STEPS)
