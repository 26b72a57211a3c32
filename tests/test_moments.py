"""Moments are a monoid, and every symbol of theirs is the sum it is named after."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sagdiv import FeatureMaps, KernelSAGDIV, Moments
from sagdiv.datasets import make_continuous
from sagdiv.features import KernelFeatures
from sagdiv.rows import RowBlocks


@pytest.fixture
def rows(rng):
    """Features of x, features of z, y and weights."""
    return rng.normal(size=(50, 3)), rng.normal(size=(50, 2)), rng.normal(size=50), rng.rand(50)


@pytest.fixture(scope="module")
def data():
    return make_continuous("sin", 5000, random_state=0)


@pytest.fixture(scope="module")
def maps(data):
    return KernelSAGDIV().fit(data.X, data.y, data.Z).maps_


def assert_close(a, b):
    assert a.bx == b.bx
    np.testing.assert_allclose(a.n, b.n, rtol=1e-13)
    np.testing.assert_allclose(a.gram, b.gram, rtol=1e-12, atol=1e-10)


def test_every_symbol_is_its_sum(rows):
    moments = Moments.of(*rows)
    n, Gx, Gz, C, cx, cz, yy = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for phi, psi, y, w in zip(*rows, strict=True):
        n += w
        Gx, Gz, C = (
            Gx + w * np.outer(phi, phi),
            Gz + w * np.outer(psi, psi),
            C + w * np.outer(phi, psi),
        )
        cx, cz, yy = cx + w * phi * y, cz + w * psi * y, yy + w * y**2
    for name, expected in {
        "n": n,
        "Gx": Gx,
        "Gz": Gz,
        "C": C,
        "cx": cx,
        "cz": cz,
        "yy": yy,
    }.items():
        np.testing.assert_allclose(getattr(moments, name), expected, rtol=1e-12, err_msg=name)
        np.testing.assert_allclose(
            getattr(moments.averages, name), expected / n, rtol=1e-12, err_msg=name
        )


def test_sums_that_agree_are_one_element_of_a_set(rows):
    assert len({Moments.of(*rows), Moments.of(*rows)}) == 1


def test_swapped_exchanges_the_roles(rows):
    phi, psi, y, w = rows
    swapped = Moments.of(phi, psi, y, w).swapped
    assert_close(swapped, Moments.of(psi, phi, y, w))
    assert swapped.swapped == Moments.of(phi, psi, y, w)


@given(cuts=st.lists(st.integers(0, 40), max_size=5))
def test_blocks_add_up_to_the_whole(cuts):
    rng = np.random.RandomState(1)
    phi, psi, y = rng.normal(size=(40, 3)), rng.normal(size=(40, 2)), rng.normal(size=40)
    total = Moments.of(phi[:0], psi[:0], y[:0])
    for part in np.split(np.arange(40), sorted(cuts)):
        total = total + Moments.of(phi[part], psi[part], y[part])
    assert_close(total, Moments.of(phi, psi, y))


def test_addition_is_associative_and_commutative(rows):
    a, b, c = (Moments.of(*(A[part] for A in rows)) for part in np.split(np.arange(50), [10, 25]))
    assert_close((a + b) + c, a + (b + c))
    assert a + b == b + a


def test_subtraction_is_exact():
    # On sums that are exact themselves: integers of moderate size.
    rng = np.random.RandomState(0)
    a, b = (
        Moments.of(*(rng.randint(-9, 9, (30, k)).astype(float) for k in (3, 2)), np.ones(30))
        for _ in range(2)
    )
    assert (a + b) - b == a


def test_integer_weights_are_repeated_rows(rows, rng):
    times = rng.randint(0, 4, 50)
    repeated = (np.repeat(A, times, axis=0) for A in rows[:3])
    assert_close(Moments.of(*rows[:3], times.astype(float)), Moments.of(*repeated))


def test_single_precision_is_summed_in_double(rows):
    phi, psi, y, w = rows
    single = Moments.of(phi.astype(np.float32), psi.astype(np.float32), y, w)
    assert single.gram.dtype == np.float64
    np.testing.assert_allclose(single.gram, Moments.of(phi, psi, y, w).gram, atol=1e-4)


@pytest.mark.parametrize("block_rows", [1, 100, 8192])
def test_the_size_of_blocks_does_not_matter(data, maps, monkeypatch, block_rows):
    X, y, Z = data.X[:300], data.y[:300], data.Z[:300]
    whole = maps.block_moments(X, y, Z, np.ones(300))
    monkeypatch.setattr("sagdiv.rows._BLOCK_ROWS", block_rows)
    assert_close(maps.moments(X, y, Z), whole)


def test_the_number_of_threads_does_not_matter(data, maps):
    one, two = (
        RowBlocks(data.X, data.y, data.Z, np.ones(5000), n_jobs).total(maps.block_moments)
        for n_jobs in (1, 2)
    )
    assert one == two


# Files


def test_moments_are_saved_to_the_last_bit(data, maps, tmp_path):
    moments = maps.moments(data.X, data.y, data.Z)
    moments.save(tmp_path / "moments")  # the name is kept as it is
    assert Moments.load(tmp_path / "moments") == moments
    np.testing.assert_array_equal(Moments.load(tmp_path / "moments").origin, moments.origin)
    bare = Moments.of(np.ones((2, 1)), np.ones((2, 1)))
    bare.save(tmp_path / "bare")
    assert Moments.load(tmp_path / "bare") == bare
    assert Moments.load(tmp_path / "bare").origin is None


def test_maps_are_saved_to_the_last_bit(data, maps, tmp_path):
    maps.save(tmp_path / "maps.npz")
    for copy in (FeatureMaps.load(tmp_path / "maps.npz"), pickle.loads(pickle.dumps(maps))):
        np.testing.assert_array_equal(copy.x.transform(data.X), maps.x.transform(data.X))
        np.testing.assert_array_equal(copy.z.transform(data.Z), maps.z.transform(data.Z))
        assert copy.x.get_params() == maps.x.get_params()
        for ours, theirs in zip(copy.z.groups_, maps.z.groups_, strict=True):
            np.testing.assert_array_equal(ours, theirs)


def test_files_hold_no_pickles(data, maps, tmp_path):
    maps.save(tmp_path / "maps.npz")
    maps.moments(data.X, data.y, data.Z).save(tmp_path / "moments.npz")
    for name in ("maps.npz", "moments.npz"):
        with np.load(tmp_path / name, allow_pickle=False) as file:
            assert all(file[key].dtype.kind in "fiuU" for key in file)


def test_a_file_of_something_else_is_refused(tmp_path):
    np.savez(tmp_path / "other.npz", a=np.ones(3))
    with pytest.raises(ValueError, match=r"other.npz does not hold moments"):
        Moments.load(tmp_path / "other.npz")
    with pytest.raises(ValueError, match=r"other.npz holds no feature maps"):
        FeatureMaps.load(tmp_path / "other.npz")


class OwnFeatures:
    n_features_in_ = 1


def test_maps_that_cannot_be_saved_say_so(tmp_path):
    with pytest.raises(TypeError, match="OwnFeatures has no to_arrays"):
        FeatureMaps(OwnFeatures(), OwnFeatures()).save(tmp_path / "maps.npz")


# What does not belong together


def test_moments_of_other_sizes_are_not_added(rows):
    phi, psi, y, _ = rows
    with pytest.raises(ValueError, match=r"moments of 3 \+ 2 features and of 2 \+ 2 do not belong"):
        Moments.of(phi, psi, y) + Moments.of(phi[:, :2], psi, y)
    with pytest.raises(ValueError, match="same FeatureMaps"):
        Moments.of(phi, psi, y) - Moments.of(phi, psi[:, :1], y)


def test_moments_of_other_maps_are_not_added(data):
    X, y, Z = data.X[:1000], data.y[:1000], data.Z[:1000]
    small = KernelFeatures(n_per_coordinate=4, n_joint=5)
    one = KernelSAGDIV(x_features=small, z_features=small).fit(X, y, Z)
    two = KernelSAGDIV(x_features=small, z_features=small).fit(data.X, data.y, data.Z)
    with pytest.raises(ValueError, match="of different features; take all of them with the same"):
        one.moments_ + two.moments_
    with pytest.raises(ValueError, match="of different features; take all of them with the same"):
        KernelSAGDIV().fit_moments(one.moments_, two.maps_)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": np.ones((5000, 2))}, "X has 2 columns, but the features are of 1"),
        ({"Z": np.ones((5000, 3))}, "Z has 3 columns, but the features are of 2"),
        ({"y": np.ones(4999)}, r"len\(y\) = 4999"),
        ({"y": np.full(5000, np.nan)}, "Input y contains NaN"),
        ({"sample_weight": -np.ones(5000)}, "sample_weight must not be negative"),
    ],
)
def test_bad_rows(data, maps, change, message):
    with pytest.raises(ValueError, match=message):
        maps.moments(**({"X": data.X, "y": data.y, "Z": data.Z} | change))
