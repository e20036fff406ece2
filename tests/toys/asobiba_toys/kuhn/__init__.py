"""Kuhn's poker, played for `hands` hands: hidden cards, dealt by chance.

## Description

Each of two players antes one and is dealt one of three cards; they pass or bet in turn.
Whose turn it is (PettingZoo's `agent_selection`) both see.

## Action Space

`Discrete(2)`: pass (or fold), bet (or call).

## Observation Space

Own card, what was played, whether the player began the hand.

## State

`cards`: each player's card, 0 to 2. `history`: what the first two plies of the hand did: 0 not yet, 1 pass, 2 bet.
`plies`: plies of the hand. `starter`: who began it. `hand`: hands played.

## Rewards

The gain or loss of the hand: 1 or 2.

## Starting State

A deal; the first player begins, then they take turns at beginning.

## Episode End

After `hands` hands.

## Arguments

`hands`.

## References

H. W. Kuhn, "A simplified two-person poker", Contributions to the Theory of Games 1, 1950.

## Version History

* v0 (2026-11-21): first version.
"""

from asobiba.api import expose
from asobiba.core import Game, Layout
from asobiba_toys.kuhn import rules


def layout(hands: int = 2) -> Layout:
    return Layout(
        state=[("cards", "i1", (2,)), ("history", "i1", (2,)), ("plies", "i1"), ("starter", "i1"), ("hand", "i2")],
        parameters={"hands": hands},
        actions=2,
        observation={"card": (3,), "history": (2, 2), "starter": (1,)},
        max_steps=3 * hands,
        return_range=(-2.0 * hands, 2.0 * hands),
    )


GAME = Game(
    name="toy_kuhn",
    version=0,
    title="Kuhn poker",
    layout=layout,
    rules=rules,
    evidence="Kuhn's deals and pay-offs",
    information="hidden",
    chance=True,
    reward_range=(-2.0, 2.0),
    illegal_reward=-2.0,
)
env, raw_env, parallel_env = expose(GAME)
