r"""Everything a linear-time fit needs to know of the data, as one sum over rows.

With features phi(x) and psi(z) that include the constant, the sums

.. math:: n = \sum w_i, \quad G_x = \sum w_i\, \phi_i \phi_i', \quad
          G_z = \sum w_i\, \psi_i \psi_i', \quad C = \sum w_i\, \phi_i \psi_i', \quad
          c_x = \sum w_i\, \phi_i y_i, \quad c_z = \sum w_i\, \psi_i y_i, \quad \sum w_i y_i^2

are the blocks of one Gram matrix, of (phi, psi, y) with itself. They add up over blocks, files
and machines, and subtract exactly over folds.
"""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike

import numpy as np

from sagdiv._types import Array

__all__ = ["Moments"]


@dataclass(frozen=True)
class Moments:
    """Sums over rows: a commutative monoid under ``+``, with ``-`` to take rows out again.

    Take them with `FeatureMaps.moments`, and fit from them with `KernelSAGDIV.fit_moments`.

    Attributes
    ----------
    n : float
        Total weight; the number of rows if all weights are one.
    gram : array of shape (bx + bz + 1, bx + bz + 1)
        Sum of w f f' with f = (phi(x), psi(z), y).
    bx : int
        Number of features of x.
    origin : array of shape (bx + bz,) or None
        phi(0) and psi(0), by which sums of the features of different maps are told apart.
    """

    n: float
    gram: Array
    bx: int
    origin: Array | None = None

    @classmethod
    def of(
        cls,
        phi: Array,
        psi: Array,
        y: Array | None = None,
        weights: Array | None = None,
        origin: Array | None = None,
    ) -> Moments:
        """Sum over the rows of features phi, shape (n, bx), and psi, shape (n, bz).

        Features in single precision are multiplied in single precision, which halves the time;
        sums over blocks are kept in double precision.
        """
        y = np.zeros(len(phi)) if y is None else y
        rows = np.column_stack([phi, psi, y.astype(phi.dtype, copy=False)])
        n = float(len(rows)) if weights is None else float(weights.sum())
        if weights is not None:
            rows *= np.sqrt(weights)[:, None].astype(rows.dtype, copy=False)
        return cls(n, (rows.T @ rows).astype(np.float64, copy=False), phi.shape[1], origin)

    def __add__(self, other: Moments) -> Moments:
        """Return the moments of both sets of rows together."""
        self.check_same_features(other)
        return Moments(self.n + other.n, self.gram + other.gram, self.bx, self.origin)

    def __sub__(self, other: Moments) -> Moments:
        """Return the moments without the rows of ``other``."""
        self.check_same_features(other)
        return Moments(self.n - other.n, self.gram - other.gram, self.bx, self.origin)

    def __eq__(self, other: object) -> bool:
        """Return whether all sums agree to the last bit."""
        return (
            isinstance(other, Moments)
            and (self.n, self.bx) == (other.n, other.bx)
            and np.array_equal(self.gram, other.gram)
        )

    def __hash__(self) -> int:
        """Return the same number for sums that agree."""
        return hash((self.n, self.bx, self.gram.shape))

    @property
    def averages(self) -> Moments:
        """The sums divided by n, as moments of total weight one."""
        return Moments(1.0, self.gram / self.n, self.bx)

    @property
    def swapped(self) -> Moments:
        """The moments with the roles of phi and psi exchanged."""
        bz = len(self.gram) - 1 - self.bx
        order = np.r_[self.bx : self.bx + bz, : self.bx, len(self.gram) - 1]
        return Moments(self.n, self.gram[np.ix_(order, order)], bz)

    @property
    def Gx(self) -> Array:
        """Sum of phi phi', shape (bx, bx)."""
        return self.gram[: self.bx, : self.bx]

    @property
    def Gz(self) -> Array:
        """Sum of psi psi', shape (bz, bz)."""
        return self.gram[self.bx : -1, self.bx : -1]

    @property
    def C(self) -> Array:
        """Sum of phi psi', shape (bx, bz)."""
        return self.gram[: self.bx, self.bx : -1]

    @property
    def cx(self) -> Array:
        """Sum of phi y, shape (bx,)."""
        return self.gram[: self.bx, -1]

    @property
    def cz(self) -> Array:
        """Sum of psi y, shape (bz,)."""
        return self.gram[self.bx : -1, -1]

    @property
    def yy(self) -> float:
        """Sum of y^2."""
        return float(self.gram[-1, -1])

    def save(self, path: str | PathLike[str]) -> None:
        """Write the sums to a NumPy ``.npz`` file."""
        origin = np.empty(0) if self.origin is None else self.origin
        with open(path, "wb") as file:
            np.savez(file, n=self.n, gram=self.gram, bx=self.bx, origin=origin)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Moments:
        """Read what `save` wrote, to the last bit."""
        with np.load(path, allow_pickle=False) as file:
            if set(file) != {"n", "gram", "bx", "origin"}:
                raise ValueError(f"{path} does not hold moments; Moments.save writes such a file.")
            origin = file["origin"]
            return cls(
                float(file["n"]),
                file["gram"],
                int(file["bx"]),
                origin if origin.size else None,
            )

    def check_same_features(self, other: Moments) -> None:
        """Check that both are sums of the features of the same maps."""
        advice = "take all of them with the same FeatureMaps."
        if (self.bx, self.gram.shape) != (other.bx, other.gram.shape):
            raise ValueError(
                f"moments of {self.bx} + {len(self.gram) - self.bx - 1} features and of {other.bx} "
                f"+ {len(other.gram) - other.bx - 1} do not belong together; {advice}"
            )
        if self.origin is None or other.origin is None:
            return
        if not np.allclose(self.origin, other.origin, rtol=1e-6, atol=1e-9):
            raise ValueError(f"these moments are of different features; {advice}")
