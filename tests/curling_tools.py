"""Positions of digital curling."""

from __future__ import annotations

from asobiba.core import game
from asobiba.core.states import new_state

RULES = game("curling").ruleset()


def position(stones, shot, *, hammer=1, end=0, total=(0, 0), ruleset=RULES):
    state = new_state(ruleset, 0)
    for row, place in stones.items():
        state["stones"][row], state["in_play"][row] = place, 1
    state["shot"], state["hammer"], state["end"] = shot, hammer, end
    state["total"] = total
    state["scores"][:, 0] = total
    state["to_move"] = (1 - hammer + shot) % 2
    return state
