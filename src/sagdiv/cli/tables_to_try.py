"""The tables that ``sagdiv datasets`` lists."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import fill

from sagdiv.datasets import (
    IVTable,
    load_alcohol,
    load_birthweight,
    load_card,
    load_engel,
    load_meps,
)
from sagdiv.formula.errors import unknown_name

__all__ = ["describe", "names", "table"]

_LOADERS: dict[str, Callable[[], IVTable]] = {
    "engel": load_engel,
    "alcohol": load_alcohol,
    "card": load_card,
    "meps": load_meps,
    "birthweight": load_birthweight,
}


def names() -> list[str]:
    """Return the names of the tables."""
    return list(_LOADERS)


def table(name: str) -> IVTable:
    """Return a table by name."""
    if name not in _LOADERS:
        raise unknown_name("table", name, _LOADERS)
    return _LOADERS[name]()


def describe(name: str) -> str:
    """Return a paragraph about a table."""
    loaded = table(name)
    rows, columns = loaded.frame.shape
    heading = f"{name}: {rows} rows, {columns} columns, {loaded.formula}"
    about = f"{loaded.question} {loaded.source}"
    return heading + "\n" + fill(about, 88, initial_indent="  ", subsequent_indent="  ") + "\n"
