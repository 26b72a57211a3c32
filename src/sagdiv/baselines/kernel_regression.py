"""Ordinary kernel ridge regression: the confounded answer."""

from __future__ import annotations

from sagdiv._types import Data
from sagdiv.baselines.kernel_solution import KernelCoordinates, KernelSolution
from sagdiv.kernels import MedianKernel
from sagdiv.ridge import RidgePath, leave_one_out_error, tuned
from sagdiv.validation import check_positive

__all__ = ["KernelRegression"]

_DECADES = (-9, 1)


class KernelRegression(KernelSolution):
    r"""Kernel ridge regression of y on X, which ignores the instrument: what endogeneity costs.

    .. math:: \hat h(x) = \alpha' K_{Xx}, \quad \alpha = (K_{XX} + n \lambda I)^{-1} y

    It estimates E[Y|X], not the effect of X on Y. Z is taken, so that the method can stand in a
    table with the others, and is used by ``score`` alone.

    Parameters
    ----------
    bandwidth : float, default=1.0
        Length scale in units of the median heuristic; raising it makes h smoother.
    ridge : float, default=None
        lambda; None minimises the exact leave-one-out error. Raising it shrinks h towards its mean.

    Attributes
    ----------
    ridge_ : float
        The parameter in use.
    ridge_search_ : Search or None
        log10(lambda) tried and their leave-one-out errors; None for a given ridge.
    nodes_ : array of shape (n, dx)
        The training X.
    dual_coef_ : array of shape (n,)
        alpha, up to combinations that do not change h.
    intercept_ : float
        Mean of y, which is taken off before the fit.

    Notes
    -----
    When it fails: whenever X is confounded, and more data do not help.

    References
    ----------
    Saunders, Gammerman and Vovk (1998), Ridge Regression Learning Algorithm in Dual Variables.
    """

    def __init__(self, *, bandwidth: float = 1.0, ridge: float | None = None) -> None:
        self.bandwidth = bandwidth
        self.ridge = ridge

    def fit(self, X: Data, y: Data, Z: Data = None) -> KernelRegression:
        """Regress y on X.

        Parameters
        ----------
        X : array of shape (n, dx)
            Regressors.
        y : array of shape (n,)
            Outcome.
        Z : array of shape (n, dz)
            Instruments, which do not change the fit.
        """
        check_positive(self.bandwidth, "bandwidth")
        if self.ridge is not None:
            check_positive(self.ridge, "ridge")
        X, y, Z = self._check_fit_input(X, y, Z)
        intercept = float(y.mean())
        y = y - intercept
        phi = KernelCoordinates(MedianKernel(X, self.bandwidth))
        Phi = phi.at_landmarks
        self.ridge_, self.ridge_search_ = tuned(
            self.ridge, lambda: leave_one_out_error(Phi, y), _DECADES
        )
        path = RidgePath(Phi.T @ Phi / len(y))
        self._keep([phi], [path.solve(Phi.T @ y / len(y), self.ridge_)], intercept)
        return self
