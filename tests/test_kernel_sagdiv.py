"""The default estimator: what it recovers, what leaves it unchanged, and when it warns."""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.model_selection import GridSearchCV

from sagdiv import KernelSAGDIV
from sagdiv.datasets import make_continuous
from sagdiv.exceptions import NoInstrumentWarning, WeakInstrumentWarning
from sagdiv.feature_maps import FeatureMaps
from sagdiv.features import KernelFeatures
from sagdiv.first_stage import FirstStage
from sagdiv.flow import Flow, FlowPath
from sagdiv.losses import LogisticLoss
from sagdiv.rows import RowBlocks
from sagdiv.stochastic import stochastic_flow

weak_instruments_are_fine = pytest.mark.filterwarnings(
    "ignore::sagdiv.exceptions.WeakInstrumentWarning"
)


@pytest.fixture(scope="module")
def data():
    return make_continuous("sin", 600, random_state=0)


@pytest.fixture(scope="module")
def model(data):
    return KernelSAGDIV().fit(data.X, data.y, data.Z)


def mse(model, X, truth):
    return np.mean((model.predict(X) - truth) ** 2)


@pytest.mark.parametrize(
    ("scenario", "bound"), [("step", 0.1), ("abs", 0.1), ("linear", 0.02), ("sin", 0.06)]
)
def test_recovers_the_structural_function(scenario, bound):
    data = make_continuous(scenario, 1000, random_state=0)
    model = KernelSAGDIV().fit(data.X, data.y, data.Z)
    assert mse(model, data.X, data.h_star(data.X)) < bound


def test_nuisances_are_those_of_the_design():
    data = make_continuous("sin", 5000, random_state=0)
    model = KernelSAGDIV().fit(data.X, data.y, data.Z)
    new = make_continuous("sin", 500, random_state=1)
    truth = data.design.r(new.Z)
    assert np.mean((model.r_.predict(new.Z) - truth) ** 2) < 0.01
    assert np.mean((model.predict_projected(new.Z) - truth) ** 2) < 0.01
    Phi = data.design.Phi(new.X, new.Z)
    assert np.mean((model.Phi_.ratio(new.X, new.Z) - Phi) ** 2) < 0.05 * np.mean(Phi**2)


def test_a_given_total_step_is_kept_and_a_longer_one_follows_the_data_more(data):
    short, long = (KernelSAGDIV(total_step=t).fit(data.X, data.y, data.Z) for t in (1.0, 1000.0))
    assert (short.total_step_, long.total_step_) == (1.0, 1000.0)
    gradient = [m.path_.scores * np.exp(-m.path_.values * m.total_step_) for m in (short, long)]
    assert (np.abs(gradient[1]) <= np.abs(gradient[0])).all()
    assert KernelSAGDIV().fit(data.X, data.y, data.Z).total_step_ >= 500 * 600**0.25
    many = make_continuous("linear", 20_000, random_state=0)
    assert KernelSAGDIV().fit(many.X, many.y, many.Z).total_step_ == 10_000


# What must not matter


def assert_same_predictions(a, b, X, rtol=1e-8):
    expected = b.predict(X)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(a.predict(X), expected, rtol=rtol, atol=rtol * scale)


@weak_instruments_are_fine
@pytest.mark.parametrize("pilot_rows", [50, 20_000])
def test_integer_weights_are_repeated_rows(data, rng, monkeypatch, pilot_rows):
    monkeypatch.setattr("sagdiv.kernel_sagdiv._PILOT_ROWS", pilot_rows)
    times = rng.randint(0, 4, 600)
    repeated = KernelSAGDIV().fit(*(np.repeat(A, times, axis=0) for A in (data.X, data.y, data.Z)))
    weighted = KernelSAGDIV().fit(data.X, data.y, data.Z, sample_weight=times)
    assert_same_predictions(weighted, repeated, data.X)
    new = make_continuous("sin", 300, random_state=1)
    times = rng.randint(0, 4, 300)
    assert weighted.score(new.X, new.y, new.Z, times) == pytest.approx(
        repeated.score(*(np.repeat(A, times, axis=0) for A in (new.X, new.y, new.Z))), rel=1e-6
    )


def test_weights_move_the_fit_to_where_they_are(data):
    # Rows of another world, with hardly any weight.
    rows = np.concatenate([data.X, data.X]), np.concatenate([data.y, -data.y])
    weights = np.repeat([1.0, 1e-6], 600)
    model = KernelSAGDIV().fit(*rows, np.concatenate([data.Z, data.Z]), sample_weight=weights)
    assert mse(model, data.X, data.h_star(data.X)) < 0.1


@pytest.mark.parametrize("pilot_rows", [50, 20_000])
def test_the_order_of_the_rows_does_not_matter(data, rng, monkeypatch, pilot_rows):
    monkeypatch.setattr("sagdiv.kernel_sagdiv._PILOT_ROWS", pilot_rows)
    order = rng.permutation(600)
    models = [
        KernelSAGDIV().fit(data.X[rows], data.y[rows], data.Z[rows])
        for rows in (order, np.arange(600))
    ]
    assert_same_predictions(*models, data.X)


@pytest.mark.parametrize("unit", [1e-12, 1e12])
@pytest.mark.parametrize("name", ["X", "y", "Z"])
def test_units_do_not_matter(data, model, name, unit):
    parts = {"X": data.X, "y": data.y, "Z": data.Z}
    parts[name] = parts[name] * unit
    h = KernelSAGDIV().fit(**parts).predict(parts["X"])
    expected = model.predict(data.X)
    np.testing.assert_allclose(h / (unit if name == "y" else 1), expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("shift", [1.0, 1e4])
def test_a_shift_of_the_outcome_shifts_the_answer(data, model, shift):
    shifted = KernelSAGDIV().fit(data.X, data.y + shift, data.Z)
    np.testing.assert_allclose(shifted.predict(data.X) - shift, model.predict(data.X), atol=1e-6)


def test_the_number_of_threads_does_not_matter():
    data = make_continuous("sin", 5000, random_state=0)
    one, two = (KernelSAGDIV(n_jobs=n).fit(data.X, data.y, data.Z) for n in (1, 2))
    np.testing.assert_array_equal(one.predict(data.X), two.predict(data.X))


def test_predictions_in_blocks(data, model, monkeypatch):
    whole = model.predict(data.X)
    monkeypatch.setattr("sagdiv.kernel_sagdiv._PREDICT_ROWS", 7)
    np.testing.assert_allclose(model.predict(data.X), whole, atol=1e-12)


@pytest.mark.usefixtures("global_state_untouched")
@pytest.mark.parametrize("parameters", [{}, {"batch_size": 20, "total_step": 5.0}])
def test_same_seed_same_bits(data, monkeypatch, parameters):
    monkeypatch.setattr("sagdiv.kernel_sagdiv._PILOT_ROWS", 100)

    def predict(seed):
        model = KernelSAGDIV(random_state=seed, **parameters)
        return model.fit(data.X, data.y, data.Z).predict(data.X)

    assert predict(None).tobytes() == predict(None).tobytes()
    assert predict(0).tobytes() == predict(np.random.RandomState(0)).tobytes()
    assert not np.array_equal(predict(0), predict(1))


def test_pickle(data, model):
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict(data.X), model.predict(data.X))
    np.testing.assert_array_equal(copy.predict_projected(data.Z), model.predict_projected(data.Z))
    assert copy.score(data.X, data.y, data.Z) == model.score(data.X, data.y, data.Z)


@weak_instruments_are_fine
def test_a_search_over_the_total_step_passes_the_instruments(data):
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(KernelSAGDIV(), {"total_step": [0.01, 1000.0]}, cv=3)
        search.fit(data.X, data.y, Z=data.Z)
    assert search.best_params_ == {"total_step": 1000.0}


# Stochastic gradients


def test_stochastic_gradients_have_the_expectation_of_full_ones(data, rng):
    weights = rng.rand(600)
    maps = FeatureMaps(
        *(KernelFeatures(n_per_coordinate=4, n_joint=4).fit(A) for A in (data.X, data.Z))
    )
    rows = RowBlocks(data.X, data.y, data.Z, weights)
    mean = rows.total(maps.block_moments).averages
    stage = FirstStage.fit(mean, 600.0, maps.z.groups_, maps.x.n_affine_)
    flow = Flow(stage.hessian, stage.B.T @ mean.cz, mean.Gx, maps.x.n_affine_)
    path = FlowPath.of(flow, 20 / flow.values[0], 1e-3)

    n_steps = 40  # of half of what the steepest direction allows
    beta, late = np.zeros(len(flow.values)), []
    for m in range(n_steps):
        a = flow.start + flow.directions @ beta
        gradient = flow.directions.T @ (stage.hessian @ a - stage.B.T @ mean.cz)
        beta = beta - path.total_step / n_steps * gradient
        if 2 * m >= n_steps:
            late.append(beta)
    expected = flow.start + flow.directions @ (path.kept * np.mean(late, axis=0))

    found = np.array(
        [stochastic_flow(flow, rows, maps, stage.B, path, 4, seed) for seed in range(400)]
    )
    errors = (found.mean(axis=0) - expected) / (found.std(axis=0) / 20)
    assert np.abs(errors).max() < 4


def test_large_batches_come_close_to_the_flow(data, model):
    stochastic = KernelSAGDIV(batch_size=300).fit(data.X, data.y, data.Z)
    assert np.mean((stochastic.predict(data.X) - model.predict(data.X)) ** 2) < 0.01
    assert mse(stochastic, data.X, data.h_star(data.X)) < 0.1


# Exogenous covariates


def confounded_with_covariate(n, seed):
    """h*(x, w) = sin(x) + w; w moves the instrument, X and Y."""
    rng = np.random.RandomState(seed)
    z, v, e, noise = rng.normal(size=(4, n))
    w = 0.6 * z + 0.8 * v
    x = z + 0.5 * w + e
    return pd.DataFrame({"x": x, "w": w}), np.sin(x) + w + e + 0.3 * noise, z


def test_exogenous_covariates():
    X, y, z = confounded_with_covariate(2000, seed=0)
    truth = np.sin(X["x"]) + X["w"]
    model = KernelSAGDIV(exogenous=["w"]).fit(X, y, z)
    assert mse(model, X, truth) < 0.06
    # Left among the endogenous, w has no instrument of its own.
    forgotten = KernelSAGDIV().fit(X, y, z)
    assert mse(forgotten, X, truth) > 3 * mse(model, X, truth)
    projected = model.predict_projected(z, X)
    expected = np.exp(-0.5) * np.sin(z + 0.5 * X["w"]) + X["w"]  # of sin(z + w/2 + e), e normal
    assert np.mean((projected - expected) ** 2) < 0.06


def test_names_and_positions_of_exogenous_columns_mean_the_same():
    X, y, z = confounded_with_covariate(500, seed=0)
    by_name, by_position = (KernelSAGDIV(exogenous=[w]).fit(X, y, z) for w in ("w", 1))
    np.testing.assert_array_equal(by_name.predict(X), by_position.predict(X))


@pytest.mark.parametrize(
    ("exogenous", "message"),
    [
        (["size"], r"exogenous names 'size', which is not a column of X; there are \['x', 'w'\]"),
        ([2], "exogenous names 2, which is not a column of X"),
        ([-1], "exogenous names -1"),
        ("w", r"exogenous must be a list of columns, as in \['w'\]"),
        (1, r"exogenous must be a list of columns, as in \[1\]"),
        (None, r"exogenous must be a list of names or positions of columns of X, \(\) for none"),
        ([False, True], r"exogenous has False: masks are not .* numpy.flatnonzero\(mask\)"),
        (np.array([False, True]), "exogenous has False: masks are not understood"),
    ],
    ids=str,
)
def test_unknown_exogenous_columns(exogenous, message):
    X, y, z = confounded_with_covariate(50, seed=0)
    with pytest.raises(ValueError, match=message):
        KernelSAGDIV(exogenous=exogenous).fit(X, y, z)


@pytest.mark.parametrize(
    "exogenous",
    [[1], [1, 1], ["w", 1], ("w",), np.array([1]), [np.int64(1)], np.array(["w"]), pd.Index(["w"])],
    ids=repr,
)
def test_exogenous_columns_in_other_words(exogenous):
    X, y, z = confounded_with_covariate(100, seed=0)
    expected = KernelSAGDIV(exogenous=["w"]).fit(X, y, z)
    model = KernelSAGDIV(exogenous=exogenous).fit(X, y, z)
    np.testing.assert_array_equal(model.predict(X), expected.predict(X))


@pytest.mark.parametrize("labels", [[10, 20], [1, 0]])
def test_labels_that_are_numbers_are_not_taken_for_positions(labels):
    X, y, z = confounded_with_covariate(100, seed=0)
    with pytest.raises(ValueError, match=r"columns of X are labelled \[.*: label or position"):
        KernelSAGDIV(exogenous=labels[1:]).fit(X.set_axis(labels, axis=1), y, z)
    default = X.set_axis([0, 1], axis=1)
    expected = KernelSAGDIV(exogenous=["w"]).fit(X, y, z).predict(X)
    np.testing.assert_array_equal(
        KernelSAGDIV(exogenous=[1]).fit(default, y, z).predict(default), expected
    )


@weak_instruments_are_fine
def test_rows_without_weight_are_no_rows(rng):
    data = make_continuous("sin", 100, random_state=0)
    weights = np.repeat([0.0, 1.0], [50, 50])
    X, y, Z = data.X.copy(), data.y.copy(), data.Z.copy()
    X[0], y[1], Z[2] = np.nan, np.inf, np.nan
    model = KernelSAGDIV().fit(X, y, Z, sample_weight=weights)
    expected = KernelSAGDIV().fit(data.X[50:], data.y[50:], data.Z[50:])
    np.testing.assert_allclose(model.predict(data.X), expected.predict(data.X), atol=1e-9)
    frames = pd.DataFrame(X), pd.Series(y), pd.DataFrame(Z)
    framed = KernelSAGDIV().fit(*frames, sample_weight=pd.Series(weights))
    np.testing.assert_allclose(framed.predict(data.X), expected.predict(data.X), atol=1e-9)
    constant = np.where(weights[:, None] > 0, 1.0, data.X)
    with pytest.raises(ValueError, match="X is constant"):
        KernelSAGDIV().fit(constant, data.y, data.Z, sample_weight=weights)
    with pytest.raises(ValueError, match=r"2 sample\(s\).* while a minimum of 9 is required"):
        KernelSAGDIV().fit(data.X, data.y, data.Z, sample_weight=np.arange(100) < 2)


@pytest.mark.filterwarnings("ignore::sagdiv.exceptions.WeakInstrumentWarning")
def test_weights_that_add_up_to_one_are_a_tiny_sample():
    data = make_continuous("sin", 100, random_state=0)
    with pytest.warns(UserWarning, match="sample_weight adds up to 1, .* divide the weights by th"):
        KernelSAGDIV().fit(data.X, data.y, data.Z, sample_weight=np.full(100, 0.01))


def test_warnings_point_at_the_line_that_calls():
    data = make_continuous("sin", 100, random_state=0)
    for model in (KernelSAGDIV(), KernelSAGDIV.paper(random_state=0)):
        with pytest.warns(NoInstrumentWarning) as found:
            model.fit(data.X, data.y)
        assert found[0].filename == __file__
    with pytest.warns(WeakInstrumentWarning) as found:
        KernelSAGDIV().fit(data.X, data.y, np.random.RandomState(1).normal(size=100))
    assert found[0].filename == __file__


@pytest.mark.filterwarnings("ignore::sagdiv.exceptions.WeakInstrumentWarning")
def test_stochastic_steps_with_a_binary_treatment_and_instrument(rng):
    Z = rng.randint(2, size=(200, 1)).astype(float)
    X = np.where(rng.uniform(size=(200, 1)) < 0.8, Z, 1 - Z)
    y = X[:, 0] + rng.normal(size=200)
    exact = KernelSAGDIV(total_step=5.0).fit(X, y, Z)
    stochastic = KernelSAGDIV(total_step=5.0, batch_size=5).fit(X, y, Z)
    np.testing.assert_allclose(stochastic.predict(X), exact.predict(X), atol=1e-9)


@weak_instruments_are_fine
def test_a_block_after_a_fit_with_another_loss_is_refused():
    data = make_continuous("sin", 100, random_state=0)
    model = KernelSAGDIV(LogisticLoss()).fit(data.X, data.y > 0, data.Z)
    with pytest.raises(ValueError, match=r"partial_fit cannot add to a fit with LogisticLoss\("):
        model.set_params(loss=None).partial_fit(data.X, data.y, data.Z)
    model.fit(data.X, data.y, data.Z).partial_fit(data.X, data.y, data.Z)


def test_ridges_are_those_of_the_first_stage_and_of_the_ratio():
    # P^ is psi'(Gz + Lambda)^-1 C'a, and M of the ratio (Gx + Lx)^-1 C (Gz + Lambda)^-1.
    data = make_continuous("sin", 300, random_state=0)
    model = KernelSAGDIV().fit(data.X, data.y, data.Z)
    mean = model.moments_.averages
    B = np.linalg.solve(mean.Gz + np.diag(model.z_ridge_), mean.C.T)
    np.testing.assert_allclose(model.P_.B, B, atol=1e-8)
    M = np.linalg.solve(mean.Gx + np.diag(model.x_ridge_), B.T)
    np.testing.assert_allclose(model.Phi_.M_, M, atol=1e-6)


@pytest.mark.parametrize("unit", [1e160, 1e200])
def test_outcomes_whose_squares_overflow_are_refused(unit):
    data = make_continuous("sin", 100, random_state=0)
    with np.errstate(over="ignore"), pytest.raises(ValueError, match="sums of squares of y"):
        KernelSAGDIV().fit(data.X, data.y * unit, data.Z)


def test_projection_needs_the_exogenous_columns():
    X, y, z = confounded_with_covariate(500, seed=0)
    model = KernelSAGDIV(exogenous=["w"]).fit(X, y, z)
    with pytest.raises(ValueError, match="needs X for its exogenous columns"):
        model.predict_projected(z)


def test_all_columns_exogenous_is_ordinary_regression(rng):
    X, z = rng.uniform(-3, 3, (2000, 1)), rng.normal(size=2000)
    y = np.sin(X[:, 0]) + rng.normal(size=2000)
    model = KernelSAGDIV(exogenous=[0]).fit(X, y, z)
    assert mse(model, X, np.sin(X[:, 0])) < 0.02


def test_strength_is_counted_beyond_the_exogenous_columns(rng):
    X, y, _ = confounded_with_covariate(1000, seed=0)
    with pytest.warns(WeakInstrumentWarning, match="moves X in 0 directions only"):
        KernelSAGDIV(exogenous=["w"]).fit(X, y, rng.normal(size=1000))


# Several regressors, several instruments, weak and discrete ones


def test_two_regressors_and_two_instruments(rng):
    Z = rng.uniform(-3, 3, (3000, 2))
    e = rng.normal(size=3000)
    X = Z + e[:, None] + 0.3 * rng.normal(size=(3000, 2))
    h = np.sin(X[:, 0]) + np.abs(X[:, 1])
    model = KernelSAGDIV().fit(X, h + e, Z)
    assert mse(model, X, h) < 0.25 * np.var(h)


def test_instruments_that_are_noise_cost_next_to_nothing(rng):
    errors = []
    for seed in range(3):
        data = make_continuous("sin", 1000, random_state=seed)
        noisy = np.hstack([data.Z, rng.normal(size=(1000, 5))])
        models = [KernelSAGDIV().fit(data.X, data.y, Z) for Z in (data.Z, noisy)]
        errors.append([mse(m, data.X, data.h_star(data.X)) for m in models])
    without, with_noise = np.mean(errors, axis=0)
    assert with_noise < 1.3 * without


def test_a_binary_instrument_warns():
    data = make_continuous("linear", 1000, random_state=0)
    with pytest.warns(WeakInstrumentWarning, match="moves X in 1 direction only"):
        model = KernelSAGDIV().fit(data.X, data.y, data.Z[:, :1] > 0)
    assert mse(model, data.X, data.X[:, 0]) < 0.1  # the linear part needs one direction only


@pytest.mark.parametrize("levels", [3, 5, 10])
def test_directions_are_fewer_than_values_of_the_instrument(levels):
    data = make_continuous("linear", 1000, random_state=0)
    model = KernelSAGDIV().fit(data.X, data.y, np.floor((data.Z[:, :1] + 3) / 6 * levels))
    assert 2 <= model.n_directions_ < levels


@pytest.mark.parametrize("seed", range(5))
def test_a_strong_continuous_instrument_does_not_warn(seed):
    data = make_continuous("sin", 300, random_state=seed)
    KernelSAGDIV().fit(data.X, data.y, data.Z)


def test_five_values_are_enough_for_a_curve():
    data = make_continuous("sin", 1000, random_state=0)
    model = KernelSAGDIV().fit(data.X, data.y, np.floor((data.Z[:, :1] + 3) / 6 * 5))
    assert mse(model, data.X, data.h_star(data.X)) < 0.1


@pytest.mark.parametrize("seed", range(5))
def test_an_irrelevant_instrument_warns_and_does_not_explode(seed):
    data = make_continuous("sin", 1000, random_state=seed)
    Z = np.random.RandomState(100 + seed).normal(size=(1000, 1))
    with pytest.warns(WeakInstrumentWarning, match="moves X in 0 directions only"):
        model = KernelSAGDIV().fit(data.X, data.y, Z)
    assert mse(model, data.X, data.h_star(data.X)) < np.var(data.y)


def test_repeated_values(data):
    X, Z = np.round(data.X), np.round(data.Z)
    model = KernelSAGDIV().fit(X, data.y, Z)
    assert mse(model, X, data.h_star(data.X)) < 0.25


def test_an_exact_relation_is_found(rng):
    X = rng.uniform(-3, 3, (500, 1))
    model = KernelSAGDIV().fit(X, 2 * X[:, 0] + 1, X + 0.1 * rng.normal(size=(500, 1)))
    np.testing.assert_allclose(model.predict(X), 2 * X[:, 0] + 1, atol=1e-3)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"total_step": 0}, "total_step must be a positive number"),
        ({"batch_size": 0}, "batch_size must be an integer of at least 1"),
        ({"batch_size": 5, "loss": LogisticLoss()}, "batch_size needs the squared loss"),
    ],
)
def test_bad_parameters(data, parameters, message):
    with pytest.raises(ValueError, match=message):
        KernelSAGDIV(**parameters).fit(data.X, data.y > 0, data.Z)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.r_[np.ones(599), -2], "sample_weight must not be negative; row 599 has -2"),
        (np.zeros(600), "sample_weight is zero for every row"),
        (np.ones(3), r"sample_weight must be one number per row, shape \(600,\), got \(3,\)"),
        (np.r_[np.ones(599), np.nan], "Input sample_weight contains NaN"),
    ],
)
def test_bad_weights(data, model, weights, message):
    with pytest.raises(ValueError, match=message):
        KernelSAGDIV().fit(data.X, data.y, data.Z, sample_weight=weights)
    with pytest.raises(ValueError, match=message):
        model.score(data.X, data.y, data.Z, weights)


# Further values of Z: they place the features of z and nothing else.
def test_extra_instruments_place_the_features(data, model):
    extra = make_continuous("sin", 300, random_state=5).Z
    more = KernelSAGDIV().fit(data.X, data.y, data.Z, Z_extra=extra)
    both = np.vstack([data.Z, extra])
    np.testing.assert_allclose(more.maps_.z.location_, both.mean(axis=0))
    np.testing.assert_allclose(more.maps_.z.scale_, both.std(axis=0))
    np.testing.assert_array_equal(more.maps_.x.location_, model.maps_.x.location_)
    assert more.moments_.n == len(data.y)
    assert not np.array_equal(more.predict(data.X), model.predict(data.X))
    np.testing.assert_allclose(more.predict(data.X), model.predict(data.X), atol=0.02)


def test_extra_instruments_that_cannot_be_used(data):
    with pytest.raises(ValueError, match="Z_extra has 1 columns, but the instruments of the fit"):
        KernelSAGDIV().fit(data.X, data.y, data.Z, Z_extra=data.Z[:, :1])
    with pytest.raises(ValueError, match="Z_extra has no rows"):
        KernelSAGDIV().fit(data.X, data.y, data.Z, Z_extra=data.Z[:0])
    X = np.hstack([data.X, data.Z[:, 1:]])
    with pytest.raises(ValueError, match="Z_extra cannot be used together with exogenous"):
        KernelSAGDIV(exogenous=[1]).fit(X, data.y, data.Z[:, :1], Z_extra=data.Z[:, :1])
