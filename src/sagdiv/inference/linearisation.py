r"""The estimate as a sum over rows: where every standard error here comes from.

With the total step fixed, the coefficients of h solve their moment equations up to

.. math:: \hat a - a^* \approx R B' \tfrac1n \sum_i \psi(z_i) u_i, \qquad
          u_i = -\partial_2 \ell(y_i, v_i) - \partial_{22} \ell(y_i, v_i) (h(x_i) - v_i)

with v_i = P^[h](z_i), B the first stage and R the linear map of the flow (`Flow.linear_map`).
For the squared loss u_i = y_i - h(x_i), and h^ itself is exactly linear in y.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh, null_space
from sklearn.utils import gen_batches

from sagdiv._types import Array, Rows
from sagdiv.flow import Flow
from sagdiv.inference.roughness import plausible_norm
from sagdiv.kernel_sagdiv import KernelSAGDIV

__all__ = ["Errors", "Linearisation", "second_moment_root"]

_BLOCK_ROWS = 8192


@dataclass(frozen=True)
class Errors:
    """The errors of k estimated numbers as a linear map of independent standard normals.

    Attributes
    ----------
    noise : array of shape (k, r)
        What chance puts into the estimates.
    bias : array of shape (k, q)
        What stopping the descent leaves out, for a function of plausible norm.
    """

    noise: Array
    bias: Array

    @property
    def noise_error(self) -> Array:
        """Sandwich standard errors, shape (k,)."""
        return np.linalg.norm(self.noise, axis=1)

    @property
    def standard_error(self) -> Array:
        """Root mean squared error of noise and bias together, shape (k,)."""
        return np.hypot(self.noise_error, np.linalg.norm(self.bias, axis=1))

    def draw(self, n_draws: int, rng: np.random.RandomState) -> Array:
        """Return simulated errors, shape (n_draws, k), in one matrix product.

        A multiplier bootstrap sum_i w_i(x) u_i xi_i with Gaussian xi_i is exactly normal given
        the data, so that it is drawn from its covariance; the rows need not be visited again.
        """
        loadings = np.hstack([self.noise, self.bias])
        return rng.standard_normal((n_draws, loadings.shape[1])) @ loadings.T


class Linearisation:
    r"""First-order behaviour of a fitted estimator, without the shrinkage of its scores.

    Parameters
    ----------
    model : KernelSAGDIV
        Fitted on the rows that follow.
    X, y, Z : arrays with one row each
        Z with the exogenous columns of X appended.
    codes : integer array of shape (n,) or None
        Cluster of each row; rows of different clusters are independent. None: all rows are.

    Attributes
    ----------
    coef : array of shape (bx,)
        Coefficients of the estimate.
    influence : array of shape (bx, bz)
        R B': what psi(z_i) u_i / n does to the coefficients.
    cross : array of shape (bx, bz)
        Average of loss'' phi psi', which is C for the squared loss.
    score_root : array of shape (bz, r)
        Square root of the covariance of the sum of psi(z_i) u_i.
    left_out : array of shape (bx, k)
        What the descent leaves out of a function with independent standard normal coefficients in
        all k directions, seen by the instrument or not, scaled to a plausible norm.
    """

    def __init__(
        self,
        model: KernelSAGDIV,
        X: Array,
        y: Array,
        Z: Array,
        codes: Rows | None = None,
    ) -> None:
        self._flow, self._t = flow, t = model._flow, model.total_step_
        self._maps, self._B, self._loss = model.maps_, model.P_.B, model._loss
        self._rows = (X, y, Z)
        self.n = len(y)
        self.coef = self.coefficients(1.0)
        self.influence = flow.linear_map(t, np.ones(len(flow.values))) @ self._B.T
        self._visit(codes)
        learnt = -np.expm1(-flow.values * t)
        unseen = _unseen_directions(flow, self.cross @ self._B)
        self._directions = np.hstack([flow.directions, unseen])
        self._unlearnt = np.append(1 - learnt, np.ones(unseen.shape[1]))
        n_functions = len(self._unlearnt)
        norm = plausible_norm(flow, t, model.dispersion_, self._noise, n_functions)
        self.left_out = self._directions * (self._unlearnt * norm / np.sqrt(max(n_functions, 1)))

    def coefficients(self, factor: float) -> Array:
        """Return the coefficients that another multiple of the total step gives."""
        a: Array = self._flow.coefficients(factor * self._t, 0.0)
        return a

    def errors(self, L: Array) -> Errors:
        """Return the errors of the linear functionals L a, L of shape (k, bx)."""
        return Errors(L @ self.influence @ self.score_root / self.n, L @ self.left_out)

    def weights(self, L: Array) -> Array:
        """Return w with L a = w @ y, shape (k, n); exact for the squared loss."""
        return L @ self.influence @ self._maps.z.transform(self._rows[2]).T / self.n

    def row_influence(self, L: Array) -> Array:
        """Return the first-order contribution of each row to L a, shape (k, n)."""
        to_scores, parts = L @ self.influence / self.n, []
        for rows in self._blocks():
            u, _, _, psi = self.residual_parts(*rows)
            parts.append(to_scores @ psi.T * u)
        return np.hstack(parts)

    def learnt_share(self, L: Array) -> Array:
        """Return the share of the prior variance of L a that the instrument removed, (k,)."""
        before = np.square(L @ self._directions)
        total = before.sum(axis=1)
        left = before @ self._unlearnt**2
        return 1 - np.divide(left, total, out=np.zeros_like(left), where=total > 0)

    def residuals(self) -> Array:
        """Return u_i for every row, shape (n,)."""
        u: Array = np.concatenate([self.residual_parts(*rows)[0] for rows in self._blocks()])
        return u

    def _visit(self, codes: Rows | None) -> None:
        bz, bx = self._B.shape
        self.cross = np.zeros((bx, bz))
        sums = None if codes is None else np.zeros((int(codes.max()) + 1, bz))
        squares, first, bend, spread = np.zeros((bz, bz)), 0, 0.0, 0.0
        for X, y, Z in self._blocks():
            u, curvature, phi, psi = self.residual_parts(X, y, Z)
            self.cross += (phi * curvature[:, None]).T @ psi / self.n
            bend, spread = bend + float(curvature.sum()), spread + float(u @ u)
            scores = psi * u[:, None]
            if sums is None or codes is None:
                squares += scores.T @ scores
            else:
                np.add.at(sums, codes[first : first + len(y)], scores)
            first += len(y)
        self._noise = float(np.sqrt(spread * self.n) / max(bend, 1e-300))  # in the units of h
        groups = self.n if sums is None else len(sums)
        squares = squares if sums is None else sums.T @ sums
        self.score_root = second_moment_root(squares * groups / (groups - 1))

    def residual_parts(self, X: Array, y: Array, Z: Array) -> tuple[Array, Array, Array, Array]:
        """Return u_i, loss'', phi(x_i) and psi(z_i) of any rows."""
        phi, psi = self._maps.x.transform(X), self._maps.z.transform(Z)
        v = psi @ (self._B @ self.coef)
        curvature = self._loss.d22(y, v)
        u = -self._loss.d2(y, v) - curvature * (phi @ self.coef - v)
        return u, curvature, phi, psi

    def _blocks(self) -> Iterator[tuple[Array, Array, Array]]:
        X, y, Z = self._rows
        for rows in gen_batches(self.n, _BLOCK_ROWS):
            yield X[rows], y[rows], Z[rows]


def _unseen_directions(flow: Flow, S: Array) -> Array:
    """Return the directions that the flow leaves out because the instrument cannot see them.

    As in `Flow`, the affine part follows a step in the others so as to keep the risk minimal.
    """
    n_free = len(flow._free_inverse)
    rest = null_space(flow.directions[n_free:].T)
    return np.vstack([-flow._free_inverse @ S[:n_free, n_free:] @ rest, rest])


def second_moment_root(S: Array) -> Array:
    """Return G with G G' = S for a positive semi-definite S."""
    values, vectors = eigh(S)
    seen = values > 1e-14 * max(values[-1], 0.0)
    return vectors[:, seen] * np.sqrt(values[seen])
