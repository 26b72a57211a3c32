"""Two-stage least squares against linearmodels, and the laws of the linear case."""

import numpy as np
import pytest
from baselines.reference_baselines import NaiveSieve
from linearmodels.datasets import card
from linearmodels.iv import IV2SLS

from sagdiv.baselines import TSLS
from sagdiv.datasets import make_continuous
from sagdiv.linear import projected, two_stage_least_squares


def random_data(rng, n=200):
    Z = rng.normal(size=(n, 4))
    U = rng.normal(size=n)
    X = Z @ rng.normal(size=(4, 2)) + U[:, None] + rng.normal(size=(n, 2))
    return X, X @ [1.0, -2.0] + 3 + U * (1 + Z[:, 0] ** 2), Z


def card_data():
    data = card.load()
    columns = ["educ", "exper", "expersq", "black", "south", "smsa"]
    data = data[["lwage", "nearc4", "nearc2", *columns]].dropna().astype(float)
    return data[columns], data["lwage"], data[["nearc4", "nearc2", *columns[1:]]]


def theirs(X, y, Z, **options):
    """IV2SLS with every column endogenous but the constant; those in Z instrument themselves."""
    ones = np.ones((len(y), 1))
    return IV2SLS(np.asarray(y), ones, np.asarray(X), np.asarray(Z)).fit(**options)


@pytest.mark.parametrize("source", ["random", "card"])
@pytest.mark.parametrize("cov_type", ["robust", "homoskedastic"])
@pytest.mark.parametrize("small_sample", [False, True])
def test_equals_linearmodels(rng, source, cov_type, small_sample):
    X, y, Z = random_data(rng) if source == "random" else card_data()
    ours = TSLS(cov_type=cov_type, small_sample=small_sample).fit(X, y, Z)
    result = theirs(
        X,
        y,
        Z,
        cov_type="robust" if cov_type == "robust" else "unadjusted",
        debiased=small_sample,
    )
    parameters = np.concatenate([[ours.intercept_], ours.coef_])
    np.testing.assert_allclose(parameters, result.params, rtol=1e-8)
    np.testing.assert_allclose(ours.standard_errors_, result.std_errors, rtol=1e-8)
    np.testing.assert_allclose(ours.cov_, result.cov, rtol=1e-7, atol=1e-12)


# Card's returns to schooling: the known answer for his data.
def test_returns_to_schooling():
    X, y, Z = card_data()
    result = theirs(X, y, Z)
    assert abs(TSLS().fit(X, y, Z).coef_[0] - result.params.iloc[1]) < 1e-9
    assert 0.08 < TSLS().fit(X, y, Z).coef_[0] < 0.2


# An intercept is a column of ones in X and in Z.
def test_intercept_equals_a_column_of_ones(rng):
    X, y, Z = random_data(rng)
    model, ones = TSLS().fit(X, y, Z), np.ones((len(y), 1))
    beta = two_stage_least_squares(np.hstack([ones, X]), y, np.hstack([ones, Z]))
    np.testing.assert_allclose(beta, [model.intercept_, *model.coef_], rtol=1e-10)


# Without endogeneity, Z = X, it is ordinary least squares.
def test_own_instrument_is_least_squares(rng):
    X, y, _ = random_data(rng)
    A = np.hstack([np.ones((len(y), 1)), X])
    expected = np.linalg.solve(A.T @ A, A.T @ y)
    model = TSLS().fit(X, y, X)
    np.testing.assert_allclose([model.intercept_, *model.coef_], expected, rtol=1e-10)


# With as many instruments as regressors it is (Z'X)^-1 Z'y.
def test_just_identified(rng):
    X, y, Z = random_data(rng)
    np.testing.assert_allclose(
        two_stage_least_squares(X, y, Z[:, :2]),
        np.linalg.solve(Z[:, :2].T @ X, Z[:, :2].T @ y),
        rtol=1e-9,
    )


# The residual of the first stage is orthogonal to the instruments; projecting twice is once.
def test_projection(rng):
    X, _, Z = random_data(rng)
    fitted = projected(X, Z)
    np.testing.assert_allclose(Z.T @ (X - fitted), 0, atol=1e-10)
    np.testing.assert_allclose(projected(fitted, Z), fitted, atol=1e-12)


# An integer weight is a repeated row, a weight of zero a missing one.
def test_weights_are_repeated_rows(rng):
    X, y, Z = random_data(rng)
    weights = rng.randint(3, size=len(y))
    repeated = [np.repeat(A, weights, axis=0) for A in (X, y, Z)]
    np.testing.assert_allclose(
        two_stage_least_squares(X, y, Z, weights), two_stage_least_squares(*repeated), rtol=1e-9
    )


def test_collinear_instruments_change_nothing(rng):
    X, y, Z = random_data(rng)
    more = np.hstack([Z, Z @ rng.normal(size=(4, 2)), np.zeros((len(y), 1))])
    np.testing.assert_allclose(TSLS().fit(X, y, more).coef_, TSLS().fit(X, y, Z).coef_, rtol=1e-8)


def test_too_few_instruments(rng):
    X, y, Z = random_data(rng)
    with pytest.raises(ValueError, match=r"Z has 1 columns for the 2 of X.* append them to Z"):
        TSLS().fit(X, y, Z[:, :1])


@pytest.mark.parametrize("n_knots", [2, 3, 5])
def test_splines_equal_the_formula(sample, n_knots):
    at = np.linspace(-8, 8, 50)[:, None]
    model = TSLS("spline", n_knots=n_knots).fit(sample.X, sample.y, sample.Z)
    naive = NaiveSieve(sample.X, sample.y, sample.Z, n_knots)
    np.testing.assert_allclose(model.predict(at), naive.predict(at), atol=1e-8)


# Powers of the standardised columns span the same functions as powers of the raw ones.
def test_polynomials_equal_the_formula(sample):
    def powers(A):
        return np.hstack([A**power for power in range(4)])

    beta = two_stage_least_squares(powers(sample.X), sample.y, powers(sample.Z))
    model = TSLS("polynomial", degree=3).fit(sample.X, sample.y, sample.Z)
    np.testing.assert_allclose(model.predict(sample.X), powers(sample.X) @ beta, atol=1e-8)


# Two knots are a straight line.
def test_two_knots_are_linear(sample):
    at = np.linspace(-8, 8, 5)[:, None]
    h = TSLS("spline", n_knots=2).fit(sample.X, sample.y, sample.Z).predict(at)
    np.testing.assert_allclose(np.diff(h, 2), 0, atol=1e-9)


def test_the_data_choose_more_knots_for_a_bend():
    knots = {}
    for scenario in ("linear", "abs"):
        data = make_continuous(scenario, 1000, random_state=2)
        knots[scenario] = TSLS("spline", random_state=0).fit(data.X, data.y, data.Z).n_knots_
    assert knots["linear"] < knots["abs"]


# Robust intervals of nominal 95 % cover in 95 % of simulations with heteroskedastic errors.
@pytest.mark.slow
def test_coverage(rng):
    covered = []
    for _ in range(1000):
        z, u = rng.normal(size=(2, 300))
        x = z + u + rng.normal(size=300)
        y = x + u * (0.5 + z**2)
        model = TSLS().fit(x[:, None], y, z[:, None])
        covered.append(abs(model.coef_[0] - 1) < 1.96 * model.standard_errors_[1])
    assert 0.92 < np.mean(covered) < 0.97


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"basis": "wavelet"}, "basis must be None, 'polynomial' or 'spline', got 'wavelet'"),
        ({"cov_type": "HC3"}, "cov_type must be 'robust' or 'homoskedastic', got 'HC3'"),
        ({"degree": 0}, "degree must be an integer of at least 1, got 0"),
        ({"n_knots": 1}, "n_knots must be an integer of at least 2, got 1"),
    ],
)
def test_parameters(sample, parameters, message):
    with pytest.raises(ValueError, match=message):
        TSLS(**parameters).fit(sample.X, sample.y, sample.Z)
