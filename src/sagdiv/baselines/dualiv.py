"""Dual instrumental variable regression (Muandet, Mehrjou, Lee and Raj, 2020)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import solve
from sklearn.utils import check_random_state

from sagdiv._types import Array, Data, Seed
from sagdiv.baselines.kernel_solution import KernelCoordinates, KernelSolution
from sagdiv.kernels import MedianKernel
from sagdiv.ridge import RidgePath, tuned
from sagdiv.splitting import nuisance_split
from sagdiv.validation import check_positive

__all__ = ["DualIV"]

_DUAL_DECADES = (-5, 0)
_DECADES = (-5, 0)


class DualIV(KernelSolution):
    r"""The saddle point of min_h max_u E[(h(X) - Y) u(Y, Z)] - E[u(Y, Z)^2] / 2, in closed form.

    .. math:: \hat h(x) = \beta' K_{Xx}, \quad \beta = (M K + n \lambda_2 K)^{-1} M y, \quad
              M = K (L + n \lambda_1 I)^{-1} L

    with K the kernel of X and L that of w = (y, z). On a random half of the data the pairs
    (lambda_1, lambda_2) are fitted; the pair is kept whose dual function
    u(w) = l(w)' (L + small I)^-1 (K beta - y) has the smallest mean square on the *other* half, and
    the fit is repeated on all rows.

    Parameters
    ----------
    bandwidth : float, default=0.3
        Length scale in units of the median heuristic, the same for X and (y, Z); raising it makes
        h smoother.
    dual_ridge : float, default=None
        lambda_1; None tunes it. Raising it weakens the adversary u.
    ridge : float, default=None
        lambda_2; None tunes it. Raising it shrinks h towards its mean.
    small : float, default=1e-4
        Keeps the dual function of the validation defined. The paper gives no rule for it, and the
        pair that is chosen depends on it.
    random_state : int, RandomState instance or None, default=None
        Draws the halves.

    Attributes
    ----------
    dual_ridge_, ridge_ : float
        The parameters in use.
    dual_ridge_search_, ridge_search_ : Search or None
        log10 of the values tried and their scores, the second one at the chosen ``dual_ridge_``;
        None for a given parameter.
    nodes_ : array of shape (n, dx)
        The training X.
    dual_coef_ : array of shape (n,)
        beta, up to combinations that do not change h.
    intercept_ : float
        Mean of y, which is taken off before the fit.

    Notes
    -----
    When it fails: the outcome itself is part of the instrument of the dual function, and the
    validation score is small wherever h interpolates y; the choice of the ridge parameters is
    noisy, and draws far worse than the median happen.

    References
    ----------
    Muandet, Mehrjou, Lee and Raj (2020), Dual Instrumental Variable Regression.
    """

    def __init__(
        self,
        *,
        bandwidth: float = 0.3,
        dual_ridge: float | None = None,
        ridge: float | None = None,
        small: float = 1e-4,
        random_state: Seed = None,
    ) -> None:
        self.bandwidth = bandwidth
        self.dual_ridge = dual_ridge
        self.ridge = ridge
        self.small = small
        self.random_state = random_state

    def fit(self, X: Data, y: Data, Z: Data = None) -> DualIV:
        """Choose the two ridge parameters on halves of the data and solve on all of it.

        Parameters
        ----------
        X : array of shape (n, dx)
            Regressors.
        y : array of shape (n,)
            Outcome.
        Z : array of shape (n, dz)
            Instruments. Without them X is its own instrument.
        """
        self._check_parameters()
        X, y, Z = self._check_fit_input(X, y, Z)
        intercept = float(y.mean())
        y = y - intercept
        n = len(X)
        W = np.column_stack([y, Z])
        L = MedianKernel(W, self.bandwidth).between(np.arange(n), np.arange(n))
        phi = KernelCoordinates(MedianKernel(X, self.bandwidth))
        Phi = phi.at_landmarks

        self._choose_ridges(L, Phi, y)
        # M K = K S with S = (L + n l1 I)^-1 L, and K = Phi Phi': only S Phi and S y are needed.
        L_ridged = L + n * self.dual_ridge_ * np.eye(n)
        smoothed = L @ solve(L_ridged, np.column_stack([Phi, y]), assume_a="pos")
        path = RidgePath(_symmetric(Phi.T @ smoothed[:, :-1]))
        theta = path.solve(Phi.T @ smoothed[:, -1], n * self.ridge_)
        self._keep([phi], [theta], intercept)
        return self

    def _choose_ridges(self, L: Array, Phi: Array, y: Array) -> None:
        train, held_out = nuisance_split(len(y), 0.5, check_random_state(self.random_state))
        n = len(train)
        path = RidgePath(L[np.ix_(train, train)])
        Phi, y = Phi[train], y[train]
        # u at the held-out rows is the residual of the training rows, carried over by the kernel.
        carry = L[np.ix_(held_out, train)]
        carried_Phi = carry @ path.solve(Phi, self.small)
        carried_y = carry @ path.solve(y, self.small)
        rotated_Phi, rotated_y = path.vectors.T @ Phi, path.vectors.T @ y

        def along_ridge(dual_ridge: float) -> Callable[[float], float]:
            kept = path.values / (path.values + n * dual_ridge)  # S = (L + n l1 I)^-1 L
            smoothed = (kept * rotated_Phi.T).T
            inner, right = RidgePath(rotated_Phi.T @ smoothed), smoothed.T @ rotated_y

            def mean_square_of_dual(log_ridge: float) -> float:
                theta = inner.solve(right, n * 10.0**log_ridge)
                return float(np.mean((carried_Phi @ theta - carried_y) ** 2))

            return mean_square_of_dual

        def best_along_ridge(log_dual_ridge: float) -> float:
            score = along_ridge(10.0**log_dual_ridge)
            ridge, search = tuned(self.ridge, lambda: score, _DECADES)
            return score(np.log10(ridge)) if search is None else float(search.scores.min())

        self.dual_ridge_, self.dual_ridge_search_ = tuned(
            self.dual_ridge, lambda: best_along_ridge, _DUAL_DECADES
        )
        self.ridge_, self.ridge_search_ = tuned(
            self.ridge, lambda: along_ridge(self.dual_ridge_), _DECADES
        )

    def _check_parameters(self) -> None:
        for name in ("bandwidth", "small"):
            check_positive(getattr(self, name), name)
        for name in ("dual_ridge", "ridge"):
            if getattr(self, name) is not None:
                check_positive(getattr(self, name), name)


def _symmetric(A: Array) -> Array:
    return (A + A.T) / 2
