"""Fuzzy sets against the definitions of the paper, worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from asobiba.baselines.search.fuzzy import FuzzySet, as_knowledge, membership
from asobiba.core import GameParameterError, compiled

# Good: three at 0, 1 and 2 on a line, one far away. Within a distance of 1: 2, 3, 2 and 1 of them.
VECTORS = np.array([[0, 0], [1, 0], [2, 0], [9, 9], [0, 5]])
LABELS = np.array([1, 1, 1, 1, 0])
FUZZY = FuzzySet.from_samples(("x", "y"), VECTORS, LABELS, 1.0)


def test_memberships_are_relative_densities_of_the_good_samples():
    found = {tuple(map(int, v)): float(m) for v, m in zip(FUZZY.vectors, FUZZY.memberships)}
    assert found == pytest.approx({(0, 0): 2 / 3, (1, 0): 1, (2, 0): 2 / 3, (9, 9): 1 / 3, (0, 5): 0})


def test_other_vectors_are_interpolated_by_inverse_distance():
    assert FUZZY.membership(np.array([1, 0])) == 1
    # Nearest are (2, 0) at distance 1 and (1, 0) at distance 2: (2/3 / 1 + 1 / 2) / (1 + 1/2).
    assert FUZZY.membership(np.array([3, 0]), 2) == pytest.approx((2 / 3 + 1 / 2) / 1.5)
    assert FUZZY.membership(np.array([3, 0]), 1) == pytest.approx(2 / 3)
    # Equally near ones count alike.
    assert FUZZY.membership(np.array([0.5, 0]), 1) == pytest.approx((2 / 3 + 1) / 2)


def test_a_vector_that_was_judged_twice_counts_twice():
    twice = FuzzySet.from_samples(("x",), np.array([[0], [0], [5], [7]]), np.array([1, 1, 1, 0]), 1.0)
    assert twice.memberships.tolist() == [1, 0.5, 0]
    assert twice.labels.tolist() == [1, 1, 0]


def test_sets_survive_being_written(tmp_path):
    FUZZY.save(tmp_path / "set.csv")
    back = FuzzySet.load(tmp_path / "set.csv")
    assert back.names == ("x", "y")
    assert np.allclose(back.memberships, FUZZY.memberships, atol=1e-6)
    assert np.array_equal(back.vectors, FUZZY.vectors)


@compiled()
def look_up(knowledge, vectors, neighbours, out):
    for k in range(vectors.shape[0]):
        out[k] = membership(knowledge, 1, vectors[k], neighbours)


@pytest.mark.parametrize("neighbours", [1, 3, 7])
def test_the_kernel_is_the_class(neighbours):
    generator = np.random.default_rng(0)
    vectors = generator.integers(0, 6, (120, 4))
    fuzzy = FuzzySet.from_samples("abcd", vectors, generator.integers(0, 2, 120), 2.0)
    asked = generator.integers(0, 8, (60, 4)).astype(np.float32)
    out = np.zeros(60)
    look_up(as_knowledge([None, fuzzy]), asked, neighbours, out)
    assert out == pytest.approx([fuzzy.membership(vector, neighbours) for vector in asked], abs=1e-6)


def test_samples_and_files_that_make_no_set(tmp_path):
    for arguments, message in (
        ((("x",), VECTORS, LABELS, 1.0), "samples of 1 features"),
        ((("x", "y"), VECTORS, LABELS * 2, 1.0), "labels are 0"),
        ((("x", "y"), VECTORS[:0], LABELS[:0], 1.0), "at least one sample"),
        ((("x", "y"), VECTORS, LABELS, -1.0), "standard distance is at least 0"),
    ):
        with pytest.raises(GameParameterError, match=message):
            FuzzySet.from_samples(*arguments)
    for text, message in (
        ("x,y\n1,2\n", "its first line should end"),
        ("x,label,membership\n1,1\n", "expected 3 numbers"),
        ("x,label,membership\n1,1,2\n", "from 0 to 1"),
        ("x,label,membership\n1,a,1\n", "something else than numbers"),
        ("x,label,membership\n", "holds no samples"),
    ):
        (tmp_path / "bad.csv").write_text(text)
        with pytest.raises(GameParameterError, match=message):
            FuzzySet.load(tmp_path / "bad.csv")
