"""The work of ``sagdiv fit``: read, fit, analyse, write."""

from __future__ import annotations

import hashlib
import json
import platform
import shlex
import sys
import time
import warnings
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sagdiv.cli.failures import UserError
from sagdiv.cli.methods import NaAction
from sagdiv.cli.progress import Stage
from sagdiv.cli.results import MODEL, RUN
from sagdiv.cli.tables import TableOptions
from sagdiv.exceptions import WeakInstrumentWarning
from sagdiv.formula import StructuralFit, formula_columns, from_formula
from sagdiv.persistence import save
from sagdiv.report import Findings, findings, report_html, save_figures

__all__ = ["fit_table"]

_FEWEST_ROWS = 50
_TOLD_ANYWAY = (WeakInstrumentWarning,)  # the diagnostics say more


def fit_table(
    table: TableOptions,
    formula: str,
    estimator: Any,
    folder: Path,
    stage: Stage,
    *,
    na_action: NaAction,
    cluster: str | None,
    level: float,
    seed: int,
    n_refits: int,
) -> tuple[Findings, list[str]]:
    """Fit the curve, write everything about it into ``folder``; return it and what to note."""
    from sagdiv import __version__

    started = time.perf_counter()
    with stage(f"reading {table.path}"):
        columns = formula_columns(formula) + (() if cluster is None else (cluster,))
        frame = table.read(dict.fromkeys(columns))
    if len(frame) < _FEWEST_ROWS:
        raise UserError(
            f"{table.path} has {len(frame)} rows of data; a curve needs at least {_FEWEST_ROWS}, "
            "and hundreds to show a shape."
        )
    # Rows that were left out would make the numbers of the others useless for finding a line.
    lines = table.lines_for_rows() if na_action is NaAction.refuse else nullcontext()
    with stage("fitting"), lines, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = from_formula(formula, frame, estimator, na_action=na_action.value, cluster=cluster)
    notes = [str(w.message) for w in caught if not issubclass(w.category, _TOLD_ANYWAY)]
    notes = list(dict.fromkeys(notes))
    _check_rows(model)
    with stage("computing bands and diagnostics"):
        found = findings(model, level=level, n_refits=n_refits, random_state=seed)
    run = {
        "command": shlex.join(["sagdiv", *sys.argv[1:]]),
        "data": table.path.name,
        "sha256": _sha256(table.path),
        "formula": formula,
        "level": level,
        "seed": seed,
        "refits": n_refits,
        "notes": notes,
        "version": __version__,
        "python": platform.python_version(),
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "seconds": round(time.perf_counter() - started, 2),
    }
    with stage("writing"):
        save(model, folder / MODEL)
        _write_curves(found, folder)
        save_figures(found, folder)
        (folder / "report.html").write_text(report_html(found, run), encoding="utf-8")
        (folder / RUN).write_text(json.dumps(run, indent=2) + "\n", encoding="utf-8")
    return found, notes


def _check_rows(model: StructuralFit) -> None:
    if model.n_rows < _FEWEST_ROWS:
        raise UserError(
            f"{model.n_rows} rows are left after {model.n_dropped} with missing values were left "
            f"out; a curve needs at least {_FEWEST_ROWS}."
        )


def _write_curves(found: Findings, folder: Path) -> None:
    import pandas as pd

    for number, curve in enumerate(found.curves):
        name = "curve.csv" if number == 0 else f"curve-{number + 1}.csv"
        pd.DataFrame(curve.as_dict()).to_csv(folder / name, index=False)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
