"""A finished descent: the record of what was walked, and the function it leads to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from sklearn.utils import gen_batches

from sagdiv._types import Array, Rows
from sagdiv.descent import average, descend, replay
from sagdiv.nuisances import factors_at, loadings_at, ratio_at
from sagdiv.protocols import ConvexSet, DensityRatio, FiniteRankRatio, Loss

__all__ = ["DescentPath", "PathFunction", "Run", "walk"]


_BLOCK_ELEMENTS = 1_000_000  # numbers held at once in a block of predictions: 8 MB
_N_CHECKPOINTS = 50


@dataclass(frozen=True)
class Run:
    """The slopes of one run of Algorithm 1, and its risk at checkpoints."""

    slopes: Array
    checkpoints: Rows
    risk: Array


def walk(
    h: Array, Phi: Array, W: Array, r: Array, alphas: Array, loss: Loss, convex_set: ConvexSet
) -> Run:
    """Run `descend` to its end, and measure the projected risk at some fifty iterates."""
    n_steps = len(alphas)
    slopes = np.empty(n_steps)
    checkpoints = np.unique(np.linspace(1, n_steps, _N_CHECKPOINTS).astype(np.intp))
    seen: list[Array] = []
    # Columns of Phi are read one by one, hence the Fortran order.
    steps = descend(h, np.asfortranarray(Phi), W, r, alphas, loss.d2, convex_set.project)
    for m, (iterate, slope) in enumerate(steps, start=1):
        slopes[m - 1] = slope
        if m == checkpoints[len(seen)]:
            seen.append(iterate)
    risk = loss.value(r, np.stack(seen) @ W.T).mean(axis=1)
    return Run(slopes, checkpoints, risk)


@dataclass(frozen=True)
class DescentPath:
    """The record of a descent.

    Attributes
    ----------
    instruments : array of shape (M, dz)
        z_1, ..., z_M in the order in which they were used.
    slopes : array of shape (M,)
        d2 loss(r^(z_m), P^[h_{m-1}](z_m)); the gradient u_m is slopes[m] * Phi^(., z_m). For a
        loss in the units of y they are in units of its standard deviation.
    step_sizes : array of shape (M,)
        alpha_m.
    warm_up : int
        Iterates left out of the average.
    representation : {"values", "coefficients"}
        How the descent was computed; both give the same function.
    bound_reached : bool
        Whether the projection onto the set ever changed an iterate at the operator's nodes.
    checkpoints : integer array
        Iterations m at which the risk was measured.
    risk : array
        Projected risk of h_m over all z_1, ..., z_M, at the checkpoints.
    """

    instruments: Array
    slopes: Array
    step_sizes: Array
    warm_up: int
    representation: str
    bound_reached: bool
    checkpoints: Rows
    risk: Array


class PathFunction:
    """The average of a descent as a function of x.

    Replaying M steps costs O(M) a point. Where the density ratio has finite rank the path is a
    path of b coefficients, and where no iterate can have left the set its average is one product.

    Parameters
    ----------
    path : DescentPath
    density_ratio : fitted density ratio
    convex_set : ConvexSet
    """

    def __init__(
        self, path: DescentPath, density_ratio: DensityRatio, convex_set: ConvexSet
    ) -> None:
        self.path, self.density_ratio, self.convex_set = path, density_ratio, convex_set
        self.mean: Array | None = None
        if isinstance(density_ratio, FiniteRankRatio):
            steps = loadings_at(density_ratio, path.instruments) * (path.slopes * path.step_sizes)
            iterates = -np.cumsum(steps, axis=1)  # coefficients of h_m - h_0
            self.mean = iterates[:, path.warm_up :].mean(axis=1)
            # The path around its mean in principal directions, each with the farthest it ever
            # goes along it; all but a few are too short to matter and share one bound.
            around = iterates - self.mean[:, None]
            _, U = eigh(around @ around.T, driver="evd")
            farthest = np.abs(U.T @ around).max(axis=1)
            long = farthest > 1e-4 * farthest.max()
            self.directions = U[:, long] * farthest[long]
            self.rest = float(np.linalg.norm(farthest[~long]))

    def __call__(self, X: Array, start: Array) -> Array:
        """Return h^ at the rows of X, where h_0 has the values ``start``."""
        h = np.empty(len(X))
        width = len(self.path.slopes) if self.mean is None else len(self.mean)
        for rows in gen_batches(len(X), max(1, _BLOCK_ELEMENTS // width)):
            h[rows] = self._block(X[rows], start[rows])
        return h

    def _block(self, X: Array, start: Array) -> Array:
        if self.mean is None:
            return self._replay(X, start)
        factors = factors_at(cast(FiniteRankRatio, self.density_ratio), X)
        h = start + factors @ self.mean
        # |h_m(x) - h(x)| <= reach(x) for every m. Where h +- reach lies in the set, no iterate
        # was ever projected, and the average is h exactly; elsewhere every step is replayed.
        reach = np.abs(factors @ self.directions).sum(axis=1)
        reach += self.rest * np.sqrt(np.einsum("ij,ij->i", factors, factors))
        free = _inside(h - reach, self.convex_set) & _inside(h + reach, self.convex_set)
        if not free.all():
            h[~free] = self._replay(X[~free], start[~free])
        return h

    def _replay(self, X: Array, start: Array) -> Array:
        path, h = self.path, np.empty(len(X))
        for rows in gen_batches(len(X), max(1, _BLOCK_ELEMENTS // len(path.slopes))):
            Phi = np.asfortranarray(ratio_at(self.density_ratio, X[rows], path.instruments))
            iterates = replay(
                start[rows], Phi, path.slopes, path.step_sizes, self.convex_set.project
            )
            h[rows] = average(iterates, path.warm_up)
        return h


def _inside(h: Array, convex_set: ConvexSet) -> NDArray[np.bool_]:
    return convex_set.project(h) == h
