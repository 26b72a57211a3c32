"""Two-step probit with a control function (Rivers and Vuong, 1988)."""

from __future__ import annotations

import numpy as np

from sagdiv._types import Array, Data
from sagdiv.baselines.bases import Polynomial, with_ones
from sagdiv.baselines.binary_outcome import BinaryOutcome
from sagdiv.baselines.identification import LINE_ADVICE, warn_if_short
from sagdiv.control_function import ControlFunction
from sagdiv.linear import least_squares, second_stage
from sagdiv.protocols import Loss
from sagdiv.rows import RowBlocks

__all__ = ["ControlFunctionProbit"]


class ControlFunctionProbit(BinaryOutcome):
    r"""A probit of y on X and on the residuals of X given Z.

    .. math:: P(Y = 1 | X, Z) = \mathcal N(a + b'x + c'v), \quad v = X - \hat E[X|Z], \quad
              \hat h(x) = s\, (a + b'x)

    with E[X|Z] linear, and s such that the disturbance s {(b + c)'v + e} of E[h(X)|Z] has the
    variance that ``loss`` says.

    Parameters
    ----------
    loss : Loss, default=None
        None is ``LogisticLoss()``; its scale is the unit of h.

    Attributes
    ----------
    intercept_ : float
    coef_ : array of shape (dx,)
        On the scale of h.
    classes_ : array of shape (2,)

    Notes
    -----
    When it fails: h that is not a straight line is missed, however much data there is, and
    errors that are not jointly normal are a bias; where both hold, nothing is more precise.

    References
    ----------
    Rivers and Vuong (1988), Limited Information Estimators and Exogeneity Tests for Simultaneous
    Probit Models.
    """

    def __init__(self, loss: Loss | None = None) -> None:
        self.loss = loss

    def fit(self, X: Data, y: Data, Z: Data = None) -> ControlFunctionProbit:
        """Fit both steps.

        Parameters
        ----------
        X : array of shape (n, dx)
            Regressors.
        y : array of shape (n,)
            Outcome, with two values.
        Z : array of shape (n, dz)
            Instruments. Without them X is its own instrument.
        """
        X, y, Z = self._check_fit_input(X, y, Z)
        x_features, z_features = _Affine(X), _Affine(Z)
        phi, psi = x_features.transform(X), z_features.transform(Z)
        B = least_squares(psi, phi)
        warn_if_short(phi, second_stage(phi, psi @ B)[1], LINE_ADVICE)
        control = ControlFunction(x_features, z_features, B)
        rows = RowBlocks(X, y, Z, np.ones(len(y)))
        beta = control.fit(rows.total, self._loss.noise_variance)
        standardised = x_features.standardised
        self.coef_ = beta[1:] / standardised.scale
        self.intercept_ = float(beta[0] - self.coef_ @ standardised.location)
        return self

    def predict(self, X: Data) -> Array:
        """Return h^ at the rows of X, shape (n,)."""
        X = self._check_predict_input(X)
        return self.intercept_ + X @ self.coef_


class _Affine:
    """The constant and the standardised columns, as a feature map."""

    def __init__(self, rows: Array) -> None:
        self.standardised = Polynomial(rows, 1)

    def transform(self, A: Array) -> Array:
        return with_ones(self.standardised(A))
