"""The command line: ``sagdiv fit data.csv "y ~ w + [x ~ z]" -o result/``."""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType
from typing import NoReturn

__all__ = ["app", "begin"]

_INTERRUPTED, _TERMINATED = 130, 128 + signal.SIGTERM


def app() -> None:
    """Run the command line, or say what to install for it."""
    # Importing takes a second, in which compiled modules would make something else of an interrupt.
    signal.signal(signal.SIGINT, _leave_at_once)
    try:
        from sagdiv.cli.commands import commands
    except ModuleNotFoundError as error:
        missing = (error.name or "").split(".")[0]
        if missing not in ("typer", "click", "rich"):
            raise
        sys.stderr.write(f'sagdiv: this needs {missing}: pip install "sagdiv[cli]"\n')
        sys.exit(1)
    signal.signal(signal.SIGTERM, _leave)
    commands()


def begin() -> None:
    """Make an interrupt an exception again: from here on there may be something to take away."""
    if signal.getsignal(signal.SIGINT) is _leave_at_once:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _leave_at_once(signum: int, frame: FrameType | None) -> NoReturn:
    """Leave while nothing has been begun."""
    sys.stderr.write("sagdiv: interrupted; nothing was written.\n")
    sys.stderr.flush()
    os._exit(_INTERRUPTED)


def _leave(signum: int, frame: FrameType | None) -> NoReturn:
    """Leave as at the end of the work, so that whatever is half done is taken away."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # once is enough
    sys.stderr.write("sagdiv: terminated; nothing was written.\n")
    sys.exit(_TERMINATED)
