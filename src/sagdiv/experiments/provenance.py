"""What a row was computed with."""

from __future__ import annotations

import platform
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

__all__ = ["revision", "versions"]

_PACKAGES = ("sagdiv", "numpy", "scipy", "scikit-learn", "torch")


@cache
def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that numbers depend on."""
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


@cache
def revision() -> str:
    """Return the last commit of the package's source, ``+`` if edited since; else its version."""
    source = Path(__file__).parents[1]
    try:
        commit = _git("log", "-1", "--format=%h", "--abbrev=12", "--", ".", at=source)
        edited = _git("status", "--porcelain", "--", ".", at=source)
    except (OSError, subprocess.CalledProcessError):
        commit = edited = ""
    return commit + ("+" if edited else "") if commit else versions().get("sagdiv", "unknown")


def _git(*arguments: str, at: Path) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=at, capture_output=True, check=True, text=True
    ).stdout.strip()
