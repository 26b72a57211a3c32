"""Laws of step sizes: positive, and tabulated as asked."""

import numpy as np
import pytest
from registry import STEPS

from sagdiv.steps import inverse_sqrt, step_sizes


def negative_at_five(m):
    return -0.5 if m == 5 else 1.0


@pytest.mark.parametrize("case", STEPS)
@pytest.mark.parametrize("n_steps", [1, 7, 100])
def test_positive_and_one_for_each_step(case, n_steps):
    alphas = step_sizes(case.component, n_steps)
    assert alphas.shape == (n_steps,)
    assert (alphas > 0).all()


def test_values():
    np.testing.assert_allclose(step_sizes(None, 400), 0.05)  # the paper's 1 / sqrt(M)
    np.testing.assert_allclose(step_sizes(None, 400, curvature=2.5), 0.02)
    np.testing.assert_allclose(step_sizes(0.25, 3), 0.25)
    np.testing.assert_allclose(step_sizes(inverse_sqrt, 9)[[0, 3, 8]], [1, 1 / 2, 1 / 3])


@pytest.mark.parametrize("step", [0, -1.0, np.nan, np.inf, "big"])
def test_numbers_must_be_positive(step):
    with pytest.raises(ValueError, match=r"step must be a positive number, got"):
        step_sizes(step, 10)


def test_the_worst_step_of_a_schedule_is_named():
    with pytest.raises(ValueError, match=r"positive, finite learning rates; alpha_5 is -0\.5"):
        step_sizes(negative_at_five, 10)
