"""Binary outcomes: the deviance and its gradient, extreme fits, labels, probabilities."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.special import expit
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from sagdiv import SAGDIV, KernelSAGDIV, scale_sensitivity
from sagdiv.baselines import TSLS, ControlFunctionProbit
from sagdiv.control_function import ControlFunction, pooled
from sagdiv.datasets import make_binary
from sagdiv.deviance import LocalModel, descend_deviance
from sagdiv.first_stage import FirstStage
from sagdiv.flow import Flow
from sagdiv.losses import LogisticLoss, ProbitLoss, PseudoHuberLoss, SquaredLoss
from sagdiv.plotting import ProjectedCalibrationDisplay, ScaleSensitivityDisplay
from sagdiv.rows import RowBlocks
from sagdiv.splitting import nuisance_split

SCALE = 0.1**0.5
LOSSES = [LogisticLoss(SCALE), ProbitLoss(0.6)]


@pytest.fixture(scope="module")
def data():
    return make_binary("sin", 400, n_extra=100, random_state=0)


@pytest.fixture(scope="module")
def fitted(data):
    return KernelSAGDIV(loss=LogisticLoss(SCALE)).fit(data.X, data.y, data.Z)


def deviance_of(model, data, loss):
    """The projected deviance as a function of coefficients, straight from its definition."""
    psi = model.maps_.z.transform(data.Z)

    def deviance(a):
        return np.mean(
            [loss.value(y, row @ model.P_.B @ a) for y, row in zip(data.y, psi, strict=True)]
        )

    return deviance


# The descent


@pytest.mark.parametrize("loss", [*LOSSES, SquaredLoss(), PseudoHuberLoss(0.5)], ids=repr)
def test_gradient_and_hessian_of_the_projected_deviance(data, fitted, loss):
    deviance = deviance_of(fitted, data, loss)
    B, a = fitted.P_.B, fitted.coef_
    psi = fitted.maps_.z.transform(data.Z)
    model = LocalModel.of(loss, psi, B @ a, data.y, np.ones(len(data.y)))
    gradient, H = B.T @ model.c / model.n, B.T @ model.G @ B / model.n
    rng = np.random.RandomState(1)
    for _ in range(3):
        direction = rng.normal(size=len(a))
        step = 1e-4
        ahead, here, behind = (deviance(a + k * step * direction) for k in (1, 0, -1))
        assert direction @ gradient == pytest.approx((ahead - behind) / (2 * step), rel=1e-5)
        curvature = (ahead - 2 * here + behind) / step**2
        assert direction @ H @ direction == pytest.approx(curvature, rel=1e-3)


def test_blocks_of_rows_add_up(data, fitted):
    psi, c = fitted.maps_.z.transform(data.Z), fitted.P_.B @ fitted.coef_
    weights = np.arange(len(data.y)) % 3.0

    def model(rows):
        return LocalModel.of(LOSSES[0], psi[rows], c, data.y[rows], weights[rows])

    whole, parts = model(slice(None)), model(slice(0, 150)) + model(slice(150, None))
    for name in ("n", "G", "c", "value", "squared_slopes", "curvature"):
        np.testing.assert_allclose(getattr(parts, name), getattr(whole, name), rtol=1e-9)


def test_the_squared_loss_is_the_special_case_of_the_identity(data):
    model = KernelSAGDIV().fit(data.X, data.y, data.Z)
    mean, n = model.moments_.averages, model.moments_.n
    n_free = model.maps_.x.n_affine_
    stage = FirstStage.fit(mean, n, model.maps_.z.groups_, n_free)
    S, noise = stage.hessian + stage.lift, stage.B.T @ mean.Gz @ stage.B / n
    moments = Flow(S, stage.B.T @ mean.cz, noise, n_free)

    def total(term):
        return term(data.X, data.y, data.Z, np.ones(len(data.y)))

    t = 100.0
    start, rest = descend_deviance(total, SquaredLoss(), model.maps_.z, stage, n_free, t)
    np.testing.assert_allclose(start.a, moments.start, atol=1e-8)
    X = model.maps_.x.transform(data.X)
    np.testing.assert_allclose(
        X @ rest.flow.coefficients(t, 0.0), X @ moments.coefficients(t, 0.0), atol=1e-6
    )


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_the_start_minimises_the_deviance_over_affine_functions(data, loss):
    model = KernelSAGDIV(loss=loss).fit(data.X, data.y, data.Z)
    mean, n_free = model.moments_.averages, model.maps_.x.n_affine_
    stage = FirstStage.fit(mean, model.moments_.n, model.maps_.z.groups_, n_free)

    def total(term):
        return term(data.X, data.y, data.Z, np.ones(len(data.y)))

    start, rest = descend_deviance(total, loss, model.maps_.z, stage, n_free, 1e3)
    assert not start.a[n_free:].any()
    deviance = deviance_of(model, data, loss)
    assert deviance(rest.a) < deviance(start.a)
    # The ridge of the first stage moves the minimum by very little.
    for j in range(n_free):
        for size in (-0.2, 0.2):
            assert deviance(start.a) < deviance(start.a + size * np.eye(len(start.a))[j])


@pytest.mark.parametrize("factor", [1e-3, 7.0, 1e4])
def test_the_scale_is_the_unit_of_h(data, factor):
    one = KernelSAGDIV(loss=LogisticLoss(1.0)).fit(data.X, data.y, data.Z)
    other = KernelSAGDIV(loss=LogisticLoss(factor)).fit(data.X, data.y, data.Z)
    np.testing.assert_allclose(other.predict(data.X), factor * one.predict(data.X), rtol=1e-6)


def test_swapping_the_labels_turns_h_around(data, fitted):
    swapped = KernelSAGDIV(loss=LogisticLoss(SCALE)).fit(data.X, 1 - data.y, data.Z)
    np.testing.assert_allclose(swapped.predict(data.X), -fitted.predict(data.X), atol=1e-6)


def test_an_integer_weight_is_a_repeated_row(data):
    weights = 1 + np.arange(len(data.y)) % 2
    model = KernelSAGDIV(loss=LOSSES[0])
    weighted = clone(model).fit(data.X, data.y, data.Z, sample_weight=weights)
    repeated = clone(model).fit(*(np.repeat(A, weights, axis=0) for A in (data.X, data.y, data.Z)))
    np.testing.assert_allclose(weighted.predict(data.X), repeated.predict(data.X), atol=1e-6)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_same_bits_and_pickles(data, loss):
    model = KernelSAGDIV(loss=loss).fit(data.X, data.y, data.Z)
    again = clone(model).set_params(n_jobs=2).fit(data.X, data.y, data.Z)
    assert again.predict(data.X).tobytes() == model.predict(data.X).tobytes()
    copy = pickle.loads(pickle.dumps(model))
    assert copy.predict_projected_proba(data.Z).tobytes() == (
        model.predict_projected_proba(data.Z).tobytes()
    )


# Extreme fits

SEPARATED = {
    "by the instrument": lambda X, Z: Z[:, 0] > 0,
    "by the regressor": lambda X, Z: X[:, 0] > 0,
    "almost": lambda X, Z: (Z[:, 0] > 2.5) | (Z[:, 1] > 2.99),
    "one row": lambda X, Z: np.arange(len(X)) == 3,
}


@pytest.mark.parametrize("rule", SEPARATED.values(), ids=SEPARATED)
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_separated_labels_give_finite_answers(data, rule, loss):
    y = rule(data.X, data.Z).astype(float)
    model = KernelSAGDIV(loss=loss).fit(data.X, y, data.Z)
    assert np.isfinite(model.predict(data.X)).all()
    p = model.predict_projected_proba(data.Z)
    assert ((p >= 0) & (p <= 1)).all()
    assert np.isfinite(model.score(data.X, y, data.Z))


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_a_projection_of_a_thousand_scales_is_finite(data, loss):
    psi = np.column_stack([np.ones(400), data.Z])
    c = np.array([0.0, 1e3 * loss.scale, -1e3 * loss.scale])
    model = LocalModel.of(loss, psi, c, data.y, np.ones(400))
    for name in ("G", "c", "value", "squared_slopes", "curvature"):
        assert np.isfinite(getattr(model, name)).all()
    v = psi @ c
    for values in (loss.value(data.y, v), loss.d2(data.y, v), loss.d22(data.y, v), loss.mean(v)):
        assert np.isfinite(values).all()


# The control function


def naive_probit(A, y):
    """Gradient ascent with backtracking on the log-likelihood, row by row sums."""
    a = np.zeros(A.shape[1])
    loss = ProbitLoss()
    for _ in range(200):
        slopes, curvatures = loss.d2(y, A @ a), loss.d22(y, A @ a)
        H = sum(w * np.outer(row, row) for w, row in zip(curvatures, A, strict=True))
        a = a - np.linalg.solve(H, sum(s * row for s, row in zip(slopes, A, strict=True)))
    return a


class Columns:
    def transform(self, A):
        return np.column_stack([np.ones(len(A)), A])


def test_the_control_function_is_a_probit_on_x_and_the_residuals(data):
    X, Z = Columns().transform(data.X), Columns().transform(data.Z)
    B = np.linalg.lstsq(Z, X, rcond=None)[0]
    v = (X - Z @ B)[:, 1]
    a = naive_probit(np.column_stack([X, v]), data.y)
    s = np.sqrt(0.7 / (1 + (a[1] + a[2]) ** 2 * np.mean(v**2)))

    def total(term):
        halves = slice(200), slice(200, 400)
        first, second = (term(data.X[r], data.y[r], data.Z[r], np.ones(200)) for r in halves)
        return first + second

    found = ControlFunction(Columns(), Columns(), B).fit(total, 0.7)
    np.testing.assert_allclose(found, s * a[:2], rtol=1e-6)


def test_the_probit_of_outcomes_that_a_line_separates_has_a_direction(rng):
    # The index runs away, the answer does not: h is scaled by the disturbance of P[h](Z).
    Z = rng.normal(size=(200, 1))
    X = Z + 0.5 * rng.normal(size=(200, 1))
    rows = RowBlocks(X, (X[:, 0] > 0).astype(float), Z, np.ones(200))
    B = np.linalg.lstsq(Columns().transform(Z), Columns().transform(X), rcond=None)[0]
    intercept, slope = ControlFunction(Columns(), Columns(), B).fit(rows.total, 1.0)
    assert 0 < slope < 10
    assert abs(intercept) < 0.3 * slope


@pytest.mark.filterwarnings("ignore::sagdiv.exceptions.WeakInstrumentWarning")
def test_outcomes_that_the_instrument_separates_have_no_rest():
    few = make_binary("linear", 15, random_state=0)
    with pytest.warns(ConvergenceWarning, match="has not come to rest after 50 rounds"):
        KernelSAGDIV(LogisticLoss(SCALE)).fit(few.X, few.y, few.Z)


def test_the_answer_is_between_the_descent_and_the_probit(data, fitted):
    assert 0 <= fitted.nonparametric_share_ <= 1
    linear = make_binary("linear", 400, random_state=3)
    model = KernelSAGDIV(loss=LOSSES[0]).fit(linear.X, linear.y, linear.Z)
    assert model.nonparametric_share_ < 0.5 < fitted.nonparametric_share_


def test_pooling_keeps_an_estimate_that_the_reference_contradicts(data):
    model = KernelSAGDIV(loss=LOSSES[0]).fit(data.X, data.y, data.Z)
    n_free = model.maps_.x.n_affine_
    mean = model.moments_.averages
    stage = FirstStage.fit(mean, model.moments_.n, model.maps_.z.groups_, n_free)

    def total(term):
        return term(data.X, data.y, data.Z, np.ones(len(data.y)))

    t = model.total_step_
    start, rest = descend_deviance(total, LOSSES[0], model.maps_.z, stage, n_free, t)
    far = start.a[:n_free] + 100.0
    kept, share = pooled(rest.a, far, start, stage, t)
    assert share > 0.999
    np.testing.assert_allclose(kept[n_free:], share * rest.a[n_free:])


# Labels

ENUM = pl.Enum(["b", "a"])
LABELS = {
    "integers": (lambda y: y.astype(int), [0, 1]),
    "booleans": (lambda y: y.astype(bool), [0, 1]),
    "floats": (lambda y: y, [0, 1]),
    "lists": (lambda y: y.astype(int).tolist(), [0, 1]),
    "series": (lambda y: pd.Series(y.astype(int), name="bought"), [0, 1]),
    "nullable": (lambda y: pd.Series(y.astype(int)).astype("Int64"), [0, 1]),
    "words": (lambda y: np.where(y == 1, "yes", "no"), ["no", "yes"]),
    "objects": (lambda y: np.where(y == 1, "yes", "no").astype(object), ["no", "yes"]),
    "series of words": (lambda y: pd.Series(np.where(y == 1, "yes", "no")), ["no", "yes"]),
    "categories": (
        lambda y: pd.Categorical(np.where(y == 1, "buys", "walks"), categories=["walks", "buys"]),
        ["walks", "buys"],
    ),
    "series of categories": (
        lambda y: pd.Series(np.where(y == 1, "a", "b"), dtype=pd.CategoricalDtype(["b", "a", "c"])),
        ["b", "a"],
    ),
    "polars words": (lambda y: pl.Series(np.where(y == 1, "yes", "no")), ["no", "yes"]),
    "polars enum": (
        lambda y: pl.Series(np.where(y == 1, "a", "b"), dtype=ENUM),
        ["b", "a"],
    ),
    "polars categories": (
        lambda y: pl.Series(np.where(y == 1, "yes", "no"), dtype=pl.Categorical),
        ["no", "yes"],
    ),
    # Words that this process has met in the other order.
    "polars categories met before": (
        lambda y: (
            pl.concat([pl.Series(["win", "loss"]), pl.Series(np.where(y == 1, "win", "loss"))])
            .cast(pl.Categorical)
            .slice(2)
        ),
        ["loss", "win"],
    ),
    # Numbers mean what they say, whatever the order in which somebody listed them.
    "zero and one as categories": (
        lambda y: pd.Categorical(y.astype(int), categories=[1, 0]),
        [0, 1],
    ),
    "booleans as categories": (lambda y: pd.Series(y == 1).astype("category"), [0, 1]),
    "numbers as categories": (lambda y: pd.Categorical(y + 1, categories=[2, 1]), [1, 2]),
    "nullable booleans": (lambda y: pd.Series(y == 1).astype("boolean"), [0, 1]),
    "pandas words": (
        lambda y: pd.Series(np.where(y == 1, "yes", "no")).astype("string"),
        ["no", "yes"],
    ),
    "frame of categories": (
        lambda y: pd.DataFrame({"y": pd.Categorical(np.where(y == 1, "a", "b"), ["b", "a"])}),
        ["b", "a"],
    ),
    "polars frame of an enum": (
        lambda y: pl.DataFrame({"y": pl.Series(np.where(y == 1, "a", "b"), dtype=ENUM)}),
        ["b", "a"],
    ),
    "polars frame of numbers": (lambda y: pl.DataFrame({"y": y.astype(int)}), [0, 1]),
    "numbered categories": (lambda y: pd.Series(y * 3 - 5).astype("category"), [-5, -2]),
}


@pytest.mark.parametrize(("encode", "classes"), LABELS.values(), ids=LABELS)
@pytest.mark.parametrize("make", [KernelSAGDIV, KernelSAGDIV.paper], ids=["default", "paper"])
def test_labels_of_any_kind(data, make, encode, classes):
    model = make(loss=LOSSES[0], random_state=0)
    plain = clone(model).fit(data.X, data.y, data.Z)
    labelled = clone(model).fit(data.X, encode(data.y), data.Z)
    np.testing.assert_array_equal(labelled.predict(data.X), plain.predict(data.X))
    assert list(labelled.classes_) == classes
    assert labelled.score(data.X, encode(data.y), data.Z) == plain.score(data.X, data.y, data.Z)


BAD_LABELS = {
    "three words": (lambda y: np.array(["a", "b", "c"])[np.arange(400) % 3], "must have two lab"),
    "one word": (lambda y: np.full(400, "a"), "got 1: 'a'. Both outcomes must be seen"),
    "plus and minus": (lambda y: 2 * y - 1, "y must be 0 or 1 for .*got the values -1, 1"),
    "numbers": (lambda y: y + np.arange(400), "y must be 0 or 1"),
    "only ones": (lambda y: np.ones(400), "y is 1 in every row; .* needs both 0 and 1"),
    "missing": (lambda y: np.where(y == 1, "a", None), "Input y contains NaN"),
    "missing pandas word": (
        lambda y: pd.Series(np.where(y == 1, "a", None)).astype("string"),
        "Input y contains NaN: a label is missing",
    ),
    "missing boolean": (
        lambda y: pd.Series(y == 1).astype("boolean").where(y == 1),
        "Input y contains NaN: an outcome is missing",
    ),
    "words and numbers": (
        lambda y: np.array([0 if v == 0 else "1" for v in y], dtype=object),
        r"y mixes labels that have no order: 0 \(int\), '1' \(str\)",
    ),
    "missing number": (lambda y: np.where(y == 1, 1, np.nan), "Input y contains NaN"),
    "two columns": (lambda y: np.column_stack([y, 1 - y]), "y must be one column"),
}


@pytest.mark.parametrize(("spoil", "message"), BAD_LABELS.values(), ids=BAD_LABELS)
@pytest.mark.parametrize("make", [KernelSAGDIV, KernelSAGDIV.paper], ids=["default", "paper"])
def test_labels_that_are_none(data, make, spoil, message):
    with pytest.raises(ValueError, match=message):
        make(loss=LOSSES[0]).fit(data.X, spoil(data.y), data.Z)


def test_labels_of_another_fit(data):
    y = np.where(data.y == 1, "yes", "no")
    model = KernelSAGDIV(loss=LOSSES[0]).fit(data.X, y, data.Z)
    with pytest.raises(ValueError, match="y must have the labels of the fit"):
        model.score(data.X, np.where(data.y == 1, "ja", "nein"), data.Z)
    with pytest.raises(ValueError, match="y must have the labels of the fit"):
        model.score(data.X, data.y, data.Z)
    assert model.score(data.X[:20], np.full(20, "yes"), data.Z[:20]) < 0


def test_rows_that_weigh_nothing_do_not_count_as_a_class(data):
    with pytest.raises(ValueError, match="y is 1 in every row"):
        KernelSAGDIV(loss=LOSSES[0]).fit(data.X, data.y, data.Z, sample_weight=data.y)


def test_one_class_among_the_rows_of_the_nuisances():
    data = make_binary("sin", 60, random_state=0)
    alone = nuisance_split(60, 1 / 3, np.random.RandomState(0))[1][0]
    y = (np.arange(60) == alone).astype(float)
    with pytest.raises(ValueError, match="y is 0 in every row that fits the nuisances"):
        SAGDIV(loss=LOSSES[0], random_state=0).fit(data.X, y, data.Z)


def test_a_second_fit_forgets_the_labels(data):
    model = KernelSAGDIV(loss=LOSSES[0]).fit(data.X, data.y, data.Z)
    model.set_params(loss=None).fit(data.X, data.X[:, 0], data.Z)
    assert not hasattr(model, "classes_")
    assert not hasattr(model, "nonparametric_share_")
    assert model.loss_ == SquaredLoss()


# Probabilities


@pytest.mark.parametrize("make", [KernelSAGDIV, KernelSAGDIV.paper], ids=["default", "paper"])
def test_probabilities_are_those_of_the_projection(data, make):
    model = make(loss=LOSSES[0], random_state=0).fit(data.X, data.y, data.Z)
    p = model.predict_projected_proba(data.Z)
    assert p.shape == (400,)
    assert ((p >= 0) & (p <= 1)).all()
    np.testing.assert_allclose(p, expit(model.predict_projected(data.Z) / SCALE))


def test_probabilities_need_a_binary_loss(data):
    for make in (KernelSAGDIV, SAGDIV):
        assert hasattr(make(loss=ProbitLoss()), "predict_projected_proba")
        assert not hasattr(make(), "predict_projected_proba")
        with pytest.raises(AttributeError) as caught:
            make(loss=PseudoHuberLoss()).predict_projected_proba(data.Z)
        assert "needs the loss of a binary outcome" in str(caught.value.__cause__)


# One call for all: whoever does not need X does not mind it.
def test_probabilities_of_the_open_door_take_x_too(data):
    model = SAGDIV(loss=LOSSES[0], random_state=0).fit(data.X, data.y, data.Z)
    np.testing.assert_array_equal(
        model.predict_projected_proba(data.Z, data.X), model.predict_projected_proba(data.Z)
    )


def test_probabilities_with_exogenous_regressors(data):
    W = np.random.RandomState(5).normal(size=(400, 1))
    X = np.column_stack([data.X, W])
    model = KernelSAGDIV(loss=LOSSES[0], exogenous=[1]).fit(X, data.y, data.Z)
    assert model.predict_projected_proba(data.Z, X).shape == (400,)
    with pytest.raises(ValueError, match="needs X for its exogenous columns"):
        model.predict_projected_proba(data.Z)


@pytest.mark.parametrize("scenario", ["sin", "linear"])
def test_probabilities_come_true(scenario):
    train = make_binary(scenario, 4000, random_state=10)
    model = KernelSAGDIV(loss=LogisticLoss(SCALE)).fit(train.X, train.y, train.Z)
    fresh = make_binary(scenario, 20_000, random_state=11)
    p = model.predict_projected_proba(fresh.Z)
    assert np.mean((p - fresh.design.r(fresh.Z)) ** 2) < 1e-3
    display = ProjectedCalibrationDisplay.from_estimator(model, fresh.Z, fresh.y)
    assert np.abs(display.predicted - display.observed).max() < 0.04


def test_calibration_counts_rows_in_bins(data, fitted):
    display = ProjectedCalibrationDisplay.from_estimator(fitted, data.Z, data.y, n_bins=4)
    p = fitted.predict_projected_proba(data.Z)
    groups = np.array_split(np.argsort(p), 4)
    assert display.counts.sum() == 400
    for k, rows in enumerate(groups):
        assert display.predicted[k] == pytest.approx(p[rows].mean(), abs=0.01)
        assert display.observed[k] == pytest.approx(data.y[rows].mean(), abs=0.02)
    few = ProjectedCalibrationDisplay.from_estimator(fitted, data.Z[:1], data.y[:1])
    assert few.counts.tolist() == [1]


@pytest.mark.filterwarnings("ignore:.*:DeprecationWarning")
def test_displays_draw(data, fitted):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    ProjectedCalibrationDisplay.from_estimator(fitted, data.Z, data.y).plot()
    grid = np.linspace(-3, 3, 5)[:, None]
    display = ScaleSensitivityDisplay.from_estimator(
        fitted, data.X, data.y, data.Z, scales=[0.2, 0.5], X_grid=grid
    )
    ax = display.plot(relative=True)
    assert len(ax.get_lines()) == 2
    pyplot.close("all")


def test_scale_sensitivity_refits_under_each_scale(data, fitted):
    grid = np.linspace(-2, 2, 7)[:, None]
    found = scale_sensitivity(fitted, data.X, data.y, data.Z, [SCALE, 2 * SCALE], grid)
    np.testing.assert_array_equal(found.curves[0], fitted.predict(grid))
    np.testing.assert_allclose(found.relative[1], found.relative[0], rtol=1e-6)
    np.testing.assert_allclose(found.scores[1], found.scores[0], rtol=1e-6)
    # The paper's step and start scale with the loss; a step that does not changes the answer.
    for settings, does_not_matter in (({}, True), ({"step": 0.05}, False)):
        paper = KernelSAGDIV.paper(loss=LogisticLoss(), random_state=0, **settings)
        found = scale_sensitivity(paper, data.X, data.y, data.Z, [SCALE, 2 * SCALE], grid)
        assert np.allclose(*found.relative, rtol=1e-6) == does_not_matter


# loss=None is whatever it stands for in the estimator at hand.
def test_scale_sensitivity_of_a_binary_baseline(data):
    found = scale_sensitivity(ControlFunctionProbit(), data.X, data.y, data.Z, [1, 2], data.X)
    np.testing.assert_allclose(found.relative[1], found.relative[0], rtol=1e-4)


@pytest.mark.parametrize(
    ("scales", "model", "message"),
    [
        ([], KernelSAGDIV(loss=LogisticLoss()), "scales is empty"),
        ([0.0], KernelSAGDIV(loss=LogisticLoss()), "scales must be a positive number, got 0.0"),
        ([1.0], KernelSAGDIV(loss=SquaredLoss()), "needs the loss of a binary outcome"),
        ([1.0], KernelSAGDIV(), r"needs the loss of a binary outcome.*not SquaredLoss\(\)"),
        (1.0, KernelSAGDIV(loss=LogisticLoss()), r"scales must be a list .* as in \[0.5, 1.0\]"),
        ([1.0], TSLS(), r"one with a parameter loss, such as .*; TSLS has none"),
    ],
)
def test_scale_sensitivity_refuses(data, scales, model, message):
    with pytest.raises((ValueError, TypeError), match=message):
        scale_sensitivity(model, data.X, data.y, data.Z, scales, data.X)


# The open door


def test_a_classifier_as_the_outcome_regression(data):
    model = KernelSAGDIV.paper(loss=LOSSES[0], outcome=LogisticRegression(), random_state=0)
    model.fit(data.X, data.y, data.Z, data.Z_extra)
    r = model.r_.predict(data.Z_extra)
    assert ((r > 0) & (r < 1)).all()


def test_the_shared_smoother_is_clipped_only_where_it_has_to_be(data):
    slopes = []
    for loss in (LogisticLoss(SCALE), ProbitLoss(SCALE)):
        model = KernelSAGDIV.paper(loss=loss, random_state=0).fit(data.X, data.y, data.Z)
        slopes.append(model.r_.predict(np.linspace(-3, 3, 200)[:, None] * [1, 0]))
    assert slopes[0].min() < 0 or slopes[0].max() > 1
    assert slopes[1].min() >= 0
    assert slopes[1].max() <= 1


@pytest.mark.slow
@pytest.mark.parametrize(("scenario", "bar"), [("sin", 0.03), ("linear", 0.05)])
def test_recovers_the_binary_design(scenario, bar):
    errors = []
    for seed in range(20):
        data = make_binary(scenario, 1000, random_state=seed)
        X = data.sample_X(1000, random_state=10_000 + seed)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = KernelSAGDIV(loss=LogisticLoss(SCALE)).fit(data.X, data.y, data.Z)
        errors.append(np.mean((model.predict(X) - data.h_star(X)) ** 2))
    assert np.mean(errors) < bar
