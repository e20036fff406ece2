"""A heap game for the search's hooks, as game and as search module: one to three are taken, and who takes one goes on.

A player who finds the heap empty loses, but draws after an odd number of twos. The search of threats knows a heap of nine alone.
"""

from __future__ import annotations

import sys
from functools import cache
from types import ModuleType

import numpy as np

from asobiba.core import Game, Layout, kernel

WEIGHTS = {"nothing": 0}


def layout(heap: int = 7) -> Layout:
    """The size of the heap."""
    return Layout(state=[("heap", np.int32), ("twos", np.int32)], actions=3, observation={"heap": (1,)}, max_steps=100)


def ruleset():
    """The game, whose rules the search never asks."""
    rules = ModuleType("toys.envs.heap.rules")
    for name in ("reset", "legal", "step", "observe"):
        setattr(rules, name, None)
    return Game(name="heap", version=0, title="Heap", layout=layout, rules=rules).ruleset()


def position_fields(ruleset):
    return [("heap", np.int32), ("twos", np.int32)]


def max_moves(ruleset):
    return 3


def repetition(ruleset):
    return 0, 0


def game_keys(ruleset, state):
    return np.zeros(1, np.int64)


@kernel
def load(s, p, node):
    node.heap = s.heap
    node.twos = s.twos
    node.side = s.to_move
    node.key = 4 * s.heap + 2 * s.twos + s.to_move


@kernel
def generate(node, p):
    count = min(node.heap, 3)
    for k in range(count):
        node.moves[k] = k
        node.order[k] = 0
    return count


@kernel
def play(node, child, p, move):
    child.heap = node.heap - (move + 1)
    child.twos = (node.twos + (1 if move == 1 else 0)) % 2
    child.side = node.side if move == 0 else 1 - node.side
    child.key = 4 * child.heap + 2 * child.twos + child.side
    return 0


@kernel
def evaluate(node, p, w):
    return 0


@kernel
def no_moves(node, p):
    return 2 if node.twos == 1 else -1


@kernel
def solve(frames, ply, p, budget):
    if frames[ply].heap == 9:
        frames[ply].best_move = 2
        return 5
    return 0


@cache
def value(heap: int, twos: int) -> int:
    """The value for the player to move by perfect play: 1, 0 or -1."""
    if heap == 0:
        return 0 if twos else -1
    found = []
    for take in range(1, min(heap, 3) + 1):
        after = value(heap - take, (twos + (take == 2)) % 2)
        found.append(after if take == 1 else -after)
    return max(found)


def main() -> None:
    """Compares the search with perfect play for every heap; prints what differs."""
    from asobiba.baselines.search.alpha_beta import Searcher

    rules = ruleset()
    module = sys.modules[__name__]
    state = rules.zeros()
    for settings in (
        {},
        {"table": "off", "pvs": False},
        {"late": 1, "forced": True},
        {"alpha_beta": False, "table": "off", "ordering": False},
    ):
        # Twice the longest game: late moves, which are searched less deep, then reach its end too.
        searcher = Searcher(rules, depth=20, solve=0, search_module=module, **settings)
        for heap in range(1, 10 if settings.get("alpha_beta", True) else 7):
            for twos in (0, 1):
                for seat in (0, 1):
                    state["heap"], state["twos"], state["to_move"] = heap, twos, seat
                    searcher.clear()
                    found = searcher.search(state[0])
                    if found.proven != value(heap, twos):
                        print("differs", settings, heap, twos, seat, found.score, value(heap, twos))
    state["heap"], state["twos"], state["to_move"] = 9, 0, 0
    found = Searcher(rules, depth=3, solve=1, search_module=module).search(state[0])
    print("solved", found.plies_to_end, found.action, found.pv)


if __name__ == "__main__":
    sys.modules["search_toy"] = sys.modules["__main__"]
    sys.path.insert(0, __file__.rpartition("/")[0])
    import search_toy

    search_toy.main()
