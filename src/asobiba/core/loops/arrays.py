"""Arrays that the loops read and write, as named tuples: passing one costs as much as passing its arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Games(NamedTuple):
    """The arrays of `n` games. `seats` rows stand in joint games only (where several players act at once).

    Attributes:
        states: `(n,)` records.
        params: `(1,)` records for all games, or `(n,)`, one for each.
        blank: `(1,)` record that every episode starts from.
        actions: `(n, [seats,] ...)`, read for learners, written for agents.
        viewers: `(n,)` int8: the player whose observation is written; -1: the mover's, or that of all who act.
        masks: `(n, [seats,] actions)` int8, of the states before a step; `new_masks`: of those after it (they may be the
            same array).
        observations: `(n, [seats,] size)`; `(n, size)` where there is one learner.
        outcomes: `(n,)` records (`asobiba.core.record.outcome_dtype`): the results of a step.
        finals, final_states: as `observations` and `states`: of the games that ended in this step and began anew.
    """

    states: np.ndarray
    params: np.ndarray
    blank: np.ndarray
    actions: np.ndarray
    viewers: np.ndarray
    masks: np.ndarray
    new_masks: np.ndarray
    observations: np.ndarray
    outcomes: np.ndarray
    finals: np.ndarray
    final_states: np.ndarray


class Table(NamedTuple):
    """Seats and their players.

    Attributes:
        control: `(n,)` records (`asobiba.core.record.CONTROL`): the learner's seat, and the generator of the episodes.
        occupants: `(n, seats)` int8: the compiled agent that plays each seat without a learner.
        views: `(n,)` records for the agents' views.
        memory_0, ...: of each compiled agent an array `(n * seats,)` of memory records; the record of seat `k` in game `i`
            stands at `i * seats + k`. `NOTHING` where there are fewer agents.
        initial_0, ...: of each compiled agent a `(1,)` record: the memory it begins a game with.

    The agents' arrays are no tuples because Numba's threads take no tuples in tuples.
    """

    control: np.ndarray
    occupants: np.ndarray
    views: np.ndarray
    memory_0: np.ndarray
    memory_1: np.ndarray
    memory_2: np.ndarray
    memory_3: np.ndarray
    initial_0: np.ndarray
    initial_1: np.ndarray
    initial_2: np.ndarray
    initial_3: np.ndarray


MOST_POLICIES = sum(name.startswith("memory_") for name in Table._fields)
"""Number of different compiled agents that may play in one module."""
NOTHING = np.zeros(1)
NO_AGENTS = Table(*[NOTHING] * len(Table._fields))
"""The table of games that only learners play."""
