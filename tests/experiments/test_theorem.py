"""The risk bound holds, and its ingredients are what they are called."""

import numpy as np
import pytest

from sagdiv.experiments.theorem import (
    FiniteDesign,
    disturbed,
    excess_risk,
    risk_bound,
)


@pytest.fixture(scope="module")
def design():
    return FiniteDesign.smooth(12, 15)


def test_the_design_is_a_distribution(design):
    assert design.joint.min() > 0
    np.testing.assert_allclose(design.joint.sum(), 1)
    np.testing.assert_allclose(design.p_z, 1 / 15)


# E[f(X) g(Z)] = E_prod[Phi f g], and P is the adjoint of integration against Phi.
def test_the_nuisances_are_those_of_the_design(design, rng):
    f, g = rng.normal(size=12), rng.normal(size=15)
    truth = design.truth
    joint = f @ design.joint @ g
    np.testing.assert_allclose((design.p_x * f) @ truth.Phi @ (design.p_z * g), joint)
    np.testing.assert_allclose((design.p_z * g) @ truth.P @ f, joint)
    np.testing.assert_allclose(truth.P.sum(axis=1), 1)
    np.testing.assert_allclose(truth.r, truth.P @ design.h_star)


def test_norms(design, rng):
    truth = design.truth
    np.testing.assert_allclose(design.operator_norm(truth.P), 1)  # constants are kept
    for _ in range(20):  # the norm is the largest ratio of norms
        h = rng.normal(size=12)
        of_h = np.sqrt(design.p_x @ h**2)
        assert design.outcome_norm(truth.P @ h) <= of_h + 1e-12
    assert design.ratio_norm(np.ones((12, 15))) == pytest.approx(1)


@pytest.mark.parametrize("which", ["Phi", "P", "r"])
def test_errors_have_the_size_that_was_asked_for(design, rng, which):
    off, truth = disturbed(design, which, 0.3, rng), design.truth
    norms = {"Phi": design.ratio_norm, "P": design.operator_norm, "r": design.outcome_norm}
    for name, norm in norms.items():
        size = norm(getattr(off, name) - getattr(truth, name))
        assert size == pytest.approx(0.3 if name == which else 0.0)


def test_the_risk_is_zero_at_the_truth_only(design):
    assert design.risk(design.h_star) == 0
    assert design.risk(np.zeros(12)) == pytest.approx(design.outcome_norm(design.truth.r) ** 2 / 2)


@pytest.mark.parametrize("which", ["Phi", "P", "r"])
@pytest.mark.parametrize("size", [0.0, 0.1, 1.0])
def test_the_bound_holds(design, which, size):
    for seed in range(3):
        nuisances = disturbed(design, which, size, np.random.RandomState(100 + seed))
        for n_steps in (1, 30, 300):
            found = excess_risk(design, nuisances, n_steps, np.random.RandomState(seed))
            assert found <= sum(risk_bound(design, nuisances, n_steps))


# What the theorem promises, and a wrong constant or a wrong sign would break.
def test_more_steps_and_smaller_errors_mean_less_risk(design):
    def mean_risk(which, size, n_steps):
        return np.mean(
            [
                excess_risk(
                    design,
                    disturbed(design, which, size, np.random.RandomState(100 + seed)),
                    n_steps,
                    np.random.RandomState(seed),
                )
                for seed in range(5)
            ]
        )

    assert mean_risk("r", 0, 3000) < 0.3 * mean_risk("r", 0, 100)
    for which in ("Phi", "P", "r"):
        assert mean_risk(which, 0.03, 1000) < mean_risk(which, 1.0, 1000)


def test_the_parts_of_the_bound(design):
    descent, nuisances = risk_bound(design, design.truth, 100)
    assert nuisances == 0
    # D^2 / (2 sqrt(M)) + xi / sqrt(M): a hundred times the steps, a tenth of the bound.
    assert risk_bound(design, design.truth, 10_000)[0] == pytest.approx(descent / 10)
    off = disturbed(design, "r", 0.5, np.random.RandomState(0))
    twice = disturbed(design, "r", 1.0, np.random.RandomState(0))
    assert risk_bound(design, twice, 100)[1] == pytest.approx(2 * risk_bound(design, off, 100)[1])
