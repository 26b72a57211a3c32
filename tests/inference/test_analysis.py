"""Bands, contrasts and derivatives: the algebra behind every interval."""

import numpy as np
import pytest

from sagdiv import SAGDIV, KernelSAGDIV
from sagdiv.baselines import TSLS
from sagdiv.datasets import make_binary, make_continuous
from sagdiv.inference import analyse
from sagdiv.losses import LogisticLoss


@pytest.fixture(scope="module")
def data():
    return make_continuous("sin", 300, random_state=1)


@pytest.fixture(scope="module")
def result(data):
    return analyse(KernelSAGDIV(), data.X, data.y, data.Z)


GRID = np.linspace(-2, 2, 7)[:, None]


# Without clipping the estimate is linear in y: h(x) = sum_i w_i(x) y_i.
def test_weights_reproduce_the_estimate(data, result):
    np.testing.assert_allclose(result.weights(GRID) @ data.y, result.predict(GRID), atol=1e-9)
    np.testing.assert_allclose(result.bands(GRID).estimate, result.predict(GRID), atol=1e-12)


# The affine part of h is never penalised: constants and x itself come back as they are.
def test_weights_of_affine_functions(data, result):
    w = result.weights(GRID)
    np.testing.assert_allclose(w.sum(axis=1), 1, atol=1e-8)
    np.testing.assert_allclose(w @ data.X[:, 0], GRID[:, 0], atol=1e-8)


# The weights do not depend on y, so that another outcome is answered by the same ones.
def test_weights_do_not_depend_on_the_outcome(data, result):
    other = analyse(KernelSAGDIV(total_step=result.model.total_step_), data.X, data.X[:, 0] ** 2,
                    data.Z)  # fmt: skip
    np.testing.assert_allclose(other.weights(GRID), result.weights(GRID), atol=1e-9)


def naive_variance(weights, u, groups):
    """Sum over groups of (sum over their rows of w_i u_i)^2, times G / (G - 1)."""
    total = 0.0
    for group in np.unique(groups):
        inner = 0.0
        for i in np.flatnonzero(groups == group):
            inner += weights[i] * u[i]
        total += inner**2
    n_groups = len(np.unique(groups))
    return total * n_groups / (n_groups - 1)


@pytest.mark.parametrize("clustered", [False, True])
def test_sandwich_equals_the_naive_loop(data, result, clustered):
    groups = np.arange(300) // (5 if clustered else 1)
    if clustered:
        result = analyse(KernelSAGDIV(), data.X, data.y, data.Z, cluster=groups)
        assert result.n_clusters == 60
    u = data.y - result.predict(data.X)
    errors = result.linearisation.errors(result.model.maps_.x.transform(GRID))
    for w, standard_error in zip(result.weights(GRID), errors.noise_error, strict=True):
        assert standard_error**2 == pytest.approx(naive_variance(w, u, groups))


def test_clusters_of_one_row_change_nothing(data, result):
    labels = np.array([f"row {i}" for i in range(300)])
    single = analyse(KernelSAGDIV(), data.X, data.y, data.Z, cluster=labels)
    assert single.average_derivative().standard_error == pytest.approx(
        result.average_derivative().standard_error
    )
    np.testing.assert_allclose(single.bands(GRID).standard_error, result.bands(GRID).standard_error)
    assert single.specification.p_value == pytest.approx(result.specification.p_value, abs=0.05)


# Four copies of a row say no more than the row: the error that believes in them is half as large.
def test_copies_of_rows_do_not_narrow_clustered_bands(data):
    rows = np.repeat(np.arange(300), 4)
    copied = KernelSAGDIV(), data.X[rows], data.y[rows], data.Z[rows]
    clustered, naive = (analyse(*copied, cluster=cluster) for cluster in (rows, None))
    L = np.eye(3, clustered.linearisation.coef.size)
    ratio = (
        clustered.linearisation.errors(L).noise_error / naive.linearisation.errors(L).noise_error
    )
    np.testing.assert_allclose(ratio, 2 * np.sqrt((300 / 299) / (1200 / 1199)))


# Simulated errors have the covariance that the standard errors state.
def test_draws_have_the_stated_spread(result):
    errors = result.linearisation.errors(result.model.maps_.x.transform(GRID))
    draws = errors.draw(20_000, np.random.RandomState(0))
    np.testing.assert_allclose(draws.std(axis=0), errors.standard_error, rtol=0.03)
    covariance = errors.noise @ errors.noise.T + errors.bias @ errors.bias.T
    np.testing.assert_allclose(np.cov(draws.T), covariance, atol=0.03 * covariance.max())


# Drawing from the covariance is the multiplier bootstrap sum_i w_i u_i xi_i with Gaussian xi.
def test_draws_are_a_multiplier_bootstrap(data, result):
    L = result.model.maps_.x.transform(GRID)
    xi = np.random.RandomState(0).standard_normal((20_000, 300))
    multiplied = xi @ result.linearisation.row_influence(L).T
    errors = result.linearisation.errors(L)
    covariance = errors.noise @ errors.noise.T
    np.testing.assert_allclose(np.cov(multiplied.T), covariance, atol=0.03 * covariance.max())


# Var(h(x1) - h(x0)) comes from the joint distribution, not from two separate variances.
def test_contrast_variance_is_joint(result):
    L = result.model.maps_.x.transform(np.array([[1.0], [0.9]]))
    errors = result.linearisation.errors(L)
    covariance = errors.noise @ errors.noise.T + errors.bias @ errors.bias.T
    contrast = result.contrast(1.0, 0.9)
    expected = covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1]
    assert contrast.standard_error**2 == pytest.approx(expected)
    h = result.predict([[1.0], [0.9]])
    assert contrast.estimate == pytest.approx(h[0] - h[1])
    assert contrast.standard_error < errors.standard_error[0]


def test_contrast_of_a_point_with_itself_is_surely_zero(result):
    contrast = result.contrast(1.0, 1.0)
    assert (contrast.estimate, contrast.lower, contrast.upper) == (0, 0, 0)
    assert contrast.p_value == 1.0


def test_derivative_is_the_difference_quotient_of_the_curve(result):
    step = 0.03
    quotient = (result.predict(GRID + step) - result.predict(GRID - step)) / (2 * step)
    band = result.derivative(GRID, step=step)
    np.testing.assert_allclose(band.estimate, quotient, atol=1e-9)
    one = result.contrast(GRID[2] + step, GRID[2] - step)
    assert band.standard_error[2] == pytest.approx(one.standard_error / (2 * step))


def test_average_derivative_averages_the_slopes(data, result):
    slopes = result.derivative(data.X).estimate
    average = result.average_derivative()
    assert average.estimate == pytest.approx(slopes.mean())


# Its variance is that of the rows' contributions: the noise of h, and the sampling of X.
def test_average_derivative_variance_is_a_sum_over_rows(data, result):
    step = 0.2 * data.X.std()
    phi = result.model.maps_.x.transform
    slopes = (phi(data.X + step) - phi(data.X - step)) / (2 * step)
    u, own = data.y - result.predict(data.X), slopes @ result.linearisation.coef
    at = slopes.mean(axis=0)
    to_coefficients = result.linearisation.influence @ result.model.maps_.z.transform(data.Z).T
    total = 0.0
    for i in range(300):
        total += ((at @ to_coefficients[:, i] * u[i] + own[i] - own.mean()) / 300) ** 2
    bias = at @ result.linearisation.left_out
    expected = total * 300 / 299 + bias @ bias
    assert result.average_derivative().standard_error ** 2 == pytest.approx(expected)


# With a linear h and a single slope the average derivative is that of two-stage least squares.
def test_average_derivative_of_a_line():
    data = make_continuous("linear", 2000, random_state=3)
    average = analyse(KernelSAGDIV(), data.X, data.y, data.Z).average_derivative()
    assert average.lower < 1 < average.upper
    assert average.standard_error < 0.1


def test_uniform_band_holds_the_pointwise_one(result):
    band = result.bands()
    assert band.critical_value > 1.96
    assert np.all(band.uniform_lower <= band.lower)
    assert np.all(band.upper <= band.uniform_upper)
    narrow = result.bands(level=0.5)
    assert np.all(narrow.upper < band.upper)
    columns = band.as_dict()
    assert list(columns)[:2] == ["x", "estimate"]
    assert {len(column) for column in columns.values()} == {100}


def test_the_same_seed_gives_the_same_bits_in_any_order(data):
    first, second, other = (
        analyse(KernelSAGDIV(), data.X, data.y, data.Z, random_state=seed) for seed in (0, 0, 1)
    )
    early = first.bands().critical_value
    assert second.specification.p_value == first.specification.p_value
    assert second.bands().critical_value == early == first.bands().critical_value
    assert other.bands().critical_value != early


# A loss that is not quadratic: the linearised estimate has errors of the right size.
@pytest.mark.slow
def test_standard_errors_of_a_binary_outcome_match_simulation():
    loss, estimates, stated = LogisticLoss(0.1**0.5), [], []
    grid = np.linspace(-1.5, 1.5, 5)[:, None]
    for seed in range(60):
        data = make_binary("sin", 1500, random_state=seed)
        result = analyse(KernelSAGDIV(loss), data.X, data.y, data.Z)
        estimates.append(result.predict(grid))
        L = result.model.maps_.x.transform(grid)
        stated.append(result.linearisation.errors(L).noise_error)
    ratio = np.mean(stated, axis=0) / np.std(estimates, axis=0)
    assert np.all((ratio > 0.7) & (ratio < 1.4))


def test_a_binary_outcome_has_no_weights():
    data = make_binary("sin", 300, random_state=0)
    result = analyse(KernelSAGDIV(LogisticLoss(0.1**0.5)), data.X, data.y, data.Z)
    assert np.isfinite(result.bands().standard_error).all()
    with pytest.raises(ValueError, match="not linear in y"):
        result.weights()


def test_exogenous_columns_and_names():
    pandas = pytest.importorskip("pandas")
    data = make_continuous("sin", 400, random_state=0)
    W = np.random.RandomState(5).normal(size=400)
    X = pandas.DataFrame({"price": data.X[:, 0], "age": W})
    Z = pandas.DataFrame(data.Z, columns=["cost", "rain"])
    result = analyse(KernelSAGDIV(exogenous=["age"]), X, data.y + W, Z)
    assert result.Z.shape == (400, 3)
    assert result.bands().X.shape == (100, 2)
    assert len(np.unique(result.grid()[:, 1])) == 1
    assert result.strength.first_stage_f.shape == (1,)
    assert "price" in str(result.summary())
    assert list(result.bands().as_dict())[:2] == ["price", "age"]
    result.support(result.grid())  # an array where the data had names: no warning
    slope = result.average_derivative(column=1)
    assert slope.lower < 1 < slope.upper


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda r: r.bands(level=95), "level must lie between 0 and 1"),
        (lambda r: r.contrast([1.0, 2.0], 0.0), "x1 must be one point"),
        (lambda r: r.derivative(column=3), "column is 3, but X has 1 columns"),
        (lambda r: r.derivative(step=-1.0), "step must be a positive number"),
        (lambda r: r.bands(np.ones((3, 2))), "2 features"),
    ],
)
def test_bad_questions(result, call, message):
    with pytest.raises(ValueError, match=message):
        call(result)


def test_bad_input(data):
    X, y, Z = data.X, data.y, data.Z
    with pytest.raises(TypeError, match=r"for TSLS use sagdiv\.inference\.bootstrap"):
        analyse(TSLS(), X, y, Z)
    with pytest.raises(TypeError, match="for SAGDIV use"):
        analyse(SAGDIV(), X, y, Z)
    with pytest.raises(ValueError, match="analyse needs Z"):
        analyse(KernelSAGDIV(), X, y, None)
    with pytest.raises(ValueError, match="n_draws must be an integer of at least 100"):
        analyse(KernelSAGDIV(), X, y, Z, n_draws=3)
    with pytest.raises(ValueError, match="cluster must hold one label for each row"):
        analyse(KernelSAGDIV(), X, y, Z, cluster=np.ones(5))
    with pytest.raises(ValueError, match="cluster has 1 distinct labels"):
        analyse(KernelSAGDIV(), X, y, Z, cluster=np.ones(300))


def test_missing_labels_are_no_cluster(data):
    pandas = pytest.importorskip("pandas")
    labels = [f"school {i // 5}" for i in range(300)]
    numbers = np.arange(300) // 5
    dates = pandas.to_datetime("2020-01-01") + pandas.to_timedelta(numbers, "D")
    with_holes = [
        np.where(numbers == 7, np.nan, numbers),
        pandas.Series(numbers, dtype="Int64").where(numbers != 7),
        pandas.Series(dates).where(numbers != 7),
        *([missing, *labels[1:]] for missing in (None, np.nan, pandas.NA)),
        *(pandas.Series([missing, *labels[1:]], dtype=object) for missing in (None, np.nan)),
    ]
    for cluster in with_holes:
        with pytest.raises(ValueError, match="missing labels"):
            analyse(KernelSAGDIV(), data.X, data.y, data.Z, cluster=cluster)
    result = analyse(KernelSAGDIV(), data.X, data.y, data.Z, cluster=["nan", *labels[1:]])
    assert result.n_clusters == 61  # a text is a label, whatever it says
