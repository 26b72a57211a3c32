"""uLSIF on all n^2 pairs, against a double loop over the pairs."""

import numpy as np
import pytest
import reference

from sagdiv.datasets import make_continuous
from sagdiv.density_ratio import KernelDensityRatio
from sagdiv.splitting import random_folds

DATA = make_continuous("sin", 15, random_state=1)
X, Z = DATA.X, DATA.Z
BANDWIDTH = 0.6


def fit(**parameters):
    return KernelDensityRatio(5, bandwidth=BANDWIDTH, random_state=0, **parameters).fit(X, Z)


def basis(ratio):
    return ratio.x_centers_, ratio.z_centers_, ratio.x_bandwidth_, ratio.z_bandwidth_


def test_bandwidths_are_medians_and_centres_are_rows():
    ratio = fit(ridge=0.1)
    np.testing.assert_allclose(ratio.x_bandwidth_, BANDWIDTH * reference.median_bandwidth(X))
    np.testing.assert_allclose(ratio.z_bandwidth_, BANDWIDTH * reference.median_bandwidth(Z))
    for x, z in zip(ratio.x_centers_, ratio.z_centers_, strict=True):
        assert np.any((x == X).all(axis=1) & (z == Z).all(axis=1))


@pytest.mark.parametrize("penalty", ["rkhs", "ridge"])
@pytest.mark.parametrize("lam", [1e-3, 1.0])
def test_solution_and_ratio(penalty, lam):
    ratio = fit(ridge=lam, penalty=penalty)
    theta = reference.ulsif(X, Z, *basis(ratio), lam, penalty)
    np.testing.assert_allclose(ratio.theta_, theta, rtol=1e-8, atol=1e-10)
    Phi = [[reference.ulsif_ratio(theta, *basis(ratio), x, z) for z in Z[:4]] for x in X[:6]]
    np.testing.assert_allclose(ratio.ratio(X[:6], Z[:4]), Phi, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("penalty", ["rkhs", "ridge"])
def test_cross_validation_refits_every_fold(penalty):
    ratio = fit(penalty=penalty, n_folds=3)
    rng = np.random.RandomState(0)  # the draws of fit, repeated
    rng.permutation(len(X))
    folds = random_folds(len(X), 3, rng)
    search = ratio.ridge_search_
    for log_ridge, score in list(zip(search.candidates, search.scores, strict=True))[3::7]:
        expected = reference.ulsif_score(X, Z, *basis(ratio), 10**log_ridge, penalty, folds)
        assert score == pytest.approx(expected, rel=1e-8, abs=1e-10)
    assert ratio.ridge_ == 10**search.best


def test_a_given_ridge_is_not_searched():
    ratio = fit(ridge=0.1)
    assert (ratio.ridge_, ratio.ridge_search_) == (0.1, None)


def test_two_columns_on_either_side(rng):
    X2, Z3 = rng.normal(size=(15, 2)), rng.normal(size=(15, 3))
    ratio = KernelDensityRatio(4, ridge=0.1, random_state=0).fit(X2, Z3)
    theta = reference.ulsif(X2, Z3, *basis(ratio), 0.1, "rkhs")
    np.testing.assert_allclose(ratio.theta_, theta, rtol=1e-8)


def test_more_centres_than_rows_are_all_rows():
    assert len(KernelDensityRatio(1000, ridge=0.1, random_state=0).fit(X, Z).x_centers_) == 15


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"penalty": "l1"}, r"penalty must be 'rkhs' or 'ridge', got 'l1'"),
        ({"n_centers": 0}, r"n_centers must be an integer of at least 1, got 0"),
        ({"n_centers": 2.5}, r"n_centers must be an integer of at least 1, got 2\.5"),
        ({"n_folds": 1}, r"n_folds must be an integer of at least 2, got 1"),
        ({"bandwidth": 0}, r"bandwidth must be a positive number, got 0"),
        ({"bandwidth": "wide"}, r"bandwidth must be a positive number, got 'wide'"),
        ({"ridge": -1.0}, r"ridge must be a positive number, got -1\.0"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        KernelDensityRatio(**parameters).fit(X, Z)
