"""Decisions that depend on what a row says, not on where it stands.

Folds and pilot samples are drawn by hashing the content of a row. The result is the same however
the rows are ordered, split into blocks or spread over machines, and an integer weight is exactly
a repeated row.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sagdiv._types import Array

__all__ = ["Sketch", "row_keys"]

Keys = NDArray[np.uint64]

_DROPPED_BITS = 20  # of 52: rounding in the last digits does not change a decision


def row_keys(A: Array, seed: int = 0) -> Keys:
    """Return a pseudo-random 64-bit key for each row, a function of its values alone.

    Parameters
    ----------
    A : array of shape (n, d)
    seed : int, default=0
        Another seed is another draw.
    """
    bits = (np.ascontiguousarray(A, dtype=np.float64) + 0.0).view(np.uint64)  # -0.0 is 0.0
    rounded = (bits + np.uint64(1 << (_DROPPED_BITS - 1))) >> np.uint64(_DROPPED_BITS)
    keys = np.full(len(A), seed, dtype=np.uint64)
    for column in rounded.T:
        keys = _mix(keys ^ column)
    return keys


def _mix(keys: Keys) -> Keys:
    # The finaliser of splitmix64 (Steele, Lea and Flood, 2014).
    keys = keys + np.uint64(0x9E3779B97F4A7C15)
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return keys ^ (keys >> np.uint64(31))


@dataclass(frozen=True)
class Sketch:
    """The distinct rows with the smallest keys: a uniform sample that merges exactly.

    ``a + b`` is the sketch of the union, so that the sample of a data set does not depend on how
    it was split.

    Attributes
    ----------
    rows : array of shape (k, d)
        At most ``capacity`` distinct rows, in the (random) order of their keys.
    weights : array of shape (k,)
        Total weight of each.
    keys : array of shape (k,)
    capacity : int
    """

    rows: Array
    weights: Array
    keys: Keys
    capacity: int

    @classmethod
    def of(cls, rows: Array, weights: Array, capacity: int, seed: int = 0) -> Sketch:
        """Sketch rows of shape (n, d) with weights of shape (n,); weight zero does not count."""
        present = weights > 0
        rows = rows[present]
        return cls._smallest(rows, weights[present], row_keys(rows, seed), capacity)

    @classmethod
    def _smallest(cls, rows: Array, weights: Array, keys: Keys, capacity: int) -> Sketch:
        keys, first, owner = np.unique(keys, return_index=True, return_inverse=True)
        totals = np.bincount(owner, weights=weights, minlength=len(keys)).astype(float)
        kept = slice(0, capacity)
        return cls(rows[first[kept]], totals[kept], keys[kept], capacity)

    def __add__(self, other: Sketch) -> Sketch:
        """Return the sketch of the union."""
        return self._smallest(
            np.concatenate([self.rows, other.rows]),
            np.concatenate([self.weights, other.weights]),
            np.concatenate([self.keys, other.keys]),
            min(self.capacity, other.capacity),
        )
