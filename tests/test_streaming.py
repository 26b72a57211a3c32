"""Blocks, files and machines: the same function as one fit on all rows together."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.frozen import FrozenEstimator

from sagdiv import FeatureMaps, KernelSAGDIV, Moments
from sagdiv.datasets import make_continuous
from sagdiv.losses import LogisticLoss

BLOCKS = [slice(0, 1000), slice(1000, 1001), slice(1001, 3000)]


@pytest.fixture(scope="module")
def data():
    return make_continuous("sin", 3000, random_state=0)


def frozen(maps):
    return {"x_features": FrozenEstimator(maps.x), "z_features": FrozenEstimator(maps.z)}


def in_blocks(data, blocks=BLOCKS, weights=None, **parameters):
    model = KernelSAGDIV(**parameters)
    for rows in blocks:
        model.partial_fit(
            data.X[rows],
            data.y[rows],
            data.Z[rows],
            sample_weight=None if weights is None else weights[rows],
        )
    return model


def assert_same_function(a, b, data):
    np.testing.assert_allclose(a.predict(data.X), b.predict(data.X), rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(
        a.predict_projected(data.Z), b.predict_projected(data.Z), rtol=1e-8, atol=1e-8
    )


@pytest.mark.parametrize("weighted", [False, True])
def test_blocks_give_the_function_of_one_fit_with_the_same_maps(data, rng, weighted):
    weights = rng.rand(3000) if weighted else None
    model = in_blocks(data, weights=weights)
    whole = KernelSAGDIV(**frozen(model.maps_)).fit(data.X, data.y, data.Z, sample_weight=weights)
    assert_same_function(model, whole, data)


def test_the_first_block_places_the_maps(data):
    first = KernelSAGDIV().fit(data.X[:1000], data.y[:1000], data.Z[:1000])
    np.testing.assert_array_equal(in_blocks(data).maps_.origin, first.maps_.origin)


def test_given_maps_are_kept_and_order_does_not_matter(data):
    maps = KernelSAGDIV().fit(data.X, data.y, data.Z).maps_
    forth, back = (in_blocks(data, blocks, **frozen(maps)) for blocks in (BLOCKS, BLOCKS[::-1]))
    assert_same_function(forth, back, data)
    assert_same_function(forth, KernelSAGDIV().fit(data.X, data.y, data.Z), data)


def test_partial_fit_goes_on_after_fit_and_fit_starts_anew(data):
    model = KernelSAGDIV().fit(data.X[:1000], data.y[:1000], data.Z[:1000])
    model.partial_fit(data.X[1000:], data.y[1000:], data.Z[1000:])
    assert_same_function(model, in_blocks(data), data)
    again = model.fit(data.X[:1000], data.y[:1000], data.Z[:1000])
    assert again.moments_.n == 1000


def test_two_machines_and_files_between_them(data, tmp_path):
    start = KernelSAGDIV().fit(data.X[:1000], data.y[:1000], data.Z[:1000])
    start.maps_.save(tmp_path / "maps.npz")
    for i, rows in enumerate(BLOCKS):  # each of these could run anywhere
        maps = FeatureMaps.load(tmp_path / "maps.npz")
        maps.moments(data.X[rows], data.y[rows], data.Z[rows]).save(tmp_path / f"{i}.npz")
    first, *others = (Moments.load(tmp_path / f"{i}.npz") for i in range(3))
    model = KernelSAGDIV().fit_moments(sum(others, start=first), start.maps_)
    assert_same_function(model, in_blocks(data), data)
    assert (model.n_features_in_, model.n_instruments_in_) == (1, 2)
    assert model.score(data.X, data.y, data.Z) == pytest.approx(
        in_blocks(data).score(data.X, data.y, data.Z), rel=1e-8
    )
    model.partial_fit(data.X[:10], data.y[:10], data.Z[:10])
    assert model.moments_.n == 3010


def test_moments_with_exogenous_columns(data):
    X = np.column_stack([data.X, data.Z[:, 1]])
    whole = KernelSAGDIV(exogenous=[1]).fit(X, data.y, data.Z)
    maps = whole.maps_
    moments = maps.moments(X, data.y, np.column_stack([data.Z, X[:, 1]]))
    model = KernelSAGDIV(exogenous=[1]).fit_moments(moments, maps)
    np.testing.assert_allclose(model.predict(X), whole.predict(X), rtol=1e-10)
    np.testing.assert_allclose(
        model.predict_projected(data.Z, X), whole.predict_projected(data.Z, X), rtol=1e-10
    )


def test_a_fold_can_be_taken_out_again(data):
    model = KernelSAGDIV().fit(data.X, data.y, data.Z)
    fold = model.maps_.moments(data.X[:500], data.y[:500], data.Z[:500])
    without = KernelSAGDIV().fit_moments(model.moments_ - fold, model.maps_)
    direct = KernelSAGDIV(**frozen(model.maps_)).fit(data.X[500:], data.y[500:], data.Z[500:])
    assert_same_function(without, direct, data)


# What does not belong together


@pytest.mark.parametrize("parameters", [{"loss": LogisticLoss()}, {"batch_size": 10}])
@pytest.mark.parametrize("method", ["partial_fit", "fit_moments"])
def test_only_the_squared_loss_is_known_from_moments(parameters, method):
    model = KernelSAGDIV(**parameters)
    assert not hasattr(model, method)
    with pytest.raises(AttributeError, match=f"no attribute '{method}'") as refusal:
        getattr(model, method)
    assert "for the squared loss without batch_size only; use fit" in str(refusal.value.__cause__)


def test_blocks_of_another_width_or_without_instruments(data):
    model = in_blocks(data, BLOCKS[:1])
    with pytest.raises(ValueError, match="X has 2 features, but KernelSAGDIV is expecting 1"):
        model.partial_fit(data.Z, data.y, data.Z)
    with pytest.raises(ValueError, match="Z has 1 columns, but the instruments of the fit had 2"):
        model.partial_fit(data.X, data.y, data.Z[:, :1])
    with pytest.raises(ValueError, match="Z is missing, but the blocks before this one had"):
        model.partial_fit(data.X, data.y)
    with pytest.raises(ValueError, match="Found array with 0 sample"):
        model.partial_fit(data.X[:0], data.y[:0], data.Z[:0])
    assert model.moments_.n == 1000  # nothing of this was counted


@pytest.mark.filterwarnings("ignore::sagdiv.exceptions.NoInstrumentWarning")
def test_instruments_that_come_late(data):
    model = KernelSAGDIV().partial_fit(data.X, data.y)
    with pytest.raises(ValueError, match="Z was given, but the blocks before this one had none"):
        model.partial_fit(data.X, data.y, data.Z)


def test_blocks_with_other_names(data):
    X, Z = pd.DataFrame(data.X, columns=["price"]), pd.DataFrame(data.Z, columns=["tax", "rain"])
    model = KernelSAGDIV().partial_fit(X, data.y, Z)
    with pytest.raises(ValueError, match="feature names should match"):
        model.partial_fit(X.rename(columns={"price": "size"}), data.y, Z)
    with pytest.raises(ValueError, match=r"columns of Z are \['rain', 'tax'\], but"):
        model.partial_fit(X, data.y, Z[["rain", "tax"]])


def test_a_first_block_that_is_too_small(data):
    with pytest.raises(ValueError, match="minimum of 9 is required"):
        in_blocks(data, [slice(0, 8)])


# The page about it

PAGE = Path(__file__).parents[1] / "docs" / "scaling.md"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # a cluster of processes has warnings of its own
def test_the_examples_of_the_page_run(tmp_path, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.chdir(tmp_path)
    page = {}
    for example in re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL):
        exec(compile(example, str(PAGE), "exec"), page)
    rows = page["X"]
    assert page["together"].moments_.n == 20_000
    np.testing.assert_allclose(page["distributed"].coef_, page["model"].coef_, rtol=1e-6, atol=1e-6)
    for name in ("stream", "together"):
        difference = page[name].predict(rows) - page["model"].predict(rows)
        assert np.mean(difference**2) < 1e-3  # other maps, the same function
