"""Algorithm 1: stochastic approximate gradient descent in function space, on arrays.

A function h is an array of k numbers and enters only through three others: the gradient
directions ``Phi`` (k, M), the rows ``W`` (M, k) with P[h](z_m) = W[m] @ h, and r(z_m). Two
representations use the same lines: *values*, where h holds the values at the operator's nodes,
and *coefficients*, where h holds the coordinates in the finitely many functions that the
density ratio is made of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from sagdiv._types import Array

__all__ = ["average", "descend", "replay"]


def descend(
    h: Array,
    Phi: Array,
    W: Array,
    r: Array,
    alphas: Array,
    d2: Callable[[Any, Any], Any],
    project: Callable[[Array], Array],
) -> Iterator[tuple[Array, Any]]:
    """Yield (h_m, slope_m) for m = 1, ..., M, starting from ``h`` = h_0.

    The paper's u_m is slope_m * Phi^(., z_m).
    """
    for m, alpha in enumerate(alphas):
        slope = d2(r[m], W[m] @ h)  # d2 loss( r^(z_m), P^[h_{m-1}](z_m) )
        h = project(h - alpha * slope * Phi[:, m])
        yield h, slope


def replay(
    h: Array,
    Phi: Array,
    slopes: Array,
    alphas: Array,
    project: Callable[[Array], Array],
) -> Iterator[Array]:
    """Yield h_m at new points from the recorded slopes; ``Phi`` is Phi^(x_new, z_m), (k, M)."""
    for m, alpha in enumerate(alphas):
        h = project(h - alpha * slopes[m] * Phi[:, m])
        yield h


def average(path: Iterable[Array], warm_up: int) -> Array:
    """Return the running mean of a path, its first ``warm_up`` iterates discarded."""
    mean, count = np.zeros(1), 0
    for m, h in enumerate(path):
        if m >= warm_up:
            count += 1
            mean = mean + (h - mean) / count
    return mean
