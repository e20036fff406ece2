"""The classical battleship agents: their settings, and their declarations."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable

import numpy as np

from asobiba.baselines.battleship.exact_count import MAX_CELLS, placements_bound
from asobiba.baselines.battleship.policy import (
    CHECKERBOARD,
    COUNTING,
    EXACT,
    MEMORY,
    NEIGHBOURHOOD,
    RANDOM,
    play,
    play_hunting,
)
from asobiba.core import Agent, AgentDeclaration, GameParameterError, KernelAgent, Ruleset, compiled
from asobiba.core.agents import Hand
from asobiba.core.states import new_state
from asobiba.envs.battleship.parameters import parse_placement

_PAPER = "Evaluation of Attacking and Placing Strategies in a Classic Battleship Game"


@compiled()
def _bound(params):
    return placements_bound(params[0])


def require_countable(ruleset: Ruleset) -> None:
    """Raises `GameParameterError` if the fleets of this ruleset are too many, or its board too large, to be counted."""
    cells = int(ruleset.params["cells"][0])
    if cells > MAX_CELLS:
        raise GameParameterError(f"counting fleets takes boards of at most {MAX_CELLS} cells, this one has {cells}")
    if _bound(ruleset.params) * cells >= 2.0**62:
        raise GameParameterError("counting fleets of so many ships would overflow 64 bits; take fewer or larger ships")


class CountingAgent(KernelAgent):
    """An agent that counts fleets: it refuses boards of more than 128 cells."""

    def prepare(self, ruleset: Ruleset) -> None:
        require_countable(ruleset)


class ExactAgent(CountingAgent):
    """Counts the fleets of the empty board, the longest count of a game, once for all games of a ruleset."""

    def initial_for(self, ruleset: Ruleset) -> np.ndarray:
        initial = self.initial.copy()
        initial["opened"], initial["opening"] = 1, _opening(ruleset)
        return initial


@functools.lru_cache(maxsize=16)
def _opening(ruleset: Ruleset) -> np.ndarray:
    # The memory after the policy's first decision.
    agent = KernelAgent(play, MEMORY, {"attack": EXACT})
    hand = Hand(ruleset, (agent,), 1)
    hand.occupants[:] = 0
    hand.memories[0][:] = agent.initial
    state = new_state(ruleset, 0)
    state["placed"] = len(ruleset.params["sizes"][0])
    hand.act(state, np.ones(ruleset.num_actions, np.int8), 0)
    return hand.memories[0]["opening"][0].copy()


def _agent(kind: type[KernelAgent], attack: int, placement: str, **settings: int) -> KernelAgent:
    policy = play if attack >= COUNTING else play_hunting
    return kind(policy, MEMORY, {"attack": np.int64(attack), **parse_placement(placement), **settings}, "battleship")


def _whole(name: str, value: object, least: int, most: int) -> int:
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or not least <= value <= most:
        raise GameParameterError(f"{name}={value!r}: give a whole number from {least} to {most}")
    return int(value)


def make_r(placement: str = "r") -> KernelAgent:
    """R: random undetermined cells."""
    return _agent(KernelAgent, RANDOM, placement)


def make_rnb(placement: str = "r") -> KernelAgent:
    """RNB: random, and the neighbourhood of hits."""
    return _agent(KernelAgent, NEIGHBOURHOOD, placement)


def _flag(name: str, value: object) -> int:
    if not isinstance(value, (bool, np.bool_)):
        raise GameParameterError(f"{name}={value!r}: give true or false")
    return int(value)


def make_cb(placement: str = "r", largest_first: bool = False) -> KernelAgent:
    """CB: checkerboard, and the neighbourhood of hits.

    `largest_first`: inside a set of the checkerboard, first the cells where the largest ship afloat still fits.
    """
    return _agent(KernelAgent, CHECKERBOARD, placement, largest_first=_flag("largest_first", largest_first))


def make_mp(x: int = 70, ships: int = 4, placement: str = "r", largest_first: bool = False) -> KernelAgent:
    """MPx: CB, then the fewest possible placements after a miss."""
    return make_la(1, 1, x, ships, placement, largest_first)


def make_la(
    look: int = 2, prune: int = 8, x: int = 70, ships: int = 4, placement: str = "r", largest_first: bool = False
) -> KernelAgent:
    """LAx_y_z: MP that looks `look` misses ahead over the `prune` best cells of each level."""
    return _agent(
        CountingAgent,
        COUNTING,
        placement,
        look=_whole("look", look, 1, 4),
        prune=_whole("prune", prune, 1, 128),
        threshold=_whole("x", x, 0, MAX_CELLS),
        ships=_whole("ships", ships, 1, 32),
        largest_first=_flag("largest_first", largest_first),
    )


def make_mp_exact(placement: str = "r") -> KernelAgent:
    """Exact counting of all fleets that fit everything known, at every shot."""
    return _agent(ExactAgent, EXACT, placement)


def _declare(name: str, make: Callable[..., KernelAgent], text: str, source: str = _PAPER, league: bool = True):
    return AgentDeclaration(name, make, text, source, league=league)


AGENTS = (
    _declare("r", make_r, "R: random undetermined cells"),
    _declare("rnb", make_rnb, "RNB: random, then the neighbourhood of a hit"),
    _declare("cb", make_cb, "CB: checkerboard, and the neighbourhood of a hit"),
    _declare("mp", make_mp, "MPx: CB, then fewest possible placements from x undetermined cells on"),
    _declare("la", make_la, "LA: MP with look-ahead over several misses", league=False),
    _declare("mp_exact", make_mp_exact, "exact counting of all fleets that fit, at every shot"),
)


def alone(declaration: AgentDeclaration) -> AgentDeclaration:
    """The agent without its `placement`: in the one-sided game it has no fleet."""
    make = declaration.make

    @functools.wraps(make)
    def made(**settings: int) -> Agent:
        return make(**settings)

    parameters = [p for name, p in inspect.signature(make).parameters.items() if name != "placement"]
    made.__signature__ = inspect.signature(make).replace(parameters=parameters)  # type: ignore[attr-defined]
    return dataclasses.replace(declaration, make=made)
