"""Saying what is going on: a spinner at a terminal, plain lines in a log, nothing when quiet."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from rich.console import Console

__all__ = ["Stage", "stages"]

Stage = Callable[[str], AbstractContextManager[object]]


@contextmanager
def stages(*, quiet: bool) -> Iterator[Stage]:
    """Yield a function whose context lasts as long as the stage of work that it names."""
    console = Console(stderr=True)

    def stage(words: str) -> AbstractContextManager[object]:
        if quiet:
            return nullcontext()
        if console.is_terminal:
            return console.status(f"{words} ...")
        console.print(words, markup=False, highlight=False, soft_wrap=True)
        return nullcontext()

    yield stage
