"""A comparison as a small TOML file: scenarios, sizes, repetitions, and the methods compared.

The file is the whole truth about a row but for the code that made it: seeds follow from what is
written in it, and `Design.fingerprint` tells whether a row was made under the same settings.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import numpy as np

from sagdiv._types import Array
from sagdiv.datasets import IVSample
from sagdiv.experiments.budgets import Budget, Rule, most_of_each
from sagdiv.experiments.names import DesignError, construct, find, parameters

__all__ = ["Cell", "Design", "Method", "curve_grid", "seed_of"]

_CURVE_POINTS = 61
_CURVE_RANGE = (0.005, 0.995)


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
        Keyword arguments, as `construct` reads them.
    """

    name: str
    estimator: str
    budget: Rule = "triplets"
    params: Mapping[str, Any] = field(default_factory=dict)

    def build(self, seed: int) -> Any:
        """Return the estimator, unfitted; a ``random_state`` that it has is the seed."""
        make = find(self.estimator)
        arguments = {name: construct(value) for name, value in self.params.items()}
        if "random_state" in arguments:
            return make(**arguments)
        if "random_state" in parameters(make):
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
        most = most_of_each(cell.samples)
        drawn = find(self.data)(
            cell.scenario,
            most.n_triplets,
            n_extra=most.n_extra,
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
