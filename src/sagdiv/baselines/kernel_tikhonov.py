"""Smoothed conditional expectations, inverted with regularisation (Darolles et al., 2011)."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Literal

import numpy as np
from scipy.linalg import inv
from scipy.special import softmax
from sklearn.exceptions import ConvergenceWarning

from sagdiv._types import Array, Data
from sagdiv.base import IVRegressor
from sagdiv.kernels import column_scales, low_rank_factor, scaled_squared_distances
from sagdiv.ridge import generalised_error, tuned
from sagdiv.validation import check_integer, check_positive

__all__ = ["KernelTikhonov"]

Error = Callable[[Array, float], float]

# The first stage spends the data once more than the smoother shows.
_CAUTION = 2.0


class KernelTikhonov(IVRegressor):
    r"""The equation E[h(X)|Z] = E[Y|Z] with local averages for expectations, regularised.

    .. math:: \hat h = (\alpha I + T^* T)^{-1} T^* \hat r \quad\text{or}\quad
              h_{k+1} = h_k + T^* (\hat r - T h_k), \quad h_0 = 0

    T and T* are Nadaraya-Watson averages, over rows with close z and with close x, and
    r^ is that of y. The first is Tikhonov regularisation, the second the Landweber iteration.

    Both are linear in y, and so is T h^ = H y, a regression of y on z. How much to regularise is
    what minimises the generalised cross-validation error of that regression, with a degree of
    freedom counted twice, \|y - H y\|^2 / (1 - 2 tr(H) / n)^2.

    Parameters
    ----------
    method : {"landweber", "tikhonov"}, default="landweber"
        Tikhonov's solution does not become more accurate for an h smoother than a certain degree;
        the iteration does.
    bandwidth : float, default=1.5
        Length scale in units of the rule of thumb, std * n^(-1 / (d + 4)) for each of d columns;
        raising it averages over more neighbours.
    ridge : float, default=None
        alpha of the Tikhonov solution; None chooses it. Raising it shrinks h towards its
        mean.
    n_iterations : int, default=None
        Number of Landweber iterations; None chooses it. Raising it follows the data more closely.
    max_iterations : int, default=500
        Largest number of Landweber iterations that is considered; a `ConvergenceWarning` says
        where it is the one that was chosen.

    Attributes
    ----------
    ridge_ : float
        alpha in use; only for Tikhonov.
    ridge_search_ : Search or None
        log10(alpha) tried and their scores; None for a given ridge. Only for Tikhonov.
    n_iterations_ : int
        Number of iterations in use; only for Landweber.
    nodes_ : array of shape (n, dx)
        The training X.
    moments_ : array of shape (n,)
        g with h^ = intercept + T* g.
    intercept_ : float
        Mean of y, which is taken off before the fit.

    Notes
    -----
    When it fails: the local averages are biased at the edges of the data and smooth less and less
    as columns are added, beyond two or three of them not at all; h is constant outside the data.

    References
    ----------
    Darolles, Fan, Florens and Renault (2011), Nonparametric Instrumental Regression.
    Hall and Horowitz (2005), Nonparametric Methods for Inference in the Presence of Instrumental
    Variables.
    Centorrino, Feve and Florens (2017), Additive Nonparametric Instrumental Regressions: A Guide to
    Implementation.
    """

    _decades = (-5, 0)  # of alpha

    def __init__(
        self,
        method: Literal["landweber", "tikhonov"] = "landweber",
        *,
        bandwidth: float = 1.5,
        ridge: float | None = None,
        n_iterations: int | None = None,
        max_iterations: int = 500,
    ) -> None:
        self.method = method
        self.bandwidth = bandwidth
        self.ridge = ridge
        self.n_iterations = n_iterations
        self.max_iterations = max_iterations

    def fit(self, X: Data, y: Data, Z: Data = None) -> KernelTikhonov:
        """Estimate the two operators and invert.

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
        for name in ("ridge_", "ridge_search_", "n_iterations_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        self.nodes_ = X
        self.x_bandwidth_ = self.bandwidth * _rule_of_thumb(X)
        T = _local_average(Z, Z, self.bandwidth * _rule_of_thumb(Z))
        adjoint = _local_average(X, X, self.x_bandwidth_)
        self.intercept_ = self._intercept(y)
        y = y - self.intercept_
        problem = _InverseProblem(T, adjoint, *self._problem(y, T @ y))
        if self.method == "tikhonov":
            self.ridge_, self.ridge_search_ = tuned(
                self.ridge, lambda: problem.tikhonov_error, self._decades
            )
            self.moments_ = problem.tikhonov(self.ridge_)
        else:
            k = self.n_iterations
            self.n_iterations_ = problem.stopping_time(self.max_iterations) if k is None else k
            if k is None and self.n_iterations_ == self.max_iterations:
                warnings.warn(
                    f"the error was still falling after {self.max_iterations} iterations; raise "
                    "max_iterations, or give n_iterations.",
                    ConvergenceWarning,
                    stacklevel=2,
                )
            self.moments_ = problem.landweber(self.n_iterations_)
        return self

    def predict(self, X: Data) -> Array:
        """Return h^ at the rows of X, shape (n,)."""
        X = self._check_predict_input(X)
        T = _local_average(X, self.nodes_, self.x_bandwidth_)
        return self.intercept_ + T @ self.moments_

    def _intercept(self, y: Array) -> float:
        """Return what to take off y, and to shrink h towards."""
        return float(y.mean())

    def _problem(self, y: Array, r: Array) -> tuple[Array, Error]:
        """Return what T h is to equal, and how wrong a fit is, given its degrees of freedom."""
        return r, lambda fitted, dof: generalised_error(y - fitted, dof, _CAUTION)

    def _check_parameters(self) -> None:
        if self.method not in ("landweber", "tikhonov"):
            raise ValueError(f"method must be 'landweber' or 'tikhonov', got {self.method!r}.")
        check_positive(self.bandwidth, "bandwidth")
        if self.ridge is not None:
            check_positive(self.ridge, "ridge")
        if self.n_iterations is not None:
            check_integer(self.n_iterations, "n_iterations", at_least=1)
        check_integer(self.max_iterations, "max_iterations", at_least=1)


class _InverseProblem:
    """T h = r^ in the range of T*, whose dimension is the numerical rank of the kernel of X.

    T* = D F F' with F of few columns, so that h = D F c. With C = F'T D F and r^ = T y, Tikhonov is
    c = (alpha I + C)^-1 F'r^, and Landweber c <- c + F'r^ - C c.
    """

    def __init__(self, T: Array, adjoint: Array, r: Array, error: Error) -> None:
        # k(x, x) = 1: the diagonal of the averages holds the reciprocal sums that normalise them.
        D = adjoint.diagonal()[:, None]
        F = low_rank_factor(adjoint / D)
        self.r, self.error = r, error
        self.image = T @ (D * F)  # c -> T h
        self.C, self.right = F.T @ self.image, F.T @ r
        self.M = F.T @ T @ self.image  # tr H = tr(S M) for c = S F'T y
        self.identity = np.eye(len(self.C))

    def tikhonov(self, alpha: float) -> Array:
        """Return g with h = T* g."""
        return (self.r - self.image @ self._tikhonov_solver(alpha) @ self.right) / alpha

    def tikhonov_error(self, log_alpha: float) -> float:
        return self._generalised_error(self._tikhonov_solver(10.0**log_alpha))

    def landweber(self, n_iterations: int) -> Array:
        """Return g with h = T* g: the sum of the residuals along the iteration."""
        c, g = np.zeros(len(self.C)), np.zeros(len(self.r))
        for _ in range(n_iterations):
            g += self.r - self.image @ c
            c = c + self.right - self.C @ c
        return g

    def stopping_time(self, max_iterations: int) -> int:
        S, errors = np.zeros_like(self.C), []
        for _ in range(max_iterations):
            S = S + self.identity - self.C @ S
            errors.append(self._generalised_error(S))
        return int(np.argmin(errors)) + 1

    def _tikhonov_solver(self, alpha: float) -> Array:
        return inv(self.C + alpha * self.identity)

    def _generalised_error(self, S: Array) -> float:
        return self.error(self.image @ (S @ self.right), float(np.sum(S * self.M.T)))


def _rule_of_thumb(A: Array) -> Array:
    n, d = A.shape
    return column_scales(A) * float(n) ** (-1 / (d + 4))


def _local_average(A: Array, B: Array, bandwidth: Array) -> Array:
    """Return the Nadaraya-Watson weights of the rows of B for each row of A."""
    # softmax, not a ratio of kernels: far from every row the nearest one still counts.
    return softmax(-0.5 * scaled_squared_distances(A, B, bandwidth), axis=1)
