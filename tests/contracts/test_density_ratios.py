"""Laws of a density ratio."""

import numpy as np
import pytest
from registry import DENSITY_RATIOS, DESIGN, select
from sklearn.base import clone

from sagdiv.protocols import DensityRatio, FiniteRankRatio

pytestmark = pytest.mark.usefixtures("global_state_untouched")


@pytest.fixture(params=DENSITY_RATIOS)
def case(request):
    return request.param


@pytest.fixture(scope="module")
def fitted(gaussian_sample):
    cache = {}

    def fit(case):
        key = id(case)
        if key not in cache:
            cache[key] = clone(case.component).fit(gaussian_sample.X, gaussian_sample.Z)
        return cache[key]

    return fit


def independent_pairs(n=200):
    X, _, Z = DESIGN.draw(2 * n, np.random.RandomState(1))
    return X[:n], Z[n:]


def test_offers_the_contract(case, fitted):
    assert isinstance(case.component, DensityRatio)
    assert isinstance(fitted(case), FiniteRankRatio) == case.finite_rank


def test_fit_returns_itself(case, gaussian_sample):
    ratio = clone(case.component)
    assert ratio.fit(gaussian_sample.X, gaussian_sample.Z) is ratio


def test_all_pairs_and_finite(case, fitted):
    X, Z = independent_pairs()
    Phi = fitted(case).ratio(X[:50], Z[:30])
    assert Phi.shape == (50, 30)
    assert np.isfinite(Phi).all()
    extreme = fitted(case).ratio(np.full((1, 1), 8.0), np.full((1, 1), -8.0))
    assert np.isfinite(extreme).all()


def test_each_pair_is_evaluated_by_itself(case, fitted):
    X, Z = independent_pairs()
    Phi = fitted(case).ratio(X[:20], Z[:10])
    one = fitted(case).ratio(X[7:8], Z[3:4])
    np.testing.assert_allclose(one, Phi[7:8, 3:4], rtol=1e-9, atol=1e-12)


def test_mean_over_independent_pairs_is_near_one(case, fitted):
    X, Z = independent_pairs()
    assert fitted(case).ratio(X, Z).mean() == pytest.approx(1, abs=0.15)


def test_mean_over_joint_pairs_is_larger_than_over_independent_ones(case, fitted):
    # E_joint[Phi] = E_product[Phi^2] = 1 + the dependence between X and Z.
    X, _, Z = DESIGN.draw(200, np.random.RandomState(2))
    assert np.diag(fitted(case).ratio(X, Z)).mean() > 1.3


@pytest.mark.parametrize("case", select(DENSITY_RATIOS, "non_negative"))
def test_non_negative_where_it_says_so(case, fitted):
    X, Z = independent_pairs()
    assert (fitted(case).ratio(X, Z) >= 0).all()


@pytest.mark.parametrize("case", select(DENSITY_RATIOS, "finite_rank"))
def test_ratio_is_factors_times_loadings(case, fitted):
    X, Z = independent_pairs()
    ratio = fitted(case)
    np.testing.assert_allclose(
        ratio.ratio(X, Z), ratio.factors(X) @ ratio.loadings(Z), rtol=1e-12, atol=1e-12
    )
    assert len(ratio.factors(X)) == len(X)
    assert ratio.loadings(Z).shape[1] == len(Z)


@pytest.mark.parametrize("case", select(DENSITY_RATIOS, "order_free"))
def test_order_of_the_rows_does_not_matter(case, fitted, gaussian_sample, rng):
    order = rng.permutation(len(gaussian_sample.X))
    shuffled = clone(case.component).fit(gaussian_sample.X[order], gaussian_sample.Z[order])
    X, Z = independent_pairs(50)
    np.testing.assert_allclose(shuffled.ratio(X, Z), fitted(case).ratio(X, Z), atol=1e-6)


def test_order_of_the_new_rows_is_the_order_of_the_answer(case, fitted):
    X, Z = independent_pairs(20)
    Phi = fitted(case).ratio(X, Z)
    np.testing.assert_allclose(
        fitted(case).ratio(X[::-1], Z[::-1]), Phi[::-1, ::-1], rtol=1e-9, atol=1e-12
    )
