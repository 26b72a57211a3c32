"""Comparisons of methods on designs whose answer is known: designs, runner, tables, figures."""

from sagdiv.experiments.budgets import Budget, share_out
from sagdiv.experiments.designs import Cell, Design, Method
from sagdiv.experiments.names import DesignError
from sagdiv.experiments.reading import read_design
from sagdiv.experiments.runner import Plan, of_mixed_code, plan, run
from sagdiv.experiments.store import Row, Store
from sagdiv.experiments.tables import format_table, summarise

__all__ = [
    "Budget",
    "Cell",
    "Design",
    "DesignError",
    "Method",
    "Plan",
    "Row",
    "Store",
    "format_table",
    "of_mixed_code",
    "plan",
    "read_design",
    "run",
    "share_out",
    "summarise",
]
