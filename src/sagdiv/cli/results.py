"""The folder of a result: it appears complete under its name, or not at all."""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sagdiv.cli.failures import UserError

__all__ = ["MODEL", "RUN", "new_file", "new_folder", "read_run"]

MODEL, RUN = "model.skops", "run.json"
# What a result consists of. Whatever else lies in its folder belongs to somebody.
_OURS = re.compile(
    r"model\.skops|run\.json|report\.html|curve(-\d+)?\.csv|(curve|derivative)(-\d+)?\.png"
    r"|(risk|residuals|strength)\.png"
)


@contextmanager
def new_folder(path: Path, *, replace: bool) -> Iterator[Path]:
    """Yield a temporary folder whose files become those of ``path`` if nothing fails.

    Parameters
    ----------
    path : path
    replace : bool
        Whether the files of an earlier result may be replaced; others are never touched.
    """
    path = Path(os.path.abspath(path))
    if path.exists() and not path.is_dir():
        raise UserError(f"{path} is a file; name another folder with -o.")
    if path.is_dir() and any(path.iterdir()):
        if not _is_result(path):
            raise UserError(
                f"{path} holds files that are no result of sagdiv; name another folder."
            )
        if not replace:
            raise UserError(f"{path} holds an earlier result; pass --replace, or another folder.")
    with _parents(path if path.is_dir() else path.parent) as place:
        with _writable(path):
            temporary = Path(tempfile.mkdtemp(dir=place, prefix=".sagdiv-"))
        try:
            content, old = temporary / "new", temporary / "old"
            content.mkdir()
            old.mkdir()
            yield content
            with _writable(path):
                _install(content, path, old)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


def _install(content: Path, path: Path, old: Path) -> None:
    """Move files into a folder, in place of those of an earlier result; all of them or none."""
    if not path.exists():
        content.rename(path)
        return
    # The folder itself stays: a shell may be in it.
    try:
        for earlier in [file for file in path.iterdir() if _OURS.fullmatch(file.name)]:
            earlier.rename(old / earlier.name)
        for file in content.iterdir():
            file.rename(path / file.name)
    except BaseException:
        for earlier in old.iterdir():
            earlier.replace(path / earlier.name)
        raise


@contextmanager
def new_file(path: Path, *, replace: bool = True) -> Iterator[Path]:
    """Yield a temporary file beside ``path`` that becomes it if nothing fails.

    Parameters
    ----------
    path : path
    replace : bool, default=True
        Whether a file that is there already may be replaced: False where somebody named it who may
        not know that it exists.
    """
    if path.is_dir():
        raise UserError(f"{path} is a folder; name a file with -o.")
    if path.exists() and not replace:
        raise UserError(f"{path} exists already; pass --replace, or name another file with -o.")
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    with _parents(path.parent):
        try:
            with _writable(path):
                temporary.touch()  # fails now rather than after the work
            yield temporary
            with _writable(path):
                temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)


@contextmanager
def _parents(folder: Path) -> Iterator[Path]:
    """Make a folder where it is missing, and take it away again if something fails."""
    missing = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    try:
        with _writable(folder):
            folder.mkdir(parents=True, exist_ok=True)
        yield folder
    except BaseException:
        for parent in missing:
            try:
                parent.rmdir()
            except OSError:  # never made, or somebody else put something there
                break
        raise


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
    run = _noted(folder)
    wrong = [name for name, is_right in _NOTES.items() if not is_right(run.get(name))]
    if wrong:
        raise UserError(
            f"{folder / RUN} is damaged: {', '.join(wrong)} cannot be right. Fit again with "
            "--replace."
        )
    return run


def _is_result(folder: Path) -> bool:
    """Whether ``run.json`` is what `sagdiv fit` notes, and not a file of the same name."""
    run = _noted(folder, default={}) if (folder / RUN).is_file() else {}
    return {"formula", "sha256", "version"} <= set(run)


def _noted(folder: Path, default: dict[str, Any] | None = None) -> dict[str, Any]:
    try:
        run = json.loads((folder / RUN).read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        run = None
    if isinstance(run, dict):
        return run
    if default is None:
        raise UserError(f"{folder / RUN} is damaged.")
    return default


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and 0 <= value < 2**32


# What every later command relies on.
_NOTES: dict[str, Callable[[Any], bool]] = {
    "command": _is_text,
    "data": _is_text,
    "sha256": _is_text,
    "formula": _is_text,
    "version": _is_text,
    "level": lambda value: isinstance(value, float) and 0 < value < 1,
    "seed": _is_count,
    "refits": _is_count,
    "notes": lambda value: isinstance(value, list) and all(map(_is_text, value)),
}
