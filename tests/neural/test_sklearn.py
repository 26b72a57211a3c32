"""scikit-learn's own checks, on trainings that only show that everything runs."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from sagdiv import DeepSAGDIV
from sagdiv.neural import MLP, CanonicalFeatures, Training

SHORT = Training(row_visits=100)
FEATURES = CanonicalFeatures(2, x_network=MLP((4,)), z_network=MLP((4,)), training=SHORT)


@pytest.mark.filterwarnings("ignore::sagdiv.exceptions.NoInstrumentWarning")
@pytest.mark.filterwarnings("ignore::sagdiv.exceptions.WeakInstrumentWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
@parametrize_with_checks([DeepSAGDIV(features=FEATURES, n_folds=2)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)
