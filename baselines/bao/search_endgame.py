"""The search rules of Bao with the endgame database: a position that it holds ends the line with its exact result.

Boards of up to eight holes in a row. The database travels in the parameter record: see `with_database`.
"""

from __future__ import annotations

import copy

import numpy as np

from asobiba.baselines.bao import search_rules
from asobiba.baselines.bao.boards import MOST_HOLES, MOST_SEEDS, board_rank, row_sum, tables
from asobiba.baselines.bao.endgame import ALWAYS, NEVER, OPEN, stored_database
from asobiba.baselines.bao.search_rules import (  # noqa: F401 - the shared search takes them from here
    WEIGHTS,
    evaluate,
    game_keys,
    generate,
    load,
    max_moves,
    position_fields,
    repetition,
)
from asobiba.core import Ruleset, kernel
from asobiba.core.record import record_dtype

_plain_play = search_rules.play


@kernel
def known_result(p, s, side):
    """The result that the database knows for the opponent of `side`, whose turn it is: 1 won, -1 lost, 2 drawn; 0: not known.

    `s` is a record with `board` and `stores`.
    """
    own, other = s.board[side], s.board[1 - side]
    if row_sum(own) + row_sum(other) > p.endgame_seeds:
        return 0
    value = np.int64(p.endgame[board_rank(p, own, other)])
    if value == OPEN:
        return 0
    if value == NEVER:
        return 1
    if value == ALWAYS:
        return -1
    margin = np.int64(s.stores[side]) - np.int64(s.stores[1 - side]) + value
    return 2 if margin == 0 else (-1 if margin > 0 else 1)


@kernel
def play(node, child, p, move):
    result = _plain_play(node, child, p, move)
    if result != 0:
        return result
    return known_result(p, child, np.int64(child.side))


def takes_database(ruleset: Ruleset) -> bool:
    """Whether databases are made for boards of this size."""
    return ruleset.num_actions <= MOST_HOLES and int(ruleset.params["total"][0]) <= MOST_SEEDS


def with_database(ruleset: Ruleset, seeds: int) -> Ruleset:
    """The same game whose parameter record also holds the database of all boards of at most `seeds` seeds."""
    endless = ruleset.parameters["endless"]
    database = stored_database(ruleset.num_actions, seeds, endless)
    ranks = tables(ruleset.num_actions, endless)
    added = {name: ranks[name][0] for name in ("ways", "rows", "start")}
    added |= {"endgame": database.values, "endgame_seeds": np.int64(seeds)}
    old = ruleset.params
    kept = [name for name in old.dtype.names or () if not name.startswith("_pad")]
    parts = {**{name: old[name][0] for name in kept}, **added}
    values = {name: np.asarray(value) for name, value in parts.items()}
    record = np.zeros(1, record_dtype([(name, value.dtype, value.shape) for name, value in values.items()]))
    for name, value in values.items():
        record[name][0] = value
    result = copy.copy(ruleset)
    result.params = record
    return result
