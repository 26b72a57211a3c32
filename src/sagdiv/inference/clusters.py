"""Rows that belong together: clusters as integer codes."""

from __future__ import annotations

import numpy as np

from sagdiv._types import Data, Rows

__all__ = ["cluster_codes", "cluster_members"]

_FEW_CLUSTERS = 10


def cluster_codes(cluster: Data, n_rows: int) -> Rows | None:
    """Return codes 0, 1, ... of cluster labels, one label for each row; None stays None."""
    if cluster is None:
        return None
    labels = np.asarray(cluster)
    if labels.shape != (n_rows,):
        raise ValueError(
            f"cluster must hold one label for each row, shape ({n_rows},), got {labels.shape}."
        )
    if labels.dtype.kind == "f" and np.isnan(labels).any():
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


def cluster_members(codes: Rows) -> list[Rows]:
    """Return the rows of each cluster."""
    order = np.argsort(codes, kind="stable")
    return np.split(order, np.cumsum(np.bincount(codes))[:-1])
