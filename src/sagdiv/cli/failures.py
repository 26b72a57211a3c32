"""What a person reads when something fails: one line, and an exit code that is not zero."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import typer

from sagdiv.cli import begin

__all__ = ["CLOSED", "DEBUG", "INTERNAL_ERROR", "INTERRUPTED", "MISTAKE", "UserError", "one_line"]

MISTAKE, INTERNAL_ERROR, INTERRUPTED, CLOSED = 1, 70, 130, 141
DEBUG = "SAGDIV_DEBUG"


class UserError(ValueError):
    """Something that the person at the keyboard can put right."""


@contextmanager
def one_line() -> Iterator[None]:
    """Turn every exception into one line and an exit code."""
    try:
        begin()
        yield
    except KeyboardInterrupt:
        raise _interrupted() from None
    except typer.Exit:
        raise
    except MemoryError:
        raise _exit(
            "out of memory; use fewer rows, or a machine with more memory.", MISTAKE
        ) from None
    except np.linalg.LinAlgError as error:
        raise _internal(error) from None
    except (ValueError, TypeError, ImportError, FloatingPointError) as error:
        if _follows_an_interrupt(error):  # which compiled modules may turn into an ImportError
            raise _interrupted() from None
        raise _exit(str(error) or repr(error), MISTAKE) from None
    except BrokenPipeError:  # whoever reads our output has seen enough, as head has
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(CLOSED) from None
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        raise _exit(f"{where}{error.strerror or error}.", MISTAKE) from None
    except Exception as error:
        raise _internal(error) from None


def _interrupted() -> typer.Exit:
    return _exit("interrupted; nothing was written.", INTERRUPTED)


def _follows_an_interrupt(error: BaseException | None) -> bool:
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def _internal(error: Exception) -> typer.Exit:
    return _exit(
        f"internal error, {type(error).__name__}: {error}. This is a mistake in sagdiv: please "
        f"report it with the traceback that {DEBUG}=1 shows.",
        INTERNAL_ERROR,
    )


def _exit(message: str, code: int) -> typer.Exit:
    if os.environ.get(DEBUG):
        traceback.print_exc()
    typer.echo("sagdiv: " + " ".join(message.split()), err=True)
    return typer.Exit(code)
