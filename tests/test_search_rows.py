"""The small network of whole numbers that learned evaluations share: what it computes, and that it learns."""

from __future__ import annotations

import numpy as np

from asobiba.baselines.search.rows import MOST, NARROW, STEPS, UNIT, WIDTH, judge, load_rows
from asobiba.baselines.search.rows_fitting import fit, told

INPUTS = 19


def planted(count=12_000):
    """Inputs of as many games, whose results follow from two of them."""
    generator = np.random.default_rng(0)
    given = generator.integers(0, STEPS, (count, INPUTS)).astype(np.uint8)
    return given, (given[:, 7] > given[:, 16]).astype(np.float32), np.arange(count)


def test_learning_finds_what_decides(tmp_path):
    given, results, games = planted()
    weights, lines = fit(given, results, results, games, epochs=30)
    assert lines[0]["tested"] > 0.6
    assert lines[-1]["tested"] < 0.25
    again, _ = fit(given, results, results, games, epochs=30)
    assert all((weights[name] == again[name]).all() for name in weights)
    assert weights["rows"].shape == (INPUTS, STEPS, WIDTH)
    assert weights["hidden"].shape == (NARROW, WIDTH)
    np.savez(tmp_path / "weights.npz", **weights)
    network = load_rows(tmp_path / "weights.npz", INPUTS)
    sums, narrow = np.zeros(WIDTH, np.int32), np.zeros(NARROW, np.int32)
    right = 0
    for steps, result in zip(given[:500].astype(np.int64), results, strict=False):
        found = judge(steps, *network, sums, narrow) / UNIT**2
        layer = weights["rows"][np.arange(INPUTS), steps].sum(0) / UNIT + weights["first"] / UNIT
        units = weights["hidden"] / UNIT @ np.clip(layer, 0, MOST / UNIT) + weights["second"] / UNIT**2
        wanted = weights["last"] / UNIT @ np.clip(units, 0, MOST / UNIT) + weights["bias"][0] / UNIT**2
        # Each unit of the second layer is rounded down to 1 / UNIT.
        assert abs(found - wanted) <= np.abs(weights["last"]).sum() / UNIT**2 + 1e-9
        right += (found > 0) == (result == 1)
    assert right > 430


def test_scores_tell_chances():
    generator = np.random.default_rng(0)
    scores = generator.normal(size=50_000)
    results = (generator.random(50_000) < 1 / (1 + np.exp(-3 * scores))).astype(np.float32)
    chances = told(scores, results)
    assert np.abs(chances - 1 / (1 + np.exp(-3 * scores))).max() < 0.03
