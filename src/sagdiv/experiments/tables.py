"""Tables of a comparison, from its rows alone: the same rows give the same bytes."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Sequence
from dataclasses import astuple, dataclass, fields
from typing import Literal, get_args

import numpy as np
from scipy.stats import rankdata

from sagdiv.experiments.designs import Cell, Design
from sagdiv.experiments.runner import valid_rows
from sagdiv.experiments.store import Row

__all__ = ["FORMATS", "Format", "Summary", "format_table", "summarise"]

Format = Literal["markdown", "latex", "csv"]
FORMATS: tuple[str, ...] = get_args(Format)

_LATEX = str.maketrans(
    {c: f"\\{c}" for c in "&%_#${}"}
    | {"\\": r"\textbackslash{}", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}"}
)
_MARKDOWN = str.maketrans({"|": r"\|", "\n": " "})


@dataclass(frozen=True)
class Summary:
    """One method on all repetitions of one scenario.

    Attributes
    ----------
    samples, scenario, method
    n : int
        Repetitions with an error to report.
    failed : int
        Repetitions that became a row with a reason instead.
    missing : int
        Repetitions that were not run.
    mean, median, spread, worst : float
        Of the mean squared errors; the spread is their standard deviation.
    rank : float
        Average over repetitions, 1 the best; who failed comes last.
    fit_seconds : float
        Median.
    """

    samples: int
    scenario: str
    method: str
    n: int
    failed: int
    missing: int
    mean: float
    median: float
    spread: float
    worst: float
    rank: float
    fit_seconds: float


def summarise(design: Design, rows: Collection[Row]) -> list[Summary]:
    """Summarise the rows made under the settings of a design, in the order of its file."""
    valid = valid_rows(design, rows)
    found = []
    for samples in design.samples:
        for scenario in design.scenarios:
            cells = [Cell(scenario, samples, k) for k in range(design.repetitions)]
            ranks = _ranks(design, cells, valid)
            for method, rank in zip(design.methods, ranks, strict=True):
                mine = [valid[cell, method.name] for cell in cells if (cell, method.name) in valid]
                if mine:
                    found.append(_summary(cells, method.name, mine, rank))
    return found


def format_table(summaries: Sequence[Summary], style: Format = "markdown") -> str:
    """Return a table as text.

    Parameters
    ----------
    summaries : sequence of Summary
    style : {"markdown", "latex", "csv"}
        A row for each method; ``csv`` has all numbers, a row for each method and scenario.
    """
    if style == "csv":
        return _csv(summaries)
    if style not in FORMATS:
        raise ValueError(f"a table is one of {', '.join(FORMATS)}, not {style!r}.")
    draw = _markdown if style == "markdown" else _latex
    sizes = dict.fromkeys(s.samples for s in summaries)
    return "\n".join(draw([s for s in summaries if s.samples == size]) for size in sizes)


def _ranks(design: Design, cells: Sequence[Cell], valid: dict[tuple[Cell, str], Row]) -> list:
    errors = np.full((len(cells), len(design.methods)), np.nan)
    for i, cell in enumerate(cells):
        for j, method in enumerate(design.methods):
            row = valid.get((cell, method.name))
            if row is not None:
                errors[i, j] = np.inf if row.mse is None else row.mse
    ranks = np.array([rankdata(e, nan_policy="omit") for e in errors])
    ran = ~np.isnan(errors)
    return list(np.where(ran, ranks, 0.0).sum(axis=0) / np.maximum(ran.sum(axis=0), 1))


def _summary(cells: Sequence[Cell], method: str, rows: Sequence[Row], rank: float) -> Summary:
    errors = np.array([row.mse for row in rows if row.mse is not None])
    seconds = [row.fit_seconds for row in rows if row.fit_seconds is not None]
    nothing = float("nan")
    return Summary(
        cells[0].samples,
        cells[0].scenario,
        method,
        n=len(errors),
        failed=len(rows) - len(errors),
        missing=len(cells) - len(rows),
        mean=float(errors.mean()) if len(errors) else nothing,
        median=float(np.median(errors)) if len(errors) else nothing,
        spread=float(errors.std(ddof=1)) if len(errors) > 1 else nothing,
        worst=float(errors.max()) if len(errors) else nothing,
        rank=float(rank),
        fit_seconds=float(np.median(seconds)) if seconds else nothing,
    )


def _csv(summaries: Sequence[Summary]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([f.name for f in fields(Summary)])
    for summary in summaries:
        values = astuple(summary)
        writer.writerow([f"{v:.6g}" if isinstance(v, float) else v for v in values])
    return text.getvalue()


def _markdown(summaries: Sequence[Summary]) -> str:
    lines = [
        f"{summaries[0].samples} random variables; mean squared error: mean ± standard deviation "
        "(median) over repetitions, the smallest mean in bold",
        "",
    ]
    header, body = _cells(summaries, bold="**{}**", names=_MARKDOWN)
    lines += ["| " + " | ".join(header) + " |", "|---" + "|---:" * (len(header) - 1) + "|"]
    lines += ["| " + " | ".join(cells) + " |" for cells in body]
    return "\n".join(lines) + "\n"


def _latex(summaries: Sequence[Summary]) -> str:
    header, body = _cells(summaries, bold=r"\textbf{{{}}}", names=_LATEX)
    lines = [
        f"% {summaries[0].samples} random variables; mean squared error: mean \\pm standard "
        "deviation (median)",
        r"\begin{tabular}{l" + "r" * (len(header) - 1) + "}",
        r"\hline",
        " & ".join(header) + r" \\",
        r"\hline",
    ]
    for cells in body:
        name, *numbers = cells
        numbers = [cell.replace("±", r"$\pm$").replace("–", "--") for cell in numbers]
        lines.append(" & ".join([name, *numbers]) + r" \\")
    return "\n".join([*lines, r"\hline", r"\end{tabular}"]) + "\n"


def _cells(
    summaries: Sequence[Summary], bold: str, names: dict[int, str]
) -> tuple[list[str], list[list[str]]]:
    scenarios = list(dict.fromkeys(s.scenario for s in summaries))
    methods = list(dict.fromkeys(s.method for s in summaries))
    at = {(s.method, s.scenario): s for s in summaries}
    best = {}
    for scenario in scenarios:
        column = [s for s in summaries if s.scenario == scenario]
        fewest = min(s.missing for s in column)
        means = [s.mean for s in column if not s.failed and s.missing == fewest]
        best[scenario] = min(means, default=float("nan"))
    body = []
    for method in methods:
        mine = [at[method, scenario] for scenario in scenarios if (method, scenario) in at]
        cells = [_cell(at.get((method, s)), best[s], bold) for s in scenarios]
        rank = np.nanmean([s.rank for s in mine])
        seconds = np.nanmedian([s.fit_seconds for s in mine]) if any(s.n for s in mine) else None
        time = "–" if seconds is None else f"{seconds:.2g}"
        body.append([method.translate(names), *cells, f"{rank:.1f}", time])
    scenarios = [scenario.translate(names) for scenario in scenarios]
    return ["method", *scenarios, "rank", "fit, s"], body


def _cell(summary: Summary | None, best: float, bold: str) -> str:
    if summary is None:
        return "–"
    done = summary.n + summary.failed
    short = f" {done} of {done + summary.missing} draws" if summary.missing else ""
    failed = (f" {summary.failed} failed" if summary.failed else "") + short
    if not summary.n:
        return "–" + failed
    mean = f"{summary.mean:.3g}"
    if summary.mean == best:
        mean = bold.format(mean)
    spread = f" ± {summary.spread:.2g}" if summary.n > 1 else ""
    return f"{mean}{spread} ({summary.median:.3g}){failed}"
