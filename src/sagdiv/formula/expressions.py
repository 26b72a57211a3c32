"""Evaluating the expressions of a formula: arithmetic, a few functions and categories, no more.

A formula may come from a file that someone else wrote, so that nothing in it is ever executed.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from sagdiv.formula.errors import FormulaError

__all__ = ["category_of", "evaluate", "names_in"]

_OPERATORS: dict[type, Any] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}
_FUNCTIONS: dict[str, Any] = {
    "I": np.positive,
    **{
        name: getattr(np, name)
        for name in ("abs", "exp", "expm1", "log", "log10", "log1p", "log2", "sqrt", "sin", "cos")
    },
}
_QUOTED = re.compile("`([^`]*)`")


def names_in(expression: str) -> tuple[str, ...]:
    """Return the columns that an expression uses."""
    tree, quoted = _parse(expression)
    calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    functions = {id(call.value if isinstance(call, ast.Attribute) else call) for call in calls}
    return tuple(
        dict.fromkeys(
            quoted.get(node.id, node.id)
            for node in ast.walk(tree)
            if isinstance(node, ast.Name) and id(node) not in functions
        )
    )


def category_of(expression: str) -> str | None:
    """Return ``name`` for the expression ``C(name)``, otherwise None."""
    tree, quoted = _parse(expression)
    if not (isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and tree.func.id == "C"):
        return None
    if len(tree.args) != 1 or tree.keywords or not isinstance(tree.args[0], ast.Name):
        raise FormulaError(f"{expression} must name one column, as in C(region).")
    return quoted.get(tree.args[0].id, tree.args[0].id)


def evaluate(expression: str, columns: Mapping[str, Any]) -> Any:
    """Return the values of a numeric expression on columns of numbers."""
    tree, quoted = _parse(expression)

    def value(node: ast.AST) -> Any:
        match node:
            case ast.Name(id=name):
                return columns[quoted.get(name, name)]
            case ast.Constant(value=int() | float() as number):
                return np.float64(number)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
                return _OPERATORS[type(op)](value(left), value(right))
            case ast.UnaryOp(op=op, operand=operand) if type(op) in _OPERATORS:
                return _OPERATORS[type(op)](value(operand))
            case ast.Call(func=func, args=[argument], keywords=[]) if _name(func) in _FUNCTIONS:
                return _FUNCTIONS[_name(func)](value(argument))
        raise FormulaError(
            f"{expression} is more than a formula can do: + - * / ** in brackets, "
            f"{', '.join(_FUNCTIONS)} and C(...). Compute it as a column of the table first."
        )

    with np.errstate(all="ignore"):  # what is not finite is reported with its rows
        return value(tree)


def _parse(expression: str) -> tuple[ast.expr, dict[str, str]]:
    quoted: dict[str, str] = {}

    def placeholder(match: re.Match[str]) -> str:
        key = f"_quoted_{len(quoted)}"
        quoted[key] = match[1]
        return key

    try:
        tree = ast.parse(_QUOTED.sub(placeholder, expression), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise FormulaError(f"cannot read {expression!r} in the formula.") from error
    return tree, quoted


def _name(node: ast.AST) -> str:
    """Return f for ``f`` and for ``np.f``, otherwise nothing."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=ast.Name(id="np"), attr=name):
            return name
    return ""
