"""Two-stage least squares against linearmodels, and the laws of the linear case."""

import numpy as np
import pytest
from baselines.reference_baselines import NaiveSieve
from linearmodels.datasets import card
from linearmodels.iv import IV2SLS

from sagdiv.baselines import TSLS, SieveIV
from sagdiv.datasets import make_continuous
from sagdiv.exceptions import WeakInstrumentWarning
from sagdiv.linear import projected, second_stage, two_stage_least_squares


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


# Powers of a column with two values repeat each other up to rounding errors: these are no more
# instruments than the column itself.
def test_projection_on_columns_that_repeat_each_other(rng):
    z = (rng.uniform(size=300) > 0.4).astype(float)
    z = (z - z.mean()) / z.std()
    X = rng.normal(size=(300, 3))
    powers = np.column_stack([z**k for k in range(6)])
    np.testing.assert_allclose(projected(X, powers), projected(X, powers[:, :2]), atol=1e-12)


SHORT = "Z identifies 2 of the {} functions of X .* least norm"


# An instrument of two values identifies two numbers: of all h with those, the one of least norm,
# computed with the functions of X at unit length, and not 1e14 times a rounding error.
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("model", "k"),
    [
        (TSLS("polynomial"), 4),
        (TSLS("polynomial", degree=5), 6),
        (TSLS("spline", n_knots=5), 5),
        (SieveIV(5), 5),
    ],
    ids=str,
)
def test_a_binary_instrument_and_a_series(model, k, seed):
    data = make_continuous("sin", 300, random_state=seed)
    z = (data.Z[:, :1] > 0).astype(float)
    with pytest.warns(WeakInstrumentWarning, match=SHORT.format(k)):
        model.fit(data.X, data.y, z)
    B = np.column_stack([np.ones(300), model._basis(data.X)])
    lengths = np.linalg.norm(B, axis=0)
    means = np.array([(B / lengths)[z[:, 0] == value].mean(axis=0) for value in (0, 1)])
    targets = [data.y[z[:, 0] == value].mean() for value in (0, 1)]
    expected = means.T @ np.linalg.solve(means @ means.T, targets)
    found = np.concatenate([[model.intercept_], model.coef_]) * lengths
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert np.abs(model.predict(data.X)).max() < 100


def test_the_data_choose_what_a_binary_instrument_identifies():
    data = make_continuous("sin", 300, random_state=0)
    z = (data.Z[:, :1] > 0).astype(float)
    model = TSLS("spline", random_state=0).fit(data.X, data.y, z)
    assert model.n_knots_ == 2


def test_the_same_instrument_twice(rng):
    X, y, Z = random_data(rng)
    with pytest.warns(WeakInstrumentWarning, match=SHORT.format(3)):
        model = TSLS().fit(X, y, Z[:, [0, 0]])
    assert np.isfinite(model.standard_errors_).all()
    assert np.abs(model.coef_).max() < 100


# Columns of X that repeat each other are not the fault of Z, and predictions do not depend on them.
def test_the_same_regressor_twice(rng):
    X, y, Z = random_data(rng)
    twice = np.column_stack([X, 3 * X[:, 0]])
    expected = TSLS().fit(X, y, Z).predict(X)
    np.testing.assert_allclose(TSLS().fit(twice, y, Z).predict(twice), expected, rtol=1e-8)


# A weak instrument is not none: one part in a million of X still counts as identification.
def test_a_weak_instrument_is_kept(rng):
    z = rng.normal(size=500)
    noise = rng.normal(size=500)
    x = 1e-6 * z + noise - z * (noise @ z) / (z @ z)
    beta, rank = second_stage(x[:, None], projected(x[:, None], z[:, None]))
    assert rank == 1
    assert beta @ (2 * x) == pytest.approx(2, rel=1e-6)


def test_a_small_sample_correction_needs_more_rows_than_coefficients(rng):
    X, y = rng.normal(size=(10, 10)), rng.normal(size=10)
    with pytest.raises(ValueError, match=r"small_sample=True divides by n .* 10 rows for 11 of"):
        TSLS(small_sample=True).fit(X, y, X)
    X, y, Z = random_data(rng)
    TSLS(small_sample=True).fit(X, y, Z)


def test_a_refit_forgets_the_knots(sample):
    model = TSLS("spline", n_knots=3).fit(sample.X, sample.y, sample.Z)
    assert model.n_knots_ == 3
    model.set_params(basis=None).fit(sample.X, sample.y, sample.Z)
    assert not hasattr(model, "n_knots_")


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
