"""The paper's risk bound against Algorithm 1, where Phi, P and r are known; draws the figure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.common import parse, table
from sagdiv.experiments.theorem import FiniteDesign, disturbed, excess_risk, risk_bound
from sagdiv.plotting.style import BLACK, BLUE, GREY, ORANGE

FIGURE = Path(__file__).parents[1] / "docs" / "figures" / "theorem.png"
STEPS = (100, 316, 1000, 3162, 10_000, 31_623, 100_000)
ERRORS = (0.01, 0.03, 0.1, 0.3, 1.0)
NUISANCES = {"Phi": (BLUE, "o"), "P": (ORANGE, "s"), "r": (BLACK, "^")}


def main(argv: Sequence[str] | None = None) -> None:
    options = parse(argv, __doc__, draws=20, first_seed=0)
    draws, steps, errors = options.draws, STEPS, ERRORS
    if options.quick:
        draws, steps, errors = 2, STEPS[:2], ERRORS[:2]
    seeds = range(options.first_seed, options.first_seed + draws)
    design = FiniteDesign.smooth()

    by_steps = [_runs(design, "exact", 0.0, m, seeds) for m in steps]
    slope = np.polyfit(np.log(steps), np.log(np.mean(by_steps, axis=1)), 1)[0]
    bounds = [sum(risk_bound(design, design.truth, m)) for m in steps]
    print(f"X and Z on 30 points each, {draws} runs from seed {seeds[0]}; exact nuisances\n")
    table(
        ["M", "mean excess risk", "largest", "bound", "largest / bound"],
        (
            [m, np.mean(e), max(e), b, max(e) / b]
            for m, e, b in zip(steps, by_steps, bounds, strict=True)
        ),
    )
    print(f"\nlog-log slope of the mean: {slope:.2f}; of the bound: -0.5\n")

    m, held, n_runs = steps[-1] if options.quick else 10_000, 0, 0
    by_error, by_limit = {}, {}
    print(f"One nuisance at a time with an error of the given norm, M = {m}\n")
    rows = []
    for which in NUISANCES:
        by_error[which], by_limit[which] = [], []
        for size in errors:
            found = _runs(design, which, size, m, seeds)
            limits = [sum(risk_bound(design, _nuisances(design, which, size, s), m)) for s in seeds]
            held += sum(e <= b for e, b in zip(found, limits, strict=True))
            n_runs += len(found)
            by_error[which].append(np.mean(found))
            by_limit[which].append(min(limits))
            rows.append([which, size, np.mean(found), max(found), min(limits)])
    table(["nuisance", "error", "mean excess risk", "largest", "smallest bound"], rows)
    held += sum(x <= b for e, b in zip(by_steps, bounds, strict=True) for x in e)
    n_runs += draws * len(steps)
    print(f"\nThe bound held in {held} of {n_runs} runs")
    if not options.quick:
        _draw(steps, by_steps, bounds, slope, errors, by_error, by_limit)


def _nuisances(design: FiniteDesign, which: str, size: float, seed: int):
    if which == "exact":
        return design.truth
    return disturbed(design, which, size, np.random.RandomState(500_000 + seed))


def _runs(design: FiniteDesign, which: str, size: float, n_steps: int, seeds) -> list[float]:
    return [
        excess_risk(
            design, _nuisances(design, which, size, seed), n_steps, np.random.RandomState(seed)
        )
        for seed in seeds
    ]


def _draw(steps, by_steps, bounds, slope, errors, by_error, by_limit) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.plot(steps, by_steps, ".", color=GREY, markersize=4)
    left.plot(steps, np.mean(by_steps, axis=1), color=BLUE, linewidth=2.0, label="mean of the runs")
    left.plot(steps, bounds, color=BLACK, linestyle="--", label="the paper's bound")
    middle = len(steps) // 2
    place = steps[middle], np.mean(by_steps[middle])
    left.annotate(f"slope {slope:.2f}", place, xytext=(6, 10), textcoords="offset points")
    place = steps[middle], bounds[middle]
    left.annotate("slope -0.50", place, xytext=(6, 6), textcoords="offset points")
    left.set(xlabel="M", ylabel="excess projected risk", title="Exact nuisances")
    for which, (color, marker) in NUISANCES.items():
        right.plot(errors, by_error[which], color=color, marker=marker, label=f"error in {which}")
        right.plot(
            errors, by_limit[which], color=color, marker=marker, markersize=4, linestyle="--"
        )
    right.plot([], [], color=GREY, linestyle="--", label="the paper's bound")
    right.set(xlabel="norm of the error", title="One nuisance off, M = 10 000")
    for panel in (left, right):
        panel.set(xscale="log", yscale="log")
        panel.legend(frameon=False, fontsize="small")
        panel.grid(color="0.92", linewidth=0.8)
    figure.savefig(FIGURE, dpi=150)
    print(f"wrote docs/figures/{FIGURE.name}")


if __name__ == "__main__":
    main()
