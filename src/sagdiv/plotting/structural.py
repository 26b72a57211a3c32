"""The structural function with its bands, the data, and what an ordinary regression finds."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from sagdiv._types import Array, Data
from sagdiv.baselines.kernel_regression import KernelRegression
from sagdiv.inference import Analysis, Band, Support, analyse
from sagdiv.plotting.style import BLUE, GREY, ORANGE, axes

__all__ = ["StructuralDisplay"]

_MOST_POINTS = 2000
_EXTRAPOLATED = "0.93"


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
        if result.model._loss.binary:
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
                self.X[:, self.column], self.y, ".", color=GREY, markersize=3, zorder=0,
                rasterized=True, label="data",
            )  # fmt: skip
        draw_band(ax, self.band, self.column)
        ax.plot(x, self.estimate, color=BLUE, linewidth=2.2, label="h(x), with the instrument")
        if confounded and self.confounded is not None:
            ax.plot(
                x, self.confounded, color=ORANGE, linewidth=1.8, linestyle="--",
                label="ordinary regression",
            )  # fmt: skip
        shade_extrapolation(ax, x, self.support.extrapolated)
        low, high = self.band.uniform_lower.min(), self.band.uniform_upper.max()
        if len(self.y):
            bottom, top = np.quantile(self.y, [0.01, 0.99])
            low, high = min(low, bottom), max(high, top)
        ax.set(xlabel=self.name, ylabel=self.outcome, xlim=(x[0], x[-1]), ylim=(low, high))
        ax.set_title(f"Structural function, {percent} bands")
        ax.legend(frameon=False, fontsize="small")
        return ax


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
