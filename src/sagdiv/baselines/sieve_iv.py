"""Spline 2SLS of a dimension that the data choose (Newey and Powell, 2003)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr
from sklearn.utils import check_random_state

from sagdiv._types import Array, Data, Seed
from sagdiv.base import IVRegressor
from sagdiv.baselines.bases import Basis, spline_pair, with_ones
from sagdiv.baselines.identification import warn_if_short
from sagdiv.linear import projected, second_stage
from sagdiv.validation import check_integer

__all__ = ["SieveIV"]

_N_POINTS = 100
_SLACK = 1.1
_ADVICE = "Use fewer knots, or an instrument of more values."


class SieveIV(IVRegressor):
    r"""2SLS on natural cubic splines, as few of them as later ones do not contradict.

    .. math:: \hat h_J(x) = b_J(x)' (\hat B' \hat B)^{-1} \hat B' y, \quad
              \hat J = \min\left\{J : \sup_x \frac{|\hat h_J(x) - \hat h_{J'}(x)|}
              {\hat\sigma_{J J'}(x)} \le 1.1\, \theta \text{ for all } J' > J \right\}

    Lepski's rule: theta is a quantile, by a multiplier bootstrap, of the same supremum over x
    and over all pairs when there is nothing but noise. The largest J is where the instrument
    stops identifying: J sqrt(log J) / s_J at most 10 sqrt(n), s_J being the smallest singular value
    of the regression of the normalised splines of X on those of Z.

    Parameters
    ----------
    n_knots : int, default=None
        Knots in each column of X, Z having twice as many functions; None chooses. Raising it lets
        h bend more.
    max_knots : int, default=10
        Largest number considered.
    n_bootstrap : int, default=200
        Number of multiplier draws.
    random_state : int, RandomState instance or None, default=None
        Draws the multipliers.

    Attributes
    ----------
    n_knots_ : int
        Number of knots in use.
    intercept_ : float
    coef_ : array of shape (k,)
        Coefficients of the splines.

    Notes
    -----
    When it fails: between two dimensions there is nothing, so that the answer jumps as data are
    added; kinks and steps need more knots than a weak instrument can carry; several columns of X
    enter additively.

    References
    ----------
    Newey and Powell (2003), Instrumental Variable Estimation of Nonparametric Models.
    Chen, Christensen and Kankanala (2025), Adaptive Estimation and Uniform Confidence Bands for
    Nonparametric Structural Functions and Elasticities.
    """

    def __init__(
        self,
        n_knots: int | None = None,
        *,
        max_knots: int = 10,
        n_bootstrap: int = 200,
        random_state: Seed = None,
    ) -> None:
        self.n_knots = n_knots
        self.max_knots = max_knots
        self.n_bootstrap = n_bootstrap
        self.random_state = random_state

    def fit(self, X: Data, y: Data, Z: Data = None) -> SieveIV:
        """Choose the dimension and fit.

        Parameters
        ----------
        X : array of shape (n, dx)
            Regressors.
        y : array of shape (n,)
            Outcome.
        Z : array of shape (n, dz)
            Instruments. Without them X is its own instrument.
        """
        if self.n_knots is not None:
            check_integer(self.n_knots, "n_knots", at_least=2)
        check_integer(self.max_knots, "max_knots", at_least=2)
        check_integer(self.n_bootstrap, "n_bootstrap", at_least=1)
        X, y, Z = self._check_fit_input(X, y, Z)
        if self.n_knots is not None:
            chosen = _Sieve.fit(X, y, Z, self.n_knots)
        else:
            chosen = self._lepski(X, _identified(X, y, Z, self.max_knots))
        self.n_knots_ = chosen.n_knots
        self._basis = chosen.basis
        warn_if_short(with_ones(chosen.basis(X)), chosen.rank, _ADVICE)
        self.intercept_, self.coef_ = float(chosen.beta[0]), chosen.beta[1:]
        return self

    def predict(self, X: Data) -> Array:
        """Return h^ at the rows of X, shape (n,)."""
        X = self._check_predict_input(X)
        return self.intercept_ + self._basis(X) @ self.coef_

    def _lepski(self, X: Array, sieves: list[_Sieve]) -> _Sieve:
        points = X[:: max(1, len(X) // _N_POINTS)]
        rng = check_random_state(self.random_state)
        multipliers = rng.normal(size=(len(X), self.n_bootstrap))
        h = [sieve.predict(points) for sieve in sieves]
        influence = [sieve.influence(points) for sieve in sieves]
        noise = [F @ multipliers for F in influence]

        observed, simulated = np.zeros((len(h), len(h))), np.zeros(self.n_bootstrap)
        for i in range(len(h)):
            for j in range(i + 1, len(h)):
                sigma = np.linalg.norm(influence[i] - influence[j], axis=1)
                sigma[sigma == 0] = np.inf
                observed[i, j] = np.max(np.abs(h[i] - h[j]) / sigma)
                sup = np.max(np.abs(noise[i] - noise[j]) / sigma[:, None], axis=0)
                simulated = np.maximum(simulated, sup)
        largest = sieves[-1].n_knots
        level = 1 - min(0.5, np.sqrt(np.log(largest) / largest))
        accepted = observed.max(axis=1) <= _SLACK * np.quantile(simulated, level)
        return sieves[int(np.argmax(accepted))]  # the last one has nothing to disagree with


@dataclass(frozen=True)
class _Sieve:
    """2SLS on ``n_knots`` knots, with ``solver`` the matrix that takes y to beta.

    ``rank`` is the number of functions that Z identifies.
    """

    n_knots: int
    basis: Basis
    solver: Array
    rank: int
    beta: Array
    residuals: Array
    strength: float

    @classmethod
    def fit(cls, X: Array, y: Array, Z: Array, n_knots: int) -> _Sieve:
        x_basis, z_basis = spline_pair(X, Z, n_knots)
        B, Q = with_ones(x_basis(X)), with_ones(z_basis(Z))
        solver, rank = second_stage(B, projected(B, Q))
        beta = solver @ y
        orthonormal = qr(B, mode="economic")[0]
        strength = float(np.linalg.svd(projected(orthonormal, Q), compute_uv=False).min())
        return cls(n_knots, x_basis, solver, rank, beta, y - B @ beta, strength)

    def predict(self, X: Array) -> Array:
        return with_ones(self.basis(X)) @ self.beta

    def influence(self, X: Array) -> Array:
        """Return what the error of each row adds to the prediction, shape (len(X), n)."""
        return (with_ones(self.basis(X)) @ self.solver) * self.residuals


def _identified(X: Array, y: Array, Z: Array, max_knots: int) -> list[_Sieve]:
    """Return the sieves up to the first one that the instrument cannot carry, left out."""
    sieves: list[_Sieve] = []
    for n_knots in range(2, max_knots + 1):
        sieve = _Sieve.fit(X, y, Z, n_knots)
        size = len(sieve.beta)
        bound = 10 * np.sqrt(len(y)) * sieve.strength
        if sieves and (size * np.sqrt(np.log(size)) > bound or 2 * size > len(y)):
            break
        sieves.append(sieve)
    return sieves
