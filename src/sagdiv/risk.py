"""The projected risk of any fitted function, on any rows: the yardstick of the package."""

from __future__ import annotations

import numpy as np

from sagdiv._types import Array
from sagdiv.features import KernelFeatures
from sagdiv.protocols import Loss
from sagdiv.ridge import cross_fitted_ridge
from sagdiv.sketch import Sketch, row_keys

__all__ = ["projected_risk"]


_PILOT_ROWS = 1000
_N_FOLDS = 5


def projected_risk(loss: Loss, y: Array, h: Array, Z: Array, weights: Array) -> float:
    """Return the average of loss(y_i, E[h(X)|Z = z_i]), E estimated across folds of these rows.

    A wrong h that fits y well through the confounder is not rewarded: only the part of h(X) that
    the instrument explains is compared with y. For a loss that is linear in its first argument
    the expectation is the projected risk of h plus a constant that does not depend on h.

    Parameters
    ----------
    loss : Loss
    y, h : arrays of shape (n,)
        Outcomes, and the values h(x_i) of the function to be judged.
    Z : array of shape (n, dz)
    weights : array of shape (n,)
        Non-negative, integer weights being repeated rows.
    """
    sample = Sketch.of(Z, weights, _PILOT_ROWS)
    Psi = KernelFeatures().fit(sample.rows, sample.weights).transform(Z)
    # Folds by content: copies of a row are held out together, and every h meets the same folds.
    keys = row_keys(np.column_stack([Z, y]))
    folds = (keys % np.uint64(_N_FOLDS)).astype(np.intp)
    projected = cross_fitted_ridge(Psi, h, folds, weights)
    return float(np.average(loss.value(y, projected), weights=weights))
