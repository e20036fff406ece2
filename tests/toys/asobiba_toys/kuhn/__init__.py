"""Kuhn's poker, played for `hands` hands: hidden cards, dealt by chance."""

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
    )


GAME = Game(
    name="toy_kuhn",
    version=0,
    title="Kuhn poker",
    layout=layout,
    rules=rules,
    information="hidden",
    chance=True,
    reward_range=(-2.0, 2.0),
    illegal_reward=-2.0,
)
env, raw_env, parallel_env = expose(GAME)
