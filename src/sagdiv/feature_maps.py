"""The pair of feature maps of a linear-time fit, and what is computed with them block by block."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import solve
from sklearn.base import clone

from sagdiv._types import Array
from sagdiv.features import KernelFeatures
from sagdiv.moments import Moments
from sagdiv.sketch import Sketch

__all__ = ["FeatureFunction", "FeatureMaps", "FeatureOperator", "FeatureRatio"]


@dataclass(frozen=True)
class FeatureMaps:
    """Fitted feature maps phi of the regressors and psi of the instruments.

    Attributes
    ----------
    x, z : fitted feature maps
    """

    x: Any
    z: Any

    @classmethod
    def fit(cls, sample: Sketch, n_regressors: int, x: Any = None, z: Any = None) -> FeatureMaps:
        """Fit copies of the maps ``x`` and ``z`` (None: the defaults) on a sample of (X, Z)."""
        X, Z = sample.rows[:, :n_regressors], sample.rows[:, n_regressors:]
        x = default_x_features(n_regressors) if x is None else clone(x)
        z = KernelFeatures() if z is None else clone(z)
        return cls(x.fit(X, sample.weights), z.fit(Z, sample.weights))

    def moments(self, X: Array, y: Array, Z: Array, weights: Array) -> Moments:
        """Return the moments of a block of rows."""
        return Moments.of(self.x.transform(X), self.z.transform(Z), y, weights)


class FeatureFunction:
    """The function features(A) @ coefficients."""

    def __init__(self, features: Any, coefficients: Array) -> None:
        self.features = features
        self.coefficients = coefficients

    def predict(self, A: Array) -> Array:
        """Return the values at the rows of A, shape (n,)."""
        return np.asarray(self.features.transform(A) @ self.coefficients)


class FeatureOperator:
    """The operator phi'a -> psi'B a on functions that are combinations of features."""

    def __init__(self, z_features: Any, B: Array) -> None:
        self.z_features = z_features
        self.B = B

    def project(self, a: Array, Z: Array) -> Array:
        """Return P^[phi'a] at the rows of Z, shape (n,)."""
        return np.asarray(self.z_features.transform(Z) @ (self.B @ a))


class FeatureRatio:
    """Phi^(x, z) = phi(x)' (Gx + Lx)^-1 C (Gz + Lz)^-1 psi(z)."""

    def __init__(self, maps: FeatureMaps, mean: Moments, x_ridge: Array, B: Array) -> None:
        self.maps = maps
        self.M_ = solve(mean.Gx + np.diag(x_ridge), B.T, assume_a="sym")

    def ratio(self, X: Array, Z: Array) -> Array:
        """Return Phi^ for all pairs of rows, shape (len(X), len(Z))."""
        return self.factors(X) @ self.loadings(Z)

    def factors(self, X: Array) -> Array:
        """Return phi(x), shape (len(X), bx)."""
        return np.asarray(self.maps.x.transform(X))

    def loadings(self, Z: Array) -> Array:
        """Return M psi(z), shape (bx, len(Z))."""
        return self.M_ @ self.maps.z.transform(Z).T


def default_x_features(n_regressors: int) -> KernelFeatures:
    """Return forty bumps for a single regressor, as many shared out between several."""
    per_coordinate = max(10, 40 // n_regressors)
    return KernelFeatures("matern", length_scale=4.0, n_per_coordinate=per_coordinate)
