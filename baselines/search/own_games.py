"""Games of two agents whose every decision is kept, for games of two players who move in turn, to hold them to exact values."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter

import numpy as np

from asobiba.core import Agent, Ruleset
from asobiba.core.states import action_mask, is_over, legal_actions, new_state, step, view_of


@dataclass
class Played:
    """Games of two agents: points of the first (a draw is half) and its results (1, 0 or -1), and each agent's decisions,
    the numbers of their games, and seconds."""

    games: int = 0
    points: float = 0.0
    results: list[int] = field(default_factory=list)
    states: tuple[list[np.void], list[np.void]] = field(default_factory=lambda: ([], []))
    actions: tuple[list[int], list[int]] = field(default_factory=lambda: ([], []))
    numbers: tuple[list[int], list[int]] = field(default_factory=lambda: ([], []))
    seconds: list[float] = field(default_factory=lambda: [0.0, 0.0])

    def milliseconds(self, who: int) -> float:
        """Time a move."""
        return 1000 * self.seconds[who] / max(len(self.actions[who]), 1)


def opening(ruleset: Ruleset, plies: int, seed: int) -> np.void:
    """The start after so many random moves, drawn again where they end the game."""
    generator = random.Random(seed)
    while True:
        state = new_state(ruleset, seed)
        for _ in range(plies):
            if not is_over(state):
                state = step(ruleset, state, generator.choice(legal_actions(ruleset, state).tolist()))
        if not is_over(state):
            return state


def play(
    ruleset: Ruleset,
    agents: tuple[Agent, Agent],
    games: int,
    begin: Callable[[int], np.void],
    both_sides: bool = True,
) -> Played:
    """Plays games from `begin(k)`; with `both_sides` each beginning twice, with sides changed, else the first agent moves
    first in all."""
    found = Played()
    for number in range(games):
        state = begin(number // 2 if both_sides else number)
        seats = (0, 1) if number % 2 == 0 or not both_sides else (1, 0)
        mover = int(state["to_move"])
        who = {mover: seats[0], 1 - mover: seats[1]}
        for seat, k in who.items():
            agents[k].reset(ruleset, seat, number)
        while not is_over(state):
            seat = int(state["to_move"])
            k, mask = who[seat], action_mask(ruleset, state)
            view, begun = view_of(ruleset, state, seat), perf_counter()
            action = int(agents[k].act(view, mask))
            found.seconds[k] += perf_counter() - begun
            found.states[k].append(state)
            found.numbers[k].append(number)
            found.actions[k].append(action)
            state = step(ruleset, state, action)
        first = mover if who[mover] == 0 else 1 - mover
        found.results.append(int(np.sign(state["rewards"][first])))
        found.points += 0.5 + found.results[-1] / 2
        found.games += 1
    return found
