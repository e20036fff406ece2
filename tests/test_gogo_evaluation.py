"""Gogo's learned evaluation: inputs, whole numbers beside PyTorch, learning, and the agent that uses it."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from asobiba.arena.evaluation import evaluate
from asobiba.baselines.gogo import learned_rules
from asobiba.baselines.gogo.evaluation import FILES, INPUTS, PRESETS, SCALE, SIDE, STEP_OF
from asobiba.baselines.gogo.learning import _node, inputs, inputs_of, lesson
from asobiba.baselines.gogo.patterns import FOUR, OPEN_THREE, OPEN_TWO
from asobiba.baselines.search.alpha_beta import Searcher
from asobiba.baselines.search.rows import MOST, UNIT
from asobiba.baselines.search.rows_learning import play_games, train
from asobiba.core import GameParameterError, make_agent
from asobiba.core.states import action_mask, is_over, legal_actions, new_state, step
from asobiba.envs.gogo import GAME

GOGO = GAME.ruleset()


@cache
def positions(ruleset=GOGO):
    """Positions of random games from all their stages, with the actions that led to each."""
    found, generator = [], np.random.default_rng(0)
    for _ in range(12):
        actions: list[int] = []
        state = new_state(ruleset, 0)
        while not is_over(state):
            found.append((state, tuple(actions)))
            actions.append(int(generator.choice(legal_actions(ruleset, state))))
            state = step(ruleset, state, actions[-1])
    return found[::7]


def network(weights, counts):
    """The network in floating point, as PyTorch fits it."""
    sums = weights["rows"][np.arange(INPUTS), counts].sum(0) / UNIT + weights["first"] / UNIT
    hidden = weights["hidden"] / UNIT @ np.clip(sums, 0, MOST / UNIT) + weights["second"] / UNIT**2
    return weights["last"] / UNIT @ np.clip(hidden, 0, MOST / UNIT) + weights["bias"][0] / UNIT**2


@pytest.mark.parametrize("preset", PRESETS)
def test_whole_numbers_give_what_the_network_of_these_rules_gives(preset):
    ruleset = GAME.ruleset(preset=preset)
    searcher, weights = Searcher(ruleset, nodes=10, search_module=learned_rules), dict(np.load(FILES[preset]))
    states = np.array([state for state, _ in positions(ruleset)])
    found = [searcher.evaluate(state) for state in states]
    wanted = [SCALE * network(weights, counts) for counts in inputs(ruleset, states)]
    # Each unit of the second layer is rounded down to 1 / UNIT.
    most = SCALE * np.abs(weights["last"]).sum() / UNIT**2 + 1
    assert len(set(found)) > len(found) // 2
    assert np.abs(np.array(found) - wanted).max() <= most


@pytest.mark.parametrize("preset", PRESETS)
def test_points_of_two_patterns_are_counted(preset):
    """Beside each point's two greatest classes, sorted."""
    ruleset = GAME.ruleset(preset=preset)
    node, counts = _node(ruleset), np.zeros((1, INPUTS), np.int64)
    for state, _ in positions(ruleset)[::3]:
        inputs_of(np.array([state]), ruleset.params, node, counts)
        area, me = int(ruleset.params["area"][0]), int(state["to_move"])
        kinds = node["kinds"][0][: 8 * area].reshape(2, 4, area)
        for side, player in enumerate((me, 1 - me)):
            best = -np.sort(-kinds[player].astype(int), axis=0)[:2]
            doubles = (
                ((best[0] >= FOUR) & (best[1] >= OPEN_THREE)).sum(),
                ((best[0] == OPEN_THREE) & (best[1] == OPEN_THREE)).sum(),
                ((best[0] >= OPEN_THREE) & (best[1] < OPEN_THREE) & (best[1] >= OPEN_TWO)).sum(),
                ((best[0] < OPEN_THREE) & (best[1] >= OPEN_TWO)).sum(),
            )
            assert counts[0, SIDE * side + 9 : SIDE * (side + 1)].tolist() == STEP_OF[list(doubles)].tolist()


def test_sides_exchanged_exchange_their_inputs():
    """The same stones with the other player to move: his inputs stand first."""
    for state, _ in positions():
        other = state.copy()
        other["to_move"] = 1 - state["to_move"]
        ours, theirs = inputs(GOGO, np.array([state, other]))
        assert (ours[:SIDE] == theirs[SIDE : 2 * SIDE]).all()
        assert (ours[SIDE : 2 * SIDE] == theirs[:SIDE]).all()


def test_turned_boards_have_the_same_value():
    searcher = Searcher(GOGO, nodes=10, search_module=learned_rules)
    turns = GAME.symmetries(GOGO)
    assert len(turns) == 7
    for state, actions in positions()[::5]:
        value = searcher.evaluate(state)
        for turn in turns:
            turned = new_state(GOGO, 0)
            for action in actions:
                turned = step(GOGO, turned, turn.turned(action))
            assert searcher.evaluate(turned) == value


def test_games_are_played_again_by_their_seed(tmp_path):
    numbers = range(6)
    one, same = (play_games(GAME, lesson(), "alpha_beta:nodes=5", numbers, seed=3) for _ in range(2))
    other = play_games(GAME, lesson(), "alpha_beta:nodes=5", numbers, seed=4)
    assert (one.inputs == same.inputs).all()
    assert (one.results == same.results).all()
    assert (one.scores == same.scores).all()
    assert one.inputs.shape != other.inputs.shape or (one.inputs != other.inputs).any()
    assert set(np.unique(one.results)) <= {0.0, 0.5, 1.0}
    assert set(one.games) <= set(numbers)


def test_weights_do_not_depend_on_the_processes_that_play(tmp_path):
    folders = tmp_path / "one", tmp_path / "two"
    for workers, folder in enumerate(folders, start=1):
        record = train(GAME, lesson(), "alpha_beta:nodes=5", 30, folder, epochs=2, workers=workers)
        assert record["positions"] > 30
    with (
        np.load(folders[0] / "evaluation.npz") as one,
        np.load(folders[1] / "evaluation.npz") as two,
        np.load(FILES["gogo"]) as shipped,
    ):
        assert all((one[name] == two[name]).all() for name in one)
        assert {name: array.shape for name, array in one.items()} == {
            name: array.shape for name, array in shipped.items()
        }


def test_only_a_search_teaches():
    with pytest.raises(GameParameterError, match="the teacher is a search, alpha-beta or UCT, not 'champion'"):
        play_games(GAME, lesson(), "champion", range(1))


@pytest.mark.parametrize("agent", ["alpha_beta_learned:nodes=50", "uct_learned:simulations=50"])
def test_the_learned_evaluation_beats_the_champion_with_a_small_budget(agent):
    learned, champion = ((name, make_agent(GAME, name)) for name in (agent, "champion"))
    found = evaluate(GOGO, learned, champion, games=40, plies=4)
    assert found.distinct >= 30
    assert found.score >= 0.6


def test_one_simulation_plays_what_the_network_prefers():
    """The move of the list after which the network's value for the opponent is least, unless a move wins at once."""
    agent, searcher = (
        make_agent(GAME, "uct_learned:simulations=1"),
        Searcher(GOGO, nodes=10, search_module=learned_rules),
    )
    agent.reset(GOGO, 0, 0)
    compared = 0
    for state, _ in positions()[::3]:
        action = agent.act(state, action_mask(GOGO, state))
        after = {move: step(GOGO, state, move) for move in agent.last.means}
        if not any(is_over(child) for child in after.values()):
            values = {move: searcher.evaluate(child) for move, child in after.items()}
            assert values[action] == min(values.values())
            compared += len(values) > 1
    assert compared > 10
    with pytest.raises(GameParameterError, match="weight is at least 1 visit, not 0"):
        make_agent(GAME, "uct_learned:weight=0").reset(GOGO, 0, 0)
