r"""Tests of E[e|Z] = 0: whether the model fits the data, whether an instrument is needed at all.

Both look at the residual e along the features of the instrument,

.. math:: T = n^{-1} e' K_Z e = | n^{-1/2} \psi(Z)' e |^2, \qquad K_Z = \psi(Z) \psi(Z)',

and draw T under the null by Gaussian multipliers on the *influence* of each row, which includes
what the row did to the estimated curve.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from sagdiv._types import Array, Rows
from sagdiv.inference.linearisation import Linearisation, second_moment_root

__all__ = ["MomentTest", "exogeneity_test", "specification_test"]

_ROWS_PER_FEATURE = 10
_ROUNDING = 1e-7


@dataclass(frozen=True)
class MomentTest:
    """Outcome of a test.

    Attributes
    ----------
    hypothesis : str
    statistic : float
    p_value : float
    """

    hypothesis: str
    statistic: float
    p_value: float

    def __str__(self) -> str:
        return f"{self.hypothesis}: T = {self.statistic:.3g}, p = {self.p_value:.2g}"


def specification_test(
    estimate: Linearisation, n_draws: int, rng: np.random.RandomState
) -> MomentTest:
    """Test E[Y - h(X)|Z] = 0 with h as estimated.

    It fails when an instrument reaches Y by another way than X, provided that no function of X
    can mimic that way: what is not overidentified is not testable.

    Parameters
    ----------
    estimate : Linearisation
    n_draws : int
    rng : RandomState

    References
    ----------
    Horowitz (2012), Specification Testing in Nonparametric Instrumental Variable Estimation.
    """
    moment = estimate.total_score / np.sqrt(estimate.n)
    follows = np.eye(len(moment)) - estimate.cross.T @ estimate.influence
    freedom = estimate.n - np.trace(estimate.cross.T @ estimate.influence)
    scores = estimate.score_root / np.sqrt(freedom)
    return _quadratic("E[Y - h(X) | Z] = 0", moment, follows @ scores, scores, n_draws, rng)


def exogeneity_test(
    phi: Array,
    psi: Array,
    y: Array,
    n_draws: int,
    rng: np.random.RandomState,
    codes: Rows | None = None,
) -> MomentTest:
    """Test E[Y - g(X)|Z] = 0 with g = E[Y|X]: whether an ordinary regression would have done.

    It fails when X is confounded, but also when Z reaches Y by another way than X.

    Parameters
    ----------
    phi : array of shape (n, bx)
        Features of X, on which y is regressed without penalty (on their leading principal
        components if there are many for the number of rows).
    psi : array of shape (n, bz)
        Features of Z.
    y : array of shape (n,)
    n_draws : int
    rng : RandomState
    codes : integer array of shape (n,), default=None
        Clusters.

    References
    ----------
    Blundell and Horowitz (2007), A Non-Parametric Test of Exogeneity.
    """
    n = len(y)
    values, vectors = eigh(phi.T @ phi / n)
    seen = values > 1e-9 * values[-1]
    seen[: -max(2, n // _ROWS_PER_FEATURE)] = False
    U = phi @ (vectors[:, seen] / np.sqrt(values[seen]))
    e = y - U @ (U.T @ y / n)
    # The fit draws each residual towards zero by its leverage: jackknife residuals make it good.
    outside = e / np.maximum(1 - np.square(U).sum(axis=1) / n, 0.1)
    scores = (psi - U @ (U.T @ psi / n)) * outside[:, None]
    if codes is not None:
        sums = np.zeros((codes.max() + 1, psi.shape[1]))
        np.add.at(sums, codes, scores)
        scores = sums
    root = second_moment_root(scores.T @ scores / n)
    return _quadratic("E[Y - E[Y|X] | Z] = 0", psi.T @ e / np.sqrt(n), root, root, n_draws, rng)


def _quadratic(
    hypothesis: str,
    moment: Array,
    root: Array,
    scores: Array,
    n_draws: int,
    rng: np.random.RandomState,
) -> MomentTest:
    # |G xi|^2 with xi standard normal: a sum of squares weighted by the eigenvalues of GG'. Where
    # fitting h has used the scores up, only their rounding is left, and nothing can be tested.
    axes, sizes, _ = np.linalg.svd(root, full_matrices=False)
    seen = sizes > _ROUNDING * np.linalg.norm(scores, 2)
    weights = sizes[seen] ** 2
    statistic = float(np.square(axes[:, seen].T @ moment).sum())
    null = rng.standard_normal((n_draws, len(weights))) ** 2 @ weights
    return MomentTest(hypothesis, statistic, float((1 + (null >= statistic).sum()) / (1 + n_draws)))
