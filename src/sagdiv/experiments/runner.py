"""Running what is missing of a design, and keeping every row as soon as it is there."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

from joblib import Parallel, delayed

from sagdiv.experiments.designs import Cell, Design
from sagdiv.experiments.jobs import Job, do
from sagdiv.experiments.lanes import (
    JobLostError,
    JobTimeoutError,
    close_all,
    lane_of_this_thread,
)
from sagdiv.experiments.provenance import are_mixed, revision, versions
from sagdiv.experiments.store import Row, Store

__all__ = ["Plan", "of_mixed_code", "plan", "run", "valid_rows"]

Key: TypeAlias = tuple[Cell, str]


@dataclass(frozen=True)
class Plan:
    """What is to be done, and what was found of an earlier run.

    Attributes
    ----------
    jobs : tuple of Job
        Missing, or asked for again.
    n_kept : int
        Rows that stay.
    n_other_settings : int
        Data sets and methods of the design with rows made under other settings, which do not count.
    n_outside : int
        Rows of repetitions, data sets or methods that the design does not have.
    n_other_revisions : int
        Rows that stay and were made by other code than this.
    """

    jobs: tuple[Job, ...]
    n_kept: int
    n_other_settings: int
    n_outside: int
    n_other_revisions: int


def plan(
    design: Design,
    store: Store,
    *,
    methods: Collection[str] = (),
    retry_failed: bool = False,
    renew: bool = False,
) -> Plan:
    """Compare a design with the rows that exist.

    Parameters
    ----------
    design : Design
    store : Store
    methods : collection of str, default=()
        Only these; none is all of them.
    retry_failed : bool, default=False
        Whether to run again what became a row with an error.
    renew : bool, default=False
        Whether to run again what another revision of the code computed.
    """
    chosen = [design.method(name) for name in methods] or list(design.methods)
    here = {method.name: revision(design, method) for method in chosen}
    rows = store.rows()
    valid, keys = valid_rows(design, rows), _fingerprints(design).keys()
    jobs, kept = [], []
    for cell in design.cells():
        for method in chosen:
            row = valid.get((cell, method.name))
            if (
                row is None
                or (retry_failed and row.error)
                or (renew and row.revision != here[method.name])
            ):
                jobs.append(Job(design, cell, method))
            else:
                kept.append(row)
    found = {row.key for row in rows}
    return Plan(
        tuple(jobs),
        len(kept),
        len((found & keys) - valid.keys()),
        len(found - keys),
        sum(row.revision != here[row.method] for row in kept),
    )


def valid_rows(design: Design, rows: Collection[Row]) -> dict[Key, Row]:
    """Return the rows made under the settings of the design, the latest of each key.

    What ran out of time does not count where it would have more of it now.
    """
    prints = _fingerprints(design)
    return {
        row.key: row
        for row in rows
        if prints.get(row.key) == row.fingerprint
        and (row.time_limit is None or row.time_limit >= design.time_limit)
    }


def of_mixed_code(design: Design, rows: Collection[Row]) -> bool:
    """Return whether the rows that count were made by several versions of the code."""
    revisions: dict[str, set[str]] = {}
    for row in valid_rows(design, rows).values():
        revisions.setdefault(row.method, set()).add(row.revision)
    return are_mixed(revisions)


def _fingerprints(design: Design) -> dict[Key, str]:
    return {
        (cell, method.name): design.fingerprint(cell, method)
        for cell in design.cells()
        for method in design.methods
    }


def run(
    jobs: Collection[Job],
    store: Store,
    *,
    n_jobs: int = 1,
    on_row: Callable[[Row], object] | None = None,
) -> None:
    """Do the jobs and write their rows in the order in which they are finished.

    Parameters
    ----------
    jobs : collection of Job
    store : Store
    n_jobs : int, default=1
        At the same time, one thread of BLAS each. Inside ``joblib.parallel_config`` its backend is
        used, a Dask or Ray cluster for example; rows are always written here.
    on_row : callable, default=None
        Called with each row.
    """
    with store.writer() as write:
        try:
            for row in _results(jobs, n_jobs):
                write(row)
                if on_row is not None:
                    on_row(row)
        finally:
            close_all()


def _results(jobs: Collection[Job], n_jobs: int) -> Iterator[Row]:
    # Threads suffice, since each of them watches a process of its own.
    parallel = Parallel(n_jobs, prefer="threads", return_as="generator_unordered", batch_size=1)
    yield from parallel(delayed(_guarded)(job, revision(job.design, job.method)) for job in jobs)


def _guarded(job: Job, code: str) -> Row:
    """Do a job in a process that may be killed; nothing that happens to it stops the run."""
    try:
        row: Row = lane_of_this_thread().call(do, job, limit=job.design.time_limit)
    except JobLostError as error:
        limit = job.design.time_limit if isinstance(error, JobTimeoutError) else None
        row = replace(job.blank, error=str(error), time_limit=limit)
    return replace(row, versions=versions(), revision=code)
