"""With the exact nuisances of the Gaussian design, what is left is Algorithm 1 itself."""

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge

from sagdiv import SAGDIV
from sagdiv.datasets import GaussianDesign, make_gaussian
from sagdiv.density_ratio import ExactDensityRatio
from sagdiv.operators import ExactOperator
from sagdiv.outcome import ExactOutcome

DESIGN = GaussianDesign()
GRID = np.linspace(-6, 6, 241)[:, None]
Z_NEW = DESIGN.draw(1000, np.random.RandomState(98))[2]
P = ExactOperator(DESIGN.conditional_density, GRID).fit(None, None).weights(Z_NEW)
R = DESIGN.r(Z_NEW)
RISK_OF_ZERO = np.mean(R**2) / 2


def fit(seed, **estimates):
    data = make_gaussian(400, n_extra=2000, random_state=seed)
    exact = {
        "density_ratio": ExactDensityRatio(DESIGN.Phi),
        "operator": ExactOperator(DESIGN.conditional_density, GRID),
        "outcome": ExactOutcome(DESIGN.r),
    }
    model = SAGDIV(**(exact | estimates), random_state=0)
    return model.fit(data.X, data.y, data.Z, data.Z_extra)


def risk(model):
    """R(h) = E (P[h](Z) - r(Z))^2 / 2 with the exact P and r."""
    return np.mean((P @ model.predict(GRID) - R) ** 2) / 2


@pytest.mark.parametrize("seed", range(5))
def test_exact_nuisances_bring_the_risk_to_its_floor(seed):
    model = fit(seed)
    assert risk(model) < 0.01 * RISK_OF_ZERO
    # On the way there, too: the risk of the iterates falls by an order of magnitude.
    assert model.path_.risk[0] == pytest.approx(RISK_OF_ZERO, rel=0.2)
    assert np.median(model.path_.risk[-10:]) < 0.1 * model.path_.risk[0]


def test_exact_nuisances_recover_h():
    X = DESIGN.draw(2000, np.random.RandomState(99))[0]
    errors = [np.mean((fit(seed).predict(X) - DESIGN.h_star(X)) ** 2) for seed in range(5)]
    assert np.median(errors) < 0.02  # the variance of h* is 0.43


def test_more_steps_come_closer():
    def risk_after(n_steps):
        data = make_gaussian(20, n_extra=2000, random_state=0)
        model = SAGDIV(
            ExactDensityRatio(DESIGN.Phi),
            ExactOperator(DESIGN.conditional_density, GRID),
            ExactOutcome(DESIGN.r),
            warm_up=0,
        )
        return risk(model.fit(data.X, data.y, data.Z, data.Z_extra[:n_steps]))

    risks = [risk_after(n) for n in (10, 100, 1000)]
    assert risks[0] > 2 * risks[1] > 4 * risks[2]


# One nuisance at a time is estimated; the loss turns up where that nuisance acts, nowhere else.


@pytest.mark.parametrize("seed", range(3))
def test_an_estimated_ratio_only_changes_the_road(seed):
    # Phi^ is a preconditioner: the fixed point P h = r stays.
    assert risk(fit(seed, density_ratio=None)) < 0.02 * RISK_OF_ZERO


@pytest.mark.parametrize("seed", range(3))
def test_an_estimated_outcome_is_what_is_fitted(seed):
    model = fit(seed, outcome=KernelRidge(alpha=1.0, kernel="rbf", gamma=0.5))
    estimated_r = model.r_.predict(Z_NEW)
    distance = np.mean((P @ model.predict(GRID) - estimated_r) ** 2)
    assert distance < 0.5 * np.mean((estimated_r - R) ** 2)
    assert risk(model) > risk(fit(seed))


@pytest.mark.parametrize("seed", range(3))
def test_an_estimated_operator_is_inverted_as_if_it_were_true(seed):
    model = fit(seed, operator=None)
    believed = np.mean((model.predict_projected(Z_NEW) - R) ** 2) / 2
    assert believed < 0.5 * risk(model)
    assert risk(model) > risk(fit(seed))
