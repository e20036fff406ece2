"""Exact values of a position and of its moves, for people to read."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from asobiba.baselines.animal_shogi.perfect import utilities
from asobiba.baselines.animal_shogi.solver.table import ValueTable
from asobiba.core import Ruleset
from asobiba.core.states import action_mask, is_over, step


def value_text(outcome: int, plies: int) -> str:
    """A value for the player to move: `won in 3 plies`, `drawn`, `lost in 78 plies`."""
    if outcome == 0:
        return "drawn"
    return f"{'won' if outcome > 0 else 'lost'} in {plies} {'ply' if plies == 1 else 'plies'}"


@dataclass(frozen=True)
class MoveValue:
    """A legal move and its exact value for the mover; plies count this move too, and are -1 in a draw."""

    action: int
    name: str
    japanese: str
    usi: str
    outcome: int
    plies: int

    @property
    def text(self) -> str:
        return value_text(self.outcome, self.plies)


@dataclass(frozen=True)
class Analysis:
    """The exact value of a position for the player to move, and its moves, best first."""

    outcome: int
    plies: int
    moves: tuple[MoveValue, ...]

    @property
    def text(self) -> str:
        return value_text(self.outcome, self.plies)


def analyse_position(table: ValueTable, ruleset: Ruleset, state: np.void) -> Analysis:
    """The value of a state and of all its legal moves. A finished game has no moves; its value is its result.

    Args:
        table: the table of exact values.
        ruleset: animal shogi.
        state: any state of it.
    """
    if is_over(state):
        return Analysis(int(np.sign(state["rewards"][int(state["to_move"])])), 0, ())
    notation = ruleset.notation
    positions = np.array([state["position"]], np.int64)
    mask = action_mask(ruleset, state)
    outcomes, plies = table.values(positions)
    after, distances = table.move_values(positions, mask[None])
    order = np.argsort(-utilities(after[0], distances[0]), kind="stable")[: int(mask.sum())]
    moves = tuple(
        MoveValue(
            int(a),
            notation.action_to_text(ruleset, state, int(a)),
            notation.action_to_japanese(ruleset, state, int(a)),
            notation.action_to_usi(ruleset, state, int(a)),
            int(after[0, a]),
            int(distances[0, a]),
        )
        for a in order
    )
    return Analysis(int(outcomes[0]), int(plies[0]), moves)


def perfect_line(table: ValueTable, ruleset: Ruleset, state: np.void, plies: int) -> list[str]:
    """The moves of perfect play from a state, as text: at most `plies`, fewer if the game ends."""
    line: list[str] = []
    while len(line) < plies and not is_over(state):
        best = analyse_position(table, ruleset, state).moves[0]
        line.append(best.name)
        state = step(ruleset, state, best.action)
    return line
