"""The record of a descent, and its evaluation at new points by the fast road and the slow one."""

import pickle

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from sagdiv import SAGDIV
from sagdiv import path as path_module
from sagdiv.density_ratio import KernelDensityRatio
from sagdiv.exceptions import BoundReachedWarning
from sagdiv.losses import LogisticLoss, SquaredLoss
from sagdiv.sets import Interval, SupNormBall, WholeSpace

X_WIDE = np.linspace(-15, 15, 301)[:, None]


class HiddenRank(BaseEstimator):
    """A kernel density ratio that does not tell that it has finite rank."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X, Z):
        self.ratio_ = KernelDensityRatio(random_state=self.random_state).fit(X, Z)
        return self

    def ratio(self, X, Z):
        return self.ratio_.ratio(X, Z)


def fit(sample, density_ratio=None, **parameters):
    density_ratio = density_ratio or KernelDensityRatio(random_state=0)
    model = SAGDIV(density_ratio, random_state=0, **parameters)
    return model.fit(sample.X, sample.y, sample.Z, sample.Z_extra)


@pytest.mark.filterwarnings("ignore:y is .* from zero on average")
@pytest.mark.parametrize("radius", [10.0, 2.0, 1.0, 0.5, 0.2, 0.01])
def test_certificate_and_replay_agree_wherever_the_bound_binds(sample, radius):
    # From "nowhere" over "at some new points only" to "everywhere".
    convex_set = SupNormBall(radius)
    fast = fit(sample, convex_set=convex_set)
    slow = fit(sample, HiddenRank(random_state=0), convex_set=convex_set)
    assert slow.path_.representation == "values"
    np.testing.assert_allclose(fast.predict(X_WIDE), slow.predict(X_WIDE), rtol=1e-9, atol=1e-10)
    assert np.abs(fast.predict(X_WIDE)).max() <= radius * fast.y_scale_ * (1 + 1e-12)


def test_a_point_is_evaluated_by_itself(sample):
    model = fit(sample, convex_set=SupNormBall(0.5))
    together = model.predict(X_WIDE)
    np.testing.assert_allclose([model.predict(x[None])[0] for x in X_WIDE[::30]], together[::30])


@pytest.mark.parametrize("hidden", [True, False])
def test_blocks_do_not_matter(sample, hidden, monkeypatch):
    model = fit(sample, HiddenRank(0) if hidden else None, convex_set=SupNormBall(0.5))
    whole = model.predict(X_WIDE)
    monkeypatch.setattr(path_module, "_BLOCK_ELEMENTS", 1000)
    np.testing.assert_allclose(model.predict(X_WIDE), whole, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("loss", [None, LogisticLoss()])
@pytest.mark.parametrize("representation", ["values", "coefficients"])
def test_risk_at_the_checkpoints_is_that_of_the_iterates(sample, loss, representation):
    y = sample.y if loss is None else (sample.y > 0).astype(float)
    model = SAGDIV(loss=loss, convex_set=WholeSpace(), representation=representation)
    model.set_params(random_state=0).fit(sample.X, y, sample.Z, sample.Z_extra)
    path, scale = model.path_, model.y_scale_
    Phi = model.Phi_.ratio(model.P_.nodes_, path.instruments)
    iterates = -np.cumsum(Phi * path.slopes * path.step_sizes, axis=1)
    projected = model.P_.weights(path.instruments) @ iterates
    r = model.r_.predict(path.instruments) / scale
    risk = [(loss or SquaredLoss()).value(r, projected[:, m - 1]).mean() for m in path.checkpoints]
    np.testing.assert_allclose(path.risk, np.array(risk) * scale**2, rtol=1e-8)
    assert path.checkpoints[0] == 1
    assert path.checkpoints[-1] == len(path.slopes) == 60


def test_record(sample):
    path = fit(sample, warm_up=1000).path_
    np.testing.assert_array_equal(path.instruments, sample.Z_extra)
    assert path.warm_up == 30  # never more than half
    np.testing.assert_allclose(path.step_sizes, 60**-0.5)
    assert path.representation == "coefficients"
    assert not path.bound_reached
    assert fit(sample, warm_up=7).path_.warm_up == 7


def test_asking_for_coefficients_that_the_bound_forbids_warns(sample):
    with pytest.warns(BoundReachedWarning, match=r"left the search set SupNormBall\(radius=0.1\)"):
        model = fit(sample, convex_set=SupNormBall(0.1), representation="coefficients")
    assert model.path_.representation == "values"
    assert model.path_.bound_reached
    auto = fit(sample, convex_set=SupNormBall(0.1))
    np.testing.assert_array_equal(model.predict(X_WIDE), auto.predict(X_WIDE))


def test_an_outcome_far_from_zero_is_out_of_reach(sample):
    with pytest.warns(BoundReachedWarning, match=r"^y is 1\d\.\d of its standard .* subtract its"):
        SAGDIV(random_state=0).fit(sample.X, sample.y + 15 * sample.y.std(), sample.Z)
    far = SupNormBall(30.0)
    SAGDIV(convex_set=far, random_state=0).fit(sample.X, sample.y + 15 * sample.y.std(), sample.Z)


def test_a_mean_outside_of_the_set_by_less_than_its_noise_is_not_out_of_reach(sample):
    # Three standard errors of the mean of the 60 rows of the descent are 0.39 of y's deviation.
    unit, positive = sample.y.std(), Interval(0.0, np.inf)
    centred = sample.y - sample.y.mean()
    SAGDIV(convex_set=positive, random_state=0).fit(sample.X, centred - 0.2 * unit, sample.Z)
    with pytest.warns(BoundReachedWarning, match=r"^y is -0\.\d+ of its standard deviations"):
        SAGDIV(convex_set=positive, random_state=0).fit(sample.X, centred - 0.8 * unit, sample.Z)


def test_one_step(sample):
    model = SAGDIV(random_state=0).fit(sample.X, sample.y, sample.Z, sample.Z_extra[:1])
    assert len(model.path_.slopes) == 1
    assert np.isfinite(model.predict(X_WIDE)).all()


def test_an_outcome_of_zero_gives_a_function_of_zero(sample):
    model = SAGDIV(random_state=0).fit(sample.X, np.zeros(90), sample.Z)
    np.testing.assert_array_equal(model.predict(X_WIDE), 0.0)


def test_function_pickles(sample):
    model = fit(sample)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict(X_WIDE), model.predict(X_WIDE))
