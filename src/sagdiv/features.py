"""Feature maps: the finite families of functions of x and of z that moments are taken of."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator

from sagdiv._types import Array
from sagdiv.kernels import column_scales, gaussian_kernel, median_bandwidth

__all__ = ["GaussianFeatures"]


class GaussianFeatures(BaseEstimator):
    """The constant, the standardised coordinates, and Gaussian bumps around given rows.

    Parameters
    ----------
    n_centers : int, default=100
        Number of bumps, placed on the first rows given to ``fit``.
    bandwidth : float, default=1.0
        Their width in units of the median heuristic; raising it makes the functions smoother.

    Attributes
    ----------
    centers_ : array of shape (b, d)
    """

    def __init__(self, n_centers: int = 100, *, bandwidth: float = 1.0) -> None:
        self.n_centers = n_centers
        self.bandwidth = bandwidth

    def fit(self, rows: Array) -> GaussianFeatures:
        """Learn location, spread and centres from sample rows in random order."""
        self.location_ = rows.mean(axis=0)
        self.scale_ = column_scales(rows)
        self.width_ = self.bandwidth * median_bandwidth(rows)
        self.centers_ = rows[: self.n_centers]
        return self

    def transform(self, A: Array) -> Array:
        """Return the features of the rows of A, shape (n, 1 + d + b)."""
        return np.column_stack(
            [
                np.ones(len(A)),
                (A - self.location_) / self.scale_,
                gaussian_kernel(A, self.centers_, self.width_),
            ]
        )
