"""Feature maps: the finite families of functions of x and of z that moments are taken of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from scipy.linalg import eigh
from sklearn.base import BaseEstimator

from sagdiv._types import Array, Rows
from sagdiv.kernels import KERNELS, column_scales
from sagdiv.validation import check_integer, check_positive

__all__ = ["KernelFeatures"]

_MAX_COORDINATE_CENTERS = 300  # over all coordinates: a hundred instruments get three bumps each
_RANK_TOLERANCE = 1e-7
_BLOCK_ARRAYS = ("columns", "centers", "normalizer", "shift")


class KernelFeatures(BaseEstimator):
    """The constant, the standardised coordinates, and Nystroem features of a kernel.

    One block of features for each coordinate, with centres at its quantiles, and with several
    coordinates a further block for all of them together. Within a block the squared length of a
    coefficient vector is the squared RKHS norm of the function.

    Parameters
    ----------
    kernel : {"gaussian", "matern"}, default="gaussian"
    length_scale : float, default=1.0
        In standard deviations of a coordinate; raising it makes the functions smoother.
    n_per_coordinate : int, default=10
        Centres of the block of one coordinate; shared out when there are many coordinates.
    n_joint : int, default=40
        Centres of the joint block, rows of the sample.

    Attributes
    ----------
    location_, scale_ : arrays of shape (d,)
    blocks_ : list of Block
    groups_ : list of integer arrays
        Columns that belong together: those of a block, the coordinate itself with its own.
    n_affine_ : int
        The constant and the coordinates: the first 1 + d columns.
    n_features_in_ : int
        d.
    """

    def __init__(
        self,
        kernel: Literal["gaussian", "matern"] = "gaussian",
        *,
        length_scale: float = 1.0,
        n_per_coordinate: int = 10,
        n_joint: int = 40,
    ) -> None:
        self.kernel = kernel
        self.length_scale = length_scale
        self.n_per_coordinate = n_per_coordinate
        self.n_joint = n_joint

    def fit(self, rows: Array, weights: Array | None = None) -> KernelFeatures:
        """Learn location, spread and centres from sample rows in random order."""
        if self.kernel not in KERNELS:
            raise ValueError(f"kernel must be one of {sorted(KERNELS)}, got {self.kernel!r}.")
        check_positive(self.length_scale, "length_scale")
        check_integer(self.n_per_coordinate, "n_per_coordinate", at_least=1)
        check_integer(self.n_joint, "n_joint", at_least=1)
        d = rows.shape[1]
        self.location_ = np.average(rows, axis=0, weights=weights)
        self.scale_ = column_scales(rows, weights)
        self.n_affine_, self.n_features_in_ = 1 + d, d
        S = (rows - self.location_) / self.scale_
        self.blocks_ = []
        per_coordinate = min(self.n_per_coordinate, _MAX_COORDINATE_CENTERS // d)
        for j in range(d if per_coordinate > 1 else 0):
            centers = _quantiles(S[:, j], weights, per_coordinate)[:, None]
            self.blocks_.append(self._block(S, weights, np.array([j]), centers))
        if d > 1:
            centers = np.unique(S[: self.n_joint], axis=0)
            self.blocks_.append(self._block(S, weights, np.arange(d), centers))
        self.groups_ = self._groups()
        return self

    def transform(self, A: Array) -> Array:
        """Return the features of the rows of A, shape (n, b)."""
        S = (A - self.location_) / self.scale_
        return np.column_stack([np.ones(len(S)), S, *(block(S) for block in self.blocks_)])

    def columns_of(self, coordinates: Rows) -> Rows:
        """Return the columns of the features that depend on these coordinates alone."""
        columns, first = [1 + coordinates], self.n_affine_
        for block in self.blocks_:
            if np.isin(block.columns, coordinates).all():
                columns.append(np.arange(first, first + block.width))
            first += block.width
        return np.concatenate(columns)

    def to_arrays(self) -> dict[str, Any]:
        """Return parameters and fitted state as named arrays, from which `from_arrays` restores."""
        arrays = self.get_params() | {"location": self.location_, "scale": self.scale_}
        for i, block in enumerate(self.blocks_):
            arrays |= {f"block{i}_{name}": getattr(block, name) for name in _BLOCK_ARRAYS}
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> KernelFeatures:
        """Return the fitted feature map that `to_arrays` described."""
        features = cls(**{name: arrays[name].item() for name in cls._get_param_names()})
        features.location_, features.scale_ = arrays["location"], arrays["scale"]
        features.n_features_in_ = len(features.location_)
        features.n_affine_ = 1 + features.n_features_in_
        features.blocks_ = []
        while (prefix := f"block{len(features.blocks_)}_") + "columns" in arrays:
            state = {name: arrays[prefix + name] for name in _BLOCK_ARRAYS}
            length_scale = features._length_scale(state["columns"])
            features.blocks_.append(Block(features.kernel, length_scale, **state))
        features.groups_ = features._groups()
        return features

    def _length_scale(self, columns: Rows) -> float:
        # Distances grow like sqrt(d): the joint block is as smooth as those of the coordinates.
        return float(self.length_scale * len(columns) ** 0.5)

    def _block(self, S: Array, weights: Array | None, columns: Rows, centers: Array) -> Block:
        length_scale = self._length_scale(columns)
        gram = KERNELS[self.kernel](centers, centers, length_scale)
        values, vectors = eigh(gram)
        seen = values > _RANK_TOLERANCE * values[-1]
        block = Block(
            self.kernel,
            length_scale,
            columns,
            centers,
            vectors[:, seen] / np.sqrt(values[seen]),
            np.zeros(seen.sum()),
        )
        # Centred, so that constants are left to the constant.
        block.shift = np.average(block(S), axis=0, weights=weights)
        return block

    def _groups(self) -> list[Rows]:
        groups, first = [], self.n_affine_
        alone = set(range(1, self.n_affine_))
        for block in self.blocks_:
            members = np.arange(first, first + block.width)
            first += block.width
            if len(block.columns) == 1:
                alone.discard(1 + block.columns[0])
                members = np.append(1 + block.columns, members)
            groups.append(members)
        return groups + [np.array([column]) for column in sorted(alone)]


class Block:
    """Nystroem features of a kernel on some coordinates: k(s, centers) K^(-1/2), centred."""

    def __init__(
        self,
        kernel: str,
        length_scale: float,
        columns: Rows,
        centers: Array,
        normalizer: Array,
        shift: Array,
    ) -> None:
        self.kernel = kernel
        self.length_scale = length_scale
        self.columns = columns
        self.centers = centers
        self.normalizer = normalizer
        self.shift = shift

    @property
    def width(self) -> int:
        """Number of features."""
        return self.normalizer.shape[1]

    def __call__(self, S: Array) -> Array:
        """Return the features of standardised rows, shape (n, width)."""
        K = KERNELS[self.kernel](S[:, self.columns], self.centers, self.length_scale)
        return K @ self.normalizer - self.shift


def _quantiles(values: Array, weights: Array | None, n: int) -> Array:
    """Return at most n distinct values of the sample at the quantiles (i + 1/2) / n."""
    order = np.argsort(values)
    share = np.ones(len(values)) if weights is None else weights[order]
    cumulated = np.cumsum(share) / share.sum()
    # A hair below each level: the rounding of the sums must not move a centre.
    levels = (np.arange(n) + 0.5) / n - 1e-9
    return np.unique(values[order[np.searchsorted(cumulated, levels)]])
