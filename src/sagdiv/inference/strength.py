"""How strongly the instrument moves X, direction by direction, against what chance would do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.linalg import eigh, svdvals

from sagdiv._types import Array, Rows
from sagdiv.inference.partialling import independent, without
from sagdiv.kernels import column_scales
from sagdiv.linear import projected

__all__ = ["InstrumentStrength", "instrument_strength"]

_VARIANCE_KEPT = 0.99
_FEWEST_X, _FEWEST_Z = 10, 20
_ROWS_PER_COMPONENT = 10
_RULE_OF_THUMB = 10.0  # of Staiger and Stock (1997), for the first-stage F


@dataclass(frozen=True)
class InstrumentStrength:
    """Canonical correlations of functions of X and of Z beside those of permuted data.

    Attributes
    ----------
    correlations : array of shape (k,)
        Decreasing: how well the best function of Z predicts the best function of X, and so on.
    n_shapes : int
        Number of functions of X that were looked at; 1 if X takes two values.
    null : array of shape (m,)
        The largest correlation in each permutation.
    level : float
        Chance of taking an irrelevant instrument for a useful one.
    first_stage_f : array of shape (d,)
        F statistic of each endogenous column of X on the columns of Z, or on functions of Z if
        that is larger.
    joint_f : float
        The same for the linear combination of these columns that is moved least, with the other
        combinations moved as they please; one column is its own weakest combination.
    """

    correlations: Array
    n_shapes: int
    null: Array
    level: float
    first_stage_f: Array
    joint_f: float

    @property
    def threshold(self) -> float:
        """What the largest correlation of an irrelevant instrument stays below."""
        rank = int(np.ceil((1 - self.level) * (len(self.null) + 1)))
        return float(np.sort(self.null)[min(rank, len(self.null)) - 1])

    @property
    def p_value(self) -> float:
        """Of the hypothesis that X and Z are independent."""
        beyond = (self.null >= self.correlations[0]).sum()
        return float((1 + beyond) / (1 + len(self.null)))

    @property
    def n_directions(self) -> int:
        """Number of directions above what chance would do."""
        return int((self.correlations > self.threshold).sum())

    @property
    def verdict(self) -> Literal["useless", "weak", "linear only", "strong"]:
        """One word."""
        if self.n_directions == 0:
            return "useless"
        if min(self.first_stage_f.min(), self.joint_f) < _RULE_OF_THUMB:
            return "weak"
        if self.n_directions <= len(self.first_stage_f) < self.n_shapes:
            return "linear only"
        return "strong"

    @property
    def sentence(self) -> str:
        """The reading in plain words."""
        shapes = f"{self.n_directions} direction" + "s" * (self.n_directions != 1)
        if self.verdict == "weak" and self.first_stage_f.min() >= _RULE_OF_THUMB:
            return (
                "The instruments are weak: they move each column of X, but not apart from one "
                "another. Some combination of them hardly moves (first-stage F = "
                f"{self.joint_f:.1f}, where at least 10 is asked for), and which column has the "
                "effect cannot be told. Neither the curve nor its bands are reliable."
            )
        return {
            "useless": (
                "The instrument is useless: it moves X no more than a shuffled copy of itself "
                f"would (p = {self.p_value:.2g}). Nothing can be learnt about cause here."
            ),
            "weak": (
                f"The instrument is weak: it moves X in {shapes}, but little (first-stage F = "
                f"{self.first_stage_f.min():.1f}, where at least 10 is asked for). Neither the "
                "curve nor its bands are reliable."
            ),
            "linear only": (
                f"The instrument moves X in {shapes} only: enough for a straight line, not for "
                "the shape of a curve. Beyond the line the answer is an assumption."
            ),
            "strong": (
                f"The instrument is strong: it moves X in {shapes} above chance (largest "
                f"correlation {self.correlations[0]:.2f}; an irrelevant instrument stays below "
                f"{self.threshold:.2f})."
            ),
        }[self.verdict]


def instrument_strength(
    phi: Array,
    psi: Array,
    endogenous: Array,
    instruments: Array,
    rng: np.random.RandomState,
    *,
    controls: Array | None = None,
    codes: Rows | None = None,
    n_permutations: int = 199,
    level: float = 0.01,
) -> InstrumentStrength:
    r"""Compare the canonical correlations of phi(X) and psi(Z) with those of permuted rows.

    .. math:: s_j = \sigma_j( U_x' U_z / n ), \qquad
              s_1^{(\pi)} = \sigma_1( U_x' \Pi U_z / n )

    with U_x and U_z the whitened leading principal components of the features, which do not
    depend on how the rows of X and Z are paired: the permutation test is exact.

    Parameters
    ----------
    phi : array of shape (n, bx)
    psi : array of shape (n, bz)
        Features of the instruments.
    endogenous : array of shape (n, d)
        Columns of X that need an instrument.
    instruments : array of shape (n, dz)
        Columns of Z; with the former for the first-stage F.
    rng : RandomState
    controls : array of shape (n, k), default=None
        Orthogonal functions of the exogenous regressors, of mean square one, partialled out of
        everything; the test is then approximate.
    codes : integer array of shape (n,), default=None
        Clusters. Rows are then not permuted: the products of a cluster change sign together.
    n_permutations : int, default=199
        Raising it steadies the p-value.
    level : float, default=0.01
        Raising it counts more directions, some of them by chance.

    References
    ----------
    Hotelling (1936), Relations Between Two Sets of Variates. Sanderson and Windmeijer (2016), A
    Weak Instrument F-Test in Linear IV Models with Multiple Endogenous Variables.
    """
    if controls is not None:
        phi, psi, endogenous, instruments = (
            without(A, controls) for A in (phi, psi, endogenous, instruments)
        )
    n, d = len(phi), endogenous.shape[1]
    left = n - (0 if controls is None else controls.shape[1])
    Ux = _whitened(phi, max(_FEWEST_X, d))
    Uz = _whitened(psi, max(_FEWEST_Z, d))
    if codes is None:
        null = [Ux.T @ Uz[rng.permutation(n)] for _ in range(n_permutations)]
    else:
        null = _sign_flips(Ux, Uz, codes, n_permutations, rng)
    # Residuals of n rows have the freedom of fewer, and more chance to look alike.
    largest = np.sqrt(n / left) * np.array([svdvals(C / n)[0] for C in null])
    F = np.maximum(_first_stage(endogenous, Uz, left), _first_stage(endogenous, instruments, left))
    joint = max(_joint_first_stage(endogenous, A, left) for A in (Uz, instruments))
    return InstrumentStrength(svdvals(Ux.T @ Uz / n), Ux.shape[1], largest, level, F, joint)


def _whitened(features: Array, most: int) -> Array:
    """Return leading principal components with mean square one, shape (n, k)."""
    n = len(features)
    centred = features - features.mean(axis=0)
    values, vectors = eigh(centred.T @ centred / n)
    values, vectors = values[::-1], vectors[:, ::-1]
    kept = 1 + int((np.cumsum(values) < _VARIANCE_KEPT * values.sum()).sum())
    kept = max(1, min(kept, most, n // _ROWS_PER_COMPONENT, int((values > 1e-10).sum())))
    return centred @ (vectors[:, :kept] / np.sqrt(np.maximum(values[:kept], 1e-300)))


def _sign_flips(
    Ux: Array, Uz: Array, codes: Rows, n_draws: int, rng: np.random.RandomState
) -> list[Array]:
    products = np.zeros((codes.max() + 1, Ux.shape[1] * Uz.shape[1]))
    np.add.at(products, codes, (Ux[:, :, None] * Uz[:, None, :]).reshape(len(Ux), -1))
    products -= products.mean(axis=0)  # under independence the mean is zero anyhow
    signs = rng.choice([-1.0, 1.0], size=(n_draws, len(products)))
    return list((signs @ products).reshape(n_draws, Ux.shape[1], Uz.shape[1]))


def _first_stage(endogenous: Array, regressors: Array, left: int) -> Array:
    """Return the F statistics of regressions with an intercept, shape (d,)."""
    q = regressors.shape[1]
    centred = endogenous - endogenous.mean(axis=0)
    fitted = projected(centred, regressors - regressors.mean(axis=0))
    left = np.square(centred - fitted).sum(axis=0) / max(left - q - 1, 1)
    F: Array = np.square(fitted).sum(axis=0) / q / np.maximum(left, 1e-300)
    return F


def _joint_first_stage(endogenous: Array, regressors: Array, left: int) -> float:
    """Return the F statistic of the combination of columns that the regressors move least."""
    U = independent((endogenous - endogenous.mean(axis=0)) / column_scales(endogenous))
    q, d = regressors.shape[1], U.shape[1]
    if q < d:
        return 0.0
    fitted = projected(U, regressors - regressors.mean(axis=0))
    share = min(float(svdvals(U.T @ fitted / len(U))[-1]), 1.0)  # the smallest s^2
    # The others use up d - 1 of the regressors.
    freedom = max(left - q - 1, 1) / (q - d + 1)
    return freedom * share / max(1 - share, 1e-300)
