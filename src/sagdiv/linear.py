"""Two-stage least squares, the algebra alone: no intercept, no validation."""

from __future__ import annotations

import numpy as np
from scipy.linalg import lstsq, svd

from sagdiv._types import Array

__all__ = ["least_squares", "projected", "second_stage", "two_stage_least_squares"]

# What is less than this, beside columns of unit length, is a rounding error and no direction. The
# weakest instrument that data can tell from noise is of the order of 1 / sqrt(n).
_NOTHING = 1e-11


def projected(A: Array, Z: Array, weights: Array | None = None) -> Array:
    """Return the least-squares fit of the columns of A on those of Z: Z (Z'Z)^-1 Z'A.

    Parameters
    ----------
    A : array of shape (n,) or (n, k)
    Z : array of shape (n, dz)
        Columns may be collinear; only their span counts.
    weights : array of shape (n,), default=None
        Non-negative; an integer weight is a repeated row.
    """
    return Z @ least_squares(Z, A, weights)


def two_stage_least_squares(X: Array, y: Array, Z: Array, weights: Array | None = None) -> Array:
    """Return the coefficients (X^'X^)^-1 X^'y, where X^ is the fit of X on Z.

    The columns are taken as they are: put a column of ones in both X and Z for an intercept.
    Where Z does not tell two combinations of X apart, the coefficients are those of least norm,
    the columns of X brought to unit length.

    Parameters
    ----------
    X : array of shape (n, dx)
    y : array of shape (n,)
    Z : array of shape (n, dz)
    weights : array of shape (n,), default=None
        Non-negative; an integer weight is a repeated row.

    References
    ----------
    Theil (1953), Repeated Least Squares Applied to Complete Equation Systems.
    """
    X_hat = projected(X, Z, weights)
    if weights is not None:
        root = np.sqrt(weights)
        X, X_hat, y = X * root[:, None], X_hat * root[:, None], y * root
    return second_stage(X, X_hat)[0] @ y


def second_stage(X: Array, X_hat: Array) -> tuple[Array, int]:
    """Return (X^'X^)^-1 X^', the matrix that takes y to its coefficients, and the rank of X^.

    Parameters
    ----------
    X : array of shape (n, k)
    X_hat : array of shape (n, k)
        Its fit on the instruments. What is nothing beside X counts as nothing, however small the
        rest of X^ is: rounding errors are no instruments.
    """
    lengths = _lengths(X)
    U, values, V = svd(X_hat / lengths, full_matrices=False)
    kept = values > _NOTHING
    inverse = (V[kept].T / values[kept]) @ U[:, kept].T
    return inverse / lengths[:, None], int(kept.sum())


def least_squares(A: Array, b: Array, weights: Array | None = None) -> Array:
    """Return the coefficients of b, shape (n,) or (n, k), on the columns of A."""
    if weights is not None:
        root = np.sqrt(weights)
        A, b = A * root[:, None], (b.T * root).T
    lengths = _lengths(A)
    return (lstsq(A / lengths, b, cond=_NOTHING)[0].T / lengths).T


def _lengths(A: Array) -> Array:
    # Columns are brought to unit length, so that the rank does not depend on their units.
    lengths = np.linalg.norm(A, axis=0)
    return np.where(lengths == 0, 1.0, lengths)
