"""Evaluation counts games that differ."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from typer.testing import CliRunner

from asobiba import cli
from asobiba.arena.evaluation import cross_play, evaluate, matrix, play_groups
from asobiba.core import Agent, GameParameterError, make_agent, registry


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
    assert varied.opening_plies == 2
    assert varied.distinct > 20
    assert varied.high - varied.low < result.high - result.low


class Cheat(Greedy):
    name = "cheat"

    def act(self, view, legal):
        return int(np.flatnonzero(legal == 0)[0]) if (legal == 0).any() else 0


def test_games_that_an_illegal_action_ends_are_counted(nim):
    cheat, other = ("cheat", Cheat()), ("greedy", Greedy())
    mine, theirs = evaluate(nim, cheat, other, games=40), evaluate(nim, other, cheat, games=40)
    assert 0 < mine.forfeits <= 40
    assert mine.opponent_forfeits == 0
    assert (theirs.forfeits, theirs.opponent_forfeits) == (0, mine.forfeits)
    fair = evaluate(nim, *agents(nim.game, "random", "random"), games=40)
    assert fair.forfeits == fair.opponent_forfeits == 0


def test_the_interval_holds_the_truth_as_often_as_it_says(nim):
    """Random players on both sides: every opening from both sides is worth one half on the mean."""
    one, other = agents(nim.game, "random", "random")
    held = 0
    for series in range(30):
        result = evaluate(nim, one, other, games=30, seed=1000 * series)
        held += result.low <= 0.5 <= result.high
    assert held >= 25  # 28.5 expected; fewer have a chance of 0.4 %


def test_games_side_by_side_are_those_played_one_after_another(nim):
    opened = nim.opened()
    side_by_side, slowly = (
        play_groups(
            opened, *(agent if fast else OneByOne(agent) for _, agent in agents(nim.game, "bouton", "random")), 20, 3
        )
        for fast in (True, False)
    )

    def told(groups):
        return [
            [(game.gain, game.identity, game.steps, game.decisions, game.other_decisions) for game in group]
            for group in groups
        ]

    assert told(side_by_side) == told(slowly)
    assert all(
        game.decisions + game.other_decisions == game.steps - opened.opening_plies
        for group in side_by_side
        for game in group
    )


@pytest.mark.parametrize("together", [False, True])
def test_the_first_decision_of_either_side_compiles_outside_the_clock(nim, together):
    class Counting(Greedy):
        asked = 0

        def act(self, view, legal):
            self.asked += 1
            return super().act(view, legal)

    class Together(Counting):
        def act_batch(self, views, legal):
            return np.array([self.act(view, mask) for view, mask in zip(views, legal, strict=True)])

    agents = [Together() if together else Counting() for _ in range(2)]
    games = [game for group in play_groups(nim.opened(), *agents, 6, 3) for game in group]
    counted = sum(game.decisions for game in games), sum(game.other_decisions for game in games)
    assert min(counted) > 6
    assert tuple(agent.asked - 1 for agent in agents) == counted
    assert all(game.seconds > 0 and game.other_seconds > 0 for game in games)


class OneByOne(Agent):
    """Asks another agent, but not for many games at once."""

    def __init__(self, agent):
        self.agent, self.name = agent, agent.name

    def reset(self, ruleset, seat, seed):
        self.agent.reset(ruleset, seat, seed)

    def act(self, view, legal):
        return self.agent.act(view, legal)


def test_an_agent_that_fails_is_told_not_beaten(nim):
    class Broken(Greedy):
        def act(self, view, legal):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        evaluate(nim, ("broken", Broken()), ("greedy", Greedy()), games=2)


def test_openings_that_make_no_sense_are_refused(nim):
    one, other = ("greedy", Greedy()), ("greedy too", Greedy())
    with pytest.raises(GameParameterError, match="from 0"):
        evaluate(nim, one, other, plies=-1)
    with pytest.raises(GameParameterError, match="do not move in turn"):
        evaluate(registry.game("toy_village").ruleset(), one, other, plies=2)
    with pytest.raises(GameParameterError, match="name an opponent"):
        evaluate(nim, one, None)


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
    assert row["opening_plies"] == row["parameters"]["opening_plies"] == 2
    assert (row["game"], row["seed"]) == ("asobiba/toy_nim-v0", 0)
    assert f"{row['milliseconds']:.3g}" in found.output
    assert f"({row['opponent_milliseconds']:.3g})" in found.output
    assert f"{100 * row['score']:.1f}" in found.output
    again = CliRunner().invoke(
        cli.app, ["evaluate", "toy_nim", "bouton", "random", "-n", "8", "-o", str(tmp_path / "found.csv")]
    )
    assert again.exit_code == 0, again.output
    rows = list(csv.DictReader((tmp_path / "found.csv").open(encoding="utf-8")))
    assert len(rows) == 1
    assert {"score_first", "score_second", "distinct", "groups", "illegal", "milliseconds"} <= set(rows[0])
