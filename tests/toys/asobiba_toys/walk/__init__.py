"""A walk along a slippery path to its end: one player, chance.

## Description

One player steps left or right; now and then the step slips.

## Action Space

`Discrete(2)`: left, right.

## Observation Space

The place, one-hot.

## State

`place`: 0 to `length`. `slips`: how often the walker slipped.

## Rewards

1 at the end, -0.01 for every other step.

## Starting State

Place 1 or the middle.

## Episode End

At the end of the path.

## Arguments

`length`, `slip`.

## References

None.

## Version History

* v0 (2026-11-21): first version.
"""

from asobiba.api import expose
from asobiba.core import Game, Layout
from asobiba_toys.walk import rules


def layout(length: int = 6, slip: float = 0.2) -> Layout:
    return Layout(
        state=[("place", "i2"), ("slips", "i4", (1,))],
        info={"slips": "slips"},
        parameters={"length": length, "slip": slip},
        actions=2,
        observation={"place": (length + 1,)},
        max_steps=8 * length,
        players=("walker",),
    )


GAME = Game(
    name="toy_walk",
    version=0,
    title="Walk",
    layout=layout,
    rules=rules,
    evidence="expected length",
    chance=True,
    utility="single_agent",
    reward_range=(-1.0, 1.0),
)
env, raw_env, parallel_env = expose(GAME)
