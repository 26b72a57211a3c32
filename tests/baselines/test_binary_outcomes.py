"""The baselines for binary outcomes: their formulas, and what they promise."""

import inspect
import pickle

import numpy as np
import pandas as pd
import pytest
from baselines import reference_baselines as naive
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from sagdiv.baselines import (
    ControlFunctionProbit,
    KernelLogisticRegression,
    LinearProbability,
    LinkTikhonov,
    LogisticKIV,
)
from sagdiv.baselines.penalised_loss import minimise
from sagdiv.datasets import make_binary
from sagdiv.exceptions import WeakInstrumentWarning
from sagdiv.losses import LogisticLoss, ProbitLoss, SquaredLoss
from sagdiv.splitting import nuisance_split

LOSS = LogisticLoss(0.1**0.5)
BASELINES = [
    LogisticKIV(LOSS, random_state=0),
    LinkTikhonov(LOSS),
    LinearProbability(LOSS),
    ControlFunctionProbit(LOSS),
    KernelLogisticRegression(LOSS, random_state=0),
]
NAMES = [type(model).__name__ for model in BASELINES]
each = pytest.mark.parametrize("model", BASELINES, ids=NAMES)


@pytest.fixture(scope="module")
def data():
    return make_binary("sin", 200, random_state=0)


def fit(model, data):
    return clone(model).fit(data.X, data.y, data.Z)


class Cut:
    """Gives scikit-learn's checks, which draw a continuous y, an estimator for binary ones."""

    def fit(self, X, y, Z=None):
        return super().fit(X, cut(y), Z)

    def score(self, X, y, Z=None, sample_weight=None):
        return super().score(X, cut(y), Z, sample_weight)


def cut(y):
    values = np.asarray(y)
    if y is None or values.size == 0:
        return y
    if values.dtype.kind == "c":
        return y
    values = values.astype(float)
    if not np.isfinite(values).all():
        return y
    return (values > np.median(values)).astype(float)


class CutKIV(Cut, LogisticKIV): ...


class CutTikhonov(Cut, LinkTikhonov): ...


class CutLinearProbability(Cut, LinearProbability): ...


class CutProbit(Cut, ControlFunctionProbit): ...


class CutKernelLogistic(Cut, KernelLogisticRegression): ...


@pytest.mark.filterwarnings("ignore::sagdiv.exceptions.NoInstrumentWarning")
@pytest.mark.filterwarnings("ignore::sagdiv.exceptions.WeakInstrumentWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
@parametrize_with_checks(
    [
        CutKIV(random_state=0),
        CutTikhonov(),
        CutLinearProbability(),
        CutProbit(),
        CutKernelLogistic(random_state=0),
    ],
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@each
def test_the_docstring_says_what_is_solved_by_whom_and_when_it_fails(model):
    text = inspect.getdoc(type(model))
    positions = [text.find(word) for word in (".. math::", "When it fails: ", "References\n---")]
    assert -1 < positions[0] < positions[1] < positions[2]


@each
def test_shapes_finite_values_bits_and_pickles(model, data):
    far = np.array([[-1e6], [0.0], [1e6]])
    fitted = fit(model, data)
    prediction = fitted.predict(np.vstack([data.X, far]))
    assert prediction.shape == (203,)
    assert np.isfinite(prediction).all()
    copy = pickle.loads(pickle.dumps(fitted))
    assert copy.predict(data.X).tobytes() == fit(model, data).predict(data.X).tobytes()
    assert copy.score(data.X, data.y, data.Z) < 0


@each
def test_labels_and_frames(model, data):
    y = pd.Series(np.where(data.y == 1, "buys", "walks"), dtype="category")
    X, Z = pd.DataFrame({"price": data.X[:, 0]}), pd.DataFrame(data.Z, columns=["tax", "size"])
    labelled = clone(model).fit(X, y, Z)
    assert list(labelled.classes_) == ["buys", "walks"]
    flipped = clone(model).fit(data.X, 1 - data.y, data.Z)
    np.testing.assert_allclose(labelled.predict(X), flipped.predict(data.X), atol=1e-9)
    assert list(labelled.instrument_names_in_) == ["tax", "size"]


@each
def test_swapping_the_labels_turns_h_around(model, data):
    swapped = clone(model).fit(data.X, 1 - data.y, data.Z)
    np.testing.assert_allclose(
        swapped.predict(data.X), -fit(model, data).predict(data.X), atol=1e-4, rtol=1e-4
    )


@each
@pytest.mark.parametrize("factor", [1e-2, 5.0])
def test_the_scale_is_the_unit_of_h(model, data, factor):
    if isinstance(model, LogisticKIV | KernelLogisticRegression):
        pytest.skip("its penalty is on h, not on h / scale")
    other = clone(model).set_params(loss=LogisticLoss(factor * LOSS.scale))
    np.testing.assert_allclose(
        fit(other, data).predict(data.X), factor * fit(model, data).predict(data.X), rtol=1e-6
    )


@each
@pytest.mark.parametrize("loss", [None, ProbitLoss(0.5)])
def test_other_losses(model, data, loss):
    other = fit(clone(model).set_params(loss=loss), data)
    assert other.loss_ == (LogisticLoss() if loss is None else loss)
    assert np.isfinite(other.predict(data.X)).all()


@each
@pytest.mark.parametrize("loss", [SquaredLoss(), LogisticLoss, "logistic"])
def test_a_loss_that_is_not_binary(model, data, loss):
    with pytest.raises(TypeError, match="loss must be the loss of a binary outcome"):
        fit(clone(model).set_params(loss=loss), data)


@each
@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.ones(200), "y is 1 in every row"),
        (np.arange(200.0), "y must be 0 or 1"),
        (np.array(["a", "b", "c", "a"] * 50), "must have two labels"),
    ],
)
def test_outcomes_that_are_not_binary(model, data, y, message):
    with pytest.raises(ValueError, match=message):
        clone(model).fit(data.X, y, data.Z)


def test_one_class_in_a_fold():
    data = make_binary("sin", 40, random_state=0)
    second = nuisance_split(40, 0.5, np.random.RandomState(0))[1]
    y = np.zeros(40)
    y[np.setdiff1d(np.arange(40), second)[0]] = 1
    with pytest.raises(ValueError, match="y is 0 in every row of the second stage"):
        LogisticKIV(LOSS, random_state=0).fit(data.X, y, data.Z)
    y[second[0]] = 1
    with pytest.raises(ValueError, match="every row but those of a fold of cross-validation"):
        LogisticKIV(LOSS, random_state=0).fit(data.X, y, data.Z)


# Formulas


@pytest.mark.parametrize("loss", [LOSS, ProbitLoss(0.4), SquaredLoss()], ids=repr)
def test_newton_finds_the_minimum_of_the_penalised_risk(loss, rng):
    Psi, y = rng.normal(size=(60, 4)), (rng.uniform(size=60) < 0.4).astype(float)

    def risk(theta):
        return sum(loss.value(t, row @ theta) for t, row in zip(y, Psi, strict=True)) / 60 + (
            0.01 * sum(theta**2)
        )

    found = minimise(loss, Psi, y, 0.01)
    expected = minimize(risk, np.zeros(4), tol=1e-12)
    np.testing.assert_allclose(found, expected.x, atol=1e-4)
    assert risk(found) <= expected.fun + 1e-10


def test_newton_with_separable_rows_and_a_tiny_penalty():
    Psi = np.column_stack([np.ones(50), np.linspace(-1, 1, 50)])
    theta = minimise(LogisticLoss(0.1), Psi, (Psi[:, 1] > 0).astype(float), 1e-9)
    assert np.isfinite(theta).all()
    assert ((Psi @ theta > 0) == (Psi[:, 1] > 0)).all()


def test_logistic_kiv_is_the_representer_problem():
    data = make_binary("sin", 60, random_state=1)
    model = LogisticKIV(LOSS, bandwidth=0.1, stage1_ridge=0.05, stage2_ridge=0.02, random_state=0)
    model.fit(data.X, data.y, data.Z)
    first, second = nuisance_split(60, 0.5, np.random.RandomState(0))
    x_width, z_width = model.x_bandwidth_, 0.1 * naive_median(data.Z)
    K = naive.gram(data.X[first], data.X[first], x_width)
    K_zz = naive.gram(data.Z[first], data.Z[first], z_width)
    K_zZ = naive.gram(data.Z[first], data.Z[second], z_width)
    W = K @ np.linalg.solve(K_zz + 30 * 0.05 * np.eye(30), K_zZ)

    def risk(alpha):
        return LOSS.value(data.y[second], alpha @ W).mean() + 0.02 * alpha @ K @ alpha

    alpha = minimize(risk, np.zeros(30), method="BFGS", options={"gtol": 1e-9}).x
    at = np.linspace(-3, 3, 9)[:, None]
    expected = naive.gram(at, data.X[first], x_width) @ alpha
    np.testing.assert_allclose(model.predict(at), expected, atol=1e-4)


# LogisticKIV is not KIV with another loss in all its options: it has a single split.
def test_logistic_kiv_has_the_attributes_of_its_parameters():
    assert not hasattr(LogisticKIV(), "swap")


def test_kernel_logistic_regression_is_the_representer_problem():
    data = make_binary("sin", 40, random_state=1)
    model = KernelLogisticRegression(LOSS, bandwidth=0.3, ridge=0.02)
    model.fit(data.X, data.y, data.Z)
    K = naive.gram(data.X, data.X, model.x_bandwidth_)

    def risk(alpha):
        return LOSS.value(data.y, K @ alpha).mean() + 0.02 * alpha @ K @ alpha

    alpha = minimize(risk, np.zeros(40), method="BFGS", options={"gtol": 1e-9}).x
    at = np.linspace(-3, 3, 9)[:, None]
    expected = naive.gram(at, data.X, model.x_bandwidth_) @ alpha
    np.testing.assert_allclose(model.predict(at), expected, atol=1e-4)


# It estimates P(Y = 1|X), whatever Z is, and X is the more strongly confounded the more it knows.
def test_kernel_logistic_regression_is_the_confounded_answer():
    data = make_binary("sin", 1000, random_state=0)
    model = KernelLogisticRegression(LOSS, random_state=0).fit(data.X, data.y, data.Z)
    elsewhere = KernelLogisticRegression(LOSS, random_state=0).fit(data.X, data.y, data.Z[::-1])
    X = data.sample_X(1000, random_state=1)
    np.testing.assert_array_equal(model.predict(X), elsewhere.predict(X))
    low, high = data.X[:, 0] < -1, data.X[:, 0] > 1
    for rows in (low, high):
        share = LOSS.mean(model.predict(data.X[rows])).mean()
        assert share == pytest.approx(data.y[rows].mean(), abs=0.05)
    assert np.mean((model.predict(X) - data.h_star(X)) ** 2) > 0.05


def naive_median(Z):
    from reference import median_bandwidth

    return median_bandwidth(Z)


def test_link_tikhonov_inverts_the_link_of_the_local_averages(data):
    model = LinkTikhonov(LOSS, trim=0.05, ridge=0.1).fit(data.X, data.y, data.Z)
    n = len(data.y)
    widths = [A.std(axis=0) * n ** (-1 / (A.shape[1] + 4)) for A in (data.X, data.Z)]
    T = naive.NaiveTikhonov.average(data.Z, data.Z, widths[1])
    adjoint = naive.NaiveTikhonov.average(data.X, data.X, widths[0])
    r = np.clip(T @ data.y, 0.05, 0.95)
    q = LOSS.scale * np.log(r / (1 - r))
    h = np.linalg.solve(0.1 * np.eye(n) + adjoint @ T, adjoint @ q)
    np.testing.assert_allclose(model.predict(data.X), h, atol=1e-6)


@pytest.mark.parametrize("trim", [0.0, 0.5, -1.0, "little"])
def test_link_tikhonov_refuses_to_trim_everything(data, trim):
    with pytest.raises(ValueError, match="trim must"):
        LinkTikhonov(LOSS, trim=trim).fit(data.X, data.y, data.Z)


@pytest.mark.parametrize("loss", [LogisticLoss(0.3), ProbitLoss(0.3)], ids=repr)
def test_linear_probability_is_the_tangent_line_at_one_half(data, loss):
    model = LinearProbability(loss).fit(data.X, data.y, data.Z)
    Z = np.column_stack([np.ones(200), data.Z])
    fitted = Z @ np.linalg.lstsq(Z, data.X[:, 0], rcond=None)[0]
    b = np.cov(fitted, data.y)[0, 1] / np.var(fitted, ddof=1)
    a = data.y.mean() - b * data.X.mean()
    slope = (loss.mean(1e-6) - loss.mean(-1e-6)) / 2e-6
    expected = (a + b * data.X[:, 0] - 0.5) / slope
    np.testing.assert_allclose(model.predict(data.X), expected, atol=1e-6)


def test_control_function_probit_is_precise_where_it_is_right():
    data = make_binary("linear", 20_000, random_state=7)
    model = ControlFunctionProbit(LOSS).fit(data.X, data.y, data.Z)
    assert model.coef_ == pytest.approx([1.0], abs=0.1)
    assert model.intercept_ == pytest.approx(0.0, abs=0.05)


# Two slopes cannot be told apart by one instrument, and the answer says so.
@pytest.mark.parametrize("model", [LinearProbability(), ControlFunctionProbit()], ids=str)
def test_a_line_that_is_not_identified(model):
    data = make_binary("linear", 300, random_state=0)
    X = np.column_stack([data.X, np.random.RandomState(0).normal(size=300)])
    with pytest.warns(WeakInstrumentWarning, match="2 of the 3 .* instrument for every column"):
        model.fit(X, data.y, data.Z[:, :1])
