"""Conditional expectations from the leaves of a forest."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import RandomForestRegressor
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils import check_random_state

from sagdiv._types import Array, Rows, Seed
from sagdiv.kernels import column_scales

__all__ = ["ForestOperator"]


class ForestOperator(BaseEstimator):
    r"""Two instrument values are neighbours as often as they share a leaf.

    .. math:: \hat P[h](z) = \sum_i w_i(z)\, h(x_i), \qquad
              w_i(z) = \frac1T \sum_t \frac{1\{z_i \in \ell_t(z)\}}{|\ell_t(z)|}

    Parameters
    ----------
    forest : scikit-learn forest with ``apply``, default=None
        Fitted here on Z -> X (standardised). None is 200 regression trees with at least ten
        rows a leaf. Wrap a forest that is already fitted in ``sklearn.frozen.FrozenEstimator``
        to use it as it is.
    random_state : int, RandomState instance or None, default=None
        Seeds the default forest.

    Attributes
    ----------
    forest_ : the fitted forest
    nodes_ : array of shape (n, dx)
        The training X.

    References
    ----------
    Meinshausen (2006), Quantile Regression Forests; Athey, Tibshirani and Wager (2019),
    Generalized Random Forests.
    """

    def __init__(
        self,
        forest: Any = None,
        *,
        random_state: Seed = None,
    ) -> None:
        self.forest = forest
        self.random_state = random_state

    def fit(self, X: Array, Z: Array) -> ForestOperator:
        """Grow the forest and note the leaf of every training row."""
        if self.forest is None:
            rng = check_random_state(self.random_state)
            forest = RandomForestRegressor(
                n_estimators=200, min_samples_leaf=10, random_state=rng.randint(2**31 - 1)
            )
        else:
            forest = clone(self.forest)
        targets = X / column_scales(X)
        self.forest_ = forest.fit(Z, targets[:, 0] if X.shape[1] == 1 else targets)
        self.nodes_ = X
        self._encoder = OneHotEncoder(handle_unknown="ignore")
        members = self._encoder.fit_transform(self._leaves(Z))
        sizes = np.asarray(members.sum(axis=0)).ravel()
        self._shares = members.multiply(1.0 / sizes).tocsr()  # 1{i in leaf} / |leaf|
        return self

    def weights(self, Z: Array) -> Array:
        """Return w(z), shape (len(Z), n); non-negative, each row sums to one."""
        members = self._encoder.transform(self._leaves(Z))
        weights = (members @ self._shares.T).toarray()
        # Leaves of a frozen forest may hold no row of ours, hence the normalisation.
        total = weights.sum(axis=1, keepdims=True)
        return np.divide(
            weights, total, out=np.full_like(weights, 1 / len(self.nodes_)), where=total > 0
        )

    def _leaves(self, Z: Array) -> Rows:
        leaves = np.asarray(self.forest_.apply(Z))
        return leaves.reshape(len(Z), -1)
