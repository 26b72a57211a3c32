"""Laws of an estimate of r(z) = E[Y|Z=z]."""

import numpy as np
import pytest
from registry import DESIGN, OUTCOMES
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from sagdiv.operators import MeanEmbeddingOperator
from sagdiv.outcome import ClassProbability, SmoothedOutcome
from sagdiv.protocols import Outcome

pytestmark = pytest.mark.usefixtures("global_state_untouched")


@pytest.mark.parametrize("case", OUTCOMES)
def test_one_finite_number_for_each_row(case, gaussian_sample):
    assert isinstance(case.component, Outcome)
    y = (gaussian_sample.y > 0).astype(float)
    outcome = clone(case.component).fit(gaussian_sample.Z, y)
    prediction = outcome.predict(gaussian_sample.Z_extra)
    assert prediction.shape == (300,)
    assert np.isfinite(prediction).all()


def test_classifier_is_read_in_the_column_of_class_one(gaussian_sample):
    Z, y = gaussian_sample.Z, (gaussian_sample.y > 0).astype(float)
    outcome = ClassProbability(LogisticRegression()).fit(Z, y)
    expected = LogisticRegression().fit(Z, y).predict_proba(Z)[:, 1]
    np.testing.assert_allclose(outcome.predict(Z), expected)
    assert ((outcome.predict(Z) >= 0) & (outcome.predict(Z) <= 1)).all()
    assert np.corrcoef(outcome.predict(Z), y)[0, 1] > 0


@pytest.mark.parametrize("only", [0.0, 1.0])
@pytest.mark.parametrize("classifier", [DecisionTreeClassifier(random_state=0), DummyClassifier()])
def test_classifier_that_saw_one_class_is_sure_of_it(gaussian_sample, only, classifier):
    outcome = ClassProbability(classifier).fit(gaussian_sample.Z, np.full(300, only))
    np.testing.assert_array_equal(outcome.predict(gaussian_sample.Z), only)


def test_smoother_is_the_operator_applied_to_y(gaussian_sample):
    X, y, Z = gaussian_sample.X, gaussian_sample.y, gaussian_sample.Z
    operator = MeanEmbeddingOperator(ridge=1e-3).fit(X, Z)
    outcome = SmoothedOutcome(operator).fit(Z, y)
    Z_new = gaussian_sample.Z_extra
    np.testing.assert_array_equal(outcome.predict(Z_new), operator.weights(Z_new) @ y)
    assert np.sqrt(np.mean((outcome.predict(Z_new) - DESIGN.r(Z_new)) ** 2)) < 0.3


def test_smoother_is_clipped_to_the_domain(gaussian_sample):
    X, Z = gaussian_sample.X, gaussian_sample.Z
    y = (gaussian_sample.y > 0).astype(float)
    operator = MeanEmbeddingOperator(ridge=1e-8).fit(X, Z)
    free = SmoothedOutcome(operator).fit(Z, y).predict(Z)
    clipped = SmoothedOutcome(operator, (0.0, 1.0)).fit(Z, y).predict(Z)
    assert free.max() > 1
    np.testing.assert_array_equal(clipped, free.clip(0, 1))


def test_smoother_needs_a_y_for_each_node(gaussian_sample):
    operator = MeanEmbeddingOperator(ridge=1.0).fit(gaussian_sample.X, gaussian_sample.Z)
    with pytest.raises(ValueError, match=r"300 nodes and y has 10 rows"):
        SmoothedOutcome(operator).fit(gaussian_sample.Z[:10], gaussian_sample.y[:10])
