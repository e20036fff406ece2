"""A policy that takes the unit action whose position it values most, by a network that learned from its own games.

It looks at the positions after its own actions (the afterstates) and at no reply, as TD-Gammon's network did. The inputs are
those of `evaluation.py`, and besides, for each type of unit: hit points of units that the other side could kill, of either side,
and what the side to move could still kill in this turn; and the lead, point by point. `temporal_difference.py` makes the weights.

Source: Tesauro, Temporal difference learning and TD-Gammon, Communications of the ACM 38, 1995.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from asobiba.baselines.search.rows import NARROW, STEPS, UNIT, WIDTH, judge, load_rows
from asobiba.baselines.tactics import search_rules
from asobiba.baselines.tactics.evaluation import COUNTED, INPUTS, SCALE, STEP_OF, count_inputs
from asobiba.baselines.tactics.search_rules import generate, load, play
from asobiba.core import Agent, Ruleset, compiled, kernel
from asobiba.core.agents import Thinking
from asobiba.core.record import record_dtype
from asobiba.envs.tactics.battle import total_hp
from asobiba.envs.tactics.units import KINDS

FILE = Path(__file__).parent / "policies" / "td" / "evaluation.npz"
IN_PERIL = INPUTS
"""Where the further inputs begin: own units that could be killed, and the other side's; then what can be killed at once."""
PREY = IN_PERIL + 2 * KINDS
POINTS = PREY + KINDS
ALL_INPUTS = POINTS + 1
WON = np.int64(1) << 40
"""The value of a game that is won; more than any score."""


@kernel
def count_all(s, p, side, counts, threat):
    """Writes the step of each input of a position, `(ALL_INPUTS,)`, for the side to move. `threat`: see `count_inputs`."""
    count_inputs(s, p, side, counts, threat)
    for k in range(IN_PERIL, ALL_INPUTS):
        counts[k] = 0
    for k in range(2):
        owner = side if k == 0 else 1 - side
        for unit in range(s.hp.shape[1]):
            hp, kind = np.int64(s.hp[owner, unit]), np.int64(s.kind[owner, unit])
            if hp > 0 and threat[k, unit] >= hp:
                counts[IN_PERIL + KINDS * k + kind] += hp
            if hp > 0 and k == 1 and threat[2, unit] >= hp:
                counts[PREY + kind] += hp
    for k in range(IN_PERIL, POINTS):
        counts[k] = STEP_OF[min(counts[k], COUNTED - 1)]
    counts[POINTS] = min(max(total_hp(s, side) - total_hp(s, 1 - side) + STEPS // 2, 0), STEPS - 1)


@kernel
def value(node, p, w):
    """The score of a position for its side to move; `w` holds the weights."""
    count_all(node, p, np.int64(node.side), node.counts, node.threat)
    found = judge(node.counts, w.rows, w.first, w.hidden, w.second, w.last, w.bias, node.sums, node.narrow)
    return found * SCALE // UNIT**2


@kernel
def worth(node, child, p, w, move):
    """Plays an action; the score of what it leads to, for the side that plays it."""
    result = play(node, child, p, move)
    if result == 2:
        return np.int64(0)
    if result != 0:
        return result * WON
    score = value(child, p, w)
    return score if child.side == node.side else -score


@compiled()
def choose(views, params, masks, nodes, weights, actions):
    """The action of the greatest worth in each view; the first of equals."""
    p, w, node, child = params[0], weights[0], nodes[0], nodes[1]
    for n in range(actions.shape[0]):
        load(views[n], p, node)
        best = -2 * WON
        for k in range(generate(node, p)):
            found = worth(node, child, p, w, np.int64(node.moves[k]))
            if found > best:
                best, actions[n] = found, node.moves[k]


def new_nodes(ruleset: Ruleset) -> np.ndarray:
    """Two positions, with room for their actions and for the network's sums."""
    actions = search_rules.max_moves(ruleset)
    fields = [
        *search_rules.position_fields(ruleset),
        ("key", np.int64),
        ("side", np.int8),
        ("moves", np.int64, (actions,)),
        ("order", np.int64, (actions,)),
        ("counts", np.int64, (ALL_INPUTS,)),
        ("threat", np.int64, (3, ruleset.params["setup_moved"].shape[-1])),
        ("sums", np.int32, (WIDTH,)),
        ("narrow", np.int32, (NARROW,)),
    ]
    return np.zeros(2, record_dtype(fields))


def weights_record(weights: tuple[Any, ...]) -> np.ndarray:
    """What `load_rows` gives as a record for the kernels."""
    names = ("rows", "first", "hidden", "second", "last")
    fields = [(name, np.int32, array.shape) for name, array in zip(names, weights)]
    record = np.zeros(1, record_dtype([*fields, ("bias", np.int64)]))
    for name, array in zip((*names, "bias"), weights, strict=True):
        record[name] = array
    return record


@cache
def _shipped() -> np.ndarray:
    return weights_record(load_rows(FILE, ALL_INPUTS))


class AfterstateAgent(Agent):
    """Plays the action of the greatest worth.

    Args:
        weights: of `weights_record`; the shipped ones by default.
    """

    def __init__(self, weights: np.ndarray | None = None):
        self.name, self._given = "td", weights

    @property
    def same_in_batches(self) -> bool:
        return True

    def prepare(self, ruleset: Ruleset) -> None:
        self._ruleset, self._nodes, self._states = ruleset, new_nodes(ruleset), ruleset.zeros()
        self._weights = _shipped() if self._given is None else self._given

    def reset(self, ruleset: Ruleset, seat: int, seed: int) -> None:
        self.prepare(ruleset)

    def act(self, view: np.void, legal: np.ndarray) -> int:
        self._states[0] = view
        return int(self.act_batch(self._states, legal[None])[0])

    def act_batch(self, views: np.ndarray, legal: np.ndarray) -> np.ndarray:
        actions = np.zeros(len(views), np.int64)
        choose(views, self._ruleset.params, legal, self._nodes, self._weights, actions)
        return actions

    def thinking(self, ruleset: Ruleset) -> Thinking:
        weights = _shipped() if self._given is None else self._given
        return Thinking(choose, {"nodes": new_nodes(ruleset), "weights": weights})

    def __getstate__(self) -> dict[str, Any]:
        return {"name": self.name, "_given": self._given}
