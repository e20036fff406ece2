"""An evaluation of positions of an end that is learned: a small network that foretells how the end will be scored.

Its inputs: which shot was thrown last; what each score would be worth; the stones in the order of their distance from the
tee, each by side, place and distance, the first ones also by how free the way to them is (the masks of Jiritsu-kun); the
guards in the order of their distance from the centre line; the score as it stands, and counts. Its outputs are the
probabilities of the scores from -8 to 8 for the team that threw first. A position is worth what the scores are worth.

`learning.py` makes the weights. The network's sums have one order, so that values are the same on every machine.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from asobiba.baselines.curling.masks import ALL, PATHS, longest_run, mask_at
from asobiba.core import compiled, kernel
from asobiba.core.elementary import exp
from asobiba.core.networks import LAYER, LINEAR, RELU, NetworkBuilder, forward
from asobiba.envs.curling.rules import end_score, tee_distance
from asobiba.envs.curling.simulation import STONES
from asobiba.envs.curling.win_table import LEAD

FOLDER = Path(__file__).parent / "policies" / "jiritsu_learned"
"""Holds a folder of weights for each simulator."""
SCORES = 17
NEAREST, MASKED, GUARDS = 8, 4, 4
"""Stones that are described: the nearest to the tee, those of them with their masks, and the guards."""
_STONE, _MASKS, _GUARD = 5, 3, 3
_OBJECTIVE = 4
"""The worth of scores from -4 to 4 is told."""
SHOT = 0
OBJECTIVE = SHOT + STONES
STONE = OBJECTIVE + 2 * _OBJECTIVE + 1
MASK = STONE + 2 * _STONE * NEAREST
GUARD = MASK + 2 * _MASKS * MASKED
SCORE = GUARD + 2 * _GUARD * GUARDS
COUNTS = SCORE + SCORES
INPUTS = COUNTS + 6
WIDTH, NARROW = 96, 48


class Net(NamedTuple):
    """The network for kernels; without layers: none."""

    layers: np.ndarray
    weights: np.ndarray


class NetScratch(NamedTuple):
    """Working arrays of the network: its numbers, indices, the order of the stones."""

    numbers: np.ndarray
    active: np.ndarray
    order: np.ndarray
    distance: np.ndarray


def net_of(weights: dict[str, np.ndarray]) -> Net:
    """The network of saved weights: `first`, `second`, `last`, each with `_bias`, as PyTorch keeps them."""
    builder = NetworkBuilder(INPUTS)
    names = (("first", RELU), ("second", RELU), ("last", LINEAR))
    out = builder.chain(0, [(weights[name], weights[f"{name}_bias"], activation) for name, activation in names])
    network = builder.build(out, SCORES, out)
    return Net(network.layers, network.weights)


def new_net_scratch() -> NetScratch:
    """Working arrays for one thread."""
    return NetScratch(
        np.zeros(INPUTS + WIDTH + NARROW + SCORES, np.float32), np.zeros(max(INPUTS, WIDTH), np.int64),
        np.zeros(STONES, np.int64), np.zeros(STONES),
    )  # fmt: skip


@cache
def published(simulator: str) -> Net:
    """The weights for `cs2` or `fcv1` that come with the package."""
    with np.load(FOLDER / simulator / "evaluation.npz") as saved:
        return net_of(dict(saved))


NONE = Net(np.zeros(0, LAYER), np.zeros(0, np.float32))
"""No network."""


@kernel
def describe(p, stones, in_play, shot, values, masks, scratch):
    """Writes the inputs after shot number `shot` (-1: before the first) into `scratch.numbers`.

    Args:
        values: `(17,)`, the worth of the end's scores. masks: front and back.
    """
    out, order, far = scratch.numbers, scratch.order, scratch.distance
    for k in range(INPUTS):
        out[k] = 0.0
    out[SHOT + shot + 1] = 1.0
    for k in range(2 * _OBJECTIVE + 1):
        out[OBJECTIVE + k] = values[k + SCORES // 2 - _OBJECTIVE]
    count = 0
    for k in range(STONES):
        if in_play[k] == 0:
            continue
        far[k] = tee_distance(stones, k)
        at = count
        while at > 0 and far[order[at - 1]] > far[k]:
            order[at] = order[at - 1]
            at -= 1
        order[at] = k
        count += 1
    for n in range(min(count, NEAREST)):
        k = order[n]
        x, y = stones[k, 0], stones[k, 1]
        at = STONE + _STONE * (2 * n + k % 2)
        out[at], out[at + 1], out[at + 2], out[at + 3] = 1.0, x, abs(x), 0.5 * y
        out[at + 4] = min(far[k], 4.0)
        if n < MASKED:
            at = MASK + _MASKS * (2 * n + k % 2)
            behind = ALL
            for turn in range(2):
                before = ALL
                for m in range(count):
                    j = order[m]
                    dx, dy = stones[j, 0] - x, stones[j, 1] - y
                    if j != k and dy < 0.0:
                        before &= mask_at(masks[0], dx, -dy, turn)
                    elif j != k:
                        behind &= mask_at(masks[1], dx, dy, turn)
                out[at + turn] = 1.0 - longest_run(before) / PATHS
            out[at + 2] = 1.0 - longest_run(behind) / PATHS
    _describe_guards(p, stones, in_play, scratch, count)
    points = end_score(p, stones, in_play)
    out[SCORE + min(max(points, -8), 8) + 8] = 1.0


@kernel
def _describe_guards(p, stones, in_play, scratch, count):
    # Those in the way to the house, the nearest to the centre line first; and how many stones of each kind there are.
    out, order, far = scratch.numbers, scratch.order, scratch.distance
    guards = 0
    for n in range(count):
        k = order[n]
        at = COUNTS + 3 * (k % 2)
        out[at] += 0.25
        if far[k] < p.score:
            out[at + 1] += 0.25
        elif stones[k, 1] < 0.0:
            out[at + 2] += 0.25
            far[k] = 100.0 + abs(stones[k, 0])
            m = guards  # the first places of the order are kept for guards from here on: they are read in order
            while m > 0 and far[order[m - 1]] > far[k]:
                order[m] = order[m - 1]
                m -= 1
            order[m] = k
            guards += 1
    for n in range(min(guards, GUARDS)):
        k = order[n]
        at = GUARD + _GUARD * (2 * n + k % 2)
        out[at], out[at + 1], out[at + 2] = 1.0, stones[k, 0], 0.5 * stones[k, 1]


@kernel
def foretell(p, stones, in_play, shot, values, masks, net, scratch, chances):
    """Writes the probabilities of the scores, `(17,)`; returns the worth of the position for the team that threw first."""
    describe(p, stones, in_play, shot, values, masks, scratch)
    forward(net.layers, net.weights, scratch.numbers, scratch.active)
    at = INPUTS + WIDTH + NARROW
    most = scratch.numbers[at]
    for k in range(SCORES):
        most = max(most, scratch.numbers[at + k])
    total, worth = 0.0, 0.0
    for k in range(SCORES):
        chances[k] = exp(float(scratch.numbers[at + k]) - float(most))
        total += chances[k]
        worth += chances[k] * values[k]
    for k in range(SCORES):
        chances[k] /= total
    return worth / total


@compiled()
def empty_worth(params, values, masks, net, scratch, chances):
    """`foretell` of the empty sheet before the first shot."""
    stones, in_play = np.zeros((STONES, 2)), np.zeros(STONES, np.uint8)
    return foretell(params[0], stones, in_play, -1, values, masks, net, scratch, chances)


def win_table_of(
    params: np.ndarray, masks: tuple[np.ndarray, np.ndarray], net: Net, ends: int, extra: bool
) -> np.ndarray:
    """Win probabilities `(ends + 1, 2 * LEAD + 1)` of the team that throws first, by ends left and its lead, as the network
    foretells the ends. `extra`: tied games go on for another end; else they are drawn.
    """
    scratch, chances = new_net_scratch(), np.zeros(SCORES)
    table = np.zeros((ends + 1, 2 * LEAD + 1))
    table[0, LEAD + 1 :] = 1.0
    table[0, LEAD] = 0.5
    if extra:
        points = np.arange(-8, 9)
        for _ in range(20):  # a blank end is followed by another one
            values = np.where(points > 0, 1.0, np.where(points < 0, 0.0, table[0, LEAD]))
            table[0, LEAD] = empty_worth(params, values, masks, net, scratch, chances)
    for left in range(1, ends + 1):
        for lead in range(-LEAD, LEAD + 1):
            values = values_after(table, left - 1, lead)
            table[left, lead + LEAD] = empty_worth(params, values, masks, net, scratch, chances)
    return table


def values_after(table: np.ndarray, left: int, lead: int) -> np.ndarray:
    """The worth of the scores of an end `(17,)` for the team that throws first and leads, with `left` ends to follow."""
    points = np.arange(-8, 9)
    after = np.clip(lead + points, -LEAD, LEAD)
    # Who scores throws first in the next end; a blank end changes nothing.
    return np.where(points >= 0, table[left, after + LEAD], 1.0 - table[left, -after + LEAD])
