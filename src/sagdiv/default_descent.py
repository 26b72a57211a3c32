"""The descents of the default estimator: from the first stage to the coefficients of h.

For the squared loss the moments are enough; any other loss visits the rows a few times more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.optimize import brentq
from sklearn.exceptions import ConvergenceWarning

from sagdiv._types import Array
from sagdiv.control_function import ControlFunction, pooled
from sagdiv.damped import NOT_AT_REST
from sagdiv.deviance import MAX_ROUNDS, Rest, descend_deviance
from sagdiv.feature_maps import FeatureMaps
from sagdiv.first_stage import FirstStage
from sagdiv.flow import Flow
from sagdiv.moments import Moments
from sagdiv.protocols import AdaptiveLoss, BinaryLoss, Loss
from sagdiv.sketch import Sketch
from sagdiv.user_warning import warn

__all__ = ["Answer", "descend_on_moments", "descend_on_rows"]

_RESIDUAL_ROWS = 20_000
_GRAIN = 1e-3  # of the spread of y: a narrow loss need not be met more closely
_MAX_LEVEL_DOUBLINGS = 100
_ROUNDING = float(np.finfo(float).eps)


@dataclass(frozen=True)
class Answer:
    """Where a descent has led.

    Attributes
    ----------
    coef : array of shape (bx,)
        Coefficients of h.
    flow : Flow
        The last one that was followed.
    total_step : float
    dispersion : float
        Variance of the disturbance.
    loss : Loss
        The loss in use, with whatever it learnt from the data.
    nonparametric_share : float or None
        Binary losses only: the share that `pooled` keeps.
    """

    coef: Array
    flow: Flow
    total_step: float
    dispersion: float
    loss: Loss
    nonparametric_share: float | None = None


def descend_on_moments(
    mean: Moments, n: float, stage: FirstStage, n_free: int, loss: Loss, total_step: float | None
) -> Answer:
    """Follow the flow of the projected squared risk, and shrink what does not stand above noise.

    Parameters
    ----------
    mean : Moments
        Averages over rows.
    n : float
        Number of rows.
    stage : FirstStage
    n_free : int
        Leading coefficients that are never penalised.
    loss : Loss
        The squared one.
    total_step : float or None
        None is `_default_step`, lengthened where there is clearly more to learn.
    """
    noise = stage.B.T @ mean.Gz @ stage.B / n
    flow = Flow(stage.hessian + stage.lift, stage.B.T @ mean.cz, noise, n_free)
    t = total_step
    if t is None:
        t = flow.lengthened(_default_step(n), _residual_variance(mean, flow.start))
    dispersion = 0.0
    for _ in range(2):
        dispersion = _residual_variance(mean, flow.coefficients(t, dispersion))
    return Answer(flow.coefficients(t, dispersion), flow, t, dispersion, loss)


def descend_on_rows(
    total: Callable[[Any], Any],
    maps: FeatureMaps,
    n: float,
    stage: FirstStage,
    n_free: int,
    loss: Loss,
    total_step: float | None,
    seed: int,
) -> Answer:
    """Descend the projected risk of any loss, as `descend_deviance` does.

    Parameters
    ----------
    total : callable
        Sums a function of (X, y, Z, weights) over all rows.
    maps : FeatureMaps
    n, stage, n_free, loss : as in `descend_on_moments`
    total_step : float or None
        None is `_default_step` over the curvature of the loss.
    seed : int
        Of the sample of rows from which a loss learns.
    """
    t = _default_step(n) / loss.curvature if total_step is None else total_step

    def descend(
        loss: Loss, near_start: Array, near_rest: Array | None = None, grain: float = 0.0
    ) -> tuple[Rest, Rest]:
        return descend_deviance(total, loss, maps.z, stage, n_free, t, near_start, near_rest, grain)

    def residuals(projected: Array) -> tuple[Array, Array]:
        sample = total(partial(_residuals, maps.z, projected, seed))
        return sample.rows[:, 0], sample.weights

    constant, outcomes = np.zeros(len(stage.hessian)), residuals(np.zeros(len(stage.B)))
    if isinstance(loss, AdaptiveLoss):
        # First from afar, with a loss as wide as the spread of y; then near the answer, with what
        # is learnt from y - P^[h](z). Neither averages tails.
        constant[0], wide = loss.first_guess(*outcomes)
        start, rest = descend(wide, constant)
        grain = _GRAIN * wide.width
        given, loss = loss, loss.adapted(*residuals(stage.B @ rest.a))
        if loss.width < grain:  # what a fit that interpolates leaves is no scale to learn
            loss = given.adapted(np.array([-grain, grain]))
        start, rest = descend(loss, start.a, rest.a, grain)
    else:
        constant[0] = _level(loss, *outcomes)
        start, rest = descend(loss, constant)
    if not (start.settled and rest.settled):
        warn(
            NOT_AT_REST.format(loss=loss, rounds=MAX_ROUNDS),
            ConvergenceWarning,
        )
    dispersion, share = rest.model.dispersion, None
    coef = rest.flow.coefficients(t, dispersion)
    if isinstance(loss, BinaryLoss):
        control = ControlFunction(maps.x, maps.z, stage.B[:, :n_free])
        reference = control.fit(total, loss.noise_variance)
        coef, share = pooled(coef, reference, start, stage, t)
    return Answer(coef, rest.flow, t, dispersion, loss, share)


def _default_step(n: float) -> float:
    # The one constant of the descent, chosen on simulated draws that no reported figure uses;
    # within a factor of two it makes little difference. In proportion to n a direction is learnt
    # where its signal stands above the noise of n rows; with few rows that would be too cautious.
    return max(500.0 * n**0.25, n / 2)


def _residual_variance(mean: Moments, a: Array) -> float:
    # Average of (y - phi'a)^2, y taken around its mean: what is left of its square is all rounding
    # otherwise where y is far from zero. The floors keep an exact fit from dividing by zero.
    level = mean.cx[0]
    around = a - level * np.eye(1, len(a))[0]
    cx, variance = mean.cx - level * mean.Gx[0], mean.yy - level**2
    left = variance - 2 * cx @ around + around @ mean.Gx @ around
    return max(float(left), 1e-12 * variance, _ROUNDING * mean.yy, 1e-300)


def _level(loss: Loss, outcomes: Array, weights: Array) -> float:
    """Return the constant of least mean loss, from which a descent finds its way.

    From zero it would have as far to go as y is from zero, over slopes that tell no direction.
    """

    def slope(v: float) -> float:
        return float(weights @ loss.d2(outcomes, np.full(len(outcomes), v)))

    unit = loss.width if np.isfinite(loss.width) else 1.0
    bounds = [-unit, unit]
    for side, sign in enumerate((-1, 1)):
        for _ in range(_MAX_LEVEL_DOUBLINGS):
            if sign * slope(bounds[side]) >= 0:
                break
            bounds[side] *= 2
    if not slope(bounds[0]) <= 0 <= slope(bounds[1]):
        return 0.0
    return float(brentq(slope, *bounds, xtol=1e-9 * unit))


def _residuals(
    z_features: Any, coefficients: Array, seed: int, X: Array, y: Array, Z: Array, weights: Array
) -> Sketch:
    residuals = y - z_features.transform(Z) @ coefficients
    return Sketch.of(residuals[:, None], weights, _RESIDUAL_ROWS, seed)
