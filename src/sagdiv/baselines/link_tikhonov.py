"""Regularised inversion of P h = F^-1(r) for a binary outcome (Centorrino and Florens, 2021)."""

from __future__ import annotations

import numpy as np

from sagdiv._types import Array
from sagdiv.baselines.binary_outcome import BinaryOutcome
from sagdiv.baselines.kernel_tikhonov import Error, KernelTikhonov
from sagdiv.protocols import Loss
from sagdiv.validation import check_positive

__all__ = ["LinkTikhonov"]

_CAUTION = 2.0  # as in Akaike's criterion, doubled: the first stage spends the data once more


class LinkTikhonov(BinaryOutcome, KernelTikhonov):
    r"""The equation E[h(X)|Z] = F^-1(P(Y = 1|Z)) with local averages, Tikhonov regularised.

    .. math:: \hat h = (\alpha I + T^* T)^{-1} T^* F^{-1}(\hat r)

    T and T* are Nadaraya-Watson averages and r^ = T y, kept away from 0 and 1, where F^-1 is
    infinite. alpha minimises the cross-entropy of y at T h plus twice the
    degrees of freedom of the fit, by the row.

    Parameters
    ----------
    loss : Loss, default=None
        None is ``LogisticLoss()``; its scale is the unit of h.
    trim : float, default=0.001
        r^ is clipped to [trim, 1 - trim]. Raising it trades variance for a bias where the
        probabilities are extreme.
    bandwidth : float, default=1.0
        Length scale in units of the rule of thumb, std * n^(-1 / (d + 4)) for each of d columns;
        raising it averages over more neighbours.
    ridge : float, default=None
        alpha; None chooses it. Raising it shrinks h towards zero.

    Attributes
    ----------
    ridge_ : float
        alpha in use.
    ridge_search_ : Search or None
        log10(alpha) tried and their scores; None for a given ridge.
    nodes_ : array of shape (n, dx)
        The training X.
    moments_ : array of shape (n,)
        g with h^ = T* g.
    classes_ : array of shape (2,)

    Notes
    -----
    When it fails: F^-1 is steep near 0 and 1, so that the error of r^ is amplified exactly where
    the outcome is almost certain, and trimming replaces it by a bias.

    References
    ----------
    Centorrino and Florens (2021), Nonparametric Instrumental Variable Estimation of Binary Response
    Models with Continuous Endogenous Regressors.
    """

    _decades = (-2, 0)

    def __init__(
        self,
        loss: Loss | None = None,
        *,
        trim: float = 0.001,
        bandwidth: float = 1.0,
        ridge: float | None = None,
    ) -> None:
        super().__init__("tikhonov", bandwidth=bandwidth, ridge=ridge)
        self.loss = loss
        self.trim = trim

    def _intercept(self, y: Array) -> float:
        return 0.0  # h = 0 is P(Y = 1|Z) = 1/2

    def _problem(self, y: Array, r: Array) -> tuple[Array, Error]:
        loss = self._loss

        def error(fitted: Array, dof: float) -> float:
            return float(np.mean(loss.value(y, fitted))) + _CAUTION * dof / len(y)

        return loss.link(r.clip(self.trim, 1 - self.trim)), error

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_positive(self.trim, "trim")
        if self.trim >= 0.5:
            raise ValueError(f"trim must lie in (0, 0.5), got {self.trim!r}.")
