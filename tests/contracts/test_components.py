"""Laws of every component: it clones, pickles, repeats itself under a seed, and mutates nothing."""

import pickle

import numpy as np
import pytest
from registry import DENSITY_RATIOS, LOSSES, OPERATORS, OUTCOMES, SETS, STEPS, select
from sklearn.base import clone

pytestmark = pytest.mark.usefixtures("global_state_untouched")

ALL = DENSITY_RATIOS + OPERATORS + OUTCOMES
FITTED = [pytest.param(c.values[0], id=f"{kind}-{c.id}") for kind, cases in {
    "ratio": DENSITY_RATIOS, "operator": OPERATORS
}.items() for c in cases]  # fmt: skip


def evaluate(component, Z):
    if hasattr(component, "ratio"):
        return component.ratio(np.linspace(-2, 2, 15)[:, None], Z)
    return component.weights(Z)


@pytest.mark.parametrize("case", ALL)
def test_clone_has_the_same_parameters(case):
    copy = clone(case.component)
    assert copy is not case.component
    assert repr(copy) == repr(case.component)
    assert not [name for name in vars(copy) if name.endswith("_")]


@pytest.mark.parametrize("case", LOSSES + SETS + STEPS)
def test_values_pickle_and_compare(case):
    assert pickle.loads(pickle.dumps(case.component)) == case.component


@pytest.mark.parametrize("case", FITTED)
def test_fitted_components_pickle(case, gaussian_sample):
    component = clone(case.component).fit(gaussian_sample.X, gaussian_sample.Z)
    copy = pickle.loads(pickle.dumps(component))
    Z = gaussian_sample.Z_extra[:20]
    np.testing.assert_array_equal(evaluate(copy, Z), evaluate(component, Z))


@pytest.mark.parametrize("case", FITTED)
def test_same_seed_same_bits(case, gaussian_sample):
    X, Z = gaussian_sample.X, gaussian_sample.Z
    first, second = (clone(case.component).fit(X, Z) for _ in range(2))
    Z_new = gaussian_sample.Z_extra[:20]
    assert evaluate(first, Z_new).tobytes() == evaluate(second, Z_new).tobytes()
    assert evaluate(first.fit(X, Z), Z_new).tobytes() == evaluate(second, Z_new).tobytes()


@pytest.mark.parametrize("case", select(FITTED, "seeded"))
def test_another_seed_is_another_draw(case, gaussian_sample):
    X, Z = gaussian_sample.X, gaussian_sample.Z
    first = clone(case.component).fit(X, Z)
    second = clone(case.component).set_params(random_state=1).fit(X, Z)
    Z_new = gaussian_sample.Z_extra[:20]
    assert not np.array_equal(evaluate(first, Z_new), evaluate(second, Z_new))


@pytest.mark.parametrize("case", FITTED)
def test_fit_and_evaluation_leave_the_data_and_the_parameters_alone(case, gaussian_sample):
    X, Z = gaussian_sample.X.copy(), gaussian_sample.Z.copy()
    X.flags.writeable = Z.flags.writeable = False
    component = clone(case.component)
    before = repr(component.get_params())
    evaluate(component.fit(X, Z), Z[:20])
    assert repr(component.get_params()) == before
