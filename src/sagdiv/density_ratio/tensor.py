"""The density ratio as a product of feature maps, by regularised two-sided least squares."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from scipy.linalg import eigh
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_random_state

from sagdiv._types import Array, Seed
from sagdiv.features import KernelFeatures
from sagdiv.moments import Moments
from sagdiv.splitting import random_folds
from sagdiv.validation import check_integer, check_positive

__all__ = ["TensorDensityRatio"]

_RIDGES = tuple(10.0**decade for decade in range(-6, 0))


class TensorDensityRatio(BaseEstimator):
    r"""Phi as a bilinear form in features of x and of z.

    .. math:: \hat\Phi(x, z) = \phi(x)' M \psi(z), \qquad
              M = (G_x + \lambda_x I)^{-1} C\, (G_z + \lambda_z I)^{-1}

    minimises half the squared error against Phi under independent X and Z. With the constant
    among the features it averages to one by itself. Linear in n.

    Parameters
    ----------
    x_features, z_features : feature map with ``fit(rows)`` and ``transform(rows)``, default=None
        None is `KernelFeatures`.
    ridge : float or tuple of two, default=None
        (lambda_x, lambda_z), or one number for both; None chooses the pair by cross-validation.
    n_folds : int, default=5
        Folds of that cross-validation, which is exact: a fold's moments are subtracted.
    random_state : int, RandomState instance or None, default=None
        Draws the centres and the folds.

    Attributes
    ----------
    ridge_ : tuple of float
        The pair in use.
    ridge_scores_ : dict or None
        Held-out score of every pair tried.
    M_ : array of shape (bx, bz)
    """

    def __init__(
        self,
        x_features: Any = None,
        z_features: Any = None,
        *,
        ridge: float | tuple[float, float] | None = None,
        n_folds: int = 5,
        random_state: Seed = None,
    ) -> None:
        self.x_features = x_features
        self.z_features = z_features
        self.ridge = ridge
        self.n_folds = n_folds
        self.random_state = random_state

    def fit(self, X: Array, Z: Array) -> TensorDensityRatio:
        """Fit Phi on joint rows of X, shape (n, dx), and Z, shape (n, dz)."""
        check_integer(self.n_folds, "n_folds", at_least=2)
        given = None if self.ridge is None else _pair(self.ridge)
        rng = check_random_state(self.random_state)
        order = rng.permutation(len(X))
        self.phi_ = _features(self.x_features).fit(X[order])
        self.psi_ = _features(self.z_features).fit(Z[order])
        phi, psi = self.phi_.transform(X), self.psi_.transform(Z)
        folds = random_folds(len(X), self.n_folds, rng)
        by_fold = [Moments.of(phi[folds == f], psi[folds == f]) for f in range(folds.max() + 1)]
        total = sum(by_fold[1:], by_fold[0])
        self.ridge_scores_ = None
        if given is None:
            self.ridge_scores_ = _cross_validate(total, by_fold)
            given = min(self.ridge_scores_, key=self.ridge_scores_.__getitem__)
        self.ridge_ = given
        self.M_ = TwoSided(total.averages).solve(*self.ridge_)
        return self

    def ratio(self, X: Array, Z: Array) -> Array:
        """Return Phi^ for all pairs of rows, shape (len(X), len(Z))."""
        return self.factors(X) @ self.loadings(Z)

    def factors(self, X: Array) -> Array:
        """Return phi(x), shape (len(X), bx)."""
        return np.asarray(self.phi_.transform(X))

    def loadings(self, Z: Array) -> Array:
        """Return M psi(z), shape (bx, len(Z))."""
        return self.M_ @ self.psi_.transform(Z).T


class TwoSided:
    """(Gx + lx I)^-1 C (Gz + lz I)^-1 along (lx, lz), from two eigendecompositions."""

    def __init__(self, moments: Moments) -> None:
        self.dx, self.U = eigh(moments.Gx)
        self.dz, self.V = eigh(moments.Gz)
        self.core = self.U.T @ moments.C @ self.V

    def solve(self, lx: float, lz: float) -> Array:
        """Return M for one pair of ridge parameters."""
        return self.U @ (self.core / np.outer(self.dx + lx, self.dz + lz)) @ self.V.T


def _cross_validate(total: Moments, by_fold: list[Moments]) -> dict[tuple[float, float], float]:
    """Score pairs by 1/2 tr(Gx M Gz M') - tr(M'C) on held-out folds."""
    if len(by_fold) < 2:
        raise ValueError("cross-validation of the density ratio needs at least two folds.")
    paths = [TwoSided((total - fold).averages) for fold in by_fold]
    held_out = [fold.averages for fold in by_fold]

    def score(lx: float, lz: float) -> float:
        loss = 0.0
        for path, test in zip(paths, held_out, strict=True):
            M = path.solve(lx, lz)
            loss += float(0.5 * np.vdot(test.Gx @ M @ test.Gz, M) - np.vdot(M, test.C))
        return loss / len(by_fold)

    return {pair: score(*pair) for pair in product(_RIDGES, _RIDGES)}


def _pair(ridge: Any) -> tuple[float, float]:
    lx, lz = ridge if np.size(ridge) == 2 else (ridge, ridge)
    check_positive(lx, "ridge")
    check_positive(lz, "ridge")
    return float(lx), float(lz)


def _features(features: Any) -> Any:
    return KernelFeatures() if features is None else clone(features)
