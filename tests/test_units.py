"""The answer follows the units of the data, and does not depend on how numbers are stored."""

import numpy as np
import pytest

from sagdiv import SAGDIV, KernelSAGDIV
from sagdiv.density_ratio import ClassifierDensityRatio
from sagdiv.losses import LogisticLoss
from sagdiv.operators import ForestOperator, NadarayaWatsonOperator
from sagdiv.sets import SupNormBall

COMPONENTS = [
    {},
    {"operator": NadarayaWatsonOperator()},
    {"operator": "ratio"},
    {"convex_set": SupNormBall(0.3)},
]


def predict(sample, x_unit=1.0, y_unit=1.0, z_unit=1.0, **parameters):
    model = SAGDIV(random_state=0, **parameters)
    model.fit(sample.X * x_unit, sample.y * y_unit, sample.Z * z_unit, sample.Z_extra * z_unit)
    return model.predict(sample.X * x_unit) / y_unit


@pytest.mark.parametrize("parameters", COMPONENTS, ids=str)
@pytest.mark.parametrize("unit", [1e12, 1e-12])
def test_units(sample, unit, parameters):
    expected = predict(sample, **parameters)
    for units in ({"x_unit": unit}, {"y_unit": unit}, {"z_unit": unit}):
        answer = predict(sample, **units, **parameters)
        np.testing.assert_allclose(answer, expected, rtol=1e-6, atol=1e-7)
    answer = predict(sample, unit, unit, unit, **parameters)
    np.testing.assert_allclose(answer, expected, rtol=1e-6, atol=1e-7)


def test_units_of_trees(sample):
    parameters = {"density_ratio": ClassifierDensityRatio(), "operator": ForestOperator()}
    expected = predict(sample, **parameters)
    answer = predict(sample, 2.0**10, 2.0**10, 2.0**-10, **parameters)
    np.testing.assert_allclose(answer, expected, rtol=1e-6, atol=1e-7)


def test_units_of_x_and_z_with_a_binary_outcome(sample):
    def binary(unit):
        model = SAGDIV(loss=LogisticLoss(), random_state=0)
        model.fit(sample.X * unit, (sample.y > 0).astype(float), sample.Z * unit)
        assert model.y_scale_ == 1.0
        return model.predict(sample.X * unit)

    np.testing.assert_allclose(binary(1e12), binary(1.0), rtol=1e-6, atol=1e-8)


def test_moving_the_origin_of_x_and_z_changes_nothing(sample):
    def moved(shift):
        model = SAGDIV(random_state=0)
        model.fit(sample.X + shift, sample.y, sample.Z - shift, sample.Z_extra - shift)
        return model.predict(sample.X + shift)

    np.testing.assert_allclose(moved(1000.0), moved(0.0), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("origin", [1e5, -1e6, 1e7])
def test_moving_the_origin_of_the_outcome_moves_the_default_answer(gaussian_sample, origin):
    # Up to the rounding of sums of squares of such numbers.
    data = gaussian_sample
    expected = KernelSAGDIV().fit(data.X, data.y, data.Z)
    moved = KernelSAGDIV().fit(data.X, data.y + origin, data.Z)
    assert moved.dispersion_ == pytest.approx(expected.dispersion_, rel=0.1)
    np.testing.assert_allclose(
        moved.predict(data.X) - origin, expected.predict(data.X), atol=1e-9 * abs(origin)
    )


def test_risk_and_score_are_in_squared_units_of_the_outcome(sample):
    def risk_and_score(unit):
        model = SAGDIV(random_state=0).fit(sample.X, sample.y * unit, sample.Z)
        score = model.score(sample.X, sample.y * unit, sample.Z)
        return model.path_.risk / unit**2, score / unit**2

    (risk, score), (expected_risk, expected_score) = risk_and_score(1e6), risk_and_score(1.0)
    np.testing.assert_allclose(risk, expected_risk, rtol=1e-6)
    # Another unit is another draw of the folds, so only nearly.
    assert score == pytest.approx(expected_score, rel=0.1)


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.int8, bool, object, list])
def test_numbers_may_be_stored_in_any_way(rng, dtype):
    X, Z = rng.randint(-5, 5, (60, 1)), rng.randint(-5, 5, (60, 2))
    y = rng.randint(-5, 5, 60)
    if dtype is bool:
        X, y, Z = X > 0, y > 0, Z > 0
    arrays = [a.tolist() if dtype is list else a.astype(dtype) for a in (X, y, Z)]
    model = SAGDIV(random_state=0).fit(*arrays)
    expected = SAGDIV(random_state=0).fit(*(a.astype(float) for a in (X, y, Z)))
    np.testing.assert_array_equal(model.predict(arrays[0]), expected.predict(X.astype(float)))
    assert model.predict(arrays[0]).dtype == np.float64


@pytest.mark.parametrize("as_list", [True, False])
def test_a_single_instrument_may_be_a_vector(sample, as_list):
    z = sample.Z[:, 0].tolist() if as_list else sample.Z[:, 0]
    model = SAGDIV(random_state=0).fit(sample.X, sample.y, z)
    expected = SAGDIV(random_state=0).fit(sample.X, sample.y, sample.Z[:, :1])
    np.testing.assert_array_equal(model.predict(sample.X), expected.predict(sample.X))
    assert model.score(sample.X, sample.y, z) == model.score(sample.X, sample.y, sample.Z[:, 0])
