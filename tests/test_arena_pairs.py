"""Intervals from pairs of games beside a bootstrap, at the edges, and where they must agree with textbooks."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest

from asobiba.arena import pairs

_KINDS = {
    "independent": [(0, 0), (0, 1), (1, 0), (1, 1)],
    "one colour wins most": [(0, 1)] * 8 + [(1, 1), (0, 0.5)],
    "draws": [(0.5, 0.5)] * 4 + [(1, 0.5), (0.5, 0)],
    "both games alike": [(1, 1)] * 3 + [(0, 0)] * 2,
    "one without its counterpart": [(1, 0), (0, 1), (1,), (1, 1), (0,)],
}


@pytest.mark.parametrize("kind", _KINDS)
def test_intervals_of_pairs_agree_with_a_bootstrap_over_pairs(kind):
    """Drawn with replacement: whole pairs, so that what they have in common stays."""
    rng = np.random.default_rng(1)
    seen = [_KINDS[kind][k] for k in rng.integers(len(_KINDS[kind]), size=80)]
    draws = rng.integers(80, size=(4000, 80))
    points, games = np.array([sum(pair) for pair in seen]), np.array([len(pair) for pair in seen])
    shares = points[draws].sum(axis=1) / games[draws].sum(axis=1)
    found = pairs.Score(tuple(seen))
    assert found.share == pytest.approx(points.sum() / games.sum())
    low, high = np.quantile(shares, (0.025, 0.975))
    assert found.interval() == pytest.approx((low, high), abs=0.012)
    of_games = binomtest(round(found.points), found.games).proportion_ci(method="wilson")
    ratio = (high - low) / (of_games.high - of_games.low)
    if kind == "both games alike":
        assert ratio > 1.2
    if kind in ("one colour wins most", "draws"):
        assert ratio < 0.8


def test_intervals_of_pairs_behave_at_the_edges():
    for pair in ((0, 0), (1, 1), (0.5, 0.5), (1, 0), (0,), (1,)):
        last = 1.0
        for count in (1, 2, 5, 50):
            score = pairs.Score((pair,) * count)
            low, high = score.interval()
            assert 0 <= low <= score.share <= high <= 1
            assert 0.002 < high - low < last, "narrower with more pairs, but never without width"
            last = high - low
    # Nothing but single games: what is known of independent ones.
    singles = pairs.Score(((1,),) * 240 + ((0,),) * 160)
    wilson = binomtest(240, 400).proportion_ci(method="wilson")
    assert singles.interval() == pytest.approx((wilson.low, wilson.high), abs=0.001)
    assert singles.verdict("better", "worse") == "better"
    assert pairs.Score(((0, 0.5),) * 20).verdict("better", "worse") == "worse"
    assert pairs.Score(((1, 1), (0, 0))).verdict("better", "worse") == "not decided"


def test_games_with_the_colours_swapped_are_one_pair():
    games = [("duel", 0, 1.0), ("front", 0, 0.5), ("duel", 0, 0.0), ("duel", 1, 1.0)]
    assert pairs.score_of(games) == pairs.Score(((1.0, 0.0), (0.5,), (1.0,)), 2)
    assert pairs.score_of([]) is None
