"""The compiled loops of `afterstates` and `temporal_difference`, which bind the kernels of a real game in place of the
placeholders."""

from __future__ import annotations

import numpy as np

# bind: what a game gives to policies of afterstates
from asobiba.baselines.search.afterstate_placeholder import count, generate, load, play

# end of bind
from asobiba.baselines.search.rows import UNIT, judge
from asobiba.core import compiled, kernel
from asobiba.core.elementary import log
from asobiba.core.random import random_below, random_uniform

SCALE = 200
"""Points of a score that the logit 1 of a win stands for."""
WON = np.int64(1) << 40
"""The worth of an action that wins; more than any score."""
LONGEST = 300
"""Actions after which a game against itself is a draw."""


@kernel
def value(node, p, w):
    """The score of a position for its side to move; `w` holds the weights."""
    count(node, p)
    found = judge(node.counts, w.rows, w.first, w.hidden, w.second, w.last, w.bias, node.sums, node.narrow)
    return found * SCALE // UNIT**2


@kernel
def worth(node, child, p, w, move):
    """Plays an action; the score of what it leads to, for the side that plays it."""
    result = play(node, child, p, move)
    if result == 2:
        return np.int64(0)
    if result != 0:
        return result * WON
    score = value(child, p, w)
    return score if child.side == node.side else -score


@compiled()
def choose(views, params, masks, nodes, weights, actions):
    """The action of the greatest worth in each view; the first of equals."""
    p, w, node, child = params[0], weights[0], nodes[0], nodes[1]
    for n in range(actions.shape[0]):
        load(views[n], p, node)
        best = -2 * WON
        for k in range(generate(node, p)):
            found = worth(node, child, p, w, np.int64(node.moves[k]))
            if found > best:
                best, actions[n] = found, node.moves[k]


@kernel
def drawn(node, child, p, w, generator, temperature):
    """An action by a softmax over worths; a win if there is one."""
    best, action = -np.inf, np.int64(-1)
    for k in range(generate(node, p)):
        found = worth(node, child, p, w, np.int64(node.moves[k]))
        noisy = float(found)
        if temperature > 0 and abs(found) < WON:
            noisy -= temperature * log(-log(1.0 - random_uniform(generator) * (1.0 - 1e-12)))
        if action < 0 or noisy > best:
            best, action = noisy, np.int64(node.moves[k])
    return action


@compiled()
def self_play(states, params, nodes, weights, generator, plies, mood, positions, results):
    """Plays games from `states`, the first `plies[game]` actions at random, the others as `mood` says.

    Writes the later positions, and the first side's result of each game (1, 0.5 or 0). Returns how many positions and games
    there are; fewer games than states where the room is full.
    """
    p, w, g = params[0], weights[0], generator[0]
    temperature, random = mood[0].temperature, mood[0].random
    written = 0
    for game in range(states.shape[0]):
        at = 0
        load(states[game], p, nodes[0])
        begun, steps, result = written, 0, 0
        while result == 0:
            node, child = nodes[at], nodes[1 - at]
            if steps >= plies[game]:
                if written == positions.shape[0]:
                    return begun, game
                kept = positions[written]
                kept.score = value(node, p, w)
                kept.side, kept.game = node.side, game
                for k in range(node.counts.shape[0]):
                    kept.inputs[k] = node.counts[k]
                written += 1
            if steps < plies[game] or random_uniform(g) < random:
                action = np.int64(node.moves[random_below(g, generate(node, p))])
            else:
                action = drawn(node, child, p, w, g, temperature)
            result = play(node, child, p, action)
            steps += 1
            if result == 0 and steps == LONGEST:
                result = 2
            if result != 0:
                results[game] = 0.5 if result == 2 else 1.0 if (result == 1) == (node.side == 0) else 0.0
            at = 1 - at
    return written, states.shape[0]
