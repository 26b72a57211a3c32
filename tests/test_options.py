"""Bad options are refused before work starts; good ones do something."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

from sagdiv import SAGDIV
from sagdiv.density_ratio import ClassifierDensityRatio, KernelDensityRatio
from sagdiv.losses import LogisticLoss
from sagdiv.operators import NadarayaWatsonOperator
from sagdiv.sets import SupNormBall


def fit(sample, **parameters):
    model = SAGDIV(random_state=0, **parameters)
    return model.fit(sample.X, sample.y, sample.Z)


def far(X):
    return np.full(len(X), 1e3)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"density_ratio": "kernel"},
            "density_ratio must be an object that offers fit, ratio; g",
        ),
        ({"operator": "kernel"}, r"operator must be .* fit, weights, or the word 'ratio'; got 'ke"),
        ({"outcome": "seen"}, r"outcome must be .* fit, predict, or the word 'observed'; got"),
        ({"outcome": np.mean}, r"outcome must be .* fit, predict"),
        (
            {"loss": "squared"},
            "loss must be .* value, d2, domain; got .squared., which has no value",
        ),
        ({"convex_set": 10.0}, "convex_set must be an object that offers project, contains; got"),
        ({"init": "2sls"}, "init must be an object that .* or the word 'linear'; got '2sls'"),
        ({"density_ratio": KernelDensityRatio}, "density_ratio is the class KernelDensityRatio"),
        ({"loss": LogisticLoss}, "loss is the class LogisticLoss; pass an instance"),
        ({"convex_set": SupNormBall}, "convex_set is the class SupNormBall"),
        ({"init": LinearRegression}, "init is the class LinearRegression"),
    ],
)
def test_components_that_are_none(sample, parameters, message):
    with pytest.raises(TypeError, match=message):
        fit(sample, **parameters)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"step": 0}, "step must be a positive number, got 0"),
        ({"step": -0.1}, r"step must be a positive number, got -0\.1"),
        ({"step": "fast"}, "step must be a positive number, got 'fast'"),
        ({"warm_up": -1}, "warm_up must be an integer of at least 0, got -1"),
        ({"warm_up": 2.5}, r"warm_up must be an integer of at least 0, got 2\.5"),
        ({"nuisance_fraction": 0}, "nuisance_fraction must be a positive number, got 0"),
        ({"nuisance_fraction": 1.5}, r"nuisance_fraction must lie in \(0, 1\], got 1\.5"),
        ({"nuisance_fraction": 0.999}, "leaves 90 of 90 rows for the nuisances and 0 for"),
        (
            {"representation": "fast"},
            "representation must be 'auto', 'values' or 'coefficients'",
        ),
        (
            {"representation": "coefficients", "density_ratio": ClassifierDensityRatio()},
            r"needs a density ratio with factors\(X\) and loadings\(Z\), which ClassifierDensity",
        ),
        ({"init": far}, r"init leaves the search set SupNormBall\(radius=10\.0\) \(in units of"),
    ],
)
def test_values_out_of_range(sample, parameters, message):
    with pytest.raises(ValueError, match=message):
        fit(sample, **parameters)


class CurvedInOutcome(LogisticLoss):
    linear_in_outcome = False


def test_observed_outcome_needs_a_loss_linear_in_it(sample):
    model = SAGDIV(loss=CurvedInOutcome(), outcome="observed")
    with pytest.raises(ValueError, match="needs a loss whose slope is linear in y"):
        model.fit(sample.X, (sample.y > 0).astype(float), sample.Z)


@pytest.mark.parametrize(
    "parameters",
    [
        {"density_ratio": KernelDensityRatio(bandwidth=2.0)},
        {"operator": NadarayaWatsonOperator()},
        {"operator": "ratio"},
        {"outcome": LinearRegression()},
        {"outcome": "observed"},
        {"convex_set": SupNormBall(0.3)},
        {"step": 0.01},
        {"warm_up": 0},
        {"init": LinearRegression().fit([[0.0], [1.0]], [0.0, 1.0]).predict},
        {"nuisance_fraction": 0.5},
    ],
    ids=lambda parameters: "-".join(parameters),
)
def test_every_option_has_an_effect(sample, parameters):
    changed = fit(sample, **parameters).predict(sample.X)
    assert np.isfinite(changed).all()
    assert not np.allclose(changed, fit(sample).predict(sample.X), rtol=1e-4)


def test_a_classifier_is_read_as_a_probability(sample):
    y = (sample.y > 0).astype(float)
    model = SAGDIV(loss=LogisticLoss(), outcome=LogisticRegression(), random_state=0)
    model.fit(sample.X, y, sample.Z)
    r = model.r_.predict(sample.Z)
    assert ((r > 0) & (r < 1)).all()


def test_all_rows_may_serve_both(sample):
    path = fit(sample, nuisance_fraction=1).path_
    assert sorted(path.instruments[:, 0]) == sorted(sample.Z[:, 0])


def test_rows_are_split_by_default(sample):
    model = fit(sample)
    assert len(model.P_.nodes_) == 30
    assert len(model.path_.instruments) == 60
    used = {tuple(z) for z in model.path_.instruments}
    nuisance = {tuple(z) for x, z in zip(sample.X, sample.Z, strict=True) if x in model.P_.nodes_}
    assert not used & nuisance
