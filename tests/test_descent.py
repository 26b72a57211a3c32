"""Algorithm 1: the fast paths against the formula evaluated function by function, in loops."""

import numpy as np
import pytest
import reference

from sagdiv import SAGDIV
from sagdiv.datasets import make_continuous
from sagdiv.density_ratio import ClassifierDensityRatio, KernelDensityRatio
from sagdiv.descent import average, descend, replay
from sagdiv.losses import LogisticLoss, ProbitLoss, SquaredLoss
from sagdiv.operators import MeanEmbeddingOperator, NadarayaWatsonOperator
from sagdiv.sets import Interval, SupNormBall, WholeSpace
from sagdiv.steps import inverse_sqrt, step_sizes

DATA = make_continuous("abs", 14, n_extra=19, random_state=3)
X_NEW = np.linspace(-6, 6, 9)[:, None]

narrow_sets_are_fine = pytest.mark.filterwarnings("ignore:y is .* from zero on average")


def start_somewhere(X):
    return 0.1 * np.cos(X[:, 0])


class LeastSquares:
    """An estimator to start from."""

    def fit(self, X, y, Z):
        self.slope_ = X[:, 0] @ y / (X[:, 0] @ X[:, 0]) / 20
        return self

    def predict(self, X):
        return self.slope_ * X[:, 0]


def naive(model, X_new):
    """Replay the fitted nuisances through the reference implementation."""
    loss = model.loss or SquaredLoss()
    convex_set = model.convex_set or SupNormBall()
    z, scale = model.path_.instruments, model.y_scale_

    def Phi(x, z_m):
        return model.Phi_.ratio(x[None], z_m[None])[0, 0]

    def weight(i, z_m):
        return model.P_.weights(z_m[None])[0, i]

    def r(z_m):
        return model.r_.predict(z_m[None])[0] / scale

    def project(h):
        return convex_set.project(np.array([h]))[0]

    def h0(x):
        if model.init_ is None:
            return 0.0
        start = model.init_(x[None])[0] / scale
        return start if callable(model.init) else project(start)

    alphas = step_sizes(model.step, len(z), loss.curvature)
    warm_up = min(model.warm_up, len(z) // 2)
    return scale * reference.algorithm_1(
        X_new, model.P_.nodes_, z, Phi, weight, r, loss.d2, alphas, project, warm_up, h0
    )


def fitted(**parameters):
    binary = getattr(parameters.get("loss"), "binary", False)
    y = (DATA.y > 2).astype(float) if binary else DATA.y
    defaults = {
        "density_ratio": KernelDensityRatio(8, ridge=1e-2, random_state=0),
        "operator": MeanEmbeddingOperator(ridge=1e-2),
        "random_state": 0,
    }
    return SAGDIV(**(defaults | parameters)).fit(DATA.X, y, DATA.Z, DATA.Z_extra)


@pytest.mark.parametrize(
    ("convex_set", "binds"),
    [
        (None, False),
        (WholeSpace(), False),
        (SupNormBall(0.1), True),
        (Interval(0.0, np.inf), True),
        (Interval(-0.05, 0.4), True),
    ],
    ids=str,
)
@narrow_sets_are_fine
@pytest.mark.parametrize("representation", ["auto", "values"])
def test_both_representations_equal_the_loops(representation, convex_set, binds):
    model = fitted(representation=representation, convex_set=convex_set, step=0.3)
    assert model.path_.bound_reached == binds
    expected = "coefficients" if representation == "auto" and not binds else "values"
    assert model.path_.representation == expected
    np.testing.assert_allclose(model.predict(X_NEW), naive(model, X_NEW), rtol=1e-10, atol=1e-10)


OPTIONS = {
    "logistic": {"loss": LogisticLoss()},
    "logistic_bound": {"loss": LogisticLoss(scale=0.1**0.5), "convex_set": SupNormBall(0.3)},
    "probit": {"loss": ProbitLoss()},
    "no_warm_up": {"warm_up": 0},
    "constant_step": {"step": 0.2, "warm_up": 7},
    "decreasing_step": {"step": inverse_sqrt, "warm_up": 1000},
    "init": {"init": start_somewhere},
    "init_in_values": {"init": start_somewhere, "representation": "values"},
    "init_and_bound": {"init": start_somewhere, "convex_set": SupNormBall(0.2), "step": 0.4},
    "init_estimator": {"init": LeastSquares()},
    "init_estimator_out_of_the_set": {"init": LeastSquares(), "convex_set": SupNormBall(0.01)},
    "init_linear": {"init": "linear"},
    "init_linear_binary": {"init": "linear", "loss": LogisticLoss(0.3)},
    "operator_of_the_ratio": {"operator": "ratio"},
    "nadaraya_watson": {"operator": NadarayaWatsonOperator(bandwidth=0.5)},
    "no_finite_rank": {"density_ratio": ClassifierDensityRatio(n_shuffles=2, random_state=0)},
}


@narrow_sets_are_fine
@pytest.mark.parametrize("parameters", OPTIONS.values(), ids=OPTIONS.keys())
def test_every_option_equals_the_loops(parameters):
    model = fitted(**parameters)
    np.testing.assert_allclose(model.predict(X_NEW), naive(model, X_NEW), rtol=1e-10, atol=1e-10)


def test_observed_outcome_puts_y_in_the_place_of_r():
    model = SAGDIV(
        KernelDensityRatio(6, ridge=1e-2, random_state=0),
        MeanEmbeddingOperator(ridge=1e-2),
        "observed",
        nuisance_fraction=0.5,
        random_state=0,
    ).fit(DATA.X, DATA.y, DATA.Z)
    assert model.r_ is None
    y_of = {tuple(z): y for z, y in zip(DATA.Z, DATA.y, strict=True)}

    class Observed:
        def predict(self, Z):
            return np.array([y_of[tuple(z)] for z in Z])

    model.r_ = Observed()
    np.testing.assert_allclose(model.predict(X_NEW), naive(model, X_NEW), rtol=1e-10, atol=1e-10)


def test_projected_prediction_is_the_operator_applied_to_the_prediction():
    model = fitted(step=0.3)
    nodes = model.P_.nodes_
    Z = DATA.Z_extra[:5]
    expected = [sum(w * model.predict(nodes)) for w in model.P_.weights(Z)]
    np.testing.assert_allclose(model.predict_projected(Z), expected)


def test_descend_on_paper():
    # Two nodes, two steps, by hand: slopes W h - r = -1, then 0.5 * 0.5 - 2 = -1.75.
    Phi = np.array([[1.0, 2.0], [0.0, 1.0]])
    W = np.array([[1.0, 0.0], [0.5, 0.5]])
    r, alphas = np.array([1.0, 2.0]), np.array([0.5, 0.5])

    def project(h):
        return h.clip(-2, 2)

    path = list(descend(np.zeros(2), Phi, W, r, alphas, SquaredLoss().d2, project))
    np.testing.assert_allclose([h for h, _ in path], [[0.5, 0.0], [2.0, 0.875]])
    np.testing.assert_allclose([slope for _, slope in path], [-1.0, -1.75])
    again = list(replay(np.zeros(2), Phi, np.array([-1.0, -1.75]), alphas, project))
    np.testing.assert_allclose(again, [h for h, _ in path])


def test_average_discards_the_warm_up(rng):
    path = rng.normal(size=(10, 4))
    np.testing.assert_allclose(average(iter(path), 0), path.mean(axis=0))
    np.testing.assert_allclose(average(iter(path), 7), path[7:].mean(axis=0))
