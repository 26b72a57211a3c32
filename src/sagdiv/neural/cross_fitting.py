"""Learned features that are honest: no row is judged by a network that was trained on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.linalg import solve
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_random_state

from sagdiv._types import Array, Rows, Seed
from sagdiv.neural.features import CanonicalFeatures, Rotation, canonical_rotations
from sagdiv.sketch import Keys, row_keys
from sagdiv.validation import check_integer

__all__ = ["CrossFittedFeatures", "HonestMap"]

_ALIGNMENT_RIDGE = 1e-3
_RARE = 10.0  # rows of one value; what more rows share cannot be learnt by heart
_FEWEST_ROWS = 5  # that a network is trained on, where others are held back
_LARGEST_GROUP = 0.1  # of a fold: rows that share values and are kept together


class CrossFittedFeatures(BaseEstimator):
    r"""`CanonicalFeatures` trained on all folds but one, in turn, and put in common coordinates.

    Networks find functions of x and of z that fit the very rows they were trained on, noise
    included; a first stage on the same rows would take that noise for strength of the instrument
    and pull the answer towards the confounded one. Here every value of x and every value of z has
    a fold, and its features come from the network that has not seen it. Features of values that
    were not among the training rows are averages over all networks.

    Networks of different folds span similar functions in different coordinates: each is mapped to
    those of the first by a linear regression over its own training rows.

    Parameters
    ----------
    features : CanonicalFeatures, default=None
        What is fitted on each fold; None is `CanonicalFeatures` as it comes. A ``random_state`` of
        its own is the seed on every fold.
    n_folds : int, default=4
        Raising it leaves more rows for each network and takes longer. 1 trains on all rows, as
        happens where a handful of rows is all there is.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    folds_ : list of CanonicalFeatures
    correlations_ : array of shape (k,)
        Canonical correlations of the honest features, decreasing.
    x_map_, z_map_ : HonestMap
        The canonical variates of x and of z as functions of rows.

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
        weights = np.ones(len(X)) if weights is None else weights
        folds, rows_of = _training_rows(X, Z, weights, self.n_folds, rng.randint(2**31 - 2))
        self.folds_, x_steps, z_steps = [], [], []
        for rows in rows_of:
            learner = CanonicalFeatures() if self.features is None else clone(self.features)
            seed = rng.randint(2**31 - 1)
            if learner.random_state is None:
                learner.set_params(random_state=seed)
            x, z, w = X[rows], Z[rows], weights[rows]
            self.folds_.append(learner.fit(x, z, w))
            first = self.folds_[0]
            x_steps.append(_regress(first.transform_x(x), learner.transform_x(x), w))
            z_steps.append(_regress(first.transform_z(z), learner.transform_z(z), w))
        self.x_map_ = HonestMap([f.x_map_ for f in self.folds_], x_steps, folds[0])
        self.z_map_ = HonestMap([f.z_map_ for f in self.folds_], z_steps, folds[1])
        rotations = canonical_rotations(self.x_map_(X), self.z_map_(Z), weights)
        self.correlations_, self.x_map_.rotation, self.z_map_.rotation = rotations
        return self

    def transform_x(self, X: Array) -> Array:
        """Return the canonical variates of x, shape (n, k)."""
        return self.x_map_(X)

    def transform_z(self, Z: Array) -> Array:
        """Return the canonical variates of z, shape (n, k)."""
        return self.z_map_(Z)


class Folds:
    """To which fold a value belongs: a function of the value, not of where it stands.

    Parameters
    ----------
    keys : integer array
        Of the values that have a fold, increasing.
    fold : integer array
        Theirs.
    seed : int
        Of the keys.
    """

    def __init__(self, keys: Keys, fold: Rows, seed: int) -> None:
        self.keys, self.fold, self.seed = keys, fold, seed

    def of(self, rows: Array) -> Rows:
        """Return the fold of every row, -1 for those that no network has held back."""
        fold = np.full(len(rows), -1)
        if len(self.keys):
            keys = row_keys(rows, self.seed)
            place = np.searchsorted(self.keys, keys).clip(max=len(self.keys) - 1)
            held_back = self.keys[place] == keys
            fold[held_back] = self.fold[place[held_back]]
        return fold


def paired_folds(
    X: Array, Z: Array, weights: Array, n_folds: int, seed: int
) -> tuple[Folds, Folds]:
    """Return folds of the values of x and of the values of z, the same for both where possible.

    A network must see neither the x nor the z of a row that it judges. Where values hardly repeat,
    each x has the fold of its z and all other folds are left to train on; where repetitions tie
    many rows together, x and z have folds of their own.

    Values that many rows share belong to none: no network can learn their noise by heart, and a
    fold of them would be a hole in the data.

    Parameters
    ----------
    X, Z : arrays of shape (n, dx) and (n, dz)
    weights : array of shape (n,)
    n_folds : int
        A single fold holds nothing back.
    seed : int
    """
    (x_keys, x), (z_keys, z) = (
        np.unique(row_keys(A, s), return_inverse=True) for A, s in ((X, seed), (Z, seed + 1))
    )
    n_x, n_values = len(x_keys), len(x_keys) + len(z_keys)
    keys = np.concatenate([x_keys, z_keys])
    ends = np.stack([x, n_x + z])
    rare = np.bincount(ends.ravel(), weights=np.tile(weights, 2), minlength=n_values) < _RARE
    tied = rare[ends].all(axis=0)
    graph = coo_array((np.ones(tied.sum()), tuple(ends[:, tied])), shape=(n_values, n_values))
    _, group = connected_components(graph, directed=False)
    size = np.bincount(group[ends[0]], weights=weights, minlength=group.max() + 1)
    apart = size[group] > _LARGEST_GROUP * weights.sum() / n_folds
    group[apart] = group.max() + 1 + np.arange(apart.sum())
    # The smallest key of a group decides, wherever its rows stand.
    smallest = np.full(group.max() + 1, np.iinfo(np.uint64).max)
    np.minimum.at(smallest, group[rare], keys[rare])
    rank = np.empty(len(smallest), dtype=np.intp)
    rank[np.argsort(smallest, kind="stable")] = np.arange(len(smallest))
    fold = rank[group] % n_folds
    if n_folds == 1:
        rare[:] = False
    x_rare, z_rare = rare[:n_x], rare[n_x:]
    return (
        Folds(x_keys[x_rare], fold[:n_x][x_rare], seed),
        Folds(z_keys[z_rare], fold[n_x:][z_rare], seed + 1),
    )


def _training_rows(
    X: Array, Z: Array, weights: Array, n_folds: int, seed: int
) -> tuple[tuple[Folds, Folds], list[Rows]]:
    """Return folds, and the rows that each network is trained on.

    A single fold, all rows for one network, where there are too few of them to hold any back.
    """
    folds = paired_folds(X, Z, weights, n_folds, seed)
    x_fold, z_fold = folds[0].of(X), folds[1].of(Z)
    rows = [np.flatnonzero((x_fold != k) & (z_fold != k)) for k in range(n_folds)]
    if n_folds > 1 and min(map(len, rows)) < _FEWEST_ROWS:
        return _training_rows(X, Z, weights, 1, seed)
    return folds, rows


class HonestMap:
    """Features of a row, by the network that has not seen it; by all, if none has.

    Parameters
    ----------
    maps : sequence of callables
        One for each fold: rows to features, shape (n, k).
    steps : sequence of arrays
        Affine maps of their features to common coordinates.
    folds : Folds
    """

    rotation: Rotation | None = None

    def __init__(
        self,
        maps: Sequence[Callable[[Array], Array]],
        steps: Sequence[Array],
        folds: Folds,
    ) -> None:
        self.maps, self.steps, self.folds = list(maps), list(steps), folds

    def __call__(self, rows: Array) -> Array:
        """Return the features, shape (n, k)."""
        fold = self.folds.of(rows)
        by_fold = [
            step[0] + features(rows) @ step[1:]
            for features, step in zip(self.maps, self.steps, strict=True)
        ]
        result = np.mean(by_fold, axis=0)
        for k, features in enumerate(by_fold):
            result[fold == k] = features[fold == k]
        return result if self.rotation is None else self.rotation(result)


def _regress(target: Array, features: Array, weights: Array) -> Array:
    """Return the coefficients of a ridge regression with intercept, shape (1 + k, k)."""
    A = np.column_stack([np.ones(len(features)), features])
    weighted = A.T * (weights / weights.sum())
    ridge = np.full(A.shape[1], _ALIGNMENT_RIDGE)
    ridge[0] = 0.0
    return np.asarray(solve(weighted @ A + np.diag(ridge), weighted @ target, assume_a="pos"))
