"""How far a comparison is: two lines at a terminal, a line for each fit in a log."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.live import Live
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

if TYPE_CHECKING:
    from sagdiv.experiments import Row

__all__ = ["bench_progress"]


@contextmanager
def bench_progress(
    total: int, *, quiet: bool, console: Console | None = None
) -> Iterator[Callable[[Row], object]]:
    """Yield what to call with each row."""
    console = Console(stderr=True) if console is None else console
    if quiet:
        yield lambda row: None
    elif console.is_terminal:
        with _bar(total, console) as show:
            yield show
    else:
        done = 0

        def line(row: Row) -> None:
            nonlocal done
            done += 1
            console.print(
                f"{done}/{total} {_words(row)}", markup=False, highlight=False, soft_wrap=True
            )

        yield line


@contextmanager
def _bar(total: int, console: Console) -> Iterator[Callable[[Row], object]]:
    """Yield the same for a bar, and below it, on a line of its own, the last row."""
    columns = [
        BarColumn(bar_width=None), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("left:"),
        TimeRemainingColumn(),
    ]  # fmt: skip
    progress = Progress(*columns, console=console, expand=True)
    last = Text(no_wrap=True, overflow="ellipsis")
    task = progress.add_task("", total=total)

    def show(row: Row) -> None:
        last.plain = _words(row)
        progress.advance(task)

    # Whatever else is written to the terminal meanwhile goes above both lines.
    with Live(Group(progress, last), console=console, refresh_per_second=4):
        yield show


def _words(row: Row) -> str:
    cell = f"{row.method}, {row.scenario}, {row.samples} variables, draw {row.repetition + 1}"
    if row.error is not None:
        return " ".join(f"{cell}: {row.error}".split())
    return f"{cell}: MSE {row.mse:.3g} in {row.fit_seconds:.2g} s"
