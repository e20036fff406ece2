"""Placements and deliveries that are no actions of an agent, for hosts and readers of records."""

from __future__ import annotations

import numpy as np

from asobiba.core import IllegalAction, Ruleset, compiled
from asobiba.core.laws import close_step
from asobiba.core.states import is_over
from asobiba.envs.curling.doubles import rules
from asobiba.envs.curling.simulate import Shot, begin_delivery


@compiled()
def _deliver(states, params, vx, vy, spin, exact):
    s, p = states[0], params[0]
    vx, vy = begin_delivery(s, p, vx, vy, spin, exact)
    rules.deliver(s, p, vx, vy, spin)
    close_step(s, p)


@compiled()
def _place(states, params, placement):
    s, p = states[0], params[0]
    s.rewards[0], s.rewards[1] = 0.0, 0.0
    rules.place(s, p, placement)
    close_step(s, p)


def placement_is_due(state: np.void) -> bool:
    """Whether the side to move is to place the stones of an end."""
    return not is_over(state) and int(state["shot"]) == 0


def deliver(ruleset: Ruleset, state: np.void, shot: Shot, *, exact: bool = False) -> np.void:
    """The state after a delivery of exactly this velocity, not rounded to an action.

    Args:
        exact: play the shot as given instead of drawing the noise from the state's generator.

    Raises:
        IllegalAction: if the game is over, or a placement is due.
    """
    if is_over(state) or placement_is_due(state):
        raise IllegalAction(
            f"no shot can be played: {'the game is over' if is_over(state) else 'the stones of the end must be placed first'}"
        )
    states = ruleset.zeros()
    states[0] = state
    _deliver(states, ruleset.params, float(shot.vx), float(shot.vy), float(shot.spin), exact)
    return states[0]


def place(ruleset: Ruleset, state: np.void, placement: int) -> np.void:
    """The state after a placement, one of `rules.PLACEMENTS` by its number.

    Raises:
        IllegalAction: if no placement is due, or for another number.
    """
    if not placement_is_due(state):
        raise IllegalAction("no placement is due: it is decided at the beginning of an end")
    if placement not in range(len(rules.PLACEMENTS)):
        raise IllegalAction(f"placement is {placement!r}; expected a number from 0 to {rules.RIGHT}")
    states = ruleset.zeros()
    states[0] = state
    _place(states, ruleset.params, int(placement))
    return states[0]
