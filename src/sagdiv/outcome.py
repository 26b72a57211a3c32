"""Estimators of r(z) = E[Y|Z=z], in one shape: ``predict(Z)``."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.base import is_classifier as is_sklearn_classifier

from sagdiv._types import Array
from sagdiv.protocols import Operator

__all__ = ["ClassProbability", "ExactOutcome", "SmoothedOutcome"]


class SmoothedOutcome(BaseEstimator):
    """The operator's own smoother applied to y: r^(z) = sum_i w_i(z) y_i.

    Using one smoother for r^ and P^ matters: with two different ones the fixed point of the
    descent is biased even where both are consistent.

    Parameters
    ----------
    operator : fitted operator
        Its nodes must be the rows of X that y belongs to.
    domain : tuple of float, default=(-inf, inf)
        A smoother of zeros and ones can overshoot; predictions are clipped to this interval.
    """

    def __init__(self, operator: Operator, domain: tuple[float, float] = (-np.inf, np.inf)) -> None:
        self.operator = operator
        self.domain = domain

    def fit(self, Z: Array, y: Array) -> SmoothedOutcome:
        """Remember y; the operator is fitted already."""
        if len(self.operator.nodes_) != len(y):
            raise ValueError(
                f"the operator has {len(self.operator.nodes_)} nodes and y has {len(y)} rows, so "
                "that its smoother cannot be applied to y; pass outcome= a regressor."
            )
        self._y = y
        return self

    def predict(self, Z: Array) -> Array:
        """Return r^(z), shape (len(Z),)."""
        return self.smooth(self.operator.weights(Z))

    def smooth(self, weights: Array) -> Array:
        """Return r^ where the operator has the given weights."""
        return (weights @ self._y).clip(*self.domain)


class ClassProbability(BaseEstimator):
    """A scikit-learn classifier of a 0/1 outcome, read as the regression P(Y = 1|Z).

    Parameters
    ----------
    classifier : classifier with ``predict_proba``
    """

    def __init__(self, classifier: Any) -> None:
        self.classifier = classifier

    def fit(self, Z: Array, y: Array) -> ClassProbability:
        """Fit the classifier on Z and the 0/1 outcome."""
        self.classifier_ = clone(self.classifier).fit(Z, y)
        return self

    def predict(self, Z: Array) -> Array:
        """Return P^(Y = 1|z), shape (len(Z),)."""
        # A sum over the classes that are 1: one column, or none where only zeros were seen.
        return np.asarray(self.classifier_.predict_proba(Z)) @ (self.classifier_.classes_ == 1)


class ExactOutcome(BaseEstimator):
    """r given as a function; nothing is estimated.

    Parameters
    ----------
    function : callable
        ``function(Z)`` returns r at the rows of Z, shape (len(Z),).
    """

    def __init__(self, function: Any) -> None:
        self.function = function

    def fit(self, Z: Array, y: Array) -> ExactOutcome:
        """Do nothing; return self."""
        return self

    def predict(self, Z: Array) -> Array:
        """Return r(z), shape (len(Z),)."""
        return np.asarray(self.function(Z), dtype=float)


def is_classifier(outcome: Any) -> bool:
    """Return whether an ``outcome=`` argument is a scikit-learn classifier."""
    return hasattr(outcome, "__sklearn_tags__") and is_sklearn_classifier(outcome)


def as_regressor(outcome: Any) -> Any:
    """Return an ``outcome=`` argument in the shape fit(Z, y), predict(Z)."""
    return ClassProbability(outcome) if is_classifier(outcome) else outcome
