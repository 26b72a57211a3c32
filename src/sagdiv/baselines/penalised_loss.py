"""Ridge regression with the loss of a binary outcome in place of the squared error."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import solve

from sagdiv._types import Array, Rows
from sagdiv.protocols import Loss
from sagdiv.validation import check_both

__all__ = ["held_out_loss", "minimise"]

_MAX_ROUNDS = 50
_SMALL_DECREMENT = 1e-10
_LEAST_STEP = 1e-4


def minimise(loss: Loss, Psi: Array, y: Array, ridge: float, start: Array | None = None) -> Array:
    """Return the theta that minimises mean loss(y, Psi theta) + ridge |theta|^2, by Newton.

    Parameters
    ----------
    loss : Loss
    Psi : array of shape (n, b)
    y : array of shape (n,)
    ridge : float
        Positive.
    start : array of shape (b,), default=None
    """
    n, b = Psi.shape
    theta = np.zeros(b) if start is None else start

    def risk(theta: Array) -> float:
        return float(loss.value(y, Psi @ theta).mean() + ridge * theta @ theta)

    value = risk(theta)
    for _ in range(_MAX_ROUNDS):
        v = Psi @ theta
        gradient = Psi.T @ loss.d2(y, v) / n + 2 * ridge * theta
        H = (Psi * loss.d22(y, v)[:, None]).T @ Psi / n + 2 * ridge * np.eye(b)
        move = -solve(H, gradient, assume_a="pos")
        decrement = -float(gradient @ move)
        if decrement < _SMALL_DECREMENT:
            break
        step = 1.0
        while (lower := risk(theta + step * move)) > value - 1e-4 * step * decrement:
            step /= 2
            if step < _LEAST_STEP:
                return theta
        theta, value = theta + step * move, lower
    return theta


def held_out_loss(loss: Loss, Psi: Array, y: Array, folds: Rows) -> Callable[[float], float]:
    """Return the mean loss of each fold at the minimiser on the others, by log10(ridge)."""
    for fold in np.unique(folds):
        check_both(y[folds != fold], loss, "every row but those of a fold of cross-validation")
    starts: dict[int, Array | None] = dict.fromkeys(np.unique(folds).tolist())

    def score(log_ridge: float) -> float:
        total = 0.0
        for fold in starts:
            out = folds == fold
            starts[fold] = minimise(loss, Psi[~out], y[~out], 10.0**log_ridge, starts[fold])
            total += float(loss.value(y[out], Psi[out] @ starts[fold]).sum())
        return total / len(y)

    return score
