"""Who sees which rows: the split between nuisances and descent, and folds."""

from __future__ import annotations

import numpy as np

from sagdiv._types import Rows

__all__ = ["nuisance_split", "random_folds"]


def nuisance_split(
    n_rows: int, nuisance_fraction: float, rng: np.random.RandomState
) -> tuple[Rows, Rows]:
    """Return the rows for the nuisances and the rows whose Z feed the descent.

    A fraction of 1/3 gives the paper's M = 2 N; a fraction of 1 lets every row serve both.
    """
    rows = rng.permutation(n_rows)
    if nuisance_fraction == 1:
        return rows, rows
    n_nuisance = int(np.ceil(nuisance_fraction * n_rows))
    if n_nuisance < 2 or n_nuisance == n_rows:
        raise ValueError(
            f"nuisance_fraction={nuisance_fraction!r} leaves {n_nuisance} of {n_rows} rows for the "
            f"nuisances and {n_rows - n_nuisance} for the descent, which need 2 and 1; change it "
            "or give Z_extra."
        )
    return rows[:n_nuisance], rows[n_nuisance:]


def random_folds(n_rows: int, n_folds: int, rng: np.random.RandomState) -> Rows:
    """Return a fold number for each row, folds as equal as possible, at most one per row."""
    return rng.permutation(np.arange(n_rows) % min(n_folds, n_rows))
