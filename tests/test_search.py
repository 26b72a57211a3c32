"""The paper's search: a list, then ever finer around its best."""

import numpy as np
import pytest
import reference

from sagdiv.ridge import refine_search

GRID = [-3.0, -2.0, -1.0, 0.0, 1.0]


def bowl(x):
    return (x + 1.337) ** 2


def wiggly(x):
    return np.sin(5 * x) + x**2 / 3


@pytest.mark.parametrize("score", [bowl, wiggly])
@pytest.mark.parametrize("n_rounds", [1, 2, 3, 4])
def test_equals_the_paper(score, n_rounds):
    search = refine_search(score, GRID, offset=0.2, n_rounds=n_rounds)
    assert search.best == reference.paper_search(score, GRID, 0.2, n_rounds)


def test_gets_ten_times_closer_each_round():
    errors = [
        abs(refine_search(bowl, GRID, offset=0.2, n_rounds=k).best + 1.337) for k in (1, 2, 3, 4)
    ]
    assert np.all(np.array(errors) <= [0.5, 0.1, 0.01, 0.001])


def test_remembers_what_it_tried_and_tries_nothing_twice():
    calls = []

    def score(x):
        calls.append(x)
        return bowl(x)

    search = refine_search(score, GRID, offset=0.2)
    assert len(calls) == len(set(calls))
    np.testing.assert_array_equal(search.candidates, sorted(calls))
    np.testing.assert_array_equal(search.scores, [bowl(x) for x in sorted(calls)])
    assert search.scores.min() == bowl(search.best)


def test_values_that_are_not_finite_never_win():
    def score(x):
        return np.nan if x < -1 else -np.inf if x > 0.5 else bowl(x)

    assert refine_search(score, GRID, offset=0.2, n_rounds=1).best == -1.0


def test_nothing_finite_is_an_error():
    with pytest.raises(ValueError, match="no candidate of the search has a finite score"):
        refine_search(lambda x: np.nan, GRID, offset=0.2)
