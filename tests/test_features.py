"""Laws of the feature maps."""

import pickle

import numpy as np
import pytest

from sagdiv.features import KernelFeatures
from sagdiv.kernels import KERNELS


@pytest.fixture(params=[1, 2, 4], ids="d={}".format)
def rows(request, rng):
    return rng.normal(size=(200, request.param)) * 10.0 ** np.arange(request.param) + 3


def test_a_constant_then_the_standardised_coordinates(rows):
    features = KernelFeatures().fit(rows)
    values = features.transform(rows)
    d = rows.shape[1]
    assert features.n_affine_ == 1 + d
    np.testing.assert_array_equal(values[:, 0], 1)
    np.testing.assert_allclose(
        values[:, 1 : 1 + d], (rows - rows.mean(axis=0)) / rows.std(axis=0), atol=1e-12
    )


def test_everything_but_the_constant_is_centred(rows):
    values = KernelFeatures().fit(rows).transform(rows)
    np.testing.assert_allclose(values[:, 1:].mean(axis=0), 0, atol=1e-8)


def test_groups_are_a_partition_of_the_columns_but_the_constant(rows):
    features = KernelFeatures().fit(rows)
    members = np.concatenate(features.groups_)
    assert sorted(members) == list(range(1, features.transform(rows).shape[1]))


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_block_reproduces_the_kernel_at_its_centres(rng, kernel):
    # Nystroem: (psi(c) + shift)'(psi(c') + shift) = k(c, c').
    rows = rng.normal(size=(100, 1))
    features = KernelFeatures(kernel, n_per_coordinate=6).fit(rows)
    block = features.blocks_[0]
    psi = block(block.centers) + block.shift
    K = KERNELS[kernel](block.centers, block.centers, block.length_scale)
    np.testing.assert_allclose(psi @ psi.T, K, atol=1e-6)


def test_units_do_not_matter(rows):
    values = KernelFeatures().fit(rows).transform(rows)
    in_other_units = rows * 2.0**20
    again = KernelFeatures().fit(in_other_units).transform(in_other_units)
    np.testing.assert_allclose(again, values, rtol=1e-12, atol=1e-12)


def test_integer_weights_are_repeated_rows(rng):
    # In one dimension; the centres of a joint block are the first distinct rows of either.
    rows, weights = rng.normal(size=(80, 1)), rng.randint(1, 4, 80)
    weighted = KernelFeatures().fit(rows, weights.astype(float))
    repeated = KernelFeatures().fit(np.repeat(rows, weights, axis=0))
    np.testing.assert_allclose(weighted.transform(rows), repeated.transform(rows), atol=1e-8)


def test_many_coordinates_share_the_centres(rng):
    rows = rng.normal(size=(150, 100))
    assert KernelFeatures().fit(rows).transform(rows).shape[1] < 500


def test_repeated_and_constant_values(rng):
    rows = np.column_stack([rng.randint(0, 2, 50), np.full(50, 7.0)]).astype(float)
    values = KernelFeatures().fit(rows).transform(rows)
    assert np.isfinite(values).all()


def test_columns_of_some_coordinates(rows):
    features = KernelFeatures().fit(rows)
    others = rows.copy()
    others[:, 0] += 1.0
    moved = (features.transform(others) != features.transform(rows)).any(axis=0)
    alone = features.columns_of(np.array([0]))
    assert moved[alone].all()
    rest = features.columns_of(np.arange(1, rows.shape[1]))
    assert not moved[rest].any()
    everything = features.columns_of(np.arange(rows.shape[1]))
    np.testing.assert_array_equal(
        np.sort(everything), np.arange(1, features.transform(rows).shape[1])
    )


def test_arrays_restore_the_map(rows):
    features = KernelFeatures("matern", length_scale=2.0, n_joint=5).fit(rows)
    arrays = {name: np.asarray(value) for name, value in features.to_arrays().items()}
    restored = KernelFeatures.from_arrays(arrays)
    np.testing.assert_array_equal(restored.transform(rows), features.transform(rows))
    assert restored.get_params() == features.get_params()
    assert restored.n_features_in_ == rows.shape[1]


def test_pickles_and_repeats(rows):
    features = KernelFeatures().fit(rows)
    copy = pickle.loads(pickle.dumps(features))
    np.testing.assert_array_equal(copy.transform(rows), features.transform(rows))
    np.testing.assert_array_equal(KernelFeatures().fit(rows).transform(rows), copy.transform(rows))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"kernel": "linear"}, r"kernel must be one of \['gaussian', 'matern'\], got 'linear'"),
        ({"length_scale": 0}, "length_scale must be a positive number"),
        ({"n_per_coordinate": 0}, "n_per_coordinate must be an integer of at least 1"),
        ({"n_joint": 1.5}, "n_joint must be an integer of at least 1"),
    ],
)
def test_bad_parameters(rng, parameters, message):
    with pytest.raises(ValueError, match=message):
        KernelFeatures(**parameters).fit(rng.normal(size=(20, 1)))
