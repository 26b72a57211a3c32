"""Running what is missing of a design, and keeping every row as soon as it is there."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace

from joblib import Parallel, delayed

from sagdiv.experiments.designs import Design
from sagdiv.experiments.jobs import Job, do
from sagdiv.experiments.lanes import JobLostError, close_all, lane_of_this_thread
from sagdiv.experiments.provenance import revision, versions
from sagdiv.experiments.store import Row, Store

__all__ = ["Plan", "plan", "run", "valid_rows"]


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
        Rows in the file that were made under other settings, and do not count.
    other_revisions : tuple of str
        Revisions of the code, other than this one, that made rows which stay.
    """

    jobs: tuple[Job, ...]
    n_kept: int
    n_other_settings: int
    other_revisions: tuple[str, ...]


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
    rows, here = store.rows(), revision()
    valid = valid_rows(design, rows)
    jobs, kept = [], []
    for cell in design.cells():
        for method in chosen:
            row = valid.get((cell, method.name))
            if row is None or (retry_failed and row.error) or (renew and row.revision != here):
                jobs.append(Job(design, cell, method))
            else:
                kept.append(row)
    return Plan(
        tuple(jobs),
        len(kept),
        len({row.key for row in rows} - valid.keys()),
        tuple(sorted({row.revision for row in kept} - {here})),
    )


def valid_rows(design: Design, rows: Collection[Row]) -> dict[tuple[object, str], Row]:
    """Return the rows made under the settings of the design, the latest of each key."""
    prints = {
        (cell, method.name): design.fingerprint(cell, method)
        for cell in design.cells()
        for method in design.methods
    }
    return {row.key: row for row in rows if prints.get(row.key) == row.fingerprint}


def run(
    jobs: Collection[Job],
    store: Store,
    *,
    n_jobs: int = 1,
    on_row: Callable[[Row], object] = lambda row: None,
) -> None:
    """Do the jobs and write their rows in the order in which they are finished.

    Parameters
    ----------
    jobs : collection of Job
    store : Store
    n_jobs : int, default=1
        At the same time, one thread of BLAS each. Inside ``joblib.parallel_config`` its backend is
        used, a Dask or Ray cluster for example; rows are always written here.
    on_row : callable, default=does nothing
        Called with each row.
    """
    with store.writer() as write:
        try:
            for row in _results(jobs, n_jobs):
                write(row)
                on_row(row)
        finally:
            close_all()


def _results(jobs: Collection[Job], n_jobs: int) -> Iterator[Row]:
    # Threads suffice, since each of them watches a process of its own.
    parallel = Parallel(n_jobs, prefer="threads", return_as="generator_unordered", batch_size=1)
    yield from parallel(delayed(_guarded)(job, revision()) for job in jobs)


def _guarded(job: Job, code: str) -> Row:
    """Do a job in a process that may be killed; nothing that happens to it stops the run."""
    try:
        row: Row = lane_of_this_thread().call(do, job, limit=job.design.time_limit)
    except JobLostError as error:
        row = replace(job.blank, error=str(error))
    return replace(row, versions=versions(), revision=code)
