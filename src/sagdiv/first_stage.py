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
_LEAST_SIGNAL = 3.0  # of n R^2: an irrelevant instrument has about one
_RANK_TOLERANCE = 1e-12


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
    lift : array of shape (bx, bx)
        To be added to a Hessian before its inverse is taken over the free coefficients. Zero,
        unless an irrelevant instrument explains less of them than noise would.
    """

    ridge: Array
    B: Array
    hessian: Array
    Gz: Array
    lift: Array

    @classmethod
    def fit(cls, mean: Moments, n: float, groups: list[Rows], n_free: int) -> FirstStage:
        """Choose the ridges and regress phi(X) on psi(Z)."""
        ridge = evidence_ridge(mean, n, groups)
        B = solve(mean.Gz + np.diag(ridge), mean.C.T, assume_a="sym")
        hessian = mean.C @ B
        hessian = (hessian + hessian.T) / 2
        free = np.ix_(range(n_free), range(n_free))
        lift = np.zeros_like(hessian)
        lift[free] = _lift(hessian[free], mean.Gx[free], _LEAST_SIGNAL / n)
        return cls(ridge, B, hessian, mean.Gz, lift)

    def regress(self, c: Array) -> Array:
        """Return (Gz + Lambda)^-1 c: the same smoother applied to another outcome."""
        return solve(self.Gz + np.diag(self.ridge), c, assume_a="sym")


def _lift(explained: Array, total: Array, least_share: float) -> Array:
    """Return the matrix that raises the share of variance explained to ``least_share``.

    Two-stage least squares divides by the explained variance, so that its answer has no bounds,
    nor a mean, if nothing but noise is explained.
    """
    values, axes = eigh(total)
    seen = values > _RANK_TOLERANCE * values[-1]
    whitener = axes[:, seen] / np.sqrt(values[seen])
    shares, vectors = eigh(whitener.T @ explained @ whitener)
    directions = total @ whitener @ vectors
    return (directions * np.maximum(0.0, least_share - shares)) @ directions.T


def canonical_correlations(
    mean: Moments, x_ridge: Array, z_ridge: Array, given: Rows | None = None
) -> Array:
    """Return the regularised canonical correlations of phi(X) and psi(Z), decreasing.

    The singular values of (Gx + Lx)^-1/2 C (Gz + Lz)^-1/2 once the constant, and other columns
    ``given`` of psi, are taken out: how strongly the instrument moves X, direction by direction.
    """
    given = np.union1d(0, [] if given is None else given).astype(np.intp)
    rest = np.setdiff1d(np.arange(len(mean.Gz)), given)
    to_given = solve(
        mean.Gz[np.ix_(given, given)] + np.diag(z_ridge[given]),
        np.hstack([mean.C.T[given, 1:], mean.Gz[np.ix_(given, rest)]]),
        assume_a="sym",
    )
    of_x, of_z = np.hsplit(to_given, [len(mean.Gx) - 1])
    Gx = mean.Gx[1:, 1:] - mean.C[1:, given] @ of_x + np.diag(x_ridge[1:])
    Gz = mean.Gz[np.ix_(rest, rest)] - mean.Gz[np.ix_(rest, given)] @ of_z + np.diag(z_ridge[rest])
    C = mean.C[1:, rest] - mean.C[1:, given] @ of_z
    explained = C @ solve(Gz, C.T, assume_a="sym")
    return np.sqrt(eigh((explained + explained.T) / 2, Gx, eigvals_only=True)[::-1].clip(min=0.0))
