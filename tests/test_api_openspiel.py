"""OpenSpiel's own algorithms and checks on our games."""

from __future__ import annotations

import numpy as np
import pyspiel
import pytest
from asobiba_toys import roshambo
from open_spiel.python.algorithms import cfr, exploitability, ismcts, mcts, minimax

from asobiba.api import openspiel
from asobiba.core import GameParameterError, game, games, register_game

SMALL = {"height": 3, "width": 3, "fleet": "2", "placement": "r", "hit_again": True, "horizon": 2, "chance_outcomes": 6}
"""Battleship with 3 x 3 cells, one ship of two cells for each side, and two shots: a tree that CFR walks through."""


@pytest.fixture(scope="module")
def small():
    (short,) = openspiel.register(game("battleship"))
    return pyspiel.load_game(short, SMALL)


@pytest.mark.parametrize("name", ["toy_nim", "toy_kuhn", "toy_walk"])
def test_random_simulation(name):
    (short,) = openspiel.register(game(name))
    pyspiel.random_sim_test(pyspiel.load_game(short), num_sims=2, serialize=True, verbose=False)


@pytest.mark.parametrize(("heaps", "size"), [(2, 2), (2, 3), (3, 1), (3, 2), (3, 3)])
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


def test_battleship_is_learned_by_counterfactual_regret_minimisation(small):
    solver = cfr.CFRSolver(small)
    before = exploitability.exploitability(small, solver.average_policy())
    assert before > 0.05
    for _ in range(12):
        solver.evaluate_and_update_policy()
    assert exploitability.exploitability(small, solver.average_policy()) < 0.5 * before


def test_monte_carlo_tree_search_in_python_and_in_cpp():
    (short,) = openspiel.register(game("toy_nim"))
    spiel = pyspiel.load_game(short, {"heaps": 2, "size": 3})
    state = spiel.new_initial_state()
    assert spiel.get_type().reward_model == pyspiel.GameType.RewardModel.TERMINAL
    wins = [
        a
        for a in state.legal_actions()
        if minimax.alpha_beta_search(spiel, state.child(a), maximizing_player_id=0)[0] == 1
    ]
    python = mcts.MCTSBot(
        spiel, 2.0, 200, mcts.RandomRolloutEvaluator(1, np.random.RandomState(1)), random_state=np.random.RandomState(1)
    )
    assert 0 < len(wins) < len(state.legal_actions())
    assert python.step(state) in wins
    evaluator = pyspiel.RandomRolloutEvaluator(1, 1)
    compiled = pyspiel.MCTSBot(spiel, evaluator, 2.0, 200, 10, True, 1, False)
    # MCTSBot.step of OpenSpiel 2.0 crashes on any game written in Python, its own included; its search does not.
    assert compiled.mcts_search(state).best_child().action in wins


def test_information_set_search_resamples_what_is_hidden(small):
    state = small.new_initial_state()
    state.apply_action(0)
    fleets = set()
    generator = np.random.default_rng(0)
    for _ in range(40):
        drawn = state.resample_from_infostate(0, generator.random)
        assert drawn.information_state_string(0) == state.information_state_string(0)
        assert drawn.information_state_tensor(0) == state.information_state_tensor(0)
        assert (drawn.record["fleet"][0] == state.record["fleet"][0]).all()
        fleets.add(drawn.record["fleet"][1].tobytes())
    assert len(fleets) == 12  # all placements of a ship of two cells
    target = state.record["fleet"][1]
    hit = int(np.flatnonzero(target)[0])
    state.apply_action(hit)
    bot = ismcts.ISMCTSBot(
        game=small,
        evaluator=mcts.RandomRolloutEvaluator(1, np.random.RandomState(1)),
        uct_c=1.0,
        max_simulations=150,
        random_state=np.random.RandomState(1),
    )
    shot = bot.step(state)
    assert abs(shot // 3 - hit // 3) + abs(shot % 3 - hit % 3) == 1  # the other cell of the ship is beside the hit


def test_information_state_tensors_hold_the_way_to_a_position(small):
    state = small.new_initial_state()
    state.apply_action(3)
    fleet = state.record["fleet"][1]
    miss = int(np.flatnonzero(fleet == 0)[0])
    state.apply_action(miss)
    rows, width = small.information_state_tensor_shape()
    mine, theirs = (np.reshape(state.information_state_tensor(player), (rows, width)) for player in (0, 1))
    assert rows == 3
    assert mine[:, 0].tolist() == theirs[:, 0].tolist() == [1, 1, 0]
    assert np.flatnonzero(mine[1, 1 : 1 + small.num_distinct_actions()]).tolist() == [miss]
    assert theirs[1, 1 : 1 + small.num_distinct_actions()].sum() == 0
    assert mine[0, 1 + small.num_distinct_actions() + miss] == 0
    assert mine[1, 1 + small.num_distinct_actions() + miss] == 1


def test_sequences_and_absent_values_are_text():
    (short,) = openspiel.register(game("battleship"))
    as_text = pyspiel.load_game(f"{short}(height=4,width=4,fleet=3;2,placement=none)")
    assert as_text.ruleset.parameters["fleet"] == (3, 2)
    assert as_text.ruleset.parameters["placement"] is None
    again = pyspiel.load_game(str(as_text))
    assert again.ruleset == as_text.ruleset
    with pytest.raises(GameParameterError, match="horizon"):
        pyspiel.load_game(short, {"horizon": -1})


@pytest.mark.parametrize("found", [g for g in games() if openspiel.playable(g)], ids=lambda g: g.name)
def test_rewards_come_at_the_end_where_the_type_says_so(found):
    (short,) = openspiel.register(found)
    spiel = pyspiel.load_game(short, {"horizon": 60})
    if spiel.get_type().reward_model != pyspiel.GameType.RewardModel.TERMINAL:
        assert found.utility != "zero_sum" or spiel.ruleset.layout.return_range is not None
        return
    generator, state = np.random.default_rng(0), spiel.new_initial_state()
    while not state.is_terminal():
        assert state.returns() == [0] * spiel.num_players()
        if state.is_simultaneous_node():
            legal = [state.legal_actions(player) or [0] for player in range(spiel.num_players())]
            state.apply_actions([int(generator.choice(actions)) for actions in legal])
        else:
            state.apply_action(int(generator.choice(state.legal_actions())))


def test_simultaneous_nodes():
    """Rock, paper, scissors: CFR on the turn-based form finds a third each, which nobody can exploit."""
    register_game(roshambo.GAME)
    (short,) = openspiel.register(roshambo.GAME)
    spiel = pyspiel.load_game(short)
    state = spiel.new_initial_state()
    assert state.is_simultaneous_node()
    state.apply_actions([1, 0])
    assert state.is_terminal()
    assert state.returns() == [1, -1]
    pyspiel.random_sim_test(pyspiel.load_game(short, {"rounds": 3}), num_sims=2, serialize=False, verbose=False)
    turns = pyspiel.convert_to_turn_based(spiel)
    solver = cfr.CFRSolver(turns)
    for _ in range(3):
        solver.evaluate_and_update_policy()
    assert exploitability.exploitability(turns, solver.average_policy()) < 1e-9


def test_games_without_an_openspiel_form():
    with pytest.raises(GameParameterError, match="toy_push has no OpenSpiel form"):
        openspiel.register(game("toy_push"))
