"""The Gaussian kernel, its bandwidth and its factor."""

import numpy as np
import pytest
import reference

from sagdiv.kernels import (
    KERNELS,
    MedianKernel,
    column_scales,
    gaussian_kernel,
    low_rank_factor,
    matern_kernel,
    median_bandwidth,
)


def test_kernels_vanish_infinitely_far_away():
    here, far = np.zeros((1, 1)), np.array([[1e5], [-1e300]])
    for kernel in (gaussian_kernel, matern_kernel):
        np.testing.assert_array_equal(kernel(here, far, 1.0), 0.0)


@pytest.mark.parametrize("bandwidth", [0.7, np.array([0.5, 2.0, 1.0])])
def test_kernel_is_the_formula(rng, bandwidth):
    A, B = rng.normal(size=(6, 3)), rng.normal(size=(4, 3))
    expected = reference.gram(A, B, bandwidth)
    np.testing.assert_allclose(gaussian_kernel(A, B, bandwidth), expected, rtol=1e-12)


def test_matern_kernel_is_the_formula(rng):
    A, B = rng.normal(size=(6, 2)), rng.normal(size=(4, 2))
    r = np.array([[np.sqrt(sum((a - b) ** 2)) / 0.7 for b in B] for a in A])
    expected = (1 + 3**0.5 * r) * np.exp(-(3**0.5) * r) + 0.2 * np.exp(-r)
    np.testing.assert_allclose(matern_kernel(A, B, 0.7), expected, rtol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS.keys())
@pytest.mark.parametrize("d", [1, 3])
def test_kernels_are_positive_definite(rng, kernel, d):
    A = rng.normal(size=(40, d))
    K = kernel(A, A, 1.0)
    np.testing.assert_allclose(K, K.T, atol=1e-7)
    assert np.linalg.eigvalsh(K).min() > -1e-6


def test_median_bandwidth_is_the_formula(rng):
    A = rng.normal(size=(40, 3)) * [1, 100, 1e-3]
    np.testing.assert_allclose(median_bandwidth(A), reference.median_bandwidth(A), rtol=1e-12)


# The kernel and its length scale are those of the separate functions, few rows or many.
@pytest.mark.parametrize("n", [1, 2, 30, 1100])
def test_median_kernel_is_the_gaussian_kernel_with_the_median_bandwidth(rng, n):
    A = rng.normal(size=(n, 2)) * [1.0, 50.0]
    kernel = MedianKernel(A, 0.7)
    np.testing.assert_allclose(kernel.bandwidth, 0.7 * median_bandwidth(A), rtol=1e-12)
    rows, columns = np.arange(0, n, 2), np.arange(n - 1, -1, -3)
    expected = gaussian_kernel(A[rows], A[columns], kernel.bandwidth)
    np.testing.assert_allclose(kernel.between(rows, columns), expected, atol=1e-13)


def test_median_bandwidth_follows_units_and_ignores_repetition(rng):
    A = rng.normal(size=(50, 2))
    units = np.array([1e12, 1e-12])
    np.testing.assert_allclose(median_bandwidth((A + 3) * units), median_bandwidth(A) * units)
    binary = np.repeat([[0.0], [1.0]], [5, 15], axis=0)
    np.testing.assert_allclose(median_bandwidth(binary), 1.0)  # ties do not count
    np.testing.assert_allclose(median_bandwidth(np.zeros((5, 2))), 1.0)


def test_median_bandwidth_of_many_rows_is_that_of_some(rng):
    A = rng.normal(size=(5000, 1))
    np.testing.assert_allclose(median_bandwidth(A), np.sqrt(2) * 0.6745, rtol=0.05)


def test_column_scales(rng):
    A = np.column_stack([rng.normal(size=30), np.full(30, 7.1), np.zeros(30)])
    np.testing.assert_allclose(column_scales(A), [A[:, 0].std(), 1.0, 1.0])
    weights = rng.randint(0, 3, 30)
    repeated = np.repeat(A, weights, axis=0)
    np.testing.assert_allclose(column_scales(A, weights), column_scales(repeated))


@pytest.mark.parametrize("bandwidth", [0.05, 1.0, 50.0])
def test_low_rank_factor_reproduces_the_matrix(rng, bandwidth):
    A = rng.normal(size=(60, 2))
    K = gaussian_kernel(A, A, bandwidth)
    L = low_rank_factor(K.copy())
    np.testing.assert_allclose(L @ L.T, K, atol=1e-10)
    if bandwidth > 1:
        assert L.shape[1] < 60


def test_low_rank_factor_of_repeated_rows(rng):
    A = np.repeat(rng.normal(size=(5, 2)), 4, axis=0)
    K = gaussian_kernel(A, A, 1.0)
    L = low_rank_factor(K)
    assert L.shape == (20, 5)
    np.testing.assert_allclose(L @ L.T, K, atol=1e-10)
