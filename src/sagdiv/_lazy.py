"""Names that live behind PyTorch: found when first asked for, or with word of what to install."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any

__all__ = ["NEEDS_TORCH", "deep_names", "names_found", "torch_is_there"]

NEEDS_TORCH = 'needs torch, which is not installed: pip install "sagdiv[deep]".'


def torch_is_there() -> bool:
    """Whether torch can be imported, without doing so."""
    try:
        return find_spec("torch") is not None
    except (ImportError, ValueError):
        return False


def names_found(names: list[str], homes: Mapping[str, str]) -> list[str]:
    """Return what ``dir`` of a module lists: names behind torch only where torch is.

    Whoever looks at all names of a module (`help`, `inspect.getmembers`) would otherwise meet the
    ImportError that is meant for those who ask for one.
    """
    return sorted([*names, *(homes if torch_is_there() else ())])


def deep_names(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return a module-level ``__getattr__`` for names whose modules import torch.

    Parameters
    ----------
    package : str
        ``__name__`` of the module that offers them.
    homes : mapping
        From each name to the module that defines it.
    """

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            module = import_module(homes[name])
        except ModuleNotFoundError as error:
            if error.name is None or error.name.split(".")[0] != "torch":
                raise
            raise ImportError(f"{name} {NEEDS_TORCH}") from error
        return getattr(module, name)

    return find
