r"""The paper's risk bound where everything in it is known: X and Z with finitely many values.

Functions are then arrays, the nuisances matrices, every norm and expectation is exact, and
Algorithm 1 itself runs on them. The theorem says, for the average h^ of M iterates in a ball of
diameter D of L2(X),

.. math:: E[R(\hat h) - R(h^*)] \le \frac{D^2}{2 M \alpha_M} + \frac{\xi}{M} \sum_m \alpha_m
          + \tau \sqrt{\zeta}, \qquad
          \zeta = \|\Phi - \hat\Phi\|^2 + \|r - \hat r\|^2 + \|P - \hat P\|_{op}^2 .
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import norm

from sagdiv._types import Array
from sagdiv.descent import average, descend
from sagdiv.losses import SquaredLoss
from sagdiv.sets import SupNormBall

__all__ = ["FiniteDesign", "Nuisances", "disturbed", "excess_risk", "risk_bound"]


@dataclass(frozen=True)
class Nuisances:
    """Phi, P and r, true or estimated.

    Attributes
    ----------
    Phi : array of shape (k, l)
    P : array of shape (l, k)
    r : array of shape (l,)
    """

    Phi: Array
    P: Array
    r: Array


@dataclass(frozen=True)
class FiniteDesign:
    """X on k points, Z on l, and Y = h*(X) + noise.

    Attributes
    ----------
    joint : array of shape (k, l)
        P(X = x_i, Z = z_j).
    h_star : array of shape (k,)
    noise_variance : float
    """

    joint: Array
    h_star: Array
    noise_variance: float = 1.0

    @classmethod
    def smooth(cls, k: int = 30, l: int = 30, spread: float = 0.8) -> FiniteDesign:  # noqa: E741
        """Return a discretised X = Z + noise with h* = sin; raising the spread weakens Z."""
        x, z = np.linspace(-3.5, 3.5, k), np.linspace(-3, 3, l)
        joint = norm.pdf(x[:, None], z, spread)
        return cls(joint / joint.sum(axis=0) / l, np.sin(x))

    @property
    def p_x(self) -> Array:
        """Distribution of X."""
        return self.joint.sum(axis=1)

    @property
    def p_z(self) -> Array:
        """Distribution of Z."""
        return self.joint.sum(axis=0)

    @property
    def truth(self) -> Nuisances:
        """Phi, P and r as they are."""
        P = (self.joint / self.p_z).T
        return Nuisances(self.joint / np.outer(self.p_x, self.p_z), P, P @ self.h_star)

    def risk(self, h: Array) -> float:
        """Return the projected risk, which is its own excess: that of h* is zero."""
        truth = self.truth
        return float(self.p_z @ np.square(truth.r - truth.P @ h)) / 2

    def ratio_norm(self, Phi: Array) -> float:
        """Return the norm in L2 of the product of the marginals."""
        return float(np.sqrt(self.p_x @ np.square(Phi) @ self.p_z))

    def outcome_norm(self, r: Array) -> float:
        """Return the norm in L2(Z)."""
        return float(np.sqrt(self.p_z @ np.square(r)))

    def operator_norm(self, P: Array) -> float:
        """Return the norm as an operator from L2(X) to L2(Z)."""
        weighted = np.sqrt(self.p_z)[:, None] * P / np.sqrt(self.p_x)
        return float(np.linalg.norm(weighted, 2))


def disturbed(
    design: FiniteDesign, which: str, size: float, rng: np.random.RandomState
) -> Nuisances:
    """Return the true nuisances, one of them off by an error of the given norm.

    Parameters
    ----------
    design : FiniteDesign
    which : {"Phi", "P", "r"}
    size : float
        In the norm that the theorem measures it by.
    rng : RandomState
    """
    truth = design.truth
    norm_of = {
        "Phi": design.ratio_norm,
        "P": design.operator_norm,
        "r": design.outcome_norm,
    }[which]
    exact = getattr(truth, which)
    error = rng.normal(size=exact.shape)
    return replace(truth, **{which: exact + size * error / norm_of(error)})


def excess_risk(
    design: FiniteDesign,
    nuisances: Nuisances,
    n_steps: int,
    rng: np.random.RandomState,
    radius: float = 2.0,
) -> float:
    """Return the excess risk of the average of Algorithm 1, with step 1 / sqrt(M)."""
    z = rng.choice(len(design.p_z), size=n_steps, p=design.p_z)
    start = np.zeros(len(design.p_x))
    path = descend(
        start,
        np.asfortranarray(nuisances.Phi[:, z]),
        nuisances.P[z],
        nuisances.r[z],
        np.full(n_steps, n_steps**-0.5),
        SquaredLoss().d2,
        SupNormBall(radius).project,
    )
    # The theorem averages h_0, ..., h_{M-1}; the last step is not seen.
    iterates = (h for h, _ in path)
    last_but_one = (h for _, h in zip(range(n_steps - 1), iterates, strict=False))
    mean = average(last_but_one, warm_up=0) * (n_steps - 1) / n_steps
    return design.risk(mean + start / n_steps)


def risk_bound(
    design: FiniteDesign, nuisances: Nuisances, n_steps: int, radius: float = 2.0
) -> tuple[float, float]:
    """Return the two parts of the bound: what the descent leaves, and what the nuisances cost.

    The constant tau is that of the proof, D sqrt(2 max{...}); the theorem's statement has
    2 D max{...}, which is larger.
    """
    truth, D, L = design.truth, 2 * radius, 1.0  # squared loss: L = 1, C_0 = 0
    alpha = n_steps**-0.5
    largest = np.abs(nuisances.Phi).max() ** 2
    r_norm, P_norm = design.outcome_norm(nuisances.r), design.operator_norm(nuisances.P)
    xi = 1.5 * largest * (L**2 * r_norm**2 + L**2 * D**2 * P_norm**2)
    y_square = float(design.p_x @ design.h_star**2) + design.noise_variance
    kappa_square = 2 * max(
        3 * (L**2 * y_square + L**2 * D**2), 2 * L**2 * largest, 2 * L**2 * D**2 * largest
    )
    zeta = (
        design.ratio_norm(truth.Phi - nuisances.Phi) ** 2
        + design.outcome_norm(truth.r - nuisances.r) ** 2
        + design.operator_norm(truth.P - nuisances.P) ** 2
    )
    descent = D**2 / (2 * n_steps * alpha) + xi * alpha
    return descent, D * np.sqrt(kappa_square * zeta)
