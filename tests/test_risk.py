"""The projected risk: what it rewards, and what it does not depend on."""

import numpy as np
import pytest

from sagdiv.datasets import make_binary, make_continuous, make_gaussian
from sagdiv.losses import LogisticLoss, SquaredLoss
from sagdiv.risk import projected_risk

LOSS = SquaredLoss()


def risk(y, h, Z, weights=None, loss=LOSS, X=None):
    X = np.empty((len(y), 0)) if X is None else X
    return projected_risk(loss, X, y, h, Z, np.ones(len(y)) if weights is None else weights)


def cell_means(Z, h):
    """Return E[h|Z] of a discrete Z exactly: the average of h over the rows with the same Z."""
    return np.array([h[(z == Z).all(axis=1)].mean() for z in Z])


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


@pytest.mark.parametrize("levels", [2, 3, 5])
@pytest.mark.parametrize("rounded", [False, True])
def test_discrete_instrument_and_outcome(levels, rounded):
    # The expectation given a discrete Z is the average over its cell. The rows of one (z, y) must
    # not be held out together, nor, where X is discrete too, those of one (z, y, x).
    rng = np.random.RandomState(7)
    Z = rng.randint(levels, size=(2000, 1)).astype(float)
    index, eta = Z[:, 0] - (levels - 1) / 2, rng.logistic(size=2000)
    truth = index + eta + 0.3 * rng.normal(size=2000)
    truth = np.round(truth).clip(-3, 3) if rounded else truth
    y, loss = (index + eta > 0).astype(float), LogisticLoss()
    risks = [risk(y, c * truth, Z, loss=loss, X=truth[:, None]) for c in (0, 1, 3)]
    exact = [loss.value(y, cell_means(Z, c * truth)).mean() for c in (0, 1, 3)]
    np.testing.assert_allclose(risks, exact, rtol=0.05)
    assert risks[1] < risks[0]
    assert risks[1] < risks[2]


def test_copies_of_a_row_are_held_out_together(draw):
    # A noise that is copied with its row cannot be told from a function of Z by its copies.
    noise = np.random.RandomState(3).normal(size=60)
    twice = [np.repeat(a, 3, axis=0) for a in (draw.y[:60], noise, draw.Z[:60], draw.X[:60])]
    assert risk(*twice[:3], X=twice[3]) == pytest.approx(
        risk(draw.y[:60], noise, draw.Z[:60], X=draw.X[:60]), rel=1e-8
    )


def test_small_held_out_samples_rank_the_truth_first():
    # Folds of the least size that is accepted, of a draw of 600 rows.
    for data in (make_gaussian(600, random_state=1), make_continuous("abs", 600, random_state=1)):
        truth = data.h_star(data.X)
        confounded = np.polyval(np.polyfit(data.X[:, 0], data.y, 5), data.X[:, 0])
        folds = np.split(np.arange(600), 60)

        def mean_risk(h, data=data, folds=folds):
            return np.mean([risk(data.y[f], h[f], data.Z[f], X=data.X[f]) for f in folds])

        assert mean_risk(truth) < mean_risk(confounded)
        assert mean_risk(truth) < mean_risk(np.full(600, data.y.mean()))


@pytest.mark.parametrize("n", [1, 2, 9])
def test_too_few_rows_are_refused(draw, n):
    # From one row E[h(X)|Z] is h(x) itself, which rewards the confounded answer.
    with pytest.raises(ValueError, match=f"score needs at least 10 different rows, got {n}: "):
        risk(draw.y[:n], draw.X[:n, 0], draw.Z[:n])


def test_copies_are_no_further_rows(draw):
    rows = np.repeat(np.arange(9), 5)
    with pytest.raises(ValueError, match="10 different rows, got 9"):
        risk(draw.y[rows], draw.X[rows, 0], draw.Z[rows])
    with pytest.raises(ValueError, match="10 different rows, got 4"):
        risk(draw.y, draw.X[:, 0], draw.Z, (np.arange(500) < 4).astype(float))
