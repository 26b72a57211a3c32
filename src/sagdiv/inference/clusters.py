"""Rows that belong together: clusters as integer codes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sagdiv._types import Data, Rows

__all__ = ["cluster_codes", "cluster_members"]

_FEW_CLUSTERS = 10


def cluster_codes(cluster: Data, n_rows: int) -> Rows | None:
    """Return codes 0, 1, ... of cluster labels, one label for each row; None stays None."""
    if cluster is None:
        return None
    # A list of text and NaN would become text throughout, "nan" included.
    labels = np.asarray(cluster, dtype=None if hasattr(cluster, "__array__") else object)
    if labels.shape != (n_rows,):
        raise ValueError(
            f"cluster must hold one label for each row, shape ({n_rows},), got {labels.shape}."
        )
    if _is_missing(labels).any():
        raise ValueError("cluster has missing labels; give each such row a label of its own.")
    codes: Rows = np.unique(
        labels.astype(str) if labels.dtype == object else labels, return_inverse=True
    )[1].astype(np.intp)
    if codes.max() + 1 < _FEW_CLUSTERS:
        raise ValueError(
            f"cluster has {codes.max() + 1} distinct labels; with fewer than {_FEW_CLUSTERS} "
            "independent groups there is no telling how much the groups vary."
        )
    return codes


def _is_missing(labels: NDArray[Any]) -> NDArray[np.bool_]:
    if labels.dtype.kind in "mM":
        return np.isnat(labels)
    if labels.dtype.kind in "fc":
        return np.isnan(labels)
    # Without pandas, which knows more kinds of nothing: its NA, NaT, None and NaN read so.
    words = ("<NA>", "NaT", "None", "nan")
    return np.array([not isinstance(label, str) and str(label) in words for label in labels])


def cluster_members(codes: Rows) -> list[Rows]:
    """Return the rows of each cluster."""
    order = np.argsort(codes, kind="stable")
    return np.split(order, np.cumsum(np.bincount(codes))[:-1])
