"""What the nuisances return, checked as it comes in: a mistake is told apart from a result."""

from __future__ import annotations

from typing import Any

import numpy as np

from sagdiv._types import Array, Data
from sagdiv.protocols import DensityRatio, FiniteRankRatio, Loss, Operator

__all__ = ["factors_at", "fitted_operator", "loadings_at", "outcome_at", "ratio_at", "weights_at"]


def ratio_at(density_ratio: DensityRatio, X: Array, Z: Array) -> Array:
    """Return Phi^ for all pairs of rows, shape (len(X), len(Z))."""
    return _finite(_shaped(density_ratio.ratio(X, Z), "density_ratio", "ratio", (len(X), len(Z))))


def factors_at(density_ratio: FiniteRankRatio, X: Array) -> Array:
    """Return f_j(x), shape (len(X), b)."""
    factors = np.asarray(density_ratio.factors(X), dtype=float)
    return _finite(_shaped(factors, "density_ratio", "factors", (len(X), factors.shape[-1])))


def loadings_at(density_ratio: FiniteRankRatio, Z: Array) -> Array:
    """Return g_j(z), shape (b, len(Z))."""
    loadings = np.asarray(density_ratio.loadings(Z), dtype=float)
    return _finite(_shaped(loadings, "density_ratio", "loadings", (len(loadings), len(Z))))


def fitted_operator(operator: Any, X: Array, Z: Array) -> Any:
    """Return an operator fitted on joint rows, which must have left its nodes."""
    operator = operator.fit(X, Z)
    if not hasattr(operator, "nodes_"):
        raise TypeError(
            f"operator={operator!r} has no nodes_ after fit: set them to the points at which "
            "weights(Z) averages h, for example the rows of X, and return self."
        )
    if np.ndim(operator.nodes_) != 2 or operator.nodes_.shape[1] != X.shape[1]:
        raise ValueError(
            f"operator sets nodes_ of shape {np.shape(operator.nodes_)}; they must be rows like "
            f"those of X, with {X.shape[1]} columns."
        )
    return operator


def weights_at(operator: Operator, Z: Array) -> Array:
    """Return w(z), shape (len(Z), k)."""
    expected = (len(Z), len(operator.nodes_))
    weights = _shaped(operator.weights(Z), "operator", "weights", expected)
    if not np.isfinite(weights).all():
        row = int(np.flatnonzero(~np.isfinite(weights).all(axis=1))[0])
        raise ValueError(
            f"operator returned non-finite weights, first at row {row} of the instruments, "
            f"{Z[row]}; smooth more, or remove the rows where it has no neighbours."
        )
    return weights


def outcome_at(outcome: Any, Z: Array, loss: Loss) -> Array:
    """Return r^(z), shape (len(Z),)."""
    r = np.asarray(outcome.predict(Z), dtype=float)
    if r.shape == (len(Z), 1):
        r = r[:, 0]
    r = _shaped(r, "outcome", "predict", (len(Z),))
    if not np.isfinite(r).all():
        row = int(np.flatnonzero(~np.isfinite(r))[0])
        raise ValueError(
            f"outcome predicts {r[row]:g} at row {row} of the instruments, {Z[row]}; use a "
            "regression that is finite wherever there are instrument values."
        )
    low, high = loss.domain
    if r.min() < low or r.max() > high:
        raise ValueError(
            f"outcome predicts values from {r.min():.4g} to {r.max():.4g}, but {loss!r} needs "
            f"E[Y|Z] in [{low:g}, {high:g}]; use a classifier, or a regressor that respects it."
        )
    return r


def _shaped(values: Data, component: str, member: str, expected: tuple[int, ...]) -> Array:
    values = np.asarray(values, dtype=float)
    if values.shape != expected:
        raise ValueError(
            f"{component} must return an array of shape {expected} from {member}, got "
            f"{values.shape}."
        )
    return values


def _finite(Phi: Array) -> Array:
    if not np.isfinite(Phi).all():
        raise ValueError(
            "density_ratio returned non-finite values; bound it, or leave out the rows of X and Z "
            "where the densities vanish, in predictions too."
        )
    return Phi
