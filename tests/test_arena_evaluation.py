"""Evaluation counts games that differ."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from asobiba import cli
from asobiba.arena.evaluation import cross_play, evaluate, matrix, opening, opening_plies
from asobiba.core import Agent, GameParameterError, make_agent, registry, states


def agents(game, *names):
    return [(name, make_agent(game, name)) for name in names]


@pytest.fixture(scope="module")
def nim():
    return registry.game("toy_nim").ruleset(heaps=4, size=5)


class Greedy(Agent):
    """Takes as much as it can from the first heap that there is; never varies."""

    name = "greedy"

    def reset(self, ruleset, seat, seed):
        pass

    def act(self, view, legal):
        return int(np.flatnonzero(legal)[-1])


def test_two_players_who_never_vary_play_two_games_however_often_they_are_asked(nim):
    one, other = ("greedy", Greedy()), ("greedy too", Greedy())
    result = evaluate(nim, one, other, games=200, plies=0)
    assert (result.games, result.distinct) == (200, 2)
    assert result.high - result.low > 0.6  # one pair tells next to nothing
    varied = evaluate(nim, one, other, games=200)
    assert varied.opening_plies == 4
    assert varied.distinct > 20
    assert varied.high - varied.low < result.high - result.low


def test_the_interval_holds_the_truth_as_often_as_it_says(nim):
    """Random players on both sides: every opening from both sides is worth one half on the mean."""
    one, other = agents(nim.game, "random", "random")
    held = 0
    for series in range(30):
        result = evaluate(nim, one, other, games=30, seed=1000 * series)
        held += result.low <= 0.5 <= result.high
    assert held >= 25  # 28.5 expected; fewer have a chance of 0.4 %


def test_openings_are_legal_go_on_and_come_again(nim):
    seen = set()
    for seed in range(30):
        state, moves = opening(nim, seed, 3)
        again, same = opening(nim, seed, 3)
        assert not states.is_over(state)
        assert moves == same
        assert state.tobytes() == again.tobytes()
        replayed = states.new_state(nim, seed)
        for move in moves:
            replayed = states.step(nim, replayed, move)
        assert replayed.tobytes() == state.tobytes()
        seen.add(moves)
    assert len(seen) > 20


def test_openings_that_make_no_sense_are_refused(nim):
    with pytest.raises(GameParameterError, match="at least 0"):
        opening_plies(nim, -1)
    with pytest.raises(GameParameterError, match="do not move in turn"):
        opening_plies(registry.game("toy_village").ruleset(), 2)
    with pytest.raises(GameParameterError, match="ask for fewer"):
        opening(registry.game("toy_nim").ruleset(heaps=1, size=1), 0, 4)
    assert opening_plies(registry.game("toy_kuhn").ruleset()) == 0


def test_cross_play_is_a_matrix_whose_sides_add_up(nim):
    names = ["bouton", "random"]
    scores = matrix(names, cross_play(nim, agents(nim.game, *names), games=60))
    assert np.isnan(np.diag(scores)).all()
    assert scores[0, 1] + scores[1, 0] == pytest.approx(1)
    assert scores[0, 1] > 0.6


def test_the_command_writes_what_it_prints(tmp_path):
    found = CliRunner().invoke(
        cli.app, ["evaluate", "toy_nim", "bouton", "-a", "random", "-n", "40", "-o", str(tmp_path / "found.json")]
    )
    assert found.exit_code == 0, found.output
    (row,) = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))
    assert row["games"] == 40
    assert f"{100 * row['score']:.1f}" in found.output
