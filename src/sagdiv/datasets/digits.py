"""Handwritten digits as regressors and instruments, from the images inside scikit-learn."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from sagdiv._types import Array, Rows, Seed
from sagdiv.datasets.simulators import STRUCTURAL_FUNCTIONS, IVSample

__all__ = ["DigitsDesign", "DigitsSample", "make_digits_iv"]

_SCENARIOS = ("x", "z", "xz")
_NOISE_VARIANCE = 0.1
_HALF_WIDTH = 3.0
_HELD_OUT = 4  # every fourth image of a digit is kept for testing


@dataclass(frozen=True)
class DigitsDesign:
    r"""A one-dimensional instrument problem seen through images of digits (after DeepGMM).

    .. math:: Y = h^*(X) + \epsilon + \delta, \quad x = z + \epsilon + \gamma, \quad
              z \sim U[-3, 3], \quad \epsilon \sim N(0, 1), \quad \gamma, \delta \sim N(0, 0.1)

    Where X is an image it shows the digit nearest to 1.5 x + 5, clipped to 0..9, and the
    structural function reads it back: h*(X) = h((digit - 5) / 1.5). Where Z is an image it shows
    z in the same way.

    Parameters
    ----------
    scenario : {"x", "z", "xz"}
        Which of the two are images.
    function : {"abs", "step", "linear", "sin"}, default="abs"
        h.
    """

    scenario: str
    function: str = "abs"

    def __post_init__(self) -> None:
        for name, value, known in (
            ("scenario", self.scenario, _SCENARIOS),
            ("function", self.function, tuple(STRUCTURAL_FUNCTIONS)),
        ):
            if value not in known:
                raise ValueError(
                    f"{name} must be one of {', '.join(map(repr, known))}, got {value!r}."
                )

    def h_star(self, X: ArrayLike) -> Array:
        """Return h*(X) at the rows of X, shape (n,); images must be those of the design."""
        h = STRUCTURAL_FUNCTIONS[self.function]
        if "x" not in self.scenario:
            return h(np.asarray(X, dtype=float).reshape(len(np.asarray(X))))
        return h((self._album.read(np.asarray(X)) - 5) / 1.5)

    def draw(
        self, n: int, rng: np.random.RandomState, *, held_out: bool = False
    ) -> tuple[Array, Array, Array]:
        """Return n rows of X, y, Z.

        Parameters
        ----------
        n : int
        rng : RandomState
        held_out : bool, default=False
            Whether images come from those kept for testing.
        """
        z = rng.uniform(-_HALF_WIDTH, _HALF_WIDTH, n)
        epsilon = rng.normal(size=n)
        gamma, delta = rng.normal(scale=_NOISE_VARIANCE**0.5, size=(2, n))
        x = z + epsilon + gamma
        X = self._album.show(x, rng, held_out) if "x" in self.scenario else x[:, None]
        Z = self._album.show(z, rng, held_out) if "z" in self.scenario else z[:, None]
        return X, self.h_star(X) + epsilon + delta, Z

    @cached_property
    def _album(self) -> Album:
        return Album()


class DigitsSample(IVSample):
    """A draw of `DigitsDesign`; ``sample_X`` shows images that no draw for fitting contains."""

    def sample_X(self, n: int, random_state: Seed = None) -> Array:
        """Draw fresh X, images from those kept for testing."""
        assert isinstance(self.design, DigitsDesign)
        return self.design.draw(n, check_random_state(random_state), held_out=True)[0]


class Album:
    """The 1797 images of scikit-learn by digit, split into those to fit on and to test on."""

    def __init__(self) -> None:
        from sklearn.datasets import load_digits  # heavier than all the rest of sagdiv.datasets

        digits = load_digits()
        self.images = digits.images / 16.0
        self._digit_of = {
            image.tobytes(): int(digit)
            for image, digit in zip(self.images, digits.target, strict=True)
        }
        self._rows: list[Rows] = [np.flatnonzero(digits.target == d) for d in range(10)]

    def show(self, values: Array, rng: np.random.RandomState, held_out: bool) -> Array:
        """Return an image of the digit nearest to 1.5 value + 5 for each value, (n, 8, 8)."""
        chosen = np.empty(len(values), dtype=np.intp)
        for i, digit in enumerate(np.rint(1.5 * values + 5).clip(0, 9).astype(int)):
            rows = self._rows[digit]
            kept = np.arange(len(rows)) % _HELD_OUT == 0
            chosen[i] = rng.choice(rows[kept if held_out else ~kept])
        return self.images[chosen]

    def read(self, images: Array) -> Array:
        """Return the digit on each image."""
        try:
            return np.array([float(self._digit_of[image.tobytes()]) for image in images])
        except KeyError:
            raise ValueError(
                "X contains an image that is not among scikit-learn's digits, for which h* is "
                "not defined."
            ) from None


def make_digits_iv(
    scenario: str,
    n: int,
    n_extra: int = 0,
    *,
    function: str = "abs",
    random_state: Seed = None,
) -> DigitsSample:
    """Draw an instrument problem whose regressor, instrument, or both, are images of digits.

    Images repeat: there are about 1350 to fit on.

    Parameters
    ----------
    scenario : {"x", "z", "xz"}
        Which of X and Z are images, shape (n, 8, 8); the other has shape (n, 1).
    n : int
        Number of triplets (X, y, Z).
    n_extra : int, default=0
        Number of further instrument values without X and y.
    function : {"abs", "step", "linear", "sin"}, default="abs"
        The structural function.
    random_state : int, RandomState instance or None, default=None

    References
    ----------
    Bennett, Kallus and Schnabel (2019), Deep Generalized Method of Moments for Instrumental
    Variable Analysis, the high-dimensional scenarios.

    Examples
    --------
    >>> from sagdiv.datasets.digits import make_digits_iv
    >>> data = make_digits_iv("xz", 100, random_state=0)
    >>> data.X.shape, data.Z.shape
    ((100, 8, 8), (100, 8, 8))
    """
    if n < 1 or n_extra < 0:
        raise ValueError(f"n must be at least 1 and n_extra at least 0, got {n} and {n_extra}.")
    design, rng = DigitsDesign(scenario, function), check_random_state(random_state)
    X, y, Z = design.draw(n, rng)
    Z_extra = design.draw(n_extra, rng)[2] if n_extra else None
    return DigitsSample(X, y, Z, Z_extra, design)
