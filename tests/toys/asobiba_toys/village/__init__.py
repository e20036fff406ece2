"""A village with a wolf, as small as it can be.

## Description

By night the wolf kills, by day all who live vote; who has most votes is hanged, ties are drawn. PettingZoo's
`agent_selection` names the wolf at night and is not for players.

## Action Space

`Discrete(4)`: a player is named.

## Observation Space

Who lives, one's own role, the last votes, who one is, the time of day.

## State

`wolf`: who is the wolf. `alive`: who lives. `votes`: votes of the last day for each. `phase`: 0 by night, 1 by day.

## Rewards

+1 for each member of the side that wins, -1 for the others.

## Starting State

A wolf is drawn; the first day.

## Episode End

The wolf is dead, or as many wolves as people live.

## Arguments

`players`: three or four.

## References

None.

## Version History

* v0 (2026-11-22): first version.
"""

import numpy as np

from asobiba.api import expose
from asobiba.core import Game, GameParameterError, Layout
from asobiba_toys.village import rules

SEATS = 4


def layout(players: int = 4) -> Layout:
    if players not in (3, 4):
        raise GameParameterError(f"players is {players}; expected 3 or 4")
    return Layout(
        state=[
            ("wolf", np.uint8, (SEATS,)),
            ("alive", np.uint8, (SEATS,)),
            ("votes", np.int8, (SEATS,)),
            ("phase", np.uint8),
        ],
        actions=SEATS,
        observation={"alive": (SEATS,), "role": (SEATS,), "votes": (SEATS,), "self": (SEATS,), "phase": (1,)},
        observation_high=SEATS,
        max_steps=16,
        players=tuple(f"villager{k}" for k in range(players)),
        seats=SEATS,
    )


GAME = Game(
    name="toy_village",
    version=0,
    title="Village",
    layout=layout,
    rules=rules,
    information="hidden",
    chance=True,
    utility="general_sum",
    turns="some",
    leaves=True,
    teams="wolf",
    faults="replace",
    fault_limit=1,
    evidence="counting by hand",
)
env, raw_env, parallel_env = expose(GAME)
