"""Ratings: the worked examples of the papers, models fitted to data drawn from them, and who is tied with whom.

The tables of WWG are those of Hanakawa, Tominaga, "Support and Practices in an Applied Java Programming Exercise with
Board Game Strategy and a Contest Style - Refinement of Ranking by Weighted Winning Degree as Rating Index". Its Table 4
does not follow from its formula from the third step on and is no test.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from arena_tools import result

from asobiba.arena.ratings import ELO, bradley_terry, fit_davidson, mean_return, outcomes, ranked, wilson
from asobiba.arena.wwg import (
    points_table,
    simple_degree,
    weighted_degree,
    weighted_winning_degree,
)
from asobiba.baselines.gogo.published import TABLE_3, TABLE_4, TABLE_5, table_3_points, table_4_points, table_5_points


def test_wwg_of_table_3_step_by_step():
    points = table_3_points()
    for steps, printed in TABLE_3.items():  # B's last value is printed as .634 and computed as .6348: one unit in all
        assert weighted_degree(points, steps=steps) == pytest.approx(printed, abs=1e-3 if steps == 8 else 5.1e-4)
    assert weighted_degree(points) == pytest.approx([0.866, 0.634, 0.465, 0.340, 0.249, 0.183], abs=6e-4)


def test_wwg_of_table_4_follows_from_its_formula_for_two_steps():
    for steps, printed in TABLE_4.items():
        gap = np.abs(weighted_degree(table_4_points(), steps=steps) - printed).max()
        assert (gap < 6e-4) == (steps <= 2), steps


@pytest.mark.parametrize("count", [4, 9])
def test_wwg_of_table_5_with_king_makers(count):
    names, points = table_5_points(count)
    found = dict(zip(names, weighted_degree(points)))
    assert found == pytest.approx(TABLE_5[count], abs=6e-4)
    order = sorted(names, key=lambda name: -found[name])
    assert order.index("A") + 1 == {4: 5, 9: 6}[count]


def test_with_the_points_that_its_text_gives_table_5_has_its_friend_below_all_who_beat_him():
    names, points = table_5_points(4, as_printed=False)
    found = dict(zip(names, weighted_degree(points)))
    assert found["A"] < min(found[f"B{k}"] for k in range(5))


def test_swg_is_the_share_of_points():
    points = np.array([[0, 4, 3], [0, 0, 2], [1, 2, 0]])
    assert simple_degree(points) == pytest.approx([7 / 8, 2 / 8, 3 / 8])
    played = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    assert simple_degree(points, played) == pytest.approx([1, 2 / 8, 2 / 4])


@pytest.mark.parametrize(
    ("first", "second", "points"),
    [(0, 1, 4), (1, 0, 0), (0, -1, 3), (1, -1, 1), (-1, -1, 2), (0, 0, 2)],
)
def test_match_points_without_tie_breaker(first, second, points):
    matrix, _ = points_table([result(("a", "b"), first), result(("b", "a"), second)], ["a", "b"])
    assert matrix.tolist() == [[0, points], [4 - points, 0]]


@pytest.mark.parametrize(("taken", "points"), [((4, 2), 3), ((2, 4), 1), ((3, 3), 2)])
def test_the_tie_breaker_decides_one_win_each(taken, points):
    first = result(("a", "b"), 0, tie_break=(float(taken[0]), 1.0))
    second = result(("b", "a"), 0, tie_break=(float(taken[1]), 1.0))
    matrix, matches = points_table([first, second], ["a", "b"])
    assert matrix.tolist() == [[0, points], [4 - points, 0]]
    assert matches.sum() == 2


def drawn(strengths, games, seed, draws=0.5, advantage=0.3):
    """Results drawn from the Davidson model: strengths in units of log-strength."""
    generator = np.random.Generator(np.random.Philox(seed))
    names = list(strengths)
    results = []
    for i, a in enumerate(names):
        for b in names[i + 1 :]:
            for k in range(games):
                for seats in ((a, b), (b, a)):
                    gap = strengths[seats[0]] - strengths[seats[1]] + advantage
                    weights = np.exp([gap / 2, math.log(draws), -gap / 2])
                    winner = (0, -1, 1)[generator.choice(3, p=weights / weights.sum())]
                    results.append(result(seats, winner, seed=k))
    return results


def test_the_fit_finds_strengths_draws_and_advantage():
    truth = {"a": 1.0, "b": 0.2, "c": 0.0, "d": -1.2}
    fit = fit_davidson(outcomes(drawn(truth, 4000, 1)))
    assert fit.strengths == pytest.approx(list(truth.values()), abs=0.05)
    assert math.exp(fit.log_draws) == pytest.approx(0.5, abs=0.02)
    assert fit.advantage == pytest.approx(0.3, abs=0.03)


def test_two_players_without_draws_are_the_odds_of_elo():
    results = [result(("a", "random"), 0, k) for k in range(75)] + [
        result(("a", "random"), 1, k) for k in range(75, 100)
    ]
    results += [result(("random", "a"), 1, k) for k in range(75)] + [
        result(("random", "a"), 0, k) for k in range(75, 100)
    ]
    best, anchor = bradley_terry(results)
    assert best.agent == "a"
    assert best.value == pytest.approx(400 * math.log10(3), abs=1)
    assert anchor.value == 0
    assert anchor.low < 0 < anchor.high


def test_intervals_hold_the_truth_about_as_often_as_they_say():
    truth = {"a": 0.6, "b": 0.0, "c": -0.6}
    inside = 0
    for seed in range(100):
        ratings = bradley_terry(drawn(truth, 40, seed))
        inside += sum(r.low <= ELO * truth[r.agent] <= r.high for r in ratings)
    assert 0.91 <= inside / 300 <= 0.985


def test_bootstrap_and_curvature_agree():
    results = drawn({"a": 0.6, "b": 0.0, "c": -0.6}, 150, 5)
    for one, other in zip(bradley_terry(results), bradley_terry(results, interval="bootstrap", resamples=150)):
        assert one.value == other.value
        assert other.high - other.low == pytest.approx(one.high - one.low, rel=0.3)
    again = bradley_terry(results, interval="bootstrap", resamples=20)
    assert again == bradley_terry(results, interval="bootstrap", resamples=20)
    with pytest.raises(ValueError, match="not 'magic'"):
        bradley_terry(results, interval="magic")


def test_equal_agents_are_tied_and_different_ones_are_not():
    ratings = bradley_terry(drawn({"a": 0.0, "b": 0.0, "c": -2.0}, 100, 3))
    tied = {r.agent: set(r.tied_with) for r in ratings}
    assert tied == {"a": {"b"}, "b": {"a"}, "c": set()}


def test_who_wins_everything_gets_a_finite_rating():
    ratings = bradley_terry([result(("a", "random"), 0, k) for k in range(50)])
    assert math.isfinite(ratings[0].value)
    assert ratings[0].value > 400
    assert bradley_terry([]) == weighted_winning_degree([]) == mean_return([]) == []


def test_the_last_digits_decide_no_rank():
    """They differ from machine to machine."""
    nearly = np.array([1500.0, 1500.0 + 1e-9])
    assert [one.agent for one in ranked(("a", "b"), nearly, nearly, nearly, np.eye(2, dtype=bool))] == ["a", "b"]


def test_three_players_count_pairwise():
    counts = outcomes([result(("a", "b"), 0)])
    assert counts.wins.tolist() == [[0, 1], [0, 0]]
    three = result(("a", "b"), 0)
    three = type(three)(0, ("a", "b", "c"), 0, (1.0, 0.0, 0.0), 0, 3, "rules", None, (1, 1, 1), (0.0, 0.0, 0.0), None)
    counts = outcomes([three])
    assert counts.wins.sum() == 2
    assert counts.draws[1, 2] == 1


def test_wwg_of_results_has_intervals_around_it():
    ratings = weighted_winning_degree(drawn({"a": 1.0, "b": 0.0, "c": -1.0}, 40, 2), resamples=50)
    assert [r.agent for r in ratings] == ["a", "b", "c"]
    assert all(r.low <= r.value <= r.high for r in ratings)


def test_mean_return_has_students_interval():
    base = result(("a", "b"), 0)
    solo = [type(base)(0, ("a",), k, (float(k),), -1, 3, "rules", None, (1,), (0.0,), None) for k in range(1, 6)]
    (rating,) = mean_return(solo)
    assert rating.value == 3
    assert rating.high - 3 == pytest.approx(2.776445 * math.sqrt(2.5 / 5), rel=1e-5)


def test_wilson():
    assert wilson(0, 0) == (0, 1)
    assert wilson(50, 100) == pytest.approx((0.4038, 0.5962), abs=1e-4)
    assert wilson(0, 10)[0] == 0


def test_the_weighted_degree_comes_to_rest_however_few_have_met():
    """Of those who met nobody, or only each other, the plain steps swing for ever: 1, 1/2, 1, 1/2."""
    generator = np.random.default_rng(0)
    assert weighted_degree(np.zeros((4, 4)), np.zeros((4, 4))) == pytest.approx(np.sqrt(0.5))
    for agents, share in ((3, 0.3), (6, 0.1), (30, 0.02), (30, 1.0)):
        played = np.triu(generator.random((agents, agents)) < share, 1)
        played = played | played.T
        points = np.triu(generator.random((agents, agents)) * 4, 1)
        points += np.tril(4 - points.T, -1)
        weights = weighted_degree(points, played)
        gained = np.where(played, points / 4, 0) @ weights + 0.5
        assert weights == pytest.approx(gained / (weights + played @ weights), abs=1e-10)
