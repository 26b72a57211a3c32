"""Columns of a data frame as arrays: numbers with NaN, or text with None, where values miss."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sagdiv.formula.errors import FormulaError, unknown_name

__all__ = [
    "check_categories",
    "is_number",
    "is_text",
    "missing_rows",
    "numbers",
    "read_columns",
    "row_list",
]

_SHOWN = 5
_COMMA = re.compile(r"\s*[-+]?\d*,\d+\s*")


def read_columns(data: Any, names: Iterable[str]) -> dict[str, NDArray[Any]]:
    """Return the named columns of a pandas, polars or Arrow table, or of a dict of columns."""
    import narwhals as nw

    if isinstance(data, Mapping):
        import pandas as pd

        data = pd.DataFrame(dict(data))
    try:
        frame = nw.from_native(data, eager_only=True)
    except TypeError as error:
        raise TypeError(
            "data must be a data frame in memory (pandas, polars, Arrow) or a dict of columns, "
            f"got {type(data).__name__}."
        ) from error
    known = list(frame.columns)
    columns = {}
    for name in names:
        if name not in known:
            raise unknown_name("column", name, known)
        columns[name] = _as_array(frame[name], name, nw)
    return columns


def is_text(column: NDArray[Any]) -> bool:
    """Whether a column holds categories rather than numbers."""
    return column.dtype == object


def missing_rows(column: NDArray[Any]) -> NDArray[np.bool_]:
    """Return where a column has no value."""
    if is_text(column):
        return np.array([value is None for value in column], dtype=bool)
    return np.isnan(column)


def numbers(columns: Mapping[str, NDArray[Any]], name: str) -> NDArray[np.float64]:
    """Return a column that must be numeric, or say which rows are not."""
    column = columns[name]
    if not is_text(column):
        return column
    numeric = np.array([value is None or is_number(value) for value in column])
    if numeric.all():
        raise FormulaError(
            f"column {name!r} holds numbers that are stored as text; convert it to numbers, or "
            f"write C({name}) for categories."
        )
    commas = any(map(_has_decimal_comma, column[~numeric]))
    hint = " Is the decimal mark a comma? Say so when reading: --decimal ','." if commas else ""
    raise FormulaError(
        f"column {name!r} must be numeric, but has text in {row_list(~numeric, column)}.{hint}"
    )


def check_categories(column: NDArray[Any], name: str) -> None:
    """Refuse text among numbers, which is a mistake in the table rather than a category."""
    present = [value for value in column if value is not None]
    n_numbers = sum(is_number(value) or _has_decimal_comma(value) for value in present)
    if 2 * n_numbers >= len(present) > 0:
        numbers({name: column}, name)


def _has_decimal_comma(value: Any) -> bool:
    return isinstance(value, str) and _COMMA.fullmatch(value) is not None


def row_list(rows: NDArray[np.bool_], values: NDArray[Any] | None = None) -> str:
    """Return "3 of 90 rows: 4 ('n/a'), 17 ('?'), ..."; rows are counted from 1."""
    where = np.flatnonzero(rows)
    shown = [f"{i + 1}" if values is None else f"{i + 1} ({values[i]!r})" for i in where[:_SHOWN]]
    more = ", ..." if len(where) > _SHOWN else ""
    return f"{len(where)} of {len(rows)} rows: {', '.join(shown)}{more} (counted from 1)"


def _as_array(series: Any, name: str, nw: Any) -> NDArray[Any]:
    dtype = series.dtype
    if dtype.is_numeric() or dtype == nw.Boolean:
        missing = np.asarray(series.is_null().to_numpy(), dtype=bool)
        if not missing.any():
            return np.asarray(series.to_numpy(), dtype=np.float64)
        pairs = zip(series.to_list(), missing, strict=True)
        return np.array([np.nan if absent else float(value) for value, absent in pairs])
    if dtype.is_temporal():
        raise FormulaError(
            f"column {name!r} holds dates or times; compute a number from it first, for example "
            "the days since the first one."
        )
    values = [None if _is_missing(value) else value for value in series.to_list()]
    if all(value is None or isinstance(value, int | float | np.number) for value in values):
        if dtype not in (nw.Categorical, nw.Enum):
            return np.array([np.nan if value is None else value for value in values], dtype=float)
    elif not all(value is None or isinstance(value, str) for value in values):
        kinds = sorted({type(value).__name__ for value in values if value is not None})
        values = _strings(values, name, kinds)
    column: NDArray[Any] = np.empty(len(values), dtype=object)
    column[:] = [value if value is None else str(value) for value in values]
    return column


def _strings(values: list[Any], name: str, kinds: list[str]) -> list[Any]:
    if not set(kinds) <= {"str", "int", "float", "bool"}:
        raise FormulaError(
            f"column {name!r} holds values of type {', '.join(kinds)}; a column must hold "
            "numbers or text."
        )
    return [value if value is None else str(value) for value in values]


def _is_missing(value: Any) -> bool:
    return value is None or value != value or str(value) == "<NA>"


def is_number(text: str) -> bool:
    """Whether a text reads as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True
