"""Whether the probabilities that a model of a binary outcome implies come true."""

from __future__ import annotations

from typing import Any

import numpy as np

from sagdiv._types import Array, Data
from sagdiv.plotting.style import BLACK, BLUE, axes
from sagdiv.validation import check_integer, check_labels, check_same_length

__all__ = ["ProjectedCalibrationDisplay"]


class ProjectedCalibrationDisplay:
    """Observed frequencies of Y = 1 within quantile bins of F(P^[h](Z)).

    What is checked is the reduced form, P(Y = 1|Z). A curve on the diagonal is necessary for h to
    be right, not sufficient.

    Parameters
    ----------
    predicted, observed : arrays of shape (k,)
        Average probability and frequency in each bin.
    standard_errors : array of shape (k,)
        Of the frequencies, if the probabilities are right.
    counts : array of shape (k,)
        Rows in each bin.
    """

    def __init__(
        self, predicted: Array, observed: Array, standard_errors: Array, counts: Array
    ) -> None:
        self.predicted = predicted
        self.observed = observed
        self.standard_errors = standard_errors
        self.counts = counts

    @classmethod
    def from_estimator(
        cls, model: Any, Z: Data, y: Data, X: Data = None, *, n_bins: int = 10
    ) -> ProjectedCalibrationDisplay:
        """Compare a fitted model with outcomes, best those of rows it has not seen.

        Parameters
        ----------
        model : estimator with ``predict_projected_proba``
        Z : array of shape (n, dz)
        y : array of shape (n,)
        X : array of shape (n, dx), default=None
            Needed for its exogenous columns, if there are any.
        n_bins : int, default=10
            Bins of about equally many rows; raising it shows more detail and more noise.
        """
        check_integer(n_bins, "n_bins", at_least=1)
        p = model.predict_projected_proba(Z, X)
        y, _ = check_labels(y, model.loss_, model.classes_)
        check_same_length(Z=p, y=y)
        edges = np.unique(np.quantile(p, np.linspace(0, 1, n_bins + 1)[1:-1]))
        bins = np.unique(np.searchsorted(edges, p, side="right"), return_inverse=True)[1]
        counts = np.bincount(bins).astype(float)
        return cls(
            np.bincount(bins, p) / counts,
            np.bincount(bins, y) / counts,
            np.sqrt(np.bincount(bins, p * (1 - p))) / counts,
            counts,
        )

    def plot(self, ax: Any = None) -> Any:
        """Draw into ``ax`` (None: a new figure) and return it."""
        ax = axes(ax)
        ax.plot([0, 1], [0, 1], color=BLACK, linewidth=0.8, label="calibrated")
        ax.errorbar(
            self.predicted, self.observed, 1.96 * self.standard_errors, fmt="o", color=BLUE,
            capsize=2, label="observed",
        )  # fmt: skip
        ax.set(
            xlabel="F(P[h](Z))", ylabel="frequency of Y = 1", xlim=(-0.02, 1.02), ylim=(-0.02, 1.02)
        )
        ax.set_title("Probabilities given the instrument")
        ax.legend(frameon=False, fontsize="small")
        return ax
