"""How the projected risk falls along the descent, and where it was stopped."""

from __future__ import annotations

from typing import Any

from sagdiv._types import Data
from sagdiv.flow import FlowPath
from sagdiv.inference import Analysis, analyse
from sagdiv.plotting.style import BLUE, ORANGE, axes

__all__ = ["RiskPathDisplay"]


class RiskPathDisplay:
    """Projected risk, less its value at linear two-stage least squares, by total step.

    Parameters
    ----------
    path : FlowPath
    """

    def __init__(self, path: FlowPath) -> None:
        self.path = path

    @classmethod
    def from_estimator(cls, model: Any, X: Data, y: Data, Z: Data) -> RiskPathDisplay:
        """Fit a `KernelSAGDIV` on the data and display its descent."""
        return cls.from_result(analyse(model, X, y, Z))

    @classmethod
    def from_result(cls, result: Analysis) -> RiskPathDisplay:
        """Display the descent of an `Analysis`."""
        return cls(result.model.path_)

    def plot(self, ax: Any = None) -> Any:
        """Draw into ``ax`` (None: a new figure) and return it."""
        ax = axes(ax)
        ax.semilogx(self.path.steps, self.path.risk, color=BLUE, linewidth=2.2)
        ax.axvline(
            self.path.total_step, color=ORANGE, linestyle="--",
            label=f"stopped at t = {self.path.total_step:.3g}",
        )  # fmt: skip
        ax.set(xlabel="total step t", ylabel="projected risk, less that of linear 2SLS")
        ax.set_title("The descent")
        ax.legend(frameon=False, fontsize="small")
        return ax
