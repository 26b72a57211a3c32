"""Series of functions of several columns, additive: the sieves of the two-stage baselines."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from scipy.interpolate import CubicSpline

from sagdiv._types import Array
from sagdiv.kernels import column_scales

__all__ = ["Basis", "Linear", "Polynomial", "Spline", "spline_pair", "with_ones"]


class Basis(Protocol):
    """Functions b_1, ..., b_k of a row; the constant is not among them."""

    def __call__(self, A: Array) -> Array:
        """Return their values at the rows of A, shape (n, k)."""
        ...


class Linear:
    """The columns themselves."""

    def __call__(self, A: Array) -> Array:
        """Return A."""
        return A


class Polynomial:
    """Powers 1, ..., degree of each standardised column.

    Parameters
    ----------
    rows : array of shape (n, d)
        Give location and scale.
    degree : int
    """

    def __init__(self, rows: Array, degree: int) -> None:
        self.location, self.scale = rows.mean(axis=0), column_scales(rows)
        self.degree = degree

    def __call__(self, A: Array) -> Array:
        """Return the powers, shape (n, d * degree)."""
        A = (A - self.location) / self.scale
        return np.hstack([A**power for power in range(1, self.degree + 1)])


class Spline:
    """Natural cubic splines of each column: linear outside the outer knots.

    The functions of a column are those with value one at one knot and zero at the others; they sum
    to one, so that one of them is left out in favour of the constant.

    Parameters
    ----------
    rows : array of shape (n, d)
        Knots are put at evenly spaced quantiles of its columns.
    n_knots : int
        Number of knots in a column, the outermost included; two make the basis linear. A
        column that takes fewer values has fewer.
    """

    def __init__(self, rows: Array, n_knots: int) -> None:
        self.knots = [_knots(column, n_knots) for column in rows.T]

    def __call__(self, A: Array) -> Array:
        """Return the splines, shape (n, k)."""
        return np.hstack(
            [
                _linear_outside(_cardinal_splines(knots), values)[:, 1:]
                for knots, values in zip(self.knots, A.T, strict=True)
            ]
        )


def spline_pair(X: Array, Z: Array, n_knots: int) -> tuple[Basis, Basis]:
    """Return splines of X and of Z, the latter with twice as many functions in a column."""
    return Spline(X, n_knots), Spline(Z, 2 * n_knots - 1)


def with_ones(A: Array) -> Array:
    """Return A with a first column of ones."""
    return np.column_stack([np.ones(len(A)), A])


def _knots(values: Array, n_knots: int) -> Array:
    # The order statistics themselves, so that a column of few values has them as its knots.
    knots = np.unique(np.quantile(values, np.linspace(0, 1, n_knots), method="nearest"))
    if len(knots) == 1:
        knots = knots[0] + np.array([0.0, 1.0])
    return knots


def _cardinal_splines(knots: Array) -> CubicSpline:
    return CubicSpline(knots, np.eye(len(knots)), bc_type="natural")


def _linear_outside(splines: CubicSpline, values: Array) -> Array:
    inside = values.clip(splines.x[0], splines.x[-1])
    return splines(inside) + (values - inside)[:, None] * splines(inside, 1)
