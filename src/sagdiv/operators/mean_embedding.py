"""Kernel mean embedding: ridge regression of k(X, .) on Z, all functions of X at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sklearn.base import BaseEstimator

from sagdiv._types import Array
from sagdiv.kernels import gaussian_kernel, low_rank_factor, median_bandwidth
from sagdiv.ridge import RidgePath, tuned
from sagdiv.validation import check_positive

__all__ = ["MeanEmbeddingOperator"]


class MeanEmbeddingOperator(BaseEstimator):
    r"""The operator as the first stage of KIV estimates it.

    .. math:: \hat P[h](z) = \sum_i w_i(z)\, h(x_i), \qquad
              w(z) = (K_Z + n \lambda I)^{-1} k_Z(z)

    Parameters
    ----------
    bandwidth : float, default=1.0
        Length scale in units of the median heuristic, the same for X and Z; raising it makes
        conditional expectations smoother.
    ridge : float, default=None
        lambda; None minimises the exact leave-one-out error of k(X, .), which one
        eigendecomposition of K_Z gives for every lambda.

    Attributes
    ----------
    nodes_ : array of shape (n, dx)
        The training X.
    ridge_ : float
        The ridge parameter in use.
    ridge_search_ : Search or None
        log10(lambda) tried and their leave-one-out errors; None for a given ridge.

    References
    ----------
    Singh, Sahani and Gretton (2019), Kernel Instrumental Variable Regression.
    """

    def __init__(self, *, bandwidth: float = 1.0, ridge: float | None = None) -> None:
        self.bandwidth = bandwidth
        self.ridge = ridge

    def fit(self, X: Array, Z: Array) -> MeanEmbeddingOperator:
        """Fit on joint rows of X, shape (n, dx), and Z, shape (n, dz)."""
        check_positive(self.bandwidth, "bandwidth")
        if self.ridge is not None:
            check_positive(self.ridge, "ridge")
        self.nodes_, self._Z = X, Z
        self.z_bandwidth_ = self.bandwidth * median_bandwidth(Z)
        self._path = RidgePath(gaussian_kernel(Z, Z, self.z_bandwidth_))
        self.ridge_, self.ridge_search_ = tuned(
            self.ridge, lambda: self._leave_one_out_score(X), (-9, 1)
        )
        return self

    def weights(self, Z: Array) -> Array:
        """Return w(z), shape (len(Z), n)."""
        kz = gaussian_kernel(self._Z, Z, self.z_bandwidth_)
        return self._path.solve(kz, len(self.nodes_) * self.ridge_).T

    def _leave_one_out_score(self, X: Array) -> Callable[[float], float]:
        # k(x_i, .) in coordinates: the rows of L, with L L' = K_X.
        L = low_rank_factor(gaussian_kernel(X, X, self.bandwidth * median_bandwidth(X)))

        def score(log_ridge: float) -> float:
            residuals = self._path.leave_one_out(L, len(X) * 10.0**log_ridge)
            return float(np.square(residuals).sum() / len(X))

        return score
