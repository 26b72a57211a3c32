"""A density ratio from any probabilistic classifier."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.utils import check_random_state, gen_batches

from sagdiv._types import Array, Seed
from sagdiv.validation import check_component, check_integer, check_positive

__all__ = ["ClassifierDensityRatio"]

_PAIRS_PER_BLOCK = 1_000_000


class ClassifierDensityRatio(BaseEstimator):
    r"""Phi from the odds that a pair (x, z) was observed together rather than shuffled.

    .. math:: \hat\Phi(x, z) = \frac{n_{shuffled}}{n_{joint}} \, \frac{c(x, z)}{1 - c(x, z)}

    with c the classifier's probability of "observed together".

    Parameters
    ----------
    classifier : scikit-learn classifier with ``predict_proba``, default=None
        None is histogram gradient boosting. Its probabilities should be calibrated: the ratio
        is their odds.
    n_shuffles : int, default=5
        Shuffled copies of the rows to set against the joint ones; more is steadier and slower.
    max_ratio : float, default=100.0
        Upper bound on Phi^, which guards against probabilities close to one.
    random_state : int, RandomState instance or None, default=None
        Draws the shuffles, and seeds the default classifier.

    Attributes
    ----------
    classifier_ : the fitted classifier, on the columns of X followed by those of Z.
    """

    def __init__(
        self,
        classifier: Any = None,
        *,
        n_shuffles: int = 5,
        max_ratio: float = 100.0,
        random_state: Seed = None,
    ) -> None:
        self.classifier = classifier
        self.n_shuffles = n_shuffles
        self.max_ratio = max_ratio
        self.random_state = random_state

    def fit(self, X: Array, Z: Array) -> ClassifierDensityRatio:
        """Train the classifier on joint rows against shuffled ones."""
        check_integer(self.n_shuffles, "n_shuffles", at_least=1)
        check_positive(self.max_ratio, "max_ratio")
        rng = check_random_state(self.random_state)
        if self.classifier is None:
            classifier = HistGradientBoostingClassifier(
                max_iter=50, random_state=rng.randint(2**31 - 1)
            )
        else:
            check_component(self.classifier, "classifier", ("fit", "predict_proba"))
            classifier = clone(self.classifier)
        n = len(X)
        shuffled = np.concatenate([rng.permutation(n) for _ in range(self.n_shuffles)])
        pairs = np.vstack(
            [
                np.column_stack([X, Z]),
                np.column_stack([np.tile(X, (self.n_shuffles, 1)), Z[shuffled]]),
            ]
        )
        together = np.arange(len(pairs)) < n
        self.classifier_ = classifier.fit(pairs, together)
        return self

    def ratio(self, X: Array, Z: Array) -> Array:
        """Return Phi^ for all pairs of rows, shape (len(X), len(Z))."""
        ratio = np.empty((len(X), len(Z)))
        for rows in gen_batches(len(X), max(1, _PAIRS_PER_BLOCK // max(1, len(Z)))):
            x = X[rows]
            pairs = np.column_stack([np.repeat(x, len(Z), axis=0), np.tile(Z, (len(x), 1))])
            apart, together = self.classifier_.predict_proba(pairs).T
            with np.errstate(divide="ignore"):
                odds = self.n_shuffles * together / apart
            ratio[rows] = odds.clip(max=self.max_ratio).reshape(len(x), len(Z))
        return ratio
