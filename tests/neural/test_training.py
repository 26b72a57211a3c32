"""Laws of the training loop, on problems whose solution is known."""

import pickle
import threading

import numpy as np
import pytest
import torch
from sklearn.base import clone
from torch import nn

from sagdiv.neural import CanonicalFeatures, OptimisticAdam, Training
from sagdiv.neural.training import reproducible, split_rows

pytestmark = pytest.mark.usefixtures("torch_state_untouched")


class Constant(nn.Module):
    """One number, whatever the row; squared error makes it the mean of y."""

    def __init__(self, value=0.0):
        super().__init__()
        self.value = nn.Parameter(torch.tensor(value))

    def forward(self, x):
        return self.value.expand(len(x))


def squared(network):
    return lambda x, y: ((network(x) - y).square().mean(),)


def data(n=100, mean=1.0):
    rng = np.random.RandomState(0)
    return rng.normal(size=(n, 1)), mean + 0.1 * rng.normal(size=n)


def train(network, losses=None, arrays=None, seed=0, score=None, **parameters):
    training = Training(**({"row_visits": 8000, "batch_size": 20} | parameters))
    arrays = data() if arrays is None else arrays
    return training.minimize([network], losses or squared(network), arrays, seed, score=score)


def plain_descent(learning_rate, **parameters):
    """Settings under which an epoch is one exact gradient step on all rows."""
    return {
        "optimizer": torch.optim.SGD,
        "learning_rate": learning_rate,
        "batch_size": 1000,
        "validation_fraction": 0.0,
    } | parameters


def test_finds_the_minimum():
    network, (x, y) = Constant(), data()
    train(network, arrays=(x, y), learning_rate=0.01, validation_fraction=0.0)
    assert network.value.item() == pytest.approx(y.mean(), abs=0.01)


def test_an_epoch_reads_every_training_row_once():
    seen, epochs = [], []
    network = Constant()

    def losses(row):
        if network.training:
            seen.append(row.numpy().astype(int))
        return (network(row).square().mean(),)

    train(
        network, losses, [np.arange(100.0)], row_visits=240, batch_size=30, callback=epochs.append
    )
    assert [epoch.number for epoch in epochs] == [1, 2, 3]  # 240 visits of 80 rows
    assert [len(batch) for batch in seen[:3]] == [27, 27, 26]  # as equal as possible
    first, second = np.concatenate(seen[:3]), np.concatenate(seen[3:6])
    rows, held_out = split_rows(100, 0.2, 0)
    for epoch in (first, second):
        np.testing.assert_array_equal(np.sort(epoch), np.sort(rows))
    assert not np.array_equal(first, second)
    assert not set(first) & set(held_out.tolist())


# The score falls, then rises: the weights must be those of its minimum, not the last ones. The
# loop has to copy them: a reference to live weights would follow the training.
def test_the_best_weights_come_back():
    network, values = Constant(), []

    def score(x, y):
        values.append(network.value.item())
        return abs(values[-1] - 0.5)

    history = train(network, arrays=data(mean=5.0), score=score, learning_rate=0.01, patience=1000)
    best = int(np.argmin(np.abs(np.array(values) - 0.5)))
    assert 0 < best < len(values) - 1
    assert abs(values[-1] - 0.5) > 1
    assert network.value.item() == values[best]
    assert history.best_epoch == best + 1
    np.testing.assert_array_equal(history.validation, np.abs(np.array(values) - 0.5))


def test_patience_is_counted_from_the_best_epoch():
    network, score = Constant(), iter([3.0, 1.0, 2.0, 2.0, 2.0, 2.0, 2.0])
    history = train(network, score=lambda x, y: next(score), patience=3)
    assert history.best_epoch == 2
    np.testing.assert_array_equal(history.validation, [3, 1, 2, 2, 2])
    assert history.loss.shape == (5,)


def test_validation_is_looked_at_as_often_as_asked():
    history = train(Constant(), row_visits=800, check_every=4)
    assert len(history.loss) == 10
    measured = np.flatnonzero(np.isfinite(history.validation)) + 1
    np.testing.assert_array_equal(measured, [4, 8, 10])  # the last epoch always


# Between two looks nothing is known: stopping at epoch 5 would throw away what epoch 8 may show.
def test_patience_runs_out_only_where_somebody_looked():
    score = iter([3.0, 2.0, 1.0, 1.5, 1.5])
    history = train(Constant(), score=lambda x, y: next(score), patience=1, check_every=4)
    assert history.best_epoch == 12
    measured = np.flatnonzero(np.isfinite(history.validation)) + 1
    np.testing.assert_array_equal(measured, [4, 8, 12, 16])
    assert len(history.loss) == 16


def test_without_validation_rows_training_goes_to_the_end():
    history = train(Constant(), row_visits=1000, validation_fraction=0.0)
    assert len(history.loss) == history.best_epoch == 10
    assert np.isnan(history.validation).all()


def test_dropout_is_off_where_it_is_judged():
    network, modes = Constant(), []

    def losses(x, y):
        modes.append(network.training)
        return squared(network)(x, y)

    train(network, losses, row_visits=80, batch_size=100)
    assert modes == [True, False]
    assert not network.training


# Gradient descent on (v - y)^2 + w v^2 / 2 has its fixed point at 2 mean(y) / (2 + w).
def test_weight_decay_is_an_l2_penalty():
    (x, y), network = data(), Constant()
    train(network, arrays=(x, y), **plain_descent(0.1, row_visits=20_000, weight_decay=3.0))
    assert network.value.item() == pytest.approx(2 * y.mean() / 5, rel=1e-5)


# A gradient longer than the bound moves the weight by learning rate times bound; a shorter one is
# followed as it is.
@pytest.mark.parametrize(("bound", "move"), [(0.5, 0.05), (1e6, 0.1 * 2 * 1e3)])
def test_long_gradients_are_shortened(bound, move):
    network = Constant()
    arrays = np.zeros((10, 1)), np.full(10, 1e3)
    train(network, arrays=arrays, **plain_descent(0.1, row_visits=10, max_gradient_norm=bound))
    assert network.value.item() == pytest.approx(move, rel=1e-4)


# In the game min_h max_f h f simultaneous steps from (1, 1) give h = 1 - lr f, f = 1 + rate lr h;
# if f moved after h it would see the new h.
def test_players_of_a_game_move_at_once_and_at_their_own_rates():
    h, f = Constant(1.0), Constant(1.0)
    training = Training(**plain_descent(0.1, row_visits=10))
    training.minimize(
        [h, f],
        lambda x: ((h(x) * f(x)).mean(), -(h(x) * f(x)).mean()),
        [np.zeros((10, 1))],
        0,
        rates=(1.0, 5.0),
    )
    assert h.value.item() == pytest.approx(1 - 0.1, rel=1e-6)
    assert f.value.item() == pytest.approx(1 + 5 * 0.1, rel=1e-6)


def test_callback_after_each_epoch():
    epochs = []
    history = train(Constant(), row_visits=400, callback=epochs.append)
    assert [e.number for e in epochs] == [1, 2, 3, 4, 5]
    assert {e.n_epochs for e in epochs} == {5}
    np.testing.assert_array_equal([e.loss for e in epochs], history.loss)
    np.testing.assert_array_equal([e.validation for e in epochs], history.validation)


@pytest.mark.parametrize("what", ["validation score", "gradient"])
def test_divergence_is_an_error_that_says_what_to_do(what):
    network = Constant()
    score = (lambda x, y: float("nan")) if what == "validation score" else None
    arrays = data() if what == "validation score" else (np.zeros((50, 1)), np.full(50, np.inf))
    with pytest.raises(FloatingPointError, match=f"training diverged: the {what}.*learning_rate"):
        train(network, arrays=arrays, score=score)
    assert network.value.dtype is torch.float64  # left in order nonetheless


def test_a_learning_rate_that_is_far_too_large_diverges_with_a_message():
    with pytest.raises(FloatingPointError, match=r"Lower learning_rate \(now 1e\+20\)"):
        train(Constant(), **plain_descent(1e20, max_gradient_norm=1e30))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"row_visits": 0}, "row_visits"),
        ({"batch_size": 1.5}, "batch_size"),
        ({"patience": 0}, "patience"),
        ({"check_every": -1}, "check_every"),
        ({"learning_rate": 0.0}, "learning_rate"),
        ({"max_gradient_norm": -1.0}, "max_gradient_norm"),
        ({"weight_decay": -0.1}, "weight_decay must not be negative"),
        ({"validation_fraction": 1.0}, r"validation_fraction must lie in \[0, 1\)"),
    ],
)
def test_bad_settings(parameters, message):
    with pytest.raises(ValueError, match=message):
        train(Constant(), **parameters)


def test_a_device_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match="device='abacus' cannot be used on this machine"):
        train(Constant(), device="abacus")


def test_same_seed_same_bits_and_another_seed_another_order():
    def value(seed):
        network = Constant()
        train(network, seed=seed, row_visits=200)
        return network.value.item()

    assert value(0) == value(0) != value(1)


def test_frozen_and_unused_parameters_stay_as_they_are():
    class Partly(Constant):
        def __init__(self):
            super().__init__()
            self.frozen = nn.Parameter(torch.tensor(2.0), requires_grad=False)
            self.unused = nn.Parameter(torch.tensor(3.0))

        def forward(self, x):
            return self.frozen * super().forward(x)

    network, (x, y) = Partly(), data()
    train(network, arrays=(x, y), learning_rate=0.01, validation_fraction=0.0)
    assert network.value.item() == pytest.approx(y.mean() / 2, abs=0.01)
    assert (network.frozen.item(), network.unused.item()) == (2.0, 3.0)


@pytest.mark.parametrize(("n", "fraction", "held_out"), [(100, 0.2, 20), (9, 0.5, 5), (2, 0.9, 1)])
def test_the_split_is_a_partition(n, fraction, held_out):
    rows, validation = split_rows(n, fraction, 3)
    assert len(validation) == held_out
    np.testing.assert_array_equal(np.sort(np.r_[rows, validation]), np.arange(n))
    assert torch.equal(split_rows(n, fraction, 3)[0], rows)


def test_a_reproducible_block_has_its_own_random_numbers():
    def draw(seed):
        with reproducible(seed):
            return torch.rand(3)

    first = draw(0)
    assert torch.equal(draw(0), first)
    assert not torch.equal(draw(1), first)


# theta_t = theta_{t-1} - 2 lr d_t + lr d_{t-1} with the bias-corrected moments of Adam, in plain
# numbers.
def test_optimistic_adam_is_its_formula():
    lr, (b1, b2), eps, decay = 0.1, (0.5, 0.9), 1e-8, 0.3
    theta = nn.Parameter(torch.tensor(2.0, dtype=torch.float64))
    optimizer = OptimisticAdam([theta], lr=lr, betas=(b1, b2), eps=eps, weight_decay=decay)
    x, m, v, previous = 2.0, 0.0, 0.0, 0.0
    for t in range(1, 8):
        optimizer.zero_grad()
        (theta.sin() + theta**2).backward()
        optimizer.step()
        g = np.cos(x) + 2 * x + decay * x
        m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g**2
        d = (m / (1 - b1**t)) / (np.sqrt(v / (1 - b2**t)) + eps)
        x, previous = x - 2 * lr * d + lr * previous, d
        assert float(theta.detach()) == pytest.approx(x, rel=1e-12)


# min_h max_f h f: plain simultaneous steps spiral outwards, optimism brings both players home.
def test_optimism_settles_a_game_that_descent_does_not():
    def distance(optimizer):
        h, f = Constant(1.0), Constant(1.0)
        settings = plain_descent(0.05, row_visits=10_000) | {"optimizer": optimizer}
        losses = lambda x: ((h(x) * f(x)).mean(), -(h(x) * f(x)).mean())  # noqa: E731
        Training(**settings).minimize([h, f], losses, [np.zeros((10, 1))], 0, rates=(1.0, 1.0))
        return h.value.item() ** 2 + f.value.item() ** 2

    assert distance(torch.optim.SGD) > 2
    assert distance(OptimisticAdam) < distance(torch.optim.SGD) / 4


# A callback belongs to whoever gave it. One that is an object, or a method of one, must hear of the
# epochs of every copy; one that can be neither copied nor pickled must not stand in the way.


class Listener:
    def __init__(self):
        self.heard, self.lock = [], threading.Lock()

    def __call__(self, epoch):
        self.heard.append(epoch)


@pytest.mark.parametrize("bound", [False, True])
def test_clones_share_the_callback(bound):
    listener = Listener()
    callback = listener.__call__ if bound else listener
    training = clone(Training(callback=callback, patience=3))
    assert training.callback == callback
    assert training.patience == 3
    nested = clone(CanonicalFeatures(training=training))
    assert nested.training is not training
    assert nested.training.callback == callback
    with pytest.raises(TypeError):
        clone(Training(learning_rate=threading.Lock()))


def test_what_is_pickled_has_no_callback_and_the_same_optimizer():
    for optimizer in (None, torch.optim.AdamW, OptimisticAdam):
        training = Training(callback=Listener(), optimizer=optimizer, patience=3)
        copy = pickle.loads(pickle.dumps(training))
        assert copy.get_params() == training.get_params() | {"callback": None}
        assert training.callback is not None


@pytest.mark.parametrize("name", ["Gone", "lr_scheduler", "Optimizers", "nn"])
def test_a_name_that_is_no_optimizer_is_refused(name):
    state = Training().__getstate__() | {"optimizer": name}
    with pytest.raises(ValueError, match=f"no optimizer of the name {name!r}"):
        Training.__new__(Training).__setstate__(state)
