"""Should you believe it: strength, tests, support, sensitivity, summary."""

import numpy as np
import pytest
from scipy.stats import chi2

from sagdiv import KernelSAGDIV
from sagdiv.datasets import make_binary, make_continuous
from sagdiv.inference import analyse
from sagdiv.inference.moment_tests import specification_test
from sagdiv.losses import LogisticLoss, ProbitLoss


def analysed(scenario="sin", n=500, seed=0, *, outcome=None, instruments=None, **options):
    data = make_continuous(scenario, n, random_state=seed)
    y = data.y if outcome is None else outcome(data)
    Z = data.Z if instruments is None else instruments(data)
    return analyse(KernelSAGDIV(), data.X, y, Z, **options)


def shuffled(data):
    return data.Z[np.random.RandomState(99).permutation(len(data.Z))]


def through_another_door(data):
    return data.y + 0.3 * data.Z[:, 1]


def exogenous(data):
    noise = np.random.RandomState(7).normal(size=len(data.y))
    return data.h_star(data.X) + noise


def coarse(data):
    return (data.Z[:, :1] > 0).astype(float)


def test_a_strong_instrument():
    strength = analysed().strength
    assert strength.verdict == "strong"
    assert strength.n_directions >= 2
    assert strength.p_value == pytest.approx(1 / 200)
    assert strength.first_stage_f.min() > 10
    assert np.all(np.diff(strength.correlations) <= 0)
    assert np.all((strength.correlations >= 0) & (strength.correlations <= 1 + 1e-9))


def test_a_useless_instrument():
    result = analysed(instruments=shuffled)
    assert result.strength.verdict == "useless"
    assert result.strength.n_directions == 0
    assert result.strength.first_stage_f.min() < 10
    summary = result.summary()
    assert summary.verdict == "do not believe"
    assert "useless" in str(summary)


def test_a_weak_instrument():
    def barely_related(data):
        noise = np.random.RandomState(3).normal(size=(len(data.y), 10))
        return noise + np.r_[0.17, np.zeros(9)] * data.Z[:, :1]

    result = analysed(instruments=barely_related, n=1000)
    assert result.strength.verdict == "weak"
    assert result.summary().verdict == "do not believe"


# An instrument with two values can tell one contrast of X: a line, not a curve.
def test_two_values_of_the_instrument_identify_a_line():
    result = analysed(instruments=coarse)
    assert result.strength.n_directions == 1
    assert result.strength.verdict == "linear only"
    assert result.summary().verdict == "with care"


# A line through two values of the instrument is just identified: no residual is left to test.
@pytest.mark.parametrize("seed", range(5))
def test_what_is_just_identified_cannot_be_tested(seed):
    specification = analysed(instruments=coarse, seed=seed).specification
    assert specification.statistic == 0
    assert specification.p_value == 1


def test_strength_with_clusters():
    groups = np.arange(500) // 5
    assert analysed(cluster=groups).strength.verdict == "strong"
    assert analysed(cluster=groups, instruments=shuffled).strength.verdict == "useless"


# A control that drives X and the outcome does not make a shuffled instrument strong.
def test_controls_are_partialled_out():
    data = make_continuous("sin", 500, random_state=0)
    W = np.random.RandomState(8).normal(size=500)
    X = np.column_stack([data.X[:, 0] + 2 * W, W])
    model = KernelSAGDIV(exogenous=[1])
    assert analyse(model, X, data.y, data.Z).strength.verdict == "strong"
    assert analyse(model, X, data.y, shuffled(data)).strength.verdict == "useless"


def test_specification():
    assert analysed(n=1000).specification.p_value > 0.05
    wrong = analysed(n=1000, outcome=through_another_door)
    assert wrong.specification.p_value < 0.01
    assert wrong.summary().verdict == "do not believe"
    assert "another way than X" in wrong.summary().reasons[0]


def test_exogeneity():
    assert analysed().exogeneity.p_value < 0.01
    fine = analysed(outcome=exogenous)
    assert fine.exogeneity.p_value > 0.05
    assert "ordinary regression may do" in " ".join(str(fine.summary()).split())


# With three instruments and a line it is Hansen's J, here by loops over rows.
@pytest.mark.parametrize("clustered", [False, True])
def test_the_statistic_of_a_line_is_that_of_hansen(clustered):
    rng = np.random.RandomState(0)
    n, Z = 300, rng.normal(size=(300, 3))
    x = Z @ [1.0, 0.5, 0.2] + rng.normal(size=n)
    y = x + rng.normal(size=n) * np.exp(Z[:, 0] / 2)
    groups = np.arange(n) // 5 if clustered else np.arange(n)
    ones = np.ones((n, 1))
    test = specification_test(
        y, ones[:, 0], np.column_stack([ones, x]), 2, np.zeros(2), Z, ones,
        groups if clustered else None,
    )  # fmt: skip
    Zc, xc, yc = Z - Z.mean(axis=0), x - x.mean(), y - y.mean()
    V = Zc.T @ Zc
    for _ in range(4):
        W = np.linalg.inv(V)
        slope = (xc @ Zc @ W @ Zc.T @ yc) / (xc @ Zc @ W @ Zc.T @ xc)
        moment = Zc.T @ (yc - slope * xc)
        J, V, sums = moment @ W @ moment, np.zeros((3, 3)), []
        for group in np.unique(groups):
            score = sum(Zc[i] * (yc[i] - slope * xc[i]) for i in np.flatnonzero(groups == group))
            sums.append(score)
        for score in sums:
            V += np.outer(score - np.mean(sums, axis=0), score - np.mean(sums, axis=0))
        V *= n / (n - 2) * (60 / 59 if clustered else 1)
    assert test.statistic == pytest.approx(J, rel=1e-6)
    assert test.p_value == pytest.approx(chi2.sf(J, 2), rel=1e-6)


# What h may be is not held against the model: a line in X, any function of a control.
def test_what_the_model_allows_leaves_the_statistic_alone():
    X, y, Z, model = with_controls(1, 400)
    statistic = analyse(model, X, y, Z).specification.statistic
    allowed = y + 5 - 3 * X[:, 0] + 0.5 * X[:, 1] ** 2 + X[:, 1] * X[:, 2]
    moved = analyse(model, X, allowed, Z).specification.statistic
    assert moved == pytest.approx(statistic, rel=1e-3)


def with_controls(seed, n, *, strength=1.0, interaction=0.0, confounding=0.7, n_controls=2):
    rng = np.random.RandomState(seed)
    W, z, e = rng.normal(size=(n, n_controls)), rng.normal(size=n), rng.normal(size=n)
    both = interaction * W[:, 0] * W[:, -1]
    x = strength * z + confounding * e + 0.5 * rng.normal(size=n) + both
    model = KernelSAGDIV(exogenous=range(1, 1 + n_controls))
    return np.column_stack([x, W]), x + W[:, 0] + both + e, z[:, None], model


# Controls do not make a valid model look wrong, nor an instrument look needed.
def test_tests_in_the_presence_of_controls():
    rejected = np.zeros(2)
    for seed in range(12):
        X, y, Z, model = with_controls(40_000 + seed, 600, n_controls=4)
        rejected[0] += analyse(model, X, y, Z).specification.p_value < 0.05
        X, y, Z, model = with_controls(
            50_000 + seed, 600, n_controls=4, interaction=1.0, confounding=0.0
        )
        rejected[1] += analyse(model, X, y, Z).exogeneity.p_value < 0.05
    assert np.all(rejected <= 3)


# A curve is no fault of the model, however well the instrument is seen to bend.
def test_a_curved_truth_is_not_a_wrong_model():
    rejected = 0
    for seed in range(12):
        rng = np.random.RandomState(60_000 + seed)
        z, e = rng.normal(size=(2, 2000))
        x = 1.2 * z + 0.7 * e + rng.normal(size=2000)
        result = analyse(KernelSAGDIV(), x[:, None], 0.3 * x**2 + e, z[:, None])
        rejected += result.specification.p_value < 0.05
    assert rejected <= 3


# Two columns of X that only their common part moves: nothing tells their effects apart.
@pytest.mark.parametrize("n_instruments", [1, 2])
def test_every_combination_of_columns_needs_to_be_moved(n_instruments):
    rng = np.random.RandomState(0)
    Z, e = rng.normal(size=(1000, n_instruments)), rng.normal(size=1000)
    common = Z.sum(axis=1)
    X = common[:, None] + np.column_stack([e, rng.normal(size=1000)])
    result = analyse(KernelSAGDIV(), X, X[:, 0] + e, Z)
    assert result.strength.first_stage_f.min() > 100
    assert result.strength.joint_f < 10
    assert result.strength.verdict == "weak"
    assert "apart from one another" in result.strength.sentence
    assert result.summary().verdict == "do not believe"
    X[:, 1] += rng.choice([-2, 2], 1000) + 2 * Z[:, -1] ** 2  # now something does
    assert analyse(KernelSAGDIV(), X, X[:, 0] + e, Z).strength.joint_f > 10


# One column is its own weakest combination.
def test_joint_strength_of_one_column():
    strength = analysed().strength
    assert strength.joint_f == pytest.approx(strength.first_stage_f[0])


# An instrument that is a function of the controls and noise is useless, however it bends.
def test_an_instrument_that_only_follows_the_controls():
    useless = 0
    for seed in range(10):
        rng = np.random.RandomState(70_000 + seed)
        W, (e, u, v) = rng.normal(size=(1000, 2)), rng.normal(size=(3, 1000))
        z = np.sin(2 * W[:, 0]) + W[:, 1] ** 2 + 0.5 * u
        x = np.cos(2 * W[:, 0]) + W[:, 1] + e + 0.5 * v
        model = KernelSAGDIV(exogenous=[1, 2])
        result = analyse(model, np.column_stack([x, W]), np.sin(x) + W[:, 0] + e, z[:, None])
        useless += result.strength.verdict == "useless"
    assert useless >= 8


# Far outside the data the curve is extrapolation, in their middle it is not.
def test_support():
    result = analysed()
    support = result.support([[-50.0], [0.0], [50.0]])
    assert support.extrapolated.tolist() == [True, False, True]
    assert np.all((support.learnt >= 0) & (support.learnt <= 1))
    assert support.learnt[1] > support.learnt[0]


# A larger total step leaves less to assumption.
def test_a_longer_descent_learns_more():
    data = make_continuous("sin", 400, random_state=0)
    grid = np.linspace(-2, 2, 5)[:, None]
    short, long = (
        analyse(KernelSAGDIV(total_step=t), data.X, data.y, data.Z).support(grid).learnt
        for t in (100.0, 10_000.0)
    )
    assert np.all(long > short)


def test_sensitivity_contains_the_curve_itself():
    result = analysed()
    sensitivity = result.sensitivity()
    here = sensitivity.curves[sensitivity.factors == 1.0][0]
    np.testing.assert_allclose(here, result.bands().estimate, atol=1e-10)
    doubled = analyse(
        KernelSAGDIV(total_step=2 * result.model.total_step_), result.X, result.y, result.Z
    )
    np.testing.assert_allclose(
        sensitivity.curves[sensitivity.factors == 2.0][0],
        doubled.predict(result.grid()),
        atol=1e-9,
    )
    assert sensitivity.largest_move > 0


def test_summary_reads_as_text_and_as_html():
    summary = analysed(n=1000).summary()
    assert summary.verdict in ("believe", "with care")
    text, html = " ".join(str(summary).split()), summary._repr_html_()
    assert max(map(len, str(summary).splitlines())) <= 100
    for name, reading in summary.numbers:
        assert name in text
        assert reading in text
        assert name in html
    assert html.count("<table>") == html.count("</table>") == 1


def text_of(summary):
    return " ".join(str(summary).split())


def test_summary_at_another_level():
    result = analysed()
    summary = result.summary(level=0.8)
    numbers = dict(summary.numbers)
    assert str(result.average_derivative(level=0.8)) in numbers["Average slope"]
    assert "Uniform 80 % band" in numbers["Curve"]
    assert "95 %" not in text_of(summary)


# What h solves depends on the loss: an index is no prediction of Y.
@pytest.mark.parametrize(
    ("loss", "condition"),
    [
        (LogisticLoss(), "P(Y = 1 | Z) = F(E[h(X) | Z]), F logistic: T ="),
        (ProbitLoss(), "P(Y = 1 | Z) = F(E[h(X) | Z]), F normal: T ="),
    ],
)
def test_summary_of_a_binary_outcome_states_its_condition(loss, condition):
    data = make_binary("sin", 400, random_state=0)
    text = text_of(analyse(KernelSAGDIV(loss), data.X, data.y, data.Z).summary())
    assert condition in text
    assert "Y - h(X)" not in text
    assert "of the index h in x" in text


def test_summary_says_what_cannot_be_tested():
    text = text_of(analysed(instruments=coarse).summary())
    assert "cannot be tested: there are as many instruments as slopes" in text
    assert "p = 1" not in text


# With a line identified and no more, nothing was settled beyond it.
def test_summary_of_a_line_does_not_speak_of_shapes():
    assert "beyond a straight line" in text_of(analysed().summary())
    assert "beyond a straight line" not in text_of(analysed(instruments=coarse).summary())


def test_summary_of_a_treatment_with_two_values():
    data = make_continuous("linear", 600, random_state=0)
    treated = (data.X > 0).astype(float)
    result = analyse(KernelSAGDIV(), treated, data.y, data.Z)
    numbers = dict(result.summary().numbers)
    assert not {"Average slope", "Curve"} & set(numbers)
    change = np.diff(result.model.predict([[0.0], [1.0]]))[0]
    assert f"x from 0 to 1 changes h by {change:.3g}; before noise" in numbers["Effect"]
    assert str(result.contrast(1.0, 0.0)) in numbers["Effect"]
    assert "beyond a straight line" not in numbers["Support"]


def test_summary_covers_every_treatment():
    rng = np.random.RandomState(0)
    Z, u = rng.normal(size=(800, 2)), rng.normal(size=800)
    X = Z + rng.normal(size=(800, 2)) + u[:, None]
    result = analyse(KernelSAGDIV(), X, X.sum(axis=1) + u, Z)
    titles = [title for title, _ in result.summary().numbers]
    for number in (1, 2):
        for title in ("Average slope", "Curve", "Support", "Smoothing"):
            assert f"{title} (column {number} of X)" in titles


def test_summary_escapes_names():
    pandas = pytest.importorskip("pandas")
    data = make_continuous("sin", 200, random_state=0)
    X = pandas.DataFrame(data.X, columns=["<script>"])
    html = analyse(KernelSAGDIV(), X, data.y, data.Z)._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html


@pytest.mark.slow
@pytest.mark.parametrize("scenario", ["sin", "abs"])
def test_coverage(scenario):
    """Average pointwise and uniform coverage of 95 % bands on the central 90 % of X."""
    grid = np.linspace(-2.75, 2.75, 60)[:, None]
    pointwise, uniform = [], []
    for seed in range(60):
        result = analysed(scenario, 1000, 20_000 + seed)
        truth = np.sin(grid[:, 0]) if scenario == "sin" else np.abs(grid[:, 0])
        band = result.bands(grid)
        pointwise.append(np.mean((band.lower < truth) & (truth < band.upper)))
        uniform.append(np.all((band.uniform_lower < truth) & (truth < band.uniform_upper)))
    assert np.mean(pointwise) > 0.9
    assert np.mean(uniform) > 0.88


@pytest.mark.slow
def test_size_of_the_tests():
    """Both tests reject a true hypothesis in about 5 % of draws, here to four standard errors."""
    specification, exogeneity = [], []
    for seed in range(200):
        data = make_continuous("sin", 500, random_state=30_000 + seed)
        noise = np.random.RandomState(90_000 + seed).normal(size=500)
        confounded = analyse(KernelSAGDIV(), data.X, data.y, data.Z)
        specification.append(confounded.specification.p_value < 0.05)
        clean = analyse(KernelSAGDIV(), data.X, data.h_star(data.X) + noise, data.Z)
        exogeneity.append(clean.exogeneity.p_value < 0.05)
    for rejected in (specification, exogeneity):
        assert 0.0 < np.mean(rejected) < 0.115


# Alone, too, a test says what it tested: for a binary outcome no residual has mean zero.
def test_the_hypothesis_of_a_binary_outcome():
    data = make_binary("linear", 300, random_state=0)
    result = analyse(KernelSAGDIV(LogisticLoss()), data.X, data.y, data.Z)
    assert str(result.specification).startswith("P(Y = 1 | Z) = F(E[h(X) | Z]), F logistic: T = ")
