"""Data frames: names are kept, and other names are refused."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from sagdiv import SAGDIV


@pytest.fixture(params=[pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def frame(request):
    def make(A, names):
        return request.param({name: A[:, j] for j, name in enumerate(names)})

    return make


@pytest.fixture
def data(sample, frame):
    X = np.column_stack([sample.X, sample.Z[:, 1]])
    return frame(X, ["price", "size"]), sample.y, frame(sample.Z, ["tax", "size"])


@pytest.fixture
def model(data):
    return SAGDIV(random_state=0).fit(*data)


def test_names_are_kept(model):
    assert list(model.feature_names_in_) == ["price", "size"]
    assert list(model.instrument_names_in_) == ["tax", "size"]
    assert (model.n_features_in_, model.n_instruments_in_) == (2, 2)


def test_frames_and_arrays_give_the_same_answer(model, data, sample):
    X = np.column_stack([sample.X, sample.Z[:, 1]])
    same = SAGDIV(random_state=0).fit(X, sample.y, sample.Z)
    assert not hasattr(same, "instrument_names_in_")
    np.testing.assert_array_equal(model.predict(data[0]), same.predict(X))
    assert model.score(*data) == same.score(X, sample.y, sample.Z)


def test_outcome_and_instrument_may_be_series(sample, frame):
    y, z = (frame(a[:, None], ["a"])["a"] for a in (sample.y, sample.Z[:, 0]))
    model = SAGDIV(random_state=0).fit(sample.X, y, z)
    same = SAGDIV(random_state=0).fit(sample.X, sample.y, sample.Z[:, :1])
    np.testing.assert_array_equal(model.predict(sample.X), same.predict(sample.X))


@pytest.mark.parametrize("names", [["size", "price"], ["price", "weight"]])
def test_other_names_of_x_are_refused(model, sample, frame, names):
    X = frame(np.column_stack([sample.X, sample.X]), names)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(X)
    with pytest.raises(ValueError, match="feature names should match"):
        model.score(X, sample.y, sample.Z)


@pytest.mark.parametrize("names", [["size", "tax"], ["tax", "weight"]])
def test_other_names_of_z_are_refused(model, data, sample, frame, names):
    Z = frame(sample.Z, names)
    expected = rf"columns of Z are \['{names[0]}', '{names[1]}'\], but .* were \['tax', 'size'\]"
    with pytest.raises(ValueError, match=expected):
        model.score(data[0], data[1], Z)
    with pytest.raises(ValueError, match=expected):
        model.predict_projected(Z)
    with pytest.raises(ValueError, match=r"columns of Z_extra are"):
        SAGDIV().fit(*data, Z_extra=Z)


def test_a_refit_without_names_forgets_them(model, sample):
    model.fit(sample.X, sample.y, sample.Z)
    assert not hasattr(model, "feature_names_in_")
    assert not hasattr(model, "instrument_names_in_")
