"""Gogo's learned evaluation: inputs, whole numbers beside PyTorch, learning, and the agent that uses it."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from asobiba.arena.evaluation import evaluate
from asobiba.baselines.gogo import learned_rules
from asobiba.baselines.gogo.evaluation import INPUTS, MOST, NARROW, SCALE, SIDE, STEPS, UNIT, WIDTH, load_weights
from asobiba.baselines.gogo.learning import Examples, fit, inputs, play_games, train
from asobiba.baselines.search.alpha_beta import Searcher
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
    searcher, weights = Searcher(GOGO, nodes=10, search_module=learned_rules), load_weights()
    states = np.array([state for state, _ in positions()])
    found = [searcher.evaluate(state) for state in states]
    wanted = [SCALE * network(weights, counts) for counts in inputs(GOGO, states)]
    # Each of NARROW units is rounded down to 1 / UNIT.
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


def planted(count=12_000):
    """Examples whose result follows from captured pairs and from nothing else."""
    generator = np.random.default_rng(0)
    given = generator.integers(0, STEPS, (count, INPUTS)).astype(np.uint8)
    results = (given[:, 7] > given[:, SIDE + 7]).astype(np.float32)
    return Examples(given, results, 400 * results - 200, np.arange(count))


def test_learning_finds_what_decides():
    weights, lines = fit(planted(), epochs=30)
    assert lines[0]["tested"] > 0.6
    assert lines[-1]["tested"] < 0.25
    again, _ = fit(planted(), epochs=30)
    assert all((weights[name] == again[name]).all() for name in weights)
    assert weights["rows"].shape == (INPUTS, STEPS, WIDTH)
    assert weights["hidden"].shape == (NARROW, WIDTH)


def test_games_are_played_again_by_their_seed(tmp_path):
    one = play_games(GOGO, "alpha_beta:nodes=5", 6, seed=3)
    same, other = play_games(GOGO, "alpha_beta:nodes=5", 6, seed=3), play_games(GOGO, "alpha_beta:nodes=5", 6, seed=4)
    assert (one.inputs == same.inputs).all()
    assert (one.results == same.results).all()
    assert (one.scores == same.scores).all()
    assert one.inputs.shape != other.inputs.shape or (one.inputs != other.inputs).any()
    assert set(np.unique(one.results)) <= {0.0, 0.5, 1.0}
    assert set(one.games) <= set(range(6))
    record = train(GOGO, "alpha_beta:nodes=5", 12, tmp_path, epochs=2)
    assert record["positions"] > 12
    assert {name: array.shape for name, array in load_weights(tmp_path / "evaluation.npz").items()} == {
        name: array.shape for name, array in load_weights().items()
    }


def test_only_a_search_teaches():
    with pytest.raises(GameParameterError, match="the teacher is an alpha-beta search, not 'champion'"):
        play_games(GOGO, "champion", 1)


def test_the_learned_evaluation_beats_the_champion_with_a_small_budget():
    learned, champion = ((name, make_agent(GAME, name)) for name in ("alpha_beta_learned:nodes=50", "champion"))
    found = evaluate(GOGO, learned, champion, games=40, plies=4)
    assert found.distinct >= 30
    assert found.score >= 0.6
