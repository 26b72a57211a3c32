"""What is typical of the columns of a table, and values along one of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sagdiv._types import Array
from sagdiv.formula.columns import is_text
from sagdiv.formula.expressions import category_of

__all__ = ["TypicalRow"]

_FEW_VALUES = 10


class TypicalRow:
    """Columns of a table as a curve needs them: one varies, and the others stay where they are.

    Parameters
    ----------
    columns : mapping from names to arrays
        Numbers, or text.
    levels : collection of str
        Expressions that are categories, ``C(year)`` among them.

    Attributes
    ----------
    numbers : dict of arrays
        The columns that are numeric.
    texts : dict of lists of str
        Values of the others, the most frequent first.
    """

    def __init__(self, columns: Mapping[str, NDArray[Any]], levels: Mapping[str, Any]) -> None:
        self.numbers: dict[str, Array] = {}
        self.texts: dict[str, list[str]] = {}
        for name, column in columns.items():
            if is_text(column):
                self.texts[name] = [str(value) for value in _by_frequency(column.astype(str))]
            else:
                self.numbers[name] = column
        self._categories = [name for name in map(category_of, levels) if name is not None]

    def value(self, name: str) -> float | str:
        """Return the most frequent category, or the middle observation of a number."""
        if name in self.texts:
            return self.texts[name][0]
        values = self.numbers[name]
        if name in self._categories:
            return float(_by_frequency(values)[0])
        # An observation rather than the median, so that what is 0 or 1 stays so.
        return float(np.quantile(values, 0.5, method="lower"))

    def along(self, name: str, n: int, central: float) -> NDArray[Any]:
        """Return values of a column: all of a few, otherwise n between two quantiles."""
        if name in self.texts:
            return np.array(sorted(self.texts[name]), dtype=object)
        values = self.numbers[name]
        along = np.unique(values)
        if len(along) <= _FEW_VALUES or name in self._categories:
            return along
        low, high = np.quantile(values, [(1 - central) / 2, (1 + central) / 2])
        return np.linspace(low, high, n)


def _by_frequency(values: NDArray[Any]) -> NDArray[Any]:
    found, counts = np.unique(values, return_counts=True)
    return found[np.argsort(-counts, kind="stable")]
