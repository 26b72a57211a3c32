"""Formulas and data frames: name the columns, get the fitted curve."""

from sagdiv.formula.errors import FormulaError
from sagdiv.formula.fit import StructuralFit, formula_columns, from_formula

__all__ = ["FormulaError", "StructuralFit", "formula_columns", "from_formula"]
