"""What design files name: objects by their dotted names, arguments as TOML can write them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from inspect import signature
from pkgutil import resolve_name
from typing import Any

__all__ = ["DesignError", "construct", "find", "parameters"]


class DesignError(ValueError):
    """Something in a design file is not as it must be."""


def find(name: str) -> Any:
    """Return what has a dotted name."""
    try:
        return resolve_name(name)
    except Exception as error:  # a module may raise whatever it likes when it is imported
        missing = isinstance(error, ModuleNotFoundError) and f"{name}.".startswith(f"{error.name}.")
        if missing or isinstance(error, AttributeError | ValueError | TypeError):
            raise DesignError(f"there is no {name!r} to import: {error}") from error
        raise DesignError(
            f"{name!r} cannot be imported: {type(error).__name__}: {error}"
        ) from error


def construct(value: Any) -> Any:
    """Return the argument that a value in a design file stands for.

    A table with a key ``class`` is an object of that class, made with the other keys; a table with
    the one key ``object`` is what has that dotted name, or None where the name is ``"None"``.
    """
    if isinstance(value, Mapping) and "class" in value:
        arguments = {k: construct(v) for k, v in value.items() if k != "class"}
        return find(value["class"])(**arguments)
    if isinstance(value, Mapping) and set(value) == {"object"}:
        return None if value["object"] == "None" else find(value["object"])
    if isinstance(value, Mapping):
        return {k: construct(v) for k, v in value.items()}
    if isinstance(value, list):
        return [construct(item) for item in value]
    return value


def parameters(make: Any) -> Collection[str]:
    """Return the names of the parameters of a class or a function."""
    try:
        return signature(make).parameters
    except (TypeError, ValueError):  # not callable, or compiled without a signature
        return ()
