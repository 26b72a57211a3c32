"""The operator that a density ratio already contains."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator, clone

from sagdiv._types import Array, Seed
from sagdiv.density_ratio.kernel import KernelDensityRatio
from sagdiv.protocols import DensityRatio

__all__ = ["RatioOperator"]


class RatioOperator(BaseEstimator):
    r"""Conditional expectations by importance weighting.

    .. math:: P[h](z) = E[\Phi(X, z)\, h(X)] \approx \sum_i w_i(z)\, h(x_i), \qquad
              w_i(z) \propto \max\{\hat\Phi(x_i, z), 0\}

    Parameters
    ----------
    density_ratio : density ratio, default=None
        None is `KernelDensityRatio`.
    random_state : int, RandomState instance or None, default=None
        Seeds the default density ratio.

    Attributes
    ----------
    density_ratio_ : the fitted density ratio
    nodes_ : array of shape (n, dx)
        The training X.
    """

    def __init__(
        self, density_ratio: DensityRatio | None = None, *, random_state: Seed = None
    ) -> None:
        self.density_ratio = density_ratio
        self.random_state = random_state

    def fit(self, X: Array, Z: Array) -> RatioOperator:
        """Fit the density ratio on joint rows."""
        if self.density_ratio is None:
            ratio: DensityRatio = KernelDensityRatio(random_state=self.random_state)
        else:
            ratio = clone(self.density_ratio)
        self.density_ratio_ = ratio.fit(X, Z)
        self.nodes_ = X
        return self

    @classmethod
    def of(cls, density_ratio: DensityRatio, X: Array) -> RatioOperator:
        """Return the operator of a density ratio that is already fitted, with nodes X."""
        operator = cls(density_ratio)
        operator.density_ratio_, operator.nodes_ = density_ratio, X
        return operator

    def weights(self, Z: Array) -> Array:
        """Return w(z), shape (len(Z), n); non-negative, each row sums to one."""
        weights = self.density_ratio_.ratio(self.nodes_, Z).T.clip(min=0.0)
        total = weights.sum(axis=1, keepdims=True)
        uniform = np.full_like(weights, 1 / len(self.nodes_))
        return np.divide(weights, total, out=uniform, where=total > 0)
