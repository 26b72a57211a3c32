"""The projected risk: what it rewards, and what it does not depend on."""

import numpy as np
import pytest

from sagdiv.datasets import make_binary, make_continuous, make_gaussian
from sagdiv.losses import LogisticLoss, SquaredLoss
from sagdiv.risk import projected_risk

LOSS = SquaredLoss()


def risk(y, h, Z, weights=None, loss=LOSS):
    return projected_risk(loss, y, h, Z, np.ones(len(y)) if weights is None else weights)


@pytest.fixture(scope="module")
def draw():
    return make_gaussian(500, random_state=0)


def test_the_truth_beats_the_confounded_regression():
    data = make_continuous("sin", 1000, random_state=0)
    confounded = np.polyval(np.polyfit(data.X[:, 0], data.y, 5), data.X[:, 0])
    assert np.mean((data.y - confounded) ** 2) < np.mean((data.y - data.h_star(data.X)) ** 2)
    assert risk(data.y, data.h_star(data.X), data.Z) < risk(data.y, confounded, data.Z)


def test_approaches_the_risk_of_the_exact_projection():
    # E (Y - E[h*(X)|Z])^2 / 2, with P h* = r known in closed form.
    data = make_gaussian(4000, random_state=0)
    exact = LOSS.value(data.y, data.design.r(data.Z)).mean()
    assert risk(data.y, data.h_star(data.X), data.Z) == pytest.approx(exact, rel=0.01)


def test_a_function_of_the_instrument_is_its_own_projection(draw):
    h = np.sin(2 * draw.Z[:, 0])
    assert risk(draw.y, h, draw.Z) == pytest.approx(LOSS.value(draw.y, h).mean(), rel=0.02)


def test_noise_in_h_that_the_instrument_does_not_move_is_averaged_out(draw, rng):
    noisy = draw.h_star(draw.X) + rng.normal(scale=0.5, size=500)
    assert risk(draw.y, noisy, draw.Z) == pytest.approx(
        risk(draw.y, draw.h_star(draw.X), draw.Z), rel=0.05
    )


def test_integer_weights_are_repeated_rows(draw, rng):
    weights = rng.randint(0, 4, 500)
    y, h, Z = (np.repeat(a, weights, axis=0) for a in (draw.y, draw.X[:, 0], draw.Z))
    weighted = risk(draw.y, draw.X[:, 0], draw.Z, weights.astype(float))
    assert weighted == pytest.approx(risk(y, h, Z), rel=1e-8)


def test_a_common_factor_of_the_weights_does_not_matter(draw):
    h = draw.X[:, 0]
    assert risk(draw.y, h, draw.Z, np.full(500, 7.0)) == pytest.approx(risk(draw.y, h, draw.Z))


def test_order_does_not_matter(draw, rng):
    order = rng.permutation(500)
    h = draw.X[:, 0]
    shuffled = risk(draw.y[order], h[order], draw.Z[order])
    assert shuffled == pytest.approx(risk(draw.y, h, draw.Z), rel=1e-8)


def test_constants_are_carried_exactly(draw):
    assert risk(draw.y, np.full(500, 2.0), draw.Z) == pytest.approx(
        LOSS.value(draw.y, 2.0).mean(), rel=1e-10
    )


def test_binary_truth_beats_its_negative():
    data = make_binary("sin", 800, random_state=0)
    h, loss = data.h_star(data.X), LogisticLoss(0.1**0.5)
    assert risk(data.y, h, data.Z, loss=loss) < risk(data.y, -h, data.Z, loss=loss)
    assert risk(data.y, h, data.Z, loss=loss) < risk(data.y, 0 * h, data.Z, loss=loss)


@pytest.mark.parametrize("n", [1, 2, 7])
def test_few_rows_still_have_a_risk(draw, n):
    assert np.isfinite(risk(draw.y[:n], draw.X[:n, 0], draw.Z[:n]))
