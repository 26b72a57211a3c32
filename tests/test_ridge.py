"""The ridge path against plain solves and refits."""

import numpy as np
import pytest
import reference

from sagdiv.ridge import (
    RidgePath,
    cross_fitted_ridge,
    leave_one_out_error,
    penalty_basis,
    tuned,
)


@pytest.fixture
def A(rng):
    B = rng.normal(size=(12, 8))
    return B.T @ B / 12


@pytest.mark.parametrize("lam", [1e-6, 1e-2, 10.0])
@pytest.mark.parametrize("columns", [None, 3])
def test_solve_with_the_identity(A, rng, lam, columns):
    b = rng.normal(size=8 if columns is None else (8, columns))
    expected = np.linalg.solve(A + lam * np.eye(8), b)
    np.testing.assert_allclose(RidgePath(A).solve(b, lam), expected, rtol=1e-9)


@pytest.mark.parametrize("lam", [1e-6, 1e-2, 10.0])
def test_solve_with_a_penalty(A, rng, lam):
    B, b = rng.normal(size=(20, 8)), rng.normal(size=8)
    R = B.T @ B
    expected = np.linalg.solve(A + lam * R, b)
    np.testing.assert_allclose(RidgePath(A, penalty_basis(R)).solve(b, lam), expected, rtol=1e-7)


@pytest.mark.parametrize("rank", [8, 5, 1])
def test_in_the_basis_of_a_penalty_it_is_the_identity(rng, rank):
    B = rng.normal(size=(8, rank))
    basis = penalty_basis(B @ B.T)
    np.testing.assert_allclose(basis.T @ B @ B.T @ basis, np.eye(rank), atol=1e-8)


def test_singular_penalty_keeps_the_solution_in_its_range(A, rng):
    B, b = rng.normal(size=(8, 5)), rng.normal(size=8)
    columns = np.linalg.qr(B)[0]
    inner = columns.T @ (A + 0.1 * B @ B.T) @ columns
    expected = columns @ np.linalg.solve(inner, columns.T @ b)
    solution = RidgePath(A, penalty_basis(B @ B.T)).solve(b, 0.1)
    np.testing.assert_allclose(solution, expected, rtol=1e-7)


@pytest.mark.parametrize("log_ridge", [-4, -1, 1])
def test_leave_one_out_error_of_features_equals_refits(rng, log_ridge):
    Psi, target = rng.normal(size=(20, 4)), rng.normal(size=20)
    residuals = []
    for i in range(20):
        others = np.arange(20) != i
        normal = Psi[others].T @ Psi[others] + 20 * 10.0**log_ridge * np.eye(4)
        theta = np.linalg.solve(normal, Psi[others].T @ target[others])
        residuals.append(target[i] - Psi[i] @ theta)
    error = leave_one_out_error(Psi, target)(log_ridge)
    assert error == pytest.approx(np.mean(np.square(residuals)), rel=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
def test_cross_fitted_ridge_equals_refits(rng, weighted):
    Psi, folds = rng.normal(size=(40, 5)), np.arange(40) % 4
    target = Psi @ [1, 2, 0, 0, 1] + rng.normal(size=40) + 3
    weights = rng.randint(0, 4, 40).astype(float) if weighted else np.ones(40)

    def error(log_ridge):
        prediction = reference.out_of_fold(Psi, target, folds, weights, 10**log_ridge)
        return sum(weights * (target - prediction) ** 2)

    best = reference.paper_search(error, range(-8, 3), 0.2, 2)
    expected = reference.out_of_fold(Psi, target, folds, weights, 10**best)
    np.testing.assert_allclose(cross_fitted_ridge(Psi, target, folds, weights), expected, rtol=1e-8)


def test_cross_fitted_ridge_never_sees_the_row_it_predicts(rng):
    Psi, folds = rng.normal(size=(40, 5)), np.arange(40) % 4
    pure_noise = rng.normal(size=40)
    prediction = cross_fitted_ridge(Psi, pure_noise, folds, np.ones(40))
    assert np.corrcoef(prediction, pure_noise)[0, 1] < 0.2
    # Not even through the level: a common shift of one fold leaves its own predictions alone.
    shifted = pure_noise + 5.0 * (folds == 0)
    level = cross_fitted_ridge(np.zeros((40, 1)), shifted, folds, np.ones(40))
    np.testing.assert_allclose(level[folds == 0], pure_noise[folds != 0].mean())


def test_one_fold_falls_back_on_the_mean(rng):
    Psi, target = rng.normal(size=(6, 2)), rng.normal(size=6)
    prediction = cross_fitted_ridge(Psi, target, np.zeros(6, dtype=int), np.ones(6))
    np.testing.assert_allclose(prediction, target.mean())


def test_tuned_only_searches_when_it_must():
    def never():
        raise AssertionError("searched for a given value")

    assert tuned(0.5, never, (-3, 3)) == (0.5, None)

    def make_score():
        return lambda log_value: (log_value - 1.23) ** 2

    value, _ = tuned(None, make_score, (-3, 3), n_rounds=3)
    assert np.log10(value) == pytest.approx(1.23, abs=0.011)
    value, search = tuned(None, make_score, (-3, 3))
    assert np.log10(value) == pytest.approx(1.23, abs=0.101)
    assert value == 10**search.best
