"""The strength of the instrument, direction by direction, beside what chance would do."""

from __future__ import annotations

from typing import Any

import numpy as np

from sagdiv._types import Data
from sagdiv.inference import Analysis, InstrumentStrength, analyse
from sagdiv.plotting.style import BLUE, GREY, ORANGE, axes

__all__ = ["StrengthDisplay"]


class StrengthDisplay:
    """Canonical correlations of functions of X and of Z against permuted data.

    Parameters
    ----------
    strength : InstrumentStrength
    """

    def __init__(self, strength: InstrumentStrength) -> None:
        self.strength = strength

    @classmethod
    def from_estimator(cls, model: Any, X: Data, y: Data, Z: Data) -> StrengthDisplay:
        """Analyse a `KernelSAGDIV` on the data and display its instrument."""
        return cls.from_result(analyse(model, X, y, Z))

    @classmethod
    def from_result(cls, result: Analysis) -> StrengthDisplay:
        """Display the instrument of an `Analysis`."""
        return cls(result.strength)

    def plot(self, ax: Any = None) -> Any:
        """Draw into ``ax`` (None: a new figure) and return it."""
        ax = axes(ax)
        s, threshold = self.strength.correlations, self.strength.threshold
        at = np.arange(1, len(s) + 1)
        ax.axhspan(0, threshold, color=GREY, alpha=0.35, label="what chance would do")
        ax.vlines(at, 0, s, color=GREY, linewidth=1)
        usable = s > threshold
        ax.plot(at[usable], s[usable], "o", color=BLUE, label="usable")
        ax.plot(at[~usable], s[~usable], "o", color=ORANGE, fillstyle="none", label="not usable")
        ax.set(xlabel="direction", ylabel="correlation of X and Z", ylim=(0, 1.02), xticks=at)
        ax.set_title(f"Strength of the instrument: {self.strength.verdict}")
        ax.legend(frameon=False, fontsize="small")
        return ax
