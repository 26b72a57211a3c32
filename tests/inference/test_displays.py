"""Displays keep their numbers and draw them."""

import pickle

import numpy as np
import pytest

from sagdiv import KernelSAGDIV
from sagdiv.datasets import make_binary, make_continuous
from sagdiv.inference import analyse
from sagdiv.losses import LogisticLoss
from sagdiv.plotting import (
    DerivativeDisplay,
    ResidualMomentsDisplay,
    RiskPathDisplay,
    StrengthDisplay,
    StructuralDisplay,
)

DISPLAYS = [
    StructuralDisplay,
    DerivativeDisplay,
    RiskPathDisplay,
    StrengthDisplay,
    ResidualMomentsDisplay,
]


@pytest.fixture(scope="module")
def result():
    data = make_continuous("sin", 300, random_state=0)
    return analyse(KernelSAGDIV(), data.X, data.y, data.Z)


@pytest.fixture
def plt():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    yield plt
    plt.close("all")


@pytest.mark.parametrize("display", DISPLAYS)
def test_draws_into_new_and_given_axes(result, display, plt):
    shown = display.from_result(result)
    new = shown.plot()
    assert new.get_xlabel()
    assert new.get_ylabel()
    given = plt.subplots()[1]
    assert shown.plot(given) is given
    assert given.get_title() == new.get_title()
    given.figure.canvas.draw()


@pytest.mark.parametrize("display", DISPLAYS)
def test_from_estimator_is_from_the_analysis(result, display, plt):
    direct = display.from_estimator(KernelSAGDIV(), result.X, result.y, result.Z).plot()
    through = display.from_result(result).plot()
    assert direct.get_title() == through.get_title()
    assert direct.get_xlim() == through.get_xlim()


def test_displays_and_results_pickle(result):
    for display in DISPLAYS:
        pickle.loads(pickle.dumps(display.from_result(result)))
    again = pickle.loads(pickle.dumps(result))
    np.testing.assert_array_equal(again.bands().lower, result.bands().lower)


def test_the_curve_is_drawn_with_its_own_numbers(result, plt):
    display = StructuralDisplay.from_result(result)
    lines = {line.get_label(): line for line in display.plot().lines}
    np.testing.assert_array_equal(
        lines["h(x), with the instrument"].get_ydata(), display.band.estimate
    )
    np.testing.assert_array_equal(lines["ordinary regression"].get_ydata(), display.confounded)
    np.testing.assert_array_equal(display.band.estimate, result.bands().estimate)


# The averages of bins, weighted by their counts, are the average of all residuals.
def test_residual_moments_are_bin_averages(result):
    display = ResidualMomentsDisplay.from_result(result, n_bins=10)
    z, u = result.Z[:, 0], result.residuals()
    low = z < np.quantile(z, 0.1)
    assert display.means[0] == pytest.approx(u[low].mean())
    assert display.standard_errors[0] == pytest.approx(u[low].std(ddof=1) / np.sqrt(low.sum()))
    assert len(display.means) == 10


def test_bad_columns(result):
    with pytest.raises(ValueError, match="column is 7, but Z has 2 columns"):
        ResidualMomentsDisplay.from_result(result, column=7)
    with pytest.raises(ValueError, match="column is 7, but X has 1 columns"):
        StructuralDisplay.from_result(result, column=7)


def test_a_binary_outcome_is_not_drawn_on_the_scale_of_h(plt):
    data = make_binary("sin", 300, random_state=0)
    result = analyse(KernelSAGDIV(LogisticLoss()), data.X, data.y, data.Z)
    ax = StructuralDisplay.from_result(result).plot()
    (line,) = ax.get_lines()
    np.testing.assert_array_equal(line.get_ydata(), result.bands().estimate)
    assert ax.get_ylabel() == "index h"


def test_the_line_may_be_another_than_the_centre_of_the_band(result, plt):
    shown = StructuralDisplay.from_result(result)
    moved = shown.band.estimate + 0.1
    other = StructuralDisplay(
        0, shown.band, shown.support, None, result.X, result.y, "price", "sales", estimate=moved
    ).plot()
    np.testing.assert_array_equal(other.get_lines()[-1].get_ydata(), moved)
    assert (other.get_xlabel(), other.get_ylabel()) == ("price", "sales")


# Between two values there is nothing to draw a line through.
def test_few_values_are_drawn_as_points(plt):
    data = make_continuous("linear", 400, random_state=0)
    treated = (data.X > 0).astype(float)
    result = analyse(KernelSAGDIV(), treated, data.y, data.Z)
    ax = StructuralDisplay.from_result(result).plot()
    assert [label.get_text() for label in ax.get_xticklabels()] == ["0", "1"]
    assert {line.get_linestyle() for line in ax.get_lines()} == {"None"}
    spans = [collection for collection in ax.collections if len(collection.get_paths()) == 2]
    ends = np.array([path.vertices[:, 1] for path in spans[1].get_paths()])
    band = result.bands()
    np.testing.assert_allclose(ends, np.c_[band.lower, band.upper])


def test_residuals_of_a_binary_outcome_are_called_what_they_are(plt):
    data = make_binary("sin", 300, random_state=0)
    result = analyse(KernelSAGDIV(LogisticLoss()), data.X, data.y, data.Z)
    display = ResidualMomentsDisplay.from_result(result)
    assert display.plot().get_ylabel() == "average of the generalised residual"
