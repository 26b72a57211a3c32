"""The figures of a result as PNG files, drawn by the displays of `sagdiv.plotting`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

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
            displays[f"curve{ending}"] = _structural(found, number - 1, curve, curve.band)
        if found.of_the_fit:
            displays[f"derivative{ending}"] = DerivativeDisplay.from_result(
                result, column=number - 1, level=curve.level
            )
    for name, display in displays.items():
        _save(display, folder / f"{name}.png")


def _structural(found: Findings, column: int, curve: Curve, band: Band) -> StructuralDisplay:
    x, y = found.observed(curve.treatment, _MOST_POINTS)
    if not found.outcome_on_scale:
        x, y = x[:0], y[:0]
    X = np.zeros((len(x), band.X.shape[1]))
    X[:, column] = x
    points = type(found.fit.X)(band.X, columns=found.fit.X.columns)
    support = found.analysis.support(points)
    return StructuralDisplay(
        *(column, band, support, curve.confounded, X, y),
        name=curve.treatment,
        outcome=found.outcome_label,
        estimate=curve.estimate,
    )


def _save(display: Any, path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 4.2), layout="constrained")
    display.plot(figure.subplots())
    figure.savefig(path, dpi=_DPI)
