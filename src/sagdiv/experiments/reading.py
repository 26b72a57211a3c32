"""Reading a design file, and checking all that can be checked before anything runs."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import fields
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from sagdiv.datasets import IVSample
from sagdiv.experiments.budgets import share_out
from sagdiv.experiments.designs import Design, Method
from sagdiv.experiments.names import DesignError, find

__all__ = ["read_design"]

_FEW = 3  # rows drawn to see that a scenario can be


def read_design(path: str | Path) -> Design:
    """Read a design file and check it."""
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
    _check_numbers(design)
    _check_data(design)
    for method in design.methods:
        _check_method(design, method)
    return design


def _method(name: str, table: Any) -> Method:
    where = f"methods.{name}"
    if not isinstance(table, dict):
        raise DesignError(f"{where} must be a table.")
    _check_keys(table, {"estimator", "budget", "params"}, {"estimator"}, where)
    _check_text(table["estimator"], f"{where}.estimator")
    params = table.get("params", {})
    if not isinstance(params, dict):
        raise DesignError(f"{where}.params must be a table of arguments, got {params!r}.")
    _check_plain(params, f"{where}.params")
    return Method(name, **table)


def _check_numbers(design: Design) -> None:
    for name in ("title", "data"):
        _check_text(getattr(design, name), name)
    for name in ("repetitions", "test_points"):
        value = getattr(design, name)
        if type(value) is not int or value < 1:
            raise DesignError(f"{name} must be a positive whole number, got {value!r}.")
    if type(design.base_seed) is not int:
        raise DesignError(f"base_seed must be a whole number, got {design.base_seed!r}.")
    limit = design.time_limit
    if type(limit) not in (int, float) or not (limit > 0 and isfinite(limit)):
        raise DesignError(f"time_limit must be a positive number of seconds, got {limit!r}.")


def _check_data(design: Design) -> None:
    try:
        draw = find(design.data)
    except DesignError as error:
        raise DesignError(f"data: {error}") from error
    if not callable(draw):
        raise DesignError(f"data = {design.data!r} must name a function, and is {draw!r}.")
    for scenario in design.scenarios:
        where = f"data = {design.data!r}"
        try:
            sample = draw(scenario, _FEW, n_extra=_FEW, random_state=0)
        except ValueError as error:
            raise DesignError(f"{where} refuses {scenario!r}: {error}") from error
        except Exception as error:
            raise DesignError(f"{where} fails at {scenario!r}: {_words(error)}") from error
        _check_sample(sample, f"{where} at {scenario!r}")


def _check_sample(sample: Any, where: str) -> None:
    """Check that a simulated data set is one whose truth can be asked, and drawn from again."""
    if not isinstance(sample, IVSample):
        raise DesignError(
            f"{where} must return an sagdiv.datasets.IVSample, got a {type(sample).__name__}."
        )
    extra = 0 if sample.Z_extra is None else len(sample.Z_extra)
    lengths = {len(sample.X), len(sample.y), len(sample.Z), extra}
    if lengths != {_FEW}:
        raise DesignError(
            f"{where} must return n rows of X, y and Z and n_extra of Z_extra; asked for {_FEW} of "
            f"each, it returned {len(sample.X)}, {len(sample.y)}, {len(sample.Z)} and {extra}."
        )
    try:
        X = np.asarray(sample.sample_X(_FEW, random_state=0))
        h = np.asarray(sample.h_star(X), dtype=float)
    except Exception as error:
        raise DesignError(
            f"{where} must come with a design that has h_star(X) and draw(n, rng) -> X, y, Z: "
            f"{_words(error)}"
        ) from error
    if X.shape != sample.X.shape or h.shape != (_FEW,):
        raise DesignError(
            f"{where} must come with a design whose draw returns as many columns of X as the "
            f"sample has, and whose h_star returns a number for each row; got the shapes {X.shape} "
            f"and {h.shape} for {_FEW} rows."
        )


def _check_method(design: Design, method: Method) -> None:
    where = f"methods.{method.name}"
    try:
        model = method.build(0)
        for samples in design.samples:
            share_out(samples, method.budget)
    except (ValueError, TypeError) as error:
        raise DesignError(f"{where}: {error}") from error
    except Exception as error:
        raise DesignError(f"{where} cannot be made: {_words(error)}") from error
    missing = [name for name in ("fit", "predict") if not hasattr(model, name)]
    if missing:
        raise DesignError(
            f"{where}: {method.estimator} gives {model!r}, which has no {' and no '.join(missing)}."
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


def _check_text(value: Any, where: str) -> None:
    if not isinstance(value, str) or not value:
        raise DesignError(f"{where} must be a text, got {value!r}.")


def _check_plain(value: Any, where: str) -> None:
    """Check that a parameter is something of which there can be a fingerprint: TOML has dates."""
    if isinstance(value, dict):
        for key, inner in value.items():
            _check_plain(inner, f"{where}.{key}")
    elif isinstance(value, list):
        for inner in value:
            _check_plain(inner, where)
    elif not isinstance(value, bool | int | float | str):
        raise DesignError(f"{where} is a {type(value).__name__}; put {value} into quotes.")


def _several(value: Any, name: str, kind: type) -> list[Any]:
    if not isinstance(value, list) or not value or {type(item) for item in value} != {kind}:
        raise DesignError(f"{name} must be a list of {kind.__name__}, got {value!r}.")
    if len(set(value)) < len(value):
        raise DesignError(f"{name} names something twice: {value!r}.")
    return value


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
