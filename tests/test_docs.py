"""The documentation speaks of things that exist."""

import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest

from sagdiv.descent import descend

DOCS = Path(__file__).parents[1] / "docs"
NAMES = sorted(set(re.findall(r"`(sagdiv\.[\w.]+)`", (DOCS / "notation.md").read_text())))


@pytest.mark.parametrize("name", NAMES)
def test_every_name_of_the_notation_exists(name):
    parts = name.split(".")
    module = next(
        ".".join(parts[:k]) for k in range(len(parts), 0, -1) if _is_module(".".join(parts[:k]))
    )
    found = import_module(module)
    for part in parts[len(module.split(".")) :]:
        if not hasattr(found, part):
            assert part in getattr(found, "__annotations__", {}), f"{name}: no {part}"
            return
        found = getattr(found, part)


def test_parameters_named_in_the_notation_exist():
    text = (DOCS / "notation.md").read_text()
    pairs = re.findall(r"`(\w+)` in `(sagdiv\.[\w.]+)`", text)
    assert pairs
    for parameter, path in pairs:
        owner, *attributes = path.removeprefix("sagdiv.").split(".")
        found = getattr(import_module("sagdiv"), owner)
        for attribute in attributes:
            found = getattr(found, attribute)
        assert parameter in inspect.signature(found).parameters, f"{path} has no {parameter}"


def test_the_algorithm_on_the_page_is_the_one_that_runs():
    assert inspect.getsource(descend) in (DOCS / "algorithm.md").read_text()


def _is_module(name):
    try:
        import_module(name)
    except ModuleNotFoundError:
        return False
    return True
