"""One method on one data set: draw, fit, predict, and a row that says how it went."""

from __future__ import annotations

import time
import warnings
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sagdiv.experiments.budgets import share_out
from sagdiv.experiments.designs import Cell, Design, Method, curve_grid
from sagdiv.experiments.memory import peak_memory
from sagdiv.experiments.store import Row
from sagdiv.experiments.tuning import chosen, rounded

__all__ = ["Job", "do"]


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
    before = peak_memory(reset=True)
    start = time.perf_counter()
    model.fit(data.X, data.y, data.Z, **extra)
    fitted = time.perf_counter()
    prediction = np.asarray(model.predict(X_test), dtype=float)
    predicted = time.perf_counter()
    peak = peak_memory() - before
    if prediction.shape != (len(X_test),):
        raise ValueError(f"predict returned the shape {prediction.shape}, not ({len(X_test)},)")
    if not np.isfinite(prediction).all():
        raise ValueError(f"{(~np.isfinite(prediction)).sum()} predictions are not finite")
    mse = float(np.mean((prediction - data.h_star(X_test)) ** 2))
    if not np.isfinite(mse):
        largest = np.abs(prediction).max()
        raise ValueError(f"predictions as large as {largest:.2g} have no finite squared error")
    return replace(
        job.blank,
        mse=mse,
        fit_seconds=round(fitted - start, 4),
        predict_seconds=round(predicted - fitted, 4),
        peak_mib=round(max(peak, 0.0), 1),
        tuning=chosen(model),
        curve=_curve(job, model, X_test),
    )


def _curve(job: Job, model: Any, X_test: Any) -> list[float] | None:
    """Return the values for the figure, or None: a figure is no reason to lose the error."""
    if job.cell.repetition or X_test.shape[1] != 1:
        return None
    grid = curve_grid(X_test)
    with suppress(Exception):
        curve = np.asarray(model.predict(grid), dtype=float)
        if curve.shape == (len(grid),) and np.isfinite(curve).all():
            return [rounded(value) for value in curve]
    return None
