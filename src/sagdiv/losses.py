r"""Pointwise losses: what "close" means between r(z) = E[Y|Z=z] and P[h](z).

The risk that every estimator here descends is E[loss(r(Z), P[h](Z))]; a loss enters the algorithm
only through its derivative in the second argument, ``d2``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import erfcx, expit, log_expit, log_ndtr, ndtr

from sagdiv._types import Array

__all__ = ["LogisticLoss", "ProbitLoss", "SquaredLoss"]

_SQRT_HALF = np.sqrt(0.5)
_SQRT_TWO_OVER_PI = np.sqrt(2.0 / np.pi)


@dataclass(frozen=True)
class SquaredLoss:
    r"""Half the squared difference, for a continuous outcome.

    .. math:: \ell(u, v) = \tfrac12 (u - v)^2, \qquad \partial_2 \ell(u, v) = v - u
    """

    domain = (-np.inf, np.inf)
    curvature = 1.0
    binary = False
    scales_with_outcome = True
    linear_in_outcome = True

    def value(self, u: ArrayLike, v: ArrayLike) -> Array:
        """Return the loss of predicting ``v`` where the target is ``u``."""
        return 0.5 * np.square(np.subtract(u, v))

    def d2(self, u: ArrayLike, v: ArrayLike) -> Array:
        """Return the derivative in ``v``."""
        return np.subtract(v, u)

    def d22(self, u: ArrayLike, v: ArrayLike) -> Array:
        """Return the second derivative in ``v``: one."""
        return np.ones(np.broadcast(u, v).shape)

    def mean(self, v: ArrayLike) -> Array:
        """Return E[Y|Z] implied by P[h](Z) = ``v``: the identity."""
        return np.asarray(v, dtype=float)


@dataclass(frozen=True)
class LogisticLoss:
    r"""Binary cross-entropy of a logistic disturbance, for Y = 1{P[h](Z) + eta > 0}.

    .. math:: \ell(u, v) = -u \log F(v) - (1 - u) \log F(-v), \quad F(v) = 1 / (1 + e^{-v / s}),
              \qquad \partial_2 \ell(u, v) = (F(v) - u) / s

    Parameters
    ----------
    scale : float, default=1.0
        The scale s of the disturbance eta; h is only defined relative to it, so that doubling the
        scale doubles h.
    """

    scale: float = 1.0

    domain = (0.0, 1.0)
    binary = True
    scales_with_outcome = False
    linear_in_outcome = True

    def __post_init__(self) -> None:
        _check_scale(self.scale)

    @property
    def curvature(self) -> float:
        """The largest second derivative in ``v``, F'(0) / s."""
        return 0.25 / self.scale**2

    def value(self, u: ArrayLike, v: ArrayLike) -> Array:
        """Return the loss of predicting ``v`` where the probability is ``u``."""
        u, index = np.asarray(u, dtype=float), np.divide(v, self.scale)
        return -u * log_expit(index) - (1.0 - u) * log_expit(-index)

    def d2(self, u: ArrayLike, v: ArrayLike) -> Array:
        """Return the derivative in ``v``."""
        return (expit(np.divide(v, self.scale)) - u) / self.scale

    def d22(self, u: ArrayLike, v: ArrayLike) -> Array:
        """Return the second derivative in ``v``."""
        index = np.divide(v, self.scale) + np.zeros(np.shape(u))
        return expit(index) * expit(-index) / self.scale**2

    def mean(self, v: ArrayLike) -> Array:
        """Return P(Y = 1|Z) implied by P[h](Z) = ``v``."""
        return expit(np.divide(v, self.scale))


@dataclass(frozen=True)
class ProbitLoss:
    r"""Binary cross-entropy of a normal disturbance, for Y = 1{P[h](Z) + eta > 0}.

    .. math:: \ell(u, v) = -u \log F(v) - (1 - u) \log F(-v), \quad F(v) = \mathcal N(v / s),
              \qquad \partial_2 \ell(u, v) = \{(1 - u)\, m(v / s) - u\, m(-v / s)\} / s

    with the inverse Mills ratio m(t) = N'(t) / N(-t).

    Parameters
    ----------
    scale : float, default=1.0
        The standard deviation s of the disturbance eta; h is only defined relative to it.
    """

    scale: float = 1.0

    domain = (0.0, 1.0)
    binary = True
    scales_with_outcome = False
    linear_in_outcome = True

    def __post_init__(self) -> None:
        _check_scale(self.scale)

    @property
    def curvature(self) -> float:
        """The largest second derivative in ``v``, approached where ``v`` and ``u`` disagree."""
        return 1.0 / self.scale**2

    def value(self, u: ArrayLike, v: ArrayLike) -> Array:
        """Return the loss of predicting ``v`` where the probability is ``u``."""
        u, index = np.asarray(u, dtype=float), np.divide(v, self.scale)
        return -u * log_ndtr(index) - (1.0 - u) * log_ndtr(-index)

    def d2(self, u: ArrayLike, v: ArrayLike) -> Array:
        """Return the derivative in ``v``."""
        u, index = np.asarray(u, dtype=float), np.divide(v, self.scale)
        return ((1.0 - u) * _mills(index) - u * _mills(-index)) / self.scale

    def d22(self, u: ArrayLike, v: ArrayLike) -> Array:
        """Return the second derivative in ``v``."""
        u, index = np.asarray(u, dtype=float), np.divide(v, self.scale)
        below, above = _mills(index), _mills(-index)
        curvature = (1.0 - u) * below * (below - index) + u * above * (above + index)
        return curvature / self.scale**2

    def mean(self, v: ArrayLike) -> Array:
        """Return P(Y = 1|Z) implied by P[h](Z) = ``v``."""
        return ndtr(np.divide(v, self.scale))


def _mills(t: Array) -> Array:
    # N'(t) / N(-t) by the scaled complementary error function: exact to the last bits at any t.
    return _SQRT_TWO_OVER_PI / erfcx(t * _SQRT_HALF)


def _check_scale(scale: float) -> None:
    if not (np.isfinite(scale) and scale > 0):
        raise ValueError(f"scale must be a positive number, got {scale!r}.")
