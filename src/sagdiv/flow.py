r"""Gradient flow of a quadratic projected risk, exactly: Algorithm 1 with infinitely small steps.

Near any h the projected risk is 1/2 a'S a - b'a in the coefficients of h = phi'a. Descending its
gradient in the RKHS of phi (a smoothed version of the functional gradient in L2) for total step
t = sum of alpha_m has a closed form in the eigenbasis of S,

.. math:: a_j(t) = \frac{1 - e^{-e_j t}}{e_j}\, c_j ,

so that directions which the instrument moves well (large e_j) are learnt first, and stopping at t
regularises the rest. The affine part of h is free at every moment: the flow starts at linear
two-stage least squares, and what the instrument cannot see stays there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh, pinvh

from sagdiv._types import Array

__all__ = ["Flow", "FlowPath"]

_RANK_TOLERANCE = 1e-12
_ROUNDING = 1e-14
_MAX_DOUBLINGS = 5
_CLEAR_SIGNAL = 20.0  # standard deviations


class Flow:
    """The flow of 1/2 a'S a - b'a from its minimum over the first ``n_free`` coefficients.

    Parameters
    ----------
    S : array of shape (b, b)
        Hessian of the risk.
    b : array of shape (b,)
        Minus its gradient at a = 0.
    noise : array of shape (b, b)
        Covariance of b for a disturbance of unit variance.
    n_free : int
        Leading coefficients that are never penalised.

    Attributes
    ----------
    values : array of shape (k,)
        Eigenvalues e_j of S once the free part is profiled out, decreasing.
    scores : array of shape (k,)
        c_j, the gradient at the start in these directions.
    score_variances : array of shape (k,)
        Variance of c_j for a disturbance of unit variance.
    directions : array of shape (b, k)
        What a unit step along each of them does to the coefficients, the free part following.
    start : array of shape (b,)
        Coefficients of h_0.
    """

    def __init__(self, S: Array, b: Array, noise: Array, n_free: int) -> None:
        free, rest = slice(0, n_free), slice(n_free, None)
        self._free_inverse = pinvh(S[free, free], rtol=_RANK_TOLERANCE)
        response = self._free_inverse @ S[free, rest]  # how the free part follows the rest
        values, vectors = eigh(S[rest, rest] - S[rest, free] @ response)
        seen = np.flatnonzero(values > _RANK_TOLERANCE * values[-1])[::-1]
        self.values = values[seen]
        # A step along direction j, and the score of b in it: mutually transposed.
        self.directions = np.vstack([-response @ vectors[:, seen], vectors[:, seen]])
        self.scores = self.directions.T @ b
        variances = np.einsum("ij,ij->j", self.directions, noise @ self.directions)
        # Below the rounding of the products nothing is known, and nothing is signal.
        self.score_variances = variances.clip(min=_ROUNDING * np.trace(noise))
        self.start = np.zeros(len(b))
        self.start[free] = self._free_inverse @ b[free]

    def coefficients(self, t: float, dispersion: float) -> Array:
        """Return the coefficients of h after total step t, noise shrunk away."""
        kept = self.kept(dispersion)
        return self.start + self.directions @ (self._filter(t) * kept * self.scores)

    def kept(self, dispersion: float) -> Array:
        """Return the positive-part shrinkage (1 - var c_j / c_j^2)_+ of each score.

        Parameters
        ----------
        dispersion : float
            Variance of the disturbance.
        """
        return np.maximum(0.0, 1 - dispersion * self.score_variances / self._squares)

    def toll(self, a: Array, t: float) -> float:
        """Return the penalty whose minimum together with the risk is where the flow is at t.

        Half the sum of p_j a_j^2 over the directions, with (e_j + p_j) (1 - exp(-e_j t)) = e_j.
        """
        if t == 0:
            return 0.0
        n_free = len(self._free_inverse)
        along = self.directions[n_free:].T @ a[n_free:]
        penalties = np.exp(-self.values * t) / self._filter(t)
        return float(penalties @ along**2 / 2)

    def linear_map(self, t: float, kept: Array) -> Array:
        """Return R with coefficients R b, the shrinkage factors taken as given."""
        R = (self.directions * (self._filter(t) * kept)) @ self.directions.T
        n_free = len(self._free_inverse)
        R[:n_free, :n_free] += self._free_inverse
        return R

    def lengthened(self, t: float, dispersion: float) -> float:
        """Return t, doubled while the doubling would still learn what is clearly signal.

        The piece of the gradient that goes from t to 2t is compared with what noise alone would
        put there; twenty standard deviations leave no doubt, and are rare.
        """
        excess = self._squares / (dispersion * self.score_variances) - 1
        for _ in range(_MAX_DOUBLINGS):
            piece = np.exp(-2 * self.values * t) - np.exp(-4 * self.values * t)
            if piece @ excess <= _CLEAR_SIGNAL * np.sqrt(2 * piece @ piece):
                break
            t *= 2
        return t

    @property
    def _squares(self) -> Array:
        return np.maximum(self.scores**2, 1e-300)

    def _filter(self, t: float) -> Array:
        return -np.expm1(-self.values * t) / self.values


@dataclass(frozen=True)
class FlowPath:
    """How far the descent went, direction by direction.

    Attributes
    ----------
    total_step : float
        t, the sum of all step sizes.
    values : array of shape (k,)
        Curvature e_j of the projected risk in each direction, decreasing; after t a direction is
        learnt to the share 1 - exp(-e_j t).
    scores : array of shape (k,)
        Gradient at the start in each direction.
    standard_errors : array of shape (k,)
        Of the scores.
    kept : array of shape (k,)
        Share of each score that stands above its noise.
    steps, risk : arrays
        Projected risk, less its value at the start, along a grid of total steps.
    """

    total_step: float
    values: Array
    scores: Array
    standard_errors: Array
    kept: Array
    steps: Array
    risk: Array

    @classmethod
    def of(cls, flow: Flow, t: float, dispersion: float) -> FlowPath:
        """Return the record of a flow that was stopped at t."""
        steps = t * np.logspace(-4, 1, 51)
        gone = np.exp(-2 * np.outer(steps, flow.values)) - 1
        return cls(
            t,
            flow.values,
            flow.scores,
            np.sqrt(dispersion * flow.score_variances),
            flow.kept(dispersion),
            steps,
            gone @ (flow.scores**2 / flow.values) / 2,
        )
