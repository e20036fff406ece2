"""Players of mixed doubles: players of curling, who know how to place the stones of an end.

All of them place in the same way (`placements.choose`): behind by two points or more, or by less in the last two ends, they
take their power play; else their stone lies in the house, which gives them the last shot.
"""

from __future__ import annotations

from asobiba.baselines.curling.doubles.players import Ayumu, rule_based, tee_draw
from asobiba.baselines.curling.player import Clock
from asobiba.core import AgentDeclaration


def ayumu(simulations: int = 1000, seconds: float = 0.0, clock: bool = False, threads: int = 1) -> Ayumu:
    """Thinks by `simulations` a shot, by `seconds` a shot, or (`clock`) by the game's time; on so many `threads`."""
    return Ayumu(Clock(simulations, seconds, clock), threads)


AGENTS = (
    AgentDeclaration("tee_draw", tee_draw, "draws to the tee, whatever lies there", deterministic=True),
    AgentDeclaration(
        "rule_based", rule_based, "draw, hit or guard by who lies nearest", "sample player of Digital Curling 3"
    ),
    AgentDeclaration(
        "ayumu", ayumu, "Monte-Carlo tree search, positions told apart by visits", "K. Ohto, Ayumu; GPW 2016"
    ),
)
