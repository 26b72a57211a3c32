"""A model fitted from a formula and a table, and `from_formula`, which makes one."""

from __future__ import annotations

from inspect import signature
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from sagdiv._types import Array, Data
from sagdiv.formula.columns import is_text, missing_rows, read_columns, row_list
from sagdiv.formula.design import (
    Levels,
    columns_of,
    design_matrix,
    find_levels,
    outcome_column,
)
from sagdiv.formula.errors import FormulaError, unknown_name
from sagdiv.formula.syntax import Formula
from sagdiv.formula.typical import TypicalRow
from sagdiv.kernel_sagdiv import KernelSAGDIV
from sagdiv.validation import check_integer

__all__ = ["StructuralFit", "formula_columns", "from_formula"]


def formula_columns(formula: str) -> tuple[str, ...]:
    """Return the columns of the table that a formula uses."""
    return columns_of(Formula.parse(formula).expressions)


def from_formula(
    formula: str,
    data: Data,
    estimator: Any = None,
    *,
    na_action: Literal["raise", "drop"] = "raise",
    cluster: str | None = None,
) -> StructuralFit:
    r"""Fit h in E[Y - h(X, W) | Z, W] = 0 for columns of a table that a formula names.

    Parameters
    ----------
    formula : str
        ``"y ~ w + [x ~ z]"``: outcome, controls, treatments in terms of instruments. The forms
        ``"y ~ w | x ~ z"`` and R's ``"y ~ x + w | z + w"`` mean the same. Controls are exogenous;
        text and ``C(column)`` are categories; ``log(x)`` and arithmetic in ``I(...)`` are allowed.
        There is no need for powers or interactions: h bends by itself.
    data : pandas, polars or Arrow table, or dict of columns
    estimator : estimator of this package, default=None
        None is `KernelSAGDIV`. A copy of it is fitted.
    na_action : {"raise", "drop"}, default="raise"
        What to do where a value of the formula is missing: refuse and count, or leave the row
        out and count in ``missing``.
    cluster : str, default=None
        Column of labels of groups of rows within which disturbances may be correlated. It is kept
        as ``cluster_``, for standard errors; the estimate does not depend on it.

    Returns
    -------
    StructuralFit
        Predicts on tables with the columns of the formula.

    Examples
    --------
    >>> import sagdiv
    >>> from sagdiv.datasets import make_continuous
    >>> draw = make_continuous("abs", 500, random_state=0)
    >>> table = {"y": draw.y, "x": draw.X[:, 0], "z": draw.Z[:, 0], "w": draw.Z[:, 1]}
    >>> fit = sagdiv.from_formula("y ~ w + [x ~ z]", table)
    >>> fit
    StructuralFit('y ~ w + [x ~ z]', KernelSAGDIV(exogenous=['w']), 500 rows)
    >>> fit.predict({"x": [-1.0, 0.0, 1.0], "w": [0.0, 0.0, 0.0]}).shape
    (3,)
    """
    if na_action not in ("raise", "drop"):
        raise ValueError(f"na_action must be 'raise' or 'drop', got {na_action!r}.")
    parsed = Formula.parse(formula)
    estimator = _checked(KernelSAGDIV() if estimator is None else estimator)
    used = columns_of(parsed.expressions)
    columns = read_columns(data, used if cluster is None else dict.fromkeys([*used, cluster]))
    columns, missing, n_dropped = _complete(columns, na_action)
    terms = (*parsed.regressors, *parsed.instruments)
    levels = find_levels(terms, columns)
    parsed.check_bar(levels)
    y = outcome_column(parsed.outcome, columns)
    T, treatments = design_matrix(parsed.treatments, columns, levels)
    W, controls = design_matrix(parsed.controls, columns, levels)
    Z, instruments = design_matrix(parsed.instruments, columns, levels)
    _check_constant(y[:, None], [parsed.outcome], "nothing is left to explain")
    _check_constant(T, treatments, "its effect cannot be learnt")
    _check_constant(W, controls, "leave it out")
    _check_constant(Z, instruments, "an instrument that never moves cannot identify anything")
    fit = StructuralFit(parsed, levels, treatments, controls, instruments)
    fit.missing, fit.n_dropped = missing, n_dropped
    fit.cluster = cluster
    if cluster is not None:
        labels = columns[cluster]
        fit.cluster_ = np.unique(
            labels.astype(str) if is_text(labels) else labels, return_inverse=True
        )[1]
    fit._typical = TypicalRow({name: columns[name] for name in fit.regressor_columns}, levels)
    return fit._fit(estimator, np.hstack([T, W]), y, Z)


class StructuralFit:
    """An estimator fitted to the columns that a formula names.

    Attributes
    ----------
    formula : str
    estimator : fitted estimator
    treatments, controls, instruments : list of str
        Names of the columns of the model, dummies included; X holds the first two.
    outcome : str
    missing : dict of str to int
        Missing values by column, where rows were left out for them.
    n_rows, n_dropped : int
        Rows used, and rows left out.
    X_, y_, Z_ : arrays
        The rows used; Z_ holds the instruments as the estimator was given them.
    cluster : str or None
        Column that groups rows.
    cluster_ : array of shape (n,) or None
        Number of the group of each row used.
    """

    missing: dict[str, int]
    n_dropped: int
    estimator: Any
    cluster: str | None = None
    cluster_: NDArray[np.intp] | None = None
    _typical: TypicalRow
    X_: Array
    y_: Array
    Z_: Array

    def __init__(
        self,
        parsed: Formula,
        levels: Levels,
        treatments: list[str],
        controls: list[str],
        instruments: list[str],
    ) -> None:
        self.formula = parsed.text
        self.outcome = parsed.outcome
        self.treatments = treatments
        self.controls = controls
        self.instruments = instruments
        self._parsed = parsed
        self._levels = levels

    @property
    def n_rows(self) -> int:
        """Rows that the estimator was fitted on."""
        return len(self.y_)

    @property
    def regressor_columns(self) -> tuple[str, ...]:
        """Columns that a table must have for `predict`."""
        return columns_of(part for term in self._parsed.regressors for part in term)

    @property
    def treatment_columns(self) -> tuple[str, ...]:
        """Columns of the table that the treatments are functions of, without the controls.

        With ``kids`` as a control, ``[x + I(x**2) + x:kids ~ z]`` has one, ``x``.
        """
        treatments = columns_of(part for term in self._parsed.treatments for part in term)
        controls = columns_of(part for term in self._parsed.controls for part in term)
        return tuple(name for name in treatments if name not in controls) or treatments

    @property
    def instrument_columns(self) -> tuple[str, ...]:
        """Columns of the table that the instruments are functions of."""
        return columns_of(part for term in self._parsed.instruments for part in term)

    @property
    def X(self) -> Data:  # noqa: N802
        """The regressors of the rows used, as a pandas data frame."""
        return self._frame(self.X_, self.treatments + self.controls)

    @property
    def y(self) -> Array:
        """The outcome of the rows used."""
        return self.y_

    @property
    def Z(self) -> Data:  # noqa: N802
        """What the estimator was given as instruments, as a pandas data frame."""
        return self._frame(self.Z_, self._z_names)

    def predict(self, data: Data) -> Array:
        """Return h at the rows of a table that has the regressors of the formula, shape (n,)."""
        return np.asarray(self.estimator.predict(self.regressors(data)))

    def regressors(self, data: Data) -> Data:
        """Return what h is a function of, dummies and powers included, at the rows of a table."""
        return self._regressors(self._read(data, with_z=False))

    def column_of(self, name: str) -> int | None:
        """Return where a column of the table stands in X, None if X holds functions of it."""
        terms = [term for term in self._parsed.regressors if name in columns_of(term)]
        names = self.treatments + self.controls
        return names.index(name) if len(terms) == 1 and name in names else None

    def values(self, name: str) -> Array | None:
        """Return a regressor of the table at the rows used, None if it is text."""
        return self._typical.numbers.get(name)

    def score(self, data: Data) -> float:
        """Return minus the projected risk on the rows of a table; higher is better."""
        columns = self._read(data, with_z=True)
        X = self._regressors(columns)
        Z, _ = design_matrix(self._parsed.instruments, columns, self._levels)
        y = outcome_column(self.outcome, columns)
        Z = self._frame(self._with_controls(X.to_numpy(), Z), self._z_names)
        return float(self.estimator.score(X, y, Z))

    def grid(self, treatment: str | None = None, n: int = 100, central: float = 0.98) -> Data:
        """Return a table in which one column varies and every other has its typical value.

        A column with few values, or of categories, is visited at these. The others stay at their
        middle observation, categories at the most frequent one.

        Parameters
        ----------
        treatment : str, default=None
            A column that h is a function of; None is the first of ``treatment_columns``.
        n : int, default=100
            Number of rows.
        central : float, default=0.98
            Share of the observed values between the ends of the grid.
        """
        name = self.treatment_columns[0] if treatment is None else treatment
        if name not in self.regressor_columns:
            raise unknown_name("regressor", str(name), self.regressor_columns)
        check_integer(n, "n", at_least=1)
        if not 0 < central <= 1:
            raise ValueError(f"central must lie between 0 and 1, like 0.98, got {central!r}.")
        import pandas as pd

        along = self._typical.along(name, n, central)
        columns = {other: self._typical.value(other) for other in self.regressor_columns}
        return pd.DataFrame(columns | {name: along}, index=range(len(along)))

    def __repr__(self) -> str:
        return f"StructuralFit({self.formula!r}, {self.estimator!r}, {self.n_rows} rows)"

    def _fit(self, estimator: Any, X: Array, y: Array, Z: Array) -> StructuralFit:
        estimator = clone(estimator)
        self._controls_are_declared = "exogenous" in estimator.get_params()
        if self._controls_are_declared:
            estimator.set_params(exogenous=list(self.controls))
        self._z_names = [*self.instruments]
        if not self._controls_are_declared:
            self._z_names += self.controls
        self.X_, self.y_, self.Z_ = X, y, self._with_controls(X, Z)
        self.estimator = estimator.fit(self.X, y, self.Z)
        return self

    def _with_controls(self, X: Array, Z: Array) -> Array:
        """Append the controls to the instruments, unless the estimator does so itself."""
        return Z if self._controls_are_declared else np.hstack([Z, X[:, len(self.treatments) :]])

    def _regressors(self, columns: dict[str, NDArray[Any]]) -> Data:
        T, treatments = design_matrix(self._parsed.treatments, columns, self._levels)
        W, controls = design_matrix(self._parsed.controls, columns, self._levels)
        return self._frame(np.hstack([T, W]), treatments + controls)

    def _read(self, data: Data, *, with_z: bool) -> dict[str, NDArray[Any]]:
        terms = self._parsed.regressors + (self._parsed.instruments if with_z else ())
        expressions = [part for term in terms for part in term]
        columns = read_columns(data, columns_of(expressions + [self.outcome] * with_z))
        return _complete(columns, "raise")[0]

    @staticmethod
    def _frame(A: Array, names: list[str]) -> Data:
        import pandas as pd

        return pd.DataFrame(A, columns=names)


def _checked(estimator: Any) -> Any:
    fit = getattr(estimator, "fit", None)
    if isinstance(estimator, type) or fit is None or "Z" not in signature(fit).parameters:
        raise TypeError(
            "estimator must be fitted with instruments, fit(X, y, Z), as KernelSAGDIV() and those "
            f"of sagdiv.baselines are; got {estimator!r}."
        )
    return estimator


def _complete(
    columns: dict[str, NDArray[Any]], na_action: str
) -> tuple[dict[str, NDArray[Any]], dict[str, int], int]:
    """Return the columns without the rows in which one is missing, and what was missing."""
    missing = {name: missing_rows(column) for name, column in columns.items()}
    counts = {name: int(rows.sum()) for name, rows in missing.items() if rows.any()}
    if not counts:
        return columns, {}, 0
    incomplete = np.any(list(missing.values()), axis=0)
    if na_action == "raise":
        listed = ", ".join(f"{name} ({count})" for name, count in counts.items())
        raise FormulaError(
            f"values are missing in {row_list(incomplete)}; by column: {listed}. "
            'Fill them in, or leave those rows out: na_action="drop" (--na-action drop).'
        )
    if incomplete.all():
        raise FormulaError(f"every row has a missing value; by column: {counts}.")
    kept = {name: column[~incomplete] for name, column in columns.items()}
    return kept, counts, int(incomplete.sum())


def _check_constant(A: Array, names: list[str], meaning: str) -> None:
    for column, name in zip(A.T, names, strict=True):
        if np.ptp(column) <= 1e-12 * np.abs(column).max(initial=0.0):
            raise FormulaError(f"{name} is {column[0]:g} in every row: {meaning}.")
