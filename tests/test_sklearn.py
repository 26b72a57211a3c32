"""scikit-learn citizenship: what can be done with an estimator."""

import pickle

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from sagdiv import SAGDIV, KernelSAGDIV
from sagdiv.density_ratio import KernelDensityRatio
from sagdiv.losses import LogisticLoss
from sagdiv.sets import SupNormBall


def fit(sample, **parameters):
    model = KernelSAGDIV.paper(random_state=0, **parameters)
    return model.fit(sample.X, sample.y, sample.Z, sample.Z_extra)


def test_paper_is_the_configuration_of_the_paper_and_takes_overrides():
    model = KernelSAGDIV.paper(warm_up=7)
    assert isinstance(model, SAGDIV)
    assert model.convex_set.radius == 10
    assert model.step is None  # 1 / sqrt(M)
    assert (model.warm_up, KernelSAGDIV.paper().warm_up) == (7, 100)
    assert KernelSAGDIV.paper().density_ratio is not KernelSAGDIV.paper().density_ratio


def test_defaults_are_the_paper(sample):
    open_door = SAGDIV(random_state=0).fit(sample.X, sample.y, sample.Z, sample.Z_extra)
    np.testing.assert_array_equal(open_door.predict(sample.X), fit(sample).predict(sample.X))


@pytest.mark.parametrize("parameters", [{}, {"representation": "values"}, {"operator": "ratio"}])
@pytest.mark.parametrize("extra", [True, False])
@pytest.mark.usefixtures("global_state_untouched")
def test_same_seed_same_bits(sample, parameters, extra):
    def predict(seed):
        model = SAGDIV(random_state=seed, **parameters)
        model.fit(sample.X, sample.y, sample.Z, sample.Z_extra if extra else None)
        return model.predict(sample.X)

    assert predict(0).tobytes() == predict(0).tobytes()
    assert predict(np.random.RandomState(0)).tobytes() == predict(0).tobytes()
    assert not np.array_equal(predict(0), predict(1))


def test_a_seed_of_a_component_is_kept_and_a_missing_one_is_drawn(sample):
    drawn, kept = fit(sample), fit(sample, density_ratio=KernelDensityRatio(random_state=5))
    assert isinstance(drawn.Phi_.random_state, int)
    assert kept.Phi_.random_state == 5


def test_fit_leaves_data_parameters_and_components_alone(sample):
    X, y, Z = sample.X.copy(), sample.y.copy(), sample.Z.copy()
    for A in (X, y, Z):
        A.flags.writeable = False
    model = KernelSAGDIV.paper(random_state=0)
    before = repr(model.get_params())
    model.fit(X, y, Z)
    assert repr(model.get_params()) == before
    assert not hasattr(model.density_ratio, "theta_")
    assert model.Phi_ is not model.density_ratio


def test_a_second_fit_forgets_the_first(sample):
    model = KernelSAGDIV.paper(random_state=0, loss=LogisticLoss(), init=None)
    model.fit(sample.X, (sample.y > 0).astype(float), sample.Z)
    model.set_params(loss=None).fit(sample.X, sample.y, sample.Z, sample.Z_extra)
    np.testing.assert_array_equal(model.predict(sample.X), fit(sample).predict(sample.X))


# What is set takes effect with the next fit, not before.
def test_parameters_do_not_reach_into_a_finished_fit(sample):
    model = KernelSAGDIV.paper(random_state=0, loss=LogisticLoss())
    model.fit(sample.X, (sample.y > 0).astype(float), sample.Z)
    before = model.predict(sample.X)
    model.set_params(convex_set=SupNormBall(0.01), init=np.cos)
    np.testing.assert_array_equal(model.predict(sample.X), before)


def test_nested_parameters():
    model = KernelSAGDIV.paper().set_params(density_ratio__bandwidth=0.5, operator__ridge=0.1)
    assert model.density_ratio.bandwidth == 0.5
    assert clone(model).operator.ridge == 0.1


@pytest.mark.parametrize("way", ["pickle", "joblib"])
@pytest.mark.parametrize("loss", [None, LogisticLoss()])
def test_round_trip(sample, way, loss, tmp_path):
    y = sample.y if loss is None else (sample.y > 0).astype(float)
    model = KernelSAGDIV.paper(loss=loss, random_state=0).fit(sample.X, y, sample.Z)
    if way == "pickle":
        copy = pickle.loads(pickle.dumps(model))
    else:
        joblib.dump(model, tmp_path / "model.joblib")
        copy = joblib.load(tmp_path / "model.joblib")
    np.testing.assert_array_equal(copy.predict(sample.X), model.predict(sample.X))
    assert copy.score(sample.X, y, sample.Z) == model.score(sample.X, y, sample.Z)
    np.testing.assert_array_equal(
        copy.predict_projected(sample.Z_extra), model.predict_projected(sample.Z_extra)
    )


@pytest.mark.parametrize("method", ["predict", "predict_projected", "score"])
def test_not_fitted(sample, method):
    arguments = (sample.X, sample.y, sample.Z) if method == "score" else (sample.Z,)
    with pytest.raises(NotFittedError, match="not fitted yet"):
        getattr(SAGDIV(), method)(*arguments)
