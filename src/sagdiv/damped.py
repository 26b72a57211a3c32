"""Newton's method on sums over rows, damped: no step that makes things worse is taken."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

import numpy as np

from sagdiv._types import Array

__all__ = ["NOT_AT_REST", "settle"]

_ROUNDING = 1e-12
_SHORTER = 0.5

NOT_AT_REST = (
    "the descent of {loss!r} has not come to rest after {rounds} rounds, and the answer may be far "
    "from the one that was sought; take a loss that is less narrow or less flat, or more rows."
)


class _Point(Protocol):
    @property
    def a(self) -> Array: ...


P = TypeVar("P", bound=_Point)


def settle(
    here: P,
    around: Callable[[Array], P],
    target: Callable[[P], Array],
    objective: Callable[[P], Callable[[P], float]],
    length: Callable[[Array], float],
    *,
    rounds: int,
    standstill: float,
    reach: float,
) -> tuple[P, bool]:
    """Go from target to target until they stand still; return where, and whether they did.

    Parameters
    ----------
    here : point with coefficients ``a``
        Where to begin.
    around : callable
        Returns the point with given coefficients.
    target : callable
        Where the local model of a point has its minimum.
    objective : callable
        Returns for a point a function of points, which goes down along the way to its target: a
        step that raises it is halved.
    length : callable
        Measures a move.
    rounds : int
    standstill : float
        The length of a move that is none.
    reach : float
        The longest one that is made in one round.
    """
    damping, last = 1.0, None
    for _ in range(rounds):
        move = target(here) - here.a
        size = length(move)
        if not np.isfinite(size):
            break
        if last is not None and length(move + last) < size and size > _SHORTER * length(last):
            damping /= 2  # back and forth over the target
        last = move
        height = objective(here)
        least = height(here)
        least += _ROUNDING * abs(least)
        share = min(damping, reach / max(size, 1e-12))
        there = around(here.a + share * move)
        while share * size > standstill and not height(there) <= least:
            share /= 2
            there = around(here.a + share * move)
        here = there
        if size < standstill:
            return here, True
    return here, False
