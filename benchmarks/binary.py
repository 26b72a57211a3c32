"""Binary outcomes against every baseline, heavy tails, and a million rows of binary outcomes."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from benchmarks.common import SCENARIOS, errors, parse, squared_error, table
from sagdiv import KernelSAGDIV
from sagdiv.baselines import ControlFunctionProbit, LinearProbability, LinkTikhonov, LogisticKIV
from sagdiv.datasets import IVSample, make_binary, make_continuous
from sagdiv.experiments.memory import peak_memory
from sagdiv.losses import LogisticLoss, PseudoHuberLoss

SCALE = 0.1**0.5
BARS = {"sin": 0.040, "linear": 0.20}
PAPER_BARS = {"sin": 0.065, "linear": 0.45}
HEADER = ["scenario", "method", "mean MSE", "median", "worst", "bar (mean)", "fit, s"]


def main(argv: Sequence[str] | None = None) -> None:
    options = parse(argv, __doc__, draws=30, first_seed=0, rows=0)
    draws = 2 if options.quick else options.draws
    seeds = range(options.first_seed, options.first_seed + draws)
    print(f"Binary design, 3000 random variable samples, {draws} draws from seed {seeds[0]}")
    table(HEADER, binary_rows(seeds))
    print(f"\nContinuous design, t(2) noise added, 1000 triplets, {draws} draws")
    table(["scenario", "squared", "pseudo-Huber", "ratio of means", "bar"], heavy_tails(seeds))
    if options.rows:
        million(options.rows)


def binary_rows(seeds: Sequence[int]):
    loss = LogisticLoss(SCALE)
    methods = {
        "KernelSAGDIV": (KernelSAGDIV(loss=loss), 0),
        "KernelSAGDIV.paper": (KernelSAGDIV.paper(loss=loss), 1200),
        "LogisticKIV": (LogisticKIV(loss), 0),
        "LinkTikhonov": (LinkTikhonov(loss), 0),
        "LinearProbability": (LinearProbability(loss), 0),
        "ControlFunctionProbit": (ControlFunctionProbit(loss), 0),
    }
    for scenario, bar in BARS.items():
        for name, (model, n_extra) in methods.items():
            found, seconds = errors(model, partial(_binary, scenario, n_extra), seeds)
            bar_here = {0: bar, 1200: PAPER_BARS[scenario]}[n_extra]
            yield [
                scenario, name, float(np.mean(found)), float(np.median(found)), max(found),
                bar_here if name.startswith("Kernel") else "", float(np.median(seconds)),
            ]  # fmt: skip


def heavy_tails(seeds: Sequence[int]):
    for scenario in SCENARIOS:
        draw = partial(_heavy_tailed, scenario)
        squared, _ = errors(KernelSAGDIV(), draw, seeds)
        robust, _ = errors(KernelSAGDIV(loss=PseudoHuberLoss()), draw, seeds)
        ratio = float(np.mean(robust) / np.mean(squared))
        yield [scenario, float(np.mean(squared)), float(np.mean(robust)), ratio, 0.7]


def million(n_rows: int) -> None:
    data = _binary("sin", 0, 0, n_rows)
    model = KernelSAGDIV(loss=LogisticLoss(SCALE), n_jobs=2)
    peak_memory(reset=True)
    start = time.perf_counter()
    model.fit(data.X, data.y, data.Z)
    seconds, peak = time.perf_counter() - start, peak_memory() / 1024
    print(f"\n{n_rows} rows, logistic loss, two threads")
    table(
        ["fit, s", "peak GiB, data included", "MSE"],
        [[seconds, peak, squared_error(model, data, 0)]],
    )


def _binary(scenario: str, n_extra: int, seed: int, n: int = 1000) -> IVSample:
    # Further Z instead of triplets, with the same number of random variables.
    n -= n_extra // 3
    return make_binary(scenario, n, n_extra=n_extra, scale=SCALE, random_state=seed)


def _heavy_tailed(scenario: str, seed: int) -> IVSample:
    data = make_continuous(scenario, 1000, random_state=seed)
    noise = np.random.RandomState(2_000_000 + seed).standard_t(2, len(data.y))
    return replace(data, y=data.y + noise)


if __name__ == "__main__":
    main()
