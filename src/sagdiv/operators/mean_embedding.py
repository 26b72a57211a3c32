"""Kernel mean embedding: ridge regression of k(X, .) on Z, all functions of X at once."""

from __future__ import annotations

from collections.abc import Callable

from sklearn.base import BaseEstimator

from sagdiv._types import Array
from sagdiv.kernels import gaussian_kernel, low_rank_factor, median_bandwidth
from sagdiv.ridge import RidgePath, leave_one_out_error, tuned
from sagdiv.validation import check_positive

__all__ = ["MeanEmbeddingOperator"]

_RANK_TOLERANCE = 1e-14  # weights are wrong by this over lambda


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
        decomposition of K_Z gives for every lambda.

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
        # K_Z = L L' with few columns, as k is smooth: all that follows is linear in n.
        self._L = _factor(Z, self.z_bandwidth_)
        self.ridge_, self.ridge_search_ = tuned(
            self.ridge, lambda: self._leave_one_out_error(X), (-9, 1)
        )
        self._path = RidgePath(self._L.T @ self._L)
        return self

    def weights(self, Z: Array) -> Array:
        """Return w(z), shape (len(Z), n)."""
        penalty = len(self.nodes_) * self.ridge_
        # (L L' + c I)^-1 k = (k - L (L'L + c I)^-1 L'k) / c
        kz = gaussian_kernel(Z, self._Z, self.z_bandwidth_)
        kz -= self._path.solve((kz @ self._L).T, penalty).T @ self._L.T
        kz /= penalty
        return kz

    def _leave_one_out_error(self, X: Array) -> Callable[[float], float]:
        # k(x_i, .) in coordinates: the rows of such a factor of K_X.
        target = _factor(X, self.bandwidth * median_bandwidth(X))
        return leave_one_out_error(self._L, target)


def _factor(A: Array, bandwidth: Array) -> Array:
    return low_rank_factor(gaussian_kernel(A, A, bandwidth), _RANK_TOLERANCE)
