"""Rock, paper, scissors: both choose at once, for `rounds` rounds.

## Description

Rock beats scissors, scissors beat paper, paper beats rock. Who wins more rounds wins.

## Action Space

`Discrete(3)`: rock, paper, scissors.

## Observation Space

Rounds won less rounds lost, and rounds played.

## Rewards

+1 and -1 at the end.

## Starting State

Nothing is played.

## Episode End

After `rounds` rounds.

## Arguments

`rounds`.

## References

None.

## Version History

* v0 (2026-11-22): first version.
"""

from asobiba.api import expose
from asobiba.core import Game, Layout
from asobiba_toys.roshambo import rules


def layout(rounds: int = 1) -> Layout:
    return Layout(
        state=[("lead", "i1"), ("played", "i1")],
        parameters={"rounds": rounds},
        actions=3,
        observation={"lead": (1,), "played": (1,)},
        observation_low=-rounds,
        observation_high=rounds,
        max_steps=rounds,
    )


GAME = Game(
    name="toy_roshambo",
    version=0,
    title="Rock, paper, scissors",
    layout=layout,
    rules=rules,
    evidence="its value is 0, and each choice a third of the time is its equilibrium",
    turns="simultaneous",
)
env, raw_env, parallel_env = expose(GAME)
