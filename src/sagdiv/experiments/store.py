"""Rows as lines of text: appended as they come, readable after any interruption.

A line is written in one piece and forced to the disk. A process that is killed in the middle
leaves at most an unfinished last line, which is cut off before the next one is written.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, BinaryIO

from sagdiv.experiments.designs import Cell

__all__ = ["Row", "Store"]


@dataclass(frozen=True)
class Row:
    """What one method did with one data set.

    Attributes
    ----------
    scenario, samples, repetition, method
        Which data set, which method.
    fingerprint : str
        Digest of the settings it was made under.
    mse : float or None
        Mean squared error against h* on fresh X.
    error : str or None
        Why there is none.
    time_limit : float or None
        Seconds after which it was stopped, where that is the error.
    fit_seconds, predict_seconds : float or None
    peak_mib : float or None
        Memory at its peak, beyond what was in use before.
    tuning : mapping
        Scalars that the method chose by itself.
    curve : list of float or None
        Values for the figure, for the first repetition.
    versions : mapping
        Of what it was computed with, and the commit of the code where there is one.
    revision : str
        Digest of the code.
    """

    scenario: str
    samples: int
    repetition: int
    method: str
    fingerprint: str
    mse: float | None = None
    error: str | None = None
    time_limit: float | None = None
    fit_seconds: float | None = None
    predict_seconds: float | None = None
    peak_mib: float | None = None
    tuning: dict[str, Any] = field(default_factory=dict)
    curve: list[float] | None = None
    versions: dict[str, str] = field(default_factory=dict)
    revision: str = ""

    @property
    def key(self) -> tuple[Cell, str]:
        """Which data set and which method: at most one row of a table has it."""
        return Cell(self.scenario, self.samples, self.repetition), self.method

    @property
    def outcome(self) -> tuple[Any, ...]:
        """All that does not depend on the machine and its load."""
        return (*self.key, self.fingerprint, self.mse, self.error, self.tuning, self.curve)


class Store:
    """The rows of one design, in one file.

    Parameters
    ----------
    path : path
        Made when the first row is written.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def rows(self) -> list[Row]:
        """Return every complete row in the order of writing."""
        if not self.path.exists():
            return []
        content = self.path.read_bytes()
        lines = content[: content.rfind(b"\n") + 1].splitlines()
        return [self._row(line, number) for number, line in enumerate(lines, start=1)]

    @contextmanager
    def writer(self) -> Iterator[Callable[[Row], None]]:
        """Yield a function that appends a row; no other process may write meanwhile."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a+b", buffering=0) as file:
            _lock(file, self.path)
            file.seek(0)
            content = file.read()
            file.truncate(content.rfind(b"\n") + 1)

            def write(row: Row) -> None:
                line = json.dumps(asdict(row), sort_keys=True, allow_nan=False) + "\n"
                file.write(line.encode())
                os.fsync(file.fileno())

            yield write

    def _row(self, line: bytes, number: int) -> Row:
        try:
            content = json.loads(line)
            return Row(**content)
        except (ValueError, TypeError) as error:
            names = ", ".join(f.name for f in fields(Row))
            raise ValueError(
                f"{self.path}, line {number} is no row of results ({error}); a row has {names}."
            ) from error


def _lock(file: BinaryIO | Any, path: Path) -> None:
    """Take the file for this process, as long as it is open; where the system can."""
    try:
        import fcntl
    except ModuleNotFoundError:  # pragma: no cover
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise BlockingIOError(
            error.errno, "another run is writing these results; wait for it or stop it", str(path)
        ) from error
