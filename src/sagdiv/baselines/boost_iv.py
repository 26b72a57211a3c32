"""Boosting with instruments, the weights re-estimated at the end (Bakhitov and Singh, 2021)."""

from __future__ import annotations

import numpy as np
from scipy.special import expit
from sklearn.utils import check_random_state

from sagdiv._types import Array, Data, Seed
from sagdiv.base import IVRegressor
from sagdiv.baselines.kernel_solution import KernelCoordinates
from sagdiv.kernels import MedianKernel, column_scales
from sagdiv.ridge import RidgePath, generalised_error, leave_one_out_error, tuned
from sagdiv.validation import check_integer, check_positive

__all__ = ["BoostIV"]

_DECADES = (-8, 1)
# The first stage spends the data once more than the second stage shows.
_CAUTION = 2.0
_SLOPES = (1.0, 8.0)


class BoostIV(IVRegressor):
    r"""Sigmoids added one at a time, each fitted by 2SLS to what is left, then all reweighted.

    .. math:: (\beta_m, \gamma_m) = \arg\min \sum_i \left( \hat E[\, Y - h_{m-1}(X) -
              \beta\, b(X; \gamma) \,|\, z_i] \right)^2, \quad
              h_m = h_{m-1} + \nu \beta_m\, b(\cdot; \gamma_m)

    with b(x; gamma) = 1 / (1 + exp(-slope (direction'x - location))), x standardised. The
    first-order condition has E^[db / dgamma | Z] for its instruments, the optimal ones when the
    errors are homoskedastic. The weights are then re-estimated by ridge 2SLS on the frozen
    learners; the ridge parameter minimises the generalised cross-validation error of predicting y
    from z, with a degree of freedom counted twice.

    Parameters
    ----------
    n_learners : int, default=50
        Number of sigmoids. Raising it enlarges the basis of the last step, which is regularised.
    learning_rate : float, default=1.0
        nu; the lower, the more alike successive learners are. The weights are re-estimated anyway.
    n_candidates : int, default=20
        Number of random gamma that each stage chooses from. Raising it makes the stages greedier.
    ridge : float, default=None
        Penalty on the weights; None tunes it. Raising it flattens h.
    random_state : int, RandomState instance or None, default=None
        Draws the candidates.

    Attributes
    ----------
    first_stage_ridge_ : float
        Ridge parameter of E^[. |Z], of smallest leave-one-out error for all functions of X.
    ridge_ : float
        The penalty in use.
    ridge_search_ : Search or None
        log10(ridge) tried and their errors; None for a given ridge.
    directions_, locations_, slopes_ : arrays of shape (dx, m), (m,) and (m,)
        gamma of each learner.
    intercept_ : float
    coef_ : array of shape (m,)
        Re-estimated weights of the learners.

    Notes
    -----
    When it fails: the stages are greedy for what the instrument shows best, so that shapes it shows
    weakly enter late or not at all; outside the data h is constant.

    References
    ----------
    Bakhitov and Singh (2021), Causal Gradient Boosting: Boosted Instrumental Variable Regression.
    """

    def __init__(
        self,
        n_learners: int = 50,
        *,
        learning_rate: float = 1.0,
        n_candidates: int = 20,
        ridge: float | None = None,
        random_state: Seed = None,
    ) -> None:
        self.n_learners = n_learners
        self.learning_rate = learning_rate
        self.n_candidates = n_candidates
        self.ridge = ridge
        self.random_state = random_state

    def fit(self, X: Data, y: Data, Z: Data = None) -> BoostIV:
        """Boost, then re-estimate the weights.

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
        rng = check_random_state(self.random_state)
        self._location, self._scale = X.mean(axis=0), column_scales(X)
        X = (X - self._location) / self._scale
        expectation = _Expectation(X, Z)
        self.first_stage_ridge_ = expectation.ridge
        learners = self._boost(X, y, expectation, rng)
        self.directions_, self.locations_, self.slopes_ = learners
        self._reweight(_sigmoids(X, *learners), y, expectation)
        return self

    def predict(self, X: Data) -> Array:
        """Return h^ at the rows of X, shape (n,)."""
        X = (self._check_predict_input(X) - self._location) / self._scale
        B = _sigmoids(X, self.directions_, self.locations_, self.slopes_)
        return self.intercept_ + B @ self.coef_

    def _boost(
        self, X: Array, y: Array, expectation: _Expectation, rng: np.random.RandomState
    ) -> tuple[Array, Array, Array]:
        """Return the parameters of the learners."""
        target = expectation.coordinates(y - y.mean())
        chosen = []
        for _ in range(self.n_learners):
            candidates = _draw_sigmoids(X, self.n_candidates, rng)
            B = _sigmoids(X, *candidates)
            projected = expectation.coordinates(B - B.mean(axis=0))
            norms = np.sum(projected**2, axis=0)
            beta = target @ projected / np.where(norms > 0, norms, np.inf)
            best = int(np.argmax(beta**2 * norms))
            target = target - self.learning_rate * beta[best] * projected[:, best]
            chosen.append([parameter[..., best] for parameter in candidates])
        directions, locations, slopes = zip(*chosen, strict=True)
        return np.stack(directions, axis=1), np.array(locations), np.array(slopes)

    def _reweight(self, B: Array, y: Array, expectation: _Expectation) -> None:
        center = B.mean(axis=0)
        projected = expectation(B - center)
        path = RidgePath(projected.T @ projected / len(y))
        right = projected.T @ (y - y.mean()) / len(y)

        def error(log_ridge: float) -> float:
            ridge = 10.0**log_ridge
            residuals = y - y.mean() - projected @ path.solve(right, ridge)
            degrees_of_freedom = np.sum(path.values / (path.values + ridge))
            return generalised_error(residuals, float(degrees_of_freedom), _CAUTION)

        self.ridge_, self.ridge_search_ = tuned(self.ridge, lambda: error, _DECADES)
        self.coef_ = path.solve(right, self.ridge_)
        self.intercept_ = float(y.mean() - center @ self.coef_)

    def _check_parameters(self) -> None:
        check_integer(self.n_learners, "n_learners", at_least=1)
        check_integer(self.n_candidates, "n_candidates", at_least=1)
        check_positive(self.learning_rate, "learning_rate")
        if self.ridge is not None:
            check_positive(self.ridge, "ridge")


class _Expectation:
    """E^[. |Z] at the rows, by kernel ridge regression tuned for all functions of X at once."""

    def __init__(self, X: Array, Z: Array) -> None:
        Phi = KernelCoordinates(MedianKernel(X)).at_landmarks
        Psi = KernelCoordinates(MedianKernel(Z)).at_landmarks
        ridge, _ = tuned(None, lambda: leave_one_out_error(Psi, Phi), _DECADES)
        path = RidgePath(Psi.T @ Psi / len(Z))
        self.values, self.ridge = path.values, ridge
        self.loadings = Psi @ path.vectors / np.sqrt(len(Z))

    def __call__(self, B: Array) -> Array:
        """Return E^[b(X)|Z = z_i] for the columns of B, shape (n, m)."""
        return self.loadings @ ((self.loadings.T @ B).T / (self.values + self.ridge)).T

    def coordinates(self, B: Array) -> Array:
        """Return the same in few coordinates, which keep sums of squares and of products."""
        return ((self.loadings.T @ B).T * (np.sqrt(self.values) / (self.values + self.ridge))).T


def _draw_sigmoids(X: Array, size: int, rng: np.random.RandomState) -> tuple[Array, Array, Array]:
    """Return unit directions (dx, size), locations at rows of X, and slopes."""
    directions = rng.normal(size=(X.shape[1], size))
    directions /= np.linalg.norm(directions, axis=0)
    rows = X[rng.randint(len(X), size=size)]
    return directions, np.einsum("md,dm->m", rows, directions), rng.uniform(*_SLOPES, size=size)


def _sigmoids(X: Array, directions: Array, locations: Array, slopes: Array) -> Array:
    return expit(slopes * (X @ directions - locations))
