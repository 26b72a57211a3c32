"""Estimators that do what estimators must not do; they run in processes of their own."""

import os
import signal
import sys
import time

import numpy as np
from sklearn.base import BaseEstimator


class Mean(BaseEstimator):
    """Well-behaved: the mean of y."""

    def __init__(self, shift=0.0, random_state=None):
        self.shift = shift
        self.random_state = random_state

    def fit(self, X, y, Z):
        self.mean_ = float(y.mean()) + self.shift
        self.seed_ = self.random_state
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)


class Raises(Mean):
    def fit(self, X, y, Z):
        raise RuntimeError("out of patience")


class PredictsNaN(Mean):
    def predict(self, X):
        return np.where(np.arange(len(X)) == 3, np.nan, 0.0)


class PredictsHuge(Mean):
    """Finite, but not so its square."""

    def predict(self, X):
        return np.full(len(X), 1e200)


class CurveIsNaN(Mean):
    """As it should be, except on the points of the figure."""

    def predict(self, X):
        return np.full(len(X), np.nan if len(X) == 61 else self.mean_)


class CurveRaises(Mean):
    def predict(self, X):
        if len(X) == 61:
            raise RuntimeError("no more predictions")
        return super().predict(X)


class Slots:
    """No dictionary, no get_params; it learns nothing but what it was told."""

    __slots__ = ("mean_", "random_state", "seed_")

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X, y, Z):
        self.mean_, self.seed_ = float(y.mean()), self.random_state
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)


class PredictsAColumn(Mean):
    def predict(self, X):
        return super().predict(X)[:, None]


class Sleeps(Mean):
    def fit(self, X, y, Z):
        time.sleep(600)


class Crashes(Mean):
    def fit(self, X, y, Z):
        os.kill(os.getpid(), signal.SIGSEGV)


class Forks(Mean):
    """Starts a process, which inherits the pipe of answers, and takes too long."""

    def fit(self, X, y, Z):
        fork()
        time.sleep(600)


class ForksAndCrashes(Mean):
    def fit(self, X, y, Z):
        fork()
        os.kill(os.getpid(), signal.SIGSEGV)


def fork():
    """Start a process that sleeps, and note its number in the folder of the run."""
    child = os.fork()
    if not child:
        time.sleep(600)
        os._exit(0)
    with open(os.environ["CHILDREN"], "a") as file:
        file.write(f"{child}\n")


def sleep_with_child():
    """Sleep, and so does a child of ours."""
    fork()
    time.sleep(600)


class Exits(Mean):
    def fit(self, X, y, Z):
        sys.exit(3)


class Prints(Mean):
    def fit(self, X, y, Z):
        print("a line that must not be taken for an answer")
        os.write(1, b"nor this one\n")
        return super().fit(X, y, Z)


class Gated(Mean):
    """Waits where a gate is closed, so that a run cannot end before it is killed.

    The gate is a folder with one token, which the first fit takes away.
    """

    def fit(self, X, y, Z):
        gate = os.environ.get("GATE")
        if gate is not None:
            try:
                os.rename(f"{gate}/token", f"{gate}/taken")
            except FileNotFoundError:
                time.sleep(600)
        return super().fit(X, y, Z)


def not_an_estimator():
    return object()
