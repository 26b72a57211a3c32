"""The structural function with its bands, the data, and what an ordinary regression finds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from sagdiv._types import Array, Data
from sagdiv.baselines.kernel_regression import KernelRegression
from sagdiv.binary import is_binary
from sagdiv.inference import Analysis, Band, Support, analyse
from sagdiv.plotting.style import BLUE, GREY, ORANGE, axes

__all__ = ["StructuralDisplay"]

_MOST_POINTS = 2000
_EXTRAPOLATED = "0.93"
_FEW_VALUES = 10
_MOST_LABELS = 12
# Where things stand beside a single value, in distances between values: data, h, ordinary.
_DATA, _SPREAD, _OURS, _OTHER = -0.17, 0.24, 0.08, 0.22
_STRUCTURAL, _ORDINARY = "h(x), with the instrument", "ordinary regression"


class StructuralDisplay:
    """The curve h along one column of X, the others at their medians.

    Parameters
    ----------
    column : int
    band : Band
    support : Support
    confounded : array of shape (k,) or None
        The ordinary regression of y on X at the same points; None where h, as with a binary
        outcome, is on another scale than y.
    X, y : arrays
        The rows to draw, a sample of them if there are many; none if h is on another scale.
    name : str
        Name of the column.
    outcome : str
        What h is measured in.
    estimate : array of shape (k,), default=None
        The line to draw; None is the centre of the band.
    labels : sequence of str, default=None
        Names of the points, which are then drawn one by one, not as a curve. None does so, with
        numbers for names, where there are at most ten.
    """

    def __init__(
        self,
        column: int,
        band: Band,
        support: Support,
        confounded: Array | None,
        X: Array,
        y: Array,
        name: str = "x",
        outcome: str = "outcome",
        estimate: Array | None = None,
        labels: Sequence[str] | None = None,
    ) -> None:
        self.column = column
        self.band = band
        self.support = support
        self.confounded = confounded
        self.X = X
        self.y = y
        self.name = name
        self.outcome = outcome
        self.estimate = band.estimate if estimate is None else estimate
        x = band.X[:, column]
        self.labels = [f"{value:.6g}" for value in x] if labels is None else list(labels)
        self.is_curve = labels is None and len(x) > _FEW_VALUES

    @classmethod
    def from_estimator(
        cls, model: Any, X: Data, y: Data, Z: Data, *, column: int = 0, level: float = 0.95
    ) -> StructuralDisplay:
        """Analyse a `KernelSAGDIV` on the data and display its curve."""
        return cls.from_result(analyse(model, X, y, Z), column=column, level=level)

    @classmethod
    def from_result(
        cls, result: Analysis, *, column: int = 0, level: float = 0.95
    ) -> StructuralDisplay:
        """Display the curve of an `Analysis`."""
        grid = result.grid(column)
        bands, support = result.bands(grid, level=level), result.support(grid)
        name = column_name(result, column)
        if is_binary(result.model._loss):
            return cls(column, bands, support, None, result.X[:0], result.y[:0], name, "index h")
        rows = np.arange(len(result.y))
        if len(rows) > _MOST_POINTS:
            rows = np.sort(check_random_state(0).choice(len(rows), _MOST_POINTS, replace=False))
        X, y, Z = result.X[rows], result.y[rows], result.Z[rows]
        confounded = KernelRegression().fit(X, y, Z).predict(grid)
        return cls(column, bands, support, confounded, X, y, name)

    def plot(self, ax: Any = None, *, data: bool = True, confounded: bool = True) -> Any:
        """Draw into ``ax`` (None: a new figure) and return it."""
        ax = axes(ax)
        x = self.band.X[:, self.column]
        percent = f"{100 * self.band.level:g} %"
        if data and len(self.y):
            ax.plot(
                self._beside(self.X[:, self.column]), self.y, ".", color=GREY, markersize=3,
                zorder=0, rasterized=True, label="data",
            )  # fmt: skip
        confounded = confounded and self.confounded is not None
        (self._draw_curve if self.is_curve else self._draw_points)(ax, x, confounded)
        low, high = self.band.uniform_lower.min(), self.band.uniform_upper.max()
        if len(self.y):
            bottom, top = np.quantile(self.y, [0.01, 0.99])
            low, high = min(low, bottom), max(high, top)
        ends = (x[0], x[-1]) if self.is_curve else (x[0] - 0.6 * _gap(x), x[-1] + 0.6 * _gap(x))
        ax.set(xlabel=self.name, ylabel=self.outcome, xlim=ends, ylim=(low, high))
        ax.set_title(f"Structural function, {percent} bands")
        ax.legend(frameon=False, fontsize="small")
        return ax

    def _beside(self, x: Array) -> Array:
        if self.is_curve:
            return x
        scatter = (np.arange(len(x)) * 0.618034) % 1 - 0.5  # even, and the same every time
        return x + _gap(self.band.X[:, self.column]) * (_DATA + _SPREAD * scatter)

    def _draw_curve(self, ax: Any, x: Array, confounded: bool) -> None:
        draw_band(ax, self.band, self.column)
        ax.plot(x, self.estimate, color=BLUE, linewidth=2.2, label=_STRUCTURAL)
        if confounded:
            ax.plot(
                x, self.confounded, color=ORANGE, linewidth=1.8, linestyle="--", label=_ORDINARY
            )  # fmt: skip
        shade_extrapolation(ax, x, self.support.extrapolated)

    def _draw_points(self, ax: Any, x: Array, confounded: bool) -> None:
        band, ours = self.band, x + _OURS * _gap(x)
        ax.vlines(
            ours, band.uniform_lower, band.uniform_upper, color=BLUE, linewidth=1.5,
            label="all points",
        )  # fmt: skip
        ax.vlines(
            ours, band.lower, band.upper, color=BLUE, alpha=0.4, linewidth=6, label="each point"
        )  # fmt: skip
        ax.plot(ours, self.estimate, "o", color=BLUE, label=_STRUCTURAL)
        if confounded:
            ax.plot(
                x + _OTHER * _gap(x), self.confounded, "o", color=ORANGE, fillstyle="none",
                label=_ORDINARY,
            )  # fmt: skip
        every = -(-len(x) // _MOST_LABELS)
        ax.set_xticks(x[::every], self.labels[::every])


def _gap(x: Array) -> float:
    return float(np.diff(x).min()) if len(x) > 1 else 1.0


def draw_band(ax: Any, band: Band, column: int) -> None:
    """Draw a uniform band in light and pointwise intervals in dark."""
    x = band.X[:, column]
    ax.fill_between(
        x, band.uniform_lower, band.uniform_upper, color=BLUE, alpha=0.15, linewidth=0,
        label="whole curve",
    )  # fmt: skip
    ax.fill_between(
        x, band.lower, band.upper, color=BLUE, alpha=0.25, linewidth=0, label="each point"
    )


def shade_extrapolation(ax: Any, x: Array, extrapolated: Any) -> None:
    """Shade the parts of the axis where there are hardly any data."""
    label: str | None = "extrapolated"
    edges = np.flatnonzero(np.diff(np.r_[False, extrapolated, False].astype(int)))
    for start, stop in edges.reshape(-1, 2):
        ax.axvspan(x[start], x[stop - 1], color=_EXTRAPOLATED, zorder=-1, label=label)
        label = None


def column_name(result: Analysis, column: int) -> str:
    """Return the name of a column of X."""
    fallback = ["x"] if result.X.shape[1] == 1 else [f"x{j}" for j in range(result.X.shape[1])]
    return str(getattr(result.model, "feature_names_in_", fallback)[column])
