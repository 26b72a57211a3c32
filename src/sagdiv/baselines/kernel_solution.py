"""What the kernel baselines share: coordinates in an RKHS, and a solution spanned by rows."""

from __future__ import annotations

import numpy as np
from scipy.linalg import qr, solve_triangular
from sklearn.utils import gen_batches

from sagdiv._types import Array, Data, Rows
from sagdiv.base import IVRegressor
from sagdiv.kernels import MedianKernel, gaussian_kernel, low_rank_factor

__all__ = ["KernelCoordinates", "KernelSolution"]

_BLOCK_ELEMENTS = 1_000_000  # numbers held at once in a prediction: 8 MB


class KernelCoordinates:
    """Coordinates phi with phi(a)'phi(b) = k(a, b) on the span of the landmarks' kernels.

    A Gaussian kernel has a small numerical rank r, so that every n x n formula of a kernel paper
    becomes an r x r one in these coordinates, without approximation.

    Parameters
    ----------
    kernel : MedianKernel
    landmarks : array of int, default=None
        Rows of the kernel's: None is all of them; a subset is the Nystroem approximation.

    Attributes
    ----------
    at_landmarks : array of shape (p, r)
        L with L L' = K.
    """

    def __init__(self, kernel: MedianKernel, landmarks: Rows | None = None) -> None:
        self.kernel = kernel
        self.rows = np.arange(len(kernel.A)) if landmarks is None else landmarks
        self.at_landmarks = low_rank_factor(kernel.between(self.rows, self.rows))
        # phi(a) = L^+ k(landmarks, a), through L = QR, whose condition is the root of that of K.
        Q, R = qr(self.at_landmarks, mode="economic")
        self._pseudo_inverse = solve_triangular(R, Q.T)

    @classmethod
    def of(
        cls,
        kernel: MedianKernel,
        rows: Rows,
        n_components: int | None,
        rng: np.random.RandomState,
    ) -> tuple[KernelCoordinates, Array]:
        """Return coordinates on at most ``n_components`` of the rows, and those of all rows."""
        if n_components is None or n_components >= len(rows):
            coordinates = cls(kernel, rows)
            return coordinates, coordinates.at_landmarks
        coordinates = cls(kernel, rows[rng.permutation(len(rows))[:n_components]])
        return coordinates, coordinates(rows)

    def __call__(self, rows: Rows) -> Array:
        """Return phi at some rows of the kernel's, shape (n, r)."""
        return self.kernel.between(rows, self.rows) @ self._pseudo_inverse.T

    def dual(self, theta: Array) -> Array:
        """Return a with phi(x)'theta = sum_i a_i k(x, landmark_i)."""
        return theta @ self._pseudo_inverse


class KernelSolution(IVRegressor):
    """An estimator whose answer is h(x) = intercept + sum_i dual_coef_i k(x, nodes_i).

    No constant is in the RKHS of a Gaussian kernel. The methods are therefore given y less its
    mean, which is the intercept, and shrink h towards it and not towards zero.
    """

    def predict(self, X: Data) -> Array:
        """Return h^ at the rows of X, shape (n,)."""
        X = self._check_predict_input(X)
        h = np.empty(len(X))
        for rows in gen_batches(len(X), max(1, _BLOCK_ELEMENTS // len(self.nodes_))):
            K = gaussian_kernel(X[rows], self.nodes_, self.x_bandwidth_)
            h[rows] = self.intercept_ + K @ self.dual_coef_
        return h

    def _keep(
        self, phis: list[KernelCoordinates], thetas: list[Array], intercept: float = 0.0
    ) -> None:
        """Keep h, the average of the functions phi(x)'theta and the intercept."""
        self.intercept_ = intercept
        self.nodes_ = np.concatenate([phi.kernel.A[phi.rows] for phi in phis])
        self.x_bandwidth_ = phis[0].kernel.bandwidth
        duals = [phi.dual(theta) for phi, theta in zip(phis, thetas, strict=True)]
        self.dual_coef_ = np.concatenate(duals) / len(phis)
