"""Where the curve rests on data, and where on assumption."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import pinvh

from sagdiv._types import Array
from sagdiv.inference.linearisation import Linearisation

__all__ = ["Sensitivity", "Support", "sensitivity", "support"]

_TAIL, _BEYOND = 0.99, 2.0
_FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)


@dataclass(frozen=True)
class Support:
    """What stands behind the curve at each point.

    Attributes
    ----------
    X : array of shape (k, dx)
    extrapolated : boolean array of shape (k,)
        The curve there is extrapolation: hardly a row is near.
    learnt : array of shape (k,)
        Share of what was open about h(x), less its average over the points and its linear part,
        that the instrument settled. Near 0 the shape at x comes from the smoothness assumed, not
        from the data.
    """

    X: Array
    extrapolated: NDArray[np.bool_]
    learnt: Array


@dataclass(frozen=True)
class Sensitivity:
    """The curve at other total steps.

    Attributes
    ----------
    X : array of shape (k, dx)
    factors : array of shape (f,)
        Multiples of the total step in use.
    curves : array of shape (f, k)
    standard_error : array of shape (k,)
        Of the curve in use.
    """

    X: Array
    factors: Array
    curves: Array
    standard_error: Array

    @property
    def largest_move(self) -> float:
        """Largest distance, in standard errors, when the total step is halved or doubled."""
        near = (self.factors >= 0.5) & (self.factors <= 2.0)
        moves = np.abs(self.curves[near] - self.curves[self.factors == 1.0])
        return float((moves / np.maximum(self.standard_error, 1e-300)).max())


def support(estimate: Linearisation, phi: Array, X: Array, L: Array) -> Support:
    r"""Return the support of the points X.

    A point is extrapolated when its leverage phi(x)' Gx^-1 phi(x) is more than twice what 99 % of
    the rows stay below.

    Parameters
    ----------
    estimate : Linearisation
    phi : array of shape (n, bx)
        Features of the rows.
    X : array of shape (k, dx)
    L : array of shape (k, bx)
        Features of X.
    """
    Gx = phi.T @ phi / len(phi)
    inverse = pinvh(Gx + 1e-6 * np.trace(Gx) / len(Gx) * np.eye(len(Gx)))
    edge = _BEYOND * np.quantile(_leverage(phi, inverse), _TAIL)
    shape = L - L.mean(axis=0) if len(L) > 1 else L
    return Support(X, _leverage(L, inverse) > edge, estimate.learnt_share(shape))


def sensitivity(estimate: Linearisation, X: Array, L: Array) -> Sensitivity:
    """Return the curve at the points X for a quarter to four times the total step."""
    curves = np.array([L @ estimate.coefficients(factor) for factor in _FACTORS])
    return Sensitivity(X, np.array(_FACTORS), curves, estimate.errors(L).standard_error)


def _leverage(phi: Array, inverse: Array) -> Array:
    leverage: Array = np.einsum("ij,ij->i", phi @ inverse, phi)
    return leverage
