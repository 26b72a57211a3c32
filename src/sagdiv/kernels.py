"""The kernels: the only kernel code of the package."""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dpstrf
from scipy.spatial.distance import cdist, pdist, squareform

from sagdiv._types import Array, Rows

__all__ = [
    "KERNELS",
    "MedianKernel",
    "column_scales",
    "gaussian_kernel",
    "low_rank_factor",
    "matern_kernel",
    "median_bandwidth",
    "scaled_squared_distances",
]

_MAX_MEDIAN_ROWS = 1000
_FAR = 1000.0  # length scales; exp(-1000) is zero


def gaussian_kernel(A: Array, B: Array, bandwidth: float | Array) -> Array:
    """Return k(a, b) = exp(-|(a - b) / bandwidth|^2 / 2) for all pairs of rows.

    Parameters
    ----------
    A : array of shape (n, d)
    B : array of shape (m, d)
    bandwidth : float or array of shape (d,)
        Length scale, one for all coordinates or one each; raising it makes functions smoother.
    """
    K = scaled_squared_distances(A, B, bandwidth)
    K *= -0.5
    return np.exp(K, out=K)


def matern_kernel(A: Array, B: Array, bandwidth: float | Array) -> Array:
    """Return a Matern-3/2 kernel plus a fifth of a Matern-1/2, for all pairs of rows.

    With r = |(a - b) / bandwidth|: (1 + sqrt(3) r) exp(-sqrt(3) r) + exp(-r) / 5. The first is
    the prior of a curve with one derivative; the second leaves room for kinks and jumps.
    """
    r = np.sqrt(scaled_squared_distances(A, B, bandwidth))
    np.minimum(r, _FAR, out=r)  # infinity times exp(-infinity) is no number
    smooth = np.sqrt(3.0) * r
    return (1 + smooth) * np.exp(-smooth) + 0.2 * np.exp(-r)


def scaled_squared_distances(A: Array, B: Array, bandwidth: float | Array) -> Array:
    """Return |(a - b) / bandwidth|^2 for all pairs of rows."""
    return cdist(A / bandwidth, B / bandwidth, "sqeuclidean")


def column_scales(A: Array, weights: Array | None = None) -> Array:
    """Return the standard deviation of each column, and 1 for a column that does not vary."""
    center = np.average(A, axis=0, weights=weights)
    scales = np.sqrt(np.average(np.square(A - center), axis=0, weights=weights))
    constant = scales <= 1e-12 * np.abs(A).max(axis=0, initial=0.0)
    return np.where(constant, 1.0, scales)


def median_bandwidth(A: Array) -> Array:
    """Return per-coordinate length scales by the median heuristic.

    The coordinates are standardised and the length scale is the median distance between two
    distinct rows, so that the kernel depends neither on the units of the columns nor on ties.
    """
    scales = column_scales(A)
    # A thousand evenly spaced rows pin a median to a few per cent, and keep this linear in n.
    some = A[:: max(1, -(-len(A) // _MAX_MEDIAN_ROWS))]
    return scales * _median_of_distinct(pdist(some / scales))


def _median_of_distinct(distances: Array) -> float:
    distances = distances[distances > 0]
    if not distances.size:
        return 1.0
    # One order statistic and a maximum: several times as fast as np.median, which takes three.
    half = distances.size // 2
    distances.partition(half)
    middle = distances[half]
    return float(middle if distances.size % 2 else (distances[:half].max() + middle) / 2)


class MedianKernel:
    """A Gaussian kernel between rows of A, with the median heuristic for its length scale.

    The median and the kernel are taken from the same distances, unless there are so many rows
    that the median is that of a part of them.

    Parameters
    ----------
    A : array of shape (n, d)
    factor : float
        Length scale in units of the median heuristic.

    Attributes
    ----------
    bandwidth : array of shape (d,)
    """

    def __init__(self, A: Array, factor: float = 1.0) -> None:
        self.A, self._gram = A, None
        if len(A) > _MAX_MEDIAN_ROWS:
            self.bandwidth = factor * median_bandwidth(A)
            return
        scales = column_scales(A)
        squares = pdist(A / scales, "sqeuclidean")
        median = _median_of_distinct(np.sqrt(squares))
        self.bandwidth = factor * scales * median
        gram = squareform(np.exp(-0.5 * squares / (factor * median) ** 2))
        np.fill_diagonal(gram, 1.0)
        self._gram = gram

    def between(self, rows: Rows, columns: Rows) -> Array:
        """Return the kernel between some rows and others, shape (len(rows), len(columns))."""
        if self._gram is None:
            return gaussian_kernel(self.A[rows], self.A[columns], self.bandwidth)
        return self._gram[np.ix_(rows, columns)]


def low_rank_factor(K: Array, tolerance: float = 1e-12) -> Array:
    """Return L with K = L L' up to ``tolerance``, by pivoted Cholesky.

    The Gram matrix of a smooth kernel has a small numerical rank r; a quadratic form in it then
    costs n r in place of n^2.
    """
    factor, pivots, rank, _ = dpstrf(K, tol=tolerance * K.diagonal().max(), lower=1)
    L = np.tril(factor[:, :rank])
    L[pivots - 1] = L.copy()
    return L


KERNELS = {"gaussian": gaussian_kernel, "matern": matern_kernel}
