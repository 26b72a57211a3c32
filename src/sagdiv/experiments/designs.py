"""A comparison as a small TOML file: scenarios, sizes, repetitions, and the methods compared.

The file is the whole truth about a row but for the code that made it: seeds follow from what is
written in it, and `Design.fingerprint` tells whether a row was made under the same settings.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, fields
from hashlib import sha256
from inspect import signature
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import numpy as np

from sagdiv._types import Array
from sagdiv.datasets import IVSample
from sagdiv.experiments.budgets import Budget, Rule, share_out

__all__ = ["Cell", "Design", "DesignError", "Method", "read_design", "seed_of"]

_CURVE_POINTS = 61
_CURVE_RANGE = (0.005, 0.995)


class DesignError(ValueError):
    """Something in a design file is not as it must be."""


@dataclass(frozen=True)
class Cell:
    """One simulated data set, which all methods share."""

    scenario: str
    samples: int
    repetition: int


@dataclass(frozen=True)
class Method:
    """An estimator under a name.

    Attributes
    ----------
    name : str
    estimator : str
        Dotted name of a class, or of a function that returns an estimator.
    budget : {"triplets", "triplets and instruments"}
    params : mapping
        Keyword arguments. A table with a key ``class`` stands for an object of that class, made
        with the other keys; a table with the one key ``object`` for what has that dotted name.
    """

    name: str
    estimator: str
    budget: Rule = "triplets"
    params: Mapping[str, Any] = field(default_factory=dict)

    def build(self, seed: int) -> Any:
        """Return the estimator, unfitted; a ``random_state`` that it has is the seed."""
        make = _find(self.estimator)
        arguments = {name: _construct(value) for name, value in self.params.items()}
        if "random_state" in arguments:
            return make(**arguments)
        if "random_state" in _parameters(make):
            return make(random_state=seed, **arguments)
        model = make(**arguments)  # a function of **settings, perhaps, that makes a seeded one
        if hasattr(model, "get_params") and "random_state" in model.get_params(deep=False):
            model.set_params(random_state=seed)
        return model


@dataclass(frozen=True)
class Design:
    """Scenarios x sizes x repetitions x methods.

    Attributes
    ----------
    name : str
        Of the file, without its ending.
    title : str
    data : str
        Dotted name of ``f(scenario, n, n_extra=..., random_state=...)`` that returns an
        `sagdiv.datasets.IVSample`.
    scenarios : tuple of str
    samples : tuple of int
        Numbers of random variables, shared out as each method needs them.
    repetitions : int
    methods : tuple of Method
    base_seed : int
    test_points : int
        Fresh X on which the error is taken.
    time_limit : float
        Seconds for fit and prediction together.
    """

    name: str
    title: str
    data: str
    scenarios: tuple[str, ...]
    samples: tuple[int, ...]
    repetitions: int
    methods: tuple[Method, ...]
    base_seed: int = 0
    test_points: int = 1000
    time_limit: float = 600.0

    def cells(self) -> Iterator[Cell]:
        """Yield every data set, repetitions outermost: a run cut short has compared all."""
        for repetition in range(self.repetitions):
            for samples in self.samples:
                for scenario in self.scenarios:
                    yield Cell(scenario, samples, repetition)

    def method(self, name: str) -> Method:
        """Return the method of that name."""
        for method in self.methods:
            if method.name == name:
                return method
        known = ", ".join(method.name for method in self.methods)
        raise DesignError(f"{self.name} has no method {name!r}; there are: {known}.")

    def sample(self, cell: Cell, budget: Budget) -> IVSample:
        """Return the data of a cell; with a smaller budget, the first rows of the same."""
        most = share_out(cell.samples)
        extra = share_out(cell.samples, "triplets and instruments").n_extra
        drawn = _find(self.data)(
            cell.scenario,
            most.n_triplets,
            n_extra=extra,
            random_state=self._seed("data", cell),
        )
        rows = slice(budget.n_triplets)
        Z_extra = drawn.Z_extra[: budget.n_extra] if budget.n_extra else None
        return IVSample(drawn.X[rows], drawn.y[rows], drawn.Z[rows], Z_extra, drawn.design)

    def test_X(self, cell: Cell, data: IVSample) -> Array:
        """Return the fresh X on which all methods of a cell are compared."""
        return data.sample_X(self.test_points, random_state=self._seed("test", cell))

    def method_seed(self, cell: Cell, method: Method) -> int:
        """Return the seed of whatever a method draws in a cell."""
        return self._seed("method", cell, method.name)

    def fingerprint(self, cell: Cell, method: Method) -> str:
        """Return a digest of all settings that a row depends on."""
        settings = {
            "data": self.data,
            "base_seed": self.base_seed,
            "test_points": self.test_points,
            "cell": [cell.scenario, cell.samples, cell.repetition],
            "method": [method.name, method.estimator, method.budget, method.params],
        }
        return sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:16]

    def _seed(self, purpose: str, cell: Cell, *more: str) -> int:
        return seed_of(self.base_seed, purpose, cell.scenario, cell.samples, cell.repetition, *more)


def curve_grid(X: Array) -> Array:
    """Return the points at which curves are drawn: the bulk of a single regressor's range."""
    low, high = np.quantile(X[:, 0], _CURVE_RANGE)
    return np.linspace(low, high, _CURVE_POINTS)[:, None]


def seed_of(*parts: Any) -> int:
    """Return a seed below 2^32 that depends on every part and on nothing else."""
    return int.from_bytes(sha256(json.dumps(parts).encode()).digest()[:4], "big")


def read_design(path: str | Path) -> Design:
    """Read a design file and check all that can be checked before anything runs."""
    path = Path(path)
    with path.open("rb") as file:
        try:
            content = tomllib.load(file)
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise DesignError(f"{path} is not a TOML file: {error}.") from error
    known = {f.name for f in fields(Design)} - {"name"}
    _check_keys(content, known, {"title", "data", "scenarios", "methods"}, str(path))
    methods = content.pop("methods")
    if not isinstance(methods, dict) or not methods:
        raise DesignError(f"{path}: methods must be tables, [methods.NAME], at least one.")
    design = Design(
        name=path.stem,
        methods=tuple(_method(name, table) for name, table in methods.items()),
        scenarios=tuple(_several(content.pop("scenarios"), "scenarios", str)),
        samples=tuple(_several(content.pop("samples", [3000]), "samples", int)),
        **{"repetitions": 20} | content,
    )
    _check(design)
    return design


def _method(name: str, table: Any) -> Method:
    if not isinstance(table, dict):
        raise DesignError(f"methods.{name} must be a table.")
    _check_keys(table, {"estimator", "budget", "params"}, {"estimator"}, f"methods.{name}")
    return Method(name, **table)


def _check(design: Design) -> None:
    for name in ("repetitions", "test_points"):
        value = getattr(design, name)
        if type(value) is not int or value < 1:
            raise DesignError(f"{name} must be a positive whole number, got {value!r}.")
    if type(design.base_seed) is not int:
        raise DesignError(f"base_seed must be a whole number, got {design.base_seed!r}.")
    if not isinstance(design.time_limit, int | float) or not design.time_limit > 0:
        raise DesignError(f"time_limit must be a positive number, got {design.time_limit!r}.")
    draw = _find(design.data)
    for scenario in design.scenarios:
        try:
            draw(scenario, 1, random_state=0)
        except ValueError as error:
            raise DesignError(f"data = {design.data!r} refuses {scenario!r}: {error}") from error
    for method in design.methods:
        try:
            model = method.build(0)
            for samples in design.samples:
                share_out(samples, method.budget)
        except (ValueError, TypeError) as error:
            raise DesignError(f"methods.{method.name}: {error}") from error
        missing = [name for name in ("fit", "predict") if not hasattr(model, name)]
        if missing:
            raise DesignError(
                f"methods.{method.name}: {method.estimator} gives {model!r}, which has no "
                f"{' and no '.join(missing)}."
            )


def _check_keys(table: Mapping[str, Any], known: set[str], needed: set[str], where: str) -> None:
    unknown, missing = sorted(set(table) - known), sorted(needed - set(table))
    if unknown:
        raise DesignError(
            f"{where} has {', '.join(unknown)}, which is unknown; known are "
            f"{', '.join(sorted(known))}."
        )
    if missing:
        raise DesignError(f"{where} lacks {', '.join(missing)}.")


def _several(value: Any, name: str, kind: type) -> list[Any]:
    if not isinstance(value, list) or not value or {type(item) for item in value} != {kind}:
        raise DesignError(f"{name} must be a list of {kind.__name__}, got {value!r}.")
    if len(set(value)) < len(value):
        raise DesignError(f"{name} names something twice: {value!r}.")
    return value


def _construct(value: Any) -> Any:
    if isinstance(value, Mapping) and "class" in value:
        arguments = {k: _construct(v) for k, v in value.items() if k != "class"}
        return _find(value["class"])(**arguments)
    if isinstance(value, Mapping) and set(value) == {"object"}:
        return _find(value["object"])
    if isinstance(value, Mapping):
        return {k: _construct(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_construct(item) for item in value]
    return value


def _parameters(make: Any) -> Collection[str]:
    try:
        return signature(make).parameters
    except (TypeError, ValueError):  # not callable, or compiled without a signature
        return ()


def _find(name: str) -> Any:
    try:
        return resolve_name(name)
    except (AttributeError, ModuleNotFoundError, ValueError, TypeError) as error:
        raise DesignError(f"there is no {name!r} to import: {error}") from error
