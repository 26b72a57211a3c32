"""What a report shows: the curves with their bands, and whether to believe them."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sklearn.base import clone

from sagdiv._types import Array
from sagdiv.exceptions import NoInstrumentWarning
from sagdiv.formula import StructuralFit
from sagdiv.inference import Analysis, Band, analyse, bootstrap
from sagdiv.kernel_sagdiv import KernelSAGDIV

__all__ = ["Curve", "Findings", "Verdict", "findings"]

Verdict = Literal["good", "caution", "bad"]

_N_POINTS = 100
_CENTRAL = 0.95
_VERDICTS: dict[str, Verdict] = {
    "believe": "good",
    "with care": "caution",
    "do not believe": "bad",
}
_STRENGTHS: dict[str, Verdict] = {
    "strong": "good",
    "linear only": "caution",
    "weak": "bad",
    "useless": "bad",
}


@dataclass(frozen=True)
class Curve:
    """h along one treatment, everything else held still.

    Attributes
    ----------
    treatment : str
    held : dict of str to float
        Values of the other regressors.
    x, estimate, confounded : arrays of shape (k,)
        ``confounded`` is an ordinary regression of the same kind.
    level : float
    band : Band or None
        Pointwise intervals, and a band for the whole curve.
    """

    treatment: str
    held: dict[str, float]
    x: Array
    estimate: Array
    confounded: Array
    level: float = 0.95
    band: Band | None = None

    @property
    def edges(self) -> dict[str, Array]:
        """Edges of the intervals and of the band, if there are any."""
        if self.band is None:
            return {}
        return {
            "lower": self.band.lower,
            "upper": self.band.upper,
            "band_lower": self.band.uniform_lower,
            "band_upper": self.band.uniform_upper,
        }

    def as_dict(self) -> dict[str, Array]:
        """Return the columns of a table of the curve."""
        columns = {self.treatment: self.x, "estimate": self.estimate}
        return columns | self.edges | {"ordinary_regression": self.confounded}


@dataclass(frozen=True)
class Findings:
    """A fit with everything that is shown about it.

    Attributes
    ----------
    fit : StructuralFit
    curves : list of Curve
        One for each treatment.
    verdict : {"good", "caution", "bad"}
    headline : str
    reasons : list of str
        Against believing.
    numbers : list of (str, str)
        Diagnostics with their plain reading.
    analysis : Analysis
        Of the fit, or where its estimator has none, of `KernelSAGDIV` on the same data.
    uncertainty : str
        How the bands were computed.
    """

    fit: StructuralFit
    curves: list[Curve]
    verdict: Verdict
    headline: str
    reasons: list[str]
    numbers: list[tuple[str, str]]
    analysis: Analysis
    uncertainty: str

    @property
    def of_the_fit(self) -> bool:
        """Whether the analysis is that of the fit itself."""
        return isinstance(self.fit.estimator, KernelSAGDIV)

    @property
    def outcome_on_scale(self) -> bool:
        """Whether h is in the units of the outcome, rather than the index of a probability."""
        return not self.fit.estimator._loss.binary

    @property
    def outcome_label(self) -> str:
        """What the curve is measured in."""
        return self.fit.outcome if self.outcome_on_scale else f"index h of {self.fit.outcome}"

    def observed(self, treatment: str, most: int) -> tuple[Array, Array]:
        """Return treatment and outcome of the rows, or of evenly spaced ones among many."""
        rows = np.unique(np.linspace(0, self.fit.n_rows - 1, most).astype(int))
        return self.fit.X[treatment].to_numpy()[rows], self.fit.y[rows]


def findings(
    fit: StructuralFit, *, level: float = 0.95, n_refits: int = 100, random_state: int = 0
) -> Findings:
    """Compute curves, bands and diagnostics of a fit.

    Parameters
    ----------
    fit : StructuralFit
    level : float, default=0.95
        Of intervals and bands.
    n_refits : int, default=100
        Bootstrap fits behind the bands of estimators other than `KernelSAGDIV`; 0 for no bands.
    random_state : int, default=0
    """
    own = isinstance(fit.estimator, KernelSAGDIV)
    model = clone(fit.estimator) if own else KernelSAGDIV(random_state=random_state)
    model.set_params(exogenous=list(fit.controls))
    result = analyse(model, fit.X, fit.y, fit.Z[fit.instruments], random_state=random_state)
    confounded = _confounded(model, fit)

    def band(grid: Any) -> Band | None:
        if own:
            return result.bands(grid, level=level)
        if not n_refits:
            return None
        rows = fit.estimator, fit.X, fit.y, fit.Z
        refits = bootstrap(*rows, grid, n_draws=n_refits, random_state=random_state)
        return refits.bands(level)

    def curve(treatment: str) -> Curve:
        grid = fit.grid(treatment, n=_N_POINTS, central=_CENTRAL)
        held = {name: float(grid[name].iloc[0]) for name in grid.columns if name != treatment}
        h = np.asarray(fit.estimator.predict(grid))
        ordinary = np.asarray(confounded.predict(grid))
        return Curve(treatment, held, grid[treatment].to_numpy(), h, ordinary, level, band(grid))

    curves = [curve(treatment) for treatment in fit.treatments]
    uncertainty = _uncertainty(own, n_refits)
    if not own:
        return Findings(fit, curves, *_data_only(result), result, uncertainty)
    summary = result.summary()
    return Findings(
        fit,
        curves,
        _VERDICTS[summary.verdict],
        summary.headline,
        summary.reasons,
        summary.numbers,
        result,
        uncertainty,
    )


def _confounded(model: KernelSAGDIV, fit: StructuralFit) -> Any:
    ordinary = clone(model).set_params(exogenous=())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoInstrumentWarning)  # the mistake is the point
        return ordinary.fit(fit.X, fit.y)


def _data_only(result: Analysis) -> tuple[Verdict, str, list[str], list[tuple[str, str]]]:
    """Return what can be said about the data, whatever the estimator."""
    verdict = _STRENGTHS[result.strength.verdict]
    headline = {
        "good": "The instrument is no reason for doubt; the estimator was not examined.",
        "caution": "Read this curve with care.",
        "bad": "Do not believe this curve.",
    }[verdict]
    reasons = [] if verdict == "good" else [result.strength.sentence]
    numbers = [
        ("Instrument", result.strength.sentence),
        ("Is IV needed?", f"{result.exogeneity}."),
    ]
    return verdict, headline, reasons, numbers


def _uncertainty(own: bool, n_refits: int) -> str:
    if own:
        return (
            "simulated errors of the estimate before noise is shrunk away from it, noise and "
            "smoothing bias together; the band holds the whole curve at once"
        )
    if n_refits:
        return f"bootstrap with {n_refits} fits; bias is not covered"
    return "none computed"
