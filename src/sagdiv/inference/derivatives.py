"""Slopes of feature maps, by central differences that serve any map."""

from __future__ import annotations

from typing import Any

import numpy as np

from sagdiv._types import Array

__all__ = ["feature_slopes"]


def feature_slopes(features: Any, X: Array, column: int, step: float) -> Array:
    r"""Return the slopes of all features in one coordinate, shape (n, b).

    .. math:: \{\phi(x + \delta e_j) - \phi(x - \delta e_j)\} / (2 \delta)

    The difference quotient of h is then the same combination of these as h is of the features.

    Parameters
    ----------
    features : fitted feature map
    X : array of shape (n, dx)
    column : int
        The coordinate j.
    step : float
        delta; raising it averages the slope over a wider window, and is less noisy.
    """
    shift = np.zeros(X.shape[1])
    shift[column] = step
    difference = features.transform(X + shift) - features.transform(X - shift)
    return np.asarray(difference / (2 * step))
