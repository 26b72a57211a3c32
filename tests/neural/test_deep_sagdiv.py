"""`DeepSAGDIV`: what it promises, on trainings as short as tests can bear."""

import json
import pickle
import threading
import tracemalloc
import zipfile
from importlib.util import find_spec

import numpy as np
import pytest
import torch
from sklearn.base import clone
from torch import nn
from without_torch import run_without_torch

import sagdiv
from sagdiv import SAGDIV, DeepSAGDIV, KernelSAGDIV, baselines
from sagdiv.datasets import make_binary, make_continuous, make_digits_iv
from sagdiv.losses import LogisticLoss, PseudoHuberLoss
from sagdiv.neural import (
    MLP,
    CanonicalFeatures,
    ConvNet,
    MixtureDensity,
    NeuralDensityRatio,
    NeuralOperator,
    NeuralOutcome,
    OptimisticAdam,
    Training,
)
from sagdiv.neural.features import DEFAULT_TRAINING

# What an instrument of so few rows can identify is not the question here.
pytestmark = [
    pytest.mark.filterwarnings("ignore::sagdiv.exceptions.WeakInstrumentWarning"),
    pytest.mark.usefixtures("torch_state_untouched"),
]

SHORT = Training(row_visits=1000, batch_size=100)
FEATURES = CanonicalFeatures(4, training=SHORT)
DEEP = DeepSAGDIV(features=FEATURES, n_folds=2)


def own_network(shape, n_outputs):
    """Return somebody's own module."""
    return nn.Sequential(nn.Linear(int(np.prod(shape)), 5), nn.Tanh(), nn.Linear(5, n_outputs))


def fit(sample, **parameters):
    return clone(DEEP).set_params(**parameters).fit(sample.X, sample.y, sample.Z)


@pytest.fixture(scope="module")
def fitted(sample):
    return fit(sample)


@pytest.fixture(scope="module", params=["x", "z", "xz"])
def images(request):
    return make_digits_iv(request.param, 120, random_state=0)


# Answers


@pytest.mark.parametrize(("scenario", "bar"), [("sin", 0.15), ("linear", 0.15)])
def test_recovers_h_from_a_training_of_seconds(scenario, bar):
    data = make_continuous(scenario, 1000, random_state=3)
    features = CanonicalFeatures(16, training=Training(row_visits=40_000, learning_rate=5e-3))
    model = DeepSAGDIV(features=features).fit(data.X, data.y, data.Z)
    X = data.sample_X(1000, random_state=1)
    assert np.mean((model.predict(X) - data.h_star(X)) ** 2) < bar


def test_sees_through_images():
    data = make_digits_iv("z", 600, random_state=0)
    features = CanonicalFeatures(8, training=Training(row_visits=40_000, learning_rate=5e-3))
    model = DeepSAGDIV(features=features).fit(data.X, data.y, data.Z)
    X = data.sample_X(1000, random_state=1)
    assert np.mean((model.predict(X) - data.h_star(X)) ** 2) < 0.3 * np.var(data.h_star(X))


# The descent behind the features is that of KernelSAGDIV on the same maps.
def test_the_head_is_that_of_the_kernel_estimator(fitted, sample):
    head = KernelSAGDIV().fit_moments(fitted.moments_, fitted.maps_)
    np.testing.assert_allclose(head.predict(sample.X), fitted.predict(sample.X), rtol=1e-8)
    np.testing.assert_allclose(
        head.predict_projected(sample.Z), fitted.predict_projected(sample.Z), rtol=1e-8
    )
    assert head.total_step_ == fitted.total_step_


def test_learned_features_stand_behind_the_known_ones(fitted, sample):
    maps, learned = fitted.maps_, fitted.features_
    for features, variates, scale in (
        (maps.x, learned.transform_x(sample.X), 0.2 * learned.correlations_**2),
        (maps.z, learned.transform_z(sample.Z), 1.0),
    ):
        A = sample.X if features is maps.x else sample.Z
        values = features.transform(A)
        known = features.known.transform(A)
        np.testing.assert_array_equal(values[:, : known.shape[1]], known)
        np.testing.assert_allclose(values[:, known.shape[1] :], variates * scale)
        np.testing.assert_array_equal(
            np.sort(np.concatenate(features.groups_)), np.arange(1, values.shape[1])
        )


def test_another_instrument_is_another_answer(fitted, sample):
    other = clone(DEEP).fit(sample.X, sample.y, sample.Z + 3 * sample.X)
    assert not np.allclose(other.predict(sample.X), fitted.predict(sample.X))


def test_logistic_loss():
    data = make_binary("sin", 600, random_state=0)
    model = fit(data, loss=LogisticLoss(0.1**0.5))
    p = model.predict_projected_proba(data.Z)
    assert ((p >= 0) & (p <= 1)).all()
    assert np.mean((p > 0.5) == data.y) > 0.7
    assert 0 <= model.nonparametric_share_ <= 1


def test_robust_loss(sample):
    y = sample.y.copy()
    y[0] = 1e6
    spoilt = clone(DEEP).set_params(loss=PseudoHuberLoss()).fit(sample.X, y, sample.Z)
    assert np.abs(spoilt.predict(sample.X)).max() < 100


@pytest.mark.parametrize("parameters", [{"n_folds": 1}, {"batch_size": 20}, {"total_step": 10.0}])
def test_options_act(fitted, sample, parameters):
    other = fit(sample, **parameters)
    assert np.isfinite(other.predict(sample.X)).all()
    assert not np.allclose(other.predict(sample.X), fitted.predict(sample.X))


def test_exogenous_columns_are_their_own_instruments(sample, rng):
    W = rng.normal(size=(90, 1))
    X, Z = np.hstack([sample.X, W]), sample.Z
    model = clone(DEEP).set_params(exogenous=[1]).fit(X, sample.y + W[:, 0], Z)
    assert model.maps_.z.n_features_in_ == 3
    assert model.predict_projected(Z, X).shape == (90,)


def test_partial_fit_adds_rows(sample, fitted):
    model = fit(sample)
    model.partial_fit(sample.X, sample.y, sample.Z)
    assert model.moments_.n == 180
    # Every row twice is every row with weight two: the same averages, twice as sure of them.
    doubled = clone(DEEP).fit_moments(fitted.moments_ + fitted.moments_, fitted.maps_)
    np.testing.assert_allclose(model.predict(sample.X), doubled.predict(sample.X), rtol=1e-6)


def test_own_networks(sample):
    features = clone(FEATURES).set_params(x_network=own_network, z_network=MLP((3,), "tanh"))
    model = fit(sample, features=features)
    module = model.features_.folds_[0].x_network_.module
    assert [type(layer) for layer in module] == [nn.Linear, nn.Tanh, nn.Linear]
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict(sample.X), model.predict(sample.X))


def test_callback_and_history(sample):
    epochs = []
    training = clone(SHORT).set_params(callback=epochs.append)
    model = fit(sample, features=CanonicalFeatures(4, training=training))
    histories = [fold.history_ for fold in model.features_.folds_]
    assert len(epochs) == sum(len(history.loss) for history in histories)


class Listener:
    def __init__(self):
        self.epochs, self.lock = [], threading.Lock()

    def hear(self, epoch):
        self.epochs.append(epoch)


# The training stays the one that is meant for the features; only who watches it, and where it runs,
# is said here.
def test_device_and_callback_leave_the_training_as_it_is(sample, fitted):
    listener = Listener()
    model = clone(DEEP).set_params(callback=listener.hear, device="cpu")
    model = clone(model).fit(sample.X, sample.y, sample.Z)
    np.testing.assert_array_equal(model.predict(sample.X), fitted.predict(sample.X))
    folds = model.features_.folds_
    assert len(listener.epochs) == sum(len(fold.history_.loss) for fold in folds)
    assert model.callback == listener.hear
    assert pickle.loads(pickle.dumps(model)).callback is None
    default = DeepSAGDIV(device="cpu", callback=print)._learner().training
    expected = DEFAULT_TRAINING.get_params() | {"callback": print}
    assert default.get_params() == expected
    with pytest.raises(ValueError, match="device='abacus' cannot be used on this machine"):
        fit(sample, device="abacus")


@pytest.mark.parametrize(
    "make",
    [
        lambda t: paper(density_ratio=NeuralDensityRatio(MLP((5,)), t), random_state=0),
        lambda t: paper(outcome=NeuralOutcome(training=t), random_state=0),
        lambda t: paper(operator=NeuralOperator(MixtureDensity(2, training=t)), random_state=0),
        lambda t: baselines.DirectNetwork(training=t, random_state=0),
        lambda t: baselines.DeepGMM(training=t, random_state=0),
        lambda t: baselines.DeepIV(MixtureDensity(2, training=SHORT), training=t, random_state=0),
        lambda t: baselines.DeepIV(MixtureDensity(2, training=t), training=SHORT, random_state=0),
    ],
)
def test_a_method_of_an_object_hears_of_the_epochs_of_every_network(make, sample):
    listener = Listener()
    model = make(clone(SHORT).set_params(callback=listener.hear))
    clone(model).fit(sample.X, sample.y, sample.Z)
    assert listener.epochs


# What features leave open is filled in; what they say is kept.
def test_features_keep_their_own_seed_and_shapes():
    data = make_digits_iv("xz", 60, random_state=0)
    X = data.X.reshape(60, -1)
    own = clone(FEATURES).set_params(x_shape=(8, 8), random_state=7)
    model = clone(DEEP).set_params(features=own).fit(X, data.y, data.Z)
    fold = model.features_.folds_[0]
    assert (fold.x_shape, fold.z_shape, fold.random_state) == ((8, 8), (8, 8), 7)
    assert any(isinstance(m, nn.Conv2d) for m in fold.x_network_.module.modules())
    assert own.z_shape is None


# Reproducibility


def test_same_seed_same_function_whatever_the_global_state(sample, fitted):
    expected = fitted.predict(sample.X).tobytes()
    state = torch.get_rng_state(), np.random.get_state()  # noqa: NPY002
    try:
        for seed in (1, 2):
            torch.manual_seed(seed)
            np.random.seed(seed)  # noqa: NPY002
            assert fit(sample).predict(sample.X).tobytes() == expected
    finally:
        torch.set_rng_state(state[0])
        np.random.set_state(state[1])  # noqa: NPY002
    assert fit(sample, random_state=1).predict(sample.X).tobytes() != expected


def test_paper_same_seed_same_function(sample):
    def predict(seed):
        return paper(random_state=seed).fit(sample.X, sample.y, sample.Z).predict(sample.X)

    assert predict(0).tobytes() == predict(0).tobytes()
    assert predict(0).tobytes() != predict(1).tobytes()


def test_threads_do_not_change_the_answer(sample, fitted):
    np.testing.assert_array_equal(fit(sample, n_jobs=2).predict(sample.X), fitted.predict(sample.X))


# Images


def test_images(images):
    model = fit(images)
    assert (model.x_shape_, model.z_shape_) == (images.X.shape[1:], images.Z.shape[1:])
    h = model.predict(images.X)
    assert h.shape == (120,)
    assert np.isfinite(h).all()
    assert model.predict_projected(images.Z).shape == (120,)
    assert model.score(images.X, images.y, images.Z) < 0
    fold = model.features_.folds_[0]
    for network, shape in ((fold.x_network_, model.x_shape_), (fold.z_network_, model.z_shape_)):
        convolutions = [m for m in network.module.modules() if isinstance(m, nn.Conv2d)]
        assert bool(convolutions) == (len(shape) > 1)


def test_images_with_channels():
    data = make_digits_iv("xz", 60, random_state=0)
    X, Z = (np.stack([A, 1 - A, A**2], axis=3) for A in (data.X, data.Z))
    features = clone(FEATURES).set_params(x_network=ConvNet((4,), (8,)))
    model = clone(DEEP).set_params(features=features).fit(X, data.y, Z)
    assert model.x_shape_ == (8, 8, 3)
    np.testing.assert_allclose(model.predict(X[:5]), model.predict(X)[:5], rtol=1e-8)


def test_flattened_images_of_the_fit_are_the_images(images):
    model = fit(images)
    flat = images.X.reshape(len(images.X), -1)
    np.testing.assert_array_equal(model.predict(flat), model.predict(images.X))


def test_images_of_another_size_are_refused(images):
    model = fit(images)
    wrong = np.zeros((3, 6, 6))
    if images.X.ndim > 2:
        with pytest.raises(ValueError, match=r"X has rows of shape \(6, 6\), but those of the fit"):
            model.predict(wrong)
    else:
        with pytest.raises(ValueError, match=r"Z has rows of shape \(6, 6\), but those of the fit"):
            model.predict_projected(wrong)


def test_exogenous_names_no_pixels(images):
    with pytest.raises(ValueError, match="exogenous names columns, and images have none"):
        clone(DEEP).set_params(exogenous=[0]).fit(images.X, images.y, images.Z)


def test_tiny_images_are_refused():
    X = np.random.RandomState(0).normal(size=(30, 3, 3))
    with pytest.raises(ValueError, match="at least 4 x 4"):
        clone(DEEP).fit(X, X[:, 0, 0], X)


@pytest.mark.parametrize("make", [DeepSAGDIV.paper, KernelSAGDIV])
@pytest.mark.parametrize("image", ["X", "Z"])
def test_images_elsewhere_are_refused(make, image):
    data = make_digits_iv("xz", 60, random_state=0)
    tables = {"X": data.X.reshape(60, -1), "Z": data.Z.reshape(60, -1)}
    arguments = tables | {image: getattr(data, image)}
    with pytest.raises(
        ValueError, match=rf"^{image} .* \(60, 8, 8\).*; DeepSAGDIV\(\) takes images"
    ):
        make().fit(arguments["X"], data.y, arguments["Z"])


# Neither while it is fitted nor while it predicts is there an array of n x n numbers.
def test_many_rows_take_little_memory():
    n = 20_000
    data = make_continuous("sin", n, random_state=0)
    tracemalloc.start()
    try:
        fit(data).predict(data.X)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < n * n * 8 / 20


# Keeping models


def test_pickle(fitted, sample):
    copy = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(copy.predict(sample.X), fitted.predict(sample.X))
    assert copy.score(sample.X, sample.y, sample.Z) == fitted.score(sample.X, sample.y, sample.Z)


def paper(**overrides):
    components = {
        "density_ratio": NeuralDensityRatio(MLP((5,)), SHORT),
        "outcome": NeuralOutcome(training=SHORT),
        "operator": NeuralOperator(MixtureDensity(2, training=SHORT)),
    }
    return DeepSAGDIV.paper(**(components | overrides))


@pytest.mark.parametrize("model", [DEEP, paper(random_state=0)], ids=["default", "paper"])
def test_one_file_without_code(model, sample, tmp_path):
    pytest.importorskip("skops.io", reason="needs the extra io")
    path = tmp_path / "model.skops"
    model = clone(model).fit(sample.X, sample.y, sample.Z)
    sagdiv.save(model, path)
    assert [file.name for file in tmp_path.iterdir()] == ["model.skops"]
    assert b"torch" not in path.read_bytes()
    again = sagdiv.load(path)
    np.testing.assert_array_equal(again.predict(sample.X), model.predict(sample.X))
    assert again.score(sample.X, sample.y, sample.Z) == model.score(sample.X, sample.y, sample.Z)
    assert repr(again) == repr(model)


def test_images_in_one_file(tmp_path):
    pytest.importorskip("skops.io", reason="needs the extra io")
    data = make_digits_iv("xz", 60, random_state=0)
    model = fit(data)
    sagdiv.save(model, tmp_path / "model.skops")
    again = sagdiv.load(tmp_path / "model.skops")
    np.testing.assert_array_equal(again.predict(data.X), model.predict(data.X))


# The factory of a network is called when it is loaded: a file must not choose what that is.
def test_a_file_does_not_choose_what_is_called(fitted, tmp_path):
    pytest.importorskip("skops.io", reason="needs the extra io")
    path, precious = tmp_path / "model.skops", tmp_path / "precious.txt"
    precious.write_text("precious")
    sagdiv.save(fitted, path)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}

    def corrupt(node):
        if isinstance(node, dict):
            if node.get("__class__") == "default_network":
                node |= {"__class__": "save", "__module__": "sagdiv.persistence"}
            for name, value in node.items():
                if name == "n_outputs":
                    value["content"] = json.dumps(str(precious))
                corrupt(value)
        elif isinstance(node, list):
            for value in node:
                corrupt(value)

    schema = json.loads(members["schema.json"])
    corrupt(schema)
    members["schema.json"] = json.dumps(schema).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    with pytest.raises(ValueError, match=r"holds sagdiv.persistence.save, which is not a type"):
        sagdiv.load(path)
    assert precious.read_text() == "precious"


@pytest.mark.parametrize("optimizer", [torch.optim.AdamW, OptimisticAdam])
def test_callbacks_stay_and_optimizers_travel(sample, tmp_path, optimizer):
    pytest.importorskip("skops.io", reason="needs the extra io")
    training = clone(SHORT).set_params(optimizer=optimizer, callback=lambda epoch: None)
    model = fit(sample, features=CanonicalFeatures(4, training=training))
    sagdiv.save(model, tmp_path / "model.skops")
    for again in (sagdiv.load(tmp_path / "model.skops"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(again.predict(sample.X), model.predict(sample.X))
        assert again.features.training.optimizer is optimizer
        assert again.features.training.callback is None


def test_a_network_of_ones_own_is_not_saved_to_a_file(sample, tmp_path):
    pytest.importorskip("skops.io", reason="needs the extra io")
    model = fit(sample, features=clone(FEATURES).set_params(x_network=own_network))
    with pytest.raises(TypeError, match=r"DeepSAGDIV cannot be saved: it holds .*own_network"):
        sagdiv.save(model, tmp_path / "model.skops")


def test_a_model_that_was_trained_elsewhere_loads_on_the_cpu(sample):
    model = fit(sample)
    # What a training on another device leaves behind: its name among the settings, no more.
    model.set_params(features__training__device="cuda")
    copy = pickle.loads(pickle.dumps(model))
    weights = copy.features_.folds_[0].x_network_.module.state_dict()
    assert {str(weight.device) for weight in weights.values()} == {"cpu"}
    np.testing.assert_array_equal(copy.predict(sample.X), model.predict(sample.X))


# The paper's variant


def test_paper_is_the_configuration_of_the_paper_and_takes_overrides():
    model = DeepSAGDIV.paper()
    assert isinstance(model, SAGDIV)
    ratio, outcome = model.density_ratio, model.outcome
    assert (ratio.network.hidden, ratio.network.activation) == ((64, 32), "relu")
    assert (outcome.network.hidden, outcome.network.activation) == ((64, 32), "relu")
    assert (ratio.network.dropout, outcome.network.dropout) == (0.01, 0.0)
    assert (ratio.training.weight_decay, outcome.training.weight_decay) == (5e-3, 3e-3)
    for training in (ratio.training, outcome.training):
        assert (training.learning_rate, training.batch_size) == (1e-2, 512)
        assert training.row_visits == 150_000
        assert training.validation_fraction == 0
    assert model.convex_set.radius == 10
    assert (model.warm_up, DeepSAGDIV.paper(warm_up=7).warm_up) == (100, 7)


# A network of constants would leave the start where it is. The true ratio has a standard deviation
# of more than one.
def test_the_ratio_of_the_paper_is_no_constant():
    data = make_binary("sin", 300, random_state=10_000)
    ratio = clone(DeepSAGDIV.paper(loss=LogisticLoss()).density_ratio).set_params(
        n_pairings=2, training__row_visits=60_000, random_state=0
    )
    assert ratio.fit(data.X, data.Z).ratio(data.X, data.Z).std() > 0.5


def test_paper_for_binary_outcomes_has_a_sigmoid_at_the_end_and_cross_entropy():
    model = DeepSAGDIV.paper(loss=LogisticLoss())
    assert model.outcome.loss == "cross_entropy"
    assert model.outcome.network.activation == "relu"
    data = make_binary("sin", 300, random_state=0)
    fitted = paper(
        loss=LogisticLoss(), outcome=clone(model.outcome).set_params(training=SHORT), random_state=0
    ).fit(data.X, data.y, data.Z)
    assert np.isfinite(fitted.predict(data.X)).all()
    assert ((fitted.r_.predict(data.Z) > 0) & (fitted.r_.predict(data.Z) < 1)).all()


# Without torch

WITHOUT_TORCH = """
import sagdiv
sagdiv.KernelSAGDIV()

# Who looks at everything is not stopped by what is missing.
assert "DeepSAGDIV" not in dir(sagdiv)
import inspect, pydoc
from sagdiv import baselines
for module in (sagdiv, baselines):
    inspect.getmembers(module)
    pydoc.render_doc(module)

def refused(statement, words):
    try:
        exec(statement)
    except ImportError as error:
        assert str(error) == words + ' needs torch, which is not installed: ' \
            'pip install "sagdiv[deep]".', error
    else:
        raise AssertionError("done")

refused("from sagdiv import DeepSAGDIV", "DeepSAGDIV")
refused("from sagdiv.baselines import DeepIV", "DeepIV")
refused("import sagdiv.neural", "sagdiv.neural")
if len(sys.argv) > 1:
    refused("sagdiv.load(sys.argv[1])", "this model")
"""


def test_without_torch(fitted, tmp_path):
    arguments = []
    if find_spec("skops"):
        arguments.append(str(tmp_path / "model.skops"))
        sagdiv.save(fitted, *arguments)
    run_without_torch(WITHOUT_TORCH, *arguments, check=True)


def test_with_torch_its_names_are_listed():
    assert "DeepSAGDIV" in dir(sagdiv)
    assert "DeepIV" in dir(baselines)
