"""Rows of Dask arrays and data frames, visited partition by partition where they are."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable
from dataclasses import dataclass, replace
from operator import add
from typing import Any

import numpy as np
from sklearn.utils.validation import check_array

from sagdiv._types import Array, Data, Rows
from sagdiv.rows import RowBlocks, weighing_rows
from sagdiv.sketch import Sketch
from sagdiv.validation import check_instruments, check_outcome, check_same_length

__all__ = ["DaskRows", "in_memory", "is_dask"]

_SHOWN_ROWS = 100
_SHOWN_OUTCOMES = 10
_FAN_IN = 8


def is_dask(*collections: Any) -> bool:
    """Return whether any of these is a Dask collection, without importing Dask."""
    return any(hasattr(collection, "__dask_graph__") for collection in collections)


def in_memory(collection: Any) -> Any:
    """Return the data frame or array that a Dask collection computes; anything else as it is."""
    return collection.compute() if is_dask(collection) else collection


@dataclass(frozen=True)
class DaskRows:
    """The same sums as `RowBlocks`, over partitions that need not fit into memory together.

    Dask computes the term of each partition, wherever its rows are, and adds the terms up in a
    tree; a partition that is lost with its worker is computed again.

    Parameters
    ----------
    columns : dict
        X and y, and Z and sample_weight where given: Dask collections with the same partitions.
    exogenous : array
        Columns of X that join the instruments.
    """

    columns: dict[str, Any]
    exogenous: Rows

    @classmethod
    def of(cls, X: Data, y: Data, Z: Data = None, sample_weight: Data = None) -> DaskRows:
        """Check that the collections line up, as far as that can be seen without computing."""
        given = {"X": X, "y": y, "Z": Z, "sample_weight": sample_weight}
        columns = {name: _single_column_chunk(A) for name, A in given.items() if A is not None}
        for name, collection in columns.items():
            _check_lines_up(X, collection, name)
        return cls(columns, np.empty(0, dtype=np.intp))

    def with_exogenous(self, exogenous: Rows) -> DaskRows:
        """Return these rows with the given columns of X among the instruments."""
        return replace(self, exogenous=exogenous)

    def total(self, term: Callable[[Array, Array, Array, Array], Any]) -> Any:
        """Return the sum of term(X, y, Z, weights) over blocks of rows of all partitions."""
        from dask.bag import from_delayed
        from dask.delayed import delayed

        shared = delayed(term, traverse=False)
        visit = delayed(_partition_total, pure=False)
        terms = [
            visit(shared, number, self.exogenous, *parts)
            for number, parts in enumerate(_partitions(self.columns))
        ]
        bag = from_delayed(terms)  # type: ignore[no-untyped-call]
        return bag.fold(add, split_every=_FAN_IN).to_delayed().compute()

    def overview(self) -> tuple[Data, Array, Data, float]:
        """Return X, y and Z of a few rows with the same names, ranges and kinds as all rows.

        They stand for the data at the door, where names and widths are noted and constant columns
        and too few rows are turned away. The last one returned is the weight of all rows.
        """
        extent = self.total(_Extent.of)
        if extent.n == 0 and "sample_weight" in self.columns:
            raise ValueError("sample_weight is zero for every row: nothing is left to learn from.")
        n = min(extent.n, _SHOWN_ROWS)
        X, y, Z = (np.resize(A, (n, A.shape[1])) for A in (extent.X, extent.y.rows, extent.Z))
        given = "Z" in self.columns
        return (
            _named_like(self.columns["X"], X),
            y[:, 0],
            _named_like(self.columns["Z"], Z) if given else None,
            extent.weight,
        )


@dataclass(frozen=True)
class _Extent:
    """How many rows there are, their weight, ranges of X and Z, some values of y; adds up."""

    n: int
    weight: float
    X: Array
    Z: Array
    y: Sketch

    @classmethod
    def of(cls, X: Array, y: Array, Z: Array, weights: Array) -> _Extent:
        ones = np.ones(len(y))
        return cls(
            len(y),
            float(weights.sum()),
            _range(X),
            _range(Z),
            Sketch.of(y[:, None], ones, _SHOWN_OUTCOMES),
        )

    def __add__(self, other: _Extent) -> _Extent:
        return _Extent(
            self.n + other.n,
            self.weight + other.weight,
            _union(self.X, other.X),
            _union(self.Z, other.Z),
            self.y + other.y,
        )


def _range(A: Array) -> Array:
    # The range of no rows is the neutral element of the union.
    return np.stack([A.min(axis=0, initial=np.inf), A.max(axis=0, initial=-np.inf)])


def _union(a: Array, b: Array) -> Array:
    return np.stack([np.minimum(a[0], b[0]), np.maximum(a[1], b[1])])


def _partitions(columns: dict[str, Any]) -> list[list[Any]]:
    """Return for each partition the delayed dictionaries that together hold its columns."""
    frames = {name: A for name, A in columns.items() if not hasattr(A, "chunks")}
    arrays = {name: A for name, A in columns.items() if hasattr(A, "chunks")}
    sources = [[{name: part} for part in A.to_delayed().ravel()] for name, A in arrays.items()]
    if frames:
        from dask.dataframe import map_partitions

        together = map_partitions(  # type: ignore[no-untyped-call]
            _as_dict, *frames.values(), names=list(frames), align_dataframes=False, meta=(None, "O")
        )
        # Simplified together, the columns of one file are read at once, and only those; without
        # the further optimisation, which may merge partitions, their numbers are those of the user.
        sources.append(together.simplify().to_delayed(optimize_graph=False))
    return [list(parts) for parts in zip(*sources, strict=True)]


def _as_dict(*parts: Any, names: list[str]) -> dict[str, Any]:
    return dict(zip(names, parts, strict=True))


def _partition_total(
    term: Callable[..., Any], number: int, exogenous: Rows, *parts: dict[str, Any]
) -> list[Any]:
    """Check one partition and return its term as a bag of one element."""
    try:
        rows = _check_partition(exogenous, **dict(ChainMap(*parts)))
    except ValueError as error:
        raise ValueError(f"In partition {number} (the first is 0): {error}") from error
    return [rows.total(term)]


def _check_partition(
    exogenous: Rows, X: Data, y: Data, Z: Data = None, sample_weight: Data = None
) -> RowBlocks:
    X, y, Z, weights = weighing_rows(X, y, Z, sample_weight, may_vanish=True)
    X = check_array(X, dtype=np.float64, input_name="X", ensure_min_samples=0)
    y = np.asarray(y)
    y = check_outcome(y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y, "partition")
    Z = X if Z is None else check_instruments(Z)
    check_same_length(X=X, y=y, Z=Z)
    return RowBlocks.of(X, y, Z, np.ones(len(X)) if weights is None else weights, exogenous)


def _single_column_chunk(collection: Any) -> Any:
    # A row of a Dask array may be split over chunks; that of a data frame is not.
    if getattr(collection, "ndim", 1) == 2 and hasattr(collection, "chunks"):
        return collection.rechunk({1: -1})
    return collection


def _check_lines_up(X: Any, collection: Any, name: str) -> None:
    if not is_dask(collection) or not is_dask(X):
        outside = "X" if is_dask(collection) else name
        raise TypeError(
            f"{outside} is in memory while other arguments are Dask collections; give it the same "
            f"partitions, for example by dask.array.from_array({outside}, chunks=...)."
        )
    if not (hasattr(X, "chunks") and hasattr(collection, "chunks")):
        if X.npartitions != collection.npartitions:
            raise ValueError(
                f"X has {X.npartitions} partitions and {name} has {collection.npartitions}; take "
                f"both from one data frame, or repartition {name} like X."
            )
        known = [getattr(A, "known_divisions", False) for A in (X, collection)]
        if all(known) and X.divisions != collection.divisions:
            raise ValueError(
                f"the partitions of X and {name} divide the index differently; take both from one "
                f"data frame, or use {name} = {name}.repartition(divisions=X.divisions)."
            )
        return
    expected, found = X.chunks[0], collection.chunks[0]
    same = len(expected) == len(found) and all(
        a == b or np.isnan(a) or np.isnan(b) for a, b in zip(expected, found, strict=True)
    )
    if not same:
        raise ValueError(
            f"the row chunks of X are {_shown(expected)} and those of {name} {_shown(found)}; line "
            f"them up with {name} = {name}.rechunk({{0: X.chunks[0]}})."
        )


def _shown(chunks: tuple[float, ...]) -> str:
    listed = ", ".join(map(str, chunks[:6]))
    return f"({listed}, ... {len(chunks)} in all)" if len(chunks) > 6 else f"({listed})"


def _named_like(collection: Any, values: Array) -> Data:
    if not hasattr(collection, "columns"):
        return values
    import pandas as pd

    return pd.DataFrame(values, columns=list(collection.columns))
