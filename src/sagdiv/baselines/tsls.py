"""Two-stage least squares, linear or on a series (Theil, 1953; Newey and Powell, 2003)."""

from __future__ import annotations

from typing import Literal

import numpy as np
from sklearn.utils import check_random_state

from sagdiv._types import Array, Data, Rows, Seed
from sagdiv.base import IVRegressor
from sagdiv.baselines.bases import Basis, Linear, Polynomial, spline_pair, with_ones
from sagdiv.baselines.identification import warn_if_short
from sagdiv.linear import least_squares, projected, second_stage, two_stage_least_squares
from sagdiv.splitting import random_folds
from sagdiv.validation import check_integer

__all__ = ["TSLS"]

_KNOT_CANDIDATES = (2, 3, 4, 5, 6, 7, 8)
_N_FOLDS = 5
_ADVICE = "Use fewer of them (degree, n_knots, or basis=None), or an instrument of more values."


class TSLS(IVRegressor):
    r"""Two-stage least squares with an intercept, linear or on a polynomial or spline basis.

    .. math:: \hat\beta = (\hat B' \hat B)^{-1} \hat B' y, \quad
              \hat B = Q (Q'Q)^{-1} Q' B, \quad \hat h(x) = b(x)' \hat\beta

    B and Q hold the basis functions of X and of Z, each with a column of ones. Columns of X that
    are exogenous belong into Z too.

    Parameters
    ----------
    basis : {None, "polynomial", "spline"}, default=None
        None is the columns themselves; the others are additive over columns.
    degree : int, default=3
        Degree of the polynomials, of X and of Z. Raising it bends h more.
    n_knots : int, default=None
        Knots of the natural cubic splines in each column of X; Z has twice as many functions. None
        is the fewest, from 2 to 8, whose error of predicting y from E[h(X)|Z] across folds is
        within one standard error of the smallest.
    cov_type : {"robust", "homoskedastic"}, default="robust"
        What ``cov_`` allows the variance of the errors to do.
    small_sample : bool, default=False
        Multiply ``cov_`` by n / (n - number of coefficients): HC1 in place of HC0.
    random_state : int, RandomState instance or None, default=None
        Draws the folds that choose ``n_knots``.

    Attributes
    ----------
    intercept_ : float
    coef_ : array of shape (k,)
        Coefficients of the basis functions; of the columns of X for ``basis=None``.
    cov_ : array of shape (1 + k, 1 + k)
        Covariance of the intercept and the coefficients, given the basis.
    standard_errors_ : array of shape (1 + k,)
        Roots of its diagonal.
    n_knots_ : int
        Number of knots in use; only for splines.

    Notes
    -----
    When it fails: linear, where h is not, as precisely as ever; on a series, where the instrument
    is weak for the higher functions of it: their coefficients are then mostly noise. Where it does
    not identify them at all (an instrument of two values and a cubic), it says so in a
    `WeakInstrumentWarning`.

    References
    ----------
    Theil (1953), Repeated Least Squares Applied to Complete Equation Systems.
    Newey and Powell (2003), Instrumental Variable Estimation of Nonparametric Models.
    White (1982), Instrumental Variables Regression with Independent Observations.

    Examples
    --------
    >>> from sagdiv.baselines import TSLS
    >>> from sagdiv.datasets import make_continuous
    >>> data = make_continuous("linear", 1000, random_state=0)
    >>> model = TSLS().fit(data.X, data.y, data.Z)
    >>> bool(abs(model.coef_[0] - 1) < 3 * model.standard_errors_[1])
    True
    """

    def __init__(
        self,
        basis: Literal["polynomial", "spline"] | None = None,
        *,
        degree: int = 3,
        n_knots: int | None = None,
        cov_type: Literal["robust", "homoskedastic"] = "robust",
        small_sample: bool = False,
        random_state: Seed = None,
    ) -> None:
        self.basis = basis
        self.degree = degree
        self.n_knots = n_knots
        self.cov_type = cov_type
        self.small_sample = small_sample
        self.random_state = random_state

    def fit(self, X: Data, y: Data, Z: Data = None) -> TSLS:
        """Fit both stages.

        Parameters
        ----------
        X : array of shape (n, dx)
            Regressors.
        y : array of shape (n,)
            Outcome.
        Z : array of shape (n, dz)
            Instruments, at least as many as regressors. Without them X is its own instrument.
        """
        self._check_parameters()
        self.__dict__.pop("n_knots_", None)  # of an earlier fit with another basis
        X, y, Z = self._check_fit_input(X, y, Z)
        if self.basis is None and Z.shape[1] < X.shape[1]:
            raise ValueError(
                f"Z has {Z.shape[1]} columns for the {X.shape[1]} of X: linear 2SLS needs an "
                "instrument for every regressor. Exogenous columns of X are their own instruments; "
                "append them to Z."
            )
        self._basis, z_basis = self._bases(X, y, Z)
        B, Q = with_ones(self._basis(X)), with_ones(z_basis(Z))
        if self.small_sample and len(B) <= B.shape[1]:
            raise ValueError(
                f"small_sample=True divides by n less the number of coefficients, and there are "
                f"{len(B)} rows for {B.shape[1]} of them; pass small_sample=False, or more rows."
            )
        solver, rank = second_stage(B, projected(B, Q))
        warn_if_short(B, rank, _ADVICE)
        beta = solver @ y
        self.intercept_, self.coef_ = float(beta[0]), beta[1:]
        self.cov_ = self._covariance(solver, y - B @ beta)
        self.standard_errors_ = np.sqrt(self.cov_.diagonal())
        return self

    def predict(self, X: Data) -> Array:
        """Return h^ at the rows of X, shape (n,)."""
        X = self._check_predict_input(X)
        return self.intercept_ + self._basis(X) @ self.coef_

    def _bases(self, X: Array, y: Array, Z: Array) -> tuple[Basis, Basis]:
        if self.basis is None:
            return Linear(), Linear()
        if self.basis == "polynomial":
            return Polynomial(X, self.degree), Polynomial(Z, self.degree)
        if self.n_knots is None:
            rng = check_random_state(self.random_state)
            self.n_knots_ = _choose_knots(X, y, Z, random_folds(len(y), _N_FOLDS, rng))
        else:
            self.n_knots_ = self.n_knots
        return spline_pair(X, Z, self.n_knots_)

    def _covariance(self, solver: Array, residuals: Array) -> Array:
        k, n = solver.shape  # beta = solver y, the matrix of the sandwich
        if self.cov_type == "robust":
            influence = solver * residuals
        else:
            influence = solver * np.sqrt(np.mean(residuals**2))
        covariance = influence @ influence.T
        return covariance * (n / (n - k)) if self.small_sample else covariance

    def _check_parameters(self) -> None:
        if self.basis not in (None, "polynomial", "spline"):
            raise ValueError(f"basis must be None, 'polynomial' or 'spline', got {self.basis!r}.")
        if self.cov_type not in ("robust", "homoskedastic"):
            raise ValueError(
                f"cov_type must be 'robust' or 'homoskedastic', got {self.cov_type!r}."
            )
        check_integer(self.degree, "degree", at_least=1)
        if self.n_knots is not None:
            check_integer(self.n_knots, "n_knots", at_least=2)


def _choose_knots(X: Array, y: Array, Z: Array, folds: Rows) -> int:
    """Return the fewest knots whose held-out error is within one standard error of the best."""
    errors = np.array([_held_out_errors(X, y, Z, folds, k) for k in _KNOT_CANDIDATES])
    excess = errors - errors[errors.mean(axis=1).argmin()]
    acceptable = excess.mean(axis=1) <= excess.std(axis=1) / np.sqrt(len(y))
    return _KNOT_CANDIDATES[int(np.argmax(acceptable))]


def _held_out_errors(X: Array, y: Array, Z: Array, folds: Rows, n_knots: int) -> Array:
    """Return the squared error of E[h(X)|Z] for the y of each row, fitted on the other folds."""
    x_basis, z_basis = spline_pair(X, Z, n_knots)
    B, Q = with_ones(x_basis(X)), with_ones(z_basis(Z))
    errors = np.empty(len(y))
    for fold in np.unique(folds):
        out, kept = folds == fold, folds != fold
        h = B[kept] @ two_stage_least_squares(B[kept], y[kept], Q[kept])
        errors[out] = (y[out] - Q[out] @ least_squares(Q[kept], h)) ** 2
    return errors
