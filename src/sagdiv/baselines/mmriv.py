"""Maximum moment restriction (Zhang, Imaizumi, Schoelkopf and Muandet, 2020)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sklearn.utils import check_random_state

from sagdiv._types import Array, Data, Seed
from sagdiv.baselines.kernel_solution import KernelCoordinates, KernelSolution
from sagdiv.kernels import MedianKernel
from sagdiv.ridge import RidgePath, tuned
from sagdiv.splitting import random_folds
from sagdiv.validation import check_integer, check_positive

__all__ = ["MMRIV"]

_DECADES = (-10, 0)


class MMRIV(KernelSolution):
    r"""The h whose residuals are least correlated, over pairs of rows, where the Z are close.

    .. math:: \hat h = \arg\min_h\, (y - h)' W (y - h) + \lambda \|h\|^2, \quad W = K_Z / n^2,
              \qquad \hat h(x) = \alpha' L_{Xx}, \quad
              \alpha = (L W L + \lambda L)^{-1} L W y

    with L the kernel of X. lambda minimises the leave-M-out error: M rows are left out of the
    objective, which is then evaluated on them. Leaving rows out subtracts their share of two
    small matrices, so that the error is exact and nothing is refitted on rows.

    Parameters
    ----------
    bandwidth : float, default=0.75
        Length scale in units of the median heuristic, the same for X and Z; raising it makes h
        smoother.
    ridge : float, default=None
        lambda; None tunes it. Raising it shrinks h towards its mean.
    n_folds : int, default=100
        Number of groups of M rows that are left out in turn.
    random_state : int, RandomState instance or None, default=None
        Draws the groups.

    Attributes
    ----------
    ridge_ : float
        The parameter in use.
    ridge_search_ : Search or None
        log10(lambda) tried and their leave-M-out errors; None for a given ridge.
    nodes_ : array of shape (n, dx)
        The training X.
    dual_coef_ : array of shape (n,)
        alpha, up to combinations that do not change h.
    intercept_ : float
        Mean of y, which is taken off before the fit.

    Notes
    -----
    When it fails: the kernel of Z weighs the moments by its own spectrum, so that the rough ones,
    which identify the rough parts of h, hardly count; and the objective contains the squares
    of the residuals, which pull a small sample towards the confounded regression.

    References
    ----------
    Zhang, Imaizumi, Schoelkopf and Muandet (2020), Maximum Moment Restriction for Instrumental
    Variable Regression.
    """

    def __init__(
        self,
        *,
        bandwidth: float = 0.75,
        ridge: float | None = None,
        n_folds: int = 100,
        random_state: Seed = None,
    ) -> None:
        self.bandwidth = bandwidth
        self.ridge = ridge
        self.n_folds = n_folds
        self.random_state = random_state

    def fit(self, X: Data, y: Data, Z: Data = None) -> MMRIV:
        """Choose the penalty and solve.

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
        phi = KernelCoordinates(MedianKernel(X, self.bandwidth))
        psi = KernelCoordinates(MedianKernel(Z, self.bandwidth))
        Phi, Psi = phi.at_landmarks, psi.at_landmarks

        self.ridge_, self.ridge_search_ = tuned(
            self.ridge, lambda: self._leave_out_score(Phi, Psi, y), _DECADES
        )
        moments, target = Psi.T @ Phi / len(y), Psi.T @ y / len(y)
        theta = RidgePath(moments.T @ moments).solve(moments.T @ target, self.ridge_)
        self._keep([phi], [theta], intercept)
        return self

    def _leave_out_score(self, Phi: Array, Psi: Array, y: Array) -> Callable[[float], float]:
        n = len(y)
        folds = random_folds(n, self.n_folds, check_random_state(self.random_state))
        moments, target = Psi.T @ Phi / n, Psi.T @ y / n
        held_out = []
        for fold in range(int(folds.max()) + 1):
            rows = folds == fold
            out = Psi[rows].T @ Phi[rows] / n, Psi[rows].T @ y[rows] / n
            kept, kept_target = moments - out[0], target - out[1]
            held_out.append((RidgePath(kept.T @ kept), kept.T @ kept_target, *out))

        def score(log_ridge: float) -> float:
            return sum(
                float(np.sum((out_target - out @ path.solve(right, 10.0**log_ridge)) ** 2))
                for path, right, out, out_target in held_out
            ) / len(held_out)

        return score

    def _check_parameters(self) -> None:
        check_positive(self.bandwidth, "bandwidth")
        if self.ridge is not None:
            check_positive(self.ridge, "ridge")
        check_integer(self.n_folds, "n_folds", at_least=2)
