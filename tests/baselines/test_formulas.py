"""Each method against its paper's formula, written as n x n matrices and loops."""

import numpy as np
import pytest
from baselines import reference_baselines as naive
from scipy.spatial.distance import cdist, pdist
from sklearn.exceptions import ConvergenceWarning

from sagdiv.baselines import (
    KIV,
    MMRIV,
    BoostIV,
    DualIV,
    KernelRegression,
    KernelTikhonov,
    RKHSMinimax,
    SieveIV,
)
from sagdiv.baselines.kernel_solution import KernelCoordinates
from sagdiv.datasets import make_continuous
from sagdiv.kernels import MedianKernel, gaussian_kernel, median_bandwidth
from sagdiv.ridge import generalised_error, leave_one_out_error
from sagdiv.splitting import nuisance_split

# Narrow kernels, so that the matrices of the formulas can be inverted as they stand; the fast path
# is exact for wide ones too, but then the formula is not a number to compare with.
NARROW = 0.02
BOOST = {"n_learners": 4, "n_candidates": 5, "learning_rate": 0.5}
SMALL = {"rtol": 1e-8, "atol": 1e-8}


@pytest.fixture(scope="module")
def data():
    data = make_continuous("sin", 40, random_state=3)
    data.y[:] -= data.y.mean()  # as the methods do; a contract checks that it comes back
    return data


@pytest.fixture(scope="module")
def grams(data):
    W = np.column_stack([data.y, data.Z])
    return {
        name: naive.gram(A, A, NARROW * median_bandwidth(A))
        for name, A in (("X", data.X), ("Z", data.Z), ("W", W))
    }


@pytest.fixture(scope="module")
def at(data):
    return np.linspace(data.X.min(), data.X.max(), 30)[:, None]


def predicted(data, at, coefficients):
    return naive.gram(at, data.X, NARROW * median_bandwidth(data.X)) @ coefficients


def scores_at(search, formula):
    """Compare what a search recorded with the formula, where that does not lose its own digits."""
    kept = search.candidates >= -3
    expected = [formula(10.0**candidate) for candidate in search.candidates[kept]]
    np.testing.assert_allclose(search.scores[kept], expected, **SMALL)


@pytest.fixture(scope="module")
def naive_kivs(data):
    """The formula on the split that the seed draws, and with the halves exchanged."""
    widths = [NARROW * median_bandwidth(A) for A in (data.X, data.Z)]
    halves = nuisance_split(40, 0.5, np.random.RandomState(5))
    return [
        naive.NaiveKIV(data.X, data.y, data.Z, *widths, *order) for order in (halves, halves[::-1])
    ]


@pytest.mark.parametrize(("swap", "n_splits"), [(False, 1), (True, 2)])
class TestKIV:
    def test_prediction(self, data, at, naive_kivs, swap, n_splits):
        ridges = {"stage1_ridge": 1e-2, "stage2_ridge": 1e-3}
        model = KIV(bandwidth=NARROW, swap=swap, random_state=5, **ridges)
        model.fit(data.X, data.y, data.Z)
        expected = np.mean([f.predict(at, 1e-2, 1e-3) for f in naive_kivs[:n_splits]], axis=0)
        np.testing.assert_allclose(model.predict(at), expected, **SMALL)

    def test_tuning(self, data, naive_kivs, swap, n_splits):
        model = KIV(bandwidth=NARROW, swap=swap, random_state=5).fit(data.X, data.y, data.Z)
        formulas, lam = naive_kivs[:n_splits], model.stage1_ridge_
        scores_at(
            model.stage1_search_, lambda lam: np.mean([f.stage1_score(lam) for f in formulas])
        )
        scores_at(
            model.stage2_search_, lambda xi: np.mean([f.stage2_score(lam, xi) for f in formulas])
        )


class TestNystroem:
    # All landmarks in another order are no approximation; one less than all takes the same path.
    @pytest.mark.parametrize("n", [1000, 1200])
    def test_all_landmarks_are_exact(self, n):
        A = make_continuous("abs", n, random_state=0).Z
        kernel, rows = MedianKernel(A, 0.3), np.arange(n)
        exact, _ = KernelCoordinates.of(kernel, rows, None, np.random.RandomState(0))
        permuted = KernelCoordinates(kernel, np.random.RandomState(1).permutation(n))
        expected = kernel.between(rows, rows)
        for phi in (exact, permuted):
            np.testing.assert_allclose(phi(rows) @ phi(rows).T, expected, atol=1e-6)

    def test_all_landmarks_but_one_are_close_to_exact(self):
        data = make_continuous("abs", 1000, random_state=0)
        exact, nystroem = (
            KIV(n_components=n, random_state=0).fit(data.X, data.y, data.Z) for n in (500, 499)
        )
        assert len(nystroem.nodes_) == 2 * 499
        np.testing.assert_allclose(nystroem.predict(data.X), exact.predict(data.X), atol=1e-6)
        assert nystroem.stage1_ridge_ == exact.stage1_ridge_

    # More landmarks come closer; the answer does not depend on them once the kernel is covered.
    def test_few_landmarks_are_close(self):
        data = make_continuous("abs", 1000, random_state=0)
        exact, few, fewer = (
            KIV(n_components=n, stage1_ridge=1e-3, stage2_ridge=1e-3, random_state=0)
            .fit(data.X, data.y, data.Z)
            .predict(data.X)
            for n in (None, 100, 10)
        )
        assert np.abs(few - exact).max() < 0.02 * np.ptp(exact)
        assert np.abs(few - exact).max() < np.abs(fewer - exact).max()


class TestDualIV:
    def test_prediction(self, data, at, grams):
        model = DualIV(bandwidth=NARROW, dual_ridge=1e-2, ridge=1e-3)
        model.fit(data.X, data.y, data.Z)
        beta = naive.dualiv_beta(grams["X"], grams["W"], data.y, 1e-2, 1e-3)
        np.testing.assert_allclose(model.predict(at), predicted(data, at, beta), **SMALL)

    @pytest.mark.parametrize("small", [1e-4, 1.0])
    def test_tuning(self, data, grams, small):
        model = DualIV(bandwidth=NARROW, small=small, random_state=5)
        model.fit(data.X, data.y, data.Z)

        def score(dual_ridge, ridge):
            return naive.dualiv_score(
                grams["X"], grams["W"], data.y, dual_ridge, ridge, small, seed=5
            )

        scores_at(model.ridge_search_, lambda ridge: score(model.dual_ridge_, ridge))
        best = model.dual_ridge_search_.scores.min()
        np.testing.assert_allclose(best, score(model.dual_ridge_, model.ridge_), **SMALL)

    def test_one_parameter_given(self, data):
        model = DualIV(dual_ridge=0.1, random_state=0).fit(data.X, data.y, data.Z)
        assert model.dual_ridge_ == 0.1
        assert model.dual_ridge_search_ is None
        assert model.ridge_search_ is not None
        model = DualIV(ridge=0.1, random_state=0).fit(data.X, data.y, data.Z)
        assert model.ridge_ == 0.1
        assert model.dual_ridge_search_ is not None


class TestRKHSMinimax:
    def test_prediction(self, data, at, grams):
        model = RKHSMinimax(bandwidth=NARROW, delta=0.3, ridge=0.05)
        model.fit(data.X, data.y, data.Z)
        alpha = naive.minimax_alpha(grams["X"], grams["Z"], data.y, 0.3, 0.05)
        np.testing.assert_allclose(model.predict(at), predicted(data, at, alpha), **SMALL)

    def test_tuning(self, data, grams):
        model = RKHSMinimax(bandwidth=NARROW, delta=0.3, random_state=5)
        model.fit(data.X, data.y, data.Z)
        scores_at(
            model.ridge_search_,
            lambda a: naive.minimax_score(grams["X"], grams["Z"], data.y, 0.3, a, 10, seed=5),
        )


class TestMMRIV:
    def test_prediction(self, data, at, grams):
        model = MMRIV(bandwidth=NARROW, ridge=1e-3).fit(data.X, data.y, data.Z)
        alpha = naive.mmr_alpha(grams["X"], grams["Z"] / 40**2, data.y, 1e-3)
        np.testing.assert_allclose(model.predict(at), predicted(data, at, alpha), **SMALL)

    def test_leave_m_out_is_refitting(self, data, grams):
        model = MMRIV(bandwidth=NARROW, n_folds=7, random_state=5)
        model.fit(data.X, data.y, data.Z)
        scores_at(
            model.ridge_search_,
            lambda lam: naive.mmr_leave_out(grams["X"], grams["Z"] / 40**2, data.y, lam, 7, seed=5),
        )


class TestKernelRegression:
    def test_prediction(self, data, at, grams):
        model = KernelRegression(bandwidth=NARROW, ridge=1e-2).fit(data.X, data.y, data.Z)
        alpha = np.linalg.solve(grams["X"] + 40 * 1e-2 * np.eye(40), data.y)
        np.testing.assert_allclose(model.predict(at), predicted(data, at, alpha), **SMALL)

    def test_tuning(self, data, grams):
        model = KernelRegression(bandwidth=NARROW).fit(data.X, data.y, data.Z)
        features = naive.root(grams["X"])
        scores_at(
            model.ridge_search_,
            lambda lam: naive.leave_one_out_by_refitting(features, data.y, lam),
        )


@pytest.fixture(scope="module")
def naive_tikhonov(data):
    widths = [0.5 * A.std(axis=0) * len(A) ** (-1 / (A.shape[1] + 4)) for A in (data.X, data.Z)]
    return naive.NaiveTikhonov(data.X, data.y, data.Z, *widths)


class TestKernelTikhonov:
    def test_tikhonov(self, data, naive_tikhonov):
        model = KernelTikhonov("tikhonov", bandwidth=0.5, ridge=0.01)
        h = model.fit(data.X, data.y, data.Z).predict(data.X)
        np.testing.assert_allclose(h, naive_tikhonov.tikhonov_operator(0.01) @ data.y, **SMALL)

    @pytest.mark.parametrize("n_iterations", [1, 2, 20])
    def test_landweber(self, data, naive_tikhonov, n_iterations):
        model = KernelTikhonov(bandwidth=0.5, n_iterations=n_iterations)
        h = model.fit(data.X, data.y, data.Z).predict(data.X)
        np.testing.assert_allclose(
            h, naive_tikhonov.landweber_operator(n_iterations) @ data.y, **SMALL
        )

    def test_choice_of_alpha(self, data, naive_tikhonov):
        model = KernelTikhonov("tikhonov", bandwidth=0.5).fit(data.X, data.y, data.Z)
        finite = np.isfinite(model.ridge_search_.scores)
        expected = [
            naive_tikhonov.error(naive_tikhonov.tikhonov_operator(10.0**candidate))
            for candidate in model.ridge_search_.candidates[finite]
        ]
        np.testing.assert_allclose(model.ridge_search_.scores[finite], expected, **SMALL)

    def test_choice_of_the_iteration(self, data, naive_tikhonov):
        model = KernelTikhonov(bandwidth=2.0, max_iterations=40).fit(data.X, data.y, data.Z)
        widths = [2.0 * A.std(axis=0) * len(A) ** (-1 / (A.shape[1] + 4)) for A in (data.X, data.Z)]
        naive_tikhonov = naive.NaiveTikhonov(data.X, data.y, data.Z, *widths)
        errors = [naive_tikhonov.error(naive_tikhonov.landweber_operator(k)) for k in range(1, 41)]
        assert model.n_iterations_ == np.argmin(errors) + 1

    # Few iterations are a strong penalty: both end at T* r^ / (alpha + ...), the first step.
    def test_a_choice_at_the_end_of_the_list_is_mentioned(self):
        data = make_continuous("sin", 300, random_state=0)
        with pytest.warns(ConvergenceWarning, match="still falling after 3 iterations; raise max_"):
            KernelTikhonov(max_iterations=3).fit(data.X, data.y, data.Z)
        KernelTikhonov(n_iterations=3, max_iterations=3).fit(data.X, data.y, data.Z)

    def test_a_refit_forgets_the_other_method(self, data):
        model = KernelTikhonov("tikhonov").fit(data.X, data.y, data.Z)
        model.set_params(method="landweber").fit(data.X, data.y, data.Z)
        assert not hasattr(model, "ridge_")
        assert not hasattr(model, "ridge_search_")
        model.set_params(method="tikhonov").fit(data.X, data.y, data.Z)
        assert not hasattr(model, "n_iterations_")

    def test_strong_penalty_is_one_iteration(self, data):
        once = KernelTikhonov(n_iterations=1).fit(data.X, data.y, data.Z)
        strong = KernelTikhonov("tikhonov", ridge=1e6).fit(data.X, data.y, data.Z)
        np.testing.assert_allclose(1e6 * strong.predict(data.X), once.predict(data.X), rtol=1e-4)

    def test_unknown_method(self, data):
        with pytest.raises(ValueError, match="method must be 'landweber' or 'tikhonov', got 'cg'"):
            KernelTikhonov("cg").fit(data.X, data.y, data.Z)


class TestSieveIV:
    @pytest.mark.parametrize("n_knots", [2, 4, 6])
    def test_prediction(self, sample, n_knots):
        at = np.linspace(-8, 8, 50)[:, None]
        model = SieveIV(n_knots).fit(sample.X, sample.y, sample.Z)
        formula = naive.NaiveSieve(sample.X, sample.y, sample.Z, n_knots)
        np.testing.assert_allclose(model.predict(at), formula.predict(at), atol=1e-8)

    @pytest.mark.parametrize("scenario", ["linear", "abs", "sin"])
    def test_choice_of_the_dimension(self, scenario):
        data = make_continuous(scenario, 300, random_state=4)
        model = SieveIV(max_knots=6, n_bootstrap=50, random_state=5)
        model.fit(data.X, data.y, data.Z)
        sieves = []
        for n_knots in range(2, 7):
            sieve = naive.NaiveSieve(data.X, data.y, data.Z, n_knots)
            size = n_knots
            if sieves and size * np.sqrt(np.log(size)) > 10 * np.sqrt(300) * sieve.strength:
                break
            sieves.append(sieve)
        assert model.n_knots_ == naive.lepski(sieves, data.X[::3], 50, seed=5)

    def test_a_line_needs_two_knots_and_a_kink_more(self):
        chosen = {}
        for scenario in ("linear", "abs"):
            data = make_continuous(scenario, 1000, random_state=2)
            model = SieveIV(random_state=0).fit(data.X, data.y, data.Z)
            chosen[scenario] = model.n_knots_
        assert chosen["linear"] == 2
        assert chosen["abs"] > 2


@pytest.fixture(scope="module")
def boosted(data):
    model = BoostIV(**BOOST, ridge=1e-3, random_state=5)
    model.fit(data.X, data.y, data.Z)
    X = (data.X - data.X.mean(axis=0)) / data.X.std(axis=0)
    # The first stage's own choice: the smallest leave-one-out error of k(X, .).
    Phi, Psi = (KernelCoordinates(MedianKernel(A)).at_landmarks for A in (X, data.Z))
    error = leave_one_out_error(Psi, Phi)
    ridge = model.first_stage_ridge_
    assert error(np.log10(ridge)) <= min(error(k) for k in range(-8, 2))
    formula = naive.NaiveBoost(
        X,
        data.y,
        data.Z,
        median_bandwidth(data.Z),
        ridge,
        BOOST["n_learners"],
        BOOST["n_candidates"],
        BOOST["learning_rate"],
        seed=5,
    )
    return model, formula


class TestBoostIV:
    def test_learners(self, boosted):
        model, formula = boosted
        directions, locations, slopes = zip(*formula.gammas, strict=True)
        np.testing.assert_allclose(model.directions_.T, directions, **SMALL)
        np.testing.assert_allclose(model.locations_, locations, **SMALL)
        np.testing.assert_allclose(model.slopes_, slopes, **SMALL)

    def test_weights(self, data, boosted):
        model, formula = boosted
        np.testing.assert_allclose(model.coef_, formula.coefficients(1e-3), **SMALL)
        # h has the mean of y.
        assert abs(model.predict(data.X).mean() - data.y.mean()) < 1e-10

    def test_tuning(self, data, boosted):
        model = BoostIV(**BOOST, random_state=5).fit(data.X, data.y, data.Z)
        scores_at(model.ridge_search_, boosted[1].error)


# phi(a)'phi(b) = k(a, b) for landmarks a and any b, whatever the rank of the kernel.
@pytest.mark.parametrize("factor", [0.05, 0.5, 5.0])
def test_coordinates_reproduce_the_kernel(rng, factor):
    A = rng.normal(size=(70, 2))
    kernel, landmarks, others = MedianKernel(A, factor), np.arange(50), np.arange(50, 70)
    phi = KernelCoordinates(kernel, landmarks)
    np.testing.assert_allclose(
        phi.at_landmarks @ phi(others).T,
        naive.gram(A[landmarks], A[others], kernel.bandwidth),
        atol=1e-5 if factor > 1 else 1e-6,
    )
    K = naive.gram(A[landmarks], A[landmarks], kernel.bandwidth)
    np.testing.assert_allclose(phi.at_landmarks @ phi.at_landmarks.T, K, atol=1e-10)
    theta = rng.normal(size=phi.at_landmarks.shape[1])
    np.testing.assert_allclose(K @ phi.dual(theta), phi.at_landmarks @ theta, atol=1e-6)


# Each of the two kernels needs the distance of every pair of rows once, its length scale included;
# the local averages, which are not normalised alike in both directions, twice.
@pytest.mark.parametrize(
    ("model", "n_kernels"),
    [
        (KernelRegression(), 1),
        (KIV(swap=False), 2),
        (KIV(), 2),
        (DualIV(), 2),
        (MMRIV(), 2),
        (RKHSMinimax(), 2),
        (KernelTikhonov(), 4),
        (KernelTikhonov("tikhonov"), 4),
        (BoostIV(), 2),
    ],
)
def test_no_distance_is_computed_twice(monkeypatch, model, n_kernels):
    data = make_continuous("sin", 200, random_state=0)
    pairs = []

    def between(A, B, *arguments):
        pairs.append(len(A) * len(B))
        return cdist(A, B, *arguments)

    def within(A, *arguments):
        pairs.append(len(A) * (len(A) - 1) // 2)
        return pdist(A, *arguments)

    monkeypatch.setattr("sagdiv.kernels.cdist", between)
    monkeypatch.setattr("sagdiv.kernels.pdist", within)
    model.fit(data.X, data.y, data.Z)
    # cdist computes the distance of a row to itself, too.
    assert n_kernels * 199 * 200 / 2 <= sum(pairs) <= n_kernels * 200**2 / 2


# A prediction holds so many numbers at once, and no more: the blocks make no difference.
def test_predictions_come_in_blocks(monkeypatch, data):
    model = KIV(random_state=0).fit(data.X, data.y, data.Z)
    X = np.linspace(-4, 4, 101)[:, None]
    whole, sizes = model.predict(X), []

    def counted(A, B, bandwidth):
        sizes.append(len(A) * len(B))
        return gaussian_kernel(A, B, bandwidth)

    monkeypatch.setattr("sagdiv.baselines.kernel_solution._BLOCK_ELEMENTS", 300)
    monkeypatch.setattr("sagdiv.baselines.kernel_solution.gaussian_kernel", counted)
    np.testing.assert_allclose(model.predict(X), whole, rtol=1e-12)
    assert max(sizes) <= 300
    assert sum(sizes) == 101 * 40


@pytest.mark.parametrize("outcomes", [(), (3,)])
def test_leave_one_out_is_refitting(rng, outcomes):
    Psi, target = rng.normal(size=(25, 4)), rng.normal(size=(25, *outcomes))
    for ridge in (1e-3, 1.0):
        expected = naive.leave_one_out_by_refitting(Psi, target, ridge)
        np.testing.assert_allclose(leave_one_out_error(Psi, target)(np.log10(ridge)), expected)


# Without smoothing there is nothing to add; with as many degrees of freedom as rows, no estimate.
def test_generalised_error():
    e = np.array([1.0, -1.0, 3.0])
    assert generalised_error(e, 0.0) == np.mean(e**2)
    assert generalised_error(e, 1.5) == 4 * np.mean(e**2)
    assert generalised_error(e, 0.75, caution=2.0) == 4 * np.mean(e**2)
    assert generalised_error(e, 3.0) == np.inf


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (KIV(bandwidth=0), "bandwidth must be a positive number, got 0"),
        (KIV(stage1_ridge=-1.0), "stage1_ridge must be a positive number, got -1.0"),
        (KIV(stage2_ridge=0.0), "stage2_ridge must be a positive"),
        (KIV(n_components=0), "n_components must be an integer of at least 1"),
        (DualIV(small=0.0), "small must be a positive"),
        (DualIV(dual_ridge=0.0), "dual_ridge must be a positive"),
        (RKHSMinimax(delta=-1), "delta must be a positive"),
        (RKHSMinimax(n_folds=1), "n_folds must be an integer of at least 2"),
        (MMRIV(ridge=0), "ridge must be a positive"),
        (MMRIV(n_folds=1), "n_folds must be an integer of at least 2"),
        (KernelRegression(ridge=0), "ridge must be a positive"),
        (KernelTikhonov(n_iterations=0), "n_iterations must be an integer of at least 1"),
        (KernelTikhonov(max_iterations=0), "max_iterations must be an integer of at least 1"),
        (SieveIV(1), "n_knots must be an integer of at least 2"),
        (SieveIV(max_knots=1), "max_knots must be an integer of at least 2"),
        (SieveIV(n_bootstrap=0), "n_bootstrap must be an integer of at least 1"),
        (BoostIV(0), "n_learners must be an integer of at least 1"),
        (BoostIV(n_candidates=0), "n_candidates must be an integer of at least 1"),
        (BoostIV(learning_rate=0), "learning_rate must be a positive"),
        (BoostIV(ridge=0), "ridge must be a positive"),
    ],
)
def test_parameters(data, model, message):
    with pytest.raises(ValueError, match=message):
        model.fit(data.X, data.y, data.Z)
