"""A design file in a folder of its own."""

import pytest

from sagdiv.experiments import Store, read_design

HEAD = """
title = "For tests"
data = "sagdiv.datasets.make_continuous"
scenarios = ["step", "sin"]
samples = [150]
repetitions = 2
base_seed = 7
test_points = 50
time_limit = 60
"""
METHODS = """
[methods."default"]
estimator = "sagdiv.KernelSAGDIV"

[methods."paper"]
estimator = "sagdiv.KernelSAGDIV.paper"
budget = "triplets and instruments"

[methods."2SLS"]
estimator = "sagdiv.baselines.TSLS"
"""


def misbehaving(*names):
    """Return the text of methods out of `experiments.misbehaving`."""
    return "\n".join(
        f'[methods."{name}"]\nestimator = "experiments.misbehaving.{name}"' for name in names
    )


@pytest.fixture
def write(tmp_path):
    """Write a design file and return its path."""

    def write(methods=METHODS, head=HEAD, name="design"):
        path = tmp_path / f"{name}.toml"
        path.write_text(head + methods, encoding="utf-8")
        return path

    return write


@pytest.fixture
def open_design(write, tmp_path):
    """Write a design file and return it with an empty store."""

    def open_design(*arguments, store="rows", **settings):
        return read_design(write(*arguments, **settings)), Store(tmp_path / f"{store}.jsonl")

    return open_design
