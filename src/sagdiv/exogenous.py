"""Which columns of X are exogenous, by name or by position."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral
from typing import Any

import numpy as np

from sagdiv._types import Data, Rows

__all__ = ["exogenous_columns", "other_labels"]


def exogenous_columns(
    exogenous: Any, names: list[str] | None, n_columns: int, labels: list[Any] | None = None
) -> Rows:
    """Return the positions that an ``exogenous=`` argument means, each once.

    Parameters
    ----------
    exogenous : sequence of str or int
    names : list of str or None
        Of the columns of X, if it has any.
    n_columns : int
    labels : list, default=None
        What a data frame calls its columns if not by words, see `other_labels`.
    """
    if isinstance(exogenous, str) or not isinstance(exogenous, Iterable):
        raise ValueError(
            f"exogenous must be a list of columns, as in [{exogenous!r}]."
            if isinstance(exogenous, str | Integral)
            else f"exogenous must be a list of names or positions of columns of X, () for none; "
            f"got {exogenous!r}."
        )
    return np.array(
        list(dict.fromkeys(_position(c, names, n_columns, labels) for c in exogenous)),
        dtype=np.intp,
    )


def other_labels(X: Data) -> list[Any] | None:
    """Return the labels of a data frame's columns where they are neither words nor positions."""
    labels = list(getattr(X, "columns", []))
    if all(isinstance(label, str) for label in labels) or labels == list(range(len(labels))):
        return None
    return labels


def _position(
    column: Any, names: list[str] | None, n_columns: int, labels: list[Any] | None
) -> int:
    if isinstance(column, bool | np.bool_):
        raise ValueError(
            f"exogenous has {bool(column)!r}: masks are not understood; give names, or positions "
            "as numpy.flatnonzero(mask) returns them."
        )
    if names is not None and column in names:
        return names.index(column)
    if isinstance(column, Integral) and labels is not None:
        raise ValueError(
            f"exogenous has the number {column}, and the columns of X are labelled {labels}: label "
            "or position? Give the columns names, by X.columns = X.columns.map(str)."
        )
    if isinstance(column, Integral) and 0 <= int(column) < n_columns:
        return int(column)
    known = list(range(n_columns)) if names is None else names
    raise ValueError(f"exogenous names {column!r}, which is not a column of X; there are {known}.")
