"""Perfect play from the table of exact values: agents, and the share of exact values that an agent keeps.

`perfect` plays the fastest win, else a draw, else the longest resistance. `perfect_graded` draws moves with weights
from their values, so that a leaderboard has a scale below perfect play.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np

from asobiba.baselines.animal_shogi.solver.table import ValueTable
from asobiba.core import Agent, GameParameterError, Ruleset


def utilities(outcomes: np.ndarray, plies: np.ndarray) -> np.ndarray:
    """Moves on one scale, from 1 (wins now) to -1 (loses now); 0 is a draw, -inf an illegal move.

    A win in d plies counts 1/2 + 1/(2 d), a loss in d plies the negative of that: a sooner win is better, a later loss
    is better, and every win is better than every draw.

    Args:
        outcomes, plies: as `ValueTable.move_values` gives them, of any shape.
    """
    distance = np.maximum(plies, 1)
    result = outcomes * (0.5 + 0.5 / distance)
    return np.where(outcomes == -2, -np.inf, result)


class TableAgent(Agent):
    """Shared by the agents that play from the table.

    Args:
        table: the file of the table; the usual one by default.
    """

    def __init__(self, table: str | os.PathLike[str] | None = None):
        self.table_file = table

    def reset(self, ruleset: Ruleset, seat: int, seed: int) -> None:
        """Opens the table. Raises `TableMissing` where there is none."""
        self.table = ValueTable.open(self.table_file)
        self._generator = np.random.Generator(np.random.Philox(seed))

    def __getstate__(self):
        return {key: value for key, value in self.__dict__.items() if key != "table"}

    def __setstate__(self, state):
        self.__dict__.update(state)
        if "_generator" in state:
            self.table = ValueTable.open(self.table_file)

    def move_utilities(self, views: np.ndarray, legal: np.ndarray) -> np.ndarray:
        """`utilities` of every action, `(n, actions)`, for views `(n,)` and masks `(n, actions)`."""
        return utilities(*self.table.move_values(views["position"], legal))


class PerfectAgent(TableAgent):
    """Plays the fastest win, else a draw, else the longest resistance; of equal moves the first action."""

    name = "perfect"

    def act(self, view: np.void, legal: np.ndarray) -> int:
        return int(self.act_batch(view.reshape(1), legal[None])[0])

    def act_batch(self, views: np.ndarray, legal: np.ndarray) -> np.ndarray:
        return self.move_utilities(views, legal).argmax(1)


class GradedAgent(TableAgent):
    """Draws each move with a weight of exp(strength * u), where u is its value on the scale of `utilities`.

    Strength 0 plays uniformly. A win and a draw differ by 0.5 to 1 on that scale, so that strength 10 prefers a win to a
    draw 150 to 22,000 times over, and one far win to another hardly at all; the limit is perfect play.

    Args:
        strength: 0 or more.
        table: the file of the table; the usual one by default.
    """

    name = "perfect_graded"

    def __init__(self, strength: float = 5.0, table: str | os.PathLike[str] | None = None):
        super().__init__(table)
        if isinstance(strength, bool) or not isinstance(strength, (int, float)) or not 0 <= strength < 1e6:
            raise GameParameterError(f"strength is a number of 0 or more (0 plays at random), not {strength!r}")
        self.strength = float(strength)

    def probabilities(self, views: np.ndarray, legal: np.ndarray) -> np.ndarray:
        """The probability of every action, `(n, actions)`."""
        scores = self.move_utilities(views, legal)
        allowed = scores > -np.inf
        weights = allowed * np.exp(self.strength * np.where(allowed, scores - scores.max(1, keepdims=True), 0))
        return weights / weights.sum(1, keepdims=True)

    def act(self, view: np.void, legal: np.ndarray) -> int:
        return int(self._generator.choice(len(legal), p=self.probabilities(view.reshape(1), legal[None])[0]))


@dataclass(frozen=True)
class Accuracy:
    """Share of the value of its positions that a player keeps.

    Args:
        decisions: positions in which he moved.
        kept: of these, how often his move kept the value (a win won, a draw at least drawn; every move keeps a loss).
        choices: decisions in which some legal moves keep the value and others do not.
        kept_choices: of these, how often his move kept it.
        fastest: decisions in which his move was among the best counting plies too.
    """

    decisions: int = 0
    kept: int = 0
    choices: int = 0
    kept_choices: int = 0
    fastest: int = 0

    @property
    def share(self) -> float:
        """Share of the decisions that kept the value (not-a-number without any)."""
        return self.kept / self.decisions if self.decisions else float("nan")

    def __add__(self, other: Accuracy) -> Accuracy:
        return Accuracy(*(getattr(self, f) + getattr(other, f) for f in self.__dataclass_fields__))


def judge_decisions(table: ValueTable, positions: np.ndarray, legal: np.ndarray, actions: np.ndarray) -> Accuracy:
    """The accuracy of any player's decisions.

    Args:
        table: the table of exact values.
        positions: `(n,)` int64, the field `position` of the states.
        legal: `(n, actions)` masks.
        actions: `(n,)` the actions played.

    Raises:
        ValueError: if an action is not legal in its position.
    """
    if len(positions) == 0:
        return Accuracy()
    actions = np.asarray(actions)
    rows = np.arange(len(actions))
    if not np.all(np.asarray(legal)[rows, actions]):
        wrong = int(np.flatnonzero(np.asarray(legal)[rows, actions] == 0)[0])
        raise ValueError(f"action {actions[wrong]} of decision {wrong} is not legal in its position")
    outcomes, plies = table.move_values(positions, legal)
    best = outcomes.max(1)
    kept = outcomes[rows, actions] == best
    choice = ((outcomes != best[:, None]) & (outcomes != -2)).any(1)
    scores = utilities(outcomes, plies)
    fastest = scores[rows, actions] == scores.max(1)
    return Accuracy(len(actions), int(kept.sum()), int(choice.sum()), int((kept & choice).sum()), int(fastest.sum()))
