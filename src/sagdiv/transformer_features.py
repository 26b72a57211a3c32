"""scikit-learn's transformers as feature maps."""

from __future__ import annotations

from inspect import signature
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import has_fit_parameter

from sagdiv._types import Array, Rows
from sagdiv.kernels import column_scales
from sagdiv.validation import check_component

__all__ = ["TransformerFeatures", "as_feature_map"]


class TransformerFeatures(BaseEstimator):
    """The constant, the standardised coordinates, and the columns of a transformer.

    The transformer is fitted on standardised coordinates. Its columns are centred, and divided by
    one number that brings their variances to a sum of one, as those of a kernel: what is larger
    in the transformer is easier to use for h. High powers of x are very large where data are few.

    Parameters
    ----------
    transformer : scikit-learn transformer
        For example `SplineTransformer`, `PolynomialFeatures` or `Nystroem`.

    Attributes
    ----------
    transformer_ : the fitted transformer
    location_, scale_ : arrays of shape (d,)
    groups_ : list of integer arrays
        The coordinates, each by itself, and the columns of the transformer together.
    n_affine_ : int
        The constant and the coordinates: the first 1 + d columns.
    n_features_in_ : int
        d.
    """

    def __init__(self, transformer: Any) -> None:
        self.transformer = transformer

    def fit(self, rows: Array, weights: Array | None = None) -> TransformerFeatures:
        """Learn location and spread, and fit the transformer."""
        d = rows.shape[1]
        self.location_ = np.average(rows, axis=0, weights=weights)
        self.scale_ = column_scales(rows, weights)
        self.n_affine_, self.n_features_in_ = 1 + d, d
        S = (rows - self.location_) / self.scale_
        weighted = has_fit_parameter(self.transformer, "sample_weight")
        self.transformer_ = clone(self.transformer).fit(
            S, **({"sample_weight": weights} if weighted else {})
        )
        columns = self._columns(S)
        self.shift_ = np.average(columns, axis=0, weights=weights)
        variances = np.average((columns - self.shift_) ** 2, axis=0, weights=weights)
        self.spread_ = float(np.sqrt(variances.sum())) or 1.0
        coordinates: list[Rows] = [np.array([1 + j]) for j in range(d)]
        self.groups_ = [*coordinates, 1 + d + np.arange(columns.shape[1])]
        return self

    def transform(self, A: Array) -> Array:
        """Return the features of the rows of A, shape (n, b)."""
        S = (A - self.location_) / self.scale_
        return np.column_stack(
            [np.ones(len(S)), S, (self._columns(S) - self.shift_) / self.spread_]
        )

    def _columns(self, S: Array) -> Array:
        columns = self.transformer_.transform(S)
        return np.asarray(columns.toarray() if hasattr(columns, "toarray") else columns, float)


def as_feature_map(features: Any, name: str) -> Any:
    """Return an ``x_features=`` or ``z_features=`` argument as a feature map.

    A feature map has a ``fit(rows, weights)``, or is fitted and frozen; a transformer has neither.
    """
    check_component(features, name, ("fit", "transform"))
    is_map = hasattr(features, "n_affine_") or "weights" in signature(features.fit).parameters
    return clone(features) if is_map else TransformerFeatures(features)
