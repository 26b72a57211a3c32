"""Rows in memory, visited block by block: whatever is a sum over rows is computed here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.utils import _safe_indexing, gen_batches
from sklearn.utils.validation import _num_samples

from sagdiv._types import Array, Data, Rows
from sagdiv.validation import check_weights

__all__ = ["RowBlocks", "weighing_rows"]

_BLOCK_ROWS = 2048  # the features of a block stay in the cache


@dataclass(frozen=True)
class RowBlocks:
    """Validated data, summed over in blocks so that features of all rows never exist at once.

    Parameters
    ----------
    X, y, Z, weights : arrays with one row each
    n_jobs : int or None
        Threads that work on blocks. The sums are taken in the same order whatever it is.
    """

    X: Array
    y: Array
    Z: Array
    weights: Array
    n_jobs: int | None = None

    @classmethod
    def of(
        cls,
        X: Array,
        y: Array,
        Z: Array,
        weights: Array,
        exogenous: Rows,
        n_jobs: int | None = None,
    ) -> RowBlocks:
        """Return the rows that weigh something, exogenous columns of X among the instruments."""
        if exogenous.size:
            Z = np.column_stack([Z, X[:, exogenous]])
        seen = weights > 0
        if not seen.all():
            X, y, Z, weights = X[seen], y[seen], Z[seen], weights[seen]
        return cls(X, y, Z, weights, n_jobs)

    def total(self, term: Callable[[Array, Array, Array, Array], Any]) -> Any:
        """Return the sum of term(X, y, Z, weights) over blocks of rows; no rows are one block."""
        blocks = (
            delayed(term)(self.X[rows], self.y[rows], self.Z[rows], self.weights[rows])
            for rows in gen_batches(max(1, len(self.X)), _BLOCK_ROWS)
        )
        terms = Parallel(n_jobs=self.n_jobs, prefer="threads", return_as="generator")(blocks)
        return reduce(add, terms)


def weighing_rows(
    X: Data, y: Data, Z: Data, sample_weight: Data, *, may_vanish: bool = False
) -> tuple[Data, Data, Data, Array | None]:
    """Return data without the rows of weight zero, and the checked weights of the others.

    They are left out before anything is checked: what does not count may be missing, and cannot
    make up for what is constant or too short.
    """
    if sample_weight is None:
        return X, y, Z, None
    n_rows = _num_samples(X)
    weights = check_weights(sample_weight, n_rows, may_vanish=may_vanish)
    given = [A for A in (X, y, Z) if A is not None]
    if weights.all() or any(_num_samples(A) != n_rows for A in given):
        return X, y, Z, weights
    seen = np.flatnonzero(weights)
    X, y, Z = (None if A is None else _safe_indexing(A, seen) for A in (X, y, Z))
    return X, y, Z, weights[seen]
