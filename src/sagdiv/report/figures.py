"""The figures of a result as PNG files, drawn by the displays of `sagdiv.plotting`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from sagdiv.inference import Band
from sagdiv.plotting import (
    DerivativeDisplay,
    ResidualMomentsDisplay,
    RiskPathDisplay,
    StrengthDisplay,
    StructuralDisplay,
)
from sagdiv.report.findings import Curve, Findings

__all__ = ["save_figures"]

_MOST_POINTS = 2000
_DPI = 150


def save_figures(found: Findings, folder: Path) -> None:
    """Write the curves, and what there is to see about them, into a folder.

    Figures of the descent and of residuals are drawn for `KernelSAGDIV`, which keeps both.
    """
    result = found.analysis
    displays: dict[str, Any] = {"strength": StrengthDisplay.from_result(result)}
    if found.of_the_fit:
        displays["risk"] = RiskPathDisplay.from_result(result)
        displays["residuals"] = ResidualMomentsDisplay.from_result(result)
    for number, curve in enumerate(found.curves, start=1):
        ending = "" if number == 1 else f"-{number}"
        if curve.band is not None:
            displays[f"curve{ending}"] = _structural(found, curve, curve.band)
        # Of functions of a treatment, and between the few values of one, there is no slope.
        if found.of_the_fit and curve.labels is None and curve.column is not None:
            displays[f"derivative{ending}"] = DerivativeDisplay(
                curve.column,
                result.derivative(curve.points, column=curve.column, level=curve.level),
                result.average_derivative(column=curve.column, level=curve.level),
                curve.treatment,
            )
    for name, display in displays.items():
        _save(display, folder / f"{name}.png")


def _structural(found: Findings, curve: Curve, band: Band) -> StructuralDisplay:
    x, y = found.observed(curve.treatment, _MOST_POINTS)
    support = found.analysis.support(curve.points)
    # Along the column of the table, which the model may know through functions of it only.
    along = replace(band, X=curve.x[:, None])
    return StructuralDisplay(
        *(0, along, support, curve.confounded, x[:, None], y),
        name=curve.treatment,
        outcome=found.outcome_label,
        estimate=curve.estimate,
        labels=curve.labels,
    )


def _save(display: Any, path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 4.2), layout="constrained")
    display.plot(figure.subplots())
    figure.savefig(path, dpi=_DPI)
