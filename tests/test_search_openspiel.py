"""The search guided by a network beside OpenSpiel's: the same evaluator, the same positions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyspiel
import pytest
from network_tools import run_network, uniform_network
from open_spiel.python.algorithms import mcts

from asobiba.api import openspiel
from asobiba.core import registry, states
from asobiba.core.networks import Network
from asobiba.learn.kernels import load_network
from asobiba.learn.search import NetSearch

POLICIES = Path(__file__).parent.parent / "baselines"


class Prior(float):
    """The probability of a move, with the value of its position for the player to move, which moves without visits have."""

    value: float


class Evaluator(mcts.Evaluator):
    """A network's answers, as OpenSpiel asks for them."""

    def __init__(self, ruleset, network: Network):
        self.ruleset, self.network = ruleset, network

    def _answer(self, state) -> tuple[np.ndarray, float]:
        seen = states.observation(self.ruleset, state.record, state.current_player())
        computed = run_network(self.network, seen[None])[0].astype(np.float64)
        logits = computed[self.network.policy : self.network.policy + self.network.actions]
        return logits, float(np.clip(computed[self.network.value], -1, 1))

    def evaluate(self, state):
        value = self._answer(state)[1]
        return np.array([value, -value] if state.current_player() == 0 else [-value, value])

    def prior(self, state):
        logits, value = self._answer(state)
        legal = state.legal_actions()
        weights = np.exp(logits[legal] - logits[legal].max())
        found = []
        for action, weight in zip(legal, weights / weights.sum(), strict=True):
            prior = Prior(weight)
            prior.value = value
            found.append((action, prior))
        return found


class InOrder(np.random.RandomState):
    """Leaves moves in their order, in which the first of equal ones is taken."""

    def shuffle(self, x: Any) -> None:
        return


def our_rule(child, visits: int, exploration: float) -> float:
    """OpenSpiel's PUCT, but visits of a position count from its first move on, and moves without any have its value."""
    return child.puct_value(max(1, visits - 1), exploration) + (0.0 if child.explore_count else child.prior.value)


def spiel_of(game):
    (short,) = openspiel.register(game)
    spiel = pyspiel.load_game(short)
    assert spiel.ruleset == game.ruleset()
    return spiel


def has_an_end(node) -> bool:
    return node.outcome is not None or any(has_an_end(child) for child in node.children)


@pytest.mark.parametrize("name", ["animal_shogi", "bao"])
def test_trees_without_an_end_are_those_of_openspiel(name):
    """The same visits of every move and the same value of the position, whose only difference is rounding."""
    game = registry.game(name)
    spiel, network = spiel_of(game), load_network(POLICIES / name / "policies" / "gumbel_az" / "policy.safetensors")
    ruleset, generator, compared = game.ruleset(), np.random.default_rng(3), 0
    simulations, exploration = 60, 1.25
    bot = mcts.MCTSBot(
        spiel, exploration, simulations + 1, Evaluator(ruleset, network), solve=False, random_state=InOrder(0),
        child_selection_fn=our_rule,
    )  # fmt: skip
    searcher = NetSearch(ruleset, network, simulations, puct=True, exploration=exploration)
    for number in range(48):
        state = spiel.new_initial_state()
        for _ in range(number % 8):
            if not state.is_terminal():
                state.apply_action(int(generator.choice(state.legal_actions())))
        if state.is_terminal() or has_an_end(root := bot.mcts_search(state)):  # here an end is exact, not averaged
            continue
        compared += 1
        action, value = searcher.search(state.record)
        assert searcher.visits == {child.action: child.explore_count for child in root.children}
        assert value == pytest.approx(root.total_reward / root.explore_count, abs=1e-9)
        assert action == root.best_child().action
    assert compared >= 10


def test_both_play_the_winning_moves_of_nim_without_knowledge():
    """OpenSpiel's own rule and solver, with equal priors and values of 0 for both."""
    game = registry.game("toy_nim")
    spiel, ruleset, generator = spiel_of(game), game.ruleset(), np.random.default_rng(5)
    network = uniform_network(ruleset)
    bot = mcts.MCTSBot(
        spiel, 1.25, 1000, Evaluator(ruleset, network), random_state=np.random.RandomState(1),
        child_selection_fn=mcts.SearchNode.puct_value,
    )  # fmt: skip
    searcher, won = NetSearch(ruleset, network, 1000, puct=True), 0
    for number in range(12):
        state = spiel.new_initial_state()
        for _ in range(number % 4):
            if not state.is_terminal():
                state.apply_action(int(generator.choice(state.legal_actions())))
        if state.is_terminal():
            continue
        wins = {
            action
            for action in state.legal_actions()
            if not np.bitwise_xor.reduce(state.child(action).record["heaps"])  # Bouton
        }
        root = bot.mcts_search(state)
        action, value = searcher.search(state.record)
        assert root.outcome is not None  # both have solved it
        assert value == root.outcome[state.current_player()] == (1 if wins else -1)
        if wins:
            won += 1
            assert {action, root.best_child().action} <= wins
    assert won >= 6
