"""What goes wrong between a formula and a table, in words."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

__all__ = ["FormulaError", "unknown_name"]

_SHOWN = 12


class FormulaError(ValueError):
    """A formula that cannot be read, or a table that does not fit it."""


def unknown_name(kind: str, name: str, known: Iterable[str]) -> FormulaError:
    """Return the error for a misspelt name, with the nearest of the known ones."""
    names = [str(other) for other in known]
    lower = {other.lower(): other for other in reversed(names)}
    close = get_close_matches(name.lower(), list(lower), n=1, cutoff=0.6)
    hint = f"; did you mean {lower[close[0]]!r}?" if close else "."
    listed = ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
    return FormulaError(f"there is no {kind} {name!r}{hint} There are: {listed or 'none'}.")
