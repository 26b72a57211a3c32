"""Closed convex sets of functions, each described by the pointwise projection onto it."""

from __future__ import annotations

from dataclasses import dataclass

from sagdiv._types import Array
from sagdiv.validation import check_bound

__all__ = ["Interval", "SupNormBall", "WholeSpace"]


@dataclass(frozen=True)
class WholeSpace:
    """All square-integrable functions: no constraint."""

    def project(self, h: Array) -> Array:
        """Return ``h`` itself."""
        return h

    def contains(self, h: Array) -> bool:
        """Return True."""
        return True


@dataclass(frozen=True)
class Interval:
    """Functions with values between ``low`` and ``high``; either may be infinite.

    Parameters
    ----------
    low, high : float
        The bounds, for example ``Interval(0, np.inf)`` for a non-negative effect.
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        check_bound(self.low, "low")
        check_bound(self.high, "high")
        if not self.low < self.high:
            raise ValueError(f"low must be less than high, got [{self.low!r}, {self.high!r}].")

    def project(self, h: Array) -> Array:
        """Return the nearest function in the set: ``h`` clipped point by point."""
        return h.clip(self.low, self.high)

    def contains(self, h: Array) -> bool:
        """Return whether every value lies between the bounds."""
        return bool(h.size == 0 or (h.min() >= self.low and h.max() <= self.high))


class SupNormBall(Interval):
    """The paper's search set: functions bounded by ``radius`` in absolute value.

    Parameters
    ----------
    radius : float, default=10.0
        The bound A. It only has to be large enough to contain the answer.
    """

    def __init__(self, radius: float = 10.0) -> None:
        check_bound(radius, "radius")
        if not radius > 0:
            raise ValueError(f"radius must be positive, got {radius!r}.")
        super().__init__(-radius, radius)

    @property
    def radius(self) -> float:
        """The bound A."""
        return self.high

    def __repr__(self) -> str:
        return f"SupNormBall(radius={self.radius!r})"
