"""What estimators with networks share: images at the door, and one network that predicts."""

from __future__ import annotations

from typing import Any

import numpy as np

from sagdiv._types import Array, Data
from sagdiv.base import IVRegressor
from sagdiv.kernels import column_scales
from sagdiv.neural.networks import Network, Shape

__all__ = ["ImageInputs", "NetworkRegressor"]


class ImageInputs(IVRegressor):
    """Lets X and Z be arrays of images, shape (n, height, width[, channels]).

    Images are flattened at the door, and only the networks give them their shape back; everything
    between sees rows.
    """

    x_shape_: Shape
    z_shape_: Shape

    def _check_fit_input(
        self, X: Data, y: Data, Z: Data, *, reset: bool = True
    ) -> tuple[Array, Array, Array]:
        if not reset:
            _check_shape(X, self.x_shape_, "X")
            _check_shape(Z, self.z_shape_, "Z")
        rows = super()._check_fit_input(_flat(X), y, _flat(Z), reset=reset)
        if reset:
            self.x_shape_ = _row_shape(X) or (self.n_features_in_,)
            self.z_shape_ = _row_shape(X if Z is None else Z) or (self.n_instruments_in_,)
        return rows

    def _check_predict_input(self, X: Data) -> Array:
        _check_shape(X, getattr(self, "x_shape_", None), "X")
        return super()._check_predict_input(_flat(X))

    def _check_instruments(self, Z: Any, name: str = "Z") -> Array:
        _check_shape(Z, getattr(self, "z_shape_", None), name)
        return super()._check_instruments(_flat(Z), name)


class NetworkRegressor(ImageInputs):
    """An estimator whose answer is one network of x, in the units of y."""

    network_: Network
    y_location_: float
    y_scale_: float

    def predict(self, X: Data) -> Array:
        """Return h^ at the rows of X, shape (n,)."""
        X = self._check_predict_input(X)
        return self.y_location_ + self.y_scale_ * self.network_(X)[:, 0]

    def _standardize_outcome(self, y: Array) -> Array:
        self.y_location_, self.y_scale_ = float(y.mean()), float(column_scales(y[:, None])[0])
        return (y - self.y_location_) / self.y_scale_


def _row_shape(A: Data) -> Shape | None:
    """Return the shape of one image, None for a table."""
    return tuple(np.shape(A)[1:]) if getattr(A, "ndim", 0) > 2 else None


def _flat(A: Data) -> Data:
    return np.reshape(A, (len(A), -1)) if getattr(A, "ndim", 0) > 2 else A


def _check_shape(A: Data, expected: Shape | None, name: str) -> None:
    shape = _row_shape(A)
    if shape is not None and expected is not None and shape != expected:
        raise ValueError(
            f"{name} has rows of shape {shape}, but those of the fit had shape {expected}."
        )
