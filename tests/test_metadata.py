"""Searches, pipelines and ensembles slice Z together with X, and pass it on."""

import numpy as np
import pytest
import sklearn
from sklearn.ensemble import BaggingRegressor
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, cross_validate
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from sagdiv import SAGDIV, KernelSAGDIV
from sagdiv.density_ratio import KernelDensityRatio
from sagdiv.operators import MeanEmbeddingOperator

ROWS = []  # how many rows each fit of Recording saw


class Recording(KernelDensityRatio):
    """A density ratio that refuses rows of X and Z that do not belong together.

    In the data of this file Z = 2 X + 1, also after any affine change of X.
    """

    def fit(self, X, Z):
        assert abs(np.corrcoef(X[:, 0], Z[:, 0])[0, 1]) > 1 - 1e-9
        ROWS.append(len(X))
        return super().fit(X, Z)


class RecordingScore(SAGDIV):
    """An estimator that looks at what its score is given."""

    def score(self, X, y, Z=None, sample_weight=None):
        np.testing.assert_allclose(Z, 2 * X + 1)
        np.testing.assert_allclose(y, np.sin(X[:, 0]))
        if sample_weight is not None:
            np.testing.assert_allclose(sample_weight, np.abs(X[:, 0]))
        return super().score(X, y, Z, sample_weight)


@pytest.fixture(autouse=True)
def routing():
    ROWS.clear()
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.fixture
def data(rng):
    X = rng.normal(size=(60, 1))
    return X, np.sin(X[:, 0]), 2 * X + 1


def recording(**parameters):
    return RecordingScore(
        Recording(ridge=0.1, random_state=0), MeanEmbeddingOperator(ridge=0.1), **parameters
    ).set_params(random_state=0)


def test_cross_validate_slices_z_in_fit_and_score(data):
    X, y, Z = data
    folds = KFold(4, shuffle=True, random_state=0)
    result = cross_validate(recording(), X, y, cv=folds, params={"Z": Z}, error_score="raise")
    assert ROWS == [15] * 4  # a third of 45
    assert np.isfinite(result["test_score"]).all()


def test_score_weights_are_sliced_too(data):
    X, y, Z = data
    params = {"Z": Z, "sample_weight": np.abs(X[:, 0])}
    model = recording().set_fit_request(Z=True)
    assert np.isfinite(cross_val_score(model, X, y, cv=3, params=params, error_score="raise")).all()


def test_grid_search_over_a_component_and_the_warm_up(sample):
    search = GridSearchCV(
        KernelSAGDIV.paper(random_state=0),
        {"density_ratio__bandwidth": [0.5, 2.0], "warm_up": [0, 10]},
        cv=3,
        error_score="raise",
    ).fit(sample.X, sample.y, Z=sample.Z)
    assert len(search.cv_results_["params"]) == 4
    assert search.best_score_ < 0  # minus a risk
    assert search.best_estimator_.density_ratio.bandwidth in (0.5, 2.0)
    best = search.best_estimator_
    assert search.score(sample.X, sample.y, Z=sample.Z) == best.score(sample.X, sample.y, sample.Z)


def test_grid_search_slices_z_and_passes_z_extra_whole(data, rng):
    X, y, Z = data
    search = GridSearchCV(recording(), {"warm_up": [0, 5]}, cv=4, error_score="raise")
    Z_extra = 2 * rng.normal(size=(35, 1)) + 1
    search.fit(X, y, Z=Z, Z_extra=Z_extra)
    assert ROWS == [45] * 8 + [60]
    np.testing.assert_array_equal(search.best_estimator_.path_.instruments, Z_extra)


def test_pipeline_passes_z_to_the_last_step_only(data):
    X, y, Z = data
    pipeline = Pipeline([("scale", StandardScaler()), ("model", recording())])
    pipeline.fit(X, y, Z=Z)
    assert ROWS == [20]
    # The components see the median heuristic only: an affine change of X does not matter.
    direct = recording().fit(X, y, Z)
    np.testing.assert_allclose(pipeline.predict(X), direct.predict(X), rtol=1e-6, atol=1e-9)


def test_pipeline_inside_cross_validation(sample):
    pipeline = Pipeline([("scale", StandardScaler()), ("model", KernelSAGDIV.paper())])
    pipeline.set_params(model__random_state=0)
    scores = cross_val_score(pipeline, sample.X, sample.y, cv=3, params={"Z": sample.Z},
                             error_score="raise")  # fmt: skip
    assert (scores < 0).all()


def test_bagging_slices_z(data):
    X, y, Z = data
    bagging = BaggingRegressor(recording(), n_estimators=3, max_samples=0.5, random_state=0)
    bagging.fit(X, y, Z=Z)
    assert ROWS == [10] * 3
    assert bagging.predict(X).shape == (60,)


def test_without_routing_a_direct_call_needs_none_of_this(data):
    X, y, Z = data
    with sklearn.config_context(enable_metadata_routing=False):
        model = recording().fit(X, y, Z)
        assert np.isfinite(model.score(X, y, Z))
