"""How the answer to a binary outcome depends on the scale that was assumed for its noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, is_dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from sagdiv._types import Array, Data
from sagdiv.binary import is_binary
from sagdiv.validation import check_positive

__all__ = ["ScaleSensitivity", "scale_sensitivity"]


@dataclass(frozen=True)
class ScaleSensitivity:
    """Curves of one model under different scales of the disturbance.

    Attributes
    ----------
    scales : array of shape (k,)
    X : array of shape (m, dx)
        Where the curves were evaluated.
    curves : array of shape (k, m)
        h at X under each scale.
    scores : array of shape (k,)
        Minus the projected cross-entropy of each fit on its own data. Nearly equal scores say that
        the data cannot tell the scales apart, which is the rule.
    """

    scales: Array
    X: Array
    curves: Array
    scores: Array

    @property
    def relative(self) -> Array:
        """The curves divided by their scales, in which they differ by more than their unit."""
        return self.curves / self.scales[:, None]


def scale_sensitivity(
    estimator: Any, X: Data, y: Data, Z: Data, scales: Sequence[float], X_grid: Data
) -> ScaleSensitivity:
    """Refit a model of a binary outcome under several scales of its loss.

    The probabilities F(P[h](z) / scale) only know h / scale. A method without a scale of its own,
    such as `KernelSAGDIV`, therefore multiplies h by whatever the scale is multiplied by, while a
    bound on h, or a step given as a number, makes more than a change of unit of it.

    Parameters
    ----------
    estimator : estimator with a parameter ``loss``
        Is cloned, not fitted.
    X : array of shape (n, dx)
    y : array of shape (n,)
    Z : array of shape (n, dz)
    scales : sequence of float
    X_grid : array of shape (m, dx)
        Where to evaluate h.
    """
    if np.ndim(scales) != 1:
        raise ValueError(f"scales must be a list of numbers, as in [0.5, 1.0], got {scales!r}.")
    if not len(scales):
        raise ValueError("scales is empty; give at least one.")
    for scale in scales:
        check_positive(scale, "scales")
    loss = _loss_of(estimator)
    models = [
        clone(estimator).set_params(loss=_with_scale(loss, float(scale))).fit(X, y, Z)
        for scale in scales
    ]
    return ScaleSensitivity(
        np.array(scales, dtype=float),
        np.asarray(X_grid, dtype=float),
        np.array([model.predict(X_grid) for model in models]),
        np.array([model.score(X, y, Z) for model in models]),
    )


def _loss_of(estimator: Any) -> Any:
    """Return the loss of an estimator, one that has a scale; None is what it stands for there."""
    if not hasattr(estimator, "loss"):
        name = estimator.__name__ if isinstance(estimator, type) else type(estimator).__name__
        raise TypeError(
            f"estimator must be one with a parameter loss, such as KernelSAGDIV(LogisticLoss()); "
            f"{name} has none."
        )
    loss = type(estimator)._loss if estimator.loss is None else estimator.loss
    if isinstance(loss, type) or not (is_dataclass(loss) and is_binary(loss)):
        raise ValueError(
            f"estimator needs the loss of a binary outcome, such as LogisticLoss(), not {loss!r}."
        )
    return loss


def _with_scale(loss: Any, scale: float) -> Any:
    return replace(loss, scale=scale)
