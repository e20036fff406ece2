"""Rolling-horizon evolution: plans of a whole turn evolve against a quick reply, and the first action of the best plan
is played.

Sources: Justesen, Mahlmann and Togelius, "Online evolution for multi-action adversarial games", EvoApplications 2016;
Perez, Samothrakis, Lucas and Rohlfshagen, "Rolling horizon evolution versus tree search for navigation in single-player
real-time games", GECCO 2013.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from asobiba.baselines.search.alpha_beta import weights_record
from asobiba.baselines.tactics import search_rules
from asobiba.baselines.tactics.playouts import draw_order
from asobiba.baselines.tactics.search_rules import copy_position, evaluate
from asobiba.core import Agent, GameParameterError, Ruleset, compiled, kernel, random_below, random_uniform, seed_record
from asobiba.core.record import SAMPLER, record_dtype
from asobiba.envs.tactics.battle import DRAW, RED_WINS, attack_action, end_action, move_action, perform, play
from asobiba.envs.tactics.rules import is_legal

_WIN = 1e9
_PARENTS = 3


@kernel
def drawn_action(node, p, generator, attack_share):
    """A random action as playouts choose it."""
    side = np.int64(node.to_move)
    unit, goal, target = draw_order(node, p, side, generator, attack_share, 0.0)
    if unit < 0:
        return np.int64(end_action(node, p))
    if target < 0:
        return np.int64(move_action(p, unit, goal))
    return np.int64(attack_action(node, p, side, unit, goal, target))


@kernel
def worth(node, p, plan, weights, generator, root):
    """The value of a plan after a random reply that attacks where it can; actions of the plan that cannot be played (or
    are -1) are drawn anew and written into it."""
    copy_position(root, node)
    node.to_move = root.to_move
    mover = np.int64(root.to_move)
    result, side = 0, mover
    for k in range(plan.shape[0]):
        if result != 0 or side != mover:
            plan[k] = -1
            continue
        if plan[k] < 0 or not is_legal(node, p, plan[k]):
            plan[k] = drawn_action(node, p, generator, 0.6)
        result, side = play(node, p, mover, plan[k])
    while result == 0 and side != mover:
        unit, goal, target = draw_order(node, p, side, generator, 1.0, 0.0)
        result, side = perform(node, p, side, unit, goal, target)
    if result == DRAW:
        return 0.0
    if result != 0:
        return _WIN if (result == RED_WINS) == (mover == 0) else -_WIN
    node.side = mover
    return float(evaluate(node, p, weights))


@compiled()
def evolve(states, params, weights, plans, fitness, node, generator, evaluations, mutation):
    """Fills plan 0 with the fittest; plan 0 is also where the search begins, its unknown actions are -1."""
    p, w, g, root = params[0], weights[0], generator[0], states[0]
    size = plans.shape[0]
    for k in range(size):
        if k > 0:
            for j in range(plans.shape[1]):
                plans[k, j] = -1
        fitness[k] = worth(node[0], p, plans[k], w, g, root)
    for _ in range(evaluations - size):
        worst = 0
        for k in range(size):
            if fitness[k] < fitness[worst]:
                worst = k
        first, second = -1, -1
        for _k in range(_PARENTS):
            a, b = random_below(g, size), random_below(g, size)
            if a != worst and (first < 0 or fitness[a] > fitness[first]):
                first = a
            if b != worst and (second < 0 or fitness[b] > fitness[second]):
                second = b
        for j in range(plans.shape[1]):
            parent = first if random_below(g, 2) == 0 else second
            plans[worst, j] = -1 if parent < 0 or random_uniform(g) < mutation else plans[parent, j]
        fitness[worst] = worth(node[0], p, plans[worst], w, g, root)
    best = 0
    for k in range(size):
        if fitness[k] > fitness[best]:
            best = k
    for j in range(plans.shape[1]):
        plans[0, j] = plans[best, j]
    return fitness[best]


class EvolutionAgent(Agent):
    """Plays the first action of the plan that evolution finds, and begins the next search with the rest of it.

    Args:
        evaluations: plans that are played out for an action.
        population, mutation: number of plans alive, and probability that an action of a new plan is drawn anew.
    """

    def __init__(self, evaluations: int = 1000, population: int = 24, mutation: float = 0.15):
        if not 4 <= population <= evaluations:
            raise GameParameterError(f"population is from 4 to evaluations ({evaluations}), not {population!r}")
        if not 0 <= mutation <= 1:
            raise GameParameterError(f"mutation is from 0 to 1, not {mutation!r}")
        self.name = "rhea"
        self.evaluations, self.population, self.mutation = evaluations, population, float(mutation)

    def reset(self, ruleset: Ruleset, seat: int, seed: int) -> None:
        fields = [*search_rules.position_fields(ruleset), ("key", np.int64), ("side", np.int8), ("to_move", np.int8)]
        self._ruleset = ruleset
        self._node = np.zeros(1, record_dtype(fields))
        self._states = ruleset.zeros()
        self._plans = np.full((self.population, ruleset.params["setup_moved"].shape[-1]), -1, np.int64)
        self._fitness = np.zeros(self.population)
        self._weights = weights_record(search_rules)
        self._generator = np.zeros(1, SAMPLER)
        self._turn = -1
        seed_record(self._generator[0], np.uint64(seed), np.uint64(seat))

    def act(self, view: np.void, legal: np.ndarray) -> int:
        self._states[0] = view
        if int(view["turns"]) != self._turn:
            self._turn = int(view["turns"])
            self._plans[0] = -1
        evolve(
            self._states, self._ruleset.params, self._weights, self._plans, self._fitness, self._node, self._generator,
            self.evaluations, self.mutation,
        )  # fmt: skip
        action = int(self._plans[0, 0])
        self._plans[0, :-1] = self._plans[0, 1:]
        self._plans[0, -1] = -1
        return action

    def __getstate__(self) -> dict[str, Any]:
        return {
            key: value
            for key, value in self.__dict__.items()
            if key in ("name", "evaluations", "population", "mutation")
        }
