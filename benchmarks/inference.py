"""Coverage of bands and intervals, size and power of tests, strength of instruments, speed.

First on the paper's design, then where it is left: controls, Gaussian and two-valued instruments,
several treatments.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from benchmarks.common import best_time, parse, table
from sagdiv import KernelSAGDIV
from sagdiv._types import Array
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

    _off_the_design(draws, first, sizes)

    print("\nSeconds")
    result = _design("sin", 1000, first)[1]
    grid = result.grid()
    rows = [
        ["1000 multiplier draws, 100 points, n = 1000", best_time(lambda: result.bands(grid)), 1.0],
        ["analyse and summary, n = 1000", best_time(lambda: _design("sin", 1000, 0)[1].summary())],
    ]
    table(["what", "seconds", "must"], ([*row, ""][:3] for row in rows))


def _off_the_design(draws: int, first: int, sizes: Sequence[int]) -> None:
    seeds = range(first, first + draws)
    print(f"\n95 % bands on the central 90 % of X, x = 1.2 z + 0.7 e + v, {draws} draws")
    kinds = ("sin(x)", "0.3 x^2", "exp(x/2)", "tanh(2x)", "sin(1.5x)")
    cases: list[tuple] = [(h, n, "Gaussian") for n in sizes for h in kinds]
    cases += [(h, 1000, "two-valued") for h in ("x", "tanh(2x)", "sin(1.5x)")]
    header = ["h*", "n", "instrument", "pointwise", "uniform", "mean width", "specification"]
    table(header, ([*case, *_curve_coverage(*case, seeds)] for case in cases))

    print(f"\nRejections at 5 % of what is true, controls w, {draws} draws; aim: 0.02 to 0.1")
    cases = [("specification", k, "normal", 0.0, 1000) for k in (0, 1, 2, 4)]
    cases += [("specification", 4, "normal", 0.0, max(sizes))]
    cases += [("specification", k, "binary", 0.0, 1000) for k in (3, 5)]
    cases += [("specification", 4, "normal", 1.0, 1000)]
    cases += [("exogeneity", k, "normal", 1.0, 1000) for k in (2, 4, 5)]
    table(
        ["test", "controls", "of which kind", "w_1 w_k in x and y, times", "n", "rejected"],
        ([*case, _control_rejections(*case, seeds)] for case in cases),
    )

    print(f"\nVerdict on the instrument, {draws} draws")
    cases = [
        ("irrelevant given 2 controls", _follows_two_controls, "useless", 0.94),
        ("irrelevant given 5 controls", _follows_five_controls, "useless", 0.94),
        ("2 treatments, one instrument", _one_for_two, "weak", ""),
        ("2 treatments moved by z1 + z2 alone", _sum_for_two, "weak", ""),
        ("2 treatments, each moved apart", _two_for_two, "strong", ""),
    ]
    rows = []
    for name, make, verdict, must in cases:
        met = [make(seed).strength.verdict == verdict for seed in seeds]
        rows.append([name, verdict, float(np.mean(met)), must])
    table(["design", "verdict", "share", "must"], rows)


CURVES = {
    "x": lambda x: x,
    "sin(x)": np.sin,
    "0.3 x^2": lambda x: 0.3 * x**2,
    "exp(x/2)": lambda x: np.exp(x / 2),
    "tanh(2x)": lambda x: np.tanh(2 * x),
    "sin(1.5x)": lambda x: np.sin(1.5 * x),
}


def _curve_coverage(h: str, n: int, instrument: str, seeds: range) -> list[float]:
    grid = np.linspace(-1.645, 1.645, 100)[:, None]  # of standard deviations of x
    found = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        z = rng.normal(size=n) if instrument == "Gaussian" else rng.integers(0, 2, n).astype(float)
        e = rng.normal(size=n)
        x = 1.2 * z + 0.7 * e + rng.normal(size=n)
        y = CURVES[h](x) + e + 0.3 * rng.normal(size=n)
        result = analyse(KernelSAGDIV(), x[:, None], y, z[:, None])
        band = result.bands(1.2 * z.mean() + grid * (1.49 + 1.44 * z.var()) ** 0.5)
        truth = CURVES[h](band.X[:, 0])
        found.append(
            [
                ((band.lower <= truth) & (truth <= band.upper)).mean(),
                ((band.uniform_lower <= truth) & (truth <= band.uniform_upper)).all(),
                (band.upper - band.lower).mean(),
                result.specification.p_value < LEVEL,
            ]
        )
    return [float(value) for value in np.mean(found, axis=0)]


def _control_rejections(
    test: str, k: int, kind: str, interaction: float, n: int, seeds: range
) -> float:
    confounding = 0.7 if test == "specification" else 0.0
    rejected = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        W = rng.normal(size=(n, k)) if kind == "normal" else rng.integers(0, 2, (n, k)) * 1.0
        z, e = rng.normal(size=(2, n))
        both = interaction * W[:, 0] * W[:, -1] if k else 0.0
        x = z + confounding * e + 0.5 * rng.normal(size=n) + both
        result = _with_controls(x, W, x + (W[:, 0] if k else 0.0) + both + e, z)
        rejected.append(getattr(result, test).p_value < LEVEL)
    return float(np.mean(rejected))


def _with_controls(x: Array, W: Array, y: Array, z: Array) -> Analysis:
    model = KernelSAGDIV(exogenous=range(1, 1 + W.shape[1]))
    return analyse(model, np.column_stack([x, W]), y, z[:, None])


def _follows_two_controls(seed: int) -> Analysis:
    rng = np.random.default_rng(seed)
    W, (e, u, v) = rng.normal(size=(1000, 2)), rng.normal(size=(3, 1000))
    x = np.cos(2 * W[:, 0]) + W[:, 1] + e + 0.5 * u
    z = np.sin(2 * W[:, 0]) + W[:, 1] ** 2 + 0.5 * v
    return _with_controls(x, W, np.sin(x) + W[:, 0] + e, z)


def _follows_five_controls(seed: int) -> Analysis:
    rng = np.random.default_rng(seed)
    W, (e, u, v) = rng.normal(size=(1000, 5)), rng.normal(size=(3, 1000))
    x = W[:, 0] * W[:, 1] + W[:, 2] + e + 0.5 * u
    z = W.sum(axis=1) + 0.5 * W[:, 0] * W[:, 1] + v
    return _with_controls(x, W, x + W[:, 0] + e, z)


def _one_for_two(seed: int) -> Analysis:
    return _two_treatments(seed, np.array([[1.0, 1.0]]))


def _sum_for_two(seed: int) -> Analysis:
    return _two_treatments(seed, np.full((2, 2), 0.5**0.5))


def _two_for_two(seed: int) -> Analysis:
    return _two_treatments(seed, np.array([[1.0, 1.0], [0.0, 0.6]]))


def _two_treatments(seed: int, effects: Array, n: int = 1500) -> Analysis:
    rng = np.random.default_rng(seed)
    Z, e = rng.normal(size=(n, len(effects))), rng.normal(size=n)
    X = Z @ effects + 0.5 * rng.normal(size=(n, 2))
    X[:, 0] += 0.5 * e
    return analyse(KernelSAGDIV(), X, X[:, 0] + e, Z)


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
