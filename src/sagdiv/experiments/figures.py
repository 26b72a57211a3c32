"""Figures of a comparison: box plots of the errors, and the curves of one data set."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from math import ceil
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np

from sagdiv.experiments.budgets import share_out
from sagdiv.experiments.designs import Cell, Design, curve_grid
from sagdiv.experiments.runner import valid_rows
from sagdiv.experiments.store import Row
from sagdiv.plotting.style import BLACK, BLUE, GREY

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["box_plots", "curve_grid_figure", "draw_all", "save"]

_MOST_POINTS = 300
_MOST_COLUMNS = 6
_LETTERS = 20  # of a title on one line
_PALE = "#A9CCE3"


def draw_all(design: Design, rows: Collection[Row], folder: Path) -> Iterator[Path]:
    """Draw both figures for every size, and yield the path of each file when it is written."""
    for samples in design.samples:
        size = "" if len(design.samples) == 1 else f"-{samples}"
        for kind, draw in (("errors", box_plots), ("curves", curve_grid_figure)):
            path = folder / f"{design.name}{size}-{kind}.png"
            yield from save(draw(design, rows, samples), path)


def box_plots(design: Design, rows: Collection[Row], samples: int) -> Figure:
    """Return box plots of log10 MSE, a panel for each scenario, a box for each method."""
    figure_class = _figure_class()
    names = [method.name for method in design.methods]
    n = len(design.scenarios)
    figure = figure_class(figsize=(1.6 + 2.4 * n, 1.0 + 0.36 * len(names)), layout="constrained")
    panels = figure.subplots(1, n, sharey=True, squeeze=False)[0]
    valid = valid_rows(design, rows)
    draws = {row.repetition for row in valid.values() if row.samples == samples}
    for panel, scenario in zip(panels, design.scenarios, strict=True):
        cells = [Cell(scenario, samples, k) for k in sorted(draws)]
        found = [[valid[c, name] for c in cells if (c, name) in valid] for name in names]
        errors = [[row.mse for row in several if row.mse is not None] for several in found]
        panel.boxplot(
            [np.log10(e) for e in errors],
            orientation="horizontal",
            widths=0.5,
            patch_artist=True,
            boxprops={"facecolor": _PALE, "edgecolor": BLACK, "linewidth": 0.8},
            medianprops={"color": BLUE, "linewidth": 2.0},
            whiskerprops={"linewidth": 0.8},
            capprops={"linewidth": 0.8},
            flierprops={"marker": ".", "markersize": 3, "markeredgecolor": BLACK},
        )
        for position, (several, numbers) in enumerate(zip(found, errors, strict=True), start=1):
            note = _note(len(draws), len(several), len(numbers))
            _annotate(panel, position - (0.36 if numbers else 0.0), note)
        panel.set_title(scenario)
        panel.set_xlabel(r"$\log_{10}$ MSE")
        panel.locator_params(axis="x", nbins=4)
        panel.grid(axis="x", color="0.9", linewidth=0.8)
        panel.set_axisbelow(True)
    panels[0].set_yticks(range(1, len(names) + 1), names)
    panels[0].invert_yaxis()
    of_all = "" if len(draws) == design.repetitions else f" of {design.repetitions}"
    figure.suptitle(f"{design.title}, {samples} random variables, {len(draws)}{of_all} draws")
    return figure


def curve_grid_figure(design: Design, rows: Collection[Row], samples: int) -> Figure:
    """Return every method's curve on the first draw of each scenario, beside the truth."""
    figure_class = _figure_class()
    valid = valid_rows(design, rows)
    names = [method.name for method in design.methods]
    n_rows = ceil((1 + len(names)) / _MOST_COLUMNS)
    shape = n_rows, ceil((1 + len(names)) / n_rows)
    size = 0.2 + 1.65 * shape[1], 0.4 + (0.4 + 1.5 * n_rows) * len(design.scenarios)
    figure = figure_class(figsize=size, layout="constrained")
    handles = [_line(color=BLUE, linewidth=1.8)]
    blocks = figure.subfigures(len(design.scenarios), 1, squeeze=False)[:, 0]
    for block, scenario in zip(blocks, design.scenarios, strict=True):
        block.suptitle(scenario, fontweight="bold")
        grid_of_panels = block.subplots(*shape, sharex=True, sharey=True, squeeze=False)
        panels = grid_of_panels.ravel()
        for panel in panels[1 + len(names) :]:
            panel.remove()
        cell = Cell(scenario, samples, 0)
        _draw_cell(design, cell, valid, panels[: 1 + len(names)])
        for panel in panels[shape[1] * (n_rows - 1) : 1 + len(names)]:
            panel.set_xlabel("x", fontsize="small")
        handles[1:] = panels[0].lines
    figure.legend(
        handles,
        ["estimate", "data", "truth"],
        loc="outside lower center",
        ncols=3,
        frameon=False,
    )
    return figure


def _draw_cell(
    design: Design, cell: Cell, valid: Mapping[tuple[Cell, str], Row], panels: Sequence[Any]
) -> None:
    """Draw the data in the first panel and a method's curve in each of the others."""
    data = design.sample(cell, share_out(cell.samples))
    grid = curve_grid(design.test_X(cell, data))
    truth = data.h_star(grid)
    first, *others = panels
    shown = slice(_MOST_POINTS)
    first.plot(data.X[shown, 0], data.y[shown], ".", color=GREY, markersize=2)
    first.set_title("data and truth", fontsize="small")
    for panel in panels:
        panel.plot(grid[:, 0], truth, color=BLACK, linewidth=1.0)
        panel.tick_params(labelsize="x-small")
    for panel, method in zip(others, design.methods, strict=True):
        panel.set_title("\n".join(wrap(method.name, _LETTERS)), fontsize="small")
        row = valid.get((cell, method.name))
        if row is None or row.curve is None:
            note = "not run" if row is None else "failed" if row.error else "not drawn"
            panel.text(0.5, 0.08, note, ha="center", transform=panel.transAxes, fontsize="small")
        else:
            panel.plot(grid[:, 0], row.curve, color=BLUE, linewidth=1.8)
    spread = np.ptp(truth)
    first.set_ylim(truth.min() - 0.6 * spread, truth.max() + 0.6 * spread)
    first.set_xlim(grid[0, 0], grid[-1, 0])


def save(figure: Figure, path: Path) -> list[Path]:
    """Write a figure as PNG and as PDF, without a date; return both paths."""
    png, pdf = path.with_suffix(".png"), path.with_suffix(".pdf")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(png, dpi=150)
    figure.savefig(pdf, metadata={"CreationDate": None})
    return [png, pdf]


def _note(n_draws: int, n_run: int, n_errors: int) -> str:
    """Return what a box does not show."""
    notes = [f"{n_run - n_errors} failed"] if n_errors < n_run else []
    if not n_run:
        notes.append("not run")
    elif n_run < n_draws:
        notes.append(f"{n_run} of {n_draws} run")
    return ", ".join(notes)


def _annotate(panel: Any, position: float, note: str) -> None:
    panel.text(
        0.98,
        position,
        note,
        transform=panel.get_yaxis_transform(),
        ha="right",
        va="center",
        fontsize="x-small",
        color="0.25",
    )


def _line(**style: Any) -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], **style)


def _figure_class() -> Any:
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise ImportError(
            'plotting needs matplotlib, which is not installed: pip install "sagdiv[plot]".'
        ) from error
    return Figure
