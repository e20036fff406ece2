"""The search module of tactics with short playouts and the learned evaluation in the place of games to the end.

A simulation plays on through the attacks of this turn and of the other side's next one, as `search_rules`' playouts do, and
then asks the network. All else is `search_rules`'.
"""

from __future__ import annotations

import numpy as np

from asobiba.baselines.search.rows import NARROW, WIDTH
from asobiba.baselines.tactics import search_rules
from asobiba.baselines.tactics.evaluation import INPUTS, SCALE, count_inputs, score
from asobiba.baselines.tactics.playouts import draw_order, value_for
from asobiba.baselines.tactics.search_rules import game_keys, generate, load, max_moves, play, prior, repetition
from asobiba.core import GameParameterError, kernel
from asobiba.core.elementary import exp
from asobiba.core.record import record_dtype
from asobiba.envs.tactics.battle import end_turn, perform

__all__ = [
    "game_keys",
    "generate",
    "load",
    "max_moves",
    "play",
    "playout",
    "position_fields",
    "prior",
    "repetition",
    "settings_record",
]


def position_fields(ruleset):
    """Those of every search of tactics, and room for the network's sums."""
    return [
        *search_rules.position_fields(ruleset),
        ("counts", np.int64, (INPUTS,)),
        ("threat", np.int64, (3, ruleset.params["setup_moved"].shape[-1])),
        ("sums", np.int32, (WIDTH,)),
        ("narrow", np.int32, (NARROW,)),
    ]


def settings_record(ruleset, turns: int = 2, **settings) -> np.ndarray:
    """`search_rules.settings_record`, and the turns whose attacks are played before the network is asked.

    Raises:
        GameParameterError: for numbers out of range.
    """
    if not 0 <= turns <= 20:
        raise GameParameterError(f"turns is from 0 to 20, not {turns!r}")
    rest = search_rules.settings_record(ruleset, **settings)
    record = np.zeros(1, record_dtype([("turns", np.int64), *search_rules.SETTINGS]))
    record["turns"] = turns
    for name, *_ in search_rules.SETTINGS:
        record[name] = rest[name]
    return record


@kernel
def playout(node, p, generator, settings, root_side):
    """The network's value for the side to move, from -1 to 1, after the attacks of this turn and of the next ones."""
    of = np.int64(node.side)
    side, result, turns = of, 0, 0
    while result == 0 and turns < settings.turns:
        mover = side
        unit, goal, target = draw_order(node, p, side, generator, 1.0, 0.0)
        if target < 0:  # the units that cannot attack stay
            result = end_turn(node, p)
            side = 1 - side
        else:
            result, side = perform(node, p, side, unit, goal, target)
        if side != mover:
            turns += 1
    if result != 0:
        return value_for(result, of)
    count_inputs(node, p, side, node.counts, node.threat)
    value = 2.0 / (1.0 + exp(-score(node.counts, node.sums, node.narrow) / SCALE)) - 1.0
    return value if side == of else -value
