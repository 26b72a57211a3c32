"""Decisions by content: independent of order, of repetition and of how the rows were split."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare, kstest

from sagdiv.sketch import Sketch, row_keys


@pytest.fixture
def rows(rng):
    return rng.normal(size=(200, 3))


def assert_same(a, b):
    np.testing.assert_array_equal(a.rows, b.rows)
    np.testing.assert_array_equal(a.keys, b.keys)
    np.testing.assert_allclose(a.weights, b.weights)
    assert a.capacity == b.capacity


@pytest.mark.parametrize("capacity", [1, 20, 500])
def test_order_does_not_matter(rows, rng, capacity):
    weights = rng.randint(0, 4, 200).astype(float)
    order = rng.permutation(200)
    assert_same(
        Sketch.of(rows, weights, capacity), Sketch.of(rows[order], weights[order], capacity)
    )


@given(cuts=st.lists(st.integers(0, 200), max_size=5), seed=st.integers(0, 5))
def test_splitting_does_not_matter(cuts, seed):
    rng = np.random.RandomState(1)
    rows, weights = rng.normal(size=(200, 2)), rng.randint(0, 3, 200).astype(float)
    parts = np.split(np.arange(200), sorted(cuts))
    total = Sketch.of(rows[parts[0]], weights[parts[0]], 15, seed)
    for part in parts[1:]:
        total = total + Sketch.of(rows[part], weights[part], 15, seed)
    assert_same(total, Sketch.of(rows, weights, 15, seed))


def test_merging_is_commutative_and_associative(rows):
    a, b, c = (Sketch.of(part, np.ones(len(part)), 20) for part in np.split(rows, [50, 120]))
    assert_same(a + b, b + a)
    assert_same((a + b) + c, a + (b + c))


def test_a_weight_is_a_repetition(rows, rng):
    weights = rng.randint(0, 4, 200)
    repeated = np.repeat(rows, weights, axis=0)
    assert_same(
        Sketch.of(rows, weights.astype(float), 30), Sketch.of(repeated, np.ones(len(repeated)), 30)
    )


def test_kept_rows_are_distinct_and_their_weights_are_totals(rows):
    sketch = Sketch.of(np.repeat(rows, 3, axis=0), np.full(600, 0.5), 1000)
    assert sketch.rows.shape == (200, 3)
    np.testing.assert_allclose(sketch.weights, 1.5)
    assert (np.diff(sketch.keys.astype(float)) > 0).all()


def test_weight_zero_does_not_count(rows):
    weights = np.zeros(200)
    weights[17] = 1.0
    np.testing.assert_array_equal(Sketch.of(rows, weights, 10).rows, rows[17:18])


def test_rounding_in_the_last_digits_does_not_matter(rows):
    np.testing.assert_array_equal(row_keys(rows), row_keys(rows * (1 + 4e-16)))
    np.testing.assert_array_equal(row_keys(np.array([[0.0]])), row_keys(np.array([[-0.0]])))
    assert len(np.unique(row_keys(np.array([[1.0], [1.0 + 1e-6], [-1.0], [1e12], [1e-12]])))) == 5


def test_columns_are_not_interchangeable():
    keys = row_keys(np.array([[1.0, 2.0], [2.0, 1.0], [1.0, 1.0], [2.0, 2.0]]))
    assert len(np.unique(keys)) == 4


def test_another_seed_is_another_draw(rows):
    first, second = (Sketch.of(rows, np.ones(200), 20, seed) for seed in (0, 1))
    assert len(set(map(tuple, first.rows)) & set(map(tuple, second.rows))) < 10


@pytest.mark.parametrize("seed", [0, 1])
def test_keys_of_regular_rows_look_uniform(seed):
    grid = np.arange(20_000.0)[:, None]
    keys = row_keys(grid, seed)
    assert len(np.unique(keys)) == 20_000
    assert kstest(keys / 2.0**64, "uniform").pvalue > 1e-3
    for modulus in (2, 5, 16):
        assert chisquare(np.bincount((keys % np.uint64(modulus)).astype(int))).pvalue > 1e-3
    assert abs(np.corrcoef(keys[1:].astype(float), keys[:-1].astype(float))[0, 1]) < 0.03


def test_the_sample_is_uniform_over_the_rows():
    sketch = Sketch.of(np.arange(20_000.0)[:, None], np.ones(20_000), 1000)
    assert kstest(sketch.rows[:, 0] / 20_000, "uniform").pvalue > 1e-3
