"""Checks at the door, each with a sentence that names the argument and says what to do."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_array, column_or_1d

from sagdiv._types import Array, Data
from sagdiv.kernels import column_scales

__all__ = [
    "check_both",
    "check_bound",
    "check_component",
    "check_instruments",
    "check_integer",
    "check_labels",
    "check_no_images",
    "check_outcome",
    "check_positive",
    "check_same_length",
    "check_varies",
    "check_weights",
    "check_width",
    "check_zero_one",
    "column_names",
]


def column_names(A: Any) -> NDArray[np.object_] | None:
    """Return the column names of a data frame (pandas, polars, ...) if all are strings."""
    names = list(getattr(A, "columns", []))
    if names and all(isinstance(name, str) for name in names):
        return np.array(names, dtype=object)
    return None


def check_instruments(Z: Any, name: str = "Z") -> Array:
    """Return Z as a finite float matrix; a single instrument may come as a vector."""
    shape = np.shape(Z)
    if len(shape) not in (1, 2) or shape[1:] == (0,):
        raise ValueError(
            f"{name} must have a row for each observation and a column for each instrument, got "
            + (f"an array of shape {shape}" if shape else repr(Z))
            + ("; DeepSAGDIV() takes images." if len(shape) > 2 else ".")
        )
    if len(shape) == 1:
        Z = np.asarray(Z)[:, None]
    _check_numbers(Z, name, "encode categories, for example by sklearn's OneHotEncoder")
    return check_array(Z, dtype=np.float64, input_name=name, ensure_min_samples=0)


def check_no_images(X: Any, estimator_name: str) -> None:
    """Check that X is not an array of images or the like."""
    if getattr(X, "ndim", 0) > 2:
        raise ValueError(
            f"X has shape {tuple(X.shape)}, and {estimator_name} needs a table with one row for "
            f"each observation; DeepSAGDIV() takes images. (Found array with dim {X.ndim}.)"
        )


def check_component(
    component: Any, name: str, members: tuple[str, ...], words: tuple[str, ...] = ()
) -> None:
    """Check that a component offers the members of its contract, or is one of some words."""
    if component is None or (isinstance(component, str) and component in words):
        return
    if isinstance(component, type):
        raise TypeError(f"{name} is the class {component.__name__}; pass an instance of it.")
    missing = [member for member in members if not hasattr(component, member)]
    if missing:
        raise TypeError(
            f"{name} must be an object that offers {', '.join(members)}"
            + "".join(f", or the word {word!r}" for word in words)
            + f"; got {component!r}, which has no {', '.join(missing)}."
        )


def check_integer(value: Any, name: str, *, at_least: int) -> None:
    """Check that a parameter is an integer and not too small."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < at_least:
        raise ValueError(f"{name} must be an integer of at least {at_least}, got {value!r}.")


def check_positive(value: Any, name: str) -> None:
    """Check that a parameter is a positive, finite number."""
    if isinstance(value, bool) or not (isinstance(value, Real) and 0 < float(value) < np.inf):
        raise ValueError(f"{name} must be a positive number, got {value!r}.")


def check_bound(value: Any, name: str) -> None:
    """Check that a parameter is a number, possibly infinite."""
    if not isinstance(value, Real):
        raise ValueError(f"{name} must be a number, got {value!r}.")


def check_outcome(y: Any, estimator_name: str) -> Array:
    """Return y as a finite float vector."""
    if y is None:
        raise ValueError(
            f"{estimator_name} requires y to be passed, but the target y is None: y is the outcome."
        )
    y = np.asarray(y)
    if y.dtype.kind == "O" and any(map(_is_missing, y.ravel())):  # pandas.NA has no float
        raise ValueError("Input y contains NaN: an outcome is missing; drop these rows.")
    if y.ndim == 2 and y.shape[1] != 1:
        raise ValueError(f"y must be one column, got shape {y.shape}; fit one model for each.")
    if y.ndim == 0:
        raise ValueError(f"y must be one number for each row of X, got {y[()]!r}.")
    y = column_or_1d(y, warn=True)
    _check_numbers(y, "y", "make them 0 and 1, for example by (y == label).astype(float)")
    return check_array(y, ensure_2d=False, dtype=np.float64, input_name="y", ensure_min_samples=0)


def _check_numbers(A: Any, name: str, advice: str) -> None:
    """Check that words, if there are any, are numbers in writing."""
    values = np.asarray(A)
    if values.dtype.kind not in "USO":
        return
    for value in values.ravel():
        if isinstance(value, str):
            try:
                float(value)
            except ValueError:
                raise ValueError(f"{name} must be numbers, got {str(value)!r}; {advice}.") from None


def check_labels(y: Any, loss: Any, classes: Array | None = None) -> tuple[Array, Array]:
    """Return a binary outcome as zeros and ones, and the two labels they stand for.

    Numbers and booleans must be 0 and 1, and mean that. Of any other two labels the second one is
    1: second in the order of the categories of a categorical of words, in alphabetical order, or
    that of numbers, otherwise.

    Parameters
    ----------
    y : array of shape (n,)
    loss : Loss
        For the messages.
    classes : array of shape (2,), default=None
        Labels that are known already; None learns them, and needs to see both.
    """
    y = _one_column(y)
    if not _are_names(y):
        numbers = check_outcome(y, "a binary loss")
        if classes is not None and not _are_names(classes):
            check_zero_one(numbers, loss)
        elif classes is not None:
            raise ValueError(f"y must have the labels of the fit, {list(classes)}, got numbers.")
        else:
            check_both(numbers, loss)
        return numbers, np.array([0.0, 1.0])
    labels = np.asarray(y, dtype=object).ravel()
    if any(map(_is_missing, labels)):
        raise ValueError("Input y contains NaN: a label is missing; drop these rows.")
    found = _in_order(set(labels), _categories(y))
    if classes is None:
        if len(found) != 2:
            shown = ", ".join(map(repr, found[:5])) + (", ..." if len(found) > 5 else "")
            raise ValueError(
                f"y must have two labels for {loss!r}, got {len(found)}: {shown}."
                + ("" if len(found) != 1 else " Both outcomes must be seen in a fit.")
            )
        classes = np.array(found, dtype=None if isinstance(found[0], str) else object)
    elif not set(found) <= set(classes):
        raise ValueError(f"y must have the labels of the fit, {list(classes)}, got {found}.")
    return (labels == classes[1]).astype(np.float64), classes


def _one_column(y: Any) -> Any:
    """Return the only column of a data frame (pandas, polars), which knows its categories."""
    if not hasattr(y, "columns") or np.shape(y)[1:] != (1,):
        return y
    return y.iloc[:, 0] if hasattr(y, "iloc") else y.get_columns()[0]


def _in_order(labels: set[Any], categories: list[Any]) -> list[Any]:
    if categories and not _are_numbers(categories):
        return [label for label in categories if label in labels]
    try:
        return sorted(labels)
    except TypeError:
        kinds = {type(label).__name__: label for label in labels}
        raise ValueError(
            "y mixes labels that have no order: "
            + ", ".join(f"{kinds[kind]!r} ({kind})" for kind in sorted(kinds))
            + "; make all of them words, or all of them 0 and 1."
        ) from None


def _are_names(y: Any) -> bool:
    """Return whether the elements of y are words, or categories other than 0 and 1."""
    categories = _categories(y)
    if categories:
        return not (_are_numbers(categories) and set(categories) <= {0, 1})
    values = np.asarray(y)
    return values.dtype.kind in "US" or (
        values.dtype.kind == "O" and any(isinstance(value, str) for value in values.ravel())
    )


def _are_numbers(values: list[Any]) -> bool:
    return all(isinstance(value, Real | np.bool) for value in values)


def _is_missing(value: Any) -> bool:
    try:
        return bool(value is None or value != value)
    except TypeError:  # pandas.NA is neither equal to itself nor not
        return True


def _categories(y: Any) -> list[Any]:
    """Return the categories of a data frame's column in the order its author gave; or none."""
    categories: Any = getattr(getattr(y, "dtype", None), "categories", None)
    # A polars Categorical has a registry here, in the order in which the process met the words.
    return list(categories.to_list()) if hasattr(categories, "to_list") else []


def check_zero_one(y: Array, loss: Any) -> None:
    """Check that the outcome of a binary loss is 0 or 1."""
    found = np.unique(y)
    if not np.isin(found, (0.0, 1.0)).all():
        shown = ", ".join(f"{value:g}" for value in found[:5]) + (", ..." if found.size > 5 else "")
        raise ValueError(f"y must be 0 or 1 for {loss!r}, got the values {shown}.")


def check_both(y: Array, loss: Any, rows: str = "every row") -> None:
    """Check that the outcome of a binary loss is 0 or 1, and takes both values.

    Parameters
    ----------
    y : array of shape (n,)
    loss : Loss
    rows : str, default="every row"
        Which rows these are, for the message.
    """
    check_zero_one(y, loss)
    if len(y) and np.ptp(y) == 0:
        raise ValueError(f"y is {y[0]:g} in {rows}; {loss!r} needs both 0 and 1.")


def check_same_length(**arrays: Array) -> None:
    """Check that all have as many rows, and show every length if not."""
    lengths = {name: len(array) for name, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"len({name}) = {n}" for name, n in lengths.items())
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: {listed}; row i of each "
            "must belong to the same observation."
        )


def check_varies(A: Array, name: str, meaning: str) -> None:
    """Check that some column of A takes more than one value."""
    scales = column_scales(A)
    if np.all((scales == 1.0) & (np.ptp(A, axis=0) <= 1e-12 * np.abs(A).max(axis=0))):
        raise ValueError(f"{name} is constant: {meaning}.")


def check_width(A: Array, name: str, n_columns: int) -> None:
    """Check that A has as many columns as the features were made for."""
    if A.shape[1] != n_columns:
        raise ValueError(f"{name} has {A.shape[1]} columns, but the features are of {n_columns}.")


def check_weights(sample_weight: Data, n_rows: int, *, may_vanish: bool = False) -> Array:
    """Return non-negative weights, not all zero; None is a weight of one for each row.

    With ``may_vanish`` they may all be zero: rows are a part of the data only.
    """
    if sample_weight is None:
        return np.ones(n_rows)
    weights = check_array(
        sample_weight,
        ensure_2d=False,
        dtype=np.float64,
        input_name="sample_weight",
        ensure_min_samples=0 if may_vanish else 1,
    )
    if weights.shape != (n_rows,):
        raise ValueError(
            f"sample_weight must be one number per row, shape ({n_rows},), got {weights.shape}."
        )
    if (weights < 0).any():
        worst = int(np.argmin(weights))
        raise ValueError(f"sample_weight must not be negative; row {worst} has {weights[worst]:g}.")
    if not (may_vanish or weights.any()):
        raise ValueError("sample_weight is zero for every row: nothing is left to learn from.")
    return weights
