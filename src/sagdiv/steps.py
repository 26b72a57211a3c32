"""Learning rates: a step size is a plain function m -> alpha_m, m = 1, 2, ..., M."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sagdiv._types import Array
from sagdiv.validation import check_positive

__all__ = ["inverse_sqrt", "step_sizes"]


def inverse_sqrt(m: int) -> float:
    """Return 1 / sqrt(m), the decreasing rate that needs no horizon."""
    return float(m**-0.5)


def step_sizes(
    step: float | Callable[[int], float] | None, n_steps: int, curvature: float = 1.0
) -> Array:
    """Tabulate alpha_1, ..., alpha_M.

    Parameters
    ----------
    step : None, float or callable
        None is the paper's constant 1 / sqrt(M), over the curvature; a number is a constant; a
        function of m = 1, ..., M is any other schedule, for example `inverse_sqrt`.
    n_steps : int
        The horizon M.
    curvature : float, default=1.0
        Largest second derivative of the loss, 1 for the squared one. A step in proportion to its
        inverse moves P[h] by the same share of its way to a minimum, whatever the unit of h.
    """
    if step is None:
        return np.full(n_steps, n_steps**-0.5 / curvature)
    if not callable(step):
        check_positive(step, "step")
        return np.full(n_steps, step, dtype=float)
    alphas = np.array([step(m) for m in range(1, n_steps + 1)], dtype=float)
    if not (np.isfinite(alphas).all() and (alphas > 0).all()):
        worst = int(np.flatnonzero(~(alphas > 0) | ~np.isfinite(alphas))[0])
        raise ValueError(
            f"step must give positive, finite learning rates; alpha_{worst + 1} is {alphas[worst]}."
        )
    return alphas
