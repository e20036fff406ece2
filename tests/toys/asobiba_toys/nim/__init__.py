"""Nim: heaps of counters; a player takes any number from one heap, and who takes the last counter wins.

## Description

Perfect information, no chance, two or more players.

## Action Space

`Discrete(heaps * size)`: action `heap * size + (n - 1)` takes `n` counters from `heap`.

## Observation Space

The heaps in unary, `heaps x size`.

## State

`heaps`: stones left in each heap.

## Rewards

+1 for the winner; the others share -1.

## Starting State

Heaps of 1, 2, ... up to `size` counters.

## Episode End

When the last counter is taken.

## Arguments

`heaps`, `size`, `players`.

```python
import asobiba

env = asobiba.make("toy_nim", size=4)
observation, info = env.reset(seed=1)
```

## References

C. L. Bouton, "Nim, a game with a complete mathematical theory", Annals of Mathematics, 1901.

## Version History

* v0 (2026-11-21): first version.
"""

from asobiba.api import expose
from asobiba.core import Game, GameParameterError, Layout
from asobiba_toys.nim import rules


def layout(heaps: int = 3, size: int = 5, players: int = 2) -> Layout:
    if heaps < 1 or size < 1:
        raise GameParameterError(f"heaps and size are at least 1, not {heaps} and {size}")
    return Layout(
        state=[("heaps", "i1", (heaps,))],
        parameters={"largest": size},
        actions=heaps * size,
        observation={"heaps": (heaps, size)},
        max_steps=heaps * size + 1,
        players=tuple(f"player{k}" for k in range(players)) if players != 2 else None,
    )


GAME = Game(
    name="toy_nim",
    version=0,
    title="Nim",
    layout=layout,
    rules=rules,
    notation="asobiba_toys.nim.notation",
    draw="asobiba_toys.nim.draw",
    usual_opening=2,  # a small heap or two are soon gone
    evidence="Bouton's theorem",
)
env, raw_env, parallel_env = expose(GAME)
