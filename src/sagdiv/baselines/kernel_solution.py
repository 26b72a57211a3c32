"""What the kernel baselines share: coordinates in an RKHS, and a solution spanned by rows."""

from __future__ import annotations

import numpy as np
from scipy.linalg import qr, solve_triangular

from sagdiv._types import Array, Data
from sagdiv.base import IVRegressor
from sagdiv.kernels import gaussian_kernel, low_rank_factor

__all__ = ["KernelCoordinates", "KernelSolution"]


class KernelCoordinates:
    """Coordinates phi with phi(a)'phi(b) = k(a, b) on the span of the landmarks' kernels.

    A Gaussian kernel has a small numerical rank r, so that every n x n formula of a kernel paper
    becomes an r x r one in these coordinates, without approximation.

    Parameters
    ----------
    landmarks : array of shape (p, d)
        All rows, or a subset of them, which is the Nystroem approximation.
    bandwidth : float or array of shape (d,)

    Attributes
    ----------
    at_landmarks : array of shape (p, r)
        L with L L' = K.
    """

    def __init__(self, landmarks: Array, bandwidth: float | Array) -> None:
        self.landmarks, self.bandwidth = landmarks, bandwidth
        self.at_landmarks = low_rank_factor(gaussian_kernel(landmarks, landmarks, bandwidth))
        # phi(a) = L^+ k(landmarks, a), through L = QR, whose condition is the root of that of K.
        Q, R = qr(self.at_landmarks, mode="economic")
        self._pseudo_inverse = solve_triangular(R, Q.T)

    @classmethod
    def of(
        cls,
        rows: Array,
        bandwidth: float | Array,
        n_components: int | None,
        rng: np.random.RandomState,
    ) -> tuple[KernelCoordinates, Array]:
        """Return coordinates on at most ``n_components`` of the rows, and those of all rows."""
        if n_components is None or n_components >= len(rows):
            coordinates = cls(rows, bandwidth)
            return coordinates, coordinates.at_landmarks
        coordinates = cls(rows[rng.permutation(len(rows))[:n_components]], bandwidth)
        return coordinates, coordinates(rows)

    def __call__(self, A: Array) -> Array:
        """Return phi at the rows of A, shape (n, r)."""
        return gaussian_kernel(A, self.landmarks, self.bandwidth) @ self._pseudo_inverse.T

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
        K = gaussian_kernel(X, self.nodes_, self.x_bandwidth_)
        return self.intercept_ + K @ self.dual_coef_

    def _keep(
        self, phis: list[KernelCoordinates], thetas: list[Array], intercept: float = 0.0
    ) -> None:
        """Keep h, the average of the functions phi(x)'theta and the intercept."""
        self.intercept_ = intercept
        self.nodes_ = np.concatenate([phi.landmarks for phi in phis])
        self.x_bandwidth_ = phis[0].bandwidth
        duals = [phi.dual(theta) for phi, theta in zip(phis, thetas, strict=True)]
        self.dual_coef_ = np.concatenate(duals) / len(phis)
