"""OpenSpiel's own algorithms and checks on our games."""

from __future__ import annotations

import numpy as np
import pyspiel
import pytest
from open_spiel.python.algorithms import cfr, exploitability, minimax

from asobiba.api import openspiel
from asobiba.core import GameParameterError, game


@pytest.mark.parametrize("name", ["toy_nim", "toy_kuhn", "toy_walk"])
def test_random_simulation(name):
    (short,) = openspiel.register(game(name))
    pyspiel.random_sim_test(pyspiel.load_game(short), num_sims=2, serialize=True, verbose=False)


@pytest.mark.parametrize(("heaps", "size"), [(1, 3), (2, 2), (2, 3), (3, 2), (3, 3)])
def test_minimax_agrees_with_bouton(heaps, size):
    """The first player wins exactly where the nim sum of the heaps is not 0 (Bouton 1901)."""
    (short,) = openspiel.register(game("toy_nim"))
    spiel = pyspiel.load_game(short, {"heaps": heaps, "size": size})
    value, _ = minimax.alpha_beta_search(spiel)
    nim_sum = np.bitwise_xor.reduce([min(h + 1, size) for h in range(heaps)])
    assert value == (1 if nim_sum else -1)


def test_counterfactual_regret_minimisation():
    (short,) = openspiel.register(game("toy_kuhn"))
    spiel = pyspiel.load_game(short, {"hands": 1, "chance_outcomes": 12})
    solver = cfr.CFRSolver(spiel)
    before = exploitability.nash_conv(spiel, solver.average_policy())
    for _ in range(40):
        solver.evaluate_and_update_policy()
    assert exploitability.nash_conv(spiel, solver.average_policy()) < 0.15 * before


def test_chance_nodes():
    (short,) = openspiel.register(game("toy_walk"))
    spiel = pyspiel.load_game(short, {"slip": 0.5, "chance_outcomes": 200})
    start = spiel.new_initial_state()
    assert start.is_chance_node()
    assert len(start.chance_outcomes()) == 200
    start.apply_action(3)
    assert start.current_player() == 0
    start.apply_action(1)
    assert start.is_chance_node()
    places = []
    for outcome, probability in start.chance_outcomes():
        child = start.child(outcome)
        places.append(child.record["place"])
        assert probability == 1 / 200
    assert len(set(places)) == 2
    assert abs(places.count(min(places)) - 100) < 40
    assert not pyspiel.load_game(openspiel.register(game("toy_nim"))[0]).new_initial_state().is_chance_node()


def test_information_states_tell_no_more_than_views():
    (short,) = openspiel.register(game("toy_kuhn"))
    spiel = pyspiel.load_game(short, {"chance_outcomes": 64})
    strings: dict[tuple, set] = {}
    for outcome in range(64):
        state = spiel.new_initial_state()
        state.apply_action(outcome)
        for player in range(2):
            card = int(state.record["cards"][player])
            strings.setdefault((player, card), set()).add(state.information_state_string(player))
    assert len(strings) == 6
    assert all(len(found) == 1 for found in strings.values())


def test_games_without_an_openspiel_form():
    with pytest.raises(GameParameterError, match="toy_push has no OpenSpiel form"):
        openspiel.register(game("toy_push"))
