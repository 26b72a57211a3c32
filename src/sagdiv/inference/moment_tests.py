r"""Tests of E[e|Z] = 0: whether the model fits the data, whether an instrument is needed at all.

With controls W both look at functions of the excluded instruments less what W says about them,
g~(Z) = g(Z) - E^[g(Z)|W]. The moment E[e g~(Z)] stays zero where h is wrong about W alone, and
where E^ is wrong about W as long as h is right.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh, solve, svdvals
from scipy.stats import chi2

from sagdiv._types import Array, Rows
from sagdiv.inference.linearisation import second_moment_root
from sagdiv.inference.partialling import independent, without

__all__ = ["MomentTest", "exogeneity_test", "specification_test"]

_ROWS_PER_FEATURE = 10
_ROUNDING = 1e-7

# How many functions are looked at, how much of their variance may be lost, and the level at which
# a function of x counts as seen. Chosen on simulated draws that no reported figure uses.
_MOST_Z, _MOST_X = 12, 10
_VARIANCE_LOST = 1e-4
_SEEN_LEVEL = 0.01
_ROUNDS = 3
_GROUPS_PER_FUNCTION = 5


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
    u: Array,
    curvature: Array,
    phi: Array,
    n_affine: int,
    coef: Array,
    psi: Array,
    controls: Array,
    codes: Rows | None = None,
) -> MomentTest:
    r"""Test that some smooth h has E[Y - h(X)|Z] = 0.

    It fails when an instrument reaches Y by another way than X, provided that no function of X
    can mimic that way: what is not overidentified is not testable.

    The statistic is that of overidentified two-step GMM: with g~ the leading functions of the
    instruments, f the affine functions of x and those others that the instrument moves visibly,

    .. math:: T = \min_a m(a)' V^{-1} m(a), \qquad m(a) = n^{-1/2} \sum_i g~(z_i) (y_i - f(x_i)'a),

    with V the covariance of m; chi-squared under the null with as many degrees of freedom as
    there are more functions g~ than f. Nothing is shrunk, unlike in the estimate: what its
    smoothing leaves out, and what an overfitted first stage puts in, would else be read as a fault
    of the model. What the instrument does not move visibly changes m too little to matter.

    Parameters
    ----------
    u : array of shape (n,)
        Residuals, linearised if the loss is not quadratic.
    curvature : array of shape (n,)
        What h(x) is multiplied by in them, 1 for the squared loss.
    phi : array of shape (n, bx)
        Features of X, the affine ones first.
    n_affine : int
    coef : array of shape (bx,)
        The estimate that left the residuals.
    psi : array of shape (n, bz)
        Features of the excluded instruments.
    controls : array of shape (n, q)
        Orthogonal functions of the controls, of mean square one; the constant at least.
    codes : integer array of shape (n,), default=None
        Clusters.

    References
    ----------
    Hansen (1982), Large Sample Properties of Generalized Method of Moments Estimators.
    Guggenberger, Kleibergen, Mavroeidis and Chen (2012), On the Asymptotic Sizes of Subset
    Anderson-Rubin and Lagrange Multiplier Tests in Linear Instrumental Variables Regression: with
    weakly identified coefficients such a statistic rejects too rarely, not too often.
    """
    hypothesis = "E[Y - h(X) | Z] = 0"
    n = len(u)
    weights = None if np.all(curvature == 1) else curvature
    left = n - controls.shape[1]
    most = min(_MOST_Z, (left if codes is None else int(codes.max()) + 1) // _GROUPS_PER_FUNCTION)
    g = _leading(without(psi, controls, weights), max(1, most))
    affine = independent(without(phi[:, :n_affine], controls, weights))
    shapes = without(without(phi[:, n_affine:], controls, weights), affine)
    if g.shape[1] <= affine.shape[1]:
        return MomentTest(hypothesis, 0.0, 1.0)
    shapes = _seen(g, affine, _leading(shapes, _MOST_X), left)
    f = np.hstack([affine, shapes]) * curvature[:, None]
    # Residuals before h, and then less a regression on the controls.
    e = u + curvature * (phi @ coef)
    slopes = np.linalg.lstsq(
        controls.T @ (controls * curvature[:, None]), controls.T @ e, rcond=None
    )[0]
    e -= curvature * (controls @ slopes)
    m, D = g.T @ e / np.sqrt(n), g.T @ f / np.sqrt(n)
    V = np.eye(len(m))
    for _ in range(_ROUNDS):
        a = _gmm(V, D, m)
        V = _covariance(g * (e - f @ a)[:, None], codes, left - f.shape[1])
    r = m - D @ _gmm(V, D, m)
    statistic = float(r @ solve(V, r))
    freedom = g.shape[1] - f.shape[1]
    return MomentTest(hypothesis, statistic, float(chi2.sf(statistic, freedom)))


def exogeneity_test(
    phi: Array,
    psi: Array,
    y: Array,
    n_draws: int,
    rng: np.random.RandomState,
    codes: Rows | None = None,
) -> MomentTest:
    r"""Test E[Y - g(X)|Z] = 0 with g = E[Y|X]: whether an ordinary regression would have done.

    It fails when X is confounded, but also when Z reaches Y by another way than X. The statistic
    is :math:`| n^{-1/2} \psi(Z)' e |^2`; its null comes from Gaussian multipliers on the influence
    of each row, which includes what the row did to g.

    Parameters
    ----------
    phi : array of shape (n, bx)
        Features of X, on which y is regressed without penalty (on their leading principal
        components if there are many for the number of rows).
    psi : array of shape (n, bz)
        Features of the excluded instruments.
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
    U = independent(phi, n // _ROWS_PER_FEATURE)
    e = without(y, U)
    # The fit draws each residual towards zero by its leverage: jackknife residuals make it good.
    outside = e / np.maximum(1 - np.square(U).sum(axis=1) / n, 0.1)
    scores = _summed(without(psi, U) * outside[:, None], codes)
    moment, root = psi.T @ e / np.sqrt(n), second_moment_root(scores.T @ scores / n)
    # |G xi|^2 with xi standard normal: a sum of squares weighted by the eigenvalues of GG'. Where
    # g has used the scores up, only their rounding is left, and nothing can be tested.
    axes, sizes, _ = np.linalg.svd(root, full_matrices=False)
    seen = sizes > _ROUNDING * np.linalg.norm(psi * outside[:, None]) / np.sqrt(n)
    null = rng.standard_normal((n_draws, seen.sum())) ** 2 @ sizes[seen] ** 2
    statistic = float(np.square(axes[:, seen].T @ moment).sum())
    p_value = float((1 + (null >= statistic).sum()) / (1 + n_draws))
    return MomentTest("E[Y - E[Y|X] | Z] = 0", statistic, p_value)


def _gmm(V: Array, D: Array, m: Array) -> Array:
    """Return a that minimises (m - D a)' V^-1 (m - D a)."""
    weighted = solve(V, D).T
    a: Array = np.linalg.lstsq(weighted @ D, weighted @ m, rcond=None)[0]
    return a


def _leading(A: Array, most: int) -> Array:
    """Return the principal components of A that make up its variance, with mean square one."""
    n = len(A)
    if np.square(A).sum() <= _ROUNDING**2 * A.size:  # nothing is left of it
        return np.empty((n, 0))
    values, vectors = eigh(A.T @ A / n)
    values, vectors = values[::-1].clip(min=0.0), vectors[:, ::-1]
    total = values.sum()
    kept = 1 + int((np.cumsum(values) < (1 - _VARIANCE_LOST) * total).sum())
    kept = min(kept, most, int((values > _ROUNDING**2 * total).sum()))
    return A @ (vectors[:, :kept] / np.sqrt(values[:kept]))


def _seen(g: Array, affine: Array, shapes: Array, left: int) -> Array:
    """Return the functions of x, smooth ones first, that g moves apart from those before them.

    One is taken if the smallest canonical correlation of g with those taken and itself is
    significant (Bartlett 1947): a rank test, so that no combination stays unidentified.
    """
    n = len(g)
    moved = np.linalg.qr(g.T @ affine)[0] if affine.shape[1] else np.empty((g.shape[1], 0))
    spare = np.linalg.svd(moved, full_matrices=True)[0][:, moved.shape[1] :]
    C, width, kept = spare.T @ (g.T @ shapes) / n, spare.shape[1], list[int]()
    for k in range(shapes.shape[1]):
        if width - len(kept) <= 1:
            break
        s = min(svdvals(C[:, [*kept, k]])[-1], 1 - 1e-9)
        factor = left - 1 - (width + len(kept) + 2) / 2
        if chi2.sf(-factor * np.log1p(-s * s), width - len(kept)) < _SEEN_LEVEL:
            kept.append(k)
    return shapes[:, kept]


def _covariance(scores: Array, codes: Rows | None, left: int) -> Array:
    """Return n^-1 times the covariance of the sum of scores."""
    n, sums = len(scores), _summed(scores, codes)
    sums = sums - sums.mean(axis=0)
    groups = len(sums)
    correction = n / left if codes is None else n / left * groups / (groups - 1)
    covariance: Array = sums.T @ sums / n * correction
    return covariance


def _summed(scores: Array, codes: Rows | None) -> Array:
    if codes is None:
        return scores
    sums = np.zeros((codes.max() + 1, scores.shape[1]))
    np.add.at(sums, codes, scores)
    return sums
