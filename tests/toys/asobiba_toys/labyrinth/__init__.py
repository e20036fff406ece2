"""An endless walk through 64 rooms of three doors each, for two players in turn, in which nothing is won.

It has no entry point: it is the tree on which searches are compared with other people's (tests/mctx_fixture.py).
"""

from asobiba.core import Game, Layout
from asobiba_toys.labyrinth import rules


def layout(first: int = 0) -> Layout:
    return Layout(
        state=[("room", "i4")],
        parameters={"first": first},
        actions=3,
        observation={"room": (64,)},
        max_steps=10_000,
    )


GAME = Game(name="toy_labyrinth", version=0, title="Labyrinth", layout=layout, rules=rules, evidence="none is needed")
