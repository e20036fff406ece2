"""The share of exact values that an agent keeps, over positions drawn from the whole game and over its own games."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from asobiba.baselines.animal_shogi.perfect import Accuracy, PerfectAgent, judge_decisions
from asobiba.baselines.animal_shogi.solver.index import WHOLE_GAME, open_numbers
from asobiba.baselines.animal_shogi.solver.table import ValueTable
from asobiba.baselines.search.own_games import Played, play
from asobiba.core import Agent, Ruleset
from asobiba.core.states import action_mask, is_over, view_of
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


def over_games(table: ValueTable, ruleset: Ruleset, played: Played, who: int = 0) -> Judged:
    """The decisions that an agent made in its own games, lost positions included."""
    states = played.states[who]
    masks = np.array([action_mask(ruleset, state) for state in states])
    return judged(table, states, masks, np.array(played.actions[who]))


def won_from(table: ValueTable, ruleset: Ruleset, agent: Agent, states: list[np.void]) -> int:
    """How many of these positions, won for the player to move, an agent wins against the defence that holds out longest."""
    played = play(ruleset, (agent, PerfectAgent(table.path)), len(states), states.__getitem__, both_sides=False)
    return played.results.count(1)
