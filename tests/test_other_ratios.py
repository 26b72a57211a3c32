"""The classifier, tensor and exact density ratios against their formulas."""

import numpy as np
import pytest
import reference
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

from sagdiv import density_ratio as module
from sagdiv.datasets import make_gaussian
from sagdiv.density_ratio import ClassifierDensityRatio, ExactDensityRatio, TensorDensityRatio


class Weather:
    """A classifier that knows: P(together | x, z) = 3/4 if x z > 0, else 1/4, sure at x = 9."""

    def get_params(self, deep=False):
        return {}

    def fit(self, pairs, together):
        self.n_together, self.n_apart = together.sum(), (~together).sum()
        return self

    def predict_proba(self, pairs):
        together = np.where(pairs[:, 0] * pairs[:, 1] > 0, 0.75, 0.25)
        together[pairs[:, 0] == 9] = 1.0
        return np.column_stack([1 - together, together])


def test_classifier_odds_times_the_ratio_of_sample_sizes(rng):
    X, Z = rng.normal(size=(2, 20, 1))
    ratio = ClassifierDensityRatio(Weather(), n_shuffles=2, max_ratio=50, random_state=0).fit(X, Z)
    assert (ratio.classifier_.n_together, ratio.classifier_.n_apart) == (20, 40)
    Phi = ratio.ratio(np.array([[1.0], [-1.0], [9.0]]), np.array([[2.0], [-2.0]]))
    np.testing.assert_allclose(Phi, [[6, 2 / 3], [2 / 3, 6], [50, 50]])


def test_well_specified_classifier_recovers_the_gaussian_ratio():
    data = make_gaussian(4000, correlation=0.6, random_state=0)
    classifier = make_pipeline(PolynomialFeatures(2), LogisticRegression(C=1e3))
    ratio = ClassifierDensityRatio(classifier, random_state=0).fit(data.X, data.Z)
    grid = np.linspace(-1.5, 1.5, 7)[:, None]
    np.testing.assert_allclose(ratio.ratio(grid, grid), data.design.Phi(grid, grid), rtol=0.25)


def test_classifier_blocks_do_not_matter(gaussian_sample, monkeypatch):
    X, Z = gaussian_sample.X, gaussian_sample.Z
    ratio = ClassifierDensityRatio(random_state=0).fit(X, Z)
    whole = ratio.ratio(X[:30], Z[:20])
    monkeypatch.setattr(module.classifier, "_PAIRS_PER_BLOCK", 70)
    np.testing.assert_array_equal(ratio.ratio(X[:30], Z[:20]), whole)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_shuffles": 0}, "n_shuffles must be an integer of at least 1, got 0"),
        ({"max_ratio": 0.0}, "max_ratio must be a positive number"),
    ],
)
def test_bad_classifier_parameters(parameters, message, gaussian_sample):
    with pytest.raises(ValueError, match=message):
        ClassifierDensityRatio(**parameters).fit(gaussian_sample.X, gaussian_sample.Z)


@pytest.mark.parametrize("ridge", [(1e-3, 1e-1), (1e-2, 1e-2)])
def test_tensor_solution(gaussian_sample, ridge):
    X, Z = gaussian_sample.X, gaussian_sample.Z
    ratio = TensorDensityRatio(ridge=ridge, random_state=0).fit(X, Z)
    phi, psi = ratio.phi_.transform(X), ratio.psi_.transform(Z)
    M = reference.tensor(phi, psi, *ridge)
    expected = [[f @ M @ g for g in psi[:6]] for f in phi[:8]]
    np.testing.assert_allclose(ratio.ratio(X[:8], Z[:6]), expected, rtol=1e-8, atol=1e-8)


def test_tensor_ridge_may_be_one_number(gaussian_sample):
    X, Z = gaussian_sample.X, gaussian_sample.Z
    one, pair = (TensorDensityRatio(ridge=r, random_state=0).fit(X, Z) for r in (0.1, (0.1, 0.1)))
    assert one.ridge_ == pair.ridge_ == (0.1, 0.1)
    np.testing.assert_array_equal(one.M_, pair.M_)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"ridge": -1.0}, "ridge must be a positive number, got -1.0"),
        ({"ridge": (0.1, 0.0)}, "ridge must be a positive number, got 0.0"),
        ({"ridge": (0.1, 0.1, 0.1)}, r"ridge must be a positive number, got \(0.1, 0.1, 0.1\)"),
        ({"n_folds": 1}, "n_folds must be an integer of at least 2, got 1"),
    ],
)
def test_bad_tensor_parameters(parameters, message, gaussian_sample):
    with pytest.raises(ValueError, match=message):
        TensorDensityRatio(**parameters).fit(gaussian_sample.X, gaussian_sample.Z)


def test_exact_ratio_must_return_all_pairs(rng):
    X, Z = rng.normal(size=(2, 20, 1))
    with pytest.raises(ValueError, match=r"must return all pairs, shape \(20, 3\), got \(20,\)"):
        ExactDensityRatio(rows_only).fit(X, Z).ratio(X, Z[:3])


def rows_only(X, Z):
    return np.ones(len(X))
