"""Fixtures of the tests that need torch."""

from importlib.util import find_spec

import numpy as np
import pytest

if find_spec("torch") is None:
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture
def torch_state_untouched():
    """Fail a test that draws from, or seeds, the global random state of torch or NumPy."""
    import torch

    before = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    yield
    assert torch.equal(torch.get_rng_state(), before[0])
    np.testing.assert_array_equal(np.random.get_state()[1], before[1])  # noqa: NPY002
