"""How rough h may be: what the bands take the data to leave open."""

import numpy as np
import pytest

from sagdiv import KernelSAGDIV
from sagdiv.datasets import make_continuous
from sagdiv.flow import Flow
from sagdiv.inference import analyse
from sagdiv.inference.roughness import plausible_norm


def flow_with(scores, noise=1e-4):
    b = np.append(0.0, scores)
    S = np.diag([1.0, *np.linspace(0.5, 0.1, len(scores))])
    return Flow(S, b, noise * np.eye(len(b)), 1)


# Scores that say nothing leave everything open, up to ten standard deviations of the noise.
def test_silent_scores_leave_the_most_open():
    deaf = flow_with(np.zeros(5), noise=1e6)
    assert plausible_norm(deaf, 1.0, 1.0, 0.3, 5) == pytest.approx(3.0)


# Scores that are well known to be small leave little open, and large ones more than the estimate.
def test_scores_bound_the_norm():
    assert plausible_norm(flow_with(np.zeros(5), noise=1e-8), 1e3, 1.0, 1.0, 5) < 0.1
    large = flow_with(np.full(5, 40.0))
    estimate = np.linalg.norm(large.scores / large.values)
    assert plausible_norm(large, 1e6, 1.0, 1.0, 5) == pytest.approx(1.25 * estimate)


# Adding a line to the outcome moves a band along it; other units stretch it.
def test_bands_follow_lines_and_units():
    data = make_continuous("sin", 400, random_state=0)
    grid = np.linspace(-2, 2, 5)[:, None]
    before, after = (
        analyse(KernelSAGDIV(total_step=2000.0), data.X, y, data.Z).bands(grid)
        for y in (data.y, 3 * data.y + 2 * data.X[:, 0])
    )
    np.testing.assert_allclose(after.estimate, 3 * before.estimate + 2 * grid[:, 0], atol=1e-6)
    np.testing.assert_allclose(after.standard_error, 3 * before.standard_error, rtol=1e-3)


# With two values the instrument tells a line: away from it the band has to be wide, not narrow.
def test_a_band_is_not_narrowest_where_least_is_known():
    data = make_continuous("abs", 1000, random_state=0)
    grid = np.linspace(-2, 2, 9)[:, None]
    fine, coarse = (
        analyse(KernelSAGDIV(), data.X, data.y, Z).bands(grid).standard_error
        for Z in (data.Z, (data.Z[:, :1] > 0).astype(float))
    )
    assert coarse.mean() > 1.3 * fine.mean()
