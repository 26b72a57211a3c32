"""Kernel instrumental variable regression (Singh, Sahani and Gretton, 2019)."""

from __future__ import annotations

import numpy as np
from sklearn.utils import check_random_state

from sagdiv._types import Array, Data, Rows, Seed
from sagdiv.baselines.kernel_solution import KernelCoordinates, KernelSolution
from sagdiv.kernels import MedianKernel
from sagdiv.ridge import RidgePath, tuned
from sagdiv.splitting import nuisance_split
from sagdiv.validation import check_integer, check_positive

__all__ = ["KIV"]

_FIRST_DECADES = (-10, 1)
_SECOND_DECADES = (-10, 1)


class KIV(KernelSolution):
    r"""Two-stage kernel ridge regression: k(X, .) on Z, then y on its prediction.

    .. math:: \hat h(x) = \alpha' K_{Xx}, \quad
              \alpha = (W W' + m \xi K_{XX})^{-1} W \tilde y, \quad
              W = K_{XX} (K_{ZZ} + n \lambda I)^{-1} K_{Z \tilde Z}

    The n rows of the first stage are a random half of the data, the m rows with a tilde the other
    half. Each half tunes the ridge of the other: lambda minimises the error of predicting
    k(x~, .) from z~, and xi the error of predicting y from x on the rows of the first stage.
    Then the halves change places and the two answers are averaged, so that every row serves both
    stages; ``swap=False`` is the paper's single split.

    Everything is computed in coordinates of the numerical rank of the two kernels, which is exact.

    Parameters
    ----------
    bandwidth : float, default=0.75
        Length scale in units of the median heuristic, the same for X and Z; raising it makes h
        smoother.
    stage1_ridge : float, default=None
        lambda; None tunes it. Raising it smooths E[k(X, .)|Z].
    stage2_ridge : float, default=None
        xi; None tunes it. Raising it shrinks h towards its mean.
    n_components : int, default=None
        Number of rows of each kernel kept as Nystroem landmarks, for n above a few thousand; None
        keeps all of them, which is exact.
    swap : bool, default=True
        Fit with the halves exchanged too, lambda and xi minimising the sum of both errors, and
        average. About twice the time, and a good deal less noise.
    random_state : int, RandomState instance or None, default=None
        Draws the halves and the landmarks.

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
    intercept_ : float
        Mean of y, which is taken off before the fit.

    Notes
    -----
    When it fails: xi is tuned on the plain error of predicting y from x, which the confounded
    regression minimises, so that h is undersmoothed or bent towards it where confounding is strong;
    and the answer falls back to a constant outside the data, because the kernel does.

    References
    ----------
    Singh, Sahani and Gretton (2019), Kernel Instrumental Variable Regression.

    Examples
    --------
    >>> from sagdiv.baselines import KIV
    >>> from sagdiv.datasets import make_continuous
    >>> data = make_continuous("sin", 1000, random_state=0)
    >>> model = KIV(random_state=0).fit(data.X, data.y, data.Z)
    >>> X_new = data.sample_X(1000, random_state=1)
    >>> bool(((model.predict(X_new) - data.h_star(X_new)) ** 2).mean() < 0.2)
    True
    """

    def __init__(
        self,
        *,
        bandwidth: float = 0.75,
        stage1_ridge: float | None = None,
        stage2_ridge: float | None = None,
        n_components: int | None = None,
        swap: bool = True,
        random_state: Seed = None,
    ) -> None:
        self.bandwidth = bandwidth
        self.stage1_ridge = stage1_ridge
        self.stage2_ridge = stage2_ridge
        self.n_components = n_components
        self.swap = swap
        self.random_state = random_state

    def fit(self, X: Data, y: Data, Z: Data = None) -> KIV:
        """Fit both stages.

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
        rng = check_random_state(self.random_state)
        first, second = nuisance_split(len(X), 0.5, rng)
        splits = [(first, second), (second, first)] if self.swap else [(first, second)]
        stages = self._first_stages(X, Z, splits, rng)

        # Stage 2: ridge regression of y~ on the predicted coordinates
        problems = []
        for (first, second), (_, Phi, Mu) in zip(splits, stages, strict=True):
            m = len(second)
            problems.append((RidgePath(Mu.T @ Mu / m), Mu.T @ y[second] / m, Phi, y[first]))

        def error(log_ridge: float) -> float:
            residuals = [
                target - Phi @ path.solve(right, 10.0**log_ridge)
                for path, right, Phi, target in problems
            ]
            return float(np.mean(np.concatenate(residuals) ** 2))

        self.stage2_ridge_, self.stage2_search_ = tuned(
            self.stage2_ridge, lambda: error, _SECOND_DECADES
        )
        self._keep(
            [phi for phi, _, _ in stages],
            [path.solve(right, self.stage2_ridge_) for path, right, _, _ in problems],
            intercept,
        )
        return self

    def _first_stages(
        self, X: Array, Z: Array, splits: list[tuple[Rows, Rows]], rng: np.random.RandomState
    ) -> list[tuple[KernelCoordinates, Array, Array]]:
        """Return phi, phi at the first rows, and E^[phi(X)|z] at the second ones, by split."""
        x_kernel, z_kernel = MedianKernel(X, self.bandwidth), MedianKernel(Z, self.bandwidth)
        stages = []
        for first, second in splits:
            phi, Phi = KernelCoordinates.of(x_kernel, first, self.n_components, rng)
            psi, Psi = KernelCoordinates.of(z_kernel, first, self.n_components, rng)
            stages.append((phi, Phi, _FirstStage(Phi, Psi, phi(second), psi(second))))

        def error(log_ridge: float) -> float:
            return float(np.mean([stage.error(10.0**log_ridge) for _, _, stage in stages]))

        self.stage1_ridge_, self.stage1_search_ = tuned(
            self.stage1_ridge, lambda: error, _FIRST_DECADES
        )
        return [(phi, Phi, stage.predicted(self.stage1_ridge_)) for phi, Phi, stage in stages]

    def _check_parameters(self) -> None:
        check_positive(self.bandwidth, "bandwidth")
        for name in ("stage1_ridge", "stage2_ridge"):
            if getattr(self, name) is not None:
                check_positive(getattr(self, name), name)
        if self.n_components is not None:
            check_integer(self.n_components, "n_components", at_least=1)


class _FirstStage:
    """Ridge regression of Phi on Psi, and its error on the rows with a tilde."""

    def __init__(self, Phi: Array, Psi: Array, Phi_2: Array, Psi_2: Array) -> None:
        n, m = len(Psi), len(Psi_2)
        self.path, self.cross = RidgePath(Psi.T @ Psi / n), Psi.T @ Phi / n
        self.Psi_2, self.G, self.C = Psi_2, Psi_2.T @ Psi_2 / m, Psi_2.T @ Phi_2 / m

    def predicted(self, ridge: float) -> Array:
        """Return E^[phi(X)|z~] at the rows with a tilde."""
        return self.Psi_2 @ self.path.solve(self.cross, ridge)

    def error(self, ridge: float) -> float:
        """Return mean |k(x~, .) - mu(z~)|^2 = 1 + mean |mu(z~)|^2 - 2 mean mu(z~)(x~)."""
        E = self.path.solve(self.cross, ridge)
        return float(1 + np.vdot(E, self.G @ E - 2 * self.C))
