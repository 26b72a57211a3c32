"""One ridge path for the whole package, and the paper's search along it.

Everything linear here solves (A + lam R) theta = b for many lam. One (generalised)
eigendecomposition of A serves them all, and leave-one-out errors come without refitting.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from sagdiv._types import Array, Rows

__all__ = [
    "RidgePath",
    "Search",
    "cross_fitted_ridge",
    "generalised_error",
    "leave_one_out_error",
    "refine_search",
    "tuned",
]

_RANK_TOLERANCE = 1e-9


class RidgePath:
    """Solutions of (A + lam R) theta = b along lam, from one eigendecomposition.

    Parameters
    ----------
    A : array of shape (b, b)
        Symmetric positive semi-definite.
    basis : array of shape (b, k), default=None
        Coordinates in which the penalty R is the identity, from `penalty_basis`; None is R = I.
    """

    def __init__(self, A: Array, basis: Array | None = None) -> None:
        if basis is None:
            values, self.vectors = eigh(A, driver="evd")
        else:
            values, rotation = eigh(basis.T @ A @ basis, driver="evd")
            self.vectors = basis @ rotation
        self.values = values.clip(min=0.0)

    def solve(self, b: Array, lam: float) -> Array:
        """Return (A + lam R)^-1 b for one right-hand side or a matrix of them."""
        rotated = self.vectors.T @ b
        return self.vectors @ (rotated.T / (self.values + lam)).T


def penalty_basis(R: Array) -> Array:
    """Return T with T'RT = I, for a ridge penalty theta'R theta on theta = T beta.

    Gram matrices are singular to working precision: the directions that R cannot see are left
    out, not inverted.
    """
    weights, vectors = eigh(R, driver="evd")
    seen = weights > _RANK_TOLERANCE * weights[-1]
    return vectors[:, seen] / np.sqrt(weights[seen])


@dataclass(frozen=True)
class Search:
    """What a search tried: ``best`` is the candidate with the smallest score."""

    best: float
    candidates: Array
    scores: Array


def refine_search(
    score: Callable[[float], float],
    candidates: Iterable[float],
    *,
    offset: float,
    n_rounds: int = 3,
) -> Search:
    """Minimise a score of one number: a list first, then ever finer around the best.

    The paper's search for regularisation parameters. Each further round evaluates
    best + k * offset for k = -5, ..., 5 and divides the offset by ten. Call it on log10(lam):
    ridge parameters spread over decades.

    Parameters
    ----------
    score : callable
        To be minimised; candidates with a score that is not finite never win.
    candidates : iterable of float
        The list of the first round.
    offset : float
        Spacing of the second round.
    n_rounds : int, default=3
        Number of rounds, the first list included.
    """
    scores: dict[float, float] = {}
    best = np.nan
    for _ in range(n_rounds):
        for candidate in candidates:
            if candidate not in scores:
                scores[candidate] = float(score(candidate))
        finite = {c: s for c, s in scores.items() if np.isfinite(s)}
        if not finite:
            raise ValueError("no candidate of the search has a finite score.")
        best = min(finite, key=finite.__getitem__)
        candidates = [best + k * offset for k in range(-5, 6)]
        offset /= 10
    tried = np.array(sorted(scores))
    return Search(best, tried, np.array([scores[c] for c in tried]))


def tuned(
    given: float | None,
    make_score: Callable[[], Callable[[float], float]],
    decades: tuple[int, int],
    *,
    n_rounds: int = 2,
) -> tuple[float, Search | None]:
    """Return a parameter as given, or as a search over its powers of ten chooses it.

    Parameters
    ----------
    given : float or None
        The user's choice.
    make_score : callable
        Returns the score, a function of log10(parameter); only called when there is a search.
    decades : tuple of int
        First and last decade of the first round.
    n_rounds : int, default=2
        Rounds of `refine_search`; two fix a power of ten to within a fifth of a decade.
    """
    if given is not None:
        return float(given), None
    grid = [float(decade) for decade in range(decades[0], decades[1] + 1)]
    search = refine_search(make_score(), grid, offset=0.2, n_rounds=n_rounds)
    return 10.0**search.best, search


def leave_one_out_error(Psi: Array, target: Array) -> Callable[[float], float]:
    """Return the exact leave-one-out squared error of a ridge regression, by log10(lam).

    Parameters
    ----------
    Psi : array of shape (n, b)
        Features; the coefficients are (Psi'Psi / n + lam I)^-1 Psi'target / n.
    target : array of shape (n,) or (n, k)
        One or several outcomes, whose errors are added.
    """
    n = len(Psi)
    path = RidgePath(Psi.T @ Psi / n)
    rotated = Psi @ path.vectors
    right, squares = rotated.T @ target / n, rotated**2 / n

    def error(log_ridge: float) -> float:
        shrunk = 1 / (path.values + 10.0**log_ridge)
        residuals = target - rotated @ (shrunk * right.T).T
        return float(np.sum((residuals.T / (1 - squares @ shrunk)) ** 2) / n)

    return error


def generalised_error(residuals: Array, degrees_of_freedom: float, caution: float = 1.0) -> float:
    """Return the generalised cross-validation error of a linear smoother.

    Parameters
    ----------
    residuals : array of shape (n,)
    degrees_of_freedom : float
        Trace of the smoother.
    caution : float, default=1.0
        What a degree of freedom counts for. One is the classical rule, which overfits now and then;
        more makes the choice smoother and steadier (Kim and Gu, 2004).
    """
    kept = 1 - caution * degrees_of_freedom / len(residuals)
    return float(np.mean(residuals**2) / kept**2) if kept > 0 else np.inf


def cross_fitted_ridge(
    Psi: Array,
    target: Array,
    folds: Rows,
    weights: Array,
) -> Array:
    """Return out-of-fold predictions of a ridge regression, its parameter chosen by them.

    Parameters
    ----------
    Psi : array of shape (n, b)
        Features.
    target : array of shape (n,)
    folds : integer array of shape (n,)
    weights : array of shape (n,)
    """
    weighted = Psi * weights[:, None]
    G, c, sums, mass = weighted.T @ Psi, weighted.T @ target, weighted.sum(axis=0), weights.sum()
    held_out = []
    for fold in np.unique(folds):
        rows = folds == fold
        inside, w = weighted[rows], weights[rows]
        total = mass - w.sum()
        if total > 0:
            # Not even the level of the target is learnt from the rows that are held out.
            center = (weights @ target - w @ target[rows]) / total
            right = c - inside.T @ target[rows] - center * (sums - inside.sum(axis=0))
            path = RidgePath((G - inside.T @ Psi[rows]) / total)
            held_out.append((rows, center, path, right / total))

    def predict(log_ridge: float) -> Array:
        prediction = np.full(len(target), target @ weights / mass)
        for rows, center, path, right in held_out:
            prediction[rows] = center + Psi[rows] @ path.solve(right, 10.0**log_ridge)
        return prediction

    def error(log_ridge: float) -> float:
        return float(np.average((target - predict(log_ridge)) ** 2, weights=weights))

    ridge, _ = tuned(None, lambda: error, (-8, 2), n_rounds=2)
    return predict(np.log10(ridge))
