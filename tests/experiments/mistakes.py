"""Data and methods that a design must not name."""

import numpy as np

from sagdiv.datasets import IVSample, make_continuous


def no_sample(scenario, n, n_extra=0, random_state=None):
    return {"X": np.zeros((n, 1))}


def raises(scenario, n, n_extra=0, random_state=None):
    return {}[scenario]


def no_design(scenario, n, n_extra=0, random_state=None):
    return IVSample(np.zeros((n, 1)), np.zeros(n), np.zeros((n, 1)), np.zeros((n_extra, 1)), None)


def wrong_n(scenario, n, n_extra=0, random_state=None):
    return make_continuous(scenario, n + 1, n_extra, random_state)


class WideTruth:
    def h_star(self, X):
        return X

    def draw(self, n, rng):
        return rng.normal(size=(n, 1)), rng.normal(size=n), rng.normal(size=(n, 1))


def wide_h(scenario, n, n_extra=0, random_state=None):
    rng = np.random.RandomState(random_state)
    return IVSample(*WideTruth().draw(n, rng), rng.normal(size=(n_extra, 1)), WideTruth())


class Raises:
    def __init__(self):
        raise KeyError("device")
