"""Accuracy, stability and fit time of the default estimator on the paper's continuous design."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.common import SCENARIOS, best_time, errors, parse, table
from sagdiv import KernelSAGDIV
from sagdiv.datasets import IVSample, make_continuous

MUST = {"step": 0.050, "abs": 0.055, "linear": 0.020, "sin": 0.040}
AIM = {"step": 0.045, "abs": 0.040, "linear": 0.003, "sin": 0.022}
N_NOISE = 5


def main(argv: Sequence[str] | None = None) -> None:
    options = parse(
        argv, __doc__, draws=100, paper_draws=20, large_draws=20, huge_draws=5, first_seed=0
    )
    n_draws, n_paper = options.draws, options.paper_draws
    larger = {10_000: options.large_draws, 300_000: options.huge_draws}
    if options.quick:
        n_draws = n_paper = 2
        larger = {2000: 2}

    def seeds(n: int) -> range:
        return range(options.first_seed, options.first_seed + n)

    with threadpool_limits(limits=1):
        small = {scenario: _errors(scenario, 1000, seeds(n_draws)) for scenario in SCENARIOS}
        print(f"n = 1000, {n_draws} draws from seed {options.first_seed}")
        table(
            ["scenario", "mean MSE", "must", "aim", "median", "worst / median", "must", "aim"],
            [
                [s, np.mean(e), MUST[s], AIM[s], np.median(e), max(e) / np.median(e), 4, 2.5]
                for s, e in small.items()
            ],
        )
        print(f"\nHalf the data (n = 500), against KernelSAGDIV.paper(), {n_paper} draws")
        table(
            [
                "scenario",
                "mean MSE",
                "paper, same rows",
                "ratio",
                "must",
                "aim",
                "paper, 600 triplets + 1200 Z",
            ],
            _half(seeds(n_paper)),
        )
        print(f"\n{N_NOISE} more instruments that are pure noise, n = 1000, {n_draws} draws")
        rows = []
        for scenario in SCENARIOS:
            noisy = np.mean(_errors(scenario, 1000, seeds(n_draws), N_NOISE))
            rows.append([scenario, noisy, noisy / np.mean(small[scenario]), 1.5, 1.1])
        table(["scenario", "mean MSE", "over two instruments", "must", "aim"], rows)
        for n, n_large in larger.items():
            print(f"\nn = {n}, {n_large} draws")
            rows = []
            for scenario in SCENARIOS:
                large = np.mean(_errors(scenario, n, seeds(n_large)))
                rows.append([scenario, large, large / np.mean(small[scenario]), 0.75])
            table(["scenario", "mean MSE", "over n = 1000", "must"], rows)
        data = make_continuous("sin", 1000, random_state=options.first_seed)
        seconds = best_time(lambda: KernelSAGDIV().fit(data.X, data.y, data.Z), repeats=10)
        print("\nOne thread")
        table(
            ["what", "s", "must", "aim"], [["fit with all tuning, n = 1000", seconds, 0.25, 0.05]]
        )


def _half(seeds: range) -> list[list[object]]:
    rows = []
    for scenario in SCENARIOS:
        draw = partial(_draw, scenario, 500)
        ours = np.mean(errors(KernelSAGDIV(), draw, seeds)[0])
        paper = np.mean(errors(KernelSAGDIV.paper(), draw, seeds)[0])
        whole = partial(_draw_budget, scenario)  # the budget of n = 1000
        paper_whole = np.mean(errors(KernelSAGDIV.paper(), whole, seeds)[0])
        rows.append([scenario, ours, paper, ours / paper, 1, 0.7, paper_whole])
    return rows


def _errors(scenario: str, n: int, seeds: range, n_noise: int = 0) -> list[float]:
    return errors(KernelSAGDIV(), partial(_draw, scenario, n, n_noise=n_noise), seeds)[0]


def _draw(scenario: str, n: int, seed: int, *, n_noise: int = 0) -> IVSample:
    data = make_continuous(scenario, n, random_state=seed)
    if n_noise == 0:
        return data
    noise = np.random.RandomState(2_000_000 + seed).uniform(-3, 3, (n, n_noise))
    return IVSample(data.X, data.y, np.hstack([data.Z, noise]), None, data.design)


def _draw_budget(scenario: str, seed: int) -> IVSample:
    return make_continuous(scenario, 600, n_extra=1200, random_state=seed)


if __name__ == "__main__":
    main()
