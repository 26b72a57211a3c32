"""score: minus the projected risk, never the fit of the confounded regression."""

import numpy as np
import pytest

from sagdiv import SAGDIV
from sagdiv.base import IVRegressor
from sagdiv.datasets import make_continuous
from sagdiv.exceptions import NoInstrumentWarning
from sagdiv.losses import LogisticLoss, SquaredLoss
from sagdiv.risk import projected_risk


class Fixed(IVRegressor):
    """An estimator whose answer is given."""

    def __init__(self, function=None):
        self.function = function

    def fit(self, X, y, Z=None):
        self._check_fit_input(X, y, Z)
        return self

    def predict(self, X):
        return self.function(self._check_predict_input(X))


@pytest.fixture(scope="module")
def model(sample):
    return SAGDIV(random_state=0).fit(sample.X, sample.y, sample.Z)


@pytest.mark.parametrize("scenario", ["step", "abs", "linear", "sin"])
def test_prefers_the_truth_to_the_confounded_regression(scenario):
    data = make_continuous(scenario, 1000, random_state=0)
    coefficients = np.polyfit(data.X[:, 0], data.y, 5)

    def confounded(X):
        return np.polyval(coefficients, X[:, 0])

    truth, wrong = (
        Fixed(h).fit(data.X, data.y, data.Z).score(data.X, data.y, data.Z)
        for h in (data.h_star, confounded)
    )
    assert truth > wrong


def test_is_minus_the_projected_risk(model, sample):
    h = model.predict(sample.X)
    risk = projected_risk(SquaredLoss(), sample.X, sample.y, h, sample.Z, np.ones(90))
    assert model.score(sample.X, sample.y, sample.Z) == -risk


def test_of_a_binary_model_uses_its_loss(sample):
    y, loss = (sample.y > 0).astype(float), LogisticLoss(0.5)
    model = SAGDIV(loss=loss, random_state=0).fit(sample.X, y, sample.Z)
    risk = projected_risk(loss, sample.X, y, model.predict(sample.X), sample.Z, np.ones(90))
    assert model.score(sample.X, y, sample.Z) == -risk


def test_of_single_held_out_rows_is_refused(model, sample):
    with pytest.raises(ValueError, match="score needs at least 10 different rows, got 1: "):
        model.score(sample.X[:1], sample.y[:1], sample.Z[:1])


def test_refuses_without_an_instrument(model, sample):
    with pytest.raises(ValueError, match="score needs Z: the model was fitted with an instrument"):
        model.score(sample.X, sample.y)


def test_without_an_instrument_is_minus_the_mean_loss(sample):
    model = SAGDIV(random_state=0)
    with pytest.warns(NoInstrumentWarning, match="X is its own instrument"):
        model.fit(sample.X, sample.y)
    residual = sample.y - model.predict(sample.X)
    assert model.score(sample.X, sample.y) == pytest.approx(-np.mean(residual**2) / 2)
    weights = np.arange(90.0)
    expected = -np.average(residual**2, weights=weights) / 2
    weighted = model.score(sample.X, sample.y, sample_weight=weights)
    assert weighted == pytest.approx(expected)


def test_without_an_instrument_is_the_same_as_with_x_for_z(sample):
    with pytest.warns(NoInstrumentWarning):
        alone = SAGDIV(random_state=0).fit(sample.X, sample.y)
    twice = SAGDIV(random_state=0).fit(sample.X, sample.y, sample.X)
    np.testing.assert_array_equal(alone.predict(sample.X), twice.predict(sample.X))


def test_integer_weights_are_repeated_rows(model, sample, rng):
    weights = rng.randint(0, 4, 90)
    repeated = [np.repeat(a, weights, axis=0) for a in (sample.X, sample.y, sample.Z)]
    weighted = model.score(sample.X, sample.y, sample.Z, sample_weight=weights)
    assert weighted == pytest.approx(model.score(*repeated), rel=1e-8)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones(89), r"one number per row, shape \(90,\), got \(89,\)"),
        (np.ones((90, 2)), r"one number per row, shape \(90,\), got \(90, 2\)"),
        (-np.ones(90), r"sample_weight must not be negative; row 0 has -1"),
        (np.zeros(90), r"zero for every row: nothing is left to learn from"),
        (np.full(90, np.nan), r"sample_weight contains NaN"),
    ],
)
def test_bad_weights(model, sample, weights, message):
    with pytest.raises(ValueError, match=message):
        model.score(sample.X, sample.y, sample.Z, sample_weight=weights)


def test_bad_rows(model, sample):
    with pytest.raises(ValueError, match=r"len\(X\) = 90, len\(y\) = 80, len\(Z\) = 70"):
        model.score(sample.X, sample.y[:80], sample.Z[:70])
    with pytest.raises(ValueError, match="Z has 1 columns, but the instruments of the fit had 2"):
        model.score(sample.X, sample.y, sample.Z[:, :1])
