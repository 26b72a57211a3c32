"""Any smooth convex loss on the moments engine: the flow of a local quadratic model, repeated.

At the current h the projected risk mean loss(y, P^[h](z)) is replaced by its second-order model,
whose gradient flow from the affine start is known exactly (`sagdiv.flow`); this is repeated until
P^[h] stands still. With the squared loss the model is exact and one round is all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from sagdiv._types import Array
from sagdiv.damped import settle
from sagdiv.first_stage import FirstStage
from sagdiv.flow import Flow
from sagdiv.protocols import Loss

__all__ = ["MAX_ROUNDS", "LocalModel", "Rest", "descend_deviance"]

MAX_ROUNDS = 50
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
    value, squared_slopes, curvature : float
        Sums of loss, of loss'^2 and of loss''.
    """

    n: float
    G: Array
    c: Array
    value: float
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
            float(weights @ loss.value(y, v)),
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
            self.value + other.value,
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
        return Flow(H + self.penalty(stage), H @ a - B.T @ (self.c / self.n), H / self.n, n_free)

    def penalty(self, stage: FirstStage) -> Array:
        """Return the matrix of what the first stage adds to the risk, in the unit of the loss."""
        B = stage.B
        return self.curvature / self.n * (B.T @ (stage.ridge[:, None] * B) + stage.lift)


@dataclass(frozen=True)
class Rest:
    """Where a descent came to rest: the coefficients of h, the risk around it, and if it did."""

    a: Array
    model: LocalModel
    flow: Flow
    settled: bool = False


def descend_deviance(
    total: Callable[[Any], Any],
    loss: Loss,
    z_features: Any,
    stage: FirstStage,
    n_free: int,
    t: float,
    near_start: Array | None = None,
    near_rest: Array | None = None,
    grain: float = 0.0,
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
    grain : float, default=0.0
        By how much P^[h] may move and still stand still, even if that is much to the loss.
    """
    P_gram = stage.B.T @ stage.Gz @ stage.B

    def around(a: Array) -> Rest:
        model = total(partial(LocalModel.projected, loss, z_features, stage.B @ a))
        return Rest(a, model, model.flow(a, stage, n_free))

    def length(move: Array) -> float:
        return float(np.sqrt(max(0.0, float(move @ P_gram @ move)))) / loss.width

    def stopped(t: float, here: Rest) -> Rest:
        def target(here: Rest) -> Array:
            return here.flow.coefficients(t, 0.0)

        def objective(here: Rest) -> Callable[[Rest], float]:
            penalty = here.model.penalty(stage)

            def height(there: Rest) -> float:
                risk = there.model.value / there.model.n
                return float(risk + there.a @ penalty @ there.a / 2 + here.flow.toll(there.a, t))

            return height

        there, settled = settle(
            here,
            around,
            target,
            objective,
            length,
            rounds=MAX_ROUNDS,
            standstill=max(_STANDSTILL, grain / loss.width),
            reach=_REACH,
        )
        return replace(there, settled=settled)

    start = stopped(0.0, around(np.zeros(stage.B.shape[1]) if near_start is None else near_start))
    return start, stopped(t, start if near_rest is None else around(near_rest))
