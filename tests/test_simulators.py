"""The simulated designs are what they say, by quadrature and by simulation."""

import numpy as np
import pytest
from scipy.integrate import trapezoid
from scipy.stats import norm

from sagdiv.datasets import (
    BinaryDesign,
    ContinuousDesign,
    GaussianDesign,
    make_binary,
    make_continuous,
    make_gaussian,
)

GRID = np.linspace(-12, 12, 24001)
Z_POINTS = np.array([[-2.5, 1.0], [0.0, 0.0], [0.3, -3.0], [2.9, 2.0]])
SCENARIOS = ["step", "abs", "linear", "sin"]
WITH_PHI = [ContinuousDesign("sin"), GaussianDesign(), GaussianDesign(correlation=0.3)]


def instruments(design):
    return Z_POINTS if isinstance(design, ContinuousDesign) else Z_POINTS[:, :1]


def assert_near_zero(values):
    """Four standard errors."""
    assert abs(values.mean()) < 4 * values.std() / len(values) ** 0.5


@pytest.mark.parametrize(
    ("data", "disturbance"),
    [(make_continuous(s, 50_000, random_state=0), "continuous") for s in SCENARIOS]
    + [(make_gaussian(50_000, random_state=0), "gaussian")],
    ids=[*SCENARIOS, "gaussian"],
)
def test_disturbance_is_confounded_but_not_with_the_instrument(data, disturbance):
    epsilon = data.y - data.h_star(data.X)
    for g in (np.ones_like, np.sin, np.square, np.sign, np.abs):
        assert_near_zero(epsilon * g(data.Z[:, 0]))
    assert (epsilon * data.X[:, 0]).mean() > 0.3


def test_moments_of_the_continuous_design():
    data = make_continuous("linear", 50_000, random_state=0)
    Z, X = data.Z, data.X[:, 0]
    assert np.abs(Z).max() <= 3
    np.testing.assert_allclose(Z.var(axis=0), 3, rtol=0.02)
    assert X.var() == pytest.approx(3 + 1 + 0.1, rel=0.02)
    assert (X - Z[:, 0]).var() == pytest.approx(1.1, rel=0.02)
    epsilon_delta = data.y - X
    assert epsilon_delta.var() == pytest.approx(1.1, rel=0.02)
    assert np.cov(epsilon_delta, X)[0, 1] == pytest.approx(1.0, rel=0.05)


@pytest.mark.parametrize(("correlation", "confounding"), [(0.8, 0.7), (0.3, -0.5)])
def test_moments_of_the_gaussian_design(correlation, confounding):
    data = make_gaussian(50_000, correlation=correlation, confounding=confounding, random_state=0)
    X, Z = data.X[:, 0], data.Z[:, 0]
    epsilon = data.y - np.sin(X)
    V = (X - correlation * Z) / np.sqrt(1 - correlation**2)
    np.testing.assert_allclose([X.var(), Z.var(), epsilon.var()], 1, rtol=0.03)
    assert np.corrcoef(X, Z)[0, 1] == pytest.approx(correlation, abs=0.02)
    assert np.corrcoef(epsilon, V)[0, 1] == pytest.approx(confounding, abs=0.02)


def test_probabilities_of_a_tiny_disturbance_do_not_overflow():
    r = BinaryDesign("sin", 1e-4).r(np.array([[-3.0, 0.0], [-1.5, 0.0], [1.5, 0.0]]))
    np.testing.assert_array_equal(r, [0.0, 0.0, 1.0])


@pytest.mark.parametrize("design", [*map(ContinuousDesign, SCENARIOS), GaussianDesign()], ids=repr)
def test_r_is_the_integral_of_h_star(design):
    z = instruments(design)
    density = design.conditional_density(GRID[:, None], z)
    np.testing.assert_allclose(trapezoid(density, GRID, axis=0), 1, atol=1e-10)
    r = trapezoid(design.h_star(GRID[:, None])[:, None] * density, GRID, axis=0)
    np.testing.assert_allclose(r, design.r(z), atol=1e-3)


@pytest.mark.parametrize("design", WITH_PHI, ids=repr)
def test_phi_is_conditional_over_marginal_density(design):
    # p(x) = E p(x|Z), by integrating over the instrument.
    if isinstance(design, ContinuousDesign):
        z = np.linspace(-3, 3, 2001)
        weights = np.full(2001, 1 / 6)
    else:
        z = np.linspace(-9, 9, 4001)
        weights = norm.pdf(z)
    x = np.linspace(-2.5, 2.5, 11)[:, None]
    marginal = trapezoid(weights * design.conditional_density(x, z[:, None]), z, axis=1)
    some = instruments(design)
    expected = design.conditional_density(x, some) / marginal[:, None]
    np.testing.assert_allclose(design.Phi(x, some), expected, rtol=1e-5)
    # Phi integrates to one over either marginal.
    over_z = trapezoid(weights * design.Phi(x, z[:, None]), z, axis=1)
    np.testing.assert_allclose(over_z, 1, rtol=1e-5)


@pytest.mark.parametrize("design", WITH_PHI[1:], ids=repr)
def test_phi_averages_to_one_over_x(design):
    over_x = trapezoid(norm.pdf(GRID)[:, None] * design.Phi(GRID[:, None], Z_POINTS[:, :1]), GRID,
                       axis=0)  # fmt: skip
    np.testing.assert_allclose(over_x, 1, rtol=1e-8)


def test_squared_norm_of_the_continuous_phi():
    # The known |Phi|^2 under independent X and Z.
    design, rng = ContinuousDesign("sin"), np.random.RandomState(0)
    (X, _, _), (_, _, Z) = design.draw(3000, rng), design.draw(3000, rng)
    Phi = design.Phi(X, Z)
    assert Phi.mean() == pytest.approx(1, abs=0.03)
    assert np.mean(Phi**2) == pytest.approx(2.30, abs=0.08)


def test_singular_values_of_the_gaussian_operator_are_powers_of_the_correlation():
    # P maps the k-th Hermite polynomial to rho^k times itself.
    design = GaussianDesign(correlation=0.6)
    z = np.linspace(-2, 2, 9)[:, None]
    density = design.conditional_density(GRID[:, None], z)
    for k in range(5):
        hermite = np.polynomial.HermiteE.basis(k)
        projected = trapezoid(hermite(GRID)[:, None] * density, GRID, axis=0)
        np.testing.assert_allclose(projected, 0.6**k * hermite(z[:, 0]), atol=1e-8)


@pytest.mark.parametrize("scenario", ["sin", "linear"])
@pytest.mark.parametrize("scale", [0.1**0.5, 1.0])
def test_binary_projection_and_probability(scenario, scale):
    design = BinaryDesign(scenario, scale)
    quantiles = (np.arange(200_000) + 0.5) / 200_000
    eta = scale * np.log(quantiles / (1 - quantiles))
    nodes, weights = np.polynomial.hermite_e.hermegauss(20)
    for z in Z_POINTS:
        h = [design.h_star((z[0] + eta + 0.1**0.5 * node)[:, None]).mean() for node in nodes]
        projected = h @ weights / weights.sum()
        assert design.projected(z[None])[0] == pytest.approx(projected, abs=1e-3)
        assert design.r(z[None])[0] == pytest.approx(np.mean(projected + eta > 0), abs=1e-3)


def test_binary_outcome_follows_its_probability():
    data = make_binary("sin", 50_000, random_state=0)
    assert set(np.unique(data.y)) == {0.0, 1.0}
    residual = data.y - data.design.r(data.Z)
    for g in (np.ones_like, np.sin, np.square):
        assert_near_zero(residual * g(data.Z[:, 0]))


@pytest.mark.parametrize(
    "make",
    [lambda seed: make_continuous("abs", 20, 30, seed), lambda seed: make_binary("sin", 20, 30,
     random_state=seed), lambda seed: make_gaussian(20, 30, random_state=seed)],
    ids=["continuous", "binary", "gaussian"],
)  # fmt: skip
@pytest.mark.usefixtures("global_state_untouched")
def test_samples_repeat_under_a_seed(make):
    first, again, other = make(0), make(0), make(1)
    for name in ("X", "y", "Z", "Z_extra"):
        np.testing.assert_array_equal(getattr(first, name), getattr(again, name))
        assert not np.array_equal(getattr(first, name), getattr(other, name))
    assert first.X.shape == (20, 1)
    assert first.y.shape == (20,)
    assert len(first.Z_extra) == 30
    assert first.sample_X(50, random_state=0).shape == (50, 1)
    np.testing.assert_array_equal(first.sample_X(5, 3), first.sample_X(5, 3))
    assert first.h_star(first.X).shape == (20,)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: make_continuous("cos", 10), r"one of 'step', 'abs', 'linear', 'sin', got 'cos'"),
        (lambda: make_binary("step", 10), r"one of 'sin', 'linear', got 'step'"),
        (lambda: make_binary("sin", 10, scale=0), "scale must be positive"),
        (lambda: make_gaussian(10, correlation=1.0), r"correlation must lie in \(0, 1\)"),
        (lambda: make_gaussian(10, confounding=2.0), r"confounding must lie in \[-1, 1\]"),
        (lambda: make_gaussian(0), "n must be at least 1"),
        (lambda: make_gaussian(5, -1), "n_extra at least 0"),
    ],
)
def test_bad_designs(make, message):
    with pytest.raises(ValueError, match=message):
        make()
