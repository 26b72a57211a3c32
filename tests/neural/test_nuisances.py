"""Neural nuisances against naive versions of their formulas. Contracts: `tests/contracts`."""

import math
import tracemalloc

import numpy as np
import pytest
import torch
from scipy.stats import norm
from sklearn.base import clone

from sagdiv.datasets import GaussianDesign, make_digits_iv, make_gaussian
from sagdiv.neural import (
    MLP,
    MixtureDensity,
    NeuralDensityRatio,
    NeuralOperator,
    NeuralOutcome,
    Training,
)
from sagdiv.neural.mixture import draw_mixture, log_mixture
from sagdiv.neural.training import reproducible

pytestmark = pytest.mark.usefixtures("torch_state_untouched")

SHORT = Training(row_visits=1000, batch_size=50)
DESIGN = GaussianDesign()


@pytest.fixture(scope="module")
def pair():
    data = make_gaussian(60, random_state=0)
    return data.X, data.Z


@pytest.fixture(scope="module")
def ratio(pair):
    return NeuralDensityRatio(training=SHORT, random_state=0).fit(*pair)


def unnormalized(ratio, x, z):
    # softplus of the network, one pair at a time.
    return math.log1p(math.exp(ratio.network_(np.concatenate([x, z])[None])[0, 0]))


# Density ratio


# The criterion 1/2 E[Phi^2] over pairs i != j minus E[Phi] over i = j, by a double loop.
def test_loss_is_least_squares_over_all_pairs(ratio, pair):
    X, Z = pair[0][:12], pair[1][:12]
    apart = [unnormalized(ratio, X[i], Z[j]) ** 2 for i in range(12) for j in range(12) if i != j]
    together = [unnormalized(ratio, X[i], Z[i]) for i in range(12)]
    loss = ratio._loss(*map(torch.from_numpy, ratio._inputs(X, Z)), n_pairings=1000)
    assert float(loss.detach()) == pytest.approx(np.mean(apart) / 2 - np.mean(together), rel=1e-9)


def test_fewer_pairings_are_a_part_of_all_pairs(ratio, pair):
    X, Z = pair[0][:12], pair[1][:12]
    apart = [unnormalized(ratio, X[i], Z[(i + s) % 12]) ** 2 for i in range(12) for s in (1, 2, 3)]
    together = [unnormalized(ratio, X[i], Z[i]) for i in range(12)]
    loss = ratio._loss(*map(torch.from_numpy, ratio._inputs(X, Z)), n_pairings=3)
    assert float(loss.detach()) == pytest.approx(np.mean(apart) / 2 - np.mean(together), rel=1e-9)


def test_ratio_is_the_network_over_its_mean(ratio, pair):
    X, Z = pair
    naive = np.array([[unnormalized(ratio, x, z) for z in Z[:5]] for x in X[:7]]) / ratio.mean_
    np.testing.assert_allclose(ratio.ratio(X[:7], Z[:5]), naive, rtol=1e-10)
    assert ratio.ratio(X, Z).mean() == pytest.approx(1, rel=1e-12)


# Sorted rows are the same rows: their first few hundred say nothing of the mean over all pairs.
def test_the_mean_over_pairs_does_not_hang_on_the_order_of_the_rows():
    data = make_gaussian(3000, random_state=0)
    order = np.argsort(data.Z[:, 0])
    X, Z = data.X[order], data.Z[order]
    ratio = NeuralDensityRatio(training=SHORT, random_state=0).fit(X, Z)
    some = np.random.RandomState(1).permutation(3000)
    assert ratio.ratio(X[some[:500]], Z[some[500:1000]]).mean() == pytest.approx(1, abs=0.1)


def test_ratio_in_blocks(ratio, pair, monkeypatch):
    X, Z = pair
    whole = ratio.ratio(X, Z)
    monkeypatch.setattr("sagdiv.neural.density_ratio._PAIRS_PER_BLOCK", 100)
    np.testing.assert_allclose(ratio.ratio(X, Z), whole, rtol=1e-12)


def test_learns_the_ratio_of_normal_variables():
    data = make_gaussian(1000, random_state=0)
    X, _, Z = DESIGN.draw(500, np.random.RandomState(1))
    training = Training(row_visits=40_000, batch_size=200, learning_rate=5e-3, check_every=5)
    Phi = NeuralDensityRatio(training=training, n_pairings=4, random_state=0)
    truth = DESIGN.Phi(X, Z)
    error = np.mean((Phi.fit(data.X, data.Z).ratio(X, Z) - truth) ** 2)
    assert error < 0.35 * np.mean((truth - 1) ** 2)  # 1 is independence


# Outcome


def test_outcome_learns_the_conditional_mean():
    data = make_gaussian(1000, random_state=0)
    Z = DESIGN.draw(500, np.random.RandomState(1))[2]
    outcome = NeuralOutcome(training=Training(row_visits=40_000, learning_rate=5e-3))
    outcome.set_params(random_state=0).fit(data.Z, data.y)
    assert np.mean((outcome.predict(Z) - DESIGN.r(Z)) ** 2) < 0.2 * np.var(DESIGN.r(Z))


@pytest.mark.parametrize("loss", ["squared", "cross_entropy"])
def test_outcome_minimises_the_loss_it_says(loss, rng):
    Z, y = rng.normal(size=(30, 2)), (rng.rand(30) < 0.5).astype(float)
    outcome = NeuralOutcome(training=SHORT, loss=loss, random_state=0).fit(Z, y)
    prediction = outcome.predict(Z)
    if loss == "squared":
        naive = np.mean(((y - prediction) / y.std()) ** 2)
    else:
        naive = -np.mean([math.log(p if one else 1 - p) for p, one in zip(prediction, y)])  # noqa: B905
        assert ((prediction > 0) & (prediction < 1)).all()
    standardized = torch.from_numpy((y - outcome.location_) / outcome.scale_)
    inputs = torch.from_numpy(outcome.network_.standardized(Z))
    value = outcome._losses(inputs, standardized)[0]
    assert float(value.detach()) == pytest.approx(naive, rel=1e-9)


def test_outcome_in_other_units_is_the_same_outcome(rng):
    Z, y = rng.normal(size=(50, 2)), rng.normal(size=50)
    outcome = NeuralOutcome(training=SHORT, random_state=0)
    plain = clone(outcome).fit(Z, y).predict(Z)
    np.testing.assert_allclose(clone(outcome).fit(Z, 8 * y + 64).predict(Z), 8 * plain + 64)


def test_outcome_refuses_an_unknown_loss():
    with pytest.raises(ValueError, match="loss must be 'squared' or 'cross_entropy'"):
        NeuralOutcome(loss="absolute").fit(np.zeros((9, 1)), np.zeros(9))


@pytest.mark.parametrize("y", [np.linspace(0, 1, 9), np.arange(9) % 3, np.full(9, -1.0)])
def test_cross_entropy_refuses_what_is_not_zero_or_one(y):
    with pytest.raises(ValueError, match="y must be 0 or 1 for 'cross_entropy', got the values"):
        NeuralOutcome(loss="cross_entropy").fit(np.zeros((9, 1)), y)


def test_outcome_of_images():
    data = make_digits_iv("z", 60, random_state=0)
    outcome = NeuralOutcome(training=SHORT, shape=(8, 8), random_state=0)
    outcome.fit(data.Z.reshape(60, -1), data.y)
    assert outcome.predict(data.Z.reshape(60, -1)).shape == (60,)


# Mixture density and operator


@pytest.fixture(scope="module")
def mixture():
    rng = np.random.RandomState(0)
    Z = rng.normal(size=(80, 2))
    X = np.column_stack([Z[:, 0] + rng.normal(size=80), 100 + 20 * rng.normal(size=80)])
    density = MixtureDensity(3, training=SHORT, random_state=0).fit(X, Z)
    return density, X, Z


# log sum_k pi_k prod_j N(x_j; mu_kj, sigma_kj^2), in the units of the data, component by component.
def test_density_is_the_mixture_of_normals(mixture):
    density, X, Z = mixture
    components = density.sampler(Z[:4])
    assert components.shape == (4, 3, 5)
    for i in range(6):
        for j in range(4):
            total = sum(
                math.exp(log_weight) * norm.pdf(X[i], (m1, m2), (s1, s2)).prod()
                for log_weight, m1, m2, s1, s2 in components[j]
            )
            assert density.log_density(X[i : i + 1], Z[j : j + 1])[0, 0] == pytest.approx(
                math.log(total), rel=1e-9
            )
    np.testing.assert_allclose(np.exp(components[..., 0]).sum(axis=1), 1)


def test_density_loss_is_the_negative_log_likelihood(mixture):
    density, X, Z = mixture
    standardized = (X - density.location_) / density.scale_
    inputs = torch.from_numpy(density.network_.standardized(Z))
    value = density._losses(torch.from_numpy(standardized), inputs)[0]
    paired = density.log_density(X, Z).diagonal() + np.log(density.scale_).sum()
    assert float(value.detach()) == pytest.approx(-paired.mean(), rel=1e-9)


def test_density_in_blocks(mixture, monkeypatch):
    density, X, Z = mixture
    whole = density.log_density(X, Z)
    monkeypatch.setattr("sagdiv.neural.mixture._PAIRS_PER_BLOCK", 500)
    np.testing.assert_allclose(density.log_density(X, Z), whole, rtol=1e-12)


def test_a_spread_has_a_floor():
    log_scale = torch.tensor([[[-100.0]]])
    density = MixtureDensity(1)
    outputs = torch.cat([torch.zeros(1, 1, 2), log_scale], 2).reshape(1, 3)
    assert density._parameters(outputs)[2].item() == -5.0


# Draws have the mean and the variance of the mixture.
def test_draws_follow_the_mixture():
    weight, mean, spread = np.array([0.3, 0.7]), np.array([-1.0, 2.0]), np.array([0.1, 0.5])
    components = np.column_stack([np.log(weight), mean, spread])[None]
    with reproducible(0):
        draws = draw_mixture(torch.from_numpy(components), 200_000).numpy()
    assert draws.shape == (200_000, 1, 1)
    assert draws.mean() == pytest.approx(weight @ mean, abs=0.01)
    second_moment = weight @ (mean**2 + spread**2)
    assert draws.var() == pytest.approx(second_moment - (weight @ mean) ** 2, abs=0.01)
    assert (draws < 0).mean() == pytest.approx(0.3, abs=0.005)


def test_log_mixture_of_one_normal():
    one = torch.zeros(1, 1, dtype=torch.float64)
    value = log_mixture(torch.tensor([[0.7]]), one, one[..., None] + 0.2, one[..., None] + 0.5)
    assert value.item() == pytest.approx(norm.logpdf(0.7, 0.2, math.exp(0.5)), rel=1e-6)


# Importance sampling: w_j proportional to p^(x_j|z) over its mean across the z of the nodes.
def test_operator_weights_are_importance_weights(mixture):
    _, X, Z = mixture
    operator = NeuralOperator(MixtureDensity(3, training=SHORT), n_nodes=20, random_state=0)
    operator.fit(X, Z)
    rows = [int(np.flatnonzero((node == X).all(axis=1))[0]) for node in operator.nodes_]
    assert len(set(rows)) == 20
    density, z_new = operator.density_, Z[:3]
    for z, weights in zip(z_new, operator.weights(z_new), strict=True):
        naive = np.array(
            [
                math.exp(density.log_density(x[None], z[None])[0, 0])
                / np.mean([math.exp(density.log_density(x[None], Z[[i]])[0, 0]) for i in rows])
                for x in operator.nodes_
            ]
        )
        np.testing.assert_allclose(weights, naive / naive.sum(), rtol=1e-8)


# What is held grows with the nodes, not with the rows: there is no n x n array.
def test_operator_keeps_a_bounded_set_of_nodes(rng):
    Z = rng.normal(size=(3000, 1))
    operator = NeuralOperator(MixtureDensity(2, MLP((4,)), SHORT), n_nodes=50, random_state=0)
    operator.fit(Z + rng.normal(size=Z.shape), Z)
    assert operator.nodes_.shape == (50, 1)
    assert operator.weights(Z).shape == (3000, 50)
    assert max(np.size(value) for value in vars(operator).values()) <= 50


# In the place of the kernel operator: no array of n x n numbers while it is fitted, and none while
# its weights are applied to blocks of rows.
def test_operator_of_many_rows_takes_little_memory():
    n = 20_000
    data = make_gaussian(n, random_state=0)
    operator = NeuralOperator(MixtureDensity(2, MLP((4,)), SHORT), random_state=0)
    tracemalloc.start()
    try:
        operator.fit(data.X, data.Z)
        operator.weights(data.Z[:1000])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < n * n * 8 / 20


@pytest.mark.parametrize(
    ("component", "message"),
    [
        (NeuralDensityRatio(n_pairings=0), "n_pairings"),
        (MixtureDensity(0), "n_components"),
        (NeuralOperator(n_nodes=0), "n_nodes"),
    ],
)
def test_bad_settings(component, message, pair):
    with pytest.raises(ValueError, match=message):
        component.fit(*pair)
