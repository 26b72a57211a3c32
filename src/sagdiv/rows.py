"""Rows in memory, visited block by block: whatever is a sum over rows is computed here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

from joblib import Parallel, delayed
from sklearn.utils import gen_batches

from sagdiv._types import Array

__all__ = ["RowBlocks"]

_BLOCK_ROWS = 8192


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

    def total(self, term: Callable[[Array, Array, Array, Array], Any]) -> Any:
        """Return the sum of term(X, y, Z, weights) over blocks of rows."""
        blocks = (
            delayed(term)(self.X[rows], self.y[rows], self.Z[rows], self.weights[rows])
            for rows in gen_batches(len(self.X), _BLOCK_ROWS)
        )
        terms = Parallel(n_jobs=self.n_jobs, prefer="threads", return_as="generator")(blocks)
        return reduce(add, terms)
