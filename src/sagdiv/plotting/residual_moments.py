"""What the instrument still says about the residual: a flat line if all is well."""

from __future__ import annotations

from typing import Any

import numpy as np

from sagdiv._types import Array, Data
from sagdiv.binary import is_binary
from sagdiv.inference import Analysis, MomentTest, analyse
from sagdiv.plotting.style import BLACK, BLUE, axes
from sagdiv.validation import check_integer

__all__ = ["ResidualMomentsDisplay"]


class ResidualMomentsDisplay:
    """Averages of Y - h(X) within quantile bins of one instrument.

    Parameters
    ----------
    centers, means, standard_errors : arrays of shape (k,)
        Average instrument and residual in each bin, and the standard error of the latter given
        h. That h itself was estimated is left to the test.
    test : MomentTest
    name : str
        Name of the instrument.
    residual : str, default="Y - h(X)"
        What was averaged. With the loss of a binary outcome, whose h is no prediction of Y, it is
        minus the derivative of the loss at E[h(X) | Z], linearised in h.
    """

    def __init__(
        self,
        centers: Array,
        means: Array,
        standard_errors: Array,
        test: MomentTest,
        name: str,
        residual: str = "Y - h(X)",
    ) -> None:
        self.centers = centers
        self.means = means
        self.standard_errors = standard_errors
        self.test = test
        self.name = name
        self.residual = residual

    @classmethod
    def from_estimator(
        cls, model: Any, X: Data, y: Data, Z: Data, *, column: int = 0, n_bins: int = 15
    ) -> ResidualMomentsDisplay:
        """Analyse a `KernelSAGDIV` on the data and display its residuals."""
        return cls.from_result(analyse(model, X, y, Z), column=column, n_bins=n_bins)

    @classmethod
    def from_result(
        cls, result: Analysis, *, column: int = 0, n_bins: int = 15
    ) -> ResidualMomentsDisplay:
        """Display the residuals of an `Analysis` along one column of Z."""
        check_integer(n_bins, "n_bins", at_least=2)
        check_integer(column, "column", at_least=0)
        width = result.Z.shape[1]
        if column >= width:
            raise ValueError(f"column is {column}, but Z has {width} columns.")
        z, u = result.Z[:, column], result.residuals()
        edges = np.unique(np.quantile(z, np.linspace(0, 1, n_bins + 1)[1:-1]))
        bins = np.unique(np.searchsorted(edges, z, side="right"), return_inverse=True)[1]
        count = np.bincount(bins)
        centers, means = np.bincount(bins, z) / count, np.bincount(bins, u) / count
        spread = np.bincount(bins, (u - means[bins]) ** 2) / np.maximum(count - 1, 1)
        fallback = ["z"] if width == 1 else [f"z{j}" for j in range(width)]
        names = getattr(result.model, "instrument_names_in_", fallback)
        name = str(names[column]) if column < len(names) else f"z{column}"
        loss = result.model._loss
        residual = "the generalised residual" if is_binary(loss) else "Y - h(X)"
        errors = np.sqrt(spread / count)
        return cls(centers, means, errors, result.specification, name, residual)

    def plot(self, ax: Any = None) -> Any:
        """Draw into ``ax`` (None: a new figure) and return it."""
        ax = axes(ax)
        ax.axhline(0, color=BLACK, linewidth=0.8)
        ax.errorbar(
            self.centers, self.means, 1.96 * self.standard_errors, fmt="o", color=BLUE, capsize=2
        )
        ax.set(xlabel=self.name, ylabel=f"average of {self.residual}")
        ax.set_title(f"Does Z predict the residual? p = {self.test.p_value:.2g}")
        return ax
