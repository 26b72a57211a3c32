"""Names for the types that recur in signatures."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Array", "Data", "Rows", "Seed"]

Array: TypeAlias = NDArray[np.float64]
Rows: TypeAlias = NDArray[np.intp]
Seed: TypeAlias = int | np.random.RandomState | None
Data: TypeAlias = Any
"""A table or column as users hold it: arrays, lists, pandas, polars; checked at the door."""
