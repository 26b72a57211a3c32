"""Bad data gets a sentence that names the argument, says what was wrong and what to do."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from sagdiv import SAGDIV
from sagdiv.datasets import make_continuous
from sagdiv.density_ratio import ExactDensityRatio
from sagdiv.losses import LogisticLoss, ProbitLoss


@pytest.fixture
def data(sample):
    return {
        "X": sample.X.copy(),
        "y": sample.y.copy(),
        "Z": sample.Z.copy(),
        "Z_extra": sample.Z_extra.copy(),
    }


def fit(data, **parameters):
    return SAGDIV(random_state=0, **parameters).fit(**data)


def refuse(data, message, **parameters):
    with pytest.raises(ValueError, match=message):
        fit(data, **parameters)


@pytest.mark.parametrize("name", ["X", "y", "Z", "Z_extra"])
@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity")])
def test_values_that_are_not_finite(data, name, value, word):
    data[name].flat[3] = value
    refuse(data, f"Input {name} contains {word}")


def test_three_lengths_are_all_shown(data):
    data["y"], data["Z"] = data["y"][:80], data["Z"][:70]
    refuse(data, r"len\(X\) = 90, len\(y\) = 80, len\(Z\) = 70; row i of each")


@pytest.mark.filterwarnings("ignore::sagdiv.exceptions.NoInstrumentWarning")
def test_two_lengths_without_an_instrument(data):
    data["Z"], data["y"] = None, data["y"][:80]
    refuse(data, r"len\(X\) = 90, len\(y\) = 80; row i")


@pytest.mark.parametrize("n", [0, 1, 8])
def test_too_few_rows_says_how_many_are_needed(data, n):
    data = {name: a[:n] for name, a in data.items()}
    refuse(data, rf"{n} sample\(s\).* while a minimum of 9 is required")


def test_the_smallest_sample_works(data):
    data = {name: a[:9] for name, a in data.items()}
    assert np.isfinite(fit(data).predict(data["X"])).all()
    data["Z_extra"] = None
    assert np.isfinite(fit(data).predict(data["X"])).all()


def test_outcome_of_two_columns(data):
    data["y"] = np.column_stack([data["y"], data["y"]])
    refuse(data, r"y must be one column, got shape \(90, 2\); fit one model for each")


@pytest.mark.parametrize("name", ["X", "Z"])
@pytest.mark.parametrize("value", [0.0, 0.1, 1e12])
def test_constant_columns(data, name, value):
    data[name][:] = value
    refuse(data, f"{name} is constant: ")


def test_a_constant_column_beside_one_that_varies_works(data):
    data["X"] = np.column_stack([data["X"], np.full(90, 3.0)])
    assert np.isfinite(fit(data).predict(data["X"])).all()


def test_a_constant_outcome_works(data):
    data["y"][:] = 2.0
    assert np.isfinite(fit(data).predict(data["X"])).all()


@pytest.mark.parametrize("copies", [2, 5])
def test_duplicated_rows_work(data, copies):
    data = {name: np.repeat(a, copies, axis=0) for name, a in data.items()}
    prediction = fit(data).predict(data["X"])
    assert np.abs(prediction).max() < 10 * data["y"].std()


@pytest.mark.parametrize("columns", [np.s_[:, None, :], np.s_[:, :0]])
def test_instruments_that_are_no_table(data, columns):
    data["Z"] = data["Z"][columns]
    refuse(data, r"Z must have a row for each observation and a column for each ins.*, got an arr")


@pytest.mark.parametrize("name", ["y", "Z"])
def test_a_number_is_no_column(data, name):
    data[name] = 3.0
    refuse(data, f"{name} must .*, got (np.float64\\()?3.0")


@pytest.mark.parametrize("dtype", [str, object])
def test_words(data, dtype):
    words = np.where(data["y"] > 0, "yes", "no").astype(dtype)
    refuse(data | {"y": words}, "y must be numbers, got '(yes|no)'; make them 0 and 1, for exam")
    refuse(data | {"Z": words}, "Z must be numbers, got '(yes|no)'; encode categories, for exam")
    written = data | {"Z": data["Z"].astype(str), "y": data["y"].astype(str)}
    np.testing.assert_array_equal(fit(written).predict(data["X"]), fit(data).predict(data["X"]))


def test_further_instruments_of_another_width(data):
    data["Z_extra"] = data["Z_extra"][:, :1]
    refuse(data, "Z_extra has 1 columns, but the instruments of the fit had 2")


@pytest.mark.parametrize("empty", [np.empty((0, 2)), np.empty((0, 7)), [], ()])
def test_no_further_instruments(data, empty):
    data["Z_extra"] = empty
    refuse(data, "Z_extra has no rows; leave it out")


def test_observed_outcome_of_further_instruments(data):
    refuse(data, 'outcome="observed" needs the y of every z', outcome="observed")


def test_no_outcome(data):
    data["y"] = None
    refuse(data, "y is the outcome")


def test_prediction_at_another_width(data):
    model = fit(data)
    with pytest.raises(ValueError, match="X has 2 features, but SAGDIV is expecting 1 features"):
        model.predict(data["Z"])
    with pytest.raises(ValueError, match="Z has 1 columns, but the instruments of the fit had 2"):
        model.predict_projected(data["X"])


def test_prediction_at_values_that_are_not_finite(data):
    model = fit(data)
    with pytest.raises(ValueError, match="Input X contains NaN"):
        model.predict([[np.nan]])
    with pytest.raises(ValueError, match="Input Z contains NaN"):
        model.predict_projected([[np.nan, 0.0]])


# Outcomes and nuisances that do not fit the loss


@pytest.mark.parametrize("loss", [LogisticLoss(), ProbitLoss()])
def test_outcome_of_a_binary_loss_must_be_binary(data, loss):
    refuse(data, r"y must be 0 or 1 for \w+Loss\(scale=1.0\), got the values", loss=loss)
    data["y"] = np.where(data["y"] > 0, 1.0, -1.0)
    refuse(data, r"got the values -1, 1\.", loss=loss)


@pytest.mark.parametrize("loss", [LogisticLoss(), ProbitLoss()])
@pytest.mark.parametrize("only", [0.0, 1.0])
def test_outcome_of_a_binary_loss_must_take_both_values(data, loss, only):
    data["y"][:] = only
    refuse(data, rf"y is {only:g} in every row; .* needs both 0 and 1", loss=loss)


def test_a_regressor_that_leaves_the_domain_of_the_loss():
    data = make_continuous("linear", 300, n_extra=300, random_state=0)
    model = SAGDIV(loss=LogisticLoss(), outcome=LinearRegression())
    with pytest.raises(ValueError, match=r"outcome predicts values from .* in \[0, 1\]; use a cla"):
        model.fit(data.X, (data.y > 0).astype(float), data.Z, data.Z_extra)


def infinite(X, Z):
    return np.full((len(X), len(Z)), np.inf)


def test_a_density_ratio_that_is_not_finite(data):
    refuse(data, "density_ratio returned non-finite", density_ratio=ExactDensityRatio(infinite))
