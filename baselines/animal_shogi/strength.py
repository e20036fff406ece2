"""The share of exact values that an agent keeps, over positions drawn from the whole game and over its own games."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from asobiba.baselines.animal_shogi.perfect import Accuracy, judge_decisions
from asobiba.baselines.animal_shogi.solver.index import WHOLE_GAME, open_numbers
from asobiba.baselines.animal_shogi.solver.table import ValueTable
from asobiba.core import Agent, Ruleset
from asobiba.core.states import action_mask, is_over, legal_actions, new_state, step, view_of
from asobiba.envs.animal_shogi.position import judge


def drawn_positions(
    table: ValueTable, ruleset: Ruleset, outcomes: tuple[int, ...], count: int, seed: int
) -> list[np.void]:
    """States of positions drawn uniformly from all that the table holds (legal, no lion can be caught at once, mirror
    images are one) with one of these outcomes for the player to move: 1 won, 0 drawn, -1 lost. The history is empty."""
    generator = np.random.default_rng(seed)
    material = WHOLE_GAME if table.whole else max(table.materials)
    found: list[np.void] = []
    while len(found) < count:
        positions, values = table.held(material, generator.integers(0, open_numbers(material), 64 * count))
        for position in positions[np.isin(values, outcomes)].tolist():
            states = ruleset.zeros()
            judge(states, ruleset.params, position, 0)
            if not is_over(states[0]) and len(found) < count:
                found.append(states[0])
    return found


@dataclass
class Judged:
    """Decisions of an agent against the table.

    `accuracy`: how many kept the value; `loss`: mean value given away a decision, where a win counts 1, a draw 0 and a
    loss -1; `error` its standard error.
    """

    accuracy: Accuracy
    loss: float
    error: float


def judged(table: ValueTable, states: list[np.void], masks: np.ndarray, actions: np.ndarray) -> Judged:
    """The decisions of any agent."""
    positions = np.array([state["position"] for state in states], np.int64)
    outcomes, _ = table.move_values(positions, masks)
    given = outcomes.max(1).astype(float) - outcomes[np.arange(len(actions)), actions]
    error = float(given.std(ddof=1) / np.sqrt(len(given))) if len(given) > 1 else float("nan")
    return Judged(judge_decisions(table, positions, masks, actions), float(given.mean()), error)


def over_positions(table: ValueTable, ruleset: Ruleset, agent: Agent, states: list[np.void], seed: int = 0) -> Judged:
    """An agent's moves in these positions, each asked as the first of a game."""
    masks = np.array([action_mask(ruleset, state) for state in states])
    actions = []
    for number, (state, mask) in enumerate(zip(states, masks, strict=True)):
        agent.reset(ruleset, int(state["to_move"]), seed + number)
        actions.append(int(agent.act(view_of(ruleset, state, int(state["to_move"])), mask)))
    return judged(table, states, masks, np.array(actions))


@dataclass
class Played:
    """Games of two agents: points of the first (a draw is half), and each agent's decisions and seconds."""

    games: int = 0
    points: float = 0.0
    states: tuple[list[np.void], list[np.void]] = field(default_factory=lambda: ([], []))
    actions: tuple[list[int], list[int]] = field(default_factory=lambda: ([], []))
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
    from time import perf_counter

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
            found.actions[k].append(action)
            state = step(ruleset, state, action)
        first = mover if who[mover] == 0 else 1 - mover
        found.points += 0.5 + float(np.sign(state["rewards"][first])) / 2
        found.games += 1
    return found


def over_games(table: ValueTable, ruleset: Ruleset, played: Played, who: int = 0) -> Judged:
    """The decisions that an agent made in its own games, lost positions included."""
    states = played.states[who]
    masks = np.array([action_mask(ruleset, state) for state in states])
    return judged(table, states, masks, np.array(played.actions[who]))
