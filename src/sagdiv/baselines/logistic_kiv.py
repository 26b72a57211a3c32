"""Kernel instrumental variable regression of a binary outcome (after Singh et al., 2019)."""

from __future__ import annotations

from sklearn.utils import check_random_state

from sagdiv._types import Data, Seed
from sagdiv.baselines.binary_outcome import BinaryOutcome
from sagdiv.baselines.kiv import KIV
from sagdiv.baselines.penalised_loss import held_out_loss, minimise
from sagdiv.protocols import Loss
from sagdiv.ridge import tuned
from sagdiv.splitting import nuisance_split, random_folds
from sagdiv.validation import check_both

__all__ = ["LogisticKIV"]

_DECADES = (-3, 0)
_N_FOLDS = 5


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
        self.loss = loss
        self.bandwidth = bandwidth
        self.stage1_ridge = stage1_ridge
        self.stage2_ridge = stage2_ridge
        self.n_components = n_components
        self.random_state = random_state

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
            self.stage2_ridge, lambda: held_out_loss(loss, Mu, y, folds), _DECADES, n_rounds=2
        )
        self._keep([phi], [minimise(loss, Mu, y, self.stage2_ridge_)])
        return self
