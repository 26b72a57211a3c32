"""The curve of a binary outcome under different scales of its noise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sagdiv._types import Data
from sagdiv.plotting.style import axes
from sagdiv.sensitivity import ScaleSensitivity, scale_sensitivity

__all__ = ["ScaleSensitivityDisplay"]


class ScaleSensitivityDisplay:
    """h along one column of X, one curve for each scale.

    Parameters
    ----------
    sensitivity : ScaleSensitivity
    column : int, default=0
        Column of X on the horizontal axis.
    """

    def __init__(self, sensitivity: ScaleSensitivity, column: int = 0) -> None:
        self.sensitivity = sensitivity
        self.column = column

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Data,
        y: Data,
        Z: Data,
        *,
        scales: Sequence[float],
        X_grid: Data,
        column: int = 0,
    ) -> ScaleSensitivityDisplay:
        """Refit the model under each scale and display its curves."""
        return cls(scale_sensitivity(model, X, y, Z, scales, X_grid), column)

    def plot(self, ax: Any = None, *, relative: bool = False) -> Any:
        """Draw into ``ax`` (None: a new figure) and return it.

        Parameters
        ----------
        ax : matplotlib axes, default=None
        relative : bool, default=False
            Divide each curve by its scale.
        """
        ax = axes(ax)
        found = self.sensitivity
        x = found.X[:, self.column]
        order = np.argsort(x)
        shades = np.linspace(0.15, 0.85, len(found.scales))
        curves = found.relative if relative else found.curves
        for scale, curve, shade in zip(found.scales, curves, shades, strict=True):
            ax.plot(x[order], curve[order], color=(0.0, shade * 0.7, 0.9), label=f"{scale:g}")
        ax.set(xlabel="x", ylabel="h(x) / scale" if relative else "h(x)")
        ax.set_title("The scale of the noise is the unit of h")
        ax.legend(frameon=False, fontsize="small", title="scale")
        return ax
