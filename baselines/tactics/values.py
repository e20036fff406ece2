"""Inputs of the policy `td`: see `asobiba.baselines.search.afterstates`.

The inputs are those of `evaluation.py`, and besides, for each type of unit: hit points of units that the other side could
kill, of either side, and what the side to move could still kill in this turn; and the lead, point by point.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from asobiba.baselines.search.rows import STEPS
from asobiba.baselines.tactics import search_rules
from asobiba.baselines.tactics.evaluation import COUNTED, STEP_OF, count_inputs
from asobiba.baselines.tactics.evaluation import INPUTS as COUNTED_INPUTS
from asobiba.baselines.tactics.search_rules import generate, load, max_moves, play
from asobiba.core import kernel
from asobiba.envs.tactics.battle import total_hp
from asobiba.envs.tactics.units import KINDS

__all__ = ["FILE", "INPUTS", "count", "generate", "load", "max_moves", "play", "position_fields"]

FILE = Path(__file__).parent / "policies" / "td" / "evaluation.npz"
IN_PERIL = COUNTED_INPUTS
"""Where the further inputs begin: own units that could be killed, and the other side's; then what can be killed at once."""
PREY = IN_PERIL + 2 * KINDS
POINTS = PREY + KINDS
INPUTS = POINTS + 1


@kernel
def count_all(s, p, side, counts, threat):
    """Writes the step of each input of a position, `(INPUTS,)`, for the side to move. `threat`: see `count_inputs`."""
    count_inputs(s, p, side, counts, threat)
    for k in range(IN_PERIL, INPUTS):
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
def count(node, p):
    count_all(node, p, np.int64(node.side), node.counts, node.threat)


def position_fields(ruleset):
    """Those of every search of tactics, and room for what is threatened."""
    threat = ("threat", np.int64, (3, ruleset.params["setup_moved"].shape[-1]))
    return [*search_rules.position_fields(ruleset), threat]
