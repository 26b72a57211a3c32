"""What is particular to each networked baseline, against naive versions of its formulas."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra deep")

from sklearn.base import clone  # noqa: E402

from sagdiv.baselines import DeepGMM, DeepIV, DirectNetwork  # noqa: E402
from sagdiv.baselines.deep_gmm import Run, worst_violation  # noqa: E402
from sagdiv.baselines.deep_iv import paper_dropout, squared_projected_residual  # noqa: E402
from sagdiv.datasets import make_continuous, make_digits_iv  # noqa: E402
from sagdiv.neural import MLP, MixtureDensity, OptimisticAdam, Training  # noqa: E402

SHORT = Training(row_visits=1000, batch_size=50)
GAME = Training(row_visits=4000, batch_size=50, optimizer=OptimisticAdam, check_every=10)
SMALL = MLP((6,))


def deep_iv(**parameters):
    settings = {"density": MixtureDensity(2, SMALL, SHORT), "network": SMALL, "training": SHORT}
    return DeepIV(**(settings | parameters), random_state=0)


def deep_gmm(**parameters):
    settings = {"network": SMALL, "critic": SMALL, "training": GAME}
    return DeepGMM(**(settings | parameters), learning_rates=(0.01, 0.002), random_state=0)


# DeepIV


# The average of e_s e_t over all ordered pairs s != t of draws, then over rows, by a triple loop.
@pytest.mark.parametrize("n_draws", [2, 3, 7])
def test_the_loss_of_deep_iv_is_an_average_over_pairs_of_draws(n_draws):
    e = np.random.RandomState(0).normal(size=(n_draws, 5))
    naive = np.mean(
        [
            e[s, i] * e[t, i]
            for i in range(5)
            for s in range(n_draws)
            for t in range(n_draws)
            if s != t
        ]
    )
    assert squared_projected_residual(torch.from_numpy(e)).item() == pytest.approx(naive, rel=1e-12)


# E[e_s e_t] = E[e|z]^2, where a single draw would give E[e^2|z], which is larger by the variance.
def test_pairs_are_unbiased_and_a_single_draw_is_an_upper_bound():
    rng = np.random.RandomState(0)
    mean = rng.normal(size=20_000)
    draws = torch.from_numpy(mean + rng.normal(size=(2, 20_000)))
    assert squared_projected_residual(draws).item() == pytest.approx(np.mean(mean**2), abs=0.05)
    upper = squared_projected_residual(draws[:1]).item()
    assert upper == pytest.approx(np.mean(mean**2) + 1, abs=0.05)


def test_one_draw_is_another_estimator(sample):
    predictions = [
        deep_iv(n_draws=k).fit(sample.X, sample.y, sample.Z).predict(sample.X) for k in (1, 2)
    ]
    assert not np.allclose(*predictions)


# Draws for the second network are those of the first stage, in the units of that network.
def test_draws_reach_the_second_network_in_its_units(rng):
    Z = rng.normal(size=(60, 1))
    X = np.column_stack([Z[:, 0], 1e3 + 50 * rng.normal(size=60)])
    model = deep_iv().fit(X, Z[:, 0], Z)
    raw, standardized = model.density_.sampler(Z), model._parameters(Z)
    np.testing.assert_array_equal(standardized[..., 0], raw[..., 0])
    for j in range(2):
        low, high = (raw[..., 1 + j] + sign * raw[..., 3 + j] for sign in (-1, 1))  # mean -+ spread
        location, scale = X[:, j].mean(), X[:, j].std()
        np.testing.assert_allclose(
            standardized[..., 1 + j] - standardized[..., 3 + j], (low - location) / scale
        )
        np.testing.assert_allclose(
            standardized[..., 1 + j] + standardized[..., 3 + j], (high - location) / scale
        )


@pytest.mark.parametrize(("n", "share"), [(100, 0.5), (1000, 0.5), (9000, 0.1)])
def test_dropout_of_the_paper(n, share):
    assert paper_dropout(n) == share


def test_deep_iv_refuses_images_of_x_and_no_draws(sample):
    images = make_digits_iv("x", 30, random_state=0)
    with pytest.raises(ValueError, match="give X as a table"):
        deep_iv().fit(images.X, images.y, images.Z)
    with pytest.raises(ValueError, match="n_draws"):
        deep_iv(n_draws=0).fit(sample.X, sample.y, sample.Z)


# DeepGMM


# max over all critics f of mean f e - mean f^2 e~^2 / 4 with e~ the average residual, by loops.
def test_the_selection_of_deep_gmm_is_its_formula():
    rng = np.random.RandomState(0)
    residuals, critics = rng.normal(size=(2, 2, 3, 11))
    average = [np.mean([residuals[c, k, i] for c in range(2) for k in range(3)]) for i in range(11)]
    naive = np.empty((2, 3))
    for c in range(2):
        for k in range(3):
            naive[c, k] = max(
                np.mean([f[i] * residuals[c, k, i] for i in range(11)])
                - np.mean([f[i] ** 2 * average[i] ** 2 for i in range(11)]) / 4
                for f in critics.reshape(6, 11)
            )
    np.testing.assert_allclose(worst_violation(residuals, critics), naive, rtol=1e-12)


def test_the_game_of_deep_gmm():
    h, f = (torch.nn.Linear(1, 1, bias=False).double() for _ in range(2))
    x, y, z = torch.randn(3, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    answer, critic = Run(h, f).losses(x[:, None], y, z[:, None])
    e = (y - h.weight * x).detach().numpy()[0]
    values = (f.weight * z).detach().numpy()[0]
    assert answer.item() == pytest.approx(np.mean(values * e))
    assert critic.item() == pytest.approx(np.mean(values**2 * e**2) / 4 - np.mean(values * e))
    # The penalty is taken at the previous iterate: it does not pull at h.
    (through_critic,) = torch.autograd.grad(critic, h.weight)
    assert through_critic.item() == pytest.approx(np.mean(values * x.numpy()))


def test_the_kept_iterate_is_the_one_with_the_smallest_violation(sample):
    model = deep_gmm().fit(sample.X, sample.y, sample.Z)
    chosen = model.selection_
    assert chosen.violation.shape[0] == 2
    assert chosen.violation[chosen.run, chosen.iterate] == chosen.violation.min()
    np.testing.assert_array_equal(chosen.learning_rates, [0.01, 0.002])
    checks = [np.isfinite(history.validation).sum() for history in model.histories_]
    assert checks == [chosen.violation.shape[1]] * 2


# Early stopping must not end a game: its score falls with every look.
def test_a_game_is_played_to_the_end(sample):
    training = clone(GAME).set_params(patience=15)
    model = deep_gmm(training=training).fit(sample.X, sample.y, sample.Z)
    n_epochs = round(4000 / 72)  # of 90 rows, a fifth is kept for selection
    assert [len(history.loss) for history in model.histories_] == [n_epochs] * 2


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"learning_rates": ()}, r"learning_rates must be a sequence of one or more .* got \(\)"),
        ({"learning_rates": 0.001}, "learning_rates must be a sequence of one or more .* 0.001"),
        ({"learning_rates": (0.1, -1.0)}, "each of learning_rates must be a positive .* -1.0"),
        ({"critic_rate": 0.0}, "critic_rate must be a positive number, got 0.0"),
        ({"critic_rate": -1}, "critic_rate must be a positive number, got -1"),
    ],
)
def test_parameters_of_deep_gmm(sample, parameters, message):
    model = DeepGMM(SMALL, SMALL, GAME, **parameters)
    with pytest.raises(ValueError, match=message):
        model.fit(sample.X, sample.y, sample.Z)


def test_deep_gmm_needs_validation_rows(sample):
    training = clone(GAME).set_params(validation_fraction=0.0)
    with pytest.raises(ValueError, match="selects on validation rows"):
        deep_gmm(training=training).fit(sample.X, sample.y, sample.Z)


# All


def test_direct_network_is_the_regression_of_y_on_x():
    data = make_continuous("linear", 1000, random_state=0)
    training = Training(row_visits=40_000, learning_rate=5e-3)
    model = DirectNetwork(training=training, random_state=0).fit(data.X, data.y, data.Z)
    slope = np.polyfit(data.X[:, 0], model.predict(data.X), 1)[0]
    assert slope == pytest.approx(np.polyfit(data.X[:, 0], data.y, 1)[0], abs=0.05)


IMAGES = {
    DirectNetwork(training=SHORT, random_state=0): ("x", "z"),
    DeepGMM(training=GAME, learning_rates=(0.001,), random_state=0): ("x", "z", "xz"),
    DeepIV(MixtureDensity(2, None, SHORT), training=SHORT, random_state=0): ("z",),
}


@pytest.mark.parametrize(
    ("model", "scenario"),
    [
        pytest.param(model, scenario, id=f"{type(model).__name__}-{scenario}")
        for model, scenarios in IMAGES.items()
        for scenario in scenarios
    ],
)
def test_images(model, scenario):
    data = make_digits_iv(scenario, 60, random_state=0)
    fitted = clone(model).fit(data.X, data.y, data.Z)
    assert np.isfinite(fitted.predict(data.X)).all()
    assert fitted.score(data.X, data.y, data.Z) < 0
    if data.X.ndim > 2:
        with pytest.raises(ValueError, match=r"X has rows of shape \(6, 6\)"):
            fitted.predict(np.zeros((2, 6, 6)))
