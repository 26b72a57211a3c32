"""The summary that ``sagdiv fit`` prints."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from sagdiv.report import Curve, Findings

__all__ = ["print_summary"]

_COLOURS = {"good": "green", "caution": "yellow", "bad": "red", "neutral": "default"}
_SHOWN = 5


def print_summary(found: Findings, folder: Path, notes: list[str]) -> None:
    """Print curves, diagnostics and where everything was written."""
    console = Console(highlight=False)
    fit = found.fit
    console.print(f"[bold]{escape(fit.formula)}[/bold], {fit.n_rows} rows", soft_wrap=True)
    if fit.n_dropped:
        counts = ", ".join(f"{name} {count}" for name, count in fit.missing.items())
        console.print(f"{fit.n_dropped} rows left out for missing values: {escape(counts)}")
    for curve in found.curves:
        console.print(_table(curve, fit.outcome))
    numbers = Table.grid(padding=(0, 2, 0, 0))
    for title, text in found.numbers:
        numbers.add_row(f"[bold]{escape(title)}[/bold]", escape(text))
    console.print()
    console.print(numbers)
    colour = _COLOURS[found.verdict]
    console.print(f"\n[bold {colour}]{escape(found.headline)}[/bold {colour}]")
    for reason in found.reasons:
        console.print(f"[{colour}]-[/{colour}] {escape(reason)}")
    for note in notes:
        console.print(f"Note: {escape(note)}")
    console.print(f"\nEverything is in {escape(str(folder))}: open report.html.", soft_wrap=True)


def _table(curve: Curve, outcome: str) -> Table:
    title = f"\n{escape(outcome)} against {escape(curve.treatment)}"
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD)
    columns = curve.as_dict()
    if curve.labels is not None:
        columns[curve.treatment] = np.array(curve.labels, dtype=object)
    # Names are folded rather than cut; there are words between which a line can be broken.
    width = min(len(curve.treatment), 24)
    table.add_column(escape(curve.treatment), justify="right", overflow="fold", min_width=width)
    for name in list(columns)[1:]:
        words = name.replace("_", " ")
        table.add_column(words, justify="right", min_width=max(map(len, words.split())))
    last = len(curve.values) - 1
    shown = (
        range(last + 1) if curve.labels else (round(k * last / (_SHOWN - 1)) for k in range(_SHOWN))
    )
    for i in shown:
        table.add_row(*(escape(_cell(column[i])) for column in columns.values()))
    return table


def _cell(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:#.4g}".removesuffix(".")
