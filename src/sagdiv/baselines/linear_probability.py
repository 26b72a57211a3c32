"""Two-stage least squares on a binary outcome: the linear probability model."""

from __future__ import annotations

import numpy as np

from sagdiv._types import Array, Data
from sagdiv.baselines.bases import with_ones
from sagdiv.baselines.binary_outcome import BinaryOutcome
from sagdiv.baselines.identification import LINE_ADVICE, warn_if_short
from sagdiv.linear import projected, second_stage
from sagdiv.protocols import Loss

__all__ = ["LinearProbability"]


class LinearProbability(BinaryOutcome):
    r"""2SLS of the 0/1 outcome, its line put on the scale of h.

    .. math:: \hat h(x) = \{a + b'x - \tfrac12\} / F'(0), \quad (a, b) \text{ by 2SLS of } y

    2SLS fits a probability; F(h) = 1/2 + F'(0) h + ... near h = 0, so that `predict` returns the h
    whose tangent line the fit is. ``intercept_ + X @ coef_`` is the fitted probability itself.

    Parameters
    ----------
    loss : Loss, default=None
        None is ``LogisticLoss()``; its scale is the unit of h.

    Attributes
    ----------
    intercept_ : float
    coef_ : array of shape (dx,)
        On the scale of probabilities.
    slope_ : float
        F'(0).
    classes_ : array of shape (2,)

    Notes
    -----
    When it fails: wherever probabilities are not close to linear in h, that is outside of about
    [0.2, 0.8]; the slope is then too small, and fitted probabilities leave [0, 1].

    References
    ----------
    Angrist (2001), Estimation of Limited Dependent Variable Models with Dummy Endogenous
    Regressors.
    """

    def __init__(self, loss: Loss | None = None) -> None:
        self.loss = loss

    def fit(self, X: Data, y: Data, Z: Data = None) -> LinearProbability:
        """Fit both stages.

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
        B = with_ones(X)
        solver, rank = second_stage(B, projected(B, with_ones(Z)))
        warn_if_short(B, rank, LINE_ADVICE)
        beta = solver @ y
        self.intercept_, self.coef_ = float(beta[0]), beta[1:]
        # The Fisher information F'^2 / (F (1 - F)) at h = 0 is 4 F'(0)^2.
        self.slope_ = float(np.sqrt(self._loss.d22(0.5, 0.0))) / 2
        return self

    def predict(self, X: Data) -> Array:
        """Return h^ at the rows of X, shape (n,)."""
        X = self._check_predict_input(X)
        return (self.intercept_ - 0.5 + X @ self.coef_) / self.slope_
