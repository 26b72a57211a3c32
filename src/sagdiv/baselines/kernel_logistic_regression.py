"""Ordinary kernel logistic regression: the confounded answer to a binary outcome."""

from __future__ import annotations

from sklearn.utils import check_random_state

from sagdiv._types import Data, Seed
from sagdiv.baselines.binary_outcome import BinaryOutcome
from sagdiv.baselines.kernel_solution import KernelCoordinates, KernelSolution
from sagdiv.baselines.penalised_loss import held_out_loss, minimise
from sagdiv.kernels import MedianKernel
from sagdiv.protocols import Loss
from sagdiv.ridge import tuned
from sagdiv.splitting import random_folds
from sagdiv.validation import check_positive

__all__ = ["KernelLogisticRegression"]

_DECADES = (-6, 0)
_N_FOLDS = 5


class KernelLogisticRegression(BinaryOutcome, KernelSolution):
    r"""Kernel regression of a binary y on X, which ignores the instrument: what endogeneity costs.

    .. math:: \hat h = \arg\min_h\ \frac1n \sum_i \ell(y_i, h(x_i)) + \lambda\, \|h\|^2

    with the cross-entropy of F(h) for l, and the norm of the RKHS of a Gaussian kernel. F(h) is an
    estimate of P(Y = 1|X), not of the effect of X on Y. Z is taken, so that the method can stand
    in a table with the others, and is used by ``score`` alone.

    Parameters
    ----------
    loss : Loss, default=None
        None is ``LogisticLoss()``; its scale is the unit of h.
    bandwidth : float, default=1.0
        Length scale in units of the median heuristic; raising it makes h smoother.
    ridge : float, default=None
        lambda; None minimises the cross-entropy across folds. Raising it shrinks h towards zero.
    random_state : int, RandomState instance or None, default=None
        Draws the folds.

    Attributes
    ----------
    ridge_ : float
        The parameter in use.
    ridge_search_ : Search or None
        log10(lambda) tried and their cross-entropies; None for a given ridge.
    nodes_ : array of shape (n, dx)
        The training X.
    dual_coef_ : array of shape (n,)
        h = sum of dual_coef_i k(x_i, .), up to combinations that do not change h.
    classes_ : array of shape (2,)

    Notes
    -----
    When it fails: whenever X is confounded, and more data do not help.

    References
    ----------
    Zhu and Hastie (2005), Kernel Logistic Regression and the Import Vector Machine.
    """

    def __init__(
        self,
        loss: Loss | None = None,
        *,
        bandwidth: float = 1.0,
        ridge: float | None = None,
        random_state: Seed = None,
    ) -> None:
        self.loss = loss
        self.bandwidth = bandwidth
        self.ridge = ridge
        self.random_state = random_state

    def fit(self, X: Data, y: Data, Z: Data = None) -> KernelLogisticRegression:
        """Regress y on X.

        Parameters
        ----------
        X : array of shape (n, dx)
            Regressors.
        y : array of shape (n,)
            Outcome, with two values.
        Z : array of shape (n, dz)
            Instruments, which do not change the fit.
        """
        check_positive(self.bandwidth, "bandwidth")
        if self.ridge is not None:
            check_positive(self.ridge, "ridge")
        X, y, Z = self._check_fit_input(X, y, Z)
        loss = self._loss
        phi = KernelCoordinates(MedianKernel(X, self.bandwidth))
        Phi = phi.at_landmarks
        folds = random_folds(len(y), _N_FOLDS, check_random_state(self.random_state))
        self.ridge_, self.ridge_search_ = tuned(
            self.ridge, lambda: held_out_loss(loss, Phi, y, folds), _DECADES, n_rounds=2
        )
        self._keep([phi], [minimise(loss, Phi, y, self.ridge_)])
        return self
