"""Search speed on Bao beside OpenSpiel's minimax and MCTS on its `mancala`: python benchmarks/bao_search.py

OpenSpiel's Kalah sows once a move where Bao sows on, sometimes for many laps, so that a node of Bao is the dearer one.
Alpha-beta in OpenSpiel for Python counts no nodes; they are counted here by the value function's calls at the leaves.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from timing import Case, measure

from asobiba.core import make_agent
from asobiba.core.states import action_mask, is_over, new_state, step
from asobiba.envs.bao import GAME


def positions(count: int) -> list:
    """Positions six random plies from the start of 8x2."""
    ruleset, rng, found = GAME.ruleset(), np.random.default_rng(0), []
    while len(found) < count:
        state = new_state(ruleset, 0)
        for _ in range(6):
            if not is_over(state):
                state = step(ruleset, state, int(rng.choice(np.flatnonzero(action_mask(ruleset, state)))))
        if not is_over(state):
            found.append(state)
    return found


def alpha_beta_nodes():
    ruleset = GAME.ruleset()
    agent = make_agent(GAME, "alpha_beta:nodes=200000,endgame=0")
    agent.reset(ruleset, 0, 0)
    states = iter(positions(64) * 1000)

    def burst() -> int:
        agent.searcher.clear()
        state = next(states)
        agent.act(state, action_mask(ruleset, state))
        return agent.last.nodes

    return burst


def uct_simulations():
    ruleset = GAME.ruleset()
    agent = make_agent(GAME, "uct:simulations=5000")
    agent.reset(ruleset, 0, 0)
    state = new_state(ruleset, 0)
    mask = action_mask(ruleset, state)

    def burst() -> int:
        agent.act(state, mask)
        return agent.last.simulations

    return burst


def store_difference(state) -> float:
    """Value of an OpenSpiel mancala state for player 0: the stores are numbers 7 and 0 of the observation."""
    seeds = state.observation_tensor(0)
    return seeds[7] - seeds[0]


def open_spiel_minimax():
    import pyspiel
    from open_spiel.python.algorithms import minimax

    game = pyspiel.load_game("mancala")

    def burst() -> int:
        leaves = [0]

        def value(state):
            leaves[0] += 1
            return store_difference(state)

        minimax.alpha_beta_search(game, value_function=value, maximum_depth=5, maximizing_player_id=0)
        return leaves[0]

    return burst


def open_spiel_mcts():
    import pyspiel

    game = pyspiel.load_game("mancala")
    bot = pyspiel.MCTSBot(game, pyspiel.RandomRolloutEvaluator(1, 0), 1.0, 2000, 100, False, 0, False)

    def burst() -> int:
        bot.mcts_search(game.new_initial_state())
        return 2000

    return burst


def depths(seconds: float, count: int) -> list[int]:
    """Depths that alpha-beta completes in so many seconds, on `count` positions."""
    ruleset, found = GAME.ruleset(), []
    agent = make_agent(GAME, f"alpha_beta:seconds={seconds},endgame=0")
    agent.reset(ruleset, 0, 0)
    for state in positions(count):
        agent.searcher.clear()
        agent.act(state, action_mask(ruleset, state))
        found.append(agent.last.depth)
    return found


def open_spiel_depth(seconds: float) -> int:
    """The deepest search of OpenSpiel's Python alpha-beta on mancala that ends within so many seconds."""
    import pyspiel
    from open_spiel.python.algorithms import minimax

    game, depth = pyspiel.load_game("mancala"), 0
    while True:
        begin = time.perf_counter()
        minimax.alpha_beta_search(
            game, value_function=store_difference, maximum_depth=depth + 1, maximizing_player_id=0
        )
        if time.perf_counter() - begin > seconds:
            return depth
        depth += 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.5)
    options = parser.parse_args()
    cases = [
        Case("asobiba alpha-beta, Bao 8x2 (nodes/s)", alpha_beta_nodes),
        Case("OpenSpiel alpha-beta (Python), mancala (leaves/s)", open_spiel_minimax),
        Case("asobiba UCT, Bao 8x2 (simulations/s)", uct_simulations),
        Case("OpenSpiel MCTS (C++), mancala (simulations/s)", open_spiel_mcts),
    ]
    for _ in measure(cases, options.rounds, options.seconds):
        pass
    for case in cases:
        print(f"{case.name:52} {case.missing or f'{case.rate:14,.0f}'}")
    found = depths(1.0, 8)
    print(f"depth in 1 s: asobiba alpha-beta {sorted(found)[len(found) // 2]} plies (median of {found})", end="")
    try:
        print(f"; OpenSpiel alpha-beta {open_spiel_depth(1.0)} plies")
    except ImportError:
        print("; open_spiel is not installed")


if __name__ == "__main__":
    main()
