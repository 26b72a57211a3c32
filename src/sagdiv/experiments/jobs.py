"""One method on one data set: draw, fit, predict, and a row that says how it went."""

from __future__ import annotations

import sys
import time
import warnings
from contextlib import suppress
from dataclasses import dataclass, replace
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np

from sagdiv.experiments.budgets import share_out
from sagdiv.experiments.designs import Cell, Design, Method, curve_grid
from sagdiv.experiments.store import Row

__all__ = ["Job", "do"]

# Facts about the data rather than choices.
_NOT_TUNED = {"n_features_in_", "n_instruments_in_", "y_scale_"}
_DIGITS = 6


@dataclass(frozen=True)
class Job:
    """A method and a data set of a design."""

    design: Design
    cell: Cell
    method: Method

    @property
    def blank(self) -> Row:
        """The row, with nothing in it but which it is."""
        cell = self.cell
        return Row(
            cell.scenario,
            cell.samples,
            cell.repetition,
            self.method.name,
            self.design.fingerprint(cell, self.method),
        )


def do(job: Job) -> Row:
    """Return the row of a job. Whatever goes wrong in the method is the row's ``error``."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a table of errors is no place for advice
            return _measure(job)
    except Exception as error:
        return replace(job.blank, error=f"{type(error).__name__}: {error}")


def _measure(job: Job) -> Row:
    design, cell, method = job.design, job.cell, job.method
    data = design.sample(cell, share_out(cell.samples, method.budget))
    X_test = design.test_X(cell, data)
    model = method.build(design.method_seed(cell, method))
    extra = {} if data.Z_extra is None else {"Z_extra": data.Z_extra}
    before = _peak_memory(reset=True)
    start = time.perf_counter()
    model.fit(data.X, data.y, data.Z, **extra)
    fitted = time.perf_counter()
    prediction = np.asarray(model.predict(X_test), dtype=float)
    predicted = time.perf_counter()
    peak = _peak_memory() - before
    if prediction.shape != (len(X_test),):
        raise ValueError(f"predict returned the shape {prediction.shape}, not ({len(X_test)},)")
    if not np.isfinite(prediction).all():
        raise ValueError(f"{(~np.isfinite(prediction)).sum()} predictions are not finite")
    mse = float(np.mean((prediction - data.h_star(X_test)) ** 2))
    return replace(
        job.blank,
        mse=mse,
        fit_seconds=round(fitted - start, 4),
        predict_seconds=round(predicted - fitted, 4),
        peak_mib=round(max(peak, 0.0), 1),
        tuning=_tuning(model),
        curve=_curve(job, model, X_test),
    )


def _curve(job: Job, model: Any, X_test: Any) -> list[float] | None:
    if job.cell.repetition or X_test.shape[1] != 1:
        return None
    return [_rounded(value) for value in model.predict(curve_grid(X_test))]


def _tuning(model: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in sorted(vars(model).items()):
        if not name.endswith("_") or name.startswith("_") or name in _NOT_TUNED:
            continue
        if isinstance(value, bool | str | Integral):
            found[name] = int(value) if isinstance(value, Integral) else value
        elif isinstance(value, Real) and np.isfinite(float(value)):
            found[name] = _rounded(value)
    return found


def _rounded(value: Any) -> float:
    return float(f"{float(value):.{_DIGITS}g}")


def _peak_memory(*, reset: bool = False) -> float:
    """Return the most memory that this process ever held, in MiB; on Linux since a reset."""
    if reset:
        with suppress(OSError):  # no such thing elsewhere, or not allowed
            Path("/proc/self/clear_refs").write_text("5")
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return _peak_of_life()
    return int(status.split("VmHWM:")[1].split()[0]) / 2**10


def _peak_of_life() -> float:
    try:
        import resource
    except ModuleNotFoundError:  # no word of it from this system
        return 0.0
    usage = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return usage / (2**20 if sys.platform == "darwin" else 2**10)
