"""Names that live behind PyTorch: found when first asked for, or with word of what to install."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

__all__ = ["deep_names"]


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
            raise ImportError(
                f'{name} needs torch, which is not installed: pip install "sagdiv[deep]".'
            ) from error
        return getattr(module, name)

    return find
