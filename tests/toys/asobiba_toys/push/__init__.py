"""Two players push a puck at once, each with a force in [-1, 1]; it must leave on the other's side.

## Description

Simultaneous, continuous, with noise.

## Action Space

`Box(-1, 1, (1,))`: the force.

## Observation Space

The puck from the player's side, and 1.

## State

`puck`: its place, from -2 to 2.

## Rewards

+1 and -1.

## Starting State

The puck near the middle.

## Episode End

When the puck leaves [-1, 1].

## Arguments

`noise`.

## References

None.

## Version History

* v0 (2026-11-21): first version.
"""

import numpy as np
from gymnasium import spaces

from asobiba.api import expose
from asobiba.core import Game, Layout
from asobiba_toys.push import rules


def layout(noise: float = 0.1) -> Layout:
    return Layout(
        state=[("puck", "f8")],
        parameters={"noise": noise},
        actions=spaces.Box(-1.0, 1.0, (1,), np.float32),
        observation={"puck": (1,), "bias": (1,)},
        observation_dtype=np.float32,
        observation_low=-4.0,
        observation_high=4.0,
        max_steps=50,
    )


GAME = Game(
    name="toy_push",
    version=0,
    title="Push",
    layout=layout,
    rules=rules,
    evidence="symmetry",
    chance=True,
    turns="simultaneous",
)
env, raw_env, parallel_env = expose(GAME)
