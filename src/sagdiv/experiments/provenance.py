"""What a row was computed with."""

from __future__ import annotations

import platform
import subprocess
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from sagdiv.experiments.designs import Design, Method
from sagdiv.experiments.names import find

__all__ = ["are_mixed", "revision", "versions"]

_PACKAGES = ("sagdiv", "numpy", "scipy", "scikit-learn", "torch")
_SOURCE = Path(__file__).parents[1]
_DIGITS = 12


@cache
def versions() -> dict[str, str]:
    """Return the versions of Python, of the packages that numbers depend on, and the commit."""
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found | _commit()


def revision(design: Design, method: Method) -> str:
    """Return a digest of the code of a method: equal if and only if the source is equal.

    It is that of every source file of this package, wherever it lies, followed by those of the
    modules outside it which the design names for the data, the method and its arguments.
    """
    return " ".join([_package_digest(), *_foreign_digests(design.data, method)])


def are_mixed(revisions: Mapping[str, Iterable[str]]) -> bool:
    """Return whether rows were made by several versions of the code.

    Parameters
    ----------
    revisions : mapping
        Those of the rows of each method.
    """
    sets = [set(found) for found in revisions.values()]
    package = {found.partition(" ")[0] for several in sets for found in several}
    return len(package) > 1 or any(len(several) > 1 for several in sets)


@cache
def _package_digest() -> str:
    return _digest(sorted(_SOURCE.rglob("*.py"), key=lambda path: path.relative_to(_SOURCE).parts))


def _foreign_digests(data: str, method: Method) -> list[str]:
    found = {}
    for name in [data, method.estimator, *_named(method.params)]:
        module = getattr(find(name), "__module__", None) or ""
        file = getattr(sys.modules.get(module), "__file__", None)
        if file is not None and module.partition(".")[0] != "sagdiv":
            found[module] = _digest([Path(file)])
    return [f"{module}:{digest}" for module, digest in sorted(found.items())]


def _named(value: Any) -> Iterable[str]:
    """Yield the classes and objects that are named anywhere in the parameters."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if key in ("class", "object") and isinstance(inner, str):
                if inner != "None":
                    yield inner
            else:
                yield from _named(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _named(inner)


def _digest(files: Iterable[Path]) -> str:
    """Return a digest of files that depends neither on where they are nor on line endings."""
    content = sha256()
    for file in files:
        lines = file.read_bytes().replace(b"\r\n", b"\n")
        content.update(f"{file.stem} {len(lines)}\n".encode() + lines)
    return content.hexdigest()[:_DIGITS]


def _commit() -> dict[str, str]:
    """Return the last commit of the source, ``+`` if edited since; nothing outside a clone."""
    try:
        commit = _git("log", "-1", "--format=%h", "--abbrev=12", "--", ".")
        edited = _git("status", "--porcelain", "--", ".")
    except (OSError, subprocess.CalledProcessError):
        return {}
    return {"commit": commit + ("+" if edited else "")} if commit else {}


def _git(*arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=_SOURCE, capture_output=True, check=True, text=True
    ).stdout.strip()
