"""Laws of a conditional expectation operator."""

import numpy as np
import pytest
from registry import DESIGN, OPERATORS, select
from sklearn.base import clone

from sagdiv.protocols import Operator

pytestmark = pytest.mark.usefixtures("global_state_untouched")

Z_NEW = DESIGN.draw(100, np.random.RandomState(1))[2]


@pytest.fixture(params=OPERATORS)
def case(request):
    return request.param


@pytest.fixture(scope="module")
def fitted(gaussian_sample):
    cache = {}

    def fit(case):
        if id(case) not in cache:
            cache[id(case)] = clone(case.component).fit(gaussian_sample.X, gaussian_sample.Z)
        return cache[id(case)]

    return fit


def test_offers_the_contract(case, fitted):
    assert isinstance(fitted(case), Operator)


def test_fit_returns_itself(case, gaussian_sample):
    operator = clone(case.component)
    assert operator.fit(gaussian_sample.X, gaussian_sample.Z) is operator


def test_one_weight_for_each_node_and_finite(case, fitted):
    operator = fitted(case)
    far_out = np.array([[-6.0], [6.0]])
    for Z in (Z_NEW, far_out):
        W = operator.weights(Z)
        assert W.shape == (len(Z), len(operator.nodes_))
        assert np.isfinite(W).all()


def test_weights_of_each_row_nearly_sum_to_one(case, fitted):
    total = fitted(case).weights(Z_NEW).sum(axis=1)
    np.testing.assert_allclose(np.median(total), 1, atol=0.05)
    np.testing.assert_allclose(total, 1, atol=1e-10 if case.sums_to_one else 0.5)


def test_bounded(case, fitted):
    # |P h|_inf <= c |h|_inf with a moderate c.
    assert np.abs(fitted(case).weights(Z_NEW)).sum(axis=1).max() < 10


def test_a_row_is_evaluated_by_itself(case, fitted):
    W = fitted(case).weights(Z_NEW)
    np.testing.assert_allclose(fitted(case).weights(Z_NEW[5:6]), W[5:6], rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(fitted(case).weights(Z_NEW[::-1]), W[::-1], rtol=1e-8, atol=1e-12)


def test_knows_the_conditional_mean(case, fitted):
    # E[X|Z = z] = rho z, E[sin X|Z] = r; only to statistical accuracy for the estimates.
    operator = fitted(case)
    inner = Z_NEW[np.abs(Z_NEW[:, 0]) < 1.5]
    W = operator.weights(inner)
    error = W @ operator.nodes_[:, 0] - DESIGN.correlation * inner[:, 0]
    assert np.sqrt(np.mean(error**2)) < 0.25
    error = W @ np.sin(operator.nodes_[:, 0]) - DESIGN.r(inner)
    assert np.sqrt(np.mean(error**2)) < 0.25


@pytest.mark.parametrize("case", select(OPERATORS, "non_negative"))
def test_non_negative_where_it_says_so(case, fitted):
    assert (fitted(case).weights(Z_NEW) >= 0).all()


@pytest.mark.parametrize("case", select(OPERATORS, "order_free"))
def test_order_of_the_rows_does_not_matter(case, fitted, gaussian_sample, rng):
    order = rng.permutation(len(gaussian_sample.X))
    shuffled = clone(case.component).fit(gaussian_sample.X[order], gaussian_sample.Z[order])
    h = np.cos
    np.testing.assert_allclose(
        shuffled.weights(Z_NEW) @ h(shuffled.nodes_[:, 0]),
        fitted(case).weights(Z_NEW) @ h(fitted(case).nodes_[:, 0]),
        atol=1e-6,
    )
