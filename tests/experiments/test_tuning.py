"""A row says what its method chose, also in the parts of it, and nothing else."""

import numpy as np
import pytest

from sagdiv import KernelSAGDIV
from sagdiv.baselines import DualIV
from sagdiv.datasets import make_continuous
from sagdiv.experiments.tuning import chosen

DATA = make_continuous("sin", 100, n_extra=100, random_state=0)


class Part:
    def fit(self):
        return self


class Loop(Part):
    """A part of itself: names must end somewhere."""

    def __init__(self):
        self.loop_, self.ridge_ = self, 0.5


def test_numbers_and_words_that_fit_left():
    model = Part()
    model.ridge_, model.knots_, model.way_, model.found_ = 1 / 3, np.int64(4), "primal", True
    model.alpha, model._ridge_, model.wild_, model.coef_ = 1.0, 2.0, np.nan, np.ones(3)
    model.n_features_in_, model.y_location_, model.intercept_ = 1, 0.2, 0.3
    assert chosen(model) == {"found_": 1, "knots_": 4, "ridge_": 0.333333, "way_": "primal"}


def test_what_was_chosen_in_a_loop_ends():
    assert chosen(Loop()) == {"loop_.loop_.ridge_": 0.5, "loop_.ridge_": 0.5, "ridge_": 0.5}


def test_ridges_of_the_nuisances():
    model = KernelSAGDIV.paper().fit(DATA.X, DATA.y, DATA.Z, Z_extra=DATA.Z_extra)
    found = chosen(model)
    assert found["Phi_.ridge_"] == pytest.approx(model.Phi_.ridge_, rel=1e-5)
    assert found["P_.ridge_"] == pytest.approx(model.P_.ridge_, rel=1e-5)


def test_ridges_of_a_baseline():
    found = chosen(DualIV(random_state=0).fit(DATA.X, DATA.y, DATA.Z))
    assert set(found) == {"dual_ridge_", "ridge_"}


def test_networks():
    pytest.importorskip("torch")
    from baselines.test_networks import deep_gmm, deep_iv

    game = deep_gmm().fit(DATA.X, DATA.y, DATA.Z)
    selection = game.selection_
    assert chosen(game) == {
        "selection_.iterate": selection.iterate,
        "selection_.run": selection.run,
    }
    two_stages = deep_iv().fit(DATA.X, DATA.y, DATA.Z)
    assert chosen(two_stages) == {
        "density_.history_.best_epoch": two_stages.density_.history_.best_epoch,
        "history_.best_epoch": two_stages.history_.best_epoch,
    }
