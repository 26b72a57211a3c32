"""The paper's continuous and binary designs, and a Gaussian one known in closed form."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, ndtr
from scipy.stats import norm
from sklearn.utils import check_random_state

from sagdiv._types import Array, Seed

__all__ = [
    "BinaryDesign",
    "ContinuousDesign",
    "GaussianDesign",
    "IVSample",
    "make_binary",
    "make_continuous",
    "make_gaussian",
]


_NOISE_VARIANCE = 0.1
_HALF_WIDTH = 3.0  # Z is uniform on [-3, 3]^2


def _step(x: ArrayLike) -> Array:
    return (np.asarray(x) > 0).astype(float)


def _linear(x: ArrayLike) -> Array:
    return np.asarray(x, dtype=float)


STRUCTURAL_FUNCTIONS: dict[str, Callable[[ArrayLike], Array]] = {
    "step": _step,
    "abs": np.abs,
    "linear": _linear,
    "sin": np.sin,
}


class Design(Protocol):
    """A distribution of (X, Y, Z) whose structural function is known."""

    def h_star(self, X: ArrayLike) -> Array:
        """Return h*(x) at the rows of X, shape (n,)."""
        ...

    def draw(self, n: int, rng: np.random.RandomState) -> tuple[Array, Array, Array]:
        """Return n rows of X, y, Z."""
        ...


@dataclass(frozen=True)
class IVSample:
    """A simulated data set together with what is true of it.

    Attributes
    ----------
    X : array of shape (n, dx)
    y : array of shape (n,)
    Z : array of shape (n, dz)
    Z_extra : array of shape (n_extra, dz) or None
        Instrument values observed without X and y.
    design : the distribution they were drawn from, with whatever it knows in closed form
    """

    X: Array
    y: Array
    Z: Array
    Z_extra: Array | None
    design: Design

    def h_star(self, X: ArrayLike) -> Array:
        """Return the structural function h* at the rows of X, shape (n,)."""
        return self.design.h_star(X)

    def sample_X(self, n: int, random_state: Seed = None) -> Array:
        """Draw fresh X from its marginal distribution, shape (n, dx)."""
        return self.design.draw(n, check_random_state(random_state))[0]


@dataclass(frozen=True)
class ContinuousDesign:
    r"""The design of the paper's continuous experiments (after DeepGMM).

    .. math:: Y = h^*(X) + \epsilon + \delta, \quad X = Z_1 + \epsilon + \gamma, \quad
              Z \sim U[-3, 3]^2, \quad \epsilon \sim N(0, 1), \quad
              \gamma, \delta \sim N(0, 0.1)

    Parameters
    ----------
    scenario : {"step", "abs", "linear", "sin"}
        h*(x) = 1{x > 0}, \|x\|, x or sin(x).
    """

    scenario: str

    def __post_init__(self) -> None:
        _check_scenario(self.scenario, STRUCTURAL_FUNCTIONS)

    def h_star(self, X: ArrayLike) -> Array:
        """Return h*(x) at the rows of X, shape (n,)."""
        return STRUCTURAL_FUNCTIONS[self.scenario](_first_column(X))

    def draw(self, n: int, rng: np.random.RandomState) -> tuple[Array, Array, Array]:
        """Return n rows of X, y, Z."""
        Z = rng.uniform(-_HALF_WIDTH, _HALF_WIDTH, (n, 2))
        epsilon = rng.normal(size=n)
        gamma, delta = rng.normal(scale=_NOISE_VARIANCE**0.5, size=(2, n))
        X = (Z[:, 0] + epsilon + gamma)[:, None]
        return X, self.h_star(X) + epsilon + delta, Z

    @property
    def _spread(self) -> float:
        # The standard deviation of X given Z.
        return float(np.sqrt(1 + _NOISE_VARIANCE))

    def conditional_density(self, X: Array, Z: Array) -> Array:
        """Return p(x|z) for all pairs of rows."""
        return norm.pdf(X[:, :1], Z[:, 0], self._spread)

    def Phi(self, X: Array, Z: Array) -> Array:
        """Return p(x|z) / p(x) for all pairs of rows."""
        s = self._spread
        marginal = ndtr((X[:, :1] + _HALF_WIDTH) / s) - ndtr((X[:, :1] - _HALF_WIDTH) / s)
        return 2 * _HALF_WIDTH * self.conditional_density(X, Z) / marginal

    def r(self, Z: Array) -> Array:
        """Return E[Y|Z] = E[h*(X)|Z] at the rows of Z."""
        z, s = Z[:, 0], self._spread
        match self.scenario:
            case "step":
                return ndtr(z / s)
            case "abs":
                return 2 * s * norm.pdf(z / s) + z * (2 * ndtr(z / s) - 1)
            case "linear":
                return z
            case _:
                return np.exp(-(s**2) / 2) * np.sin(z)


@dataclass(frozen=True)
class BinaryDesign:
    r"""The design of the paper's binary experiments.

    .. math:: Y = 1\{E[h^*(X)|Z] + \eta > 0\}, \quad X = Z_1 + \eta + \gamma, \quad
              Z \sim U[-3, 3]^2, \quad \eta \sim Logistic(0, \beta), \quad \gamma \sim N(0, 0.1)

    Parameters
    ----------
    scenario : {"sin", "linear"}
    scale : float, default=sqrt(0.1)
        beta, the scale of the disturbance.
    """

    scenario: str
    scale: float = 0.1**0.5

    def __post_init__(self) -> None:
        _check_scenario(self.scenario, ("sin", "linear"))
        if not self.scale > 0:
            raise ValueError(f"scale must be positive, got {self.scale!r}.")

    def h_star(self, X: ArrayLike) -> Array:
        """Return h*(x) at the rows of X, shape (n,)."""
        return STRUCTURAL_FUNCTIONS[self.scenario](_first_column(X))

    def projected(self, Z: Array) -> Array:
        """Return P[h*](z) = E[h*(X)|Z] at the rows of Z."""
        if self.scenario == "linear":
            return Z[:, 0]
        # E sin(z + eta + gamma) = sin(z) E cos(eta) E cos(gamma)
        angle = np.pi * self.scale
        return angle / np.sinh(angle) * np.exp(-_NOISE_VARIANCE / 2) * np.sin(Z[:, 0])

    def r(self, Z: Array) -> Array:
        """Return P(Y = 1|Z) at the rows of Z."""
        return expit(self.projected(Z) / self.scale)

    def draw(self, n: int, rng: np.random.RandomState) -> tuple[Array, Array, Array]:
        """Return n rows of X, y, Z."""
        Z = rng.uniform(-_HALF_WIDTH, _HALF_WIDTH, (n, 2))
        eta = rng.logistic(scale=self.scale, size=n)
        gamma = rng.normal(scale=_NOISE_VARIANCE**0.5, size=n)
        X = (Z[:, 0] + eta + gamma)[:, None]
        return X, (self.projected(Z) + eta > 0).astype(float), Z


@dataclass(frozen=True)
class GaussianDesign:
    r"""A jointly normal design in which Phi, P and r are known in closed form: the test oracle.

    .. math:: (X, Z) \sim N(0, 1) \text{ each, with correlation } \rho, \quad
              Y = \sin(X) + \epsilon, \quad \epsilon = c V + \sqrt{1 - c^2}\, e

    where V = (X - rho Z) / sqrt(1 - rho^2) is what X owes to other things than Z, so that epsilon
    is correlated with X but not with Z. By the Hermite expansion the singular values of P are
    rho^k.

    Parameters
    ----------
    correlation : float, default=0.8
        rho, the strength of the instrument, between 0 and 1.
    confounding : float, default=0.7
        c, the correlation of epsilon and V.
    """

    correlation: float = 0.8
    confounding: float = 0.7

    def __post_init__(self) -> None:
        if not 0 < self.correlation < 1:
            raise ValueError(f"correlation must lie in (0, 1), got {self.correlation!r}.")
        if not -1 <= self.confounding <= 1:
            raise ValueError(f"confounding must lie in [-1, 1], got {self.confounding!r}.")

    @property
    def _spread(self) -> float:
        return float(np.sqrt(1 - self.correlation**2))

    def h_star(self, X: ArrayLike) -> Array:
        """Return sin(x) at the rows of X, shape (n,)."""
        return np.sin(_first_column(X))

    def draw(self, n: int, rng: np.random.RandomState) -> tuple[Array, Array, Array]:
        """Return n rows of X, y, Z."""
        Z, V, e = rng.normal(size=(3, n, 1))
        X = self.correlation * Z + self._spread * V
        epsilon = self.confounding * V + np.sqrt(1 - self.confounding**2) * e
        return X, self.h_star(X) + epsilon[:, 0], Z

    def conditional_density(self, X: Array, Z: Array) -> Array:
        """Return p(x|z) for all pairs of rows."""
        return norm.pdf(X, self.correlation * Z[:, 0], self._spread)

    def Phi(self, X: Array, Z: Array) -> Array:
        """Return p(x|z) / p(x) for all pairs of rows."""
        return self.conditional_density(X, Z) / norm.pdf(X)

    def r(self, Z: Array) -> Array:
        """Return E[Y|Z] = E[sin(X)|Z] at the rows of Z."""
        return np.exp(-(self._spread**2) / 2) * np.sin(self.correlation * Z[:, 0])


def make_continuous(scenario: str, n: int, n_extra: int = 0, random_state: Seed = None) -> IVSample:
    """Draw from the paper's continuous design.

    Parameters
    ----------
    scenario : {"step", "abs", "linear", "sin"}
    n : int
        Number of triplets (X, y, Z).
    n_extra : int, default=0
        Number of further instrument values without X and y.
    random_state : int, RandomState instance or None, default=None

    Examples
    --------
    >>> from sagdiv.datasets import make_continuous
    >>> data = make_continuous("sin", 600, n_extra=1200, random_state=0)
    >>> data.X.shape, data.Z.shape, data.Z_extra.shape
    ((600, 1), (600, 2), (1200, 2))
    """
    return _sample(ContinuousDesign(scenario), n, n_extra, random_state)


def make_binary(
    scenario: str,
    n: int,
    n_extra: int = 0,
    scale: float = 0.1**0.5,
    random_state: Seed = None,
) -> IVSample:
    """Draw from the paper's binary design.

    Parameters
    ----------
    scenario : {"sin", "linear"}
    n : int
        Number of triplets (X, y, Z).
    n_extra : int, default=0
        Number of further instrument values without X and y.
    scale : float, default=sqrt(0.1)
        Scale of the logistic disturbance.
    random_state : int, RandomState instance or None, default=None
    """
    return _sample(BinaryDesign(scenario, scale), n, n_extra, random_state)


def make_gaussian(
    n: int,
    n_extra: int = 0,
    *,
    correlation: float = 0.8,
    confounding: float = 0.7,
    random_state: Seed = None,
) -> IVSample:
    """Draw from the jointly normal design, whose ``design`` knows Phi, P and r exactly.

    Parameters
    ----------
    n : int
        Number of triplets (X, y, Z).
    n_extra : int, default=0
        Number of further instrument values without X and y.
    correlation : float, default=0.8
        Strength of the instrument.
    confounding : float, default=0.7
        Correlation of the disturbance with what X does not owe to Z.
    random_state : int, RandomState instance or None, default=None
    """
    return _sample(GaussianDesign(correlation, confounding), n, n_extra, random_state)


def _sample(design: Design, n: int, n_extra: int, random_state: Seed) -> IVSample:
    if n < 1 or n_extra < 0:
        raise ValueError(f"n must be at least 1 and n_extra at least 0, got {n} and {n_extra}.")
    rng = check_random_state(random_state)
    X, y, Z = design.draw(n, rng)
    Z_extra = design.draw(n_extra, rng)[2] if n_extra else None
    return IVSample(X, y, Z, Z_extra, design)


def _first_column(X: ArrayLike) -> Array:
    X = np.asarray(X, dtype=float)
    return X if X.ndim < 2 else X[:, 0]


def _check_scenario(scenario: str, known: Collection[str]) -> None:
    if scenario not in known:
        raise ValueError(
            f"scenario must be one of {', '.join(map(repr, known))}, got {scenario!r}."
        )
