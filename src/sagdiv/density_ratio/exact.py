"""A density ratio that is known, for simulations and oracles."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sklearn.base import BaseEstimator

from sagdiv._types import Array

__all__ = ["ExactDensityRatio"]


class ExactDensityRatio(BaseEstimator):
    """Phi given as a function; nothing is estimated.

    Parameters
    ----------
    function : callable
        ``function(X, Z)`` returns Phi for all pairs of rows, shape (len(X), len(Z)). Use a
        module-level function or a method rather than a lambda to keep the estimator picklable.
    """

    def __init__(self, function: Callable[[Array, Array], Array]) -> None:
        self.function = function

    def fit(self, X: Array, Z: Array) -> ExactDensityRatio:
        """Do nothing; return self."""
        return self

    def ratio(self, X: Array, Z: Array) -> Array:
        """Return Phi for all pairs of rows, shape (len(X), len(Z))."""
        values = np.asarray(self.function(X, Z), dtype=float)
        if values.shape != (len(X), len(Z)):
            raise ValueError(
                f"function must return all pairs, shape {(len(X), len(Z))}, got {values.shape}."
            )
        return values
