"""A conditional expectation operator that is known, for simulations and oracles."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from sagdiv._types import Array

__all__ = ["ExactOperator"]


class ExactOperator(BaseEstimator):
    r"""P from the conditional density of X given Z, by quadrature on given nodes.

    .. math:: P[h](z) = \int h(x)\, p(x|z)\, dx \approx
              \sum_i h(x_i)\, p(x_i|z) \Big/ \sum_i p(x_i|z)

    Parameters
    ----------
    density : callable
        ``density(X, Z)`` returns p(x|z) for all pairs of rows, shape (len(X), len(Z)).
    nodes : array of shape (k, dx)
        Equally spaced points that cover the support of X.
    """

    def __init__(self, density: Callable[[Array, Array], Array], nodes: ArrayLike) -> None:
        self.density = density
        self.nodes = nodes

    def fit(self, X: Array, Z: Array) -> ExactOperator:
        """Do nothing but set ``nodes_``; return self."""
        self.nodes_ = np.asarray(self.nodes, dtype=float)
        return self

    def weights(self, Z: Array) -> Array:
        """Return w(z), shape (len(Z), k); each row sums to one."""
        weights = np.asarray(self.density(self.nodes_, Z), dtype=float).T
        return weights / weights.sum(axis=1, keepdims=True)
