"""scikit-learn's transformers as functions of x and of z."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, PolynomialFeatures, SplineTransformer

from sagdiv import FeatureMaps, KernelSAGDIV
from sagdiv.datasets import make_continuous
from sagdiv.features import KernelFeatures
from sagdiv.transformer_features import TransformerFeatures

TRANSFORMERS = [
    SplineTransformer(8),
    PolynomialFeatures(3),
    Nystroem(gamma=0.5, n_components=40, random_state=0),
    make_pipeline(PolynomialFeatures(2), Nystroem(n_components=20, random_state=0)),
]


@pytest.fixture(scope="module")
def data():
    return make_continuous("sin", 1000, random_state=0)


def fit(data, **parameters):
    return KernelSAGDIV(**parameters).fit(data.X, data.y, data.Z)


def test_columns_are_the_constant_the_coordinates_and_those_of_the_transformer(rng):
    A, weights = rng.normal(3, 5, size=(50, 2)), rng.randint(1, 4, 50).astype(float)
    features = TransformerFeatures(PolynomialFeatures(2)).fit(A, weights)
    found = features.transform(A)
    S = A - np.average(A, axis=0, weights=weights)
    S /= np.sqrt(np.average(S**2, axis=0, weights=weights))
    np.testing.assert_allclose(found[:, :3], np.column_stack([np.ones(50), S]))
    np.testing.assert_allclose(np.average(found[:, 3:], axis=0, weights=weights), 0, atol=1e-12)
    products = np.column_stack([S, S[:, 0] ** 2, S[:, 0] * S[:, 1], S[:, 1] ** 2])
    centred = products - np.average(products, axis=0, weights=weights)
    total = np.average(centred**2, axis=0, weights=weights).sum()
    np.testing.assert_allclose(found[:, 4:], centred / np.sqrt(total), atol=1e-12)
    assert [group.tolist() for group in features.groups_] == [[1], [2], [3, 4, 5, 6, 7, 8]]


@pytest.mark.parametrize("transformer", TRANSFORMERS, ids=repr)
def test_recovers_the_truth(data, transformer):
    X = data.sample_X(1000, random_state=1)
    for parameters in ({"x_features": transformer}, {"z_features": transformer}):
        error = np.mean((fit(data, **parameters).predict(X) - data.h_star(X)) ** 2)
        assert error < 0.3 if "x_features" in parameters else 0.06


@pytest.mark.parametrize("transformer", TRANSFORMERS, ids=repr)
def test_does_what_scikit_learn_does_with_estimators(data, transformer):
    model = fit(data, x_features=transformer, z_features=transformer)
    expected = model.predict(data.X)
    again = clone(model).fit(data.X, data.y, data.Z)
    np.testing.assert_array_equal(again.predict(data.X), expected)
    restored = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(restored.predict(data.X), expected)
    assert not hasattr(transformer, "n_features_in_")
    halves = KernelSAGDIV(x_features=transformer)
    halves.partial_fit(data.X[:500], data.y[:500], data.Z[:500])
    halves.partial_fit(data.X[500:], data.y[500:], data.Z[500:])
    assert halves.moments_.n == 1000
    assert np.mean((halves.predict(data.X) - data.h_star(data.X)) ** 2) < 0.3
    other = KernelSAGDIV(x_features=transformer).fit_moments(model.moments_, model.maps_)
    np.testing.assert_array_equal(other.predict(data.X), expected)


def test_units_of_x_do_not_matter(data):
    # Another unit is another order of the rows in which the map of z takes its centres.
    expected = fit(data, x_features=SplineTransformer()).predict(data.X)
    model = KernelSAGDIV(x_features=SplineTransformer()).fit(1e6 * data.X, data.y, data.Z)
    np.testing.assert_allclose(model.predict(1e6 * data.X), expected, atol=0.02)


def test_sparse_columns(data):
    bins = KBinsDiscretizer(5, encode="onehot", quantile_method="averaged_inverted_cdf")
    assert np.isfinite(fit(data, z_features=bins).predict(data.X)).all()


def test_saving_maps_of_transformers_is_refused(data, tmp_path):
    maps = fit(data, x_features=SplineTransformer()).maps_
    with pytest.raises(TypeError, match="TransformerFeatures has no to_arrays"):
        maps.save(tmp_path / "maps.npz")


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ("poly", "x_features must be an object that offers fit, transform; got 'poly'"),
        (KernelFeatures, "x_features is the class KernelFeatures; pass an instance of it"),
    ],
)
def test_what_is_no_map(data, features, message):
    with pytest.raises(TypeError, match=message):
        fit(data, x_features=features)


def test_frozen_maps_of_other_columns(data):
    one, two = (FrozenEstimator(KernelFeatures().fit(A)) for A in (data.X, data.Z))
    with pytest.raises(ValueError, match="x_features is fitted, to 2 columns, and X has 1; freeze"):
        fit(data, x_features=two)
    with pytest.raises(ValueError, match=r"z_features is fitted, to 1 columns, and Z .* has 2"):
        fit(data, z_features=one)
    maps = fit(data, x_features=one, z_features=two).maps_
    assert isinstance(maps, FeatureMaps)
