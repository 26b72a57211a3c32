"""From the terms of a formula and a table to a matrix: categories become dummies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sagdiv._types import Array
from sagdiv.formula.columns import (
    check_categories,
    is_number,
    is_text,
    missing_rows,
    numbers,
    row_list,
)
from sagdiv.formula.errors import FormulaError
from sagdiv.formula.expressions import category_of, evaluate, names_in
from sagdiv.formula.syntax import MOST_LEVELS, Term

__all__ = ["Levels", "columns_of", "design_matrix", "find_levels", "outcome_column"]

# Pairs of words for 0 and 1 that nobody could take for the opposite.
_ZERO_AND_ONE = [("no", "yes"), ("n", "y"), ("false", "true"), ("f", "t")]

Levels = dict[str, list[str]]
"""For every expression that is a category, its levels; the first is the reference."""


def columns_of(expressions: Iterable[str]) -> tuple[str, ...]:
    """Return the columns that some expressions use, each once."""
    return tuple(dict.fromkeys(name for e in expressions for name in names_in(e)))


def find_levels(terms: Iterable[Term], columns: Mapping[str, NDArray[Any]]) -> Levels:
    """Return the categories among the expressions of some terms, with their levels."""
    levels: Levels = {}
    for expression in dict.fromkeys(part for term in terms for part in term):
        name = _category(expression, columns)
        if name is None:
            continue
        if expression != f"C({name})" and category_of(expression) is None:
            check_categories(columns[name], name)
        values = columns[name][~missing_rows(columns[name])]
        found = [
            _label(value) for value in np.unique(values.astype(str) if is_text(values) else values)
        ]
        if not 2 <= len(found) <= MOST_LEVELS:
            raise FormulaError(
                f"the categories of {expression} are {len(found)}; between 2 and {MOST_LEVELS} "
                "can be used."
                + (" Group them, or use a number." if len(found) > 2 else " Leave it out.")
            )
        levels[expression] = found
    return levels


def numeric_column(expression: str, columns: Mapping[str, NDArray[Any]]) -> Array:
    """Return the values of a numeric expression, all of them finite."""
    if category_of(expression) is not None:
        raise FormulaError(f"{expression} is a category where a number is needed.")
    used = {name: numbers(columns, name) for name in names_in(expression)}
    if not used:
        raise FormulaError(f"{expression} uses no column of the table.")
    values = np.asarray(evaluate(expression, used), dtype=np.float64)
    infinite = ~np.isfinite(values)
    if infinite.any():
        raise FormulaError(
            f"{_plain(expression)} is not finite in {row_list(infinite)}; look at the values there."
        )
    return values


def outcome_column(expression: str, columns: Mapping[str, NDArray[Any]]) -> Array:
    """Return the outcome, in which "no" and "yes" are 0 and 1."""
    name = _category(expression, columns)
    if name is None or category_of(expression) is not None:
        return numeric_column(expression, columns)
    words = np.array([str(value).strip().lower() for value in columns[name]], dtype=object)
    found = tuple(sorted(set(words)))
    for pair in _ZERO_AND_ONE:
        if set(found) <= set(pair):
            return (words == pair[1]).astype(np.float64)
    if len(found) == 2 and not any(map(is_number, found)):
        first, second = dict.fromkeys(columns[name])
        raise FormulaError(
            f"the outcome {name!r} is {first!r} or {second!r}; write 0 and 1 for them, so that it "
            "is clear which is which, and use the loss of a binary outcome (--loss logistic)."
        )
    return numeric_column(expression, columns)


def design_matrix(
    terms: tuple[Term, ...], columns: Mapping[str, NDArray[Any]], levels: Levels
) -> tuple[Array, list[str]]:
    """Return the columns that stand for some terms, and their names."""
    import pandas as pd
    from formulaic import SimpleFormula
    from formulaic.parser.types import Factor
    from formulaic.parser.types import Term as ParsedTerm

    n_rows = len(next(iter(columns.values())))
    if not terms:
        return np.empty((n_rows, 0)), []
    # Every expression is evaluated here, so that the formula's machinery only looks values up.
    values: dict[str, Any] = {}
    for expression in dict.fromkeys(part for term in terms for part in term):
        if expression in levels:
            labels = _labels(expression, columns, levels[expression])
            values[_plain(expression)] = pd.Categorical(labels, categories=levels[expression])
        else:
            values[_plain(expression)] = numeric_column(expression, columns)
    one = ParsedTerm([Factor("1", eval_method="literal")])
    products = [
        ParsedTerm([Factor(_plain(part), eval_method="lookup") for part in term]) for term in terms
    ]
    frame = SimpleFormula([one, *products], _ordering="none").get_model_matrix(
        pd.DataFrame(values), na_action="ignore"
    )
    return np.asarray(frame, dtype=np.float64)[:, 1:], [str(name) for name in frame.columns[1:]]


def _category(expression: str, columns: Mapping[str, NDArray[Any]]) -> str | None:
    """Return the column of which an expression is the category, None for a number."""
    name = category_of(expression)
    if name is not None:
        return name
    names = names_in(expression)
    bare = len(names) == 1 and _plain(expression) == names[0]
    return names[0] if bare and is_text(columns[names[0]]) else None


def _labels(expression: str, columns: Mapping[str, NDArray[Any]], levels: list[str]) -> list[str]:
    name = _category(expression, columns) or names_in(expression)[0]
    labels = np.array([_label(value) for value in columns[name]], dtype=object)
    unknown = ~np.isin(labels, levels)
    if unknown.any():
        raise FormulaError(
            f"{_plain(expression)} has a category that the fit did not know in "
            f"{row_list(unknown, labels)}; there were {', '.join(map(repr, levels))}."
        )
    return list(labels)


def _label(value: Any) -> str:
    return str(value) if isinstance(value, str) else f"{float(value):.12g}"


def _plain(expression: str) -> str:
    """Return an expression without the backticks around a single odd name."""
    inner = expression[1:-1]
    is_odd_name = expression[:1] == expression[-1:] == "`" and "`" not in inner
    return inner if is_odd_name else expression
