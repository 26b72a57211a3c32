"""Should you believe it: strength, tests, support, sensitivity, summary."""

import numpy as np
import pytest

from sagdiv import KernelSAGDIV
from sagdiv.datasets import make_binary, make_continuous
from sagdiv.inference import analyse
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


# The statistic is n^-1 e'K e with K = psi psi', by two loops.
def test_the_statistic_is_a_quadratic_form():
    result = analysed(n=150)
    psi = result.model.maps_.z.transform(result.Z)
    e = result.y - result.predict(result.X)
    naive = 0.0
    for i in range(150):
        for j in range(150):
            naive += e[i] * e[j] * (psi[i] @ psi[j]) / 150
    assert result.specification.statistic == pytest.approx(naive)


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
