"""Saying what is going on: a spinner at a terminal, plain lines in a log, nothing when quiet."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress_bar import ProgressBar
from rich.status import Status
from rich.table import Table

__all__ = ["Stage", "stages"]

_BAR_WIDTH = 24


class Stage:
    """A function whose context lasts as long as the stage of work that it names.

    Parameters
    ----------
    console : Console
    quiet : bool
        Say nothing.
    """

    def __init__(self, console: Console, *, quiet: bool) -> None:
        self._console, self._quiet = console, quiet
        self._words, self._n_networks = "", 0
        self._status: Status | None = None

    @contextmanager
    def __call__(self, words: str) -> Iterator[None]:
        """Say that a stage has begun, until it ends."""
        if self._quiet:
            yield
        elif not self._console.is_terminal:
            self._console.print(words, markup=False, highlight=False, soft_wrap=True)
            yield
        else:
            self._words, self._n_networks = words, 0
            with self._console.status(f"{words} ...") as self._status:
                yield
            self._status = None

    @property
    def epochs(self) -> Callable[[Any], None] | None:
        """The callback of a training, which draws a bar; None where nobody would see it."""
        return None if self._quiet or not self._console.is_terminal else self._draw

    def _draw(self, epoch: Any) -> None:
        if self._status is None:
            return
        self._n_networks += epoch.number == 1
        row = Table.grid(padding=(0, 1))
        row.add_row(
            f"{self._words}, network {self._n_networks}",
            ProgressBar(total=epoch.n_epochs, completed=epoch.number, width=_BAR_WIDTH),
            f"epoch {epoch.number} of at most {epoch.n_epochs}",
        )
        self._status.update(row)


@contextmanager
def stages(*, quiet: bool) -> Iterator[Stage]:
    """Yield what names the stages of work at the person's terminal."""
    yield Stage(Console(stderr=True), quiet=quiet)
