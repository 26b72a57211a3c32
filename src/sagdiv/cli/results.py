"""The folder of a result: it appears complete under its name, or not at all."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sagdiv.cli.failures import UserError

__all__ = ["MODEL", "RUN", "new_folder", "new_file", "read_run"]

MODEL, RUN = "model.skops", "run.json"


@contextmanager
def new_folder(path: Path, *, replace: bool) -> Iterator[Path]:
    """Yield a temporary folder beside ``path`` that becomes it if nothing fails.

    Parameters
    ----------
    path : path
    replace : bool
        Whether an earlier result may be replaced; anything else is never touched.
    """
    path = Path(os.path.abspath(path))
    if path.exists() and not path.is_dir():
        raise UserError(f"{path} is a file; name another folder with -o.")
    if path.is_dir() and any(path.iterdir()):
        if not (path / RUN).is_file():
            raise UserError(
                f"{path} holds files that are no result of sagdiv; name another folder."
            )
        if not replace:
            raise UserError(f"{path} holds an earlier result; pass --replace, or another folder.")
    with _writable(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}-"))
    try:
        content = temporary / "new"
        content.mkdir()
        yield content
        if path.exists():
            path.rename(temporary / "old")
        content.rename(path)
    except BaseException:
        if (temporary / "old").exists() and not path.exists():
            (temporary / "old").rename(path)
        raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """Yield a temporary file beside ``path`` that becomes it if nothing fails."""
    if path.is_dir():
        raise UserError(f"{path} is a folder; name a file with -o.")
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    with _writable(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.touch()  # fails now rather than after the work
    try:
        yield temporary
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def _writable(path: Path) -> Iterator[None]:
    """Speak of the path that was asked for, not of the temporary one beside it."""
    try:
        yield
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror or error}.") from error


def read_run(folder: Path) -> dict[str, Any]:
    """Return what a result's ``run.json`` notes about it."""
    if not (folder / RUN).is_file() or not (folder / MODEL).is_file():
        raise UserError(f"{folder} is no result of `sagdiv fit`: it lacks {RUN} or {MODEL}.")
    try:
        run = json.loads((folder / RUN).read_text(encoding="utf-8"))
    except ValueError as error:
        raise UserError(f"{folder / RUN} is damaged.") from error
    if not isinstance(run, dict):
        raise UserError(f"{folder / RUN} is damaged.")
    return run
