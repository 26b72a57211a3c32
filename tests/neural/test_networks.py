"""Network factories, and trained networks as plain values."""

import pickle

import numpy as np
import pytest
import torch
from torch import nn

from sagdiv.neural import MLP, ConvNet
from sagdiv.neural.networks import Network, default_network
from sagdiv.neural.training import reproducible
from sagdiv.persistence import save

pytestmark = pytest.mark.usefixtures("torch_state_untouched")


def network(factory, shape, n_outputs=2, n=30):
    rows = np.random.RandomState(0).normal(3.0, 5.0, (n, int(np.prod(shape))))
    result = build(Network, factory, shape, n_outputs, rows)
    result.module.double().eval()
    return result, rows


def build(factory, *arguments):
    """Call a factory whose initial weights are random, under a seed."""
    with reproducible(0):
        return factory(*arguments)


class OwnModule(nn.Module):
    """With a layer that keeps counts and running means, as networks from elsewhere do."""

    def __init__(self, width, n_outputs):
        super().__init__()
        self.norm, self.out = nn.BatchNorm1d(width), nn.Linear(width, n_outputs)

    def forward(self, rows):
        return self.out(self.norm(rows)).tanh()


def own_factory(shape, n_outputs):
    return OwnModule(int(np.prod(shape)), n_outputs)


FACTORIES = [
    pytest.param(MLP(), (3,), id="mlp"),
    pytest.param(MLP((5,), "tanh", 0.5), (3,), id="dropout"),
    pytest.param(MLP(()), (3,), id="linear"),
    pytest.param(ConvNet(), (8, 8), id="grey"),
    pytest.param(ConvNet((4,), (), 0.1), (9, 7, 3), id="colour"),
    pytest.param(ConvNet(), (4, 4, 1), id="smallest"),
    pytest.param(own_factory, (3,), id="own"),
]


def test_mlp_is_its_formula():
    module = build(MLP((4, 3), "sigmoid"), (2,), 1)
    layers = [layer for layer in module if isinstance(layer, nn.Linear)]
    assert [(layer.in_features, layer.out_features) for layer in layers] == [(2, 4), (4, 3), (3, 1)]
    (A, a), (B, b), (C, c) = [
        (layer.weight.detach().numpy(), layer.bias.detach().numpy()) for layer in layers
    ]
    x = np.array([0.3, -2.0], dtype=np.float32)
    first = 1 / (1 + np.exp(-(A @ x + a)))
    expected = C @ (1 / (1 + np.exp(-(B @ first + b)))) + c
    np.testing.assert_allclose(
        module(torch.from_numpy(x)[None]).detach().numpy()[0], expected, rtol=1e-5
    )


def test_dropout_is_part_of_every_hidden_layer():
    layers = build(MLP((4, 3), dropout=0.25), (2,), 1)
    assert [layer.p for layer in layers if isinstance(layer, nn.Dropout)] == [0.25, 0.25]


# A filter that picks one colour of one pixel must find it where rows of pixels were flattened.
def test_images_arrive_in_the_order_in_which_they_were_flattened():
    images = np.random.RandomState(0).normal(size=(5, 6, 7, 3))
    to_image = build(ConvNet(), (6, 7, 3), 1)[0]
    seen = to_image(torch.from_numpy(images.reshape(5, -1))).numpy()
    np.testing.assert_array_equal(seen, images.transpose(0, 3, 1, 2))


def test_large_images_do_not_make_the_dense_layers_grow():
    def n_parameters(shape):
        return sum(p.numel() for p in build(ConvNet(), shape, 1).parameters())

    assert n_parameters((64, 48)) == n_parameters((256, 256))


@pytest.mark.parametrize("shape", [(3,), (3, 8), (8, 3, 1), (8, 8, 3, 2)])
def test_convnet_refuses_what_is_no_image(shape):
    with pytest.raises(ValueError, match="use MLP for tables"):
        ConvNet()(shape, 1)


def test_defaults_follow_the_shape():
    assert not any(isinstance(m, nn.Conv2d) for m in build(default_network, (3,), 1).modules())
    assert any(isinstance(m, nn.Conv2d) for m in build(default_network, (8, 8), 1).modules())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [({"activation": "cubic"}, "activation must be one of 'relu'"), ({"dropout": 1.0}, "dropout")],
)
def test_bad_settings(arguments, message):
    with pytest.raises(ValueError, match=message):
        MLP(**arguments)


@pytest.mark.parametrize(("factory", "shape"), FACTORIES)
def test_a_row_is_evaluated_by_itself(factory, shape):
    model, rows = network(factory, shape)
    outputs = model(rows)
    assert outputs.shape == (30, 2)
    assert outputs.dtype == np.float64
    np.testing.assert_allclose(model(rows[7:8]), outputs[7:8], rtol=1e-10, atol=1e-12)


def test_many_rows_in_blocks(monkeypatch):
    model, rows = network(MLP(), (3,))
    whole = model(rows)
    monkeypatch.setattr("sagdiv.neural.networks._BLOCK_ELEMENTS", 12)
    np.testing.assert_allclose(model(rows), whole, rtol=1e-12)


@pytest.mark.parametrize(("factory", "shape"), FACTORIES)
def test_pickle_to_the_last_bit(factory, shape):
    model, rows = network(factory, shape)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy(rows), model(rows))
    again = pickle.loads(pickle.dumps(copy))
    np.testing.assert_array_equal(again(rows), model(rows))


# Whatever the machine that trained it: arrays and the factory, no tensors, no devices.
def test_what_is_pickled_knows_nothing_of_torch():
    state = network(MLP(), (3,))[0].__getstate__()
    assert set(state) == {"factory", "shape", "n_outputs", "location", "scale", "weights"}
    assert {type(weight) for weight in state["weights"].values()} == {np.ndarray}
    assert b"torch" not in pickle.dumps(state)


# The way of a file that promised to run nothing: what it names as the factory would be called.
@pytest.mark.parametrize("factory", [own_factory, save, nn.Linear, "MLP"])
def test_state_with_a_factory_that_is_not_ours_is_refused(factory):
    state = network(MLP(), (3,))[0].__getstate__() | {"factory": factory}
    with pytest.raises(ValueError, match="is not a network of this library"):
        Network.__new__(Network).__setstate__(state)


def in_single_precision_only(shape, n_outputs):
    class Offset(nn.Linear):
        def forward(self, rows):
            return super().forward(rows - torch.zeros(rows.shape)) @ torch.eye(n_outputs)

    return Offset(shape[0], n_outputs)


def without_outputs(shape, n_outputs):
    return nn.Sequential(nn.Linear(shape[0], 1), nn.Flatten(0))


NOT_NETWORKS = [
    (nn.Linear(3, 2), TypeError, "function .* not an instance of Linear: every fit starts anew"),
    ("relu", TypeError, "network must be a function .* not an instance of str"),
    (lambda shape, n: 3, TypeError, "must return a torch.nn.Module, got an instance of int"),
    (lambda shape, n: nn.Linear(3, 1), ValueError, r"shape \(2, 1\) for 2 rows; .* here \(2, 2\)"),
    (without_outputs, ValueError, r"outputs of shape \(2,\)"),
    (lambda shape, n: nn.Linear(4, n), ValueError, "fails on 2 rows of 3 numbers in single"),
    (in_single_precision_only, ValueError, "in double precision, in which it is evaluated"),
]


@pytest.mark.parametrize(("factory", "error", "message"), NOT_NETWORKS)
def test_what_is_no_network_is_refused_before_training(factory, error, message):
    with pytest.raises(error, match=message):
        network(factory, (3,))


def test_columns_of_a_table_are_standardised_one_by_one():
    rows = np.random.RandomState(0).normal([1.0, -50.0], [2.0, 1e3], (200, 2))
    rows = np.column_stack([rows, np.full(200, 7.0)])  # a column that never changes
    standardized = build(Network, MLP(), (3,), 1, rows).standardized(rows)
    np.testing.assert_allclose(standardized.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(standardized.std(axis=0), [1, 1, 0], atol=1e-12)


def test_pixels_of_images_are_standardised_alike():
    rows = np.random.RandomState(0).uniform(0, 255, (50, 64))
    rows[:, 0] = 0.0  # a dark corner stays one
    standardized = build(Network, ConvNet(), (8, 8), 1, rows).standardized(rows)
    np.testing.assert_allclose(standardized, (rows - rows.mean()) / rows.std())


# Seconds since 1970 in one afternoon: single precision would not tell them apart.
def test_a_large_offset_is_taken_off_in_double_precision():
    rows = np.random.RandomState(0).uniform(0, 3600, (50, 1))
    here, there = (build(Network, MLP(), (1,), 1, A) for A in (rows, rows + 1.7e9))
    for network in (here, there):
        network.module.double().eval()
    np.testing.assert_allclose(here(rows), there(rows + 1.7e9), atol=1e-6)
