"""The conditional expectation operator in coefficients: a ridge regression of phi(X) on psi(Z).

P^[phi'a](z) = psi(z)'B a with B = (Gz + Lambda)^-1 C', one ridge parameter for each group of
instrument features. The parameters maximise the evidence, so that an instrument that predicts
nothing is switched off by itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh, inv, solve

from sagdiv._types import Array, Rows
from sagdiv.moments import Moments

__all__ = ["FirstStage", "canonical_correlations", "evidence_ridge"]

_ROUNDS = 15
_RIDGE_RANGE = (1e-6, 1e4)


def evidence_ridge(mean: Moments, n: float, groups: list[Rows]) -> Array:
    r"""Return the diagonal of Lambda, shape (bz,).

    MacKay's fixed point for the precision of a group of coefficients, averaged over the principal
    axes t of phi(X) as outputs,

    .. math:: \lambda_g = \frac{\mathrm{dof}_g}{n} \Big/
              \mathrm{mean}_t \frac{|B_{g t}|^2}{\sigma_t^2}

    with dof_g the effective number of coefficients in the group and sigma_t^2 the variance that
    the regression leaves of output t. The constant is not penalised.

    Parameters
    ----------
    mean : Moments
        Averages over rows.
    n : float
        Number of rows.
    groups : list of integer arrays
        Columns of psi that share a ridge parameter.

    References
    ----------
    MacKay (1992), Bayesian Interpolation.
    """
    z0, x0 = mean.Gz[0], mean.C[:, 0]  # averages of psi and phi: the constant comes first
    G = mean.Gz - np.outer(z0, z0)
    variances, axes = eigh(mean.Gx - np.outer(x0, x0))
    seen = variances > 1e-6 * variances[-1]
    variances = variances[seen]
    T = axes[:, seen].T @ (mean.C - np.outer(x0, z0))
    ridge = np.full(len(G), 1e-3)
    for _ in range(_ROUNDS):
        A = G + np.diag(ridge)
        A[0, 0] = 1.0  # the constant has no variance of its own
        covariance = inv(A)
        B = T @ covariance
        left = variances - 2 * (B * T).sum(axis=1) + ((B @ G) * B).sum(axis=1)
        left = np.maximum(left, 1e-3 * variances)
        for group in groups:
            dof = len(group) - (ridge[group] * covariance.diagonal()[group]).sum()
            strength = ((B[:, group] ** 2).sum(axis=1) / left).mean()
            ridge[group] = np.clip(dof / n / max(strength, 1e-300), *_RIDGE_RANGE)
    ridge[0] = 0.0
    return ridge


@dataclass(frozen=True)
class FirstStage:
    """The operator in coefficients, with what the descent needs of it.

    Attributes
    ----------
    ridge : array of shape (bz,)
        Diagonal of Lambda.
    B : array of shape (bz, bx)
        (Gz + Lambda)^-1 C'.
    hessian : array of shape (bx, bx)
        C (Gz + Lambda)^-1 C', the Hessian of the projected squared risk.
    Gz : array of shape (bz, bz)
    """

    ridge: Array
    B: Array
    hessian: Array
    Gz: Array

    @classmethod
    def fit(cls, mean: Moments, n: float, groups: list[Rows]) -> FirstStage:
        """Choose the ridges and regress phi(X) on psi(Z)."""
        ridge = evidence_ridge(mean, n, groups)
        B = solve(mean.Gz + np.diag(ridge), mean.C.T, assume_a="sym")
        hessian = mean.C @ B
        return cls(ridge, B, (hessian + hessian.T) / 2, mean.Gz)

    def regress(self, c: Array) -> Array:
        """Return (Gz + Lambda)^-1 c: the same smoother applied to another outcome."""
        return solve(self.Gz + np.diag(self.ridge), c, assume_a="sym")


def canonical_correlations(mean: Moments, x_ridge: Array, z_ridge: Array) -> Array:
    """Return the regularised canonical correlations of phi(X) and psi(Z), decreasing.

    The singular values of (Gx + Lx)^-1/2 C (Gz + Lz)^-1/2 once the constant is taken out: how
    strongly the instrument moves X, direction by direction.
    """
    x0, z0 = mean.Gx[0], mean.Gz[0]
    Gx = (mean.Gx - np.outer(x0, x0))[1:, 1:] + np.diag(x_ridge[1:])
    Gz = (mean.Gz - np.outer(z0, z0))[1:, 1:] + np.diag(z_ridge[1:])
    C = (mean.C - np.outer(x0, z0))[1:, 1:]
    explained = C @ solve(Gz, C.T, assume_a="sym")
    return np.sqrt(eigh((explained + explained.T) / 2, Gx, eigvals_only=True)[::-1].clip(min=0.0))
