"""Figures of a comparison: box plots of the errors, and the curves of one data set."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sagdiv.experiments.budgets import share_out
from sagdiv.experiments.designs import Cell, Design, curve_grid
from sagdiv.experiments.runner import valid_rows
from sagdiv.experiments.store import Row
from sagdiv.plotting.style import BLACK, BLUE, GREY

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["box_plots", "curve_grid_figure", "save"]

_MOST_POINTS = 300
_PALE = "#A9CCE3"


def box_plots(design: Design, rows: Collection[Row], samples: int) -> Figure:
    """Return box plots of log10 MSE, a panel for each scenario, a box for each method."""
    figure_class = _figure_class()
    names = [method.name for method in design.methods]
    n = len(design.scenarios)
    figure = figure_class(figsize=(1.6 + 2.4 * n, 1.0 + 0.32 * len(names)), layout="constrained")
    panels = figure.subplots(1, n, sharey=True, squeeze=False)[0]
    valid = valid_rows(design, rows)
    for panel, scenario in zip(panels, design.scenarios, strict=True):
        cells = [Cell(scenario, samples, k) for k in range(design.repetitions)]
        errors = [_errors(valid, cells, name) for name in names]
        panel.boxplot(
            [np.log10(e) for e in errors],
            orientation="horizontal",
            widths=0.6,
            patch_artist=True,
            boxprops={"facecolor": _PALE, "edgecolor": BLACK, "linewidth": 0.8},
            medianprops={"color": BLUE, "linewidth": 2.0},
            whiskerprops={"linewidth": 0.8},
            capprops={"linewidth": 0.8},
            flierprops={"marker": ".", "markersize": 3, "markeredgecolor": BLACK},
        )
        panel.set_title(scenario)
        panel.set_xlabel(r"$\log_{10}$ MSE")
        panel.grid(axis="x", color="0.9", linewidth=0.8)
        panel.set_axisbelow(True)
    panels[0].set_yticks(range(1, len(names) + 1), names)
    panels[0].invert_yaxis()
    figure.suptitle(f"{design.title}, {samples} random variables, {design.repetitions} draws")
    return figure


def curve_grid_figure(design: Design, rows: Collection[Row], samples: int) -> Figure:
    """Return every method's curve on the first draw of each scenario, beside the truth."""
    figure_class = _figure_class()
    valid = valid_rows(design, rows)
    names = [method.name for method in design.methods]
    shape = len(design.scenarios), 1 + len(names)
    figure = figure_class(figsize=(1.55 * shape[1], 0.5 + 1.5 * shape[0]), layout="constrained")
    panels = figure.subplots(*shape, sharex="row", sharey="row", squeeze=False)
    for line, scenario in zip(panels, design.scenarios, strict=True):
        cell = Cell(scenario, samples, 0)
        data = design.sample(cell, share_out(samples))
        grid = curve_grid(design.test_X(cell, data))
        truth = data.h_star(grid)
        shown = slice(_MOST_POINTS)
        line[0].plot(data.X[shown, 0], data.y[shown], ".", color=GREY, markersize=2)
        line[0].set_ylabel(scenario)
        for panel in line:
            panel.plot(grid[:, 0], truth, color=BLACK, linewidth=1.0)
            panel.tick_params(labelsize="x-small")
        for panel, name in zip(line[1:], names, strict=True):
            row = valid.get((cell, name))
            if row is None or row.curve is None:
                note = "not run" if row is None else "failed" if row.error else "not drawn"
                panel.text(0.5, 0.5, note, ha="center", transform=panel.transAxes)
            else:
                panel.plot(grid[:, 0], row.curve, color=BLUE, linewidth=1.8)
        spread = np.ptp(truth)
        line[0].set_ylim(truth.min() - 0.6 * spread, truth.max() + 0.6 * spread)
        line[0].set_xlim(grid[0, 0], grid[-1, 0])
    for panel, name in zip(panels[0], ["data and truth", *names], strict=True):
        panel.set_title(name, fontsize="small")
    return figure


def save(figure: Figure, path: Path) -> list[Path]:
    """Write a figure as PNG and as PDF, without a date; return both paths."""
    png, pdf = path.with_suffix(".png"), path.with_suffix(".pdf")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(png, dpi=150)
    figure.savefig(pdf, metadata={"CreationDate": None})
    return [png, pdf]


def _errors(valid: dict[tuple[Cell, str], Row], cells: list[Cell], name: str) -> list[float]:
    found = [valid[cell, name].mse for cell in cells if (cell, name) in valid]
    return [mse for mse in found if mse is not None]


def _figure_class() -> Any:
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise ImportError(
            'plotting needs matplotlib, which is not installed: pip install "sagdiv[plot]".'
        ) from error
    return Figure
