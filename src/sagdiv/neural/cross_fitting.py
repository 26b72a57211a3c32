"""Learned features that are honest: no row is judged by a network that was trained on it."""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_random_state

from sagdiv._types import Array, Rows, Seed
from sagdiv.neural.features import CanonicalFeatures, canonical_rotations
from sagdiv.sketch import row_keys
from sagdiv.validation import check_integer

__all__ = ["CrossFittedFeatures"]

_ALIGNMENT_RIDGE = 1e-3


class CrossFittedFeatures(BaseEstimator):
    r"""`CanonicalFeatures` trained on all folds but one, in turn, and put in common coordinates.

    Networks find functions of z that fit the very rows they were trained on, noise included; a
    first stage on the same rows would take that noise for strength of the instrument and pull the
    answer towards the confounded one. Here the fold of a row is a function of its z, and its
    features come from the networks that have not seen that z. Features of x are averages over
    all networks.

    Networks of different folds span similar functions in different coordinates: each is mapped to
    those of the first by a linear regression over its own training rows.

    Parameters
    ----------
    features : CanonicalFeatures, default=None
        What is fitted on each fold; None is `CanonicalFeatures` as it comes.
    n_folds : int, default=4
        Raising it leaves more rows for each network and takes longer. 1 trains on all rows.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    folds_ : list of CanonicalFeatures
    correlations_ : array of shape (k,)
        Canonical correlations of the honest features, decreasing.

    References
    ----------
    Chernozhukov et al. (2018), Double/debiased machine learning, for cross-fitting.
    """

    def __init__(
        self,
        features: CanonicalFeatures | None = None,
        *,
        n_folds: int = 4,
        random_state: Seed = None,
    ) -> None:
        self.features = features
        self.n_folds = n_folds
        self.random_state = random_state

    def fit(self, X: Array, Z: Array, weights: Array | None = None) -> CrossFittedFeatures:
        """Fit on joint rows of X, shape (n, dx), and Z, shape (n, dz), that may have weights."""
        check_integer(self.n_folds, "n_folds", at_least=1)
        rng = check_random_state(self.random_state)
        self._seed = int(rng.randint(2**31 - 1))
        weights = np.ones(len(X)) if weights is None else weights
        fold, self.folds_, self._to_x, self._to_z = self._fold(Z), [], [], []
        for k in range(self.n_folds):
            rows = np.flatnonzero(fold != k) if self.n_folds > 1 else np.arange(len(X))
            learner = CanonicalFeatures() if self.features is None else clone(self.features)
            learner.set_params(random_state=rng.randint(2**31 - 1))
            x, z, w = X[rows], Z[rows], weights[rows]
            self.folds_.append(learner.fit(x, z, w))
            first = self.folds_[0]
            self._to_x.append(_regress(first.transform_x(x), learner.transform_x(x), w))
            self._to_z.append(_regress(first.transform_z(z), learner.transform_z(z), w))
        self._known = np.unique(row_keys(Z, self._seed))
        f, g = self._mean_of_x(X), self._honest_of_z(Z)
        self.correlations_, self._x_rotation, self._z_rotation = canonical_rotations(f, g, weights)
        return self

    def transform_x(self, X: Array) -> Array:
        """Return the canonical variates of x, averaged over folds, shape (n, k)."""
        return self._x_rotation(self._mean_of_x(X))

    def transform_z(self, Z: Array) -> Array:
        """Return the canonical variates of z, shape (n, k).

        For a z of the training rows they come from the networks that have not seen it; for any
        other they are averages over folds.
        """
        return self._z_rotation(self._honest_of_z(Z))

    def _mean_of_x(self, X: Array) -> Array:
        by_fold = [
            _affine(learner.transform_x(X), to)
            for learner, to in zip(self.folds_, self._to_x, strict=True)
        ]
        return np.mean(by_fold, axis=0)

    def _honest_of_z(self, Z: Array) -> Array:
        by_fold = np.stack(
            [
                _affine(learner.transform_z(Z), to)
                for learner, to in zip(self.folds_, self._to_z, strict=True)
            ]
        )
        variates = by_fold.mean(axis=0)
        seen = np.flatnonzero(np.isin(row_keys(Z, self._seed), self._known))
        variates[seen] = by_fold[self._fold(Z[seen]), seen]
        return variates

    def _fold(self, Z: Array) -> Rows:
        return (row_keys(Z, self._seed) % np.uint64(self.n_folds)).astype(np.intp)


def _regress(target: Array, features: Array, weights: Array) -> Array:
    """Return the coefficients of a ridge regression with intercept, shape (1 + k, k)."""
    A = np.column_stack([np.ones(len(features)), features])
    weighted = A.T * (weights / weights.sum())
    ridge = np.full(A.shape[1], _ALIGNMENT_RIDGE)
    ridge[0] = 0.0
    return np.asarray(solve(weighted @ A + np.diag(ridge), weighted @ target, assume_a="pos"))


def _affine(A: Array, coefficients: Array) -> Array:
    return coefficients[0] + A @ coefficients[1:]
