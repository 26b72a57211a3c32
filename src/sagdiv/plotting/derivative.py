"""The slope of the structural function: the effect of a little more of X."""

from __future__ import annotations

from typing import Any

from sagdiv._types import Data
from sagdiv.inference import Analysis, Band, Interval, analyse
from sagdiv.plotting.structural import column_name, draw_band
from sagdiv.plotting.style import BLACK, BLUE, axes

__all__ = ["DerivativeDisplay"]


class DerivativeDisplay:
    """h'(x) along one column of X, and its average over the population.

    Parameters
    ----------
    column : int
    band : Band
    average : Interval
    name : str
        Name of the column.
    """

    def __init__(self, column: int, band: Band, average: Interval, name: str = "x") -> None:
        self.column = column
        self.band = band
        self.average = average
        self.name = name

    @classmethod
    def from_estimator(
        cls, model: Any, X: Data, y: Data, Z: Data, *, column: int = 0, level: float = 0.95
    ) -> DerivativeDisplay:
        """Analyse a `KernelSAGDIV` on the data and display its slope."""
        return cls.from_result(analyse(model, X, y, Z), column=column, level=level)

    @classmethod
    def from_result(
        cls, result: Analysis, *, column: int = 0, level: float = 0.95
    ) -> DerivativeDisplay:
        """Display the slope of an `Analysis`."""
        return cls(
            column,
            result.derivative(column=column, level=level),
            result.average_derivative(column=column, level=level),
            column_name(result, column),
        )

    def plot(self, ax: Any = None) -> Any:
        """Draw into ``ax`` (None: a new figure) and return it."""
        ax = axes(ax)
        x = self.band.X[:, self.column]
        draw_band(ax, self.band, self.column)
        ax.plot(x, self.band.estimate, color=BLUE, linewidth=2.2, label="slope of h")
        ax.axhline(0, color=BLACK, linewidth=0.8)
        ax.axhline(
            self.average.estimate, color=BLUE, linewidth=1, linestyle=":",
            label=f"average {self.average.estimate:.2g} "
            f"[{self.average.lower:.2g}, {self.average.upper:.2g}]",
        )  # fmt: skip
        ax.set(xlabel=self.name, ylabel=f"dh / d{self.name}", xlim=(x[0], x[-1]))
        ax.set_title(f"Marginal effect, {100 * self.band.level:g} % bands")
        ax.legend(frameon=False, fontsize="small")
        return ax
