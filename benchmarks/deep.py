"""DeepSAGDIV: the continuous and the binary design, digits as images, and memory on many rows."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from functools import partial

import numpy as np
import torch
from sklearn.base import BaseEstimator, clone
from threadpoolctl import threadpool_limits

from benchmarks.common import SCENARIOS, errors, parse, table
from sagdiv import DeepSAGDIV, KernelSAGDIV
from sagdiv.baselines import TSLS, DirectNetwork
from sagdiv.datasets import IVSample, make_binary, make_continuous, make_digits_iv
from sagdiv.losses import LogisticLoss
from sagdiv.neural import CanonicalFeatures, Training

BARS = {  # must and aim of the mean MSE
    "DeepSAGDIV": {
        "step": (0.065, 0.050),
        "abs": (0.10, 0.06),
        "linear": (0.06, 0.03),
        "sin": (0.08, 0.05),
    },
    "DeepSAGDIV.paper": {
        "step": (0.08, 0.04),
        "abs": (0.35, 0.175),
        "linear": (0.35, 0.175),
        "sin": (0.28, 0.14),
    },
}
BINARY_BARS = {"sin": (0.10, 0.05), "linear": (0.5, 0.2)}
HEADER = ["method", "scenario", "mean MSE", "must", "aim", "median", "worst / median", "fit, s"]
SCALE = 0.1**0.5
DIGITS = ("x", "z", "xz")

_PEAK = """
import sys, time
import torch
from sagdiv import DeepSAGDIV
from sagdiv.datasets import make_continuous
from sagdiv.experiments.memory import peak_memory

torch.set_num_threads(1)
data = make_continuous("sin", int(sys.argv[1]), random_state=0)
before, start = peak_memory(reset=True) / 1024, time.perf_counter()
DeepSAGDIV().fit(data.X, data.y, data.Z)
print(time.perf_counter() - start, peak_memory() / 1024, peak_memory() / 1024 - before)
"""


class OnPixels(BaseEstimator):
    """An estimator for tables, given images row by row as their pixels."""

    def __init__(self, estimator):
        self.estimator = estimator

    def fit(self, X, y, Z):
        self.estimator_ = clone(self.estimator).fit(_flat(X), y, _flat(Z))
        return self

    def predict(self, X):
        return self.estimator_.predict(_flat(X))


def main(argv: Sequence[str] | None = None) -> None:
    options = parse(argv, __doc__, draws=20, digits_draws=10, first_seed=0, rows=100_000)
    quick = options.quick
    draws, digits_draws = (1, 1) if quick else (options.draws, options.digits_draws)
    scenarios, digits = (("sin",), ("z",)) if quick else (SCENARIOS, DIGITS)
    seeds = range(options.first_seed, options.first_seed + draws)
    digits_seeds = range(options.first_seed, options.first_seed + digits_draws)
    # The smallest training that shows that everything runs.
    features = CanonicalFeatures(training=Training(row_visits=10_000)) if quick else None
    deep = DeepSAGDIV(features=features)
    torch.set_num_threads(1)
    with threadpool_limits(1):
        print(f"Continuous design, {draws} draws from seed {seeds[0]}, one thread: 1000 triplets")
        print("(DeepSAGDIV), or 600 triplets and 1200 further Z (DeepSAGDIV.paper)\n")
        table(HEADER, _continuous_rows(deep, scenarios, seeds))
        print(f"\nBinary design, 1000 triplets, {draws} draws\n")
        table(HEADER, _binary_rows(deep, scenarios, seeds))
        n = 500 if quick else 2000
        print(f"\nImages of digits, h* = abs, n = {n}, {digits_draws} draws: mean (median) MSE\n")
        table(
            ["images", "DeepSAGDIV", "DirectNetwork", "TSLS", "KernelSAGDIV", "best other : ours",
             "must", "aim", "fit of DeepSAGDIV, s"],
            _digits_rows(deep, digits, n, digits_seeds),
        )  # fmt: skip
    n = 2000 if quick else options.rows
    print(f"\nDeepSAGDIV() on {n} rows, in a process of its own\n")
    command = [sys.executable, "-c", _PEAK, str(n)]
    output = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout
    seconds, peak, beyond = map(float, output.split())
    table(
        ["what", "measured", "must", "aim"],
        [
            ["peak memory of the process, torch and data included, GiB", peak, 2, 1],
            ["of it by the fit, GiB", beyond, "", ""],
            ["fit, s", seconds, "", ""],
        ],
    )


def _continuous_rows(deep, scenarios, seeds):
    methods = {"DeepSAGDIV": (deep, 1000, 0), "DeepSAGDIV.paper": (DeepSAGDIV.paper(), 600, 1200)}
    for name, (model, n, n_extra) in methods.items():
        for scenario in scenarios:
            draw = partial(_continuous, scenario, n, n_extra)
            yield _row(name, scenario, BARS[name][scenario], *errors(model, draw, seeds))


def _binary_rows(deep, scenarios, seeds):
    model = clone(deep).set_params(loss=LogisticLoss(SCALE))
    for scenario, bars in BINARY_BARS.items():
        if scenario in scenarios:
            draw = partial(_binary, scenario)
            yield _row("DeepSAGDIV", scenario, bars, *errors(model, draw, seeds))


def _row(name, scenario, bars, found, seconds):
    mean, median = float(np.mean(found)), float(np.median(found))
    return [name, scenario, mean, *bars, median, max(found) / median, float(np.median(seconds))]


def _digits_rows(deep, scenarios, n, seeds):
    others = (DirectNetwork(), OnPixels(TSLS()), OnPixels(KernelSAGDIV()))
    for scenario in scenarios:
        draw = partial(_digits, scenario, n)
        ours, seconds = errors(deep, draw, seeds)
        theirs = [_errors_or_none(model, draw, seeds) for model in others]
        cells = [_mean_and_median(e) if e else "refuses" for e in (ours, *theirs)]
        ratio = min(np.mean(e) for e in theirs if e) / np.mean(ours)
        yield [scenario, *cells, float(ratio), 1, 2, float(np.median(seconds))]


def _errors_or_none(model, draw, seeds):
    try:
        return errors(model, draw, seeds)[0]
    except ValueError:  # two-stage least squares of more pixels than instruments
        return None


def _mean_and_median(found):
    return f"{np.mean(found):.3g} ({np.median(found):.3g})"


def _continuous(scenario: str, n: int, n_extra: int, seed: int) -> IVSample:
    return make_continuous(scenario, n, n_extra=n_extra, random_state=seed)


def _binary(scenario: str, seed: int) -> IVSample:
    return make_binary(scenario, 1000, scale=SCALE, random_state=seed)


def _digits(scenario: str, n: int, seed: int) -> IVSample:
    return make_digits_iv(scenario, n, random_state=seed)


def _flat(A):
    return np.reshape(A, (len(A), -1))


if __name__ == "__main__":
    main()
