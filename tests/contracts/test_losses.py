"""Laws of a loss: its slope is the slope of its value, it is convex, and it never overflows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from registry import LOSSES, table
from scipy.special import expit
from scipy.stats import norm

from sagdiv.losses import LogisticLoss, ProbitLoss, SquaredLoss
from sagdiv.protocols import Loss

INDEX = np.linspace(-8, 8, 65)


def targets(loss):
    low, high = np.maximum(loss.domain[0], -3.0), np.minimum(loss.domain[1], 3.0)
    return np.linspace(low, high, 7)[:, None]


def scale(loss):
    return getattr(loss, "scale", 1.0)


@pytest.mark.parametrize("case", LOSSES)
def test_offers_the_contract(case):
    assert isinstance(case.component, Loss)


@pytest.mark.parametrize("case", LOSSES)
def test_d2_is_the_finite_difference_of_value(case):
    loss = case.component
    v, step = INDEX * scale(loss), 1e-5 * scale(loss)
    u = targets(loss)
    slope = (loss.value(u, v + step) - loss.value(u, v - step)) / (2 * step)
    np.testing.assert_allclose(loss.d2(u, v), slope, atol=1e-8 / scale(loss), rtol=1e-7)


@pytest.mark.parametrize("case", LOSSES)
@pytest.mark.parametrize("center", [0.0, 40.0, -40.0, 1e3, -1e3, 1e5])
def test_d22_is_the_finite_difference_of_d2(case, center):
    loss = case.component
    v, step = (center + INDEX) * scale(loss), 1e-4 * scale(loss)
    u = targets(loss)
    second = (loss.d2(u, v + step) - loss.d2(u, v - step)) / (2 * step)
    # What is left of the digits of d2, whose largest values grow with the distance.
    rounding = 1e-11 * (1 + abs(center)) / scale(loss) ** 2
    np.testing.assert_allclose(loss.d22(u, v), second, atol=rounding, rtol=1e-6)
    assert (loss.d22(u, v) >= 0).all()
    assert (loss.d22(u, v) <= loss.curvature * (1 + 1e-12)).all()


@pytest.mark.parametrize("case", LOSSES)
@given(
    u=st.floats(0, 1),
    v=st.floats(-50, 50),
    w=st.floats(-50, 50),
    t=st.floats(0, 1),
)
def test_convex_in_the_second_argument(case, u, v, w, t):
    loss = case.component
    chord = t * loss.value(u, v) + (1 - t) * loss.value(u, w)
    assert loss.value(u, t * v + (1 - t) * w) <= chord + 1e-9 * (1 + chord)


@pytest.mark.parametrize("case", LOSSES)
def test_curvature_bounds_the_change_of_the_slope_and_is_approached(case):
    loss = case.component
    v = np.linspace(-30, 30, 6001) * scale(loss)
    second = np.diff(loss.d2(targets(loss), v), axis=1) / np.diff(v)
    assert second.max() <= loss.curvature * (1 + 1e-6)
    assert second.max() >= 0.95 * loss.curvature


@pytest.mark.parametrize("case", LOSSES)
@pytest.mark.parametrize("size", [1e3, 1e8])
def test_finite_at_extreme_arguments(case, size):
    loss = case.component
    v = np.array([-size, size]) * scale(loss)
    assert np.isfinite(loss.value(targets(loss), v)).all()
    assert np.isfinite(loss.d2(targets(loss), v)).all()
    assert np.isfinite(loss.d22(targets(loss), v)).all()
    assert np.isfinite(loss.mean(v)).all()
    assert (loss.value(targets(loss), v) >= 0).all()


@pytest.mark.parametrize("case", LOSSES)
def test_slope_vanishes_where_the_target_is_met(case):
    loss = case.component
    v = INDEX / 4 * scale(loss)
    np.testing.assert_allclose(loss.d2(loss.mean(v), v) * scale(loss), 0, atol=1e-12)


@pytest.mark.parametrize("case", LOSSES)
def test_linear_in_the_outcome_if_it_says_so(case):
    loss = case.component
    if not loss.linear_in_outcome:
        pytest.skip("does not say so")
    u, v, t = targets(loss), INDEX * scale(loss), 0.3
    mixed = loss.d2(t * u + (1 - t) * u[::-1], v)
    np.testing.assert_allclose(mixed, t * loss.d2(u, v) + (1 - t) * loss.d2(u[::-1], v), atol=1e-9)


@pytest.mark.parametrize("case", LOSSES)
def test_symmetric_and_lipschitz_if_it_says_so(case):
    loss = case.component
    v = INDEX * scale(loss)
    if loss.symmetric:
        np.testing.assert_allclose(loss.value(1.0, 1.0 + v), loss.value(1.0, 1.0 - v))
    far = np.array([-1e8, 1e8]) * scale(loss)
    bounded = np.abs(loss.d2(0.5, far)).max() <= 10 * max(scale(loss), 1 / scale(loss))
    assert bounded == loss.lipschitz


@pytest.mark.parametrize("case", table(logistic=LogisticLoss(0.3), probit=ProbitLoss(0.3)))
def test_link_inverts_the_mean_and_the_variance_is_that_of_the_noise(case):
    p = np.linspace(0.01, 0.99, 9)
    np.testing.assert_allclose(case.mean(case.link(p)), p)
    v = np.linspace(-40, 40, 400_001) * case.scale
    density = np.gradient(case.mean(v), v)
    assert np.trapezoid(v**2 * density, v) == pytest.approx(case.noise_variance, rel=1e-6)


@pytest.mark.parametrize("case", LOSSES)
def test_accepts_numbers_and_arrays_alike(case):
    loss = case.component
    assert np.shape(loss.value(0.5, 0.1)) == np.shape(loss.d2(0.5, 0.1)) == ()
    assert loss.d2(np.full(3, 0.5), np.zeros((2, 1))).shape == (2, 3)
    assert loss.value([0.0, 1.0], [1.0, 2.0]).shape == (2,)


BOUNDARY = [
    # loss, u, v, value, slope
    (SquaredLoss(), 2.0, -1.0, 4.5, -3.0),
    (LogisticLoss(), 0.0, -1e8, 0.0, 0.0),
    (LogisticLoss(), 1.0, 1e8, 0.0, 0.0),
    (LogisticLoss(), 1.0, -1e8, 1e8, -1.0),
    (LogisticLoss(), 0.0, 1e8, 1e8, 1.0),
    (LogisticLoss(scale=0.5), 1.0, -1e8, 2e8, -2.0),
    (LogisticLoss(), 0.5, 0.0, np.log(2), 0.0),
    (ProbitLoss(), 0.0, -1e8, 0.0, 0.0),
    (ProbitLoss(), 1.0, 1e8, 0.0, 0.0),
    (ProbitLoss(), 1.0, -1e8, 0.5e16, -1e8),
    (ProbitLoss(), 0.0, 1e8, 0.5e16, 1e8),
    (ProbitLoss(), 0.5, 0.0, np.log(2), 0.0),
]


@pytest.mark.parametrize(("loss", "u", "v", "value", "slope"), BOUNDARY)
def test_boundary(loss, u, v, value, slope):
    np.testing.assert_allclose(loss.value(u, v), value, rtol=1e-12)
    np.testing.assert_allclose(loss.d2(u, v), slope, rtol=1e-12)


@pytest.mark.parametrize(
    ("loss", "F"),
    [(LogisticLoss(0.3), expit), (ProbitLoss(0.3), norm.cdf)],
    ids=["logit", "probit"],
)
def test_binary_losses_are_the_cross_entropy_of_their_distribution(loss, F):
    u, v = targets(loss), INDEX * 0.3 / 2
    p = F(v / 0.3)
    np.testing.assert_allclose(loss.mean(v), p)
    np.testing.assert_allclose(
        loss.value(u, v), -(u * np.log(p) + (1 - u) * np.log1p(-p)), rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize("case", table(logistic=LogisticLoss, probit=ProbitLoss))
@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf])
def test_scale_must_be_positive(case, bad):
    with pytest.raises(ValueError, match="scale must be a positive number"):
        case(scale=bad)
