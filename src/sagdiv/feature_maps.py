"""The pair of feature maps of a linear-time fit, and what is computed with them block by block."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np
from scipy.linalg import solve
from sklearn.utils.validation import check_array

from sagdiv._types import Array, Data
from sagdiv.features import KernelFeatures
from sagdiv.moments import Moments
from sagdiv.rows import RowBlocks
from sagdiv.sketch import Sketch
from sagdiv.transformer_features import as_feature_map
from sagdiv.validation import (
    check_instruments,
    check_outcome,
    check_same_length,
    check_weights,
    check_width,
)

__all__ = ["FeatureFunction", "FeatureMaps", "FeatureOperator", "FeatureRatio"]


@dataclass(frozen=True)
class FeatureMaps:
    """Fitted feature maps phi of the regressors and psi of the instruments.

    Every machine that takes `moments` with the same maps contributes to one and the same fit.

    Attributes
    ----------
    x, z : fitted feature maps
        With exogenous regressors, z is a map of the instruments followed by these columns of X.
    """

    x: Any
    z: Any

    @classmethod
    def fit(
        cls,
        sample: Sketch,
        n_regressors: int,
        x: Any = None,
        z: Any = None,
        Z_extra: Array | None = None,
    ) -> FeatureMaps:
        """Fit copies of the maps ``x`` and ``z`` (None: the defaults) on a sample of (X, Z)."""
        X, Z = sample.rows[:, :n_regressors], sample.rows[:, n_regressors:]
        x = default_x_features(n_regressors) if x is None else as_feature_map(x, "x_features")
        z = KernelFeatures() if z is None else as_feature_map(z, "z_features")
        maps = cls(x.fit(X, sample.weights), z.fit(*with_extra(Z, sample.weights, Z_extra)))
        maps._check_widths(X, Z)
        return maps

    def _check_widths(self, X: Array, Z: Array) -> None:
        rows = {"x": ("X", X), "z": ("Z (with exogenous columns of X)", Z)}
        for side, (name, A) in rows.items():
            width = getattr(self, side).n_features_in_
            if width != A.shape[1]:
                raise ValueError(
                    f"{side}_features is fitted, to {width} columns, and {name} has {A.shape[1]}; "
                    "freeze a map that was fitted to the same columns."
                )

    def moments(self, X: Data, y: Data, Z: Data, sample_weight: Data = None) -> Moments:
        """Return the sums over the given rows that `KernelSAGDIV.fit_moments` fits from."""
        X, Z = check_array(X, dtype=np.float64, input_name="X"), check_instruments(Z)
        y = check_outcome(y, type(self).__name__)
        check_same_length(X=X, y=y, Z=Z)
        check_width(X, "X", self.x.n_features_in_)
        check_width(Z, "Z", self.z.n_features_in_)
        rows = RowBlocks(X, y, Z, check_weights(sample_weight, len(X)))
        return rows.total(self.block_moments)

    def block_moments(self, X: Array, y: Array, Z: Array, weights: Array) -> Moments:
        """Return the moments of one block of checked rows."""
        return Moments.of(self.x.transform(X), self.z.transform(Z), y, weights, self.origin)

    @cached_property
    def origin(self) -> Array:
        """phi(0) and psi(0), by which maps are told apart."""
        return np.concatenate(
            [features.transform(np.zeros((1, features.n_features_in_)))[0] for features in self._xz]
        )

    def check_taken(self, moments: Moments) -> None:
        """Check that moments are sums of the features of these maps."""
        bx = self.x.transform(np.zeros((1, self.x.n_features_in_))).shape[1]
        size = len(self.origin) + 1
        moments.check_same_features(Moments(0.0, np.zeros((size, size)), bx, self.origin))

    def save(self, path: str | PathLike[str]) -> None:
        """Write the maps to a NumPy ``.npz`` file; for maps that offer ``to_arrays``."""
        state: dict[str, Any] = {}
        for side, features in zip("xz", self._xz, strict=True):
            if not hasattr(features, "to_arrays"):
                raise TypeError(
                    f"{type(features).__name__} has no to_arrays, which saving maps needs."
                )
            state |= {f"{side}_{name}": value for name, value in features.to_arrays().items()}
        with open(path, "wb") as file:
            np.savez(file, **state)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> FeatureMaps:
        """Read maps of `KernelFeatures` that `save` wrote, to the last bit."""
        with np.load(path, allow_pickle=False) as file:
            if "x_kernel" not in file:
                raise ValueError(f"{path} holds no feature maps; FeatureMaps.save writes them.")
            state = [
                {name[2:]: file[name] for name in file if name.startswith(side)} for side in "xz"
            ]
        return cls(*map(KernelFeatures.from_arrays, state))

    @property
    def _xz(self) -> tuple[Any, Any]:
        return self.x, self.z


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


def with_extra(Z: Array, weights: Array, Z_extra: Array | None) -> tuple[Array, Array]:
    """Return rows and weights of Z with further rows, of weight one, behind them."""
    if Z_extra is None:
        return Z, weights
    return np.vstack([Z, Z_extra]), np.append(weights, np.ones(len(Z_extra)))


def default_x_features(n_regressors: int) -> KernelFeatures:
    """Return forty bumps for a single regressor, as many shared out between several."""
    per_coordinate = max(10, 40 // n_regressors)
    return KernelFeatures("matern", length_scale=4.0, n_per_coordinate=per_coordinate)
