"""Rows in memory, visited block by block: whatever is a sum over rows is computed here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.utils import gen_batches

from sagdiv._types import Array, Rows

__all__ = ["RowBlocks"]

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
