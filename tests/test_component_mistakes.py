"""A component of one's own: the least it has to be, and what is said of one that is less."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from sagdiv import SAGDIV, KernelSAGDIV
from sagdiv.baselines import TSLS
from sagdiv.datasets import ContinuousDesign, make_continuous
from sagdiv.density_ratio import ClassifierDensityRatio, ExactDensityRatio, KernelDensityRatio
from sagdiv.inference import analyse
from sagdiv.losses import LogisticLoss, ProbitLoss, PseudoHuberLoss, SquaredLoss
from sagdiv.sets import WholeSpace


def fit(sample, model=SAGDIV, **parameters):
    return model(random_state=0, **parameters).fit(sample.X, sample.y, sample.Z)


def refuse(error, message, sample, model=SAGDIV, **parameters):
    with pytest.raises(error, match=message):
        fit(sample, model, **parameters)


# Losses


class LeastLoss:
    """Half the squared difference, in as few words as possible."""

    domain = (-np.inf, np.inf)

    def value(self, u, v):
        return (u - v) ** 2 / 2

    def d2(self, u, v):
        return v - u


class LeastLocalLoss(LeastLoss):
    """The same with what the default estimator needs besides."""

    curvature, width = 1.0, np.inf

    def d22(self, u, v):
        return np.ones(np.broadcast(u, v).shape)


def test_the_least_loss_is_enough(sample):
    # It does not say that h is in the units of y, in which the paper's step would be smaller.
    y_unit = sample.y.std()
    expected = SAGDIV(random_state=0).fit(sample.X, sample.y / y_unit, sample.Z)
    model = SAGDIV(loss=LeastLoss(), random_state=0).fit(sample.X, sample.y / y_unit, sample.Z)
    np.testing.assert_allclose(
        model.predict(sample.X), expected.predict(sample.X), rtol=1e-8, atol=1e-10
    )
    assert np.isfinite(model.score(sample.X, sample.y, sample.Z))
    assert not hasattr(model, "predict_projected_proba")


@pytest.mark.filterwarnings("ignore::sagdiv.exceptions.WeakInstrumentWarning")
def test_the_least_loss_of_the_default_estimator(sample):
    def projected(loss):
        model = KernelSAGDIV(loss, total_step=100.0).fit(sample.X, sample.y, sample.Z)
        return model.predict_projected(sample.Z)

    squared = projected(SquaredLoss())
    np.testing.assert_allclose(projected(LeastLocalLoss()), squared, atol=0.1 * sample.y.std())
    refuse(TypeError, "which has no d22, curvature, width", sample, KernelSAGDIV, loss=LeastLoss())


def test_the_least_loss_has_a_summary():
    data = make_continuous("sin", 300, random_state=0)
    result = analyse(KernelSAGDIV(LeastLocalLoss()), data.X, data.y, data.Z)
    assert "E[Y - h(X) | Z] = 0" in str(result.summary())


def test_a_loss_that_claims_nothing_is_not_descended_on_observed_outcomes(sample):
    refuse(ValueError, "slope is linear in y", sample, loss=LeastLoss(), outcome="observed")


def test_a_binary_loss_needs_the_mean():
    class Binary(LeastLoss):
        binary = True

    with pytest.raises(TypeError, match="which has no mean"):
        SAGDIV(loss=Binary()).fit(np.zeros((9, 1)), np.zeros(9), np.zeros((9, 1)))


class CauchyLink(LeastLoss):
    """The squared distance of a probability from a link of one's own, of unknown variance."""

    binary, domain = True, (0.0, 1.0)

    def mean(self, v):
        return 0.5 + np.arctan(v) / np.pi

    def value(self, u, v):
        return (u - self.mean(v)) ** 2 / 2

    def d2(self, u, v):
        return (self.mean(v) - u) / (np.pi * (1 + np.square(v)))


# A straight line to begin with takes a disturbance that is known.
def test_the_papers_descent_of_the_least_binary_loss_begins_at_zero(sample):
    y = (sample.y > 0).astype(float)
    model = KernelSAGDIV.paper(loss=CauchyLink(), random_state=0).fit(sample.X, y, sample.Z)
    assert model.init is None
    assert np.isfinite(model.predict(sample.X)).all()


@pytest.mark.parametrize("loss", [LogisticLoss, ProbitLoss, PseudoHuberLoss])
@pytest.mark.parametrize("scale", ["a", 0, np.nan, -1.0, True, np.array([1.0, 2.0])], ids=str)
def test_scales_are_positive_numbers(loss, scale):
    with pytest.raises(ValueError, match="scale must be a positive number, got "):
        loss(scale)


# Nuisances


@pytest.mark.parametrize("outcome", [LinearSVC(), make_pipeline(LinearSVC())], ids=str)
def test_classifiers_without_probabilities(sample, outcome):
    refuse(TypeError, "outcome must be .* which has no predict_proba", sample, outcome=outcome)
    ratio = ClassifierDensityRatio(outcome)
    refuse(TypeError, "classifier must be .* has no predict_proba", sample, density_ratio=ratio)


class Given(BaseEstimator):
    """Whatever it is asked for is an array that was given."""

    def __init__(self, answer=None, nodes=True):
        self.answer = answer
        self.nodes = nodes

    def fit(self, A, B):
        if self.nodes:
            self.nodes_ = A if self.nodes is True else self.nodes(A)
        return self

    def ratio(self, X, Z):
        return self.answer(X, Z)

    def weights(self, Z):
        return self.answer(self.nodes_, Z).T

    def predict(self, Z):
        return self.answer(Z)


def wrong_shape(X, Z=None):
    return np.ones((3, 3))


def missing(X, Z):
    return np.where(np.arange(len(Z)) == 1, np.nan, np.ones((len(X), 1)))


def one_column(A):
    return A[:, :1]


def first_column(A):
    return A[:, 0]


def no_columns(A):
    return A[:, :0]


def late_nan(Z):
    return np.where(np.arange(len(Z)) == 2, np.nan, 0.5)


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        (
            {"density_ratio": Given(wrong_shape)},
            ValueError,
            r"density_ratio must return an array of shape \(30, 60\) from ratio, got \(3, 3\)",
        ),
        ({"density_ratio": Given(missing)}, ValueError, "density_ratio returned non-finite values"),
        (
            {"operator": Given(wrong_shape)},
            ValueError,
            r"operator must return an array of shape \(60, 30\) from weights, got \(3, 3\)",
        ),
        (
            {"operator": Given(missing)},
            ValueError,
            "operator returned non-finite weights, first at row 1 of the instruments",
        ),
        ({"operator": Given(missing, nodes=False)}, TypeError, "has no nodes_ after fit"),
        (
            {"operator": Given(missing, nodes=no_columns)},
            ValueError,
            r"operator sets nodes_ of shape \(30, 0\); they must be rows like those of X, with 1",
        ),
        (
            {"outcome": Given(wrong_shape)},
            ValueError,
            r"outcome must return an array of shape \(60,\) from predict, got \(3, 3\)",
        ),
        ({"outcome": Given(late_nan)}, ValueError, "outcome predicts nan at row 2 of the instr"),
    ],
)
def test_what_nuisances_must_not_return(sample, parameters, error, message):
    refuse(error, message, sample, **parameters)


def test_an_outcome_may_be_a_column(sample):
    column, vector = (fit(sample, outcome=Given(f)) for f in (one_column, first_column))
    np.testing.assert_array_equal(column.predict(sample.X), vector.predict(sample.X))


def test_a_density_ratio_that_is_known_near_the_data_only(sample):
    model = fit(sample, density_ratio=ExactDensityRatio(ContinuousDesign("sin").Phi))
    assert np.isfinite(model.predict(sample.X)).all()
    with np.errstate(all="ignore"), pytest.raises(ValueError, match="density_ratio returned non-"):
        model.predict([[100.0]])


# Start, and steps that lead nowhere


def test_starts_that_are_regressions(sample):
    message = r"init=LinearRegression\(\) has a fit that takes no Z, and would start at the conf"
    refuse(TypeError, message, sample, init=LinearRegression())
    refuse(TypeError, "takes no Z", sample, init=LogisticRegression())
    assert np.isfinite(fit(sample, init=TSLS()).predict(sample.X)).all()


@pytest.mark.parametrize(
    ("init", "found"),
    [
        (lambda X: 0.3, r"an array of shape \(\)"),
        (lambda X: np.zeros(3), r"an array of shape \(3,\)"),
        (lambda X: np.full(len(X), np.nan), "others"),
    ],
)
def test_starts_that_are_not_one_number_a_row(sample, init, found):
    refuse(ValueError, f"init must give one finite number for each of .*{found}", sample, init=init)


@pytest.mark.parametrize(
    "ratio", [KernelDensityRatio(), ExactDensityRatio(ContinuousDesign("sin").Phi)], ids=["a", "b"]
)
def test_steps_that_are_far_too_large(sample, ratio):
    parameters = {"density_ratio": ratio, "convex_set": WholeSpace(), "step": 1e9}
    refuse(ValueError, "the descent diverged: .* use a smaller step", sample, **parameters)
