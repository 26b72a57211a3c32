"""Kernel instrumental variable regression of a binary outcome (after Singh et al., 2019)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import solve
from sklearn.utils import check_random_state

from sagdiv._types import Array, Data, Rows, Seed
from sagdiv.baselines.binary_outcome import BinaryOutcome
from sagdiv.baselines.kiv import KIV
from sagdiv.protocols import Loss
from sagdiv.ridge import tuned
from sagdiv.splitting import nuisance_split, random_folds
from sagdiv.validation import check_both

__all__ = ["LogisticKIV"]

_DECADES = (-3, 0)
_N_FOLDS = 5
_MAX_ROUNDS = 50
_SMALL_DECREMENT = 1e-10
_LEAST_STEP = 1e-4


class LogisticKIV(BinaryOutcome, KIV):
    r"""KIV whose second stage minimises the cross-entropy in place of the squared error.

    .. math:: \hat h = \sum_i \alpha_i k(x_i, \cdot), \quad \alpha \text{ minimises }
              \frac1m \sum_j \ell(\tilde y_j, \alpha' w(\tilde z_j)) + \xi\, \alpha' K_{XX} \alpha

    with w(z) the first stage of `KIV`. The problem is convex, and solved by Newton's method in
    coordinates of the numerical rank of the kernel. xi minimises the cross-entropy across folds of
    the rows of the second stage.

    Parameters
    ----------
    loss : Loss, default=None
        None is ``LogisticLoss()``; its scale is the unit of h.
    bandwidth : float, default=2.0
        Length scale in units of the median heuristic, the same for X and Z; raising it makes h
        smoother.
    stage1_ridge : float, default=None
        lambda; None tunes it. Raising it smooths E[k(X, .)|Z].
    stage2_ridge : float, default=None
        xi; None tunes it. Raising it shrinks h towards zero.
    n_components : int, default=None
        Number of rows of each kernel kept as Nystroem landmarks, for n above a few thousand; None
        keeps all of them, which is exact.
    random_state : int, RandomState instance or None, default=None
        Draws the halves, the folds and the landmarks.

    Attributes
    ----------
    stage1_ridge_, stage2_ridge_ : float
        The ridge parameters in use.
    stage1_search_, stage2_search_ : Search or None
        log10(ridge) tried and their scores; None for a given ridge.
    nodes_ : array of shape (n, dx)
        The rows of X that carry a kernel.
    dual_coef_ : array of shape (n,)
        alpha, up to combinations that do not change h.
    classes_ : array of shape (2,)

    Notes
    -----
    When it fails: h is shrunk towards zero, also where it is far from it, which costs most where
    the probabilities are near 0 or 1 and the data say little about how far; half of the rows serve
    each stage.

    References
    ----------
    Singh, Sahani and Gretton (2019), Kernel Instrumental Variable Regression.
    Fonseca, Peixoto and Saporito (2024), Nonparametric Instrumental Variable Regression through
    Stochastic Approximate Gradients, the appendix on binary outcomes.
    """

    def __init__(
        self,
        loss: Loss | None = None,
        *,
        bandwidth: float = 2.0,
        stage1_ridge: float | None = None,
        stage2_ridge: float | None = None,
        n_components: int | None = None,
        random_state: Seed = None,
    ) -> None:
        super().__init__(
            bandwidth=bandwidth,
            stage1_ridge=stage1_ridge,
            stage2_ridge=stage2_ridge,
            n_components=n_components,
            random_state=random_state,
        )
        self.loss = loss

    def fit(self, X: Data, y: Data, Z: Data = None) -> LogisticKIV:
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
        self._check_parameters()
        X, y, Z = self._check_fit_input(X, y, Z)
        loss = self._loss
        rng = check_random_state(self.random_state)
        first, second = nuisance_split(len(X), 0.5, rng)
        ((phi, _, Mu),) = self._first_stages(X, Z, [(first, second)], rng)
        y = y[second]
        check_both(y, loss, "every row of the second stage")
        folds = random_folds(len(y), _N_FOLDS, rng)
        self.stage2_ridge_, self.stage2_search_ = tuned(
            self.stage2_ridge, lambda: _held_out(loss, Mu, y, folds), _DECADES, n_rounds=2
        )
        self._keep([phi], [minimise(loss, Mu, y, self.stage2_ridge_)])
        return self


def minimise(loss: Loss, Psi: Array, y: Array, ridge: float, start: Array | None = None) -> Array:
    """Return the theta that minimises mean loss(y, Psi theta) + ridge |theta|^2, by Newton.

    Parameters
    ----------
    loss : Loss
    Psi : array of shape (n, b)
    y : array of shape (n,)
    ridge : float
        Positive.
    start : array of shape (b,), default=None
    """
    n, b = Psi.shape
    theta = np.zeros(b) if start is None else start

    def risk(theta: Array) -> float:
        return float(loss.value(y, Psi @ theta).mean() + ridge * theta @ theta)

    value = risk(theta)
    for _ in range(_MAX_ROUNDS):
        v = Psi @ theta
        gradient = Psi.T @ loss.d2(y, v) / n + 2 * ridge * theta
        H = (Psi * loss.d22(y, v)[:, None]).T @ Psi / n + 2 * ridge * np.eye(b)
        move = -solve(H, gradient, assume_a="pos")
        decrement = -float(gradient @ move)
        if decrement < _SMALL_DECREMENT:
            break
        step = 1.0
        while (lower := risk(theta + step * move)) > value - 1e-4 * step * decrement:
            step /= 2
            if step < _LEAST_STEP:
                return theta
        theta, value = theta + step * move, lower
    return theta


def _held_out(loss: Loss, Psi: Array, y: Array, folds: Rows) -> Callable[[float], float]:
    """Return the mean loss of each fold at the minimiser on the others, by log10(ridge)."""
    for fold in np.unique(folds):
        check_both(y[folds != fold], loss, "every row but those of a fold of cross-validation")
    starts: dict[int, Array | None] = dict.fromkeys(np.unique(folds).tolist())

    def score(log_ridge: float) -> float:
        total = 0.0
        for fold in starts:
            out = folds == fold
            starts[fold] = minimise(loss, Psi[~out], y[~out], 10.0**log_ridge, starts[fold])
            total += float(loss.value(y[out], Psi[out] @ starts[fold]).sum())
        return total / len(y)

    return score
