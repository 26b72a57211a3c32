"""Who sees which rows."""

import numpy as np
import pytest

from sagdiv.splitting import nuisance_split, random_folds


@pytest.mark.parametrize("n_rows", [9, 90, 91])
@pytest.mark.parametrize("fraction", [1 / 3, 0.5, 0.8])
def test_a_split_is_a_partition_of_the_asked_size(rng, n_rows, fraction):
    nuisance, descent = nuisance_split(n_rows, fraction, rng)
    assert sorted([*nuisance, *descent]) == list(range(n_rows))
    assert len(nuisance) == np.ceil(fraction * n_rows)


def test_one_lets_every_row_serve_both(rng):
    nuisance, descent = nuisance_split(10, 1, rng)
    assert sorted(nuisance) == sorted(descent) == list(range(10))


@pytest.mark.parametrize("fraction", [0.999, 0.001])
def test_neither_part_may_be_empty(rng, fraction):
    with pytest.raises(ValueError, match=r"nuisance_fraction=0\.\d+ leaves \d+ of 90 rows"):
        nuisance_split(90, fraction, rng)


@pytest.mark.parametrize(("n_rows", "n_folds"), [(10, 5), (11, 3), (2, 5)])
def test_folds_are_as_equal_as_possible(rng, n_rows, n_folds):
    sizes = np.bincount(random_folds(n_rows, n_folds, rng))
    assert sizes.sum() == n_rows
    assert len(sizes) == min(n_folds, n_rows)
    assert sizes.max() - sizes.min() <= 1
