"""Fixtures shared by all tests."""

import numpy as np
import pytest

from sagdiv.datasets import make_continuous, make_gaussian


@pytest.fixture
def rng():
    # Not a seed of the simulated data, whose stream it would repeat.
    return np.random.RandomState(20240)


@pytest.fixture(scope="session")
def sample():
    """A small draw of the continuous design with further instrument values."""
    return make_continuous("sin", 90, n_extra=60, random_state=0)


@pytest.fixture(scope="session")
def gaussian_sample():
    return make_gaussian(300, n_extra=300, random_state=0)


@pytest.fixture
def global_state_untouched():
    """Fail a test that draws from, or seeds, the global random state of NumPy."""
    before = np.random.get_state()  # noqa: NPY002
    yield
    after = np.random.get_state()  # noqa: NPY002
    assert before[0] == after[0]
    assert before[2:] == after[2:]
    np.testing.assert_array_equal(before[1], after[1])
