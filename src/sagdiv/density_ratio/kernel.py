"""Least-squares density-ratio fitting (uLSIF) with product Gaussian kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from sagdiv._types import Array, Rows, Seed
from sagdiv.kernels import gaussian_kernel, median_bandwidth
from sagdiv.ridge import RidgePath, penalty_basis, tuned
from sagdiv.splitting import random_folds
from sagdiv.validation import check_integer, check_positive

__all__ = ["KernelDensityRatio"]


class KernelDensityRatio(BaseEstimator):
    r"""Phi as a combination of product kernels, fitted on *all* n^2 pairs of marginal draws.

    .. math:: \hat\Phi(x, z) = \sum_l \theta_l\, k(x, x_l)\, k(z, z_l), \qquad
              \theta = (H + \lambda R)^{-1} h

    minimises half the squared error against Phi under independent X and Z. With
    Kx[i, l] = k(x_i, x_l) and likewise Kz, the product form makes both averages cheap:
    H = (Kx'Kx / n) * (Kz'Kz / n) elementwise, h_l = mean_i Kx[i, l] Kz[i, l].

    Parameters
    ----------
    n_centers : int, default=200
        Number of training pairs (x_l, z_l) that carry a kernel; more is finer and slower (b^3).
    bandwidth : float, default=1.0
        Length scale in units of the median heuristic, the same for X and Z; raising it makes
        the ratio smoother.
    penalty : {"rkhs", "ridge"}, default="rkhs"
        R: the Gram matrix of the product kernel, or the identity.
    ridge : float, default=None
        lambda; None chooses it by cross-validation.
    n_folds : int, default=5
        Folds of that cross-validation, which is exact: a fold's sums are subtracted.
    random_state : int, RandomState instance or None, default=None
        Draws the centres and the folds.

    Attributes
    ----------
    ridge_ : float
        The ridge parameter in use.
    ridge_search_ : Search or None
        log10(lambda) tried and their held-out scores; None for a given ridge.
    theta_ : array of shape (b,)

    References
    ----------
    Sugiyama, Suzuki and Kanamori (2012), Density Ratio Estimation in Machine Learning.
    """

    def __init__(
        self,
        n_centers: int = 200,
        *,
        bandwidth: float = 1.0,
        penalty: Literal["rkhs", "ridge"] = "rkhs",
        ridge: float | None = None,
        n_folds: int = 5,
        random_state: Seed = None,
    ) -> None:
        self.n_centers = n_centers
        self.bandwidth = bandwidth
        self.penalty = penalty
        self.ridge = ridge
        self.n_folds = n_folds
        self.random_state = random_state

    def fit(self, X: Array, Z: Array) -> KernelDensityRatio:
        """Fit Phi on joint rows of X, shape (n, dx), and Z, shape (n, dz)."""
        if self.penalty not in ("rkhs", "ridge"):
            raise ValueError(f"penalty must be 'rkhs' or 'ridge', got {self.penalty!r}.")
        check_integer(self.n_centers, "n_centers", at_least=1)
        check_integer(self.n_folds, "n_folds", at_least=2)
        check_positive(self.bandwidth, "bandwidth")
        if self.ridge is not None:
            check_positive(self.ridge, "ridge")
        rng = check_random_state(self.random_state)
        centers = rng.permutation(len(X))[: self.n_centers]
        self.x_centers_, self.z_centers_ = X[centers], Z[centers]
        self.x_bandwidth_ = self.bandwidth * median_bandwidth(X)
        self.z_bandwidth_ = self.bandwidth * median_bandwidth(Z)
        Kx, Kz = self._kernels(X, Z)
        basis = penalty_basis(Kx[centers] * Kz[centers]) if self.penalty == "rkhs" else None

        folds = random_folds(len(X), self.n_folds, rng)
        self.ridge_, self.ridge_search_ = tuned(
            self.ridge, lambda: _cross_validation_score(Kx, Kz, basis, folds), (-9, 1)
        )
        H, h = _moments(Kx, Kz)
        self.theta_ = RidgePath(H, basis).solve(h, self.ridge_)
        return self

    def ratio(self, X: Array, Z: Array) -> Array:
        """Return Phi^ for all pairs of rows, shape (len(X), len(Z))."""
        return self.factors(X) @ self.loadings(Z)

    def factors(self, X: Array) -> Array:
        """Return theta_l k(x, x_l), shape (len(X), b)."""
        return gaussian_kernel(X, self.x_centers_, self.x_bandwidth_) * self.theta_

    def loadings(self, Z: Array) -> Array:
        """Return k(z, z_l), shape (b, len(Z))."""
        return gaussian_kernel(self.z_centers_, Z, self.z_bandwidth_)

    def _kernels(self, X: Array, Z: Array) -> tuple[Array, Array]:
        return (
            gaussian_kernel(X, self.x_centers_, self.x_bandwidth_),
            gaussian_kernel(Z, self.z_centers_, self.z_bandwidth_),
        )


def _moments(Kx: Array, Kz: Array) -> tuple[Array, Array]:
    n = len(Kx)
    return (Kx.T @ Kx) * (Kz.T @ Kz) / n**2, np.einsum("il,il->l", Kx, Kz) / n


def _cross_validation_score(
    Kx: Array, Kz: Array, basis: Array | None, folds: Rows
) -> Callable[[float], float]:
    """Return the score 1/2 theta' H_test theta - h_test' theta, averaged over the folds."""
    n, n_folds = len(Kx), int(folds.max()) + 1
    if n_folds < 2:
        raise ValueError("cross-validation of the density ratio needs at least two folds.")
    GX, GZ = Kx.T @ Kx, Kz.T @ Kz
    joint = np.einsum("il,il->l", Kx, Kz)
    held_out = []
    for fold in range(n_folds):
        kx, kz = Kx[folds == fold], Kz[folds == fold]
        m, gx, gz, h = len(kx), kx.T @ kx, kz.T @ kz, np.einsum("il,il->l", kx, kz)
        # The moments of the other folds by subtraction: exact, and no second pass.
        train = RidgePath((GX - gx) * (GZ - gz) / (n - m) ** 2, basis)
        held_out.append((train, (joint - h) / (n - m), gx * gz / m**2, h / m))

    def score(log_ridge: float) -> float:
        total = 0.0
        for train, h_train, H_test, h_test in held_out:
            theta = train.solve(h_train, 10.0**log_ridge)
            total += 0.5 * theta @ H_test @ theta - h_test @ theta
        return total / n_folds

    return score
