"""Unit actions of many games, and playout steps of searches on one core: python benchmarks/tactics_search.py

All on a map of 8x8 with 6 units a side. A playout step is a unit action or the end of a turn. The last figure counts the
search around the playouts, too.
"""

from __future__ import annotations

import argparse

import games
import numpy as np
from timing import Case, measure

from asobiba.baselines.search.uct import UctSearcher
from asobiba.baselines.tactics.playouts import draw_order
from asobiba.baselines.tactics.search_rules import copy_position
from asobiba.core import compiled
from asobiba.core.random import seed_record
from asobiba.core.record import SAMPLER
from asobiba.core.states import new_state
from asobiba.envs.tactics import GAME
from asobiba.envs.tactics.battle import end_turn, perform


@compiled()
def play_out_often(states, nodes, params, generators, attack_share, choosy, playouts):
    """Steps of many playouts of one position."""
    p, generator, node = params[0], generators[0], nodes[0]
    steps = 0
    for _ in range(playouts):
        copy_position(states[0], node)
        side, result = np.int64(states[0].to_move), 0
        while result == 0:
            unit, goal, target = draw_order(node, p, side, generator, attack_share, choosy)
            steps += 1
            if unit < 0:
                result = end_turn(node, p)
                side = 1 - side
            else:
                result, side = perform(node, p, side, unit, goal, target)
    return steps


def playouts(attack_share: float, choosy: float = 0.0):
    ruleset = GAME.ruleset(map=MAP)
    states, generator = np.zeros(1, ruleset.dtype), np.zeros(1, SAMPLER)
    states[0] = new_state(ruleset, 0)
    node = states.copy()
    seed_record(generator[0], np.uint64(0), np.uint64(0))
    return lambda: int(play_out_often(states, node, ruleset.params, generator, attack_share, choosy, 500))


def search():
    """Playout steps of the search: its playouts, times the mean length of those from the root."""
    ruleset = GAME.ruleset(map=MAP)
    searcher = UctSearcher(
        ruleset, exploration=0.3, expand_after=11, log_count="root", urgency=199.0, final="mean", playout=True
    )
    state = new_state(ruleset, 0)
    mean = playouts(0.8)() / 500

    def burst() -> int:
        searcher.search(state, 1000)
        return int(1000 * mean)

    return burst


MAP = "crossing"


def cases() -> list[Case]:
    """Turn-based tactics on 8x8 cells with 6 units a side: unit actions, and playout steps of one core."""
    return [
        *[
            Case(
                f"unit actions with masks and observations, 1024 games, {threads} thread{'s' * (threads > 1)}",
                lambda threads=threads: games.vector("tactics", 1024, threads, map=MAP),
            )
            for threads in (1, 2)
        ],
        Case("playouts, 80 % attacks", lambda: playouts(0.8)),
        Case("playouts, attacks first", lambda: playouts(1.0)),
        Case("playouts, choosy", lambda: playouts(1.0, 1.0)),
        Case("M-UCT, 1,000 playouts", search),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.5)
    options = parser.parse_args()
    measured = cases()
    for _ in measure(measured, options.rounds, options.seconds):
        pass
    for case in measured:
        print(f"{case.name:72} {case.rate:12,.0f} steps/s")


if __name__ == "__main__":
    main()
