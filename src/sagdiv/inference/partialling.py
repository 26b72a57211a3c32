"""Taking functions of the controls out of everything else."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh

from sagdiv._types import Array
from sagdiv.features import KernelFeatures
from sagdiv.kernels import column_scales

__all__ = ["control_basis", "independent", "products", "without"]

_ROWS_PER_FUNCTION = 5
_ROWS_PER_PRODUCT = 20
_RANK_TOLERANCE = 1e-9


def control_basis(W: Array, others: Array) -> Array:
    """Return orthogonal functions of the rows of W with mean square one, the constant among them.

    Bumps of each control and of all together, and all squares and products of two: a curve in one
    control and any interaction of two are then represented. Then bumps of what these say about the
    columns of ``others``, whose own functions mostly follow them. With hundreds of controls for few
    rows the leading principal components have to do.
    """
    most = len(W) // _ROWS_PER_FUNCTION
    first = np.hstack([KernelFeatures().fit(W).transform(W), products(W)])
    basis = independent(first, most)
    fitted = others - without(others, basis)
    bumps = KernelFeatures(n_per_coordinate=max(2, 40 // others.shape[1]), n_joint=1).fit(fitted)
    return independent(np.hstack([first, bumps.transform(fitted), products(fitted)]), most)


def products(W: Array) -> Array:
    """Return squares and products of the standardised columns of W, if rows are enough for them."""
    n, d = W.shape
    if d < 2 or d * (d + 1) // 2 > n // _ROWS_PER_PRODUCT:
        return np.empty((n, 0))
    S = (W - W.mean(axis=0)) / column_scales(W)
    first, second = np.triu_indices(d)
    return S[:, first] * S[:, second]


def independent(A: Array, most: int | None = None) -> Array:
    """Return principal components of the columns of A, each of mean square one.

    No more than ``most``, and none that is lost in rounding.
    """
    n = len(A)
    values, vectors = eigh(A.T @ A / n)
    seen = values > _RANK_TOLERANCE * max(values[-1], 1.0)
    if most is not None:
        seen[: -max(2, most)] = False
    components: Array = A @ (vectors[:, seen] / np.sqrt(values[seen]))
    return components


def without(A: Array, basis: Array, weights: Array | None = None) -> Array:
    """Return the columns of A less their weighted regression on an orthogonal basis."""
    if weights is None:
        return A - basis @ (basis.T @ A / len(A))
    weighted = basis * weights[:, None]
    left: Array = A - basis @ np.linalg.lstsq(weighted.T @ basis, weighted.T @ A, rcond=None)[0]
    return left
