"""The nonparametric bootstrap: bands for any estimator, by fitting it again and again."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.validation import _get_feature_names, check_array

from sagdiv._types import Array, Data, Rows, Seed
from sagdiv.exceptions import WeakInstrumentWarning
from sagdiv.inference.clusters import cluster_codes, cluster_members
from sagdiv.inference.intervals import Band, Interval, band_from_draws, check_level
from sagdiv.validation import check_integer, check_outcome, check_same_length

__all__ = ["Bootstrap", "bootstrap"]


@dataclass(frozen=True)
class Bootstrap:
    """Curves of an estimator on resampled data.

    Attributes
    ----------
    X : array of shape (k, dx)
        Where the curve was evaluated.
    estimate : array of shape (k,)
        On the data themselves.
    draws : array of shape (m, k)
        On the resampled data.
    names : sequence of str, default=None
        Of the columns of X.
    """

    X: Array
    estimate: Array
    draws: Array
    names: Sequence[str] | None = None

    def bands(self, level: float = 0.95) -> Band:
        """Return pointwise intervals and a uniform band at the rows of X."""
        return band_from_draws(self.X, self.estimate, self._centred, level, names=self.names)

    def contrast(self, row: int, baseline: int, level: float = 0.95) -> Interval:
        """Return h(X[row]) - h(X[baseline])."""
        check_level(level)
        spread = np.std(self.draws[:, row] - self.draws[:, baseline], ddof=1)
        return Interval(float(self.estimate[row] - self.estimate[baseline]), float(spread), level)

    @property
    def _centred(self) -> Array:
        return self.draws - self.draws.mean(axis=0)


def bootstrap(
    estimator: Any,
    X: Data,
    y: Data,
    Z: Data,
    X_grid: Data,
    *,
    n_draws: int = 200,
    cluster: Data = None,
    n_jobs: int | None = None,
    random_state: Seed = None,
) -> Bootstrap:
    """Fit copies of an estimator on rows drawn with replacement.

    It measures noise alone: whatever bias the estimator has, its bands do not cover.

    Parameters
    ----------
    estimator : estimator
        Anything with ``fit(X, y, Z)`` and ``predict(X)``.
    X, y, Z : arrays of shape (n, dx), (n,) and (n, dz)
    X_grid : array of shape (k, dx)
        Where to evaluate the curve.
    n_draws : int, default=200
        Raising it steadies the bands, at the price of as many fits.
    cluster : array of shape (n,), default=None
        Labels of groups of rows, which are drawn as a whole.
    n_jobs : int, default=None
        Processes. The answer does not depend on it.
    random_state : int, RandomState instance or None, default=None

    References
    ----------
    Efron (1979), Bootstrap Methods: Another Look at the Jackknife.

    Examples
    --------
    >>> from sagdiv.baselines import TSLS
    >>> from sagdiv.datasets import make_continuous
    >>> from sagdiv.inference import bootstrap
    >>> data = make_continuous("linear", 300, random_state=0)
    >>> curves = bootstrap(TSLS(), data.X, data.y, data.Z, [[0.0], [1.0]], random_state=0)
    >>> slope = curves.contrast(1, 0)
    >>> bool(slope.lower < 1 < slope.upper)
    True
    """
    check_integer(n_draws, "n_draws", at_least=2)
    y = check_outcome(y, "bootstrap")
    check_same_length(X=X, y=y, Z=Z)
    codes = cluster_codes(cluster, len(y))
    members = None if codes is None else cluster_members(codes)
    seeds = check_random_state(random_state).randint(2**31 - 1, size=n_draws)
    estimate = _curve(estimator, X, y, Z, X_grid, np.arange(len(y)))
    values = check_array(X_grid, dtype=np.float64, input_name="X_grid")
    draws = Parallel(n_jobs=n_jobs)(
        delayed(_curve)(estimator, X, y, Z, X_grid, _resampled(len(y), members, seed))
        for seed in seeds
    )
    names = _get_feature_names(X_grid)
    return Bootstrap(values, estimate, np.array(draws), None if names is None else list(names))


def _resampled(n: int, members: list[Rows] | None, seed: int) -> Rows:
    rng = np.random.RandomState(seed)
    if members is None:
        return rng.randint(n, size=n)
    return np.concatenate([members[c] for c in rng.randint(len(members), size=len(members))])


def _curve(estimator: Any, X: Data, y: Array, Z: Data, X_grid: Data, rows: Rows) -> Array:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WeakInstrumentWarning)  # said once is enough
        drawn = _safe_indexing(X, rows), y[rows], _safe_indexing(Z, rows)
        return np.asarray(clone(estimator).fit(*drawn).predict(X_grid))
