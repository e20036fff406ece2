"""Gogo's learned evaluation: inputs, whole numbers beside PyTorch, learning, and the agent that uses it."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from asobiba.arena.evaluation import evaluate
from asobiba.baselines.gogo import learned_rules
from asobiba.baselines.gogo.evaluation import FILE, INPUTS, SCALE, SIDE
from asobiba.baselines.gogo.learning import LESSON, inputs
from asobiba.baselines.search.alpha_beta import Searcher
from asobiba.baselines.search.rows import MOST, UNIT
from asobiba.baselines.search.rows_learning import play_games, train
from asobiba.core import GameParameterError, make_agent
from asobiba.core.states import is_over, legal_actions, new_state, step
from asobiba.envs.gogo import GAME

GOGO = GAME.ruleset()


@cache
def positions():
    """Positions of random games from all their stages, with the actions that led to each."""
    found, generator = [], np.random.default_rng(0)
    for _ in range(12):
        state, actions = new_state(GOGO, 0), []
        while not is_over(state):
            found.append((state, tuple(actions)))
            actions.append(int(generator.choice(legal_actions(GOGO, state))))
            state = step(GOGO, state, actions[-1])
    return found[::7]


def network(weights, counts):
    """The network in floating point, as PyTorch fits it."""
    sums = weights["rows"][np.arange(INPUTS), counts].sum(0) / UNIT + weights["first"] / UNIT
    hidden = weights["hidden"] / UNIT @ np.clip(sums, 0, MOST / UNIT) + weights["second"] / UNIT**2
    return weights["last"] / UNIT @ np.clip(hidden, 0, MOST / UNIT) + weights["bias"][0] / UNIT**2


def test_whole_numbers_give_what_the_network_gives():
    searcher, weights = Searcher(GOGO, nodes=10, search_module=learned_rules), dict(np.load(FILE))
    states = np.array([state for state, _ in positions()])
    found = [searcher.evaluate(state) for state in states]
    wanted = [SCALE * network(weights, counts) for counts in inputs(GOGO, states)]
    # Each unit of the second layer is rounded down to 1 / UNIT.
    most = SCALE * np.abs(weights["last"]).sum() / UNIT**2 + 1
    assert len(set(found)) > len(found) // 2
    assert np.abs(np.array(found) - wanted).max() <= most


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
    one, same = (play_games(GAME, LESSON, "alpha_beta:nodes=5", numbers, seed=3) for _ in range(2))
    other = play_games(GAME, LESSON, "alpha_beta:nodes=5", numbers, seed=4)
    assert (one.inputs == same.inputs).all()
    assert (one.results == same.results).all()
    assert (one.scores == same.scores).all()
    assert one.inputs.shape != other.inputs.shape or (one.inputs != other.inputs).any()
    assert set(np.unique(one.results)) <= {0.0, 0.5, 1.0}
    assert set(one.games) <= set(numbers)


def test_weights_do_not_depend_on_the_processes_that_play(tmp_path):
    folders = tmp_path / "one", tmp_path / "two"
    for workers, folder in enumerate(folders, start=1):
        record = train(GAME, LESSON, "alpha_beta:nodes=5", 30, folder, epochs=2, workers=workers)
        assert record["positions"] > 30
    with (
        np.load(folders[0] / "evaluation.npz") as one,
        np.load(folders[1] / "evaluation.npz") as two,
        np.load(FILE) as shipped,
    ):
        assert all((one[name] == two[name]).all() for name in one)
        assert {name: array.shape for name, array in one.items()} == {
            name: array.shape for name, array in shipped.items()
        }


def test_only_a_search_teaches():
    with pytest.raises(GameParameterError, match="the teacher is a search, alpha-beta or UCT, not 'champion'"):
        play_games(GAME, LESSON, "champion", range(1))


def test_the_learned_evaluation_beats_the_champion_with_a_small_budget():
    learned, champion = ((name, make_agent(GAME, name)) for name in ("alpha_beta_learned:nodes=50", "champion"))
    found = evaluate(GOGO, learned, champion, games=40, plies=4)
    assert found.distinct >= 30
    assert found.score >= 0.6
