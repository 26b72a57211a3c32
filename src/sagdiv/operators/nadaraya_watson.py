"""Nadaraya-Watson: local averages with Gaussian weights."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator

from sagdiv._types import Array
from sagdiv.kernels import (
    gaussian_kernel,
    low_rank_factor,
    median_bandwidth,
    scaled_squared_distances,
)
from sagdiv.ridge import tuned
from sagdiv.validation import check_positive

__all__ = ["NadarayaWatsonOperator"]


class NadarayaWatsonOperator(BaseEstimator):
    r"""Conditional expectations as local averages.

    .. math:: \hat P[h](z) = \sum_i w_i(z)\, h(x_i), \qquad
              w_i(z) = k(z, z_i) / \textstyle\sum_j k(z, z_j)

    Parameters
    ----------
    bandwidth : float, default=None
        Length scale in units of the median heuristic; raising it averages over more neighbours.
        None minimises the leave-one-out error of k(X, .).

    Attributes
    ----------
    nodes_ : array of shape (n, dx)
        The training X.
    bandwidth_ : float
        The length scale in use, in units of the median heuristic.
    bandwidth_search_ : Search or None
        log10(bandwidth) tried and their leave-one-out errors; None for a given bandwidth.

    References
    ----------
    Darolles, Fan, Florens and Renault (2011), Nonparametric Instrumental Regression.
    """

    def __init__(self, *, bandwidth: float | None = None) -> None:
        self.bandwidth = bandwidth

    def fit(self, X: Array, Z: Array) -> NadarayaWatsonOperator:
        """Fit on joint rows of X, shape (n, dx), and Z, shape (n, dz)."""
        if self.bandwidth is not None:
            check_positive(self.bandwidth, "bandwidth")
        self.nodes_, self._Z = X, Z
        self._unit = median_bandwidth(Z)
        self.bandwidth_, self.bandwidth_search_ = tuned(
            self.bandwidth, lambda: self._leave_one_out_score(X), (-2, 1)
        )
        return self

    def weights(self, Z: Array) -> Array:
        """Return w(z), shape (len(Z), n); each row sums to one."""
        # softmax, not a ratio of kernels: far from every z_i the nearest one still counts.
        distances = scaled_squared_distances(Z, self._Z, self.bandwidth_ * self._unit)
        return softmax(-0.5 * distances, axis=1)

    def _leave_one_out_score(self, X: Array) -> Callable[[float], float]:
        L = low_rank_factor(gaussian_kernel(X, X, median_bandwidth(X)))
        distances = scaled_squared_distances(self._Z, self._Z, self._unit)
        np.fill_diagonal(distances, np.inf)  # row i predicts itself from the others

        def score(log_bandwidth: float) -> float:
            w = softmax(-0.5 * distances / 100.0**log_bandwidth, axis=1)
            return float(np.square(L - w @ L).sum() / len(X))

        return score
