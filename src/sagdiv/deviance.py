"""Any smooth convex loss on the moments engine: the flow of a local quadratic model, repeated.

At the current h the projected risk mean loss(y, P^[h](z)) is replaced by its second-order model,
whose gradient flow from the affine start is known exactly (`sagdiv.flow`); this is repeated until
P^[h] stands still. With the squared loss the model is exact and one round is all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from sagdiv._types import Array
from sagdiv.first_stage import FirstStage
from sagdiv.flow import Flow
from sagdiv.protocols import Loss

__all__ = ["LocalModel", "descend_deviance"]

_MAX_ROUNDS = 25
_STANDSTILL = 1e-2  # of the width of the loss, root mean square over z
_REACH = 4.0  # how many widths P^[h] may move in one round
_LEAST_CURVATURE = 1e-6  # of the largest, where the loss is flat


@dataclass(frozen=True)
class LocalModel:
    """Sums over rows that describe the projected risk near one h; they add up over blocks.

    Attributes
    ----------
    n : float
        Total weight.
    G : array of shape (bz, bz)
        Sum of loss'' psi psi'.
    c : array of shape (bz,)
        Sum of loss' psi.
    squared_slopes, curvature : float
        Sums of loss'^2 and of loss''.
    """

    n: float
    G: Array
    c: Array
    squared_slopes: float
    curvature: float

    @classmethod
    def of(
        cls,
        loss: Loss,
        z_features: Any,
        coefficients: Array,
        X: Array,
        y: Array,
        Z: Array,
        weights: Array,
    ) -> LocalModel:
        """Sum over a block of rows, P^[h](z) being psi(z)' coefficients."""
        psi = z_features.transform(Z)
        v = psi @ coefficients
        slopes = loss.d2(y, v)
        curvatures = np.maximum(loss.d22(y, v), _LEAST_CURVATURE * loss.curvature)
        return cls(
            float(weights.sum()),
            (psi * (weights * curvatures)[:, None]).T @ psi,
            psi.T @ (weights * slopes),
            float(weights @ slopes**2),
            float(weights @ curvatures),
        )

    def __add__(self, other: LocalModel) -> LocalModel:
        """Return the sums over both sets of rows."""
        return LocalModel(
            self.n + other.n,
            self.G + other.G,
            self.c + other.c,
            self.squared_slopes + other.squared_slopes,
            self.curvature + other.curvature,
        )

    @property
    def dispersion(self) -> float:
        """Mean squared slope over mean curvature: the noise variance that the shrinkage needs."""
        return self.squared_slopes / self.curvature

    def flow(self, a: Array, stage: FirstStage, n_free: int) -> Flow:
        """Return the gradient flow of the model around h = phi'a."""
        B = stage.B
        H = B.T @ (self.G / self.n) @ B
        S = H + self.curvature / self.n * B.T @ (stage.ridge[:, None] * B)
        return Flow(S, H @ a - B.T @ (self.c / self.n), H / self.n, n_free)


def descend_deviance(
    total: Callable[[Any], Any],
    loss: Loss,
    z_features: Any,
    stage: FirstStage,
    n_free: int,
    t: float,
) -> tuple[Flow, LocalModel]:
    """Return the flow of the local model at which the descent came to rest, and that model.

    Parameters
    ----------
    total : callable
        Sums a function of (X, y, Z, weights) over all rows.
    loss : Loss
    z_features : fitted feature map of the instruments
    stage : FirstStage
    n_free : int
        Leading coefficients that are never penalised.
    t : float
        Total step.
    """
    P_gram = stage.B.T @ stage.Gz @ stage.B
    a = np.zeros(stage.B.shape[1])

    def model_at(a: Array) -> tuple[LocalModel, Flow]:
        model = total(partial(LocalModel.of, loss, z_features, stage.B @ a))
        return model, model.flow(a, stage, n_free)

    model, flow = model_at(a)
    for affine in (True, False):  # first the start, then the descent from it
        for _ in range(_MAX_ROUNDS):
            move = (flow.start if affine else flow.coefficients(t, 0.0)) - a
            length = np.sqrt(max(move @ P_gram @ move, 0.0) * loss.curvature)
            a = a + move * min(1.0, _REACH / max(length, 1e-12))
            model, flow = model_at(a)
            if length < _STANDSTILL:
                break
    return flow, model
