"""Two-stage least squares, the algebra alone: no intercept, no validation."""

from __future__ import annotations

import numpy as np
from scipy.linalg import lstsq, pinv

from sagdiv._types import Array

__all__ = ["least_squares", "projected", "pseudo_inverse", "two_stage_least_squares"]


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
    Where Z does not tell two combinations of X apart, the coefficients are those of least norm.

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
    return least_squares(projected(X, Z, weights), y, weights)


def least_squares(A: Array, b: Array, weights: Array | None = None) -> Array:
    """Return the coefficients of b, shape (n,) or (n, k), on the columns of A."""
    if weights is not None:
        root = np.sqrt(weights)
        A, b = A * root[:, None], (b.T * root).T
    lengths = _lengths(A)
    return (lstsq(A / lengths, b)[0].T / lengths).T


def pseudo_inverse(A: Array) -> Array:
    """Return (A'A)^-1 A', the matrix that takes b to its coefficients on the columns of A."""
    lengths = _lengths(A)
    return pinv(A / lengths) / lengths[:, None]


def _lengths(A: Array) -> Array:
    # Columns are brought to unit length, so that the rank does not depend on their units.
    lengths = np.linalg.norm(A, axis=0)
    return np.where(lengths == 0, 1.0, lengths)
