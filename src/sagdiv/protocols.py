"""The contracts: what a component must offer to be plugged into `SAGDIV`.

They are structural: no class has to inherit from them. Components are handed X and Z as float
arrays of shape (n, dx) and (n, dz) in the user's own units; scale is each component's business.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from numpy.typing import ArrayLike

from sagdiv._types import Array

__all__ = [
    "AdaptiveLoss",
    "BinaryLoss",
    "ConvexSet",
    "DensityRatio",
    "FiniteRankRatio",
    "LOSS_MEMBERS",
    "LOCAL_LOSS_MEMBERS",
    "Loss",
    "Operator",
    "Outcome",
    "claims",
    "steepness",
]


@runtime_checkable
class DensityRatio(Protocol):
    """An estimate of Phi(x, z) = p(x, z) / (p(x) p(z))."""

    def fit(self, X: Array, Z: Array) -> Any:
        """Learn from joint rows; return self."""
        ...

    def ratio(self, X: Array, Z: Array) -> Array:
        """Return Phi^(x, z) for *all pairs* of rows, shape (len(X), len(Z))."""
        ...


@runtime_checkable
class FiniteRankRatio(DensityRatio, Protocol):
    """A density ratio of the form sum_j f_j(x) g_j(z), which makes the descent O(b) per step."""

    def factors(self, X: Array) -> Array:
        """Return f_j(x), shape (len(X), b)."""
        ...

    def loadings(self, Z: Array) -> Array:
        """Return g_j(z), shape (b, len(Z)); ``ratio(X, Z) = factors(X) @ loadings(Z)``."""
        ...


@runtime_checkable
class Operator(Protocol):
    """An estimate of the conditional expectation operator P[h](z) = E[h(X)|Z=z]."""

    nodes_: Array

    def fit(self, X: Array, Z: Array) -> Any:
        """Learn from joint rows and set ``nodes_``, shape (k, dx); return self."""
        ...

    def weights(self, Z: Array) -> Array:
        """Return w(z), shape (len(Z), k), with P^[h](z) = sum_i w_i(z) h(nodes_[i])."""
        ...


@runtime_checkable
class Outcome(Protocol):
    """An estimate of r(z) = E[Y|Z=z]: any scikit-learn regressor will do."""

    def fit(self, Z: Array, y: Array) -> Any:
        """Learn the regression of y on Z; return self."""
        ...

    def predict(self, Z: Array) -> Array:
        """Return r^(z), shape (len(Z),)."""
        ...


LOSS_MEMBERS = ("value", "d2", "domain")
"""What every loss has to offer; `claims` and `steepness` stand in for the rest."""

LOCAL_LOSS_MEMBERS = (*LOSS_MEMBERS, "d22", "curvature", "width")
"""What `KernelSAGDIV` needs besides: it descends a local quadratic model."""


@runtime_checkable
class Loss(Protocol):
    """A pointwise loss, convex and smooth in its second argument.

    A class with ``value``, ``d2`` and ``domain`` is enough for `SAGDIV`. ``domain`` is the closed
    interval in which r must lie. What else a loss may say of itself, and what is taken for granted
    of one that does not:

    ``curvature``
        A bound of the second derivative, by which the default step is divided; one.
    ``binary``
        Asks for a 0/1 outcome. Then ``mean`` is needed too.
    ``scales_with_outcome``
        h is in the units of y, so that the descent may work in units of its standard deviation.
    ``linear_in_outcome``
        d2 is linear in its first argument, so that an observed y may stand for r(z).
    ``symmetric``
        The loss is one of |u - v|, so that it may too where Y|Z is symmetric.
    ``lipschitz``
        d2 is bounded, so that no target can make a descent run away.

    None of the last five is taken for granted, see `claims`.
    """

    domain: tuple[float, float]
    binary: bool
    scales_with_outcome: bool
    linear_in_outcome: bool
    symmetric: bool
    lipschitz: bool

    @property
    def curvature(self) -> float:
        """The largest second derivative in the second argument."""
        ...

    @property
    def width(self) -> float:
        """How far the second argument moves before the slope changes noticeably."""
        ...

    def value(self, u: ArrayLike, v: ArrayLike) -> Array:
        """Return loss(u, v) elementwise."""
        ...

    def d2(self, u: ArrayLike, v: ArrayLike) -> Array:
        """Return the derivative of the loss in v, elementwise."""
        ...

    def d22(self, u: ArrayLike, v: ArrayLike) -> Array:
        """Return the second derivative of the loss in v, elementwise."""
        ...

    def mean(self, v: ArrayLike) -> Array:
        """Return the E[Y|Z] that P[h](Z) = v implies."""
        ...


def claims(loss: Any, flag: str) -> bool:
    """Return whether a loss says of itself that it is ``binary``, ``symmetric``, and so on."""
    return bool(getattr(loss, flag, False))


def steepness(loss: Any) -> float:
    """Return the largest second derivative of a loss; one if it does not say."""
    return float(getattr(loss, "curvature", 1.0))


@runtime_checkable
class BinaryLoss(Protocol):
    """The loss of a 0/1 outcome Y = 1{P[h](Z) + eta > 0} whose disturbance eta is known."""

    binary: bool
    scale: float

    @property
    def noise_variance(self) -> float:
        """Variance of eta."""
        ...

    def mean(self, v: ArrayLike) -> Array:
        """Return the P(Y = 1|Z) that P[h](Z) = v implies."""
        ...

    def link(self, p: ArrayLike) -> Array:
        """Return the v with ``mean(v)`` = p."""
        ...


@runtime_checkable
class AdaptiveLoss(Protocol):
    """A loss that learns something from the data before the descent."""

    def adapted(self, residuals: Array, weights: Array | None = None) -> Loss:
        """Return the loss to use, given residuals Y - E^[Y|Z]."""
        ...

    def first_guess(self, outcomes: Array, weights: Array | None = None) -> tuple[float, Loss]:
        """Return a constant, and a loss of a width that lets a descent begin there."""
        ...

    def in_units(self, unit: float) -> Loss:
        """Return the loss of an outcome that is measured in another unit."""
        ...


@runtime_checkable
class ConvexSet(Protocol):
    """A closed convex set of functions, described point by point."""

    def project(self, h: Array) -> Array:
        """Return the nearest point of the set."""
        ...

    def contains(self, h: Array) -> bool:
        """Return whether ``h`` is in the set."""
        ...
