"""The projected risk of any fitted function, on any rows: the yardstick of the package."""

from __future__ import annotations

import numpy as np

from sagdiv._types import Array, Rows
from sagdiv.features import KernelFeatures
from sagdiv.protocols import Loss
from sagdiv.ridge import cross_fitted_ridge
from sagdiv.sketch import Sketch, row_keys

__all__ = ["projected_risk"]


_PILOT_ROWS = 1000
_N_FOLDS = 5
_LEAST_ROWS = 10
_CELL_ROWS, _CELL_SHARE = 20, 0.02  # a row that has at least both is a cell of discrete data


def projected_risk(loss: Loss, X: Array, y: Array, h: Array, Z: Array, weights: Array) -> float:
    """Return the average of loss(y_i, E[h(X)|Z = z_i]), E estimated across folds of these rows.

    A wrong h that fits y well through the confounder is not rewarded: only the part of h(X) that
    the instrument explains is compared with y. For a loss that is linear in its first argument
    the expectation is the projected risk of h plus a constant that does not depend on h.

    Parameters
    ----------
    loss : Loss
    X : array of shape (n, dx)
        Tells the copies of a row from other rows with the same y and Z.
    y, h : arrays of shape (n,)
        Outcomes, and the values h(x_i) of the function to be judged.
    Z : array of shape (n, dz)
    weights : array of shape (n,)
        Non-negative, integer weights being repeated rows.
    """
    sample = Sketch.of(Z, weights, _PILOT_ROWS)
    Psi = KernelFeatures().fit(sample.rows, sample.weights).transform(Z)
    rows, folds, weights = _folds(np.column_stack([Z, y, X]), weights)
    projected = cross_fitted_ridge(Psi[rows], h[rows], folds, weights)
    return float(np.average(loss.value(y[rows], projected), weights=weights))


def _folds(content: Array, weights: Array) -> tuple[Rows, Rows, Array]:
    """Return rows that weigh something, the fold that holds out each, and their weights.

    Folds are dealt out by content: copies of a row are held out together, and every h meets the
    same folds. What fills a good part of a large sample is no copy but a cell of discrete data,
    and shared out evenly over the folds: without it, the others could not tell its E[h|z].
    """
    rows = np.flatnonzero(weights)
    weights = weights[rows]
    keys, owner = np.unique(row_keys(content[rows]), return_inverse=True)
    if len(keys) < _LEAST_ROWS:
        raise ValueError(
            f"score needs at least {_LEAST_ROWS} different rows, got {len(keys)}: from fewer "
            "E[h(X)|Z] cannot be learnt, and the fit of the confounded regression would be "
            "rewarded; use fewer folds, or leave out more rows at a time."
        )
    totals = np.bincount(owner, weights=weights)
    is_cell = (totals >= _CELL_ROWS) & (totals >= _CELL_SHARE * totals.sum())
    shared = is_cell[owner]
    folds = owner[~shared] % _N_FOLDS  # the keys are sorted, which is a random order of content
    cells = rows[shared]
    return (
        np.concatenate([rows[~shared], np.tile(cells, _N_FOLDS)]),
        np.concatenate([folds, np.repeat(np.arange(_N_FOLDS), len(cells))]),
        np.concatenate([weights[~shared], np.tile(weights[shared] / _N_FOLDS, _N_FOLDS)]),
    )
