"""Learned features: the loss, the canonical coordinates, and who has seen which row."""

import pickle

import numpy as np
import pytest
import torch
from sklearn.base import clone

from sagdiv.datasets import make_digits_iv, make_gaussian
from sagdiv.neural import CanonicalFeatures, CrossFittedFeatures, Training
from sagdiv.neural.cross_fitting import paired_folds
from sagdiv.neural.features import canonical_rotations, low_rank_loss

pytestmark = pytest.mark.usefixtures("torch_state_untouched")

SHORT = Training(row_visits=3000, batch_size=100)
SMALL = CanonicalFeatures(4, training=SHORT, random_state=0)


@pytest.fixture(scope="module")
def pair():
    data = make_gaussian(200, random_state=0)
    return data.X, data.Z


@pytest.fixture(scope="module")
def features(pair):
    return clone(SMALL).fit(*pair)


@pytest.fixture(scope="module")
def cross_fitted(pair):
    return CrossFittedFeatures(SMALL, n_folds=3, random_state=0).fit(*pair)


def covariance(A, B, weights):
    share = weights / weights.sum()
    return ((A - share @ A).T * share) @ (B - share @ B)


# The loss


def outputs(n=15, k=3):
    rng = np.random.RandomState(0)
    return rng.normal(size=(n, k)), rng.normal(size=(n, k)), rng.randint(1, 4, n).astype(float)


# With Phi(x, z) = 1 + f(x)'g(z), f and g centred: 1/2 E_prod[(Phi - 1)^2] - E_joint[Phi - 1], by a
# double loop over all pairs.
def test_loss_is_that_of_a_density_ratio():
    f, g, w = outputs()
    share = w / w.sum()
    f0, g0 = f - share @ f, g - share @ g
    n = len(f)
    apart = sum(share[i] * share[j] * (f0[i] @ g0[j]) ** 2 for i in range(n) for j in range(n))
    together = sum(share[i] * (f0[i] @ g0[i]) for i in range(n))
    value = low_rank_loss(*map(torch.from_numpy, (f, g, w)))
    assert value.item() == pytest.approx(apart / 2 - together, rel=1e-10)


def test_a_weight_is_a_repeated_row():
    f, g, w = outputs()
    counts = w.astype(int)
    repeated = low_rank_loss(
        torch.from_numpy(np.repeat(f, counts, axis=0)),
        torch.from_numpy(np.repeat(g, counts, axis=0)),
        torch.ones(counts.sum()),
    )
    assert repeated.item() == pytest.approx(low_rank_loss(*map(torch.from_numpy, (f, g, w))).item())


def test_loss_does_not_see_constants():
    f, g, w = map(torch.from_numpy, outputs())
    assert low_rank_loss(f + 7, g - 3, w).item() == pytest.approx(low_rank_loss(f, g, w).item())


# The rotation


# Mean zero, identity covariances, and a diagonal of decreasing correlations between them.
@pytest.mark.parametrize("weighted", [False, True])
def test_rotations_lead_to_canonical_variates(weighted):
    rng = np.random.RandomState(0)
    f = rng.normal(size=(50, 4)) @ rng.normal(size=(4, 4)) + 3
    g = f[:, :3] + rng.normal(size=(50, 3))
    w = rng.randint(1, 5, 50).astype(float) if weighted else np.ones(50)
    s, to_x, to_z = canonical_rotations(f, g, w)
    u, v = to_x(f), to_z(g)
    assert s.shape == (3,)
    assert (np.diff(s) <= 0).all()
    np.testing.assert_allclose((w @ u, w @ v), 0, atol=1e-9)
    np.testing.assert_allclose(covariance(u, u, w), np.eye(3), atol=1e-9)
    np.testing.assert_allclose(covariance(v, v, w), np.eye(3), atol=1e-9)
    np.testing.assert_allclose(covariance(u, v, w), np.diag(s), atol=1e-9)


def test_a_direction_that_is_there_twice_counts_once():
    rng = np.random.RandomState(0)
    f = rng.normal(size=(50, 2))
    s, to_x, _ = canonical_rotations(np.hstack([f, f]), rng.normal(size=(50, 5)), np.ones(50))
    assert s.shape == (2,)
    assert np.isfinite(to_x(np.hstack([f, f]))).all()


# Learning


def test_variates_of_the_training_rows(features, pair):
    X, Z = pair
    u, v, w = features.transform_x(X), features.transform_z(Z), np.ones(200)
    np.testing.assert_allclose(covariance(u, u, w), np.eye(u.shape[1]), atol=1e-8)
    np.testing.assert_allclose(covariance(v, v, w), np.eye(v.shape[1]), atol=1e-8)
    np.testing.assert_allclose(covariance(u, v, w), np.diag(features.correlations_), atol=1e-8)


# Hermite polynomials diagonalise normal variables: canonical correlations rho, rho^2, ...
def test_finds_the_canonical_correlations_of_normal_variables():
    data = make_gaussian(2000, random_state=0)
    learner = CanonicalFeatures(4, training=Training(row_visits=60_000, learning_rate=5e-3))
    learner.set_params(random_state=0).fit(data.X, data.Z)
    fresh = make_gaussian(5000, random_state=1)
    u, v = learner.transform_x(fresh.X), learner.transform_z(fresh.Z)
    rho = data.design.correlation
    assert np.corrcoef(u[:, 0], v[:, 0])[0, 1] == pytest.approx(rho, abs=0.05)
    assert np.corrcoef(u[:, 1], v[:, 1])[0, 1] == pytest.approx(rho**2, abs=0.08)
    assert abs(np.corrcoef(u[:, 0], fresh.X[:, 0])[0, 1]) > 0.97


def test_an_irrelevant_instrument_has_no_features():
    rng = np.random.RandomState(0)
    X, Z = rng.normal(size=(2, 1000, 1))
    learner = CrossFittedFeatures(CanonicalFeatures(4, training=SHORT), random_state=0).fit(X, Z)
    fresh_X, fresh_Z = rng.normal(size=(2, 2000, 1))
    u, v = learner.transform_x(fresh_X), learner.transform_z(fresh_Z)
    assert np.abs(covariance(u, v, np.ones(2000))).max() < 0.2


@pytest.mark.parametrize("learner", [SMALL, CrossFittedFeatures(SMALL, random_state=0)])
def test_same_seed_same_bits_and_another_seed_another_draw(learner, pair):
    X, Z = pair

    def variates(seed):
        fitted = clone(learner).set_params(random_state=seed).fit(X, Z)
        return np.hstack([fitted.transform_x(X), fitted.transform_z(Z)])

    assert variates(0).tobytes() == variates(0).tobytes()
    assert variates(np.random.RandomState(0)).tobytes() == variates(0).tobytes()
    assert variates(0).tobytes() != variates(1).tobytes()


def test_pickle(features, cross_fitted, pair):
    X, Z = pair
    for learner in (features, cross_fitted):
        copy = pickle.loads(pickle.dumps(learner))
        np.testing.assert_array_equal(copy.transform_x(X), learner.transform_x(X))
        np.testing.assert_array_equal(copy.transform_z(Z), learner.transform_z(Z))


def test_images_on_either_side():
    data = make_digits_iv("x", 60, random_state=0)
    learner = clone(SMALL).set_params(x_shape=(8, 8))
    learner.fit(data.X.reshape(60, -1), data.Z)
    assert any(isinstance(m, torch.nn.Conv2d) for m in learner.x_network_.module.modules())
    assert not any(isinstance(m, torch.nn.Conv2d) for m in learner.z_network_.module.modules())
    assert learner.transform_x(data.X.reshape(60, -1)).shape == (60, len(learner.correlations_))


def test_bad_settings(pair):
    with pytest.raises(ValueError, match="n_features"):
        CanonicalFeatures(0).fit(*pair)
    with pytest.raises(ValueError, match="n_folds"):
        CrossFittedFeatures(n_folds=0).fit(*pair)


# Folds


@pytest.fixture
def rows(rng):
    """Values of x that repeat a little, one that repeats a lot, and values of z that never do."""
    values = rng.normal(size=(60, 2))
    X = np.vstack([values, values[:20], np.repeat(values[:1], 15, axis=0)])
    return X, rng.normal(size=(95, 1))


def test_a_fold_belongs_to_the_value_not_to_the_place(rows, rng):
    X, Z = rows
    order = rng.permutation(95)
    for A, folds, moved in zip(
        rows,
        paired_folds(X, Z, np.ones(95), 4, seed=0),
        paired_folds(X[order], Z[order], np.ones(95), 4, seed=0),
        strict=True,
    ):
        np.testing.assert_array_equal(folds.of(A)[order], folds.of(A[order]))
        np.testing.assert_array_equal(moved.of(A), folds.of(A))


def test_rows_that_share_a_value_share_a_fold(rows):
    x_folds, z_folds = paired_folds(*rows, np.ones(95), 4, seed=0)
    x, z = x_folds.of(rows[0]), z_folds.of(rows[1])
    np.testing.assert_array_equal(x[1:20], x[61:80])
    # Nothing is lost to train on: x and z of a row are in the same fold, except where x is a value
    # that is in none.
    np.testing.assert_array_equal(x[1:60], z[1:60])
    np.testing.assert_array_equal(z[1:20], z[61:80])


def test_folds_are_balanced(rng):
    X, Z = rng.normal(size=(2, 60, 1))
    for A, folds in zip((X, Z), paired_folds(X, Z, np.ones(60), 4, seed=0), strict=True):
        np.testing.assert_array_equal(np.bincount(folds.of(A)), 15)


def test_values_that_many_rows_share_and_new_ones_belong_to_no_fold(rows):
    X, Z = rows
    folds = paired_folds(X, Z, np.ones(95), 4, seed=0)[0]
    assert folds.of(X[:1]) == -1  # seventeen rows
    assert (folds.of(X[1:60]) >= 0).all()
    assert (folds.of(X + 0.1) == -1).all()
    heavy = paired_folds(X[:60], Z[:60], np.r_[10.0, np.ones(59)], 4, seed=0)
    assert heavy[0].of(X[:1]) == heavy[1].of(Z[:1]) == -1


# A chain of repetitions that ties all rows together would leave a single fold: it is cut.
def test_a_chain_of_shared_values_is_cut():
    X, Z = np.arange(100.0)[:, None] // 2, (np.arange(100.0)[:, None] + 1) // 2
    x_folds, z_folds = paired_folds(X, Z, np.ones(100), 4, seed=0)
    x, z = x_folds.of(X), z_folds.of(Z)
    assert min(np.bincount(x, minlength=4)) > 10
    assert min(np.bincount(z, minlength=4)) > 10
    assert (x != z).mean() > 0.5


def test_a_single_fold_holds_nothing_back(rows):
    for A, folds in zip(rows, paired_folds(*rows, np.ones(95), 1, seed=0), strict=True):
        assert (folds.of(A) == -1).all()


# Holding rows back must leave a network some to learn from.
@pytest.mark.parametrize("n", [2, 3, 6])
def test_a_handful_of_rows_serves_one_network(n):
    rng = np.random.RandomState(0)
    X, Z = rng.normal(size=(2, n, 1))
    learner = CrossFittedFeatures(SMALL, n_folds=4, random_state=0).fit(X, Z)
    assert len(learner.folds_) == 1
    assert np.isfinite(learner.transform_x(X)).all()
    assert (learner.x_map_.folds.of(X) == -1).all()


def test_rows_that_share_all_values_leave_somebody_to_learn_from():
    values = np.repeat(np.arange(3.0), 3)[:, None]
    learner = CrossFittedFeatures(SMALL, n_folds=2, random_state=0).fit(values, values[::-1])
    assert np.isfinite(learner.transform_z(values)).all()


def test_features_keep_a_seed_of_their_own(pair):
    one, other = (
        CrossFittedFeatures(SMALL, n_folds=2, random_state=seed).fit(*pair) for seed in (1, 2)
    )
    assert {fold.random_state for fold in one.folds_ + other.folds_} == {0}


class Recorder(CanonicalFeatures):
    """Remembers what it was fitted on."""

    seen: list = []  # noqa: RUF012

    def fit(self, X, Z, weights=None):
        self.seen.append((X.copy(), Z.copy()))
        return super().fit(X, Z, weights)


# Every training row is judged, on the side of x and on the side of z, by one network: that of the
# fold whose training rows contain neither this x nor this z.
def test_no_row_is_judged_by_a_network_that_was_trained_on_it(pair):
    X, Z = pair
    Recorder.seen = []
    learner = CrossFittedFeatures(
        Recorder(**SMALL.get_params(deep=False)), n_folds=3, random_state=0
    ).fit(X, Z)
    assert len(Recorder.seen) == 3
    for A, honest, side in ((X, learner.x_map_, 0), (Z, learner.z_map_, 1)):
        judged = honest(A)
        by_fold = [
            honest.rotation(step[0] + features(A) @ step[1:])
            for features, step in zip(honest.maps, honest.steps, strict=True)
        ]
        for i, row in enumerate(A):
            judges = [k for k in range(3) if np.allclose(by_fold[k][i], judged[i], rtol=1e-9)]
            assert len(judges) == 1
            assert not (Recorder.seen[judges[0]][side] == row).all(axis=1).any()


def test_new_rows_are_judged_by_all_networks(cross_fitted, pair):
    honest, A = cross_fitted.x_map_, pair[0] + 0.1
    by_fold = [
        step[0] + features(A) @ step[1:]
        for features, step in zip(honest.maps, honest.steps, strict=True)
    ]
    np.testing.assert_allclose(honest(A), honest.rotation(np.mean(by_fold, axis=0)), rtol=1e-9)


# On honest features, noise that a network has learnt by heart is no correlation.
def test_honest_correlations_are_smaller_than_those_of_the_training_rows(pair):
    eager = clone(SMALL).set_params(
        training=Training(row_visits=25_000, learning_rate=2e-2, validation_fraction=0.0)
    )
    X, Z = pair[0][:100], pair[1][:100]
    one = CrossFittedFeatures(eager, n_folds=1, random_state=0).fit(X, Z)
    honest = CrossFittedFeatures(eager, n_folds=3, random_state=0).fit(X, Z)
    # The truth is 1.48, the sum of rho^2k for rho = 0.8 and k = 1, ..., 4.
    assert (one.correlations_**2).sum() > 1.9 > (honest.correlations_**2).sum()
