"""The flow is gradient descent with small steps, of the right function."""

import numpy as np
import pytest

from sagdiv import KernelSAGDIV
from sagdiv.datasets import make_continuous, make_gaussian
from sagdiv.first_stage import FirstStage, canonical_correlations, evidence_ridge
from sagdiv.flow import Flow
from sagdiv.moments import Moments

N_FREE = 2


@pytest.fixture
def quadratic(rng):
    A = rng.normal(size=(9, 6)) / 3
    noise = rng.normal(size=(6, 6))
    return A.T @ A, rng.normal(size=6), noise @ noise.T


@pytest.fixture
def flow(quadratic):
    return Flow(*quadratic, N_FREE)


def risk(S, b, a):
    return a @ S @ a / 2 - b @ a


def profiled(S, b, rest):
    """All coefficients, the free ones at their best given the others."""
    free = np.linalg.solve(S[:N_FREE, :N_FREE], b[:N_FREE] - S[:N_FREE, N_FREE:] @ rest)
    return np.concatenate([free, rest])


@pytest.mark.parametrize("t", [0.1, 1.0, 10.0])
def test_is_gradient_descent_with_tiny_steps(quadratic, flow, t):
    S, b, _ = quadratic
    rest, n_steps = np.zeros(4), 20_000
    for _ in range(n_steps):
        gradient = S @ profiled(S, b, rest) - b
        np.testing.assert_allclose(gradient[:N_FREE], 0, atol=1e-10)
        rest = rest - t / n_steps * gradient[N_FREE:]
    np.testing.assert_allclose(flow.coefficients(t, 0.0), profiled(S, b, rest), atol=2e-4)


def test_starts_at_the_minimum_over_the_free_part_and_ends_at_the_minimum(quadratic, flow):
    S, b, _ = quadratic
    np.testing.assert_allclose(flow.start, profiled(S, b, np.zeros(4)) * [1, 1, 0, 0, 0, 0])
    np.testing.assert_allclose(flow.coefficients(0.0, 0.0), flow.start)
    np.testing.assert_allclose(flow.coefficients(1e9, 0.0), np.linalg.solve(S, b))


@pytest.mark.parametrize("dispersion", [0.0, 0.05])
def test_linear_map_reproduces_the_coefficients(quadratic, flow, dispersion):
    b = quadratic[1]
    R = flow.linear_map(3.0, flow.kept(dispersion))
    np.testing.assert_allclose(R @ b, flow.coefficients(3.0, dispersion), atol=1e-12)
    np.testing.assert_allclose(R, R.T, atol=1e-12)


def test_variances_of_the_scores(quadratic, flow, rng):
    _, b, noise = quadratic
    disturbed = rng.multivariate_normal(b, noise, 40_000)
    scores = disturbed @ flow.directions
    np.testing.assert_allclose(scores.mean(axis=0), flow.scores, atol=0.1)
    np.testing.assert_allclose(scores.var(axis=0), flow.score_variances, rtol=0.05)


def test_more_noise_keeps_less(flow):
    kept = [flow.kept(dispersion) for dispersion in (0.0, 0.01, 0.1, 1e6)]
    np.testing.assert_array_equal(kept[0], 1)
    assert (np.diff(kept, axis=0) <= 0).all()
    np.testing.assert_array_equal(kept[-1], 0)
    np.testing.assert_array_equal(flow.coefficients(5.0, 1e6), flow.start)


def test_lengthened_only_where_there_is_clearly_more_to_learn(quadratic, flow):
    assert flow.lengthened(0.1, 1e6) == 0.1
    S, b, noise = quadratic
    sure = Flow(S, b, 1e-9 * noise, N_FREE)
    assert sure.lengthened(0.1, 1.0) > 0.1
    assert sure.lengthened(0.1, 1.0) <= 0.1 * 2**5


# The quadratic is the projected squared risk


@pytest.fixture(scope="module")
def fitted():
    data = make_continuous("sin", 400, random_state=0)
    model = KernelSAGDIV().fit(data.X, data.y, data.Z)
    maps, mean = model.maps_, model.moments_.averages
    stage = FirstStage.fit(mean, 400.0, maps.z.groups_, maps.x.n_affine_)
    return data, maps, mean, stage


def test_gradient_and_hessian_are_those_of_the_projected_squared_risk(fitted, rng):
    # With P^ the ridge regression on psi: mean of loss(y, P^[h]) plus the ridge, at its minimum.
    data, maps, mean, stage = fitted
    phi, psi = maps.x.transform(data.X), maps.z.transform(data.Z)
    P = psi @ np.linalg.solve(psi.T @ psi / 400 + np.diag(stage.ridge), psi.T @ phi / 400)

    def projected_risk(a):
        penalty = (stage.B @ a) @ (stage.ridge * (stage.B @ a))
        return np.mean((data.y - P @ a) ** 2) / 2 + penalty / 2

    a, direction = rng.normal(size=(2, phi.shape[1]))
    step = 1e-2
    up, here, down = (projected_risk(a + k * step * direction) for k in (1, 0, -1))
    gradient = stage.hessian @ a - stage.B.T @ mean.cz
    np.testing.assert_allclose(gradient @ direction, (up - down) / (2 * step), rtol=1e-7)
    curvature = direction @ stage.hessian @ direction
    np.testing.assert_allclose(curvature, (up - 2 * here + down) / step**2, rtol=1e-5)


def test_path_tells_how_far_the_descent_went():
    data = make_continuous("sin", 400, random_state=0)
    path = KernelSAGDIV(total_step=100.0).fit(data.X, data.y, data.Z).path_
    assert path.total_step == 100
    assert (np.diff(path.values) <= 0).all()
    assert (np.diff(path.risk) <= 0).all()
    assert path.steps[0] < 100 < path.steps[-1]


# The first stage


def test_evidence_switches_off_instruments_that_predict_nothing(fitted):
    _, maps, _, stage = fitted
    relevant, noise, _ = maps.z.groups_
    assert stage.ridge[0] == 0
    assert stage.ridge[noise].min() > 100 * stage.ridge[relevant].max()
    noise_share = np.abs(stage.B[noise, 1]).max()
    assert noise_share < 0.02 * np.abs(stage.B[relevant, 1]).max()


def test_evidence_is_a_fixed_point_of_mackay():
    rng = np.random.RandomState(1)
    psi = np.column_stack([np.ones(300), rng.normal(size=(300, 4))])
    phi = np.column_stack([np.ones(300), psi[:, 1:3] @ rng.normal(size=(2, 2))])
    phi[:, 1:] += rng.normal(size=(300, 2))
    mean = Moments.of(phi, psi).averages
    groups = [np.array([1, 2]), np.array([3, 4])]
    ridge = evidence_ridge(mean, 300.0, groups)
    # In plain matrices, output by output along the principal axes of phi.
    centred_z, centred_x = (A[:, 1:] - A[:, 1:].mean(axis=0) for A in (psi, phi))
    _, axes = np.linalg.eigh(centred_x.T @ centred_x)
    covariance = np.linalg.inv(centred_z.T @ centred_z / 300 + np.diag(ridge[1:]))
    B = covariance @ centred_z.T @ centred_x @ axes / 300
    left = np.mean((centred_x @ axes - centred_z @ B) ** 2, axis=0)
    for group in groups[:1]:  # the other runs off to the upper bound
        inside = group - 1
        dof = len(group) - ridge[group] @ covariance.diagonal()[inside]
        strength = np.mean((B[inside] ** 2).sum(axis=0) / left)
        np.testing.assert_allclose(ridge[group], dof / 300 / strength, rtol=1e-2)


def test_singular_values_of_normal_variables_are_powers_of_the_correlation():
    data = make_gaussian(30_000, correlation=0.8, random_state=0)
    model = KernelSAGDIV().fit(data.X, data.y, data.Z)
    np.testing.assert_allclose(model.singular_values_[:5], 0.8 ** np.arange(1, 6), atol=0.03)
    assert model.n_directions_ >= 5


def test_correlations_given_a_column_leave_out_what_it_explains(rng):
    w = rng.normal(size=(5000, 1))
    z, x = w + rng.normal(size=(5000, 1)), w + rng.normal(size=(5000, 1))
    one = np.ones((5000, 1))
    mean = Moments.of(np.hstack([one, x]), np.hstack([one, z, w])).averages
    ridge = np.zeros(3)
    together = canonical_correlations(mean, ridge[:2], ridge)
    given = canonical_correlations(mean, ridge[:2], ridge, np.array([2]))
    np.testing.assert_allclose(together, 0.5**0.5, atol=0.03)
    np.testing.assert_allclose(given, 0.0, atol=0.05)


def test_lift_bounds_two_stage_least_squares_and_leaves_strong_instruments_alone(fitted, rng):
    assert not fitted[3].lift.any()
    x, z, y = rng.normal(size=(3, 500, 1))
    one = np.ones((500, 1))
    z = z - 0.99 * x * (z * x).mean() / (x * x).mean()  # hardly anything is left
    mean = Moments.of(np.hstack([one, x]), np.hstack([one, z]), y[:, 0]).averages
    stage = FirstStage.fit(mean, 500.0, [np.array([1])], 2)
    lifted = stage.hessian + stage.lift
    whitened = np.linalg.solve(mean.Gx, lifted)
    shares = np.sort(np.linalg.eigvals(whitened).real)
    np.testing.assert_allclose(shares, [3 / 500, 1], rtol=1e-6)
