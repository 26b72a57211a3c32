"""Intervals for a number, and bands for a curve: pointwise, and uniform by the sup-t rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from sagdiv._types import Array

__all__ = ["Band", "Interval", "band_from_draws", "check_level"]


def check_level(level: float) -> None:
    """Check that a confidence level is a number such as 0.95."""
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, like 0.95, got {level!r}.")


@dataclass(frozen=True)
class Interval:
    """An estimate of a number with its uncertainty.

    Attributes
    ----------
    estimate, standard_error : float
        The standard error covers noise and, where the method knows it, smoothing bias.
    level : float
    """

    estimate: float
    standard_error: float
    level: float = 0.95

    @property
    def lower(self) -> float:
        """Lower end."""
        return self.estimate - self._half_width

    @property
    def upper(self) -> float:
        """Upper end."""
        return self.estimate + self._half_width

    @property
    def p_value(self) -> float:
        """Two-sided p-value of the hypothesis that the number is zero."""
        if self.standard_error == 0:
            return float(self.estimate == 0)
        return float(2 * norm.sf(abs(self.estimate) / self.standard_error))

    @property
    def _half_width(self) -> float:
        return float(norm.ppf((1 + self.level) / 2) * self.standard_error)

    def __str__(self) -> str:
        return (
            f"{self.estimate:.3g} [{self.lower:.3g}, {self.upper:.3g}] "
            f"({100 * self.level:g} % interval, p = {self.p_value:.2g})"
        )


@dataclass(frozen=True)
class Band:
    """An estimated curve with pointwise intervals and a uniform band.

    A pointwise interval holds the truth at its own x with probability ``level``; the uniform band
    holds the whole curve at once, and is the one to judge a shape by.

    Attributes
    ----------
    X : array of shape (k, dx)
    estimate, standard_error : arrays of shape (k,)
    critical_value : float
        Half width of the uniform band in standard errors.
    level : float
    names : sequence of str, default=None
        Of the columns of X.
    """

    X: Array
    estimate: Array
    standard_error: Array
    critical_value: float
    level: float = 0.95
    names: Sequence[str] | None = None

    @property
    def lower(self) -> Array:
        """Lower ends of the pointwise intervals."""
        return self.estimate - norm.ppf((1 + self.level) / 2) * self.standard_error

    @property
    def upper(self) -> Array:
        """Upper ends of the pointwise intervals."""
        return self.estimate + norm.ppf((1 + self.level) / 2) * self.standard_error

    @property
    def uniform_lower(self) -> Array:
        """Lower edge of the uniform band."""
        return self.estimate - self.critical_value * self.standard_error

    @property
    def uniform_upper(self) -> Array:
        """Upper edge of the uniform band."""
        return self.estimate + self.critical_value * self.standard_error

    def as_dict(self) -> dict[str, Array]:
        """Return the columns of a table: ``pandas.DataFrame(band.as_dict())``."""
        width = self.X.shape[1]
        names = self.names or (["x"] if width == 1 else [f"x{j}" for j in range(width)])
        return dict(zip(names, self.X.T, strict=True)) | {
            "estimate": self.estimate,
            "standard_error": self.standard_error,
            "lower": self.lower,
            "upper": self.upper,
            "uniform_lower": self.uniform_lower,
            "uniform_upper": self.uniform_upper,
        }


def band_from_draws(
    X: Array,
    estimate: Array,
    draws: Array,
    level: float,
    standard_error: Array | None = None,
    names: Sequence[str] | None = None,
) -> Band:
    r"""Return the band whose uniform critical value is the quantile of the largest t-statistic.

    .. math:: P\left( \max_x |D^*(x)| / \hat\sigma(x) \le c \right) = level

    Parameters
    ----------
    X : array of shape (k, dx)
    estimate : array of shape (k,)
    draws : array of shape (m, k)
        Simulated errors D*.
    level : float
        Raising it widens the band.
    standard_error : array of shape (k,), default=None
        None is the standard deviation of the draws.
    names : sequence of str, default=None
        Of the columns of X.

    References
    ----------
    Montiel Olea and Plagborg-Moller (2019), Simultaneous Confidence Bands.
    """
    check_level(level)
    if standard_error is None:
        standard_error = np.sqrt(np.mean(draws**2, axis=0))
    scale = np.where(standard_error > 0, standard_error, np.inf)  # a sure point is never crossed
    largest = np.abs(draws / scale).max(axis=1)
    # With few points and few draws the quantile can fall below that of a single normal.
    critical = max(float(np.quantile(largest, level)), float(norm.ppf((1 + level) / 2)))
    return Band(X, estimate, standard_error, critical, level, names)
