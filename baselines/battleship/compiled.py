"""The trained policy with its fleet as one compiled function, for targets without Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from asobiba.baselines.battleship.learned import PolicyWithFleet
from asobiba.core import Agent, Ruleset
from asobiba.core.agents import Thinking
from asobiba.learn.formulas import choosing, working_arrays


def _playing(place: Any, shoot: Any) -> Callable[..., None]:
    def play(
        views, params, masks, fleet, operations, tables, constants, numbers, row, apart, columns, seen, actions
    ):  # fmt: skip
        view = views[0]
        if view.placed[view.to_move] < params[0].sizes.shape[0]:
            actions[0] = place(view, params[0], masks[0], fleet[0])
        else:
            actions[0] = shoot(
                view, params[0], masks[0],
                operations=operations, tables=tables, constants=constants, numbers=numbers, row=row, apart=apart,
                columns=columns, seen=seen,
            )  # fmt: skip

    return play


def with_fleet(agent: PolicyWithFleet, ruleset: Ruleset) -> Thinking | None:
    """A `PolicyWithFleet`; the policy alone, where the game has no placement or the policy does it."""
    found = agent.player.as_formulas(ruleset)
    if found is None or found[1] is None:
        return agent.player.thinking(ruleset)
    (formulas, columns), placer = found, agent._placer
    shoot = choosing(ruleset.game.rules.observe, formulas.policy, formulas.actions)
    arrays = {"fleet": placer.initial_for(ruleset).copy(), **working_arrays(ruleset, formulas, columns)}
    return Thinking(_playing(placer.policy, shoot), arrays, generator="fleet", seated=True)


COMPILED: dict[type[Agent], Callable[[Any, Ruleset], Thinking | None]] = {PolicyWithFleet: with_fleet}
