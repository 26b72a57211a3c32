r"""The control function probit, and how far an estimate of a binary outcome model trusts it.

With h affine, Y = 1{h(X) + e > 0} and errors that are jointly normal given Z, the residuals
v = X - E[X|Z] control for the confounding,

.. math:: P(Y = 1 | X, Z) = \mathcal N( b'x + c'v ),

an ordinary probit. P[h](Z) is b'E[X|Z] and its disturbance (b + c)'v + e, whose variance is known
in the binary models of this package; that fixes the scale of b.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.linalg import pinvh
from sklearn.exceptions import ConvergenceWarning

from sagdiv._types import Array
from sagdiv.damped import NOT_AT_REST, settle
from sagdiv.deviance import LocalModel, Rest
from sagdiv.first_stage import FirstStage
from sagdiv.losses import ProbitLoss, SquaredLoss
from sagdiv.user_warning import warn

__all__ = ["ControlFunction", "pooled"]

_MAX_ROUNDS = 50
_STANDSTILL = 1e-3  # of the probit index, root mean square
_REACH = 3.0  # how far the index may move in one round
_SEPARATED = 1e-2  # mean deviance
_RANK_TOLERANCE = 1e-10


@dataclass(frozen=True)
class ControlFunction:
    """Two-step estimation of an affine h: X on Z, then a probit on X and the residuals.

    Parameters
    ----------
    x_features, z_features : fitted feature maps
        The first p features of x are the constant and the regressors.
    B : array of shape (bz, p)
        First stage: E^[phi(X)|z] = B'psi(z).
    """

    x_features: Any
    z_features: Any
    B: Array

    def fit(self, total: Callable[[Any], Any], noise_variance: float) -> Array:
        """Return the coefficients of h in the first p features of x.

        Parameters
        ----------
        total : callable
            Sums a function of (X, y, Z, weights) over all rows.
        noise_variance : float
            Variance of the disturbance of P[h](Z).
        """
        p = self.B.shape[1]
        origin, loss = np.zeros(2 * p - 1), ProbitLoss()
        sums = total(partial(self._sums, SquaredLoss(), origin))
        gram = sums.G / sums.n

        def around(a: Array) -> _Probit:
            return _Probit(a, total(partial(self._sums, loss, a)))

        def length(move: Array) -> float:
            return float(np.sqrt(max(move @ gram @ move, 0.0)))

        here, settled = settle(
            around(origin),
            around,
            _Probit.target,
            lambda _: _Probit.height,
            length,
            rounds=_MAX_ROUNDS,
            standstill=_STANDSTILL,
            reach=_REACH,
        )
        # Where a line separates the outcomes the index runs away, but its direction, and with it
        # the answer, does not.
        if not settled and here.height() > _SEPARATED:
            warn(
                NOT_AT_REST.format(loss=loss, rounds=_MAX_ROUNDS),
                ConvergenceWarning,
            )
        a = here.a
        reduced = a[1:p] + a[p:]  # the disturbance of P[h](Z) is reduced'v + e, with var e = 1
        variance = 1 + reduced @ gram[p:, p:] @ reduced
        return a[:p] * np.sqrt(noise_variance / variance)

    def _sums(
        self, loss: Any, a: Array, X: Array, y: Array, Z: Array, weights: Array
    ) -> LocalModel:
        phi = self.x_features.transform(X)[:, : self.B.shape[1]]
        v = phi[:, 1:] - self.z_features.transform(Z) @ self.B[:, 1:]
        return LocalModel.of(loss, np.column_stack([phi, v]), a, y, weights)


@dataclass(frozen=True)
class _Probit:
    """Coefficients of the probit, and its deviance around them."""

    a: Array
    model: LocalModel

    def target(self) -> Array:
        """Return where Newton's method goes from here."""
        return self.a - pinvh(self.model.G, rtol=_RANK_TOLERANCE) @ self.model.c

    def height(self) -> float:
        """Return the mean deviance."""
        return self.model.value / self.model.n


def pooled(
    a: Array, reference: Array, start: Rest, stage: FirstStage, t: float
) -> tuple[Array, float]:
    r"""Return a moved towards an affine reference c, and the share w of a - c that it keeps.

    Positive-part James-Stein: w = (1 - df / T)_+, where T is the score statistic of "c is right"
    in the directions that a flow of total step t from the affine h_0 can reach, and df its
    expectation if c is right,

    .. math:: T = n (a_0 - c)' H (a_0 - c) + \sum_j f_j^2 \frac{c_j^2}{\mathrm{var}\, c_j},
              \qquad df = p + \sum_j f_j^2, \qquad f_j = 1 - e^{-e_j t} .

    Where c is wrong T grows like n, and a is left alone.

    Parameters
    ----------
    a : array of shape (bx,)
    reference : array of shape (p,)
        c, in the free coefficients.
    start : Rest
        h_0 and the risk around it.
    stage : FirstStage
    t : float

    References
    ----------
    James and Stein (1961), Estimation with Quadratic Loss.
    Green and Strawderman (1991), A James-Stein Type Estimator for Combining Unbiased and Possibly
    Biased Estimators.
    """
    p, flow, model = len(reference), start.flow, start.model
    gap = start.a[:p] - reference
    reach = np.expm1(-flow.values * t) ** 2
    T = model.n * gap @ model.hessian(stage)[:p, :p] @ gap
    T += reach @ (flow.scores**2 / flow.score_variances)
    kept = max(0.0, 1 - (p + reach.sum()) / max(T, 1e-300))
    towards = np.zeros(len(a))
    towards[:p] = reference
    return towards + kept * (a - towards), float(kept)
