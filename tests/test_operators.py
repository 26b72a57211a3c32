"""Conditional expectation operators against loops over their formulas."""

import numpy as np
import pytest
import reference
from sklearn.ensemble import RandomForestRegressor
from sklearn.frozen import FrozenEstimator

from sagdiv.datasets import GaussianDesign, make_continuous
from sagdiv.density_ratio import ExactDensityRatio
from sagdiv.operators import (
    ExactOperator,
    ForestOperator,
    MeanEmbeddingOperator,
    NadarayaWatsonOperator,
    RatioOperator,
)

DATA = make_continuous("sin", 20, n_extra=7, random_state=2)
X, Z, Z_NEW = DATA.X, DATA.Z, DATA.Z_extra
X_UNIT, Z_UNIT = reference.median_bandwidth(X), reference.median_bandwidth(Z)


def every_fifth(search, lowest):
    pairs = zip(search.candidates, search.scores, strict=True)
    return [pair for pair in pairs if pair[0] >= lowest][::5]


@pytest.mark.parametrize("ridge", [1e-4, 1.0])
def test_mean_embedding_weights(ridge):
    operator = MeanEmbeddingOperator(bandwidth=0.7, ridge=ridge).fit(X, Z)
    W = [reference.mean_embedding_weights(Z, z, 0.7 * Z_UNIT, 20 * ridge) for z in Z_NEW]
    np.testing.assert_allclose(operator.weights(Z_NEW), W, rtol=1e-8, atol=1e-10)
    np.testing.assert_array_equal(operator.nodes_, X)


def test_mean_embedding_leave_one_out_is_a_refit_without_each_row():
    operator = MeanEmbeddingOperator(bandwidth=0.7).fit(X, Z)
    search = operator.ridge_search_
    for log_ridge, score in every_fifth(search, lowest=-6):
        penalty = 20 * 10**log_ridge
        expected = reference.mean_embedding_loo(X, Z, 0.7 * X_UNIT, 0.7 * Z_UNIT, penalty)
        assert score == pytest.approx(expected, rel=1e-7)
    assert operator.ridge_ == 10**search.best


@pytest.mark.parametrize("bandwidth", [0.2, 1.5])
def test_nadaraya_watson_weights(bandwidth):
    operator = NadarayaWatsonOperator(bandwidth=bandwidth).fit(X, Z)
    W = [reference.nadaraya_watson_weights(Z, z, bandwidth * Z_UNIT) for z in Z_NEW]
    np.testing.assert_allclose(operator.weights(Z_NEW), W, rtol=1e-10, atol=1e-14)


def test_nadaraya_watson_leave_one_out_is_a_refit_without_each_row():
    operator = NadarayaWatsonOperator().fit(X, Z)
    search = operator.bandwidth_search_
    for log_bandwidth, score in every_fifth(search, lowest=-1):
        expected = reference.nadaraya_watson_loo(X, Z, X_UNIT, 10**log_bandwidth * Z_UNIT)
        assert score == pytest.approx(expected, rel=1e-8)
    assert operator.bandwidth_ == 10**search.best


def test_nadaraya_watson_far_away_is_the_nearest_neighbour():
    operator = NadarayaWatsonOperator(bandwidth=0.1).fit(X, Z)
    W = operator.weights(np.array([[1000.0, 0.0]]))
    assert W.sum() == pytest.approx(1)
    assert W.argmax() == Z[:, 0].argmax()


@pytest.mark.parametrize("frozen", [True, False])
def test_forest_weights(frozen, rng):
    X, Z = rng.normal(size=(40, 2)), rng.normal(size=(40, 3))
    forest = RandomForestRegressor(6, min_samples_leaf=3, random_state=0)
    if frozen:
        forest = FrozenEstimator(forest.fit(Z, X))
    operator = ForestOperator(forest).fit(X, Z)
    leaves = operator.forest_.apply(Z)
    Z_new = rng.normal(size=(5, 3))
    W = [reference.leaf_weights(leaves, row) for row in operator.forest_.apply(Z_new)]
    np.testing.assert_allclose(operator.weights(Z_new), W, atol=1e-12)


def test_forest_grown_elsewhere_may_have_leaves_without_rows(rng):
    Z_other = rng.normal(size=(200, 1))
    forest = RandomForestRegressor(5, random_state=0).fit(Z_other, Z_other[:, 0])
    Z_here = np.full((4, 1), -2.0)
    operator = ForestOperator(FrozenEstimator(forest)).fit(np.zeros((4, 1)), Z_here)
    np.testing.assert_allclose(operator.weights(np.array([[2.0]])), 0.25)


def test_ratio_operator_weights_by_the_positive_part():
    design = GaussianDesign()
    x, z = DATA.X, np.array([[0.3], [-1.0]])
    operator = RatioOperator(ExactDensityRatio(shifted)).fit(x, z)
    W = np.maximum(design.Phi(x, z) - 0.5, 0).T
    np.testing.assert_allclose(operator.weights(z), W / W.sum(axis=1, keepdims=True))
    same = RatioOperator.of(ExactDensityRatio(shifted), x)
    np.testing.assert_array_equal(same.weights(z), operator.weights(z))


def test_ratio_operator_without_any_weight_is_the_plain_average():
    operator = RatioOperator(ExactDensityRatio(negative)).fit(X, Z)
    np.testing.assert_allclose(operator.weights(Z_NEW), 1 / 20)


def test_exact_operator_integrates():
    design = GaussianDesign()
    operator = ExactOperator(design.conditional_density, np.linspace(-8, 8, 801)[:, None])
    z = np.linspace(-2, 2, 9)[:, None]
    W = operator.fit(None, None).weights(z)
    np.testing.assert_allclose(W @ np.sin(operator.nodes_[:, 0]), design.r(z), atol=1e-12)
    np.testing.assert_allclose(W @ operator.nodes_[:, 0] ** 2, 0.64 * z[:, 0] ** 2 + 0.36)


@pytest.mark.parametrize(
    ("operator", "message"),
    [
        (MeanEmbeddingOperator(bandwidth=0), "bandwidth must be a positive number, got 0"),
        (MeanEmbeddingOperator(ridge=0), "ridge must be a positive number, got 0"),
        (NadarayaWatsonOperator(bandwidth=-1), "bandwidth must be a positive number, got -1"),
    ],
)
def test_bad_parameters(operator, message):
    with pytest.raises(ValueError, match=message):
        operator.fit(X, Z)


def shifted(X, Z):
    return GaussianDesign().Phi(X, Z) - 0.5


def negative(X, Z):
    return -np.ones((len(X), len(Z)))
