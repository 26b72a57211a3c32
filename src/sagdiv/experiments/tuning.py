"""What a fitted method chose by itself, as a flat record of scalars."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any

import numpy as np

__all__ = ["chosen", "rounded"]

# Facts about the data, and estimates, rather than choices.
_NOT_CHOSEN = {
    *("n_features_in_", "n_instruments_in_", "location_", "scale_", "y_location_", "y_scale_"),
    *("intercept_", "slope_", "mean_", "dispersion_"),
}
# Records of a choice, and what in them was chosen.
_RECORDS = {"history_": ("best_epoch",), "selection_": ("run", "iterate")}
_DEPTH = 2  # parts of parts, and no further
_DIGITS = 6


def chosen(model: Any) -> dict[str, Any]:
    """Return the scalars that `fit` chose in an estimator and in its parts, by dotted name.

    What `fit` learns ends in an underscore. A part is an attribute of that kind which has a `fit`
    itself, such as a density ratio (``Phi_.ridge_``), or the record of a training
    (``history_.best_epoch``) or of a choice between runs (``selection_.run``).
    """
    return dict(_scalars(model, _DEPTH))


def rounded(value: Any) -> float:
    """Return a number with as many digits as a row keeps."""
    return float(f"{float(value):.{_DIGITS}g}")


def _scalars(part: Any, depth: int) -> Iterator[tuple[str, Any]]:
    for name in sorted(_learned(part) - _NOT_CHOSEN):
        value = getattr(part, name, None)
        if name in _RECORDS:
            for field in _RECORDS[name]:
                if isinstance(getattr(value, field, None), Integral):
                    yield f"{name}.{field}", int(getattr(value, field))
        elif isinstance(value, Integral):
            yield name, int(value)
        elif isinstance(value, str):
            yield name, value
        elif isinstance(value, Real):
            if np.isfinite(float(value)):
                yield name, rounded(value)
        elif depth and hasattr(value, "fit"):
            for inner, scalar in _scalars(value, depth - 1):
                yield f"{name}.{inner}", scalar


def _learned(part: Any) -> set[str]:
    names = set(getattr(part, "__dict__", ()))
    for ancestor in type(part).__mro__:  # a class with slots may have no dictionary
        slots = ancestor.__dict__.get("__slots__", ())
        names.update([slots] if isinstance(slots, str) else slots)
    return {name for name in names if name.endswith("_") and not name.startswith("_")}
