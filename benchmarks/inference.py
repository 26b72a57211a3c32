"""Coverage of bands and intervals, size and power of tests, strength of instruments, speed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from benchmarks.common import best_time, parse, table
from sagdiv import KernelSAGDIV
from sagdiv.datasets import IVSample, make_continuous
from sagdiv.inference import Analysis, analyse

CENTRAL = 0.9
LEVEL = 0.05
WEAK_EFFECT = 0.3  # of the second instrument on the outcome, where the model is wrong


def main(argv: Sequence[str] | None = None) -> None:
    options = parse(argv, __doc__, draws=200, test_draws=500, first_seed=0)
    draws, test_draws = (2, 2) if options.quick else (options.draws, options.test_draws)
    first, sizes = options.first_seed, (1000,) if options.quick else (1000, 4000)

    print(f"95 % bands on the central 90 % of X, {draws} draws from seed {first}")
    header = ["h*", "n", "pointwise", "must", "uniform", "must", "noise only: pointwise", "uniform"]
    header += ["mean width", "MSE", "h(1) - h(-1)", "average slope", "slope, pointwise"]
    scenarios = (("sin", 0.9, 0.88), ("abs", 0.9, 0.88), ("linear", "", ""), ("step", "", ""))
    table(
        header,
        (
            _coverage_row(scenario, n, must_point, must_uniform, range(first, first + draws))
            for n in sizes
            for scenario, must_point, must_uniform in scenarios
        ),
    )

    print(f"\nRejections at 5 %, {test_draws} draws from seed {first}; must: size 0.03 to 0.07")
    seeds = range(first, first + test_draws)
    cases = [
        ("exogeneity", "X exogenous", "sin", 500, "size"),
        ("exogeneity", "X exogenous", "abs", 1000, "size"),
        ("exogeneity", "X confounded", "sin", 500, "power, must 0.95"),
        ("exogeneity", "X confounded", "linear", 500, "power, must 0.95"),
        ("specification", "X confounded", "sin", 500, "size"),
        ("specification", "X confounded", "sin", 1000, "size"),
        ("specification", "X confounded", "abs", 1000, "size"),
        ("specification", "Z2 in the outcome", "sin", 1000, "power, must 0.8"),
    ]
    table(
        ["test", "design", "h*", "n", "measures", "rejected"],
        ([*case, _rejections(*case[:4], seeds)] for case in cases),
    )

    print(f"\nVerdict on the instrument, {draws} draws")
    rows = []
    for n in (200, 1000):
        seeds = range(first, first + draws)
        useless = [_irrelevant(n, seed).strength.verdict == "useless" for seed in seeds]
        strong = [_design("sin", n, seed)[1].strength.verdict == "strong" for seed in seeds]
        rows.append([n, float(np.mean(useless)), 0.94, float(np.mean(strong)), 1.0])
    table(["n", "irrelevant: useless", "must", "the design's: strong", "must"], rows)

    print("\nSeconds")
    result = _design("sin", 1000, first)[1]
    grid = result.grid()
    rows = [
        ["1000 multiplier draws, 100 points, n = 1000", best_time(lambda: result.bands(grid)), 1.0],
        ["analyse and summary, n = 1000", best_time(lambda: _design("sin", 1000, 0)[1].summary())],
    ]
    table(["what", "seconds", "must"], ([*row, ""][:3] for row in rows))


def _design(scenario: str, n: int, seed: int) -> tuple[IVSample, Analysis]:
    data = make_continuous(scenario, n, random_state=seed)
    return data, analyse(KernelSAGDIV(), data.X, data.y, data.Z)


def _irrelevant(n: int, seed: int) -> Analysis:
    data = make_continuous("sin", n, random_state=seed)
    other = make_continuous("sin", n, random_state=500_000 + seed)
    return analyse(KernelSAGDIV(), data.X, data.y, other.Z)


def _coverage_row(
    scenario: str, n: int, must_point: object, must_uniform: object, seeds: range
) -> list[object]:
    population = make_continuous(scenario, 200_000, random_state=999_999)
    low, high = np.quantile(population.X, [(1 - CENTRAL) / 2, (1 + CENTRAL) / 2])
    grid = np.linspace(low, high, 100)[:, None]
    truth, delta = population.h_star(grid), 1e-4
    slopes = (population.h_star(grid + delta) - population.h_star(grid - delta)) / (2 * delta)
    all_slopes = population.h_star(population.X + delta) - population.h_star(population.X - delta)
    average_slope = float(np.mean(all_slopes) / (2 * delta))
    contrast = float(population.h_star([1.0])[0] - population.h_star([-1.0])[0])
    found = []
    for seed in seeds:
        _, result = _design(scenario, n, seed)
        band, slope = result.bands(grid), result.derivative(grid)
        errors = result.linearisation.errors(result._features(grid))
        noise = replace(errors, bias=errors.bias[:, :0])
        t_noise = np.abs(noise.draw(1000, np.random.RandomState(seed))) / noise.noise_error
        off = np.abs(band.estimate - truth)
        change, average = result.contrast(1.0, -1.0), result.average_derivative()
        found.append(
            [
                ((band.lower <= truth) & (truth <= band.upper)).mean(),
                ((band.uniform_lower <= truth) & (truth <= band.uniform_upper)).all(),
                (off <= 1.96 * errors.noise_error).mean(),
                (off <= np.quantile(t_noise.max(axis=1), 0.95) * errors.noise_error).all(),
                (band.upper - band.lower).mean(),
                np.mean(off**2),
                change.lower <= contrast <= change.upper,
                average.lower <= average_slope <= average.upper,
                ((slope.lower <= slopes) & (slopes <= slope.upper)).mean(),
            ]
        )
    means = [float(value) for value in np.mean(found, axis=0)]
    return [scenario, n, means[0], must_point, means[1], must_uniform, *means[2:]]


def _rejections(test: str, design: str, scenario: str, n: int, seeds: range) -> float:
    rejected = []
    for seed in seeds:
        data = make_continuous(scenario, n, random_state=seed)
        y = data.y
        if design == "X exogenous":  # the same noise, but drawn apart from X
            noise = np.random.RandomState(700_000 + seed).normal(scale=1.1**0.5, size=n)
            y = data.h_star(data.X) + noise
        elif design == "Z2 in the outcome":
            y = y + WEAK_EFFECT * data.Z[:, 1]
        result = analyse(KernelSAGDIV(), data.X, y, data.Z)
        rejected.append(getattr(result, test).p_value < LEVEL)
    return float(np.mean(rejected))


if __name__ == "__main__":
    main()
