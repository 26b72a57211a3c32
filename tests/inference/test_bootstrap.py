"""The nonparametric bootstrap of any estimator."""

import numpy as np
import pytest

from sagdiv import KernelSAGDIV
from sagdiv.baselines import KIV, TSLS
from sagdiv.datasets import make_continuous
from sagdiv.inference import analyse, bootstrap

GRID = [[-1.0], [0.0], [1.0]]


@pytest.fixture(scope="module")
def data():
    return make_continuous("linear", 200, random_state=2)


def test_reproducible_by_seed_and_whatever_the_number_of_jobs(data):
    draw = {
        (seed, jobs): bootstrap(
            TSLS(), data.X, data.y, data.Z, GRID, n_draws=10, n_jobs=jobs, random_state=seed
        ).draws
        for seed, jobs in [(0, None), (0, 2), (1, None)]
    }
    np.testing.assert_array_equal(draw[0, None], draw[0, 2])
    assert not np.array_equal(draw[0, None], draw[1, None])


# Every draw is a fit on rows that were drawn with replacement: a naive loop.
def test_equals_the_naive_loop(data):
    curves = bootstrap(TSLS(), data.X, data.y, data.Z, GRID, n_draws=3, random_state=0)
    seeds = np.random.RandomState(0).randint(2**31 - 1, size=3)
    for seed, draw in zip(seeds, curves.draws, strict=True):
        rows = np.random.RandomState(seed).randint(200, size=200)
        model = TSLS().fit(data.X[rows], data.y[rows], data.Z[rows])
        np.testing.assert_array_equal(draw, model.predict(GRID))
    np.testing.assert_array_equal(curves.estimate, TSLS().fit(data.X, data.y, data.Z).predict(GRID))


@pytest.mark.parametrize("estimator", [TSLS(), KIV()], ids=["TSLS", "KIV"])
def test_any_estimator(data, estimator):
    curves = bootstrap(estimator, data.X, data.y, data.Z, GRID, n_draws=20, random_state=0)
    band = curves.bands()
    assert np.all(band.uniform_lower <= band.lower)
    assert curves.contrast(2, 0).lower < curves.contrast(2, 0).upper


# Copies of a row in one cluster are drawn together: the spread is that of the distinct rows.
def test_clusters_are_drawn_as_a_whole(data):
    rows = np.repeat(np.arange(200), 4)
    copied = data.X[rows], data.y[rows], data.Z[rows]

    def spread(*args, **options):
        return bootstrap(TSLS(), *args, GRID, n_draws=200, random_state=0, **options).draws.std(0)

    alone, together = spread(data.X, data.y, data.Z), spread(*copied, cluster=rows)
    np.testing.assert_allclose(together, alone, rtol=0.3)
    np.testing.assert_allclose(spread(*copied), alone / 2, rtol=0.3)


# The sandwich and the bootstrap measure the same noise.
def test_agrees_with_the_sandwich():
    data = make_continuous("sin", 800, random_state=4)
    result = analyse(KernelSAGDIV(), data.X, data.y, data.Z)
    curves = bootstrap(KernelSAGDIV(), data.X, data.y, data.Z, GRID, n_draws=60, random_state=0)
    sandwich = result.linearisation.errors(result.model.maps_.x.transform(np.array(GRID)))
    ratio = sandwich.noise_error / curves.bands().standard_error
    assert np.all((ratio > 0.6) & (ratio < 1.6))


def test_bad_input(data):
    with pytest.raises(ValueError, match="n_draws must be an integer"):
        bootstrap(TSLS(), data.X, data.y, data.Z, GRID, n_draws=0)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        bootstrap(TSLS(), data.X, data.y[:-1], data.Z, GRID)
    with pytest.raises(ValueError, match="level must lie between 0 and 1"):
        bootstrap(TSLS(), data.X, data.y, data.Z, GRID, n_draws=2).bands(level=2)
