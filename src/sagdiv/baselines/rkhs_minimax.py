"""Adversarial estimation over two RKHS (Dikkala, Lewis, Mackey and Syrgkanis, 2020)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve
from sklearn.utils import check_random_state

from sagdiv._types import Array, Data, Seed
from sagdiv.baselines.kernel_solution import KernelCoordinates, KernelSolution
from sagdiv.kernels import MedianKernel
from sagdiv.ridge import RidgePath, tuned
from sagdiv.splitting import random_folds
from sagdiv.validation import check_integer, check_positive

__all__ = ["RKHSMinimax"]

_DECADES = (-6, 4)


class RKHSMinimax(KernelSolution):
    r"""The h whose moments no test function of an RKHS can tell from zero, in closed form.

    .. math:: \hat h(x) = \alpha' K_{Xx}, \quad
              \alpha = (K_X M K_X + a K_X)^+ K_X M y, \quad
              M = K_Z^{1/2} \left( \frac{K_Z}{2 n \delta^2} + \frac{I}{2} \right)^{-1} K_Z^{1/2}

    Parameters
    ----------
    bandwidth : float, default=1.0
        Length scale in units of the median heuristic, the same for X and Z; raising it makes h
        smoother.
    delta : float, default=None
        Critical radius of the test functions; None is 1 / n^0.4. Raising it lets the test
        functions be rougher.
    ridge : float, default=None
        a, the penalty on the norm of h; None minimises the violation (y - h)'M(y - h) on held-out
        folds. Raising it shrinks h towards its mean.
    n_folds : int, default=10
        Folds of that choice.
    random_state : int, RandomState instance or None, default=None
        Draws the folds.

    Attributes
    ----------
    delta_, ridge_ : float
        The parameters in use.
    ridge_search_ : Search or None
        log10(ridge) tried and their scores; None for a given ridge.
    nodes_ : array of shape (n, dx)
        The training X.
    dual_coef_ : array of shape (n,)
        alpha, up to combinations that do not change h.
    intercept_ : float
        Mean of y, which is taken off before the fit.

    Notes
    -----
    When it fails: the held-out violation is nearly flat in the directions that the instrument
    identifies weakly, so that the penalty, and with it the wiggles of h, is poorly determined.

    References
    ----------
    Dikkala, Lewis, Mackey and Syrgkanis (2020), Minimax Estimation of Conditional Moment Models.
    """

    def __init__(
        self,
        *,
        bandwidth: float = 1.0,
        delta: float | None = None,
        ridge: float | None = None,
        n_folds: int = 10,
        random_state: Seed = None,
    ) -> None:
        self.bandwidth = bandwidth
        self.delta = delta
        self.ridge = ridge
        self.n_folds = n_folds
        self.random_state = random_state

    def fit(self, X: Data, y: Data, Z: Data = None) -> RKHSMinimax:
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
        self.delta_ = len(X) ** -0.4 if self.delta is None else float(self.delta)
        game = _Game(phi.at_landmarks, psi.at_landmarks, y, self.delta_)
        self.ridge_, self.ridge_search_ = tuned(
            self.ridge, lambda: self._cross_validation_score(game), _DECADES
        )
        self._keep([phi], [game.path().solve(game.right, self.ridge_)], intercept)
        return self

    def _cross_validation_score(self, game: _Game) -> Callable[[float], float]:
        n = len(game.y)
        folds = random_folds(n, self.n_folds, check_random_state(self.random_state))
        pairs = [
            (game.restricted(folds != fold), game.restricted(folds == fold))
            for fold in range(int(folds.max()) + 1)
        ]
        paths = [train.path() for train, _ in pairs]

        def score(log_ridge: float) -> float:
            total = 0.0
            for path, (train, held_out) in zip(paths, pairs, strict=True):
                theta = path.solve(train.right, 10.0**log_ridge)
                total += held_out.violation(theta)
            return total / len(pairs)

        return score

    def _check_parameters(self) -> None:
        check_positive(self.bandwidth, "bandwidth")
        for name in ("delta", "ridge"):
            if getattr(self, name) is not None:
                check_positive(getattr(self, name), name)
        check_integer(self.n_folds, "n_folds", at_least=2)


class _Game:
    """The quadratic form of M on some rows, in coordinates K_X = Phi Phi', K_Z = Psi Psi'.

    K^(1/2) f(K) K^(1/2) = Psi f(Psi'Psi) Psi', so that no square root of a matrix is taken.
    """

    def __init__(self, Phi: Array, Psi: Array, y: Array, delta: float) -> None:
        self.Phi, self.Psi, self.y, self.delta = Phi, Psi, y, delta
        inner = Psi.T @ Psi / (2 * len(y) * delta**2) + np.eye(Psi.shape[1]) / 2
        moments = Psi.T @ np.column_stack([Phi, y])
        whole = moments.T @ solve(inner, moments, assume_a="pos")
        whole = (whole + whole.T) / 2
        self.left, self.right, self.constant = whole[:-1, :-1], whole[:-1, -1], whole[-1, -1]

    def restricted(self, rows: NDArray[np.bool_]) -> _Game:
        return _Game(self.Phi[rows], self.Psi[rows], self.y[rows], self.delta)

    def path(self) -> RidgePath:
        return RidgePath(self.left)

    def violation(self, theta: Array) -> float:
        """Return (y - h)'M(y - h) / n^2."""
        quadratic = theta @ self.left @ theta - 2 * theta @ self.right + self.constant
        return float(quadratic) / len(self.y) ** 2
