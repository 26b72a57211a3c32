r"""Pointwise losses: what "close" means between r(z) = E[Y|Z=z] and P[h](z).

The risk that every estimator here descends is E[loss(r(Z), P[h](Z))]; a loss enters the algorithm
only through its derivative in the second argument, ``d2``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import erfcx, expit, log_expit, log_ndtr, logit, ndtr, ndtri

from sagdiv._types import Array
from sagdiv.validation import check_positive

__all__ = ["LogisticLoss", "ProbitLoss", "PseudoHuberLoss", "SquaredLoss"]

_SQRT_HALF = np.sqrt(0.5)
_SQRT_TWO_OVER_PI = np.sqrt(2.0 / np.pi)
_FAR = 150.0  # beyond, the expansion of the Mills ratio at infinity
_WIDTH = 1.5  # of a robust loss, in robust standard deviations
_NORMAL_MAD = 1.4826  # standard deviation over median absolute deviation of a normal variable


@dataclass(frozen=True)
class SquaredLoss:
    r"""Half the squared difference, for a continuous outcome.

    .. math:: \ell(u, v) = \tfrac12 (u - v)^2, \qquad \partial_2 \ell(u, v) = v - u
    """

    domain = (-np.inf, np.inf)
    curvature = 1.0
    width = np.inf
    binary = False
    scales_with_outcome = True
    linear_in_outcome = True
    symmetric = True
    lipschitz = False

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
class PseudoHuberLoss:
    r"""Quadratic near zero, linear in the tails, for a continuous outcome with heavy tails.

    .. math:: \ell(u, v) = c^2 \left( \sqrt{1 + (v - u)^2 / c^2} - 1 \right), \qquad
              \partial_2 \ell(u, v) = (v - u) / \sqrt{1 + (v - u)^2 / c^2}

    Parameters
    ----------
    scale : float, default=None
        c, in units of y, where the loss turns from quadratic to linear. Raising it approaches the
        squared loss. None is 1.5 robust standard deviations (1.4826 times the median absolute
        deviation) of Y - E[Y|Z].

    Notes
    -----
    When it fails: the observed y is what meets the tails, and the answer is the h of
    E[Y - h(X)|Z] = 0 only if Y given Z is symmetric around its mean; skewness is a bias. In
    `SAGDIV`, pass ``outcome="observed"`` or a robust regressor: the default smoother averages
    the tails before the loss can see them.

    References
    ----------
    Charbonnier et al. (1997), Deterministic Edge-Preserving Regularization in Computed Imaging.
    """

    scale: float | None = None

    domain = (-np.inf, np.inf)
    curvature = 1.0
    binary = False
    scales_with_outcome = True
    linear_in_outcome = False
    symmetric = True
    lipschitz = True

    def __post_init__(self) -> None:
        if self.scale is not None:
            check_positive(self.scale, "scale")

    def adapted(self, residuals: Array, weights: Array | None = None) -> PseudoHuberLoss:
        """Return this loss with a scale, learnt from residuals Y - E^[Y|Z] if it has none.

        Parameters
        ----------
        residuals : array of shape (n,)
        weights : array of shape (n,), default=None
        """
        if self.scale is not None:
            return self
        spread = _median(np.abs(residuals - _median(residuals, weights)), weights)
        if spread == 0:  # most residuals are equal: the others have to do
            spread = float(np.average(np.abs(residuals), weights=weights))
        return PseudoHuberLoss(float(_WIDTH * _NORMAL_MAD * spread) or 1.0)

    def first_guess(
        self, outcomes: Array, weights: Array | None = None
    ) -> tuple[float, PseudoHuberLoss]:
        """Return a constant, and a loss of a width that lets a descent begin there.

        The median, and this loss at least as wide as the outcomes are spread around it.

        Parameters
        ----------
        outcomes : array of shape (n,)
        weights : array of shape (n,), default=None
        """
        wide = PseudoHuberLoss().adapted(outcomes, weights)
        if self.scale is not None and self.scale > wide._known_scale:
            wide = self
        return _median(outcomes, weights), wide

    @property
    def width(self) -> float:
        """How far ``v`` moves before the slope changes noticeably: the scale."""
        return np.inf if self.scale is None else self.scale

    def in_units(self, unit: float) -> PseudoHuberLoss:
        """Return the loss of an outcome that is measured in another unit."""
        return PseudoHuberLoss(self._known_scale / unit)

    def value(self, u: ArrayLike, v: ArrayLike) -> Array:
        """Return the loss of predicting ``v`` where the target is ``u``."""
        t = np.subtract(v, u) / self._known_scale
        # sqrt(1 + t^2) - 1 without cancellation near zero and without overflow in the tails
        return self._known_scale**2 * np.abs(t) * (np.abs(t) / (1 + np.hypot(1, t)))

    def d2(self, u: ArrayLike, v: ArrayLike) -> Array:
        """Return the derivative in ``v``, never larger than the scale."""
        gap = np.subtract(v, u)
        return gap / np.hypot(1, gap / self._known_scale)

    def d22(self, u: ArrayLike, v: ArrayLike) -> Array:
        """Return the second derivative in ``v``."""
        return np.hypot(1, np.subtract(v, u) / self._known_scale) ** -3.0

    def mean(self, v: ArrayLike) -> Array:
        """Return E[Y|Z] implied by P[h](Z) = ``v``: the identity, if Y|Z is symmetric."""
        return np.asarray(v, dtype=float)

    @property
    def _known_scale(self) -> float:
        if self.scale is None:
            raise ValueError(
                "PseudoHuberLoss() learns its scale from residuals in a fit; give scale= to use "
                "it by itself."
            )
        return self.scale


@dataclass(frozen=True)
class _CrossEntropy:
    """What the losses of Y = 1{P[h](Z) + eta > 0} share: -u log F(v) - (1 - u) log F(-v)."""

    scale: float = 1.0

    domain = (0.0, 1.0)
    binary = True
    scales_with_outcome = False
    linear_in_outcome = True
    symmetric = False
    _log_cdf: ClassVar[np.ufunc]  # log F, of a disturbance of unit scale

    def __post_init__(self) -> None:
        check_positive(self.scale, "scale")

    def value(self, u: ArrayLike, v: ArrayLike) -> Array:
        """Return the loss of predicting ``v`` where the probability is ``u``."""
        u, index = np.asarray(u, dtype=float), np.divide(v, self.scale)
        return -u * self._log_cdf(index) - (1.0 - u) * self._log_cdf(-index)


@dataclass(frozen=True)
class LogisticLoss(_CrossEntropy):
    r"""Binary cross-entropy of a logistic disturbance, for Y = 1{P[h](Z) + eta > 0}.

    .. math:: \ell(u, v) = -u \log F(v) - (1 - u) \log F(-v), \quad F(v) = 1 / (1 + e^{-v / s}),
              \qquad \partial_2 \ell(u, v) = (F(v) - u) / s

    Parameters
    ----------
    scale : float, default=1.0
        The scale s of the disturbance eta; h is only defined relative to it, so that doubling the
        scale doubles h.
    """

    lipschitz = True
    _log_cdf = log_expit

    @property
    def width(self) -> float:
        """How far ``v`` moves before the slope changes noticeably: twice the scale."""
        return 2 * self.scale

    @property
    def curvature(self) -> float:
        """The largest second derivative in ``v``, F'(0) / s."""
        return 0.25 / self.scale**2

    @property
    def noise_variance(self) -> float:
        """Variance of the disturbance eta."""
        return np.pi**2 / 3 * self.scale**2

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

    def link(self, p: ArrayLike) -> Array:
        """Return F^-1(p), the P[h](Z) that P(Y = 1|Z) = ``p`` implies."""
        return self.scale * logit(p)


@dataclass(frozen=True)
class ProbitLoss(_CrossEntropy):
    r"""Binary cross-entropy of a normal disturbance, for Y = 1{P[h](Z) + eta > 0}.

    .. math:: \ell(u, v) = -u \log F(v) - (1 - u) \log F(-v), \quad F(v) = \mathcal N(v / s),
              \qquad \partial_2 \ell(u, v) = \{(1 - u)\, m(v / s) - u\, m(-v / s)\} / s

    with the inverse Mills ratio m(t) = N'(t) / N(-t).

    Parameters
    ----------
    scale : float, default=1.0
        The standard deviation s of the disturbance eta; h is only defined relative to it.
    """

    lipschitz = False
    _log_cdf = log_ndtr

    @property
    def width(self) -> float:
        """How far ``v`` moves before the slope changes noticeably: the scale."""
        return self.scale

    @property
    def curvature(self) -> float:
        """The largest second derivative in ``v``, approached where ``v`` and ``u`` disagree."""
        return 1.0 / self.scale**2

    @property
    def noise_variance(self) -> float:
        """Variance of the disturbance eta."""
        return self.scale**2

    def d2(self, u: ArrayLike, v: ArrayLike) -> Array:
        """Return the derivative in ``v``."""
        u, index = np.asarray(u, dtype=float), np.divide(v, self.scale)
        return ((1.0 - u) * _mills(index) - u * _mills(-index)) / self.scale

    def d22(self, u: ArrayLike, v: ArrayLike) -> Array:
        """Return the second derivative in ``v``."""
        u, index = np.asarray(u, dtype=float), np.divide(v, self.scale)
        curvature = (1.0 - u) * _mills_slope(index) + u * _mills_slope(-index)
        return curvature / self.scale**2

    def mean(self, v: ArrayLike) -> Array:
        """Return P(Y = 1|Z) implied by P[h](Z) = ``v``."""
        return ndtr(np.divide(v, self.scale))

    def link(self, p: ArrayLike) -> Array:
        """Return F^-1(p), the P[h](Z) that P(Y = 1|Z) = ``p`` implies."""
        return self.scale * ndtri(p)


def _mills(t: Array) -> Array:
    # N'(t) / N(-t) by the scaled complementary error function: exact to the last bits at any t.
    return _SQRT_TWO_OVER_PI / erfcx(t * _SQRT_HALF)


def _mills_slope(t: Array) -> Array:
    # m' = m (m - t), which lies in (0, 1). Far out m - t is a difference of almost equal numbers,
    # and its expansion 1 - 1/t^2 + 6/t^4 is exact to rounding.
    far = np.maximum(t, _FAR)
    m = _mills(np.minimum(t, _FAR))
    return np.where(t > _FAR, 1 - far**-2 + 6 * far**-4, m * (m - np.minimum(t, _FAR)))


def _median(values: Array, weights: Array | None = None) -> float:
    """Return the weighted median."""
    if weights is None:
        return float(np.median(values))
    order = np.argsort(values)
    share = np.cumsum(weights[order])
    return float(values[order[np.searchsorted(share, share[-1] / 2)]])
