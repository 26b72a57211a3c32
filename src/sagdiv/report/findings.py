"""What a report shows: the curves with their bands, and whether to believe them."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from sagdiv._types import Array, Data
from sagdiv.binary import is_binary
from sagdiv.exceptions import NoInstrumentWarning
from sagdiv.formula import StructuralFit
from sagdiv.inference import Analysis, Band, Interval, analyse, bootstrap
from sagdiv.inference.summary import FEW_VALUES, Line, summarise
from sagdiv.kernel_sagdiv import KernelSAGDIV

__all__ = ["Curve", "Findings", "Verdict", "findings"]

Verdict = Literal["good", "caution", "bad", "neutral"]

_N_POINTS = 100
_VERDICTS: dict[str, Verdict] = {
    "believe": "good",
    "with care": "caution",
    "do not believe": "bad",
}
_STRENGTHS: dict[str, Verdict] = {
    "strong": "neutral",
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
        Column of the table.
    held : dict of str to float or str
        Values of the other columns.
    values : array of shape (k,)
        Of the treatment, numbers or categories.
    estimate, confounded : arrays of shape (k,)
        ``confounded`` is an ordinary regression of the same kind.
    points : data frame of k rows
        What the model is a function of.
    column : int or None
        Where the treatment stands in ``points``; None if they hold functions of it.
    level : float
    band : Band or None
        Pointwise intervals, and a band for the whole curve.
    """

    treatment: str
    held: dict[str, float | str]
    values: NDArray[Any]
    estimate: Array
    confounded: Array
    points: Data
    column: int | None
    level: float = 0.95
    band: Band | None = None

    @property
    def x(self) -> Array:
        """Where the values are drawn: at themselves, and categories at 0, 1, ..."""
        is_number = self.values.dtype != object
        return self.values if is_number else np.arange(len(self.values), dtype=float)

    @property
    def labels(self) -> list[str] | None:
        """Names of the values where there are few: points rather than a curve."""
        if len(self.values) > FEW_VALUES:
            return None
        return [value if isinstance(value, str) else f"{value:.6g}" for value in self.values]

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

    def as_dict(self) -> dict[str, NDArray[Any]]:
        """Return the columns of a table of the curve."""
        columns = {self.treatment: self.values, "estimate": self.estimate}
        return columns | self.edges | {"ordinary_regression": self.confounded}


@dataclass(frozen=True)
class Findings:
    """A fit with everything that is shown about it.

    Attributes
    ----------
    fit : StructuralFit
    curves : list of Curve
        One for each treatment.
    verdict : {"good", "caution", "bad", "neutral"}
        The last where only the data were examined.
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
        return not is_binary(self.fit.estimator._loss)

    @property
    def outcome_label(self) -> str:
        """What the curve is measured in."""
        return self.fit.outcome if self.outcome_on_scale else f"index h of {self.fit.outcome}"

    def observed(self, treatment: str, most: int) -> tuple[Array, Array]:
        """Return treatment and outcome of the rows, or of evenly spaced ones among many.

        There are none where they have no place on the scale of h, or on an axis.
        """
        values = self.fit.values(treatment)
        if values is None or not self.outcome_on_scale:
            return np.empty(0), np.empty(0)
        rows = np.unique(np.linspace(0, self.fit.n_rows - 1, most).astype(int))
        return values[rows], self.fit.y[rows]


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
    model = clone(fit.estimator) if own else _stand_in(fit.estimator, random_state)
    model.set_params(exogenous=list(fit.controls))
    rows = fit.X, fit.y, fit.Z
    result = analyse(
        *(model, fit.X, fit.y, fit.Z[fit.instruments]),
        cluster=fit.cluster_,
        random_state=random_state,
    )
    confounded = _confounded(model, fit)

    effects: dict[str, Interval] = {}

    def band(treatment: str, points: Any) -> Band | None:
        if own:
            return result.bands(points, level=level)
        if not n_refits:
            return None
        refits = bootstrap(
            *(fit.estimator, *rows, points),
            n_draws=n_refits,
            cluster=fit.cluster_,
            random_state=random_state,
        )
        if len(points) == 2:
            effects[treatment] = refits.contrast(1, 0, level)
        return refits.bands(level)

    def curve(treatment: str) -> Curve:
        grid = fit.grid(treatment, n=_N_POINTS)
        points = fit.regressors(grid)
        return Curve(
            treatment,
            {name: grid[name].iloc[0] for name in grid.columns if name != treatment},
            grid[treatment].to_numpy(),
            np.asarray(fit.estimator.predict(points)),
            np.asarray(confounded.predict(points)),
            points,
            fit.column_of(treatment),
            level,
            band(treatment, points),
        )

    curves = [curve(treatment) for treatment in fit.treatment_columns]
    uncertainty = _uncertainty(own, n_refits, fit.cluster)
    if not own:
        verdict, headline, reasons, numbers = _data_only(result)
        numbers += [
            _effect(curve, effects[curve.treatment], len(curves) > 1)
            for curve in curves
            if curve.treatment in effects
        ]
        return Findings(fit, curves, verdict, headline, reasons, numbers, result, uncertainty)
    lines = [Line(c.treatment, c.values, c.points, c.column) for c in curves]
    summary = summarise(result, level, lines)
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


def _stand_in(estimator: Any, random_state: int) -> KernelSAGDIV:
    """Return what speaks of the data for another estimator: h must be on the same scale."""
    return KernelSAGDIV(estimator._loss, random_state=random_state)


def _confounded(model: KernelSAGDIV, fit: StructuralFit) -> Any:
    ordinary = clone(model).set_params(exogenous=())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoInstrumentWarning)  # the mistake is the point
        return ordinary.fit(fit.X, fit.y)


def _data_only(result: Analysis) -> tuple[Verdict, str, list[str], list[tuple[str, str]]]:
    """Return what can be said about the data, whatever the estimator."""
    verdict = _STRENGTHS[result.strength.verdict]
    headline = {
        "neutral": "The instrument is no reason for doubt; the estimator was not examined.",
        "caution": "Read this curve with care.",
        "bad": "Do not believe this curve.",
    }[verdict]
    reasons = [] if verdict == "neutral" else [result.strength.sentence]
    numbers = [
        ("Instrument", result.strength.sentence),
        ("Is IV needed?", f"{result.exogeneity}."),
    ]
    return verdict, headline, reasons, numbers


def _effect(curve: Curve, change: Interval, several: bool) -> tuple[str, str]:
    first, last = curve.labels or ("", "")
    title = f"Effect ({curve.treatment})" if several else "Effect"
    return title, f"{curve.treatment} from {first} to {last} changes h by {change}."


def _uncertainty(own: bool, n_refits: int, cluster: str | None) -> str:
    by = "" if cluster is None else f", clustered by {cluster}"
    if own:
        return (
            "simulated errors of the estimate before noise is shrunk away from it, noise and "
            f"smoothing bias together{by}; the band holds the whole curve at once"
        )
    if n_refits:
        return f"bootstrap with {n_refits} fits{by}; bias is not covered"
    return "none computed"
