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

__all__ = ["LocalModel", "Rest", "descend_deviance"]

_MAX_ROUNDS = 25
_STANDSTILL = 1e-2  # of the width of the loss, root mean square over z
_REACH = 4.0  # how many widths P^[h] may move in one round
_LEAST_CURVATURE = 1e-6  # of the largest, where the loss is flat


@dataclass(frozen=True)
class LocalModel:
    """Sums over rows that describe mean loss(y, f'c) near one c; they add up over blocks.

    Attributes
    ----------
    n : float
        Total weight.
    G : array of shape (b, b)
        Sum of loss'' f f'.
    c : array of shape (b,)
        Sum of loss' f.
    squared_slopes, curvature : float
        Sums of loss'^2 and of loss''.
    """

    n: float
    G: Array
    c: Array
    squared_slopes: float
    curvature: float

    @classmethod
    def of(cls, loss: Loss, f: Array, coefficients: Array, y: Array, weights: Array) -> LocalModel:
        """Sum over a block of rows with features f, shape (n, b), around the coefficients."""
        v = f @ coefficients
        slopes = loss.d2(y, v)
        curvatures = np.maximum(loss.d22(y, v), _LEAST_CURVATURE * loss.curvature)
        return cls(
            float(weights.sum()),
            (f * (weights * curvatures)[:, None]).T @ f,
            f.T @ (weights * slopes),
            float(weights @ slopes**2),
            float(weights @ curvatures),
        )

    @classmethod
    def projected(
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
        return cls.of(loss, z_features.transform(Z), coefficients, y, weights)

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

    def hessian(self, stage: FirstStage) -> Array:
        """Return the Hessian of the projected risk in the coefficients of h, shape (bx, bx)."""
        return stage.B.T @ (self.G / self.n) @ stage.B

    def flow(self, a: Array, stage: FirstStage, n_free: int) -> Flow:
        """Return the gradient flow of the model around h = phi'a."""
        B, H = stage.B, self.hessian(stage)
        S = H + self.curvature / self.n * (B.T @ (stage.ridge[:, None] * B) + stage.lift)
        return Flow(S, H @ a - B.T @ (self.c / self.n), H / self.n, n_free)


@dataclass(frozen=True)
class Rest:
    """Where a descent came to rest: the coefficients of h, and the risk around it."""

    a: Array
    model: LocalModel
    flow: Flow


def descend_deviance(
    total: Callable[[Any], Any],
    loss: Loss,
    z_features: Any,
    stage: FirstStage,
    n_free: int,
    t: float,
    near_start: Array | None = None,
    near_rest: Array | None = None,
) -> tuple[Rest, Rest]:
    """Return the affine start h_0, and where the flow from it comes to rest after total step t.

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
    near_start, near_rest : arrays of shape (bx,), default=None
        Coefficients where to look for the two; None is zero for the first, and the first for the
        second.
    """
    P_gram = stage.B.T @ stage.Gz @ stage.B

    def around(a: Array) -> Rest:
        model = total(partial(LocalModel.projected, loss, z_features, stage.B @ a))
        return Rest(a, model, model.flow(a, stage, n_free))

    def settle(here: Rest, target: Callable[[Flow], Array]) -> Rest:
        for _ in range(_MAX_ROUNDS):
            move = target(here.flow) - here.a
            length = float(np.sqrt(max(0.0, float(move @ P_gram @ move)))) / loss.width
            here = around(here.a + move * min(1.0, _REACH / max(length, 1e-12)))
            if length < _STANDSTILL:
                break
        return here

    a = np.zeros(stage.B.shape[1]) if near_start is None else near_start
    start = settle(around(a), lambda flow: flow.start)
    here = start if near_rest is None else around(near_rest)
    return start, settle(here, lambda flow: flow.coefficients(t, 0.0))
