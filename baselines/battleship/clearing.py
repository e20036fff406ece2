"""Shots that an attack needs to sink given fleets, and fleets drawn by a placement: the zero-sum game of hiding and searching.

The searcher pays a shot, the hider is paid it. It is what `battleship_attack` plays, with the fleet chosen by a player.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import prange

from asobiba.baselines.battleship import belief
from asobiba.baselines.battleship.policy import play
from asobiba.baselines.battleship.readings import draw_fleets
from asobiba.core import Agent, KernelAgent, Ruleset, compiled, kernel, seed_record
from asobiba.core.random import begin_memory
from asobiba.core.states import agent_views
from asobiba.envs.battleship.attack import legal, reset, step
from asobiba.envs.battleship.rules import put_ship

_AT_ONCE = 500
_RECORD = np.dtype([("rng_key", np.uint64), ("rng_counter", np.uint64)])


@dataclass(frozen=True)
class Hiding:
    """A placement: a fleet is as likely as the product of its placements' weights and of `touch` for every edge between
    cells of different ships.

    Attributes:
        weights: `(ships, 2 * cells)` float64, zero where a ship does not fit.
        touch: 0 to 2; 1 where touching makes no difference. At most `MOST_EDGES` edges count.
    """

    weights: np.ndarray
    touch: float = 1.0


@kernel
def _hide(s, p, fleet):
    # Side 1 has this fleet instead of the one that was dealt.
    for cell in range(p.cells):
        s.fleet[1, cell] = 0
    s.placed[1] = 0
    for ship in range(p.sizes.shape[0]):
        put_ship(s, p, 1, ship, np.int64(fleet[ship]))


@compiled()
def _begin(states, params, fleets, seeds):
    for i in range(states.shape[0]):
        seed_record(states[i], seeds[i])
        reset(states[i], params[0])
        _hide(states[i], params[0], fleets[i])


@compiled(parallel=True)
def _clear_by_play(states, params, memories, seeds, shots):
    for index in prange(states.shape[0]):
        i = np.int64(index)
        s, p = states[i], params[0]
        begin_memory(memories[i], seeds[i], 0)
        mask = np.zeros(p.cells, np.int8)
        while s.terminated == 0:
            legal(s, p, mask)
            step(s, p, play(s, p, mask, memories[i]))
        shots[i] = s.shots[0]


@compiled(parallel=True)
def _clear_by_belief(states, params, memories, seeds, shots):
    for index in prange(states.shape[0]):
        i = np.int64(index)
        s, p = states[i], params[0]
        begin_memory(memories[i], seeds[i], 0)
        mask = np.zeros(p.cells, np.int8)
        while s.terminated == 0:
            legal(s, p, mask)
            step(s, p, belief.play(s, p, mask, memories[i]))
        shots[i] = s.shots[0]


def shots_to_clear(ruleset: Ruleset, agent: Agent, fleets: np.ndarray, seed: int) -> np.ndarray:
    """How many shots an agent needs for each fleet.

    Args:
        ruleset: of battleship_attack.
        agent: a classical agent, one that searches by belief, or a policy.
        fleets: `(n, ships)` placements.
        seed: the agent plays game i with the seed `seed + i`.

    Returns:
        `(n,)` int64.
    """
    agent.prepare(ruleset)
    found = np.zeros(len(fleets), np.int64)
    for begin in range(0, len(fleets), _AT_ONCE):
        part = np.ascontiguousarray(fleets[begin : begin + _AT_ONCE])
        seeds = np.uint64(seed + begin) + np.arange(len(part), dtype=np.uint64)
        states = ruleset.zeros(len(part))
        _begin(states, ruleset.params, part, seeds)
        shots = found[begin : begin + len(part)]
        if isinstance(agent, KernelAgent):
            memories = np.repeat(agent.initial_for(ruleset), len(part))
            clear = _clear_by_belief if agent.policy is belief.play else _clear_by_play
            clear(states, ruleset.params, memories, seeds, shots)
        else:
            _clear_in_batches(ruleset, getattr(agent, "player", agent), states, shots)
    return found


@compiled()
def _masks(states, params, masks):
    for i in range(states.shape[0]):
        legal(states[i], params[0], masks[i])


@compiled()
def _shoot(states, params, actions, shots):
    # Plays a shot in each game that is not over; returns how many games go on.
    left = 0
    for i in range(states.shape[0]):
        if states[i].terminated == 0:
            step(states[i], params[0], actions[i])
            shots[i] = states[i].shots[0]
            left += states[i].terminated == 0
    return left


def _clear_in_batches(ruleset: Ruleset, agent: Agent, states: np.ndarray, shots: np.ndarray) -> None:
    masks = np.zeros((len(states), ruleset.num_actions), np.int8)
    seats, left = np.zeros(len(states), np.int64), len(states)
    agent.begin(ruleset, seats.tolist(), range(len(states)))
    while left:
        _masks(states, ruleset.params, masks)
        masks[states["terminated"] != 0] = 1  # whatever is answered in a game that is over is not played
        actions = agent.act_batch(agent_views(ruleset, states, seats), masks)
        left = _shoot(states, ruleset.params, np.ascontiguousarray(actions, np.int64), shots)


@compiled()
def _draw(records, params, weights, touch, fleets):
    for n in range(fleets.shape[0]):
        belief.draw_weighted(records[0], params[0], weights, touch, fleets[n])


def draw(ruleset: Ruleset, placement: str | Hiding, count: int, seed: int) -> np.ndarray:
    """`(count, ships)` placements of fleets, drawn by a placement strategy of `parse_placement` or by a `Hiding`."""
    if isinstance(placement, str):
        return draw_fleets(ruleset, placement, count, 0, seed)
    records = np.zeros(1, _RECORD)
    records["rng_key"] = np.uint64(2 * seed + 1)
    fleets = np.zeros((count, len(ruleset.params["sizes"][0])), np.int64)
    _draw(records, ruleset.params, placement.weights.ravel(), placement.touch, fleets)
    return fleets


@compiled()
def _edges(params, fleets, edges):
    for n in range(fleets.shape[0]):
        for ship in range(fleets.shape[1]):
            edges[n] += belief.edges_between(params[0], fleets[n], ship)


def edges(ruleset: Ruleset, fleets: np.ndarray) -> np.ndarray:
    """`(n,)`: edges between cells of different ships."""
    found = np.zeros(len(fleets), np.int64)
    _edges(ruleset.params, fleets, found)
    return found


@compiled()
def _beliefs(states, params, side, weights, weighted, touch, rounds, on):
    belief.believe(states[0], params[0], side, weights, weighted, touch, rounds, on)


def beliefs(ruleset: Ruleset, view: np.void, hiding: Hiding | None = None, rounds: int = belief.ROUNDS) -> np.ndarray:
    """`(ships, cells)` float64: how likely each ship of the opponent of side 0 is believed to lie on each cell."""
    states = ruleset.zeros()
    states[0] = view
    on = np.zeros((len(ruleset.params["sizes"][0]), int(ruleset.params["cells"][0])))
    weights = np.ones(on.size * 2) if hiding is None else hiding.weights.ravel()
    _beliefs(
        states, ruleset.params, 0, weights, hiding is not None, 1.0 if hiding is None else hiding.touch, rounds, on
    )
    return on
